package qrcode

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
)

// Hosted is the payment page's view of a code.
type Hosted struct {
	Code     QRCode
	Merchant account.Merchant
	// Refusal says why the code cannot be paid now; nil if it can.
	Refusal *api.Error
	// Caller stands for the merchant in the call of Pay.
	Caller api.Caller
}

// Hosted finds a code by its id alone, for the payment page. An unknown id is resource_missing.
func (s *Service) Hosted(ctx context.Context, id string) (*Hosted, error) {
	var offer *Hosted
	err := s.engine.Store.View(ctx, func(stored storage.ReadTx) error {
		o, err := s.orMissing(codes.Find(stored, "public", storage.Scope{}, id))
		if err != nil {
			return err
		}
		offer = &Hosted{Code: o.Value, Caller: api.Caller{Merchant: o.Scope.Merchant, Live: o.Scope.Live}}
		m, err := s.accounts.Merchant(stored, o.Scope.Merchant)
		if err != nil {
			return fmt.Errorf("qrcode: merchant of a code: %w", err)
		}
		offer.Merchant = *m
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = s.engine.View(ctx, offer.Caller, func(tx *engine.ReadTx) error {
		offer.Refusal, _ = offer.Code.usable(tx.Now).(*api.Error)
		return nil
	})
	return offer, err
}

// PayParams describe a payment of a code: from a consumer's wallet, or from a phone.
type PayParams struct {
	// MobileMoney names the phone that pays. If it names one, Wallet and PIN are not used.
	payment.MobileMoney
	// Wallet names the paying consumer.
	Wallet account.WalletRef `json:"wallet"`
	PIN    string            `json:"-"`
	// From is the network address of a payer on a public page. Wrong PINs lock it out; see
	// [account.Service.SetPIN]. It also bounds the holds of payments from phones; see Pay. It is empty where
	// the host knows its client.
	From string `json:"-"`
	// Amount is in pesewas. A code without a fixed amount requires it. For a code with one, it
	// must be nil or equal.
	Amount *int64 `json:"amount,omitempty"`
}

// Pay pays a code. Concurrent payments never exceed a usage limit. With an idempotency key it may be
// repeated safely; a replay does not check the PIN.
//
// From a consumer's wallet, one transaction debits the wallet, credits the merchant, counts the use,
// writes the payment and its events, and queues the messages to both parties. The last use of a code
// with a limit switches the code off.
//
// From a phone, Pay returns a pending payment; see [payment.Service.Create]. The payment holds a use of a
// code with a limit until it ends, or for payments.Config.PaymentDeadline. With From, it holds the use for 2
// minutes, until the provider has answered that the phone was asked. In live mode an address starts at most
// two such payments of one code in an hour. The use is counted when the payment is completed. A payer may
// approve after the hold, when no use is left. That payment is refunded if the Charger is a
// provider.RefundRail; otherwise Providers.List shows it.
//
// The caller stands for the code's merchant; see [Hosted].
//
// Refusals: resource_missing, parameter_invalid (another amount than that of the code),
// qr_limit_reached, qr_inactive, qr_expired, amount_required, and payment_in_progress (payments under
// way hold what is left of the limit).
//
// Refusals from a wallet: parameter_missing (pin), account_not_found (an unknown account id),
// pin_invalid, pin_locked, wallet_not_active, insufficient_balance. A phone number or service id
// without an open wallet is pin_invalid, so that strangers cannot find out which numbers have a wallet.
//
// Refusals from a phone: invalid_phone_number, too_many_prompts, and service_unavailable in live mode
// without a charger.
func (s *Service) Pay(ctx context.Context, caller api.Caller, id string, p PayParams) (*payment.Payment, error) {
	if p.Amount != nil {
		if err := check.Pesewas("amount", *p.Amount); err != nil {
			return nil, err
		}
	}
	op := payOperation(id, p)
	if p.MobileMoney != (payment.MobileMoney{}) {
		if err := p.MobileMoney.Check(); err != nil {
			return nil, err
		}
		return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*payment.Payment, error) {
			return s.startTx(tx, id, p)
		})
	}
	due := func(tx *engine.ReadTx) (bool, error) {
		code, err := s.getCode(tx, engine.Scope(caller), id)
		if err != nil {
			return false, err
		}
		_, err = s.toPay(tx.ReadTx, tx.Now, code, p.Amount)
		return true, err
	}
	return engine.ExecuteWithReplay(ctx, s.engine, caller, op, func() (done *payment.Payment, err error) {
		err = s.accounts.PayFromWallet(ctx, s.engine, caller, p.Wallet, account.PINEntry{PIN: p.PIN, From: p.From}, due, func(confirm func(*engine.Tx) (*account.Consumer, error)) (err error) {
			done, err = engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*payment.Payment, error) {
				from, err := confirm(tx)
				if err != nil {
					return nil, err
				}
				return s.payTx(tx, id, p, from)
			})
			return err
		})
		return done, err
	})
}

