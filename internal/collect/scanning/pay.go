package scanning

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage"
)

func (s *Service) Hosted(ctx context.Context, id string) (*qrcode.Hosted, error) {
	var offer *qrcode.Hosted
	err := s.engine.Store.View(ctx, func(stored storage.ReadTx) error {
		o, err := s.orMissing(qrCodes.Find(stored, "public", storage.Scope{}, id))
		if err != nil {
			return err
		}
		offer = &qrcode.Hosted{Code: o.Value, Caller: api.Caller{Merchant: o.Scope.Merchant, Live: o.Scope.Live}}
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
		offer.Refusal, _ = codeUsable(&offer.Code, tx.Now).(*api.Error)
		return nil
	})
	return offer, err
}

func (s *Service) Pay(ctx context.Context, caller api.Caller, id string, p qrcode.PayParams) (*payment.Payment, error) {
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
		err = s.accounts.PayFromWallet(ctx, s.engine, caller, p.Wallet, party.PINEntry{PIN: p.PIN, From: p.From}, due, func(confirm func(*engine.Tx) (*account.Consumer, error)) (err error) {
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

func payOperation(code string, p qrcode.PayParams) engine.Operation {
	return engine.Operation{Name: "qr_code.pay", Params: struct {
		Code string `json:"code"`
		qrcode.PayParams
	}{code, p}}
}

// payTx is the effect of Pay. It reads everything that it relies on again, inside the
// transaction.
func (s *Service) payTx(tx *engine.Tx, codeID string, p qrcode.PayParams, from *account.Consumer) (*payment.Payment, error) {
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
func (s *Service) startTx(tx *engine.Tx, id string, p qrcode.PayParams) (*payment.Payment, error) {
	code, err := s.getCode(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return nil, err
	}
	c := &code.Value
	start := collect.StartParams{
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
func (s *Service) countUse(tx *engine.Tx, code *storage.Object[qrcode.QRCode]) error {
	c := &code.Value
	c.UsageCount++
	if c.UsageLimit != nil && c.UsageCount >= *c.UsageLimit {
		c.Active = false
		return s.replace(tx, code)
	}
	return qrCodes.Replace(tx, code)
}

// toPay returns the amount to pay, in pesewas, or why the code cannot be paid now.
func (s *Service) toPay(tx storage.ReadTx, now time.Time, code *storage.Object[qrcode.QRCode], entered *int64) (int64, error) {
	c := &code.Value
	if err := codeUsable(c, now); err != nil {
		return 0, err
	}
	free, err := s.free(tx, now, code)
	if err != nil {
		return 0, err
	}
	if !free {
		return 0, api.Errorf(api.PaymentInProgress, "", "Another payment of this QR code is under way. Try again in a few minutes, or ask for a new code.").After(retryHeld)
	}
	return amountOf(c, entered)
}

// retryHeld is how long a payer is told to wait while other payments hold the uses that are left of a code.
const retryHeld = 30 * time.Second

// free reports whether a code has a use that no payment under way holds.
func (s *Service) free(tx storage.ReadTx, now time.Time, code *storage.Object[qrcode.QRCode]) (bool, error) {
	c := &code.Value
	if c.UsageLimit == nil {
		return true, nil
	}
	held, err := s.payments.CountHolds(tx, code.Scope, now, c.ID)
	return c.UsageCount+int64(held) < *c.UsageLimit, err
}

// amountOf returns the amount to pay, in pesewas.
func amountOf(c *qrcode.QRCode, entered *int64) (int64, error) {
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
