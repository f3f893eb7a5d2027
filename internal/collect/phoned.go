package collect

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// phoned is what the charge of a phone needs in addition to the payment.
type phoned struct {
	// Number is the whole number, +233…; empty after an erasure.
	Number string `json:"number,omitempty"`
	Email  string `json:"email,omitempty"`
	// PageSecret is the secret part of the address of the page that follows the payment.
	PageSecret string `json:"page_secret"`
	// Held is the id of what the payment holds, or held until its deadline; empty if it has held
	// nothing.
	Held string `json:"held,omitempty"`
	// OffSession says that the payer is not there to confirm.
	OffSession bool `json:"off_session,omitempty"`
	// Left says that the payer has chosen another way to pay, or that the merchant has released the hold.
	Left bool `json:"left,omitempty"`
	// Late says that the payment was completed when there was nothing left to pay.
	Late bool `json:"late,omitempty"`
	codeAttempts
}

func checkCreate(p *payment.CreateParams) error {
	if err := cmp.Or(check.Pesewas("amount", p.Amount), check.Currency(p.Currency)); err != nil {
		return err
	}
	if err := p.MobileMoney.Check(); err != nil {
		return err
	}
	return cmp.Or(
		check.Text("description", p.Description, api.MaxText),
		check.Text("reference", p.Reference, api.MaxReference),
		check.Metadata(p.Metadata, false),
	)
}

func (s *Service) Create(ctx context.Context, caller api.Caller, p payment.CreateParams) (*payment.Payment, error) {
	op := engine.Operation{Name: "payment.create", Params: p}
	if err := checkCreate(&p); err != nil {
		return nil, err
	}
	if p.Customer == "" || !s.config.Accounts.HostsCustomers() {
		return s.create(ctx, caller, op, p)
	}
	// The host may have deleted the customer since.
	return engine.ExecuteWithReplay(ctx, s.engine, caller, op, func() (*payment.Payment, error) { return s.create(ctx, caller, op, p) })
}

// create runs Create for checked parameters.
func (s *Service) create(ctx context.Context, caller api.Caller, op engine.Operation, p payment.CreateParams) (*payment.Payment, error) {
	customer, err := s.customer(ctx, caller, p.Customer)
	if err != nil {
		return nil, err
	}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*payment.Payment, error) {
		start := StartParams{
			MobileMoney: p.MobileMoney, Amount: p.Amount, Description: p.Description, Reference: p.Reference,
			Customer: api.TextOrNil(p.Customer), Metadata: p.Metadata,
		}
		if start.Email, err = customer(tx); err != nil {
			return nil, err
		}
		return s.Start(tx, start)
	})
}

