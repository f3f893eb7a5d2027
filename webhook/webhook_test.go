package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loopback lets test mode deliver to this machine.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// shop is a merchant whose clock stands still until it is moved.
type shop struct {
	*paymentstest.Shop
	t   *testing.T
	mu  sync.Mutex
	now time.Time
	log bytes.Buffer
}

func open(t *testing.T, store storage.Store) *shop {
	t.Helper()
	s := &shop{t: t, now: time.Now()}
	s.Shop = paymentstest.NewWithStore(t, store, payments.Config{
		WebhookAllow: loopback, Logger: slog.New(slog.NewTextHandler(&s.log, nil)),
		Clock: func() time.Time {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.now
		},
	})
	return s
}

func (s *shop) pass(d time.Duration) {
	s.t.Helper()
	s.mu.Lock()
	s.now = s.now.Add(d)
	s.mu.Unlock()
	must.Do(s.t, s.Drain(s.t.Context()))
}

func onEachStore(t *testing.T, test func(*testing.T, *shop)) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) { test(t, open(t, store)) })
}

// receiver keeps the deliveries that it gets and answers as the test says.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []*http.Request
	bodies [][]byte
	answer func(w http.ResponseWriter)
}

func listen(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		r.got, r.bodies = append(r.got, q), append(r.bodies, body)
		answer := r.answer
		r.mu.Unlock()
		if answer != nil {
			answer(w)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) answers(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = func(w http.ResponseWriter) { w.WriteHeader(status) }
}

// types returns the types of the events that came, in their order.
func (r *receiver) types(t *testing.T) []string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var types []string
	for _, b := range r.bodies {
		var e event.Event
		must.Do(t, json.Unmarshal(b, &e))
		types = append(types, string(e.Type))
	}
	return types
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got)
}

func (s *shop) endpoint(url string, types ...event.Type) *webhook.Endpoint {
	s.t.Helper()
	return must.Get(s.Webhooks.Create(s.t.Context(), s.Caller, webhook.CreateParams{URL: url, Events: types}))(s.t)
}

// happen makes one event, qr_code.created.
func (s *shop) happen() {
	s.t.Helper()
	must.Get(s.QRCodes.Create(s.t.Context(), s.Caller, qrcode.CreateParams{}))(s.t)
}

func (s *shop) deliveries(endpoint string) []webhook.Delivery {
	s.t.Helper()
	list := must.Get(s.Webhooks.ListDeliveries(s.t.Context(), s.Caller, webhook.ListDeliveriesParams{Endpoint: endpoint, Page: api.Page{Limit: 100}}))(s.t)
	return list.Data
}

func (s *shop) newest() event.Event {
	s.t.Helper()
	list := must.Get(s.Events.List(s.t.Context(), s.Caller, event.ListParams{}))(s.t)
	return list.Data[0]
}

func TestEventIsDeliveredSigned(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *shop) {
		s.happen() // before there was an endpoint
		every, some, none := listen(t), listen(t), listen(t)
		e := s.endpoint(every.URL, "*")
		s.endpoint(some.URL+"/hooks?a=b", "qr_code.created", "payment.completed")
		s.endpoint(none.URL, "refund.created")
		code := must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{}))(t)
		expect.Equal(t, s.newest().PendingWebhooks, 2, "are pending before the fan-out")
		must.Do(t, s.Drain(t.Context()))
		expect.Equal(t, s.newest().PendingWebhooks, 0, "are pending afterwards")
		s.Pay(code.ID, 100)
		must.Do(t, s.Drain(t.Context()))
		if got := every.types(t); len(got) != 3 || got[0] != "qr_code.created" {
			t.Errorf("all: %v", got)
		}
		expect.Equal(t, fmt.Sprint(some.types(t)), "[qr_code.created payment.completed]", "types of some, under the names asked for")
		expect.True(t, none.count() == 0, "none: %v", none.types(t))

		// The delivery verifies, and its body is the event as the API shows it.
		q, body := every.got[0], every.bodies[0]
		expect.NoError(t, webhook.Verify(q.Header, body, e.Secret, 0, s.now), "Verify")
		var told event.Event
		must.Do(t, json.Unmarshal(body, &told))
		kept := must.Get(s.Events.Get(t.Context(), s.Caller, told.ID))(t)
		if q.Header.Get("Webhook-Id") != told.ID || q.Header.Get("Content-Type") != "application/json" || string(kept.Data.Object) != string(told.Data.Object) {
			t.Errorf("headers %v, body %s", q.Header, body)
		}
		d := s.deliveries(e.ID)
		if len(d) != 3 || d[0].Status != webhook.Delivered || len(d[0].Attempts) != 1 || d[0].Attempts[0].StatusCode != 200 || d[0].NextAttemptAt != nil {
			t.Errorf("deliveries %+v", d)
		}
		shown := must.Get(s.Webhooks.Get(t.Context(), s.Caller, e.ID))(t)
		expect.Equal(t, shown.Secret, "", "the secret is shown twice, or never: secret")
		expect.True(t, strings.HasPrefix(e.Secret, "whsec_"), "the secret is shown twice, or never: %+v", shown)
	})
}

