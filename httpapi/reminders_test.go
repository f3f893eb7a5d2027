package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// A merchant's test clock brings reminders on.
func TestRemindersByTheTestClock(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{
		InvoiceReminders: []int{-1, 1},
		Clock:            func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) },
	})
	newInvoice(t, s, `{"auto_finalize":true,"customer_phone":"0245556666","due_date":"2026-03-10",`+oneLine+`}`)
	for _, day := range []struct {
		now  string
		want int
	}{
		{"2026-03-09T08:59:59Z", 0},
		{"2026-03-09T09:00:00Z", 1},
		{"2026-03-10T23:00:00Z", 1},
		{"2026-03-11T09:00:00Z", 2},
		{"2026-03-20T09:00:00Z", 2},
	} {
		s.Do("POST", "/v1/test_helpers/clock", `{"now":"`+day.now+`"}`)
		_, data := s.Do("GET", "/v1/test_helpers/messages?to=0245556666", nil)
		if got := strings.Count(string(data), "Reminder of invoice INV-"); got != day.want {
			t.Errorf("at %s: %d reminders, want %d in %s", day.now, got, day.want, data)
		}
	}
}
