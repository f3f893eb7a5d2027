package invoice_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/qrcode"
)

// hesitant is a charger whose answers get lost; the money is taken.
type hesitant struct{}

func (hesitant) Charge(context.Context, invoice.Charge) (invoice.ChargeResult, error) {
	return invoice.ChargeResult{}, errors.New("the answer is lost")
}

func (hesitant) Status(context.Context, invoice.Charge) (invoice.ChargeResult, error) {
	return invoice.ChargeResult{Outcome: invoice.Charged}, nil
}

// Money that was taken is booked, whatever became of the idempotency key of the
// request meanwhile.
func TestAChargeWhoseKeyWasTaken(t *testing.T) {
	onEachStore(t, payments.Config{TestCharger: hesitant{}}, func(t *testing.T, s *shop) {
		ctx := t.Context()
		var made []*invoice.Invoice
		for range 2 {
			one, err := s.Invoices.Create(ctx, s.Caller, invoice.CreateParams{
				Fields: invoice.Fields{Lines: []invoice.LineParams{line(2500)}}, AutoFinalize: true,
			})
			check(t, err)
			made = append(made, one)
		}
		caller := s.Caller
		caller.IdempotencyKey = "k"
		_, err := s.Invoices.Pay(ctx, caller, made[0].ID, invoice.PayParams{})
		wants(t, "unknown", err, api.Unavailable)
		_, err = s.QRCodes.Create(ctx, caller, qrcode.CreateParams{})
		check(t, err)
		// Two at once with one key, of which one is kept.
		caller.IdempotencyKey = "l"
		_, err = s.Invoices.Pay(ctx, caller, made[1].ID, invoice.PayParams{})
		wants(t, "unknown", err, api.Unavailable)
		s.pass(time.Hour)

		for _, one := range made {
			is, err := s.Invoices.Get(ctx, s.Caller, one.ID)
			check(t, err)
			if is.Status != invoice.Paid || is.Payment == nil {
				t.Errorf("%s is %s", one.ID, is.Status)
			}
		}
		b, err := s.Accounts.Balance(ctx, s.Caller)
		check(t, err)
		if want := decimal.NewFromInt(1050); !b.Available.Equal(want) {
			t.Errorf("the merchant has %s, want %s", b.Available, want)
		}
		// The key stands for the request that has it.
		_, err = s.QRCodes.Create(ctx, caller, qrcode.CreateParams{})
		wants(t, "the key of a charge", err, api.IdempotencyKeyReused)
	})
}
