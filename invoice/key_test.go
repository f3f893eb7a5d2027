package invoice_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage/memory"
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

// A charger that takes money which it has said it did not take is found out: the
// invoice is not shown as paid, no caller is told that all is well, and the log says
// it, so that somebody gives the money back.
func TestAChargerThatContradictsItself(t *testing.T) {
	lost := errors.New("the answer is lost")
	begun, decided := make(chan struct{}), make(chan struct{})
	m := &moody{}
	var logged bytes.Buffer
	var s *shop
	slow := &slowCharger{moody: m, begun: begun, decided: decided}
	m.answer = func(invoice.Charge, bool) (invoice.ChargeResult, error) {
		return invoice.ChargeResult{Outcome: invoice.Declined, Reason: "No funds."}, nil
	}
	s = open(t, memory.New(), payments.Config{TestCharger: slow, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	v := s.openInvoice(invoice.Fields{})
	caller := s.Caller
	caller.IdempotencyKey = "slow"
	paid := make(chan error)
	go func() {
		_, err := s.Invoices.Pay(t.Context(), caller, v.ID, invoice.PayParams{})
		paid <- err
	}()
	<-begun
	s.pass(2 * time.Minute) // a worker asks, and is told that it was declined
	close(decided)          // and then the first call ends: charged
	if err := <-paid; err == nil {
		t.Error("the caller is told that the invoice was paid")
	}
	if is := s.get(v.ID); is.Status != invoice.Open || is.Payment != nil {
		t.Errorf("the invoice is %s", is.Status)
	}
	if !strings.Contains(logged.String(), "contradicts") || !strings.Contains(logged.String(), "att_") {
		t.Errorf("the log does not tell: %s", &logged)
	}
	// The key stands for nothing: it can be tried again.
	m.mu.Lock()
	m.answer = func(invoice.Charge, bool) (invoice.ChargeResult, error) { return invoice.ChargeResult{}, lost }
	m.mu.Unlock()
	_, err := s.Invoices.Pay(t.Context(), caller, v.ID, invoice.PayParams{})
	wants(t, "the key again", err, api.Unavailable)
	s.verified()
}

// slowCharger charges, the first time, when it is told to.
type slowCharger struct {
	*moody
	once           sync.Once
	begun, decided chan struct{}
}

func (c *slowCharger) Charge(ctx context.Context, charge invoice.Charge) (result invoice.ChargeResult, err error) {
	first := false
	c.once.Do(func() { first = true })
	if !first {
		return c.moody.Charge(ctx, charge)
	}
	close(c.begun)
	<-c.decided
	return invoice.ChargeResult{Outcome: invoice.Charged}, nil
}
