package event_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// Every subscriber gets every event, and again when it fails or panics.
func TestSubscriberIsCalledAgainAfterFailure(t *testing.T) {
	now := time.Now()
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Clock: func() time.Time { return now }})
	var mu sync.Mutex
	told := map[string][]event.Type{}
	trouble := 2
	subscribe := func(name string, fail func() error) {
		s.Events.Subscribe(name, func(_ context.Context, caller api.Caller, e event.Event) error {
			mu.Lock()
			defer mu.Unlock()
			expect.True(t, caller.Merchant == s.Caller.Merchant && !caller.Live, "the caller is %+v", caller)
			if err := fail(); err != nil {
				return err
			}
			told[name] = append(told[name], e.Type)
			return nil
		})
	}
	subscribe("ledger", func() error { return nil })
	subscribe("mail", func() error {
		if trouble--; trouble == 1 {
			return errors.New("planned")
		} else if trouble == 0 {
			panic("planned")
		}
		return nil
	})
	code := must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{}))(t)
	drain := func(by time.Duration) {
		t.Helper()
		now = now.Add(by)
		must.Do(t, s.Drain(t.Context()))
	}
	drain(0)
	expect.True(t, len(told["ledger"]) == 1 && len(told["mail"]) == 0, "told %v", told)
	drain(time.Second)
	drain(5 * time.Second)
	drain(time.Hour)
	want := []event.Type{event.QRCodeCreated}
	expect.True(t, slices.Equal(told["ledger"], want) && slices.Equal(told["mail"], want), "told %v", told)
	s.Pay(code.ID, 100)
	drain(0)
	expect.True(t, len(told["ledger"]) == 3 && len(told["mail"]) == 3, "told %v", told)
	for _, name := range []string{"", "ledger", "Ledger", "a-b"} {
		func() {
			defer func() { expect.True(t, recover() != nil, "%q is taken", name) }()
			s.Events.Subscribe(name, func(context.Context, api.Caller, event.Event) error { return nil })
		}()
	}
}

func TestAllReadsEveryPage(t *testing.T) {
	s := paymentstest.New(t)
	for range 250 {
		must.Get(s.Events.Record(t.Context(), s.Caller, event.RecordParams{Type: "plan.created", Object: map[string]string{"id": "plan_1"}}))(t)
	}
	n, last := 0, ""
	for e, err := range api.All(t.Context(), s.Caller, event.ListParams{Type: "plan.created"}, s.Events.List) {
		must.Do(t, err)
		must.True(t, last == "" || e.ID < last, "not newest first")
		n, last = n+1, e.ID
	}
	expect.Equal(t, n, 250, "%d events", n)
	for range api.All(t.Context(), s.Caller, event.ListParams{}, s.Events.List) {
		break // which must end it
	}
	for _, err := range api.All(t.Context(), s.Caller, event.ListParams{Type: "nothing"}, s.Events.List) {
		expect.Equal(t, api.CodeOf(err), api.EventTypeUnknown, "got %v", err)
	}
}