func payOperation(code string, p PayParams) engine.Operation {
	return engine.Operation{Name: "qr_code.pay", Params: struct {
		Code string `json:"code"`
		PayParams
	}{code, p}}
}

// payTx is the effect of Pay. It reads everything that it relies on again, inside the
// transaction.
func (s *Service) payTx(tx *engine.Tx, codeID string, p PayParams, from *account.Consumer) (*payment.Payment, error) {
	code, err := s.getCode(tx, engine.Scope(tx.Caller), codeID)
	if err != nil {
		return nil, err
	}
	c := &code.Value
	amount, err := s.toPay(tx, tx.Now, code, p.Amount)
	if err != nil {
		return nil, err
	}
	paid, err := s.payments.FromWallet(tx, from, payment.Payment{
		Amount: amount, QRCode: &c.ID, Description: c.Description, Reference: c.Reference, Metadata: c.Metadata,
	})
	if err != nil {
		return nil, err
	}
	return paid, s.countUse(tx, code)
}

// startTx starts a payment of a code from a phone.
func (s *Service) startTx(tx *engine.Tx, id string, p PayParams) (*payment.Payment, error) {
	code, err := s.getCode(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return nil, err
	}
	c := &code.Value
	start := payment.StartParams{
		MobileMoney: p.MobileMoney, From: p.From, QRCode: &c.ID, Description: c.Description, Reference: c.Reference, Metadata: c.Metadata,
	}
	if c.UsageLimit != nil {
		start.HeldObject = c.ID
	}
	if start.Amount, err = s.toPay(tx, tx.Now, code, p.Amount); err != nil {
		return nil, err
	}
	return s.payments.Start(tx, start)
}

// countUse counts a use of a code, and switches off one that is used up.
func (s *Service) countUse(tx *engine.Tx, code *storage.Object[QRCode]) error {
	c := &code.Value
	c.UsageCount++
	if c.UsageLimit != nil && c.UsageCount >= *c.UsageLimit {
		c.Active = false
		return s.replace(tx, code)
	}
	return codes.Replace(tx, code)
}

// toPay returns the amount to pay, in pesewas, or why the code cannot be paid now.
func (s *Service) toPay(tx storage.ReadTx, now time.Time, code *storage.Object[QRCode], entered *int64) (int64, error) {
	c := &code.Value
	if err := c.usable(now); err != nil {
		return 0, err
	}
	free, err := s.free(tx, now, code)
	if err != nil {
		return 0, err
	}
	if !free {
		return 0, api.Errorf(api.PaymentInProgress, "", "Another payment of this QR code is under way. Try again in a few minutes, or ask for a new code.").After(retryHeld)
	}
	return c.charge(entered)
}

// retryHeld is what a payer is told to wait while other payments hold what is left of a code.
const retryHeld = 30 * time.Second

// free reports whether a code has a use that no payment under way holds.
func (s *Service) free(tx storage.ReadTx, now time.Time, code *storage.Object[QRCode]) (bool, error) {
	c := &code.Value
	if c.UsageLimit == nil {
		return true, nil
	}
	held, err := s.payments.CountHolds(tx, code.Scope, now, c.ID)
	return c.UsageCount+int64(held) < *c.UsageLimit, err
}

// charge returns the amount to pay, in pesewas.
func (c *QRCode) charge(entered *int64) (int64, error) {
	switch {
	case c.Amount == nil && entered == nil:
		return 0, api.Errorf(api.AmountRequired, "amount", "This QR code has no fixed amount. Give the amount in pesewas.")
	case c.Amount == nil:
		return *entered, nil
	case entered != nil && *entered != *c.Amount:
		return 0, api.Invalid("amount", "This QR code has a fixed amount of %d pesewas. Leave amount out, or give the same.", *c.Amount)
	}
	return *c.Amount, nil
}
