// Package gym is the code of a host, a gym with monthly members. They join with a free week, their
// phones are charged every month, and they may pause for a holiday. The door opens for those who pay.
// Its test is the example: it runs the payment service in memory, and moves the clock by two years.
package gym

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/subscription"
	"github.com/seed-7082ffec/payments/webhook"
)

// Gym knows its members. A real one keeps them in a database.
type Gym struct {
	svc *payments.Service
	// merchant stands for the gym in calls of the service.
	merchant api.Caller
	plan     string // of all members

	mu      sync.Mutex
	members map[string]*subscription.Subscription // by card, as they joined
	doors   map[string]bool                       // whether the door opens, by subscription
}

// monthly is what a month costs, in pesewas, and freeDays how long a member tries the gym for nothing.
const (
	monthly  = 150_00
	freeDays = 7
)

// Open returns a gym without members. A real one keeps the plan's id with its members. The idempotency key
// makes one plan of several calls, for 30 days.
func Open(ctx context.Context, svc *payments.Service, merchant api.Caller) (*Gym, error) {
	keyed := merchant
	keyed.IdempotencyKey = "plan-monthly"
	plan, err := svc.Plans.Create(ctx, keyed, catalog.CreatePlanParams{
		Name: "Membership", Amount: monthly, Interval: catalog.Month, TrialPeriodDays: new(int64(freeDays)),
	})
	if err != nil {
		return nil, fmt.Errorf("make the plan: %w", err)
	}
	return &Gym{svc: svc, merchant: merchant, plan: plan.ID, members: map[string]*subscription.Subscription{}, doors: map[string]bool{}}, nil
}

// Join makes a person a member, whose phone is charged after the free days. The card is the gym's own
// number of the member, so that a second call adds no second member. The idempotency keys see to that for
// 30 days, and the gym's own record from then on.
func (g *Gym) Join(ctx context.Context, card, name, phone string) (*subscription.Subscription, error) {
	g.mu.Lock()
	joined := g.members[card]
	g.mu.Unlock()
	if joined != nil {
		return joined, nil
	}
	keyed := g.merchant
	keyed.IdempotencyKey = "customer-" + card
	customer, err := g.svc.Accounts.CreateCustomer(ctx, keyed, account.CreateCustomerParams{Name: name, Phone: phone})
	if err != nil {
		return nil, fmt.Errorf("join card %s: %w", card, err)
	}
	keyed.IdempotencyKey = "join-" + card
	member, err := g.svc.Subscriptions.Create(ctx, keyed, subscription.CreateParams{
		Customer: customer.ID, Plan: g.plan, CollectionMethod: invoice.ChargeAutomatically, Metadata: api.Metadata{"card": card},
	})
	if err != nil {
		return nil, fmt.Errorf("join card %s: %w", card, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members[card] = member
	return member, nil
}

// Bring lets a member bring so many friends from today on. The rest of this month is charged with the
// next.
func (g *Gym) Bring(ctx context.Context, member string, friends int64) error {
	_, err := g.svc.Subscriptions.Update(ctx, g.merchant, member, subscription.UpdateParams{Quantity: new(1 + friends)})
	return err
}

// Leave ends a membership with the month that is paid.
func (g *Gym) Leave(ctx context.Context, member string) error {
	_, err := g.svc.Subscriptions.Cancel(ctx, g.merchant, member, subscription.CancelParams{AtPeriodEnd: true})
	return err
}

// Away stops the charges of a member who is on a holiday, until Back.
func (g *Gym) Away(ctx context.Context, member string) error {
	_, err := g.svc.Subscriptions.Pause(ctx, g.merchant, member)
	return err
}

// Back begins a new month of a member who was away.
func (g *Gym) Back(ctx context.Context, member string) error {
	_, err := g.svc.Subscriptions.Resume(ctx, g.merchant, member)
	return err
}

// MayEnter reports whether the door opens for a member. It needs no call: the webhooks keep it right.
func (g *Gym) MayEnter(member string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.doors[member]
}

// Webhooks handles the events that the service sends. They come in any order, and more than once, so
// each has the gym read the subscription as it is now.
func (g *Gym) Webhooks(secret string) http.Handler {
	return webhook.Handler(secret, nil, func(ctx context.Context, e event.Event) error {
		if !strings.HasPrefix(string(e.Type), "subscription.") {
			return nil
		}
		var told subscription.Subscription
		if err := json.Unmarshal(e.Data.Object, &told); err != nil {
			return err
		}
		g.mu.Lock() // one at a time, so that no older answer overwrites a newer one
		defer g.mu.Unlock()
		now, err := g.svc.Subscriptions.Get(ctx, g.merchant, told.ID)
		if err != nil {
			return err
		}
		g.doors[told.ID] = now.Status == subscription.Trialing || now.Status == subscription.Active
		return nil
	})
}
