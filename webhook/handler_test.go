package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	stripe "github.com/stripe/stripe-go/v82/webhook"

	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/webhook"
)

const receiverSecret = "whsec_c2VjcmV0"

// deliver hands a handler one signed delivery of an event, and returns the status of
// its answer; 0 when the handler panicked.
func deliver(ctx context.Context, h http.Handler, secret, id string) (status int) {
	body := fmt.Sprintf(`{"id":%q,"object":"event","type":"plan.created"}`, id)
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(body))
	r.Header = signed(time.Now(), []byte(body), secret)
	w := httptest.NewRecorder()
	defer func() {
		if recover() != nil {
			status = 0
		}
	}()
	h.ServeHTTP(w, r)
	return w.Code
}

// An event whose handling panicked is handled again when it is delivered again.
func TestHandlerRetriesAfterPanic(t *testing.T) {
	calls := 0
	h := webhook.Handler(receiverSecret, nil, func(context.Context, event.Event) error {
		if calls++; calls == 1 {
			panic("planned")
		}
		return nil
	})
	for i, want := range []int{0, 200, 200} {
		expect.Equal(t, deliver(t.Context(), h, receiverSecret, "evt_1"), want, "delivery %d", i)
	}
	expect.Equal(t, calls, 2, "handled %d times, want twice", calls)
}

// A sender that gives up and delivers again gets 200 only once the event is handled. The
// first handling goes on without the sender.
func TestHandlerFinishesAfterSenderGivesUp(t *testing.T) {
	begun, end := make(chan struct{}), make(chan error)
	h := webhook.Handler(receiverSecret, nil, func(ctx context.Context, _ event.Event) error {
		begun <- struct{}{}
		return errors.Join(<-end, ctx.Err())
	})
	for _, failed := range []error{errors.New("planned"), nil} {
		ctx, hangUp := context.WithCancel(t.Context())
		var first sync.WaitGroup
		first.Go(func() { deliver(ctx, h, receiverSecret, "evt_1") })
		<-begun
		hangUp()
		again := deliver(t.Context(), h, receiverSecret, "evt_1")
		end <- failed
		first.Wait()
		must.True(t, again == http.StatusServiceUnavailable, "delivered again while it is handled: %d", again)
	}
	expect.Equal(t, deliver(t.Context(), h, receiverSecret, "evt_1"), http.StatusOK, "delivered again after it was handled")
}

func TestHandlerWithoutSecretRefusesDeliveries(t *testing.T) {
	h := webhook.Handler("", nil, func(context.Context, event.Event) error {
		t.Error("a delivery that anyone can sign was handled")
		return nil
	})
	expect.Equal(t, deliver(t.Context(), h, "", "evt_1"), http.StatusServiceUnavailable, "answered")
}

// An event that failed at first counts once among those that Memory remembers.
func TestSeenEventsForgetTheOldest(t *testing.T) {
	m := webhook.NewMemory(2)
	step := func(id string, failed error) bool {
		fresh := must.Get(m.Begin(t.Context(), id))(t)
		if fresh {
			must.Do(t, m.End(t.Context(), id, failed))
		}
		return fresh
	}
	failed := errors.New("planned")
	for range 5 {
		step("evt_1", failed)
	}
	step("evt_1", nil)
	step("evt_2", nil)
	for i := range 5 {
		step(fmt.Sprintf("evt_failing%d", i), failed)
	}
	expect.True(t, !step("evt_1", nil), "an event was forgotten early")
	expect.True(t, !step("evt_2", nil), "an event was forgotten early")
	step("evt_3", nil)
	expect.True(t, !step("evt_2", nil), "not the oldest was forgotten")
	expect.True(t, step("evt_1", nil), "not the oldest was forgotten")
}

