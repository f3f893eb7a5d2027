package mtnmomo_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/mtnmomo/mtnmomotest"
)

// notified is what a callback handler passed on.
type notified struct {
	results map[string][]provider.Result
	err     error
}

func (n *notified) notify(_ context.Context, id string, r provider.Result) error {
	if n.results == nil {
		n.results = map[string][]provider.Result{}
	}
	n.results[id] = append(n.results[id], r)
	return n.err
}

func call(h http.Handler, method, body string) int {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, "/callbacks/mtn", strings.NewReader(body)))
	return w.Code
}

// Callbacks of each flow pass on what MTN says when asked, by PUT and by POST.
func TestCallbacks(t *testing.T) {
	r, clock := withClock(t, newRig(t, 1))
	n := new(notified)
	h := r.client.WebhookHandler(n.notify)
	r.SetReceiver(h)
	charge, refused, transfer, topUp := r.charge("567"), r.charge("451"), r.transfer("567"), r.charge("567")
	topUp.Order = r.order("tu_", 500)
	back := provider.Refund{Order: r.order("re_", 100), Charge: charge.ID, Reason: "Broken"}
	for _, submit := range []func() (provider.Result, error){
		func() (provider.Result, error) { return r.client.Charge(t.Context(), charge) },
		func() (provider.Result, error) { return r.client.Charge(t.Context(), refused) },
		func() (provider.Result, error) { return r.client.Charge(t.Context(), topUp) },
		func() (provider.Result, error) { return r.client.Submit(t.Context(), transfer) },
		func() (provider.Result, error) { return r.client.Refund(t.Context(), back) },
	} {
		got := must.Get(submit())(t)
		expect.Equal(t, got.Outcome, provider.InProgress, "outcome")
		clock.move(time.Second)
	}
	for _, status := range r.Deliver() {
		expect.Equal(t, status, http.StatusNoContent, "status")
	}
	for id, want := range map[string]provider.Outcome{charge.ID: "paid", refused.ID: "refused", transfer.ID: "paid", topUp.ID: "paid", back.ID: "paid"} {
		got := n.results[id]
		must.True(t, len(got) == 1, "%s: %+v, want %s", id, got, want)
		expect.Equal(t, got[0].Outcome, want, "%s: outcome of the first", id)
	}
}

// A forged callback has no effect: neither one that says too much, nor one about nothing.
func TestForgedCallbacks(t *testing.T) {
	r, clock := withClock(t, newRig(t, 1))
	n := new(notified)
	h := r.client.WebhookHandler(n.notify)
	pending, failed := r.transfer("453"), r.transfer("457")
	for _, o := range []provider.Transfer{pending, failed} {
		must.Get(r.client.Submit(t.Context(), o))(t)
	}
	unknown := r.order("pay_", 1).ID
	for _, c := range []struct {
		method, body string
		want         int
	}{
		{"POST", `{"externalId":"` + pending.ID + `","status":"SUCCESSFUL","financialTransactionId":"1"}`, 204},
		{"PUT", `{"externalId":"` + failed.ID + `","status":"SUCCESSFUL"}`, 204},
		{"PUT", `{"externalId":"` + unknown + `","status":"SUCCESSFUL"}`, 404},
		{"PUT", `{"externalId":"re_` + strings.Repeat("/", 22) + `","status":"SUCCESSFUL"}`, 404},
		{"PUT", `{"externalId":"inv_` + unknown[4:] + `"}`, 404},
		{"PUT", `{"externalId":"po_1"}`, 404},
		{"PUT", `{"externalId":7}`, 404},
		{"PUT", `{"externalId":{}}`, 404},
		{"PUT", `{}`, 404},
		{"PUT", `[]`, 400},
		{"PUT", ``, 400},
		{"PUT", `{"externalId":"` + strings.Repeat("x", 65<<10) + `"}`, 413},
		{"GET", ``, 405},
		{"DELETE", `{}`, 405},
	} {
		clock.move(time.Second)
		calls := r.Calls()
		expect.Equal(t, call(h, c.method, c.body), c.want, "%s %.80s", c.method, c.body)
		asks := strings.Contains(c.body, pending.ID) || strings.Contains(c.body, failed.ID) || strings.Contains(c.body, `"`+unknown)
		expect.Equal(t, r.Calls() > calls, asks, "%.80s asks MTN", c.body)
	}
	expect.Equal(t, len(n.results), 1, "notified")
	expect.Equal(t, n.results[failed.ID][0].Outcome, provider.Refused, "the failed transfer")
}

