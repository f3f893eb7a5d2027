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
	"github.com/seed-7082ffec/payments/account"
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

// The other way round: it declines what a worker was told it had taken. What was
// booked stays, and the log says it.
func TestAChargerThatDeclinesWhatItHasTaken(t *testing.T) {
	begun, decided := make(chan struct{}), make(chan struct{})
	m := &moody{answer: func(invoice.Charge, bool) (invoice.ChargeResult, error) {
		return invoice.ChargeResult{Outcome: invoice.Charged}, nil
	}}
	var logged bytes.Buffer
	slow := &slowCharger{moody: m, begun: begun, decided: decided, ends: invoice.ChargeResult{Outcome: invoice.Declined, Reason: "No funds."}}
	s := open(t, memory.New(), payments.Config{TestCharger: slow, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	v := s.openInvoice(invoice.Fields{})
	caller := s.Caller
	caller.IdempotencyKey = "slow"
	paid := make(chan error)
	go func() {
		_, err := s.Invoices.Pay(t.Context(), caller, v.ID, invoice.PayParams{})
		paid <- err
	}()
	<-begun
	s.pass(2 * time.Minute) // a worker asks, and is told that it was charged
	close(decided)          // and then the first call ends: declined
	if err := <-paid; err == nil || api.CodeOf(err) == api.PaymentFailed {
		t.Errorf("the caller is told: %v", err)
	}
	if is := s.get(v.ID); is.Status != invoice.Paid || is.Payment == nil || is.AmountPaid != 25_00 {
		t.Errorf("the invoice is %s", is.Status)
	}
	if !strings.Contains(logged.String(), "contradicts") || !strings.Contains(logged.String(), "att_") {
		t.Errorf("the log does not tell: %s", &logged)
	}
	// The repetition finds what was booked.
	again, err := s.Invoices.Pay(t.Context(), caller, v.ID, invoice.PayParams{})
	if err != nil || again.Status != invoice.Paid {
		t.Errorf("again: %+v, %v", again, err)
	}
	s.verified()
}

// A wallet pays with its PIN, while it may be used; a refusal takes nothing.
func TestWalletsThatMayNotPay(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	v := s.openInvoice(invoice.Fields{})
	pay := func(pin string) error {
		_, err := s.Invoices.PayWallet(t.Context(), s.Caller, v.ID, invoice.WalletParams{Wallet: account.WalletRef{AccountID: s.Consumer.ID}, PIN: pin})
		return err
	}
	wants(t, "no PIN", pay(""), api.ParameterMissing)
	wants(t, "a wrong PIN", pay("4321"), api.PINInvalid)
	for _, status := range []account.Status{account.Frozen, account.Suspended} {
		_, err := s.Accounts.SetConsumerStatus(t.Context(), false, s.Consumer.ID, status)
		check(t, err)
		wants(t, string(status), pay(s.PIN), api.WalletNotActive)
	}
	_, err := s.Accounts.SetConsumerStatus(t.Context(), false, s.Consumer.ID, account.Active)
	check(t, err)
	balance, err := s.Accounts.WalletBalance(t.Context(), false, s.Consumer.ID)
	if err != nil || balance.IntPart() != 1000 || s.get(v.ID).Status != invoice.Open {
		t.Errorf("the wallet has %s, %v", balance, err)
	}
	wants(t, "active", pay(s.PIN), "")
	s.verified()
}

// slowCharger charges, the first time, when it is told to.
type slowCharger struct {
	*moody
	once           sync.Once
	begun, decided chan struct{}
	ends           invoice.ChargeResult // charged, when it says nothing
}

func (c *slowCharger) Charge(ctx context.Context, charge invoice.Charge) (result invoice.ChargeResult, err error) {
	first := false
	c.once.Do(func() { first = true })
	if !first {
		return c.moody.Charge(ctx, charge)
	}
	close(c.begun)
	<-c.decided
	if c.ends.Outcome != "" {
		return c.ends, nil
	}
	return invoice.ChargeResult{Outcome: invoice.Charged}, nil
}