// customer returns the function that reads a customer's e-mail in a transaction. A host's
// directory is asked here, before the transaction.
func (s *Service) customer(ctx context.Context, caller api.Caller, id string) (email func(*engine.Tx) (string, error), err error) {
	if id == "" {
		return func(*engine.Tx) (string, error) { return "", nil }, nil
	}
	if err := check.Reads(caller, "customers", "customer", id); err != nil {
		return nil, err
	}
	find, err := s.config.Accounts.FindCustomer(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	return func(tx *engine.Tx) (string, error) {
		c, err := find(tx)
		if err != nil || check.Email("", c.Email) != nil { // the host's record may hold an address that is none
			return "", err
		}
		return c.Email, nil
	}, nil
}

// StartParams describe a payment from a phone for Start.
type StartParams struct {
	payment.MobileMoney // checked
	// Amount is in pesewas, and checked.
	Amount                 int64
	Description, Reference string
	Customer               *string
	// NewCustomer is that of [payment.Payment].
	NewCustomer string
	Email       string
	Metadata    api.Metadata
	// QRCode, Invoice or CheckoutSession is the id of the paid object. Subscription is the id of the
	// subscription whose invoice is paid.
	QRCode, Invoice, CheckoutSession, Subscription *string
	// HeldObject is the id of what the payment holds; empty for nothing. The caller has made sure
	// that it is free. A hold that a page starts is shorter until the provider has answered.
	HeldObject string
	// OffSession says that the payer is not there to confirm: it is a scheduled charge.
	OffSession bool
	// From is the network address of a payer on a public page; empty for any other call.
	From string
}

// errNoCharger is the refusal of live mode without a charger, before anything is written.
var errNoCharger = api.Errorf(api.Unavailable, "", "Payments by mobile money are not available in live mode at the moment. Try again later, or ask the operator.")

// Start writes a payment from a phone, which is pending, and queues it for the charger.
//
// Refusals: resource_missing (merchant); too_many_prompts; invalid_phone_number for a network that the
// charger does not take; service_unavailable in live mode without a charger.
func (s *Service) Start(tx *engine.Tx, p StartParams) (*payment.Payment, error) {
	// What is paid to a merchant that does not exist could never be booked.
	if _, err := s.config.Accounts.Merchant(tx, tx.Caller.Merchant); err != nil {
		return nil, err
	}
	id, deadline := s.NewID(tx), api.At(tx.Now.Add(s.config.Deadline))
	masked := phone.Mask(p.PhoneNumber)
	r := record{
		Payment: payment.Payment{
			ID: id, Object: "payment", Amount: p.Amount, Currency: api.Currency, Status: payment.Pending,
			PaymentMethod: payment.FromPhone, Provider: &p.Provider, Phone: &masked, PhoneNumber: &masked,
			QRCode: p.QRCode, Invoice: p.Invoice, CheckoutSession: p.CheckoutSession, Subscription: p.Subscription,
			Description: p.Description, Reference: p.Reference,
			Customer: p.Customer, NewCustomer: p.NewCustomer, Metadata: p.Metadata, Livemode: tx.Caller.Live, CreatedAt: api.At(tx.Now),
		},
		Source:         Source{Charge: id},
		Submission:     orders.NewSubmission(tx),
		FutureCustomer: p.NewCustomer,
		Phoned: &phoned{
			Number: p.PhoneNumber, Email: p.Email, PageSecret: ids.Secret(rand.Reader, pageSecretLength), Held: p.HeldObject, OffSession: p.OffSession,
		},
	}
	r.Deadline = &deadline
	by, err := s.orders().Routed(tx, &r)
	if err != nil {
		return nil, err
	}
	if by == nil {
		return nil, s.notCharged(tx.Caller.Live, p.MobileMoney, p.Amount)
	}
	var held *storage.Object[held]
	var byAddress *storage.Object[prompted]
	heldUntil := deadline
	if p.HeldObject != "" {
		if p.From != "" {
			heldUntil = api.At(tx.Now.Add(min(silentHold, s.config.Deadline)))
		}
		if held, err = newHold(tx, p.HeldObject, id, heldUntil); err != nil {
			return nil, err
		}
		if byAddress, err = s.countHold(tx, p.HeldObject, p.From); err != nil {
			return nil, err
		}
	}
	if err := s.countPrompt(tx, p.PhoneNumber, id, deadline.Time, asker{p.OffSession, p.From}); err != nil {
		return nil, err
	}
	if held != nil {
		r.HoldExpiresAt = &heldUntil
		if err := holds.Put(tx, held); err != nil {
			return nil, fmt.Errorf("payment: hold: %w", err)
		}
	}
	if byAddress != nil {
		if err := prompts.Put(tx, byAddress); err != nil {
			return nil, fmt.Errorf("payment: count hold: %w", err)
		}
	}
	wait := s.submitAfter(tx, p.PhoneNumber)
	r.Due = api.AtOrNil(tx.Now.Add(wait))
	if err := s.config.Events.Append(tx, &r.Payment, event.PaymentCreated, event.PaymentPending); err != nil {
		return nil, err
	}
	pending := r.Payment // the answer; what is stored may be processing already
	return &pending, s.orders().Insert(tx, &r, by, wait)
}

// notCharged returns the refusal of a charge that finds no charger: invalid_phone_number if the charger takes only
// other networks, and otherwise errNoCharger.
func (s *Service) notCharged(live bool, from payment.MobileMoney, amount int64) error {
	taken := orders.ChargeNetworks(s.Charger(live), provider.Charge{
		Order: provider.Order{Live: live, Amount: amount}, Phone: from.PhoneNumber,
	})
	if len(taken) == 0 || slices.Contains(taken, from.Provider) {
		return errNoCharger
	}
	return api.Errorf(api.InvalidPhoneNumber, "phone_number", "Phones of %s cannot be charged here. Use a number of %s.", from.Provider, strings.Join(taken, " or "))
}

func (s *Service) Networks(live bool) []string {
	return orders.ChargeNetworks(s.Charger(live), provider.Charge{
		Order: provider.Order{Live: live, Amount: sampleAmount}, Phone: samplePhone,
	})
}

// A charge of samplePhone and sampleAmount stands for any charge.
const (
	samplePhone  = "+233240000000"
	sampleAmount = 100
)

// CheckCharged refuses a phone that cannot be charged later, because the charger does not take its network. Without
// a charger it lets any phone pass, because there may be a charger by then. The network is that of the number's prefix,
// unless from names another.
//
// Refusals: invalid_phone_number.
func (s *Service) CheckCharged(live bool, from payment.MobileMoney) error {
	if from.Provider == "" {
		from.Provider = phone.Provider(from.PhoneNumber)
	}
	if taken := s.Networks(live); len(taken) == 0 || slices.Contains(taken, from.Provider) {
		return nil
	}
	return s.notCharged(live, from, sampleAmount)
}

func (s *Service) TakesPhones(live bool) bool { return len(s.Networks(live)) > 0 }

// Charger returns the charger of a mode, or nil.
func (s *Service) Charger(live bool) provider.Charger {
	if live {
		return s.config.Charger
	}
	return s.config.TestCharger
}

func (s *Service) Cancel(ctx context.Context, caller api.Caller, id string) (*payment.Payment, error) {
	op := engine.Operation{Name: "payment.cancel", Params: id}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*payment.Payment, error) {
		o, err := get(tx, engine.Scope(caller), id)
		if err != nil {
			return nil, err
		}
		if o.Value.Status != payment.Pending {
			return nil, api.Errorf(api.PaymentNotCancellable, "", "This payment is %s and can no longer be cancelled.", o.Value.Status)
		}
		if err := s.cancel(tx, o); err != nil {
			return nil, err
		}
		return &o.Value.Payment, nil
	})
}

