package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
)

type hostKey struct{}

// watcher notes what it is told.
type watcher struct {
	told   []Observation
	values []any
	panics bool
}

func (w *watcher) ObserveRequest(ctx context.Context, o Observation) {
	w.told, w.values = append(w.told, o), append(w.values, ctx.Value(hostKey{}))
	if w.panics {
		panic("planned")
	}
}

func TestRequestsAreObserved(t *testing.T) {
	w := &watcher{}
	routes := append([]route{
		{method: "GET", pattern: "/v1/refused", handle: func(*request) (any, error) { return nil, api.NoSuch("payout") }},
		{method: "GET", pattern: "/v1/panics", handle: func(*request) (any, error) { panic("planned") }},
		{method: "POST", pattern: "/v1/replayed", handle: func(r *request) (any, error) {
			r.caller.MarkReplayed()
			return nil, nil
		}},
	}, payoutRoutes...)
	rt, _ := testRouter(Config{Observer: w}, routes...)
	// The host's middleware has put something into the context.
	host := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rt.ServeHTTP(rw, r.WithContext(context.WithValue(r.Context(), hostKey{}, "span")))
	})
	serve(host, newRequest("GET", "/v1/payouts/po_1?phone=0241234567", ""))
	serve(host, newRequest("POST", "/v1/payouts", "{", "Authorization", "Bearer sk_live_good"))
	serve(host, newRequest("GET", "/v1/refused", ""))
	serve(host, newRequest("GET", "/v1/panics", ""))
	serve(host, newRequest("POST", "/v1/replayed", "{}"))
	serve(host, newRequest("GET", "/v1/payouts", "", "Authorization", "Bearer wrong"))
	want := []Observation{
		{Method: "GET", Route: "/v1/payouts/{id}", Status: 200, Merchant: "mer_1"},
		{Method: "POST", Route: "/v1/payouts", Status: 400, Code: api.InvalidJSON, Merchant: "mer_1", Live: true},
		{Method: "GET", Route: "/v1/refused", Status: 404, Code: api.ResourceMissing, Merchant: "mer_1"},
		{Method: "GET", Route: "/v1/panics", Status: 500, Code: errInternal.Code, Merchant: "mer_1"},
		{Method: "POST", Route: "/v1/replayed", Status: 204, Merchant: "mer_1", Replayed: true},
		{Method: "GET", Status: 401, Code: api.APIKeyInvalid},
	}
	for i := range w.told {
		if w.told[i].Duration <= 0 || w.told[i].RequestID != "req_1" || w.values[i] != "span" {
			t.Errorf("told %+v with the value %v", w.told[i], w.values[i])
		}
		w.told[i].Duration, w.told[i].RequestID = 0, ""
	}
	expect.Same(t, w.told, want, "told")
}

// An observer that panics keeps no request from being answered.
func TestObserverPanicIsLogged(t *testing.T) {
	rt, log := testRouter(Config{Observer: &watcher{panics: true}}, payoutRoutes...)
	if got := serve(rt, newRequest("GET", "/v1/payouts", "")); got.Code != 200 || got.Body.Len() == 0 {
		t.Errorf("answered %d", got.Code)
	}
	expect.True(t, strings.Contains(log.String(), "the observer panicked"), "the log says\n%s", log)
	expect.True(t, !strings.Contains(log.String(), "planned"), "the log says\n%s", log)
}

type blind struct{}

func (blind) ObserveRequest(context.Context, Observation) {}

// With no observer and the log off, telling of a request takes no memory; an
// observer that keeps nothing costs nothing either.
func TestObservingAllocatesNothing(t *testing.T) {
	for _, observer := range []Observer{nil, blind{}} {
		rt := newRouter(Config{Logger: slog.New(slog.DiscardHandler), Observer: observer}, func() string { return "req_1" }, nil)
		r := &request{Request: httptest.NewRequest("GET", "/v1/payouts", nil), code: api.NotFound}
		expect.Equal(t, testing.AllocsPerRun(100, func() { rt.observe(t.Context(), r, 404, time.Millisecond) }), 0, "with observer %v, telling takes", observer)
	}
}