// A success of nothing books nothing: for the library an amount of 0 is one that MTN did not tell.
func TestCallbackOfNothing(t *testing.T) {
	for _, amount := range []string{`"0"`, `0`, `"0.00"`} {
		r := newRig(t, 1).overHTTP(t)
		n := new(notified)
		id := r.order("pay_", 435).ID
		r.AnswerNext(200, `{"status":"SUCCESSFUL","amount":`+amount+`,"currency":"GHS","externalId":"`+id+`"}`)
		status := call(r.client.WebhookHandler(n.notify), "PUT", `{"externalId":"`+id+`"}`)
		expect.Equal(t, status, 503, "%s: status", amount)
		expect.Equal(t, len(n.results), 0, "%s: number of results", amount)
	}
}

// A report says whether the money moved in the sandbox.
func TestCallbackTellsTheSandbox(t *testing.T) {
	for environment, testMode := range map[string]bool{"sandbox": true, "mtnghana": false} {
		r := newRig(t, 1).overHTTP(t)
		r.config.TargetEnvironment = environment
		n := new(notified)
		id := r.order("pay_", 435).ID
		r.AnswerNext(200, `{"status":"SUCCESSFUL","amount":"4.35","currency":"GHS","externalId":"`+id+`"}`)
		expect.Equal(t, call(newClient(t, r).WebhookHandler(n.notify), "PUT", `{"externalId":"`+id+`"}`), 204, "status")
		got := n.results[id]
		must.True(t, len(got) == 1, "%s: %+v", environment, got)
		expect.Equal(t, got[0].TestMode, testMode, "%s: test mode of the first", environment)
	}
}

// The answer to a callback says how it went.
func TestCallbackAnswers(t *testing.T) {
	r, clock := withClock(t, newRig(t, 1))
	r.config.StatusQueries = 0
	n := new(notified)
	h := newClient(t, r).WebhookHandler(n.notify)
	o := r.transfer("567")
	_, err := r.client.Submit(t.Context(), o)
	expect.NoError(t, err, "submit")
	body := `{"externalId":"` + o.ID + `"}`
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 204},
		{provider.ErrContradicted, 409},
		{api.NoSuch("order"), 404},
		{errors.New("the database is away"), 503},
	} {
		clock.move(time.Second)
		n.err = c.err
		expect.Equal(t, call(h, "PUT", body), c.want, "%v", c.err)
	}
	clock.move(time.Second)
	r.AnswerNext(503, "")
	expect.Equal(t, call(h, "PUT", body), 503, "MTN is away")
	n.err = nil
	answers := map[int]int{}
	clock.move(time.Second)
	for range 20 {
		answers[call(h, "PUT", body)]++
	}
	expect.Equal(t, answers[204], 5, "%v: callbacks of one second", answers)
	expect.Equal(t, answers[503], 15, "%v: callbacks of one second", answers)
}

// MTN may hang up as soon as it has sent the callback.
func TestCallbackWhoseSenderHangsUp(t *testing.T) {
	r, n := newRig(t, 1), new(notified)
	o := r.transfer("567")
	must.Get(r.client.Submit(t.Context(), o))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	request := httptest.NewRequestWithContext(ctx, http.MethodPut, "/callbacks/mtn", strings.NewReader(`{"externalId":"`+o.ID+`"}`))
	r.client.WebhookHandler(n.notify).ServeHTTP(httptest.NewRecorder(), request)
	expect.Equal(t, len(n.results[o.ID]), 1, "notified")
}

// A callback may come before the answer to the submission.
func TestEarlyCallback(t *testing.T) {
	r := newRig(t, 1)
	n := new(notified)
	r.SetReceiver(r.client.WebhookHandler(n.notify))
	r.SetFaults(mtnmomotest.Faults{EarlyCallback: 100, TwoCallbacks: 100})
	o := r.transfer("567")
	must.Get(r.client.Submit(t.Context(), o))(t)
	expect.Equal(t, len(n.results[o.ID]), 2, "notified before the answer")
}

// Without an address for callbacks MTN sends none.
func TestNoCallbackAddress(t *testing.T) {
	r := newRig(t, 1).overHTTP(t)
	r.config.CallbackURL = ""
	must.Get(newClient(t, r).Submit(t.Context(), r.transfer("567")))(t)
	expect.Equal(t, len(r.Callbacks()), 0, "callbacks")
}
