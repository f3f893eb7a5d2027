package payment_test

import (
	"math/rand/v2"
	"testing"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/payment"
)

// refund counts a refund of a payment; an amount of 0 refunds the rest.
func (s *till) refund(t *testing.T, caller api.Caller, id string, amount int64) (*collect.CountedRefund, error) {
	t.Helper()
	var wanted *int64
	if amount != 0 {
		wanted = &amount
	}
	var counted *collect.CountedRefund
	err := s.engine.Update(t.Context(), caller, func(tx *engine.Tx) (err error) {
		counted, err = s.Refund(tx, id, wanted)
		return err
	})
	return counted, err
}

func (s *till) refundFailed(t *testing.T, caller api.Caller, id string, amount int64) error {
	t.Helper()
	return s.engine.Update(t.Context(), caller, func(tx *engine.Tx) error { return testkit.Err(s.RefundFailed(tx, id, amount)) })
}

func (s *till) refunded(t *testing.T, caller api.Caller, id string) int64 {
	t.Helper()
	p := must.Get(s.Get(t.Context(), caller, id))(t)
	return p.AmountRefunded
}

func TestRefundsAreCounted(t *testing.T) {
	s := newTill(t)
	caller := api.Caller{Merchant: "mer_1"}
	paid := s.take(t, caller, payment.Payment{Amount: 1000}, nil)
	free := s.take(t, caller, payment.Payment{Amount: 0}, nil)

	for _, step := range []struct {
		amount int64 // 0 for the rest
		code   api.Code
		give   int64
		total  int64
	}{
		{-1, api.ParameterInvalid, 0, 0},
		{1001, api.AmountTooLarge, 0, 0},
		{400, "", 400, 400},
		{601, api.AmountTooLarge, 0, 400},
		{599, "", 599, 999},
		{0, "", 1, 1000},
		{0, api.PaymentRefunded, 0, 1000},
		{1, api.PaymentRefunded, 0, 1000},
		{-1, api.ParameterInvalid, 0, 1000},
	} {
		counted, err := s.refund(t, caller, paid.ID, step.amount)
		expect.Equal(t, api.CodeOf(err), step.code, "refund of %d: code", step.amount)
		expect.True(t, (err == nil) == (step.code == ""), "refund of %d: %v, want %q", step.amount, err, step.code)
		if err == nil && (counted.Amount != step.give || counted.Payment.AmountRefunded != step.total || counted.Source.Payer != "acc_payer") {
			t.Errorf("refund of %d: %+v", step.amount, counted)
		}
		expect.Equal(t, s.refunded(t, caller, paid.ID), step.total, "refunded after a refund of %d", step.amount)
	}
	testkit.WantCode(t, "of a payment of nothing", testkit.Err(s.refund(t, caller, free.ID, 0)), api.PaymentNotRefundable)
	zero := int64(0)
	err := s.engine.Update(t.Context(), caller, func(tx *engine.Tx) error { return testkit.Err(s.Refund(tx, paid.ID, &zero)) })
	expect.Equal(t, api.CodeOf(err), api.ParameterInvalid, "refund of 0: %v", err)

	// A failed refund frees its amount, and never more than it counted.
	for _, step := range []struct {
		amount, total int64
		ok            bool
	}{{0, 1000, false}, {-1, 1000, false}, {1001, 1000, false}, {400, 600, true}, {601, 600, false}, {600, 0, true}, {1, 0, false}} {
		if err := s.refundFailed(t, caller, paid.ID, step.amount); (err == nil) != step.ok || api.CodeOf(err) != "" {
			t.Errorf("a failed refund of %d: %v", step.amount, err)
		}
		expect.Equal(t, s.refunded(t, caller, paid.ID), step.total, "refunded after a failed refund of %d", step.amount)
	}

	// A caller cannot refund a payment of another merchant or of the other mode.
	for name, stranger := range map[string]api.Caller{"another merchant": {Merchant: "mer_2"}, "the other mode": {Merchant: "mer_1", Live: true}} {
		if _, err := s.refund(t, stranger, paid.ID, 1); api.CodeOf(err) != api.ResourceMissing {
			t.Errorf("refund by %s: %v", name, err)
		}
		if err := s.refundFailed(t, stranger, paid.ID, 1); api.CodeOf(err) != api.ResourceMissing {
			t.Errorf("failed refund by %s: %v", name, err)
		}
	}
	// A refund adds no event to the payment: refunds have their own.
	list, err := s.events.List(t.Context(), caller, event.ListParams{})
	must.Do(t, err)
	expect.Equal(t, len(list.Data), 4, "number of events")
}

// For any order of calls, the counted amount is the granted refunds less the failed ones. It is
// never below zero or above the payment.
func TestRefundsNeverExceedPayment(t *testing.T) {
	s := newTill(t)
	caller := api.Caller{Merchant: "mer_1"}
	dice := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		amount := 1 + dice.Int64N(50)
		id := s.take(t, caller, payment.Payment{Amount: amount}, nil).ID
		var total int64
		var granted []int64
		for range 40 {
			if n := len(granted); n > 0 && dice.IntN(3) == 0 {
				i := dice.IntN(n)
				must.Do(t, s.refundFailed(t, caller, id, granted[i]))
				total -= granted[i]
				granted = append(granted[:i], granted[i+1:]...)
			} else {
				want := dice.Int64N(amount + 2)
				r, err := s.refund(t, caller, id, want)
				fits := total < amount && want <= amount-total
				must.True(t, (err == nil) == fits, "%d of %d with %d refunded: %v", want, amount, total, err)
				if err == nil {
					total += r.Amount
					granted = append(granted, r.Amount)
				}
			}
			got := s.refunded(t, caller, id)
			must.True(t, got == total && got >= 0 && got <= amount, "%d of %d are refunded, and %d were granted", got, amount, total)
		}
	}
}

func TestSourceOfPayment(t *testing.T) {
	s := newTill(t)
	caller := api.Caller{Merchant: "mer_1"}
	paid := s.take(t, caller, payment.Payment{Amount: 1}, nil)
	err := s.engine.View(t.Context(), caller, func(tx *engine.ReadTx) error {
		from, err := s.Source(tx, engine.Scope(caller), paid.ID)
		must.Do(t, err)
		expect.Equal(t, from, collect.Source{Payer: "acc_payer"}, "from")
		_, err = s.Source(tx, engine.Scope(api.Caller{Merchant: "mer_2"}), paid.ID)
		expect.Equal(t, api.CodeOf(err), api.ResourceMissing, "a stranger: %v", err)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
