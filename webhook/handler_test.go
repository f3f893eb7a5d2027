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
