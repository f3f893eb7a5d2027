package invoice_test

import (
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// undecided is a charger that leaves every charge in progress.
func undecided() *moody {
	return &moody{answer: func(provider.Charge, bool) (provider.Result, error) {
		return provider.Result{Outcome: provider.InProgress}, nil
	}}
}

// openCharge pays a new invoice, whose charge stays in progress, and returns the charge's
// id.
func (s *shop) openCharge() (v *invoice.Invoice, charge string) {
	s.t.Helper()
	v = s.openInvoice(invoice.Fields{})
	caller := s.Caller
	caller.IdempotencyKey = "pay " + v.ID
	testkit.WantCode(s.t, "in progress", testkit.Err(s.Invoices.Pay(s.t.Context(), caller, v.ID, invoice.PayParams{})), api.Unavailable)
	s.pass(2 * time.Hour)
	list := must.Get(s.Providers.List(s.t.Context(), api.Caller{}, provider.ListParams{Flow: provider.Charges}))(s.t)
	for _, o := range list.Data {
		if o.Record == v.ID {
			return v, o.ID
		}
	}
	s.t.Fatalf("the charge of %s is not listed: %+v", v.ID, list.Data)
	return nil, ""
}

// A callback books a charge as an answer does, under the key of the call that began it. A
// repetition books nothing, and the opposite is a contradiction.
func TestNotifyBooksACharge(t *testing.T) {
	for first, opposite := range map[provider.Outcome]provider.Outcome{
		provider.Paid: provider.Refused, provider.Refused: provider.Paid,
	} {
		t.Run(string(first), func(t *testing.T) {
			s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: undecided()}})
			v, charge := s.openCharge()
			notify := func(o provider.Outcome) error {
				return s.Providers.Notify(t.Context(), charge, provider.Result{Outcome: o, Network: "mtn"})
			}
			testkit.WantCode(t, "an unknown charge", s.Providers.Notify(t.Context(), "att_0", provider.Result{Outcome: first}), api.ResourceMissing)
			testkit.WantCode(t, "not found", notify(provider.NotFound), api.ParameterInvalid)
			must.Do(t, notify(provider.InProgress))
			must.Do(t, notify(first))
			must.Do(t, notify(first))
			must.Do(t, notify(provider.InProgress)) // late
			got := must.Get(s.Invoices.Get(t.Context(), s.Caller, v.ID))(t)
			var replayed bool
			again := s.Caller
			again.IdempotencyKey, again.Replayed = "pay "+v.ID, &replayed
			if first == provider.Paid {
				expect.True(t, got.Status == invoice.Paid && got.Payment != nil, "the invoice is %+v", got)
				kept, err := s.Invoices.Pay(t.Context(), again, v.ID, invoice.PayParams{})
				expect.True(t, err == nil && replayed && kept.ID == v.ID && kept.Status == invoice.Paid, "repeated: %+v, %v, replayed %t", kept, err, replayed)
			} else if got.Status != invoice.Open || got.AttemptCount != 1 {
				t.Errorf("the invoice is %+v", got)
			}
			expect.ErrorIs(t, notify(opposite), provider.ErrContradicted, "the opposite")
			list, err := s.Providers.List(t.Context(), api.Caller{}, provider.ListParams{Contradicted: true})
			expect.True(t, err == nil && len(list.Data) == 1 && list.Data[0].ID == charge && list.Data[0].Outcome == first, "listed %+v, %v", list, err)
			must.Do(t, s.Providers.Resolve(t.Context(), charge))
			s.Verified()
		})
	}
}

// A result of an earlier charge books nothing on the charge that is open now.
func TestLateResultLeavesTheOpenChargeAlone(t *testing.T) {
	s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: undecided()}})
	v, first := s.openCharge()
	notify := func(charge string, o provider.Outcome) error {
		return s.Providers.Notify(t.Context(), charge, provider.Result{Outcome: o})
	}
	must.Do(t, notify(first, provider.Refused))
	caller := s.Caller
	caller.IdempotencyKey = "second"
	testkit.WantCode(t, "in progress", testkit.Err(s.Invoices.Pay(t.Context(), caller, v.ID, invoice.PayParams{})), api.Unavailable)

	must.Do(t, notify(first, provider.Refused)) // repeated
	testkit.WantCode(t, "the second charge is open", testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{})), api.InvoicePaymentInProgress)
	expect.ErrorIs(t, notify(first, provider.Paid), provider.ErrContradicted, "paid after all")
	got := must.Get(s.Invoices.Get(t.Context(), s.Caller, v.ID))(t)
	expect.True(t, got.Status == invoice.Open && got.AttemptCount == 2, "the invoice is %s after %d charges", got.Status, got.AttemptCount)
	s.Verified()
}

// A test helper ends a charge of the caller's own, once.
func TestSettleBooksACharge(t *testing.T) {
	s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: undecided()}})
	v, charge := s.openCharge()
	settle := func(c api.Caller, o provider.Outcome) error {
		return s.Providers.Settle(t.Context(), c, charge, provider.Result{Outcome: o})
	}
	live := s.Caller
	live.Live = true
	testkit.WantCode(t, "live", settle(live, provider.Paid), api.PermissionDenied)
	testkit.WantCode(t, "of another merchant", settle(api.Caller{Merchant: "mer_0"}, provider.Paid), api.ResourceMissing)
	must.Do(t, settle(s.Caller, provider.Paid))
	must.Do(t, settle(s.Caller, provider.Paid))
	testkit.WantCode(t, "the opposite", settle(s.Caller, provider.Refused), api.TransferSettled)
	expect.Equal(t, must.Get(s.Invoices.Get(t.Context(), s.Caller, v.ID))(t).Status, invoice.Paid, "the invoice")
	list, err := s.Providers.List(t.Context(), api.Caller{}, provider.ListParams{})
	expect.True(t, err == nil && len(list.Data) == 0, "listed %+v, %v", list, err)
	s.Verified()
}