// Attempts follow the schedule, each counted from the one before. Then the delivery fails,
// unless the endpoint was switched off before.
func TestFailedDeliveryIsRetriedOnSchedule(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *shop) {
		r := listen(t)
		r.answer = func(w http.ResponseWriter) {
			w.WriteHeader(500)
			_, _ = w.Write(bytes.Repeat([]byte("x"), 10_000))
		}
		e := s.endpoint(r.URL, "*")
		s.happen()
		s.pass(0)
		for i, gap := range []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour} {
			must.True(t, r.count() == i+1, "%d attempts, want %d", r.count(), i+1)
			s.pass(gap * 89 / 100) // jitter is a tenth
			must.True(t, r.count() == i+1, "attempt %d came too early", i+2)
			s.pass(gap * 11 / 100)
		}
		d := s.deliveries(e.ID)[0]
		if d.Status != webhook.Failed || len(d.Attempts) != 10 || len(d.Attempts[0].Response) != 4096 || d.Attempts[9].StatusCode != 500 || s.newest().PendingWebhooks != 0 {
			t.Errorf("%s after %d attempts", d.Status, len(d.Attempts))
		}
		s.pass(30 * 24 * time.Hour)
		expect.True(t, r.count() == 10, "%d attempts", r.count())
		r.answers(200)
		s.happen()
		s.pass(0)
		if d := s.deliveries(e.ID)[0]; d.Status != webhook.Delivered {
			t.Errorf("a later event: %+v", d)
		}
	})
}

func TestRetryAfterHeaderDelaysRetry(t *testing.T) {
	s := open(t, memory.New())
	r := listen(t)
	r.answer = func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(503)
	}
	s.endpoint(r.URL, "*")
	s.happen()
	s.pass(0)
	s.pass(119 * time.Second)
	expect.True(t, r.count() == 1, "%d attempts before the endpoint wanted one", r.count())
	s.pass(time.Second)
	expect.True(t, r.count() == 2, "%d attempts", r.count())
}

// The failures of an address do not count against the one that took its place.
func TestNewAddressIsNotDisabledForTheOldOne(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *shop) {
		old, fresh := listen(t), listen(t)
		old.answers(500)
		fresh.answers(503)
		e := s.endpoint(old.URL, "qr_code.created")
		s.happen()
		s.pass(0)
		s.pass(4 * 24 * time.Hour)
		must.Get(s.Webhooks.Update(t.Context(), s.Caller, e.ID, webhook.UpdateParams{URL: &fresh.URL}))(t)
		s.pass(2 * 24 * time.Hour)
		s.happen()
		s.pass(0)
		expect.True(t, fresh.count() > 0, "the new address got nothing")
		is := must.Get(s.Webhooks.Get(t.Context(), s.Caller, e.ID))(t)
		expect.True(t, is.Active, "switched off at the first failure of the new address")
		must.Get(s.Webhooks.Update(t.Context(), s.Caller, e.ID, webhook.UpdateParams{URL: &fresh.URL}))(t) // the same
		s.pass(5 * 24 * time.Hour)
		s.happen()
		s.pass(0)
		is = must.Get(s.Webhooks.Get(t.Context(), s.Caller, e.ID))(t)
		expect.True(t, !is.Active, "five days of failure do not switch off")
	})
}