// CancelPending cancels a payment that was not submitted yet, for the object that has started it, and
// reports whether it did.
func (s *Service) CancelPending(tx *engine.Tx, id string) (bool, error) {
	o, err := get(tx, engine.Scope(tx.Caller), id)
	if err != nil || o.Value.Status != payment.Pending {
		return false, err
	}
	return true, s.cancel(tx, o)
}

func (s *Service) cancel(tx *engine.Tx, o *storage.Object[record]) error {
	if err := o.Value.tellHoldEnded(tx); err != nil {
		return err
	}
	return s.orders().End(tx, o, func() error { return o.Value.enter(payment.Cancelled) })
}

func (s *Service) Leave(ctx context.Context, caller api.Caller, id string) error {
	return s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		o, err := get(tx, engine.Scope(caller), id)
		switch {
		case err != nil:
			return err
		case o.Value.Status == payment.Pending:
			return s.cancel(tx, o)
		case o.Value.Status != payment.Processing || o.Value.Phoned.Left && o.Value.HoldExpiresAt == nil:
			return nil
		}
		return s.giveUpHold(tx, o)
	})
}

func (s *Service) Release(ctx context.Context, caller api.Caller, id string) (*payment.Payment, error) {
	op := engine.Operation{Name: "payment.release", Params: id}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*payment.Payment, error) {
		o, err := get(tx, engine.Scope(caller), id)
		if err != nil {
			return nil, err
		}
		r := &o.Value
		if r.Phoned == nil || ended(r.Status) {
			return nil, api.Errorf(api.PaymentNotReleasable, "", "This payment is %s and holds nothing. Only a payment from a phone that is pending or processing is released.", r.Status)
		}
		if r.HoldExpiresAt != nil {
			err = s.giveUpHold(tx, o)
		}
		return &r.Payment, err
	})
}

// giveUpHold ends the hold of a payment that goes on without it.
func (s *Service) giveUpHold(tx *engine.Tx, o *storage.Object[record]) error {
	o.Value.Phoned.Left = true
	if err := o.Value.tellHoldEnded(tx); err != nil {
		return err
	}
	if err := o.Value.endHold(tx); err != nil {
		return err
	}
	return s.write(tx, o)
}
