package session

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
)

// attempt is a call of Pay or PayHosted.
type attempt struct {
	checkout.PayParams
	hosted bool // the payer fills in a page, which can ask again
}

func (p *attempt) check() error {
	if p.Email != nil {
		if err := check.Email("customer_email", *p.Email); err != nil {
			return err
		}
	}
	if err := check.OptionalText("customer_name", p.Name, api.MaxName); err != nil {
		return err
	}
	if p.MobileMoney == (payment.MobileMoney{}) {
		return nil
	}
	return p.MobileMoney.Check()
}

// checkFor refuses parameters that are not those of the session's mode.
func (p *attempt) checkFor(r *record) error {
	switch {
	case r.Mode == checkout.ModeSubscription && p.PhoneNumber == "":
		return api.Missing("phone_number")
	case r.Mode == checkout.ModePayment && p.PhoneNumber != "" && p.Wallet != (account.WalletRef{}):
		return api.Invalid("phone_number", "Give either a phone number or a wallet.")
	}
	return nil
}

func (s *Service) Pay(ctx context.Context, caller api.Caller, id string, p checkout.PayParams) (*checkout.Session, error) {
	return pay(ctx, s, caller, "checkout_session.pay", id, attempt{PayParams: p}, func(v *checkout.Session) *checkout.Session { return v })
}

func (s *Service) PayHosted(ctx context.Context, caller api.Caller, id string, p checkout.PayParams) error {
	type paid struct{}
	_, err := pay(ctx, s, caller, "checkout_session.pay_hosted", id, attempt{p, true}, func(*checkout.Session) *paid { return &paid{} })
	return err
}

// pay runs a call of Pay; answer makes what is stored and returned of the session.
func pay[T any](ctx context.Context, s *Service, caller api.Caller, name, id string, p attempt, answer func(*checkout.Session) *T) (*T, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: name, Params: struct {
		ID string `json:"id"`
		checkout.PayParams
	}{id, p.PayParams}}
	if p.PhoneNumber != "" && p.Wallet == (account.WalletRef{}) {
		return change(ctx, s, caller, op, id, answer, func(tx *engine.Tx, o *storage.Object[record]) error {
			return s.take(tx, o, &p, func() error { return s.startPayment(tx, o, &p) })
		})
	}
	due := func(tx *engine.ReadTx) (bool, error) {
		o, err := s.get(tx, engine.Scope(caller), id)
		if err != nil {
			return false, err
		}
		if err := s.payable(tx, tx.Now, o); err != nil {
			return false, err
		}
		if err := p.checkFor(&o.Value); err != nil {
			return false, err
		}
		if err := s.couponLeft(tx, &o.Value); err != nil {
			return false, err
		}
		if free, err := s.freeFor(tx, &o.Value, p.PhoneNumber); free || err != nil {
			return false, err
		}
		if p.Wallet == (account.WalletRef{}) {
			return false, api.Missing("phone_number")
		}
		return true, nil
	}
	return engine.ExecuteWithReplay(ctx, s.engine, caller, op, func() (done *T, err error) {
		err = s.config.Accounts.PayFromWallet(ctx, s.engine, caller, p.Wallet, party.PINEntry{PIN: p.PIN, From: p.From}, due, func(confirm func(*engine.Tx) (*account.Consumer, error)) (err error) {
			done, err = change(ctx, s, caller, op, id, answer, func(tx *engine.Tx, o *storage.Object[record]) error {
				from, err := confirm(tx)
				if err != nil {
					return err
				}
				return s.take(tx, o, &p, func() error {
					if from == nil { // the phone has begun its trial a moment ago
						return errPriceChanged()
					}
					return s.debit(tx, o, from)
				})
			})
			return err
		})
		return done, err
	})
}

// change runs a call that changes one session; answer makes what it returns.
func change[T any](ctx context.Context, s *Service, caller api.Caller, op engine.Operation, id string, answer func(*checkout.Session) *T, do func(*engine.Tx, *storage.Object[record]) error) (*T, error) {
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*T, error) {
		o, err := s.get(tx, engine.Scope(caller), id)
		if err != nil {
			return nil, err
		}
		if err := do(tx, o); err != nil {
			return nil, err
		}
		return answer(&o.Value.Session), nil
	})
}

func notOpen(why string) error {
	return api.Errorf(api.CheckoutNotOpen, "", "This checkout session %s. Make a new one.", why)
}

// errPriceChanged refuses a payment whose price has changed since the wallet was looked at.
func errPriceChanged() error {
	return api.Errorf(api.PaymentInProgress, "", "The price of this checkout session has changed a moment ago. Look at the session, and pay again.").After(time.Second)
}