// The service switches off an endpoint that says it is gone, at once, or has failed for five days.
// ResendSince delivers the events that it has missed.
func TestFailingEndpointIsDisabled(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *shop) {
		gone, dead, well := listen(t), listen(t), listen(t)
		gone.answers(410)
		dead.answers(500)
		g, d := s.endpoint(gone.URL, "*"), s.endpoint(dead.URL, "qr_code.created")
		s.endpoint(well.URL, "webhook_endpoint.disabled")
		s.happen()
		told := s.newest().ID
		s.pass(0)
		if e, _ := s.Webhooks.Get(t.Context(), s.Caller, g.ID); e.Active {
			t.Error("410 does not switch off")
		}
		is := s.deliveries(g.ID)[0]
		expect.Equal(t, is.Status, webhook.Failed, "after 410 the delivery: status")
		expect.True(t, is.NextAttemptAt == nil, "after 410 the delivery: NextAttemptAt is set")
		expect.Equal(t, len(is.Attempts), 1, "after 410 the delivery: number of attempts")
		expect.Equal(t, must.Get(s.Events.Get(t.Context(), s.Caller, told))(t).PendingWebhooks, 1, "webhooks that are pending after 410")
		for range 19 {
			s.pass(6 * time.Hour)
			s.happen()
		}
		if e, _ := s.Webhooks.Get(t.Context(), s.Caller, d.ID); !e.Active {
			t.Error("switched off too early")
		}
		s.pass(6 * time.Hour)
		if e, _ := s.Webhooks.Get(t.Context(), s.Caller, d.ID); e.Active {
			t.Error("five days of failure do not switch off")
		}
		s.pass(0)
		got := fmt.Sprint(well.types(t))
		expect.Equal(t, got, "[webhook_endpoint.disabled webhook_endpoint.disabled]", "told")
		expect.True(t, strings.Contains(s.log.String(), "switched off"), "told %s", got)
		before := dead.count()
		missed := s.now.Add(-time.Millisecond)
		s.happen()
		s.pass(48 * time.Hour)
		expect.Equal(t, dead.count(), before, "an endpoint that is off is told")
		dead.answers(200)
		on := true
		must.Get(s.Webhooks.Update(t.Context(), s.Caller, d.ID, webhook.UpdateParams{Active: &on}))(t)
		keyed := s.Caller
		keyed.IdempotencyKey, keyed.Replayed = "resend-1", new(bool)
		for _, replayed := range []bool{false, true} {
			n := must.Get(s.Webhooks.ResendSince(t.Context(), keyed, d.ID, api.Times{From: missed}))(t)
			s.pass(0)
			if n != 1 || dead.count() != before+1 || *keyed.Replayed != replayed {
				t.Errorf("%d were sent again, %d came, replayed %t", n, dead.count()-before, *keyed.Replayed)
			}
		}
	})
}

// What the old address of an endpoint answers after a change of the address says nothing of the new one.
func TestMovedEndpointGetsEvents(t *testing.T) {
	s := open(t, memory.New())
	before, after := listen(t), listen(t)
	e := s.endpoint(before.URL, "*")
	before.answer = func(w http.ResponseWriter) {
		_, err := s.Webhooks.Update(t.Context(), s.Caller, e.ID, webhook.UpdateParams{URL: &after.URL})
		expect.NoError(t, err, "Update")
		w.WriteHeader(http.StatusGone)
	}
	s.happen()
	s.pass(0)
	s.pass(5 * time.Second)
	is := must.Get(s.Webhooks.Get(t.Context(), s.Caller, e.ID))(t)
	expect.Equal(t, is.Active, true, "the endpoint: Active")
	expect.Equal(t, after.count(), 1, "its new address: number of events")
}

