package httpapi_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// One call moves the test clock by at most 1,827 days, and makes no more due than the library does in half a
// minute. A refused move moves nothing.
func TestClockIsMovedInSteps(t *testing.T) {
	s := paymentstest.New(t)
	const most = 1827 * 24 * 60 * 60
	move := func(body string) (status int, param string, now time.Time) {
		t.Helper()
		response, data := s.Do("POST", "/v1/test_helpers/clock", body)
		if response.StatusCode == 200 {
			now = must.Get(time.Parse(time.RFC3339, field(t, data, "now")))(t)
		}
		return response.StatusCode, field(t, data, "error.param"), now
	}
	shown := func() time.Time {
		t.Helper()
		_, _, now := move(`{"advance":0}`)
		return now
	}
	begin := shown()
	refused := func(what, body, want string) {
		t.Helper()
		status, param, _ := move(body)
		expect.Equal(t, status, 400, "%s: status", what)
		expect.Equal(t, param, want, "%s: param", what)
		expect.True(t, shown().Sub(begin) < time.Minute, "%s: the clock shows %s", what, shown())
	}
	plan := made(t, s, "/v1/plans", `{"name":"Daily","amount":500,"interval":"day"}`)
	fortnight := made(t, s, "/v1/plans", `{"name":"Fortnight","amount":500,"interval":"week","interval_count":2}`)
	customer := made(t, s, "/v1/customers", `{}`)
	for i := range 12 {
		made(t, s, "/v1/subscriptions", fmt.Sprintf(`{"customer":%q,"plan":%q}`, customer, []string{plan, fortnight}[min(1, i/3)]))
	}
	refused("a second too far", fmt.Sprintf(`{"advance":%d}`, most+1), "advance")
	refused("a day too far", fmt.Sprintf(`{"now":%q}`, begin.AddDate(0, 0, 1828).Format(time.RFC3339)), "now")
	refused("five years of subscriptions", fmt.Sprintf(`{"advance":%d}`, most), "advance")
	refused("five years of subscriptions, by a time", fmt.Sprintf(`{"now":%q}`, begin.AddDate(0, 0, 1826).Format(time.RFC3339)), "now")
	// Without the daily ones there are nine times 131 periods.
	_, list := s.Do("GET", "/v1/subscriptions?limit=100&plan="+plan, nil)
	for i := range 3 {
		s.Do("POST", "/v1/subscriptions/"+field(t, list, fmt.Sprintf("data.%d.id", i))+"/cancel", `{}`)
	}
	status, _, now := move(`{"advance":2592000}`) // a month
	expect.Equal(t, status, 200, "a month: status")
	expect.True(t, now.Sub(begin) >= 30*24*time.Hour, "a month: %d, %s", status, now)
}
