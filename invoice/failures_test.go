package invoice_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/faultstore"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// token is the secret part of the address of an invoice's page.
func token(v *invoice.Invoice) string {
	return v.HostedURL[strings.LastIndex(v.HostedURL, "/")+1:]
}

// While the store fails at any operation of the work in turn, reminders and
// automatic charges come, each once.
func TestWorkersChargeAndRemindOnceWhileTheStoreFails(t *testing.T) {
	charger := &counting{charged: map[string]int{}}
	store := faultstore.New(memory.New())
	s := open(t, store, payments.Config{InvoiceReminders: []int{3}, Test: payments.Providers{Charger: charger}})
	automatic := invoice.ChargeAutomatically
	type pair struct{ charged, reminded string }
	var made []pair
	hit := true
	for k := 1; hit; k++ {
		charged := must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{
			Fields: invoice.Fields{CollectionMethod: &automatic, Lines: []invoice.LineParams{line(100)}}, AutoFinalize: true,
		}))(t)
		late := s.Now().AddDate(0, 0, 1)
		reminded := s.openInvoice(invoice.Fields{Phone: new("0245556666"), DueDate: &late})
		made = append(made, pair{charged.ID, reminded.ID})
		s.Pass(5 * 24 * time.Hour)
		store.FailAt(k)
		err := s.Drain(t.Context())
		if hit = store.Heal(); err != nil && !errors.Is(err, faultstore.Err) {
			t.Fatal(err)
		}
		must.True(t, k <= 500, "the work has no end")
	}
	s.pass(24 * time.Hour)
	sent := map[string]int{}
	for e, err := range api.All(t.Context(), s.Caller, event.ListParams{Type: event.InvoiceSent}, s.Events.List) {
		must.Do(t, err)
		var object struct{ ID string }
		must.Do(t, json.Unmarshal(e.Data.Object, &object))
		sent[object.ID]++
	}
	for _, p := range made {
		v := s.get(p.charged)
		expect.True(t, v.Status == invoice.Paid && v.AmountPaid == 100, "charged: %s is %s, with %d paid", v.ID, v.Status, v.AmountPaid)
		expect.True(t, sent[p.reminded] == 1, "%s was sent %d times", p.reminded, sent[p.reminded])
	}
	for id, n := range charger.charged {
		expect.Equal(t, n, 100, "of %s %d were taken", id, n)
	}
	expect.Equal(t, len(charger.charged), len(made), "%d charges for %d invoices", len(charger.charged), len(made))
	s.Verified()
}

// counting is a charger that takes the money once for an id.
type counting struct {
	mu      sync.Mutex
	charged map[string]int
}

func (c *counting) Charge(_ context.Context, charge provider.Charge) (provider.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.charged[charge.ID] = int(charge.Amount)
	return provider.Result{Outcome: provider.Paid}, nil
}

func (c *counting) ChargeStatus(_ context.Context, charge provider.Charge) (provider.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.charged[charge.ID] == 0 {
		return provider.Result{Outcome: provider.NotFound}, nil
	}
	return provider.Result{Outcome: provider.Paid}, nil
}
