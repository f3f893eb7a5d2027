package invoice_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
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
				expect.Equal(t, got.Status, invoice.Paid, "the invoice: status")
				expect.True(t, got.Payment != nil, "the invoice: Payment is nil")
				kept, err := s.Invoices.Pay(t.Context(), again, v.ID, invoice.PayParams{})
				must.Do(t, err)
				expect.True(t, replayed, "repeated: %+v, %v, replayed %t", kept, err, replayed)
				expect.Equal(t, kept.ID, v.ID, "repeated: ID")
				expect.Equal(t, kept.Status, invoice.Paid, "repeated: status")
			} else if got.Status != invoice.Open || got.AttemptCount != 1 {
				t.Errorf("the invoice is %+v", got)
			}
			expect.ErrorIs(t, notify(opposite), provider.ErrContradicted, "the opposite")
			list, err := s.Providers.List(t.Context(), api.Caller{}, provider.ListParams{Contradicted: true})
			must.Do(t, err)
			must.True(t, len(list.Data) == 1, "listed %+v, %v", list, err)
			expect.Equal(t, list.Data[0].ID, charge, "listed: ID of the first")
			expect.Equal(t, list.Data[0].Outcome, first, "listed: outcome of the first")
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
	expect.Equal(t, got.Status, invoice.Open, "the invoice")
	expect.Equal(t, got.AttemptCount, 2, "number of charges")
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
	must.Do(t, err)
	expect.Equal(t, len(list.Data), 0, "listed: number")
	s.Verified()
}

// The events of automatic charges name the request that finalized the invoice: those of each
// charge, whether the charger answers at once or is polled. The finalization keeps its key.
func TestAutomaticChargesKeepFinalizingRequest(t *testing.T) {
	answers := map[string][]provider.Outcome{
		"at once":           {provider.Paid},
		"asked again":       {provider.InProgress, provider.Paid},
		"declined at first": {provider.Refused, provider.Paid},
	}
	for name, outcomes := range answers {
		t.Run(name, func(t *testing.T) {
			asked := 0
			m := &moody{answer: func(provider.Charge, bool) (provider.Result, error) {
				asked++
				return provider.Result{Outcome: outcomes[min(asked, len(outcomes))-1]}, nil
			}}
			s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: m}})
			method := invoice.ChargeAutomatically
			draft := s.draft(invoice.Fields{CollectionMethod: &method})
			caller := s.Caller
			caller.RequestID, caller.IdempotencyKey = "req_finalize", "key"
			finalize := func() *invoice.Invoice { return must.Get(s.Invoices.Finalize(t.Context(), caller, draft.ID))(t) }
			first := finalize()
			for range 3 {
				s.pass(24 * time.Hour)
			}
			is := s.get(draft.ID)
			must.True(t, is.Status == invoice.Paid, "it is %s after %d questions", is.Status, asked)
			want := map[event.Type]event.Request{}
			got := map[event.Type]event.Request{}
			for e, err := range api.All(t.Context(), s.Caller, event.ListParams{}, s.Events.List) {
				must.Do(t, err)
				if e.Type == event.InvoiceCreated {
					continue
				}
				got[e.Type] = e.Request
				want[e.Type] = event.Request{ID: new("req_finalize"), IdempotencyKey: new("key")}
			}
			diff := cmp.Diff(want, got)
			expect.True(t, diff == "", "requests (-want +got):\n%s", diff)
			expect.True(t, len(got) >= 4, "requests (-want +got):\n%s", diff)
			expect.Same(t, finalize(), first, "the key stands for another answer")
			s.Verified()
		})
	}
}

// An invoice is not said to be sent where nothing carries it.
func TestSendFailsWithoutTexterAndMailer(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	live := s.Caller
	live.Live = true
	v := must.Get(s.Invoices.Create(t.Context(), live, invoice.CreateParams{
		Fields: invoice.Fields{Lines: []invoice.LineParams{line(100)}, Phone: new("0241112222"), Email: new("ama@example.com")}, AutoFinalize: true,
	}))(t)
	testkit.WantCode(t, "send in live mode", testkit.Err(s.Invoices.Send(t.Context(), live, v.ID)), api.Unavailable)
	sent := must.Get(s.Events.List(t.Context(), live, event.ListParams{Type: event.InvoiceSent}))(t)
	expect.Equal(t, len(sent.Data), 0, "it is said to be sent")
}

// The messages of an invoice for which nothing is due ask for no money.
func TestSendSaysThatNothingIsDue(t *testing.T) {
	for status, test := range map[invoice.Status]struct {
		end  func(s *shop, id string) error
		says string
	}{
		invoice.Paid: {func(s *shop, id string) error {
			return testkit.Err(s.Invoices.Pay(s.t.Context(), s.Caller, id, invoice.PayParams{}))
		}, "paid"},
	} {
		s := open(t, memory.New(), payments.Config{})
		v := s.openInvoice(invoice.Fields{Phone: new("0241112222"), Email: new("ama@example.com")})
		must.Do(t, test.end(s, v.ID))
		s.pass(time.Minute)
		must.Get(s.Invoices.Send(t.Context(), s.Caller, v.ID))(t)
		for kind, to := range map[message.Kind]string{message.KindSMS: "0241112222", message.KindEmail: "ama@example.com"} {
			sent := must.Get(s.Messages.List(t.Context(), s.Caller, message.ListParams{To: to, Page: api.Page{Limit: 1}}))(t).Data[0]
			text := sent.Text
			if kind == message.KindEmail {
				text = must.Get(s.Messages.Get(t.Context(), s.Caller, sent.ID))(t).HTML + text
			}
			expect.Equal(t, sent.Kind, kind, "%s, %s: kind", status, kind)
			expect.True(t, strings.Count(text, test.says) == strings.Count(text, "GHS"), "%s, %s: %s", status, kind, text)
		}
	}
}