func TestRotatedSecretSignsBesideTheOld(t *testing.T) {
	s := open(t, memory.New())
	r := listen(t)
	e := s.endpoint(r.URL, "*")
	fresh := must.Get(s.Webhooks.RotateSecret(t.Context(), s.Caller, e.ID))(t)
	verifies := func(secret string) bool {
		last := len(r.got) - 1
		return webhook.Verify(r.got[last].Header, r.bodies[last], secret, 0, s.now) == nil
	}
	s.happen()
	s.pass(0)
	expect.True(t, fresh.Secret != e.Secret, "while the rotation overlaps, both secrets sign")
	expect.True(t, verifies(fresh.Secret), "while the rotation overlaps, both secrets sign")
	expect.True(t, verifies(e.Secret), "while the rotation overlaps, both secrets sign")
	s.pass(23 * time.Hour)
	first, second := e.Secret, fresh.Secret
	fresh = must.Get(s.Webhooks.RotateSecret(t.Context(), s.Caller, e.ID))(t)
	s.happen()
	s.pass(0)
	expect.True(t, verifies(fresh.Secret), "while two rotations overlap, three secrets sign")
	expect.True(t, verifies(second), "while two rotations overlap, three secrets sign")
	expect.True(t, verifies(first), "while two rotations overlap, three secrets sign")
	s.pass(time.Hour)
	s.happen()
	s.pass(0)
	expect.True(t, verifies(fresh.Secret), "after a day the first secret signs no more")
	expect.True(t, verifies(second), "after a day the first secret signs no more")
	expect.True(t, !verifies(first), "after a day the first secret signs no more")
	for range 20 {
		fresh = must.Get(s.Webhooks.RotateSecret(t.Context(), s.Caller, e.ID))(t)
	}
	s.happen()
	s.pass(0)
	expect.Equal(t, strings.Count(r.got[len(r.got)-1].Header.Get(webhook.SignatureHeader), "v1="), 9, "signatures after many rotations")
	s.pass(24 * time.Hour)
	s.happen()
	s.pass(0)
	expect.True(t, verifies(fresh.Secret), "after a day the new secret alone signs")
	expect.True(t, !verifies(second), "after a day the new secret alone signs")
	caller := s.Caller
	caller.IdempotencyKey = "k"
	for i := range 2 {
		var replayed bool
		caller.Replayed = &replayed
		made, err := s.Webhooks.Create(t.Context(), caller, webhook.CreateParams{URL: r.URL, Events: []event.Type{"*"}})
		must.True(t, err == nil, "call %d: %+v, %v", i+1, made, err)
		expect.True(t, (made.Secret == "") == (i == 1), "call %d: %+v, %v", i+1, made, err)
		expect.Equal(t, replayed, i == 1, "call %d: replayed", i+1)
	}
}