// retryHeld is what a caller is told to wait while a payer is asked on the phone.
const retryHeld = 30 * time.Second

// payable refuses what cannot be paid now. A payment from a phone that holds the session may pay it even
// after its time.
func (s *Service) payable(tx storage.ReadTx, now time.Time, o *storage.Object[record]) error {
	r := &o.Value
	if r.Status != checkout.Open {
		return notOpen("is " + string(r.Status))
	}
	if err := s.notHeld(tx, now, o); err != nil {
		return err
	}
	if r.over(now) {
		return notOpen("has expired")
	}
	return nil
}

// notHeld refuses a session that a payment from a phone holds.
func (s *Service) notHeld(tx storage.ReadTx, now time.Time, o *storage.Object[record]) error {
	held, err := s.config.Payments.CountHolds(tx, o.Scope, now, o.ID)
	if err != nil || held == 0 {
		return err
	}
	return api.Errorf(api.PaymentInProgress, "", "A payment of this checkout session from a phone is under way. Look at the session again in a few minutes.").After(retryHeld)
}

// take takes what is due of a payable session by charge, which also writes the session. If nothing is due,
// it completes the session, or sends the code that confirms the phone of a subscription. On a page a change of
// the price asks the payer again.
func (s *Service) take(tx *engine.Tx, o *storage.Object[record], p *attempt, charge func() error) error {
	if err := s.enter(tx, o, p); err != nil {
		return err
	}
	r := &o.Value
	changed, err := s.priceForPhone(tx, r)
	switch {
	case err != nil:
		return err
	case changed && p.hosted:
		return s.save(tx, o)
	case r.Total == 0 && r.Mode == checkout.ModeSubscription && (p.hosted || r.Livemode):
		return s.sendCode(tx, o, p.From)
	}
	if err := s.redeem(tx, r); err != nil {
		return err
	}
	if r.Total == 0 {
		return s.complete(tx, o, nil, r.ID)
	}
	return charge()
}

// freeFor reports whether nothing is due now of a session that charges a phone later on.
func (s *Service) freeFor(tx *engine.ReadTx, r *record, number string) (bool, error) {
	if !r.hasTrial() {
		return r.Total == 0, nil
	}
	had, err := s.config.Subscriptions.HadTrial(tx, engine.Scope(tx.Caller), r.PlanTerms.ID, number)
	return !had, err
}

// enter takes what the payer of a payable session has entered.
func (s *Service) enter(tx *engine.Tx, o *storage.Object[record], p *attempt) error {
	if err := s.payable(tx, tx.Now, o); err != nil {
		return err
	}
	r := &o.Value
	if err := p.checkFor(r); err != nil {
		return err
	}
	r.Entered = nil
	if p.Email != nil || p.Name != nil {
		r.Entered = &entered{p.Email, p.Name}
	}
	if r.Mode == checkout.ModeSubscription {
		if err := s.config.Payments.CheckCharged(r.Livemode, p.MobileMoney); err != nil {
			return err
		}
		r.Charged = p.PhoneNumber
		r.Confirmation.Forget()
	}
	deleted, err := r.customerDeleted(tx)
	switch {
	case err != nil:
		return err
	case deleted && r.Mode == checkout.ModeSubscription:
		return notOpen("is of a customer who was deleted")
	case deleted:
		r.forget()
	}
	return nil
}

// redeem redeems the coupon of a session that is about to be paid or completed.
func (s *Service) redeem(tx *engine.Tx, r *record) error {
	if r.Coupon == nil {
		return nil
	}
	if r.Redeemed { // by an earlier attempt; the redemption belongs to the session
		return s.config.Catalog.RedeemAgain(tx, *r.Coupon)
	}
	r.Redeemed = true
	return s.config.Catalog.Redeem(tx, *r.Coupon)
}

// customerDeleted reports whether the session's customer was deleted.
func (r *record) customerDeleted(tx *engine.Tx) (bool, error) {
	if r.Customer == nil {
		return false, nil
	}
	deleted, err := pii.Deleted(tx, engine.Scope(tx.Caller), *r.Customer)
	if err != nil {
		return false, fmt.Errorf("checkout: customer: %w", err)
	}
	return deleted, nil
}

// returnRedemption gives the redemption of an open session back, if there is one.
func (s *Service) returnRedemption(tx *engine.Tx, r *record) error {
	if !r.Redeemed {
		return nil
	}
	r.Redeemed = false
	return s.config.Catalog.ReturnRedemption(tx, *r.Coupon)
}

