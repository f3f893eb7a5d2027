package webhook

import (
	"context"
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
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
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
	h := Handler(receiverSecret, nil, func(context.Context, event.Event) error {
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
	h := Handler(receiverSecret, nil, func(ctx context.Context, _ event.Event) error {
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
	h := Handler("", nil, func(context.Context, event.Event) error {
		t.Error("a delivery that anyone can sign was handled")
		return nil
	})
	expect.Equal(t, deliver(t.Context(), h, "", "evt_1"), http.StatusServiceUnavailable, "answered")
}

// An event that failed at first counts once among those that Memory remembers.
func TestSeenEventsForgetTheOldest(t *testing.T) {
	m := NewMemory(2)
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
	expect.True(t, !step("evt_1", nil) && !step("evt_2", nil), "an event was forgotten early")
	step("evt_3", nil)
	expect.True(t, !step("evt_2", nil) && step("evt_1", nil), "not the oldest was forgotten")
	expect.True(t, len(m.known) == 2 && len(m.order) == 2, "%d and %d are remembered", len(m.known), len(m.order))
}

// Other people's verifiers accept our signatures, with either secret of a
// rotation, and refuse others.
func TestThirdPartyVerifiersAcceptSignature(t *testing.T) {
	old, current, other := newSecret(), newSecret(), newSecret()
	body := []byte(`{"id":"evt_1","note":"₵ <>&"}`)
	h := http.Header{}
	sign(h, "evt_1", body, time.Now(), current, old)
	for _, secret := range []string{current, old} {
		v := must.Get(standard.NewWebhook(secret))(t)
		expect.NoError(t, v.Verify(body, h), "Standard Webhooks")
		expect.NoError(t, stripe.ValidatePayload(body, h.Get(SignatureHeader), secret), "stripe-go")
		expect.NoError(t, Verify(h, body, secret, 0, time.Now()), "ours")
	}
	v := must.Get(standard.NewWebhook(other))(t)
	expect.True(t, v.Verify(body, h) != nil && stripe.ValidatePayload(body, h.Get(SignatureHeader), other) != nil, "another secret verifies")
}

func TestVerifyRefusesForgedOrOldSignature(t *testing.T) {
	secret, body := newSecret(), []byte(`{"id":"evt_1"}`)
	at := time.Unix(1_700_000_000, 0)
	h := http.Header{}
	sign(h, "evt_1", body, at, secret)
	with := func(value string) http.Header { return http.Header{SignatureHeader: {value}} }
	good := h.Get(SignatureHeader)
	for _, c := range []struct {
		what   string
		header http.Header
		body   string
		secret string
		now    time.Time
		want   error
	}{
		{"good", h, string(body), secret, at, nil},
		{"at the edge", h, string(body), secret, at.Add(DefaultTolerance), nil},
		{"too old", h, string(body), secret, at.Add(DefaultTolerance + time.Second), ErrTimestamp},
		{"from the future", h, string(body), secret, at.Add(-DefaultTolerance - time.Second), ErrTimestamp},
		{"another body", h, string(body) + " ", secret, at, ErrSignature},
		{"another secret", h, string(body), newSecret(), at, ErrSignature},
		{"no header", http.Header{}, string(body), secret, at, ErrNoSignature},
		{"no time", with(good[strings.Index(good, ",")+1:]), string(body), secret, at, ErrSignature},
		{"another time", with("t=1700000001" + good[strings.Index(good, ","):]), string(body), secret, at, ErrSignature},
		{"no signature", with("t=1700000000"), string(body), secret, at, ErrSignature},
		{"another scheme", with(strings.Replace(good, "v1", "v0", 1)), string(body), secret, at, ErrSignature},
		{"spaces", with(strings.Replace(good, ",", ", ", 1)), string(body), secret, at, nil},
		{"no secret", signed(at, body, ""), string(body), "", at, ErrNoSecret},
		{"the prefix of a secret", signed(at, body, "whsec_"), string(body), "whsec_", at, ErrNoSecret},
		{"a blank secret", signed(at, body, " "), string(body), " ", at, ErrNoSecret},
		{"a wrong one first", with(strings.Replace(good, ",", ",v1=00,v1=zz,", 1)), string(body), secret, at, nil},
	} {
		expect.ErrorIs(t, Verify(c.header, []byte(c.body), c.secret, 0, c.now), c.want, "%s", c.what)
	}
}

// signed returns the headers of a body that was signed with a secret.
func signed(at time.Time, body []byte, secret string) http.Header {
	h := http.Header{}
	sign(h, "evt_1", body, at, secret)
	return h
}

func FuzzVerify(f *testing.F) {
	secret, body := newSecret(), []byte(`{}`)
	h := http.Header{}
	sign(h, "evt_1", body, time.Unix(1, 0), secret)
	f.Add(h.Get(SignatureHeader))
	f.Add("t=,v1=,")
	f.Fuzz(func(t *testing.T, header string) {
		err := Verify(http.Header{SignatureHeader: {header}}, []byte("other"), secret, 0, time.Unix(1, 0))
		expect.True(t, err != nil, "%q verifies", header)
	})
}
