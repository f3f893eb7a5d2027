package checkout

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
)

// PayParams say how a session is paid: from a phone or from a consumer's wallet. A session without
// anything to pay needs neither. ModeSubscription always needs a phone.
type PayParams struct {
	// MobileMoney names the phone that pays. Set either MobileMoney or Wallet. ModeSubscription
	// requires MobileMoney, which later periods charge, and allows Wallet beside it for the first
	// period.
	payment.MobileMoney
	// Wallet names the paying consumer. In ModeSubscription it pays the first period alone.
	Wallet account.WalletRef `json:"wallet"`
	PIN    string            `json:"-"`
	// From is the network address of a payer on a public page, which wrong PINs lock out; see
	// [account.Service.SetPIN]. It is empty where the host knows its client.
	From string `json:"-"`
	// Email is the payer's address for the receipt. Nil keeps that of the session, and an empty one
	// clears it. The session shows it once this payment has completed it.
	Email *string `json:"email,omitempty"`
	// Name is the payer's, and is kept as Email is.
	Name *string `json:"name,omitempty"`
}

func (p *PayParams) check() error {
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
func (p *PayParams) checkFor(r *record) error {
	switch {
	case r.Mode == ModeSubscription && p.PhoneNumber == "":
		return api.Missing("phone_number")
	case r.Mode == ModePayment && p.PhoneNumber != "" && p.Wallet != (account.WalletRef{}):
		return api.Invalid("phone_number", "Give either a phone number or a wallet.")
	}
	return nil
}

// Pay pays an open session. With an idempotency key it may be repeated safely; a replay does not check
// the PIN. The caller stands for the session's merchant; see [Hosted].
//
// From a consumer's wallet, one transaction debits the wallet, credits the merchant, redeems the
// coupon, writes the payment and completes the session.
//
// From a phone, Pay starts a payment, and the session stays open until the payment is completed; see
// [payment.Service.Create]. The payment holds the session, and a redemption of its coupon, until it
// ends, or for payments.Config.PaymentDeadline. A payer may approve after the hold, when the session is no
// longer open. That payment is refunded if the Charger is a provider.RefundRail; otherwise Providers.List
// shows it. If the session is still open, it is completed, and the redemption
// counts even above the coupon's limit.
//
// If nothing is due, Pay redeems the coupon and completes the session without a payment.
//
// In ModeSubscription the completion begins the subscription, with a paid invoice of its first period or
// with its trial, in the same transaction. A session without a customer makes one.
//
// Refusals: resource_missing, checkout_not_open, payment_in_progress, coupon_not_redeemable,
// parameter_invalid, and parameter_missing (phone_number in ModeSubscription, or if neither a phone nor
// a wallet is named; pin with a wallet).
//
// Refusals from a wallet: account_not_found (an unknown account id), pin_invalid (also a phone number
// or service id without an open wallet), pin_locked, wallet_not_active, insufficient_balance.
//
// Refusals from a phone: invalid_phone_number, too_many_prompts, and service_unavailable in live mode
// without a charger.
func (s *Service) Pay(ctx context.Context, caller api.Caller, id string, p PayParams) (*Session, error) {
	return pay(ctx, s, caller, "checkout_session.pay", id, p, func(v *Session) *Session { return v })
}

// PayHosted is Pay for a page, which reads the session afterwards. It stores no copy of the session with
// the idempotency key: a payer may try often, and a session may have many lines.
func (s *Service) PayHosted(ctx context.Context, caller api.Caller, id string, p PayParams) error {
	type paid struct{}
	_, err := pay(ctx, s, caller, "checkout_session.pay_hosted", id, p, func(*Session) *paid { return &paid{} })
	return err
}

// pay runs a call of Pay; answer makes what is stored and returned of the session.
func pay[T any](ctx context.Context, s *Service, caller api.Caller, name, id string, p PayParams, answer func(*Session) *T) (*T, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: name, Params: struct {
		ID string `json:"id"`
		PayParams
	}{id, p}}
	if p.PhoneNumber != "" && p.Wallet == (account.WalletRef{}) {
		return change(ctx, s, caller, op, id, answer, func(tx *engine.Tx, o *storage.Object[record]) error {
			return s.startPayment(tx, o, &p)
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
		if err := s.couponLeft(tx, &o.Value); err != nil || o.Value.Total == 0 {
			return false, err
		}
		if p.Wallet == (account.WalletRef{}) {
			return false, api.Missing("phone_number")
		}
		return true, nil
	}
	return engine.ExecuteWithReplay(ctx, s.engine, caller, op, func() (done *T, err error) {
		err = s.config.Accounts.PayFromWallet(ctx, caller, p.Wallet, account.PINEntry{PIN: p.PIN, From: p.From}, due, func(confirm func(*engine.Tx) (*account.Consumer, error)) (err error) {
			done, err = change(ctx, s, caller, op, id, answer, func(tx *engine.Tx, o *storage.Object[record]) error {
				from, err := confirm(tx)
				if err != nil {
					return err
				}
				if err := s.begin(tx, o, &p); err != nil {
					return err
				}
				if from == nil {
					return s.complete(tx, o, nil, id)
				}
				return s.debit(tx, o, from)
			})
			return err
		})
		return done, err
	})
}

// change runs a call that changes one session; answer makes what it returns.
func change[T any](ctx context.Context, s *Service, caller api.Caller, op engine.Operation, id string, answer func(*Session) *T, do func(*engine.Tx, *storage.Object[record]) error) (*T, error) {
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

// retryHeld is what a caller is told to wait while a payer is asked on the phone.
const retryHeld = 30 * time.Second

// payable refuses what cannot be paid now. A payment from a phone that holds the session may pay it even
// after its time.
func (s *Service) payable(tx storage.ReadTx, now time.Time, o *storage.Object[record]) error {
	r := &o.Value
	if r.Status != Open {
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

// begin prepares a payable session for its payment: it takes what the payer has entered, and redeems
// the coupon.
func (s *Service) begin(tx *engine.Tx, o *storage.Object[record], p *PayParams) error {
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
	if r.Mode == ModeSubscription {
		r.Charged = p.PhoneNumber
	}
	deleted, err := r.customerDeleted(tx)
	switch {
	case err != nil:
		return err
	case deleted && r.Mode == ModeSubscription:
		return notOpen("is of a customer who was deleted")
	case deleted:
		r.forget()
	}
	if r.Coupon == nil {
		return nil
	}
	if r.Redeemed { // by an attempt whose hold is over; this one takes the redemption over
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
func (s *Service) startPayment(tx *engine.Tx, o *storage.Object[record], p *PayParams) error {
	if err := s.begin(tx, o, p); err != nil {
		return err
	}
	r := &o.Value
	if r.Total == 0 {
		return s.complete(tx, o, nil, r.ID)
	}
	start := payment.StartParams{
		MobileMoney: p.MobileMoney, Amount: r.Total, CheckoutSession: &r.ID, HeldObject: r.ID,
		Description: r.about(), Customer: r.Customer, NewCustomer: r.FutureCustomer, Metadata: r.Metadata,
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
		Amount: r.Total, CheckoutSession: &r.ID, Description: r.about(), Customer: r.Customer, NewCustomer: r.FutureCustomer, Metadata: r.Metadata,
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
	if err := r.enter(Complete); err != nil {
		return err
	}
	r.Email, r.Name = r.payer()
	r.PaymentStatus, r.Payment, r.CompletedAt = NoPaymentRequired, paymentID, new(tx.Now.Unix())
	if paymentID != nil {
		r.PaymentStatus = Paid
	}
	switch {
	case r.Mode == ModeSubscription: // whose invoice sends the receipt
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
	o.Value.Charged, o.Value.Entered = "", nil
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
	p := invoice.PaidReceipt{
		Person: payer, To: *r.Email, Title: "Receipt", Amount: r.Total, Description: r.about(), URL: s.address(r),
	}
	engine.SetGiven(&p.Payment, r.Payment)
	if r.Reference != nil {
		p.Title = "Receipt for " + *r.Reference
	}
	engine.SetGiven(&p.Person, r.Customer)
	return s.config.Invoices.EmailReceipt(tx, p)
}