// startPayment starts a payment of an open session from a phone, and writes the session.
func (s *Service) startPayment(tx *engine.Tx, o *storage.Object[record], p *attempt) error {
	r := &o.Value
	start := collect.StartParams{
		MobileMoney: p.MobileMoney, From: p.From, Amount: r.Total, CheckoutSession: &r.ID, HeldObject: r.ID,
		Description: about(&r.Session), Customer: r.Customer, NewCustomer: r.FutureCustomer, Metadata: r.Metadata,
	}
	engine.SetGiven(&start.Reference, r.Reference)
	if email, _ := r.payer(); email != nil {
		start.Email = *email
	}
	started, err := s.config.Payments.Start(tx, start)
	if err != nil {
		return err
	}
	r.Attempt = started.ID
	if r.Redeemed || started.HoldExpiresAt.After(r.expiry()) { // the worker gives back, or expires, at the end of the hold
		r.Due = started.HoldExpiresAt
	}
	return s.save(tx, o)
}

// couponLeft refuses a session whose coupon cannot be redeemed now, unless the session has a redemption.
func (s *Service) couponLeft(tx *engine.ReadTx, r *record) error {
	if r.Coupon == nil || r.Redeemed {
		return nil
	}
	_, err := s.config.Catalog.RedeemableCoupon(tx, engine.Scope(tx.Caller), tx.Now, *r.Coupon)
	return err
}

// debit moves the money of a session from a consumer's wallet, and completes the session.
func (s *Service) debit(tx *engine.Tx, o *storage.Object[record], from *account.Consumer) error {
	r := &o.Value
	p := payment.Payment{
		Amount: r.Total, CheckoutSession: &r.ID, Description: about(&r.Session), Customer: r.Customer, NewCustomer: r.FutureCustomer, Metadata: r.Metadata,
	}
	engine.SetGiven(&p.Reference, r.Reference)
	paid, err := s.config.Payments.FromWallet(tx, from, p)
	if err != nil {
		return err
	}
	return s.complete(tx, o, &paid.ID, from.ID)
}

// complete completes a session in the transaction of its payment; paymentID is nil if nothing was due.
// payer is the id with which the receipt is erased, unless the session has a customer: that of the wallet,
// of the payment from a phone, or of the session.
func (s *Service) complete(tx *engine.Tx, o *storage.Object[record], paymentID *string, payer string) error {
	r := &o.Value
	if err := r.enter(checkout.Complete); err != nil {
		return err
	}
	r.Email, r.Name = r.payer()
	r.PaymentStatus, r.Payment, r.CompletedAt = checkout.NoPaymentRequired, paymentID, new(tx.Now.Unix())
	if paymentID != nil {
		r.PaymentStatus = checkout.Paid
	}
	switch {
	case r.Mode == checkout.ModeSubscription: // whose invoice sends the receipt
		if err := s.subscribe(tx, r); err != nil {
			return err
		}
	default:
		if err := s.emailReceipt(tx, r, payer); err != nil {
			return err
		}
	}
	return s.end(tx, o, event.CheckoutSessionCompleted)
}

// end writes a session that has entered a final status.
func (s *Service) end(tx *engine.Tx, o *storage.Object[record], t event.Type) error {
	o.Value.Charged, o.Value.Entered, o.Value.Confirmation = "", nil, nil
	if err := s.save(tx, o, t); err != nil {
		return err
	}
	r := &o.Value
	if !r.hasNumber() {
		return nil
	}
	outlived, err := retention.Outlived(tx, sessions.Kind(), o.Scope, o.ID, r.CreatedAt, tx.Now, s.engine.NumberRetention)
	if err != nil || !outlived {
		return err
	}
	r.forgetNumber()
	return s.save(tx, o)
}

// emailReceipt tells the payer that the session is complete, if it has an e-mail. The SMS goes out with
// the payment. It is erased with the person whose id is payer.
func (s *Service) emailReceipt(tx *engine.Tx, r *record, payer string) error {
	if r.Email == nil {
		return nil
	}
	p := invoicing.PaidReceipt{
		Person: payer, To: *r.Email, Title: "Receipt", Amount: r.Total, Description: about(&r.Session), URL: s.address(r), Sums: r.sums(),
	}
	engine.SetGiven(&p.Payment, r.Payment)
	if r.Reference != nil {
		p.Title = "Receipt for " + *r.Reference
	}
	engine.SetGiven(&p.Person, r.Customer)
	return s.config.Invoices.EmailReceipt(tx, p)
}
