package invoice_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

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