// The service dials only public addresses unless the host allows others, whatever the name.
func TestPrivateAddressesAreNotDialled(t *testing.T) {
	s := &shop{t: t, now: time.Now()}
	s.Shop = paymentstest.NewWithStore(t, memory.New(), payments.Config{Clock: func() time.Time { return s.now }})
	r := listen(t)
	port := r.URL[strings.LastIndex(r.URL, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "127.1", "0x7f.1", "2130706433", "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "0.0.0.0", "169.254.169.254"} {
		e := s.endpoint("http://"+host+port, "*")
		d, err := s.Webhooks.Ping(t.Context(), s.Caller, e.ID)
		must.True(t, err == nil, "%s: %v", host, err)
		expect.Equal(t, d.Status, webhook.Failed, "%s: status of %+v", host, d)
		must.True(t, len(d.Attempts) != 0, "%s: no attempt: %+v", host, d)
		expect.Equal(t, d.Attempts[0].StatusCode, 0, "%s: status code", host)
		expect.True(t, d.Attempts[0].Error != "", "%s: the attempt shows no error: %+v", host, d.Attempts[0])
		must.Get(s.Webhooks.Delete(t.Context(), s.Caller, e.ID))(t)
	}
	expect.True(t, r.count() == 0, "%d were told", r.count())
}

// Redirects are not followed, and answers cost no more than their bound.
func TestRedirectsAndLargeAnswersAreBounded(t *testing.T) {
	s := open(t, memory.New())
	r, elsewhere := listen(t), listen(t)
	e := s.endpoint(r.URL, "*")
	ping := func() *webhook.Delivery {
		t.Helper()
		return must.Get(s.Webhooks.Ping(t.Context(), s.Caller, e.ID))(t)
	}
	r.answer = func(w http.ResponseWriter) {
		w.Header().Set("Location", elsewhere.URL)
		w.WriteHeader(307)
	}
	if d := ping(); d.Status != webhook.Failed || d.Attempts[0].StatusCode != 307 || elsewhere.count() != 0 {
		t.Errorf("a redirect: %+v", d)
	}
	r.answer = func(w http.ResponseWriter) {
		w.Header().Set("Content-Encoding", "gzip")
		block := bytes.Repeat([]byte{0}, 1<<20)
		for range 50 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}
	if d := ping(); d.Status != webhook.Delivered || len(d.Attempts[0].Response) > 4096 {
		t.Errorf("50 MB: %s, %d bytes kept", d.Status, len(d.Attempts[0].Response))
	}
	r.answer = func(w http.ResponseWriter) { _, _ = w.Write([]byte("\xff\xfe\x00")) }
	if d := ping(); !json.Valid([]byte(mustJSON(t, d))) {
		t.Error("what is no UTF-8 breaks the log")
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data := must.Get(json.Marshal(v))(t)
	return string(data)
}

func TestHandlerPassesVerifiedEventOnce(t *testing.T) {
	s := open(t, memory.New())
	var mu sync.Mutex
	var got []event.Type
	fail := true
	var secret string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	defer server.Close()
	e := s.endpoint(server.URL, "*")
	secret = e.Secret
	handler = webhook.Handler(secret, nil, func(_ context.Context, e event.Event) error {
		mu.Lock()
		defer mu.Unlock()
		if fail {
			fail = false
			return fmt.Errorf("planned")
		}
		got = append(got, e.Type)
		return nil
	})
	s.happen()
	s.pass(0)
	if d := s.deliveries(e.ID)[0]; d.Status != webhook.Pending || d.Attempts[0].StatusCode != 500 {
		t.Errorf("the first time: %+v", d)
	}
	s.pass(6 * time.Second)
	if d := s.deliveries(e.ID)[0]; d.Status != webhook.Delivered || d.Attempts[1].Response != `{"received":true}` {
		t.Errorf("the second time: %+v", d)
	}
	must.Get(s.Webhooks.Resend(t.Context(), s.Caller, s.newest().ID))(t)
	s.pass(0)
	expect.Equal(t, len(got), 1, "handled: number")
	expect.Equal(t, len(s.deliveries(e.ID)), 2, "number of deliveries")
	answer := must.Get(http.Post(server.URL, "application/json", strings.NewReader(`{"id":"evt_1"}`)))(t)
	defer answer.Body.Close()
	expect.Equal(t, answer.StatusCode, 400, "without a signature")
}

var handler http.Handler

// A merchant has no more than a hundred active endpoints, and no more than ten with one URL,
// however calls switch them off and on or change their URLs. More would hold up the events of
// all merchants, and flood a server.
func TestActiveEndpointsAreLimited(t *testing.T) {
	s := open(t, memory.New())
	ctx := t.Context()
	n := 0
	try := func(url string) (*webhook.Endpoint, error) {
		return s.Webhooks.Create(ctx, s.Caller, webhook.CreateParams{URL: url, Events: []event.Type{"*"}})
	}
	create := func() *webhook.Endpoint {
		t.Helper()
		e, err := try(fmt.Sprintf("http://127.0.0.1:1/%d?%d", n/10, n))
		n++
		must.Do(t, err)
		return e
	}
	first := create()
	for range 89 {
		create()
	}
	for _, url := range []string{"http://127.0.0.1:1/3", "http://127.0.0.1:1/3?another=1"} {
		if _, err := try(url); api.CodeOf(err) != api.ParameterInvalid {
			t.Errorf("an eleventh at %s: %v", url, err)
		}
	}
	move := func(url string) error {
		return testkit.Err(s.Webhooks.Update(ctx, s.Caller, first.ID, webhook.UpdateParams{URL: &url}))
	}
	must.Do(t, move("http://127.0.0.1:1/0?moved"))
	testkit.WantCode(t, "an eleventh that was moved there", move("http://127.0.0.1:1/3?moved"), api.ParameterInvalid)
	for range 10 {
		create()
	}
	set := func(active bool) error {
		return testkit.Err(s.Webhooks.Update(ctx, s.Caller, first.ID, webhook.UpdateParams{Active: &active}))
	}
	must.Do(t, set(true)) // as it is
	must.Do(t, set(false))
	create()
	testkit.WantCode(t, "one more than a hundred", set(true), api.ParameterInvalid)
	if e, err := s.Webhooks.Get(ctx, s.Caller, first.ID); err != nil || e.Active {
		t.Errorf("%+v, %v", e, err)
	}
}
