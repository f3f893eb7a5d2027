package collect

import (
	"fmt"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
)

// NewID makes a payment's id. The caller's posting needs it too.
func (*Service) NewID(tx *engine.Tx) string { return tx.NewID("pay_") }

// RecordCompleted stores a payment whose money moves in the same transaction, and records its events.
// It sets object, currency, status, mode, times and fee, which is 0. The payment of a customer who was
// deleted keeps no phone, because their erasure is over.
func (s *Service) RecordCompleted(tx *engine.Tx, p payment.Payment, from Source) (*payment.Payment, error) {
	if p.Customer != nil && p.Phone != nil {
		deleted, err := pii.Deleted(tx, engine.Scope(tx.Caller), *p.Customer)
		if err != nil {
			return nil, fmt.Errorf("payment: customer: %w", err)
		}
		if deleted {
			p.Phone = nil
		}
	}
	p.Object, p.Currency, p.PhoneNumber = "payment", api.Currency, p.Phone
	p.Livemode, p.CreatedAt = tx.Caller.Live, api.At(tx.Now)
	complete(&p, 0, p.CreatedAt)
	r := record{Payment: p, Source: from, FutureCustomer: p.NewCustomer}
	if _, err := payments.Insert(tx, engine.Scope(tx.Caller), p.ID, r); err != nil {
		return nil, fmt.Errorf("payment: keep: %w", err)
	}
	if err := s.totals.Count(tx, &r); err != nil {
		return nil, err
	}
	// The payment starts in its final status, so it gets both events at once.
	if err := s.config.Events.Append(tx, &p, event.PaymentCreated, event.PaymentSucceeded); err != nil {
		return nil, err
	}
	return &p, nil
}

// FromWallet moves the amount of a payment from a consumer's wallet to the merchant, and records the
// payment as RecordCompleted does. It sets id, method and phone, too. Both parties get an SMS.
func (s *Service) FromWallet(tx *engine.Tx, from *account.Consumer, p payment.Payment) (*payment.Payment, error) {
	accounts, live := s.config.Accounts, tx.Caller.Live
	merchant, err := accounts.Merchant(tx, tx.Caller.Merchant)
	if err != nil {
		return nil, fmt.Errorf("payment: merchant: %w", err)
	}
	p.ID, p.PaymentMethod, p.Phone = s.NewID(tx), payment.ServiceWallet, new(phone.Mask(from.Phone))
	err = accounts.Credit(tx, merchant.ID, storage.Posting{
		ID: tx.NewID("txn_"), Type: "payment", Ref: p.ID, At: tx.Now,
		Moves: []storage.Move{ledger.Wallet(from.ID, live).Move(-p.Amount), ledger.Available(merchant.ID, live).Move(p.Amount)},
	})
	if err != nil {
		return nil, fmt.Errorf("payment: from wallet: %w", err)
	}
	paid, err := s.RecordCompleted(tx, p, Source{Payer: from.ID})
	if err != nil {
		return nil, err
	}
	return paid, s.textPaid(tx, paid, merchant, from.ID, from.Phone, from.DisplayName())
}

// textPaid tells payer and merchant of a completed payment. person is the one whose erasure removes the
// messages.
func (s *Service) textPaid(tx *engine.Tx, p *payment.Payment, m *account.Merchant, person, number, payer string) error {
	if err := s.Text(tx, person, number, s.receiptText(p, m)); err != nil {
		return err
	}
	return s.config.Messages.Text(tx, person, m.Phone, fmt.Sprintf("%s paid you GHS %s. Payment %s.", s.config.Messages.Name(payer), money.Text(p.Amount), p.ID))
}

// AttachCustomer makes all payments of a checkout session name the customer whom the session has made, also
// those that have failed, or have no outcome yet. So the deletion of the customer finds them.
func (s *Service) AttachCustomer(tx *engine.Tx, session, customer string) error {
	q := storage.Query{Scope: engine.Scope(tx.Caller), Where: engine.Where(nil, "checkout_session", session), Limit: api.MaxLimit}
	for more := true; more; {
		page, further, err := payments.List(tx, q)
		if err != nil {
			return fmt.Errorf("payment: list of session: %w", err)
		}
		for _, o := range page {
			o.Value.Customer = &customer
			if err := s.write(tx, o); err != nil {
				return err
			}
			q.After = o.ID
		}
		more = further
	}
	return nil
}

// AttachSubscription makes a completed payment of a checkout session name the subscription that it has
// begun, its customer and its first invoice.
func (*Service) AttachSubscription(tx *engine.Tx, id, customer, subscription, invoice string) error {
	o, err := get(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return err
	}
	o.Value.Customer, o.Value.Subscription, o.Value.Invoice = &customer, &subscription, &invoice
	return payments.Replace(tx, o)
}

// ListIn is [Service.List] in the caller's snapshot; url is the path of the list.
func (*Service) ListIn(tx *engine.ReadTx, p payment.ListParams, url string) (*api.List[payment.Payment], error) {
	return listing(url).ListTx(tx, engine.Query(tx.Caller, p), p.Page)
}

// In returns a copy of the service that works in e, the engine of a host's transaction.
func (s *Service) In(e *engine.Engine) *Service {
	in := *s
	in.engine = e
	return &in
}
