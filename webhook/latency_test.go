package webhook_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/webhook"
)

// A delivery counts once, when it has ended, on the day on which it was made.
func TestDeliveriesCountByHowLongTheyTook(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *shop) {
		noon := time.Now().UTC().Truncate(24 * time.Hour).Add(36 * time.Hour)
		s.pass(noon.Sub(s.now))
		r := listen(t)
		s.endpoint(r.URL, "qr_code.created")
		days := api.Times{From: noon.AddDate(0, 0, -1), Until: noon.AddDate(0, 0, 1)}
		counted := func(what string, delivered [5]int64, failed int64) {
			t.Helper()
			got := must.Get(s.Webhooks.DailyLatencies(t.Context(), s.Caller, days))(t)
			expect.Equal(t, len(got), 3, "%s: days", what)
			expect.Equal(t, got[1], webhook.DayLatency{Day: noon.Truncate(24 * time.Hour), Delivered: delivered, Failed: failed}, "%s", what)
		}
		s.happen()
		s.pass(0)
		counted("at once", [5]int64{1}, 0)
		r.answers(http.StatusInternalServerError)
		s.happen()
		s.pass(0)
		counted("under way", [5]int64{1}, 0)
		r.answers(http.StatusOK)
		s.pass(10 * time.Minute)
		counted("within an hour", [5]int64{1, 0, 0, 1}, 0)
		r.answers(http.StatusInternalServerError)
		s.happen()
		s.pass(0)
		r.answers(http.StatusOK)
		s.pass(13 * time.Hour)
		counted("the next day", [5]int64{1, 0, 0, 1, 1}, 0)
		r.answers(http.StatusGone)
		s.happen()
		s.pass(0)
		got := must.Get(s.Webhooks.DailyLatencies(t.Context(), s.Caller, days))(t)
		expect.Equal(t, got[2], webhook.DayLatency{Day: got[2].Day, Failed: 1}, "given up")
		live := s.Caller
		live.Live = true
		expect.Equal(t, must.Get(s.Webhooks.DailyLatencies(t.Context(), live, days))(t)[1].Delivered, [5]int64{}, "the other mode")
		for _, period := range []api.Times{{}, {From: noon, Until: noon.AddDate(0, 0, -1)}, {From: noon, Until: noon.AddDate(2, 0, 0)}} {
			testkit.WantParam(t, "a wrong period", testkit.Err(s.Webhooks.DailyLatencies(t.Context(), s.Caller, period)), api.ParameterInvalid, "period")
		}
	})
}