// Other people's verifiers accept our signatures, with either secret of a
// rotation, and refuse others.
func TestThirdPartyVerifiersAcceptSignature(t *testing.T) {
	s := open(t, memory.New())
	r := listen(t)
	e := s.endpoint(r.URL, "*")
	current := must.Get(s.Webhooks.RotateSecret(t.Context(), s.Caller, e.ID))(t).Secret
	must.Get(s.Events.Record(t.Context(), s.Caller, event.RecordParams{Type: "plan.created", Object: map[string]string{"note": "₵ <>&"}}))(t)
	s.pass(0)
	must.True(t, r.count() == 1, "%d deliveries", r.count())
	h, body := r.got[0].Header, r.bodies[0]
	for _, secret := range []string{current, e.Secret} {
		v := must.Get(standard.NewWebhook(secret))(t)
		expect.NoError(t, v.Verify(body, h), "Standard Webhooks")
		expect.NoError(t, stripe.ValidatePayload(body, h.Get(webhook.SignatureHeader), secret), "stripe-go")
		expect.NoError(t, webhook.Verify(h, body, secret, 0, time.Now()), "ours")
	}
	other := s.endpoint(r.URL, "*").Secret
	v := must.Get(standard.NewWebhook(other))(t)
	expect.True(t, v.Verify(body, h) != nil, "another secret verifies")
	expect.True(t, stripe.ValidatePayload(body, h.Get(webhook.SignatureHeader), other) != nil, "another secret verifies")
}

func TestVerifyRefusesForgedOrOldSignature(t *testing.T) {
	secret, body := receiverSecret, []byte(`{"id":"evt_1"}`)
	at := time.Unix(1_700_000_000, 0)
	h := signed(at, body, secret)
	with := func(value string) http.Header { return http.Header{webhook.SignatureHeader: {value}} }
	good := h.Get(webhook.SignatureHeader)
	for _, c := range []struct {
		what   string
		header http.Header
		body   string
		secret string
		now    time.Time
		want   error
	}{
		{"good", h, string(body), secret, at, nil},
		{"at the edge", h, string(body), secret, at.Add(webhook.DefaultTolerance), nil},
		{"too old", h, string(body), secret, at.Add(webhook.DefaultTolerance + time.Second), webhook.ErrTimestamp},
		{"from the future", h, string(body), secret, at.Add(-webhook.DefaultTolerance - time.Second), webhook.ErrTimestamp},
		{"another body", h, string(body) + " ", secret, at, webhook.ErrSignature},
		{"another secret", h, string(body), "whsec_b3RoZXI=", at, webhook.ErrSignature},
		{"no header", http.Header{}, string(body), secret, at, webhook.ErrNoSignature},
		{"no time", with(good[strings.Index(good, ",")+1:]), string(body), secret, at, webhook.ErrSignature},
		{"another time", with("t=1700000001" + good[strings.Index(good, ","):]), string(body), secret, at, webhook.ErrSignature},
		{"no signature", with("t=1700000000"), string(body), secret, at, webhook.ErrSignature},
		{"another scheme", with(strings.Replace(good, "v1", "v0", 1)), string(body), secret, at, webhook.ErrSignature},
		{"spaces", with(strings.Replace(good, ",", ", ", 1)), string(body), secret, at, nil},
		{"no secret", signed(at, body, ""), string(body), "", at, webhook.ErrNoSecret},
		{"the prefix of a secret", signed(at, body, "whsec_"), string(body), "whsec_", at, webhook.ErrNoSecret},
		{"a blank secret", signed(at, body, " "), string(body), " ", at, webhook.ErrNoSecret},
		{"a wrong one first", with(strings.Replace(good, ",", ",v1=00,v1=zz,", 1)), string(body), secret, at, nil},
	} {
		expect.ErrorIs(t, webhook.Verify(c.header, []byte(c.body), c.secret, 0, c.now), c.want, "%s", c.what)
	}
}

// signed returns the header of a body that was signed with a secret.
func signed(at time.Time, body []byte, secret string) http.Header {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
	return http.Header{webhook.SignatureHeader: {fmt.Sprintf("t=%d,v1=%x", at.Unix(), mac.Sum(nil))}}
}

func FuzzVerify(f *testing.F) {
	f.Add(signed(time.Unix(1, 0), []byte(`{}`), receiverSecret).Get(webhook.SignatureHeader))
	f.Add("t=,v1=,")
	f.Fuzz(func(t *testing.T, header string) {
		err := webhook.Verify(http.Header{webhook.SignatureHeader: {header}}, []byte("other"), receiverSecret, 0, time.Unix(1, 0))
		expect.True(t, err != nil, "%q verifies", header)
	})
}
