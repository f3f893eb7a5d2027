package payout_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/payout"
)

// wildRail is a rail at its worst that still keeps its promise: one id, one
// transfer.
type wildRail struct {
	mu    sync.Mutex
	dice  *rand.Rand
	known map[string]*fate
	calm  bool
}

// fate is what a provider knows of an order.
type fate struct {
	outcome payout.Outcome
	moves   int
}

var errLost = errors.New("the answer is lost")

func (r *wildRail) Submit(_ context.Context, o payout.Order) (payout.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.calm && r.dice.IntN(4) == 0 {
		return payout.Result{}, errLost // and so was the request
	}
	if r.known[o.ID] == nil {
		r.known[o.ID] = &fate{outcome: payout.InProgress}
	}
	r.decide(r.known[o.ID])
	return r.answer(o)
}

func (r *wildRail) Status(_ context.Context, o payout.Order) (payout.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[o.ID] == nil {
		return payout.Result{Outcome: payout.NotFound}, nil
	}
	r.decide(r.known[o.ID])
	return r.answer(o)
}

// decide may make up the provider's mind.
func (r *wildRail) decide(f *fate) {
	if f.outcome != payout.InProgress {
		return
	}
	switch n := r.dice.IntN(6); {
	case n < 2 || r.calm && n < 4:
		f.outcome = payout.Paid
		f.moves++
	case n < 3 || r.calm:
		f.outcome = payout.Refused
	}
}

func (r *wildRail) answer(o payout.Order) (payout.Result, error) {
	if !r.calm && r.dice.IntN(3) == 0 {
		return payout.Result{}, errLost
	}
	return payout.Result{Outcome: r.known[o.ID].outcome, Reference: "ref-" + o.ID}, nil
}

// truth returns what a callback would report, if the provider has the order.
func (r *wildRail) truth(id string) (payout.Result, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.known[id]
	if f == nil {
		return payout.Result{}, false
	}
	return payout.Result{Outcome: f.outcome, Reference: "ref-" + id}, true
}

func (r *wildRail) moved(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.known[id]; f != nil {
		return f.moves
	}
	return 0
}

// settle ends the chaos: from now on everything is answered and decided.
func (r *wildRail) settle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calm = true
	for _, f := range r.known {
		r.decide(f)
	}
}

type told struct{ id, kind string }

// transferEvents reads what was told of transfers, oldest first.
func transferEvents(t *testing.T, svc *payments.Service, caller api.Caller) []told {
	t.Helper()
	var newestFirst []told
	page := api.Page{Limit: api.MaxLimit}
	for {
		list, err := svc.Events.List(t.Context(), caller, event.ListParams{Page: page})
		check(t, err)
		for _, e := range list.Data {
			noun, kind, _ := strings.Cut(string(e.Type), ".")
			if noun != "payout" && noun != "disbursement" {
				continue
			}
			var object struct{ ID string }
			check(t, json.Unmarshal(e.Data.Object, &object))
			newestFirst = append(newestFirst, told{object.ID, kind})
		}
		if !list.HasMore {
			break
		}
		page.StartingAfter = list.Data[len(list.Data)-1].ID
	}
	all := make([]told, 0, len(newestFirst))
	for i := len(newestFirst) - 1; i >= 0; i-- {
		all = append(all, newestFirst[i])
	}
	return all
}
