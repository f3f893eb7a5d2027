package simulation_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
)

// person is a customer of a merchant. The name stands nowhere but in the data of
// that person.
type person struct {
	id, name string
	// deleted since the call was acknowledged, and clean since nothing was found.
	deleted, clean bool
}

func (p *person) email() string { return p.name + "@example.com" }

func (g *game) meet(s *side) {
	g.named++
	p := &person{name: fmt.Sprintf("zenobia%dq", g.named)}
	id, err := g.call("create customer", s, func(c api.Caller) (string, error) {
		return idOf(g.svc.Accounts.CreateCustomer(g.t.Context(), c, account.CreateCustomerParams{Name: p.name, Email: p.email()}))
	})
	if err == nil {
		p.id = id
		s.people = append(s.people, p)
	}
}

// customer is one who was not deleted, or nil.
func (g *game) customer(s *side) *person {
	var there []*person
	for _, p := range s.people {
		if !p.deleted {
			there = append(there, p)
		}
	}
	if len(there) == 0 {
		return nil
	}
	return there[g.dice.IntN(len(there))]
}

// know makes, changes or deletes a customer.
func (g *game) know(s *side) {
	ctx, p := g.t.Context(), g.customer(s)
	switch what := g.dice.IntN(6); {
	case p == nil || what < 3:
		g.meet(s)
	case what == 3:
		address := p.name + " Lane"
		_, _ = g.call("update customer", s, func(c api.Caller) (string, error) {
			return p.id, second(g.svc.Accounts.UpdateCustomer(ctx, c, p.id, account.UpdateCustomerParams{Address: &address}))
		})
	default:
		g.delete(s, p)
	}
}

func (g *game) delete(s *side, p *person) {
	_, err := g.call("delete customer", s, func(c api.Caller) (string, error) {
		return p.id, second(g.svc.Accounts.DeleteCustomer(g.t.Context(), c, p.id))
	})
	p.deleted = err == nil
}

// auditPeople compares the customers with those that were acknowledged, and looks
// for what is left of those whose data was removed.
func (g *game) auditPeople(s *side, ended bool) {
	g.t.Helper()
	var want, found []string
	for _, p := range s.people {
		if !p.deleted {
			want = append(want, p.id)
		}
	}
	for _, c := range testkit.All(api.All(g.t.Context(), s.caller, account.ListCustomersParams{}, g.svc.Accounts.ListCustomers)) {
		found = append(found, c.ID)
	}
	g.sameIDs("customers", want, found)
	for _, p := range s.people {
		if p.deleted && (!p.clean || ended) && (g.erased(s, p) || ended) {
			g.auditErased(s, p)
			p.clean = true
			g.played["clean"]++
		}
	}
}

// erased reports whether the work on the copies of a person's data is done.
func (g *game) erased(s *side, p *person) (done bool) {
	must.Do(g.t, g.store.View(g.t.Context(), func(tx storage.ReadTx) error {
		o, err := pii.Erasures.Get(tx, engine.Scope(s.caller), p.id)
		if errors.Is(err, storage.ErrNotFound) {
			g.t.Errorf("%s is deleted, and no work on it is due", p.id)
			return nil
		}
		done = err == nil && o.Value.Due == nil
		return err
	}))
	return done
}

func (g *game) auditErased(s *side, p *person) {
	g.t.Helper()
	issued, writtenTo := map[string]bool{}, false
	for _, i := range g.invoicesOf(s.caller) {
		issued[i.ID] = i.Status != invoice.Draft
		writtenTo = writtenTo || issued[i.ID] && i.Email != nil && *i.Email == p.email()
	}
	for where, text := range testkit.Contents(g.t, g.store, s.caller.Merchant) {
		if !strings.Contains(text, p.name) {
			continue
		}
		kind, _, _ := strings.Cut(where, " ")
		id := where[strings.LastIndex(where, " ")+1:]
		// A payment under way needs the payer's e-mail for the charger until it ends.
		if kind == "payments" && (strings.Contains(text, `"status":"pending"`) || strings.Contains(text, `"status":"processing"`)) {
			continue
		}
		// What is issued is kept, and its customer is written to when it is paid.
		if kind == "invoices" && issued[id] || kind == "messages" && writtenTo {
			continue
		}
		g.t.Errorf("%s is deleted, and %s is left with %s", p.name, where, text)
	}
}

// reminders are the days from the due date on which customers are reminded.
var reminders = []int{-3, 0, 7}

// auditReminders compares when an invoice was sent with when its customer was to be
// reminded: each time once, and never of what is not open. Since the world is calm,
// no reminder is left out.
func (g *game) auditReminders(i *invoice.Invoice, told []event.Event, ended bool) {
	g.t.Helper()
	at := func(day int) time.Time {
		return i.DueDate.UTC().Truncate(24*time.Hour).AddDate(0, 0, day).Add(9 * time.Hour)
	}
	sent, over := map[int]bool{}, false
	for _, e := range told {
		switch e.Type {
		case event.InvoicePaid, event.InvoiceVoided, event.InvoiceMarkedUncollectible:
			over = true
		case event.InvoiceSent:
			day, due := 0, false
			if i.DueDate != nil && i.CollectionMethod == invoice.SendInvoice {
				for _, d := range reminders {
					if !at(d).After(e.CreatedAt.Time) && i.FinalizedAt.Before(at(d)) {
						day, due = d, true
					}
				}
			}
			expect.True(g.t, due, "%s, due %v, was sent at %s, the day of no reminder", i.ID, i.DueDate, e.CreatedAt)
			expect.True(g.t, !sent[day], "%s, due %v, was sent at %s: of day %d, before %v", i.ID, i.DueDate, e.CreatedAt, day, sent)
			expect.True(g.t, !over, "%s, due %v, was sent at %s, when it was over", i.ID, i.DueDate, e.CreatedAt)
			sent[day] = true
			if ended {
				g.played["reminders"]++
			}
		}
	}
	if !ended || i.Status != invoice.Open || i.AmountDue == 0 || i.DueDate == nil || i.CollectionMethod != invoice.SendInvoice {
		return
	}
	if i.Email == nil && i.Phone == nil {
		return // the customer was deleted while it was a draft: there is no customer to remind
	}
	ahead := time.Duration(0)
	if !i.Livemode {
		ahead = g.ahead
	}
	for _, d := range reminders {
		due := at(d).Add(-ahead)
		expect.True(g.t, !due.After(g.calmSince) || !due.Before(g.now.Add(-24*time.Hour)) || !i.FinalizedAt.Before(at(d)) || sent[d], "%s, due %s, was never sent on day %d", i.ID, i.DueDate, d)
	}
}
