package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/webhook"
)

// The world outside of a simulation. What it does follows from the seed, the id
// it is asked about and how often it was asked, so that no order of calls
// changes it.

var errLost = errors.New("the world does not answer")

type world struct {
	mu        sync.Mutex
	seed      uint64
	calm      bool // everything is decided, and every question answered
	asked     map[string]int
	orders    map[string]*order
	callbacks []string
	// notify reports a result to the service at once.
	notify func(ctx context.Context, id string, r provider.Result) error
	// problems are what the service has done to the world and must not.
	problems []string
}

// order is money that the world was told to move.
type order struct {
	decided bool
	paid    bool
	moved   int
	amount  int64
	// reversed says that the world has taken the money back. A transfer then has not moved.
	reversed bool
	// waits says that the order cannot be decided yet.
	waits bool
	// charge is the charge that a refund gives back, and back is what refunds have given back of a
	// charge.
	charge string
	back   int64
	// phone is what the world knows of a charge of a phone; nil for other orders.
	phone *prompt
}

func newWorld(seed uint64) *world {
	return &world{seed: seed, asked: map[string]int{}, orders: map[string]*order{}}
}

// roll throws a die with so many sides for the next question about an id.
func (w *world) roll(sides int, about ...string) int {
	name := strings.Join(about, "/")
	w.asked[name]++
	h := fnv.New64a()
	fmt.Fprint(h, w.seed, name, w.asked[name])
	return int(h.Sum64() >> 17 % uint64(sides))
}

// told is a request to move money, which may be lost on its way.
func (w *world) told(id string, amount int64) error {
	if !w.calm && w.roll(5, id, "request") == 0 {
		return errLost
	}
	if w.orders[id] == nil {
		w.orders[id] = &order{amount: amount}
	}
	return nil
}

// decide may make up the world's mind.
func (w *world) decide(id string) *order {
	o := w.orders[id]
	if o.decided || o.waits || !w.calm && w.roll(3, id, "when") == 0 {
		return o
	}
	o.decided = true
	if o.paid = w.roll(4, id, "outcome") > 0; o.paid {
		o.moved++
		w.give(id, o)
	}
	for range w.roll(3, id, "callbacks") {
		w.callbacks = append(w.callbacks, id)
	}
	return o
}

func (w *world) lost(id string) bool { return !w.calm && w.roll(5, id, "answer") == 0 }

// rail is the world as a rail.
type rail struct{ *world }

func (r rail) Submit(_ context.Context, o provider.Transfer) (provider.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.told(o.ID, o.Amount); err != nil {
		return provider.Result{}, err
	}
	return r.answer(o.ID)
}

func (r rail) Status(_ context.Context, o provider.Transfer) (provider.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.orders[o.ID] == nil {
		return provider.Result{Outcome: provider.NotFound}, nil
	}
	return r.answer(o.ID)
}

func (r rail) answer(id string) (provider.Result, error) {
	o := r.decide(id)
	if r.lost(id) {
		return provider.Result{}, errLost
	}
	return o.result(id), nil
}

func (o *order) result(id string) provider.Result {
	switch {
	case !o.decided:
		return provider.Result{Outcome: provider.InProgress, Reference: "ref-" + id}
	case o.reversed:
		return provider.Result{Outcome: provider.Reversed}
	case o.paid:
		return provider.Result{Outcome: provider.Paid, Reference: "ref-" + id}
	}
	return provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Code: api.RecipientUnavailable}}
}

// moved sums what the world has moved for ids with a prefix, in pesewas.
func (w *world) moved(prefix string) (total int64) {
	for id, o := range w.orders {
		if strings.HasPrefix(id, prefix) {
			total += int64(o.moved) * o.amount
		}
	}
	return total
}

// texter is the world as a texter.
type texter struct{ *world }

func (x texter) SendSMS(_ context.Context, m message.SMS) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	text, _, _ := strings.Cut(m.Text, "http") // the secret of an address is in no seed
	if !x.calm && x.roll(4, m.To, text, "sms") == 0 {
		return errLost
	}
	return nil
}

// mailer is the world as a mailer.
type mailer struct{ *world }

func (m mailer) SendEmail(_ context.Context, e message.Email) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.calm && m.roll(4, e.ID, "mail") == 0 {
		return errLost
	}
	return nil
}

// receivers is the world as the server of merchants who are told of events. One
// serves all endpoints of all simulations, each under a path of its own.
type receivers struct {
	*httptest.Server
	mu sync.Mutex
	at map[string]*receiver // by path
}

type receiver struct {
	world    *world
	secret   string
	got      map[string]int // by id of the event
	problems []string
}

func newReceivers(t *testing.T) *receivers {
	r := &receivers{at: map[string]*receiver{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		here := r.at[q.URL.Path]
		if here == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if here.secret == "" { // the answer that told it was lost
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		id := q.Header.Get("Webhook-Id")
		// The clock is that of the simulation, and any time will do.
		const ever = 100 * 365 * 24 * time.Hour
		if err := webhook.Verify(q.Header, body, here.secret, ever, time.Now()); err != nil {
			here.problems = append(here.problems, fmt.Sprint(id, ": ", err))
		}
		here.got[id]++ // it may be told, and fail all the same
		here.world.mu.Lock()
		defer here.world.mu.Unlock()
		if !here.world.calm && here.world.roll(4, q.URL.Path, id, "webhook") == 0 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receivers) begin(path string, w *world) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[path] = &receiver{world: w, got: map[string]int{}}
}

// know gives a receiver the secret of its endpoint.
func (r *receivers) know(path, secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[path].secret = secret
}

// read returns how often a receiver was told of each event, and what was wrong.
func (r *receivers) read(path string) (got map[string]int, problems []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.at[path].got), r.at[path].problems
}

func (r *receivers) end(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.at, path)
}