// stale is a store that runs the next update of an invoice on what does not last: it
// drops the run, lets between happen, and runs it again, as a backend does whose group
// came to nothing.
type stale struct {
	storage.Store
	between func() // nil for no more
}

var errDropped = errors.New("dropped")

func (s *stale) Update(ctx context.Context, fn func(storage.Tx) error) error {
	if between := s.between; between != nil {
		w := watched{}
		err := s.Store.Update(ctx, func(tx storage.Tx) error {
			w.Tx = tx
			return errors.Join(fn(&w), errDropped)
		})
		if !errors.Is(err, errDropped) {
			return err
		}
		if w.invoices {
			s.between = nil
			between()
		}
	}
	return s.Store.Update(ctx, fn)
}

// watched notes that an invoice was written.
type watched struct {
	storage.Tx
	invoices bool
}

func (w *watched) Replace(k *storage.Kind, r storage.Record) error {
	w.invoices = w.invoices || k.Name == "invoices"
	return w.Tx.Replace(k, r)
}

// The worker's transaction runs twice. In the first run it finds the payer's open charge. In
// the second that charge has been declined, and the next automatic charge is due. The worker
// makes that charge under a key of its own, and books it.
func TestTransactionRerunStartsTheAutomaticCharge(t *testing.T) {
	outcome := provider.Refused
	m := &moody{answer: func(provider.Charge, bool) (provider.Result, error) { return provider.Result{Outcome: outcome}, nil }}
	slow := &slowCharger{
		moody: m, begun: make(chan struct{}), decided: make(chan struct{}), ends: provider.Result{Outcome: provider.Refused},
	}
	slow.once.Do(func() {}) // it is slow with the payer, who comes later
	store := &stale{Store: memory.New()}
	s := open(t, store, payments.Config{Test: payments.Providers{Charger: slow}})
	method := invoice.ChargeAutomatically
	draft := s.draft(invoice.Fields{CollectionMethod: &method})
	finalizing := s.Caller
	finalizing.RequestID, finalizing.IdempotencyKey = "req_finalize", "finalize"
	must.Get(s.Invoices.Finalize(t.Context(), finalizing, draft.ID))(t)
	s.pass(0) // declined, and due again in a day

	slow.once = sync.Once{}
	paying := s.Caller
	paying.RequestID, paying.IdempotencyKey = "req_pay", "pay"
	declined := make(chan error, 1)
	go func() {
		_, err := s.Invoices.Pay(context.WithoutCancel(t.Context()), paying, draft.ID, invoice.PayParams{})
		declined <- err
	}()
	<-slow.begun
	m.mu.Lock()
	outcome = provider.Paid
	m.mu.Unlock()
	store.between = func() {
		close(slow.decided)
		testkit.WantCode(t, "the payer's", <-declined, api.PaymentFailed)
	}
	s.pass(2 * time.Minute) // the worker looks at what takes so long
	s.pass(48 * time.Hour)
	must.True(t, store.between == nil, "no run was dropped")
	is := s.get(draft.ID)
	expect.True(t, is.Status == invoice.Paid, "it is %s", is.Status)
	testkit.WantCode(t, "the payer's key, under which nothing was paid", testkit.Err(s.Invoices.Pay(t.Context(), paying, draft.ID, invoice.PayParams{})), api.InvoiceAlreadyPaid)
	s.Verified()
}

// A charge that reports another amount than the invoice's has not paid it, and Pay does not say so. A person
// looks after it, whom Health tells at once.
func TestOtherAmountIsNotPaid(t *testing.T) {
	charger := &moody{answer: func(provider.Charge, bool) (provider.Result, error) {
		return provider.Result{Outcome: provider.Paid, Amount: 1}, nil
	}}
	s := open(t, memory.New(), payments.Config{Test: payments.Providers{Charger: charger}})
	v := s.openInvoice(invoice.Fields{})
	testkit.WantCode(t, "another amount", testkit.Err(s.Invoices.Pay(t.Context(), s.Caller, v.ID, invoice.PayParams{})), api.Unavailable)
	expect.Equal(t, s.get(v.ID).Status, invoice.Open, "status")
	expect.Equal(t, len(must.Get(s.Providers.List(t.Context(), api.Caller{}, provider.ListParams{}))(t).Data), 1, "listed")
	expect.Equal(t, must.Get(s.Health(t.Context()))(t).StuckTest, 1, "counted")
}
