package httpapi_test

import (
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// A transfer to …0907 stays pending for 25 seconds of the test clock, in which it can be cancelled.
func TestCancelPendingTransfers(t *testing.T) {
	s := paymentstest.New(t)
	otp := s.OTP()
	before := read(t, s, "/v1/balance", "available")
	for path, done := range map[string]string{"/v1/payouts": "succeeded", "/v1/disbursements": "completed"} {
		create := func() string {
			t.Helper()
			body := `{"amount":25,"destination":{"type":"mobile_money","phone_number":"0241230907"}`
			if path == "/v1/payouts" {
				body += `,"otp_code":"` + otp + `"`
			}
			response, data := s.Do("POST", path, body+`}`)
			must.True(t, response.StatusCode == 200 && field(t, data, "status") == "pending", "%s: %s", path, data)
			drain(t, s)
			return path + "/" + field(t, data, "id")
		}
		cancelled := create()
		expect.Equal(t, read(t, s, cancelled, "status"), "pending", "%s after the work", path)
		_, data := s.Do("POST", cancelled+"/cancel", nil)
		expect.Equal(t, field(t, data, "status"), "cancelled", "%s: %s", path, data)
		expect.Equal(t, read(t, s, "/v1/balance", "available"), before, "%s: the balance after a cancellation", path)

		sent := create()
		advance(t, s, 24*time.Second)
		expect.Equal(t, read(t, s, sent, "status"), "pending", "%s after 24 s", path)
		advance(t, s, time.Second)
		drain(t, s)
		expect.Equal(t, read(t, s, sent, "status"), done, "%s after 25 s", path)
		response, data := s.Do("POST", sent+"/cancel", nil)
		expect.True(t, response.StatusCode == 409, "%s: a sent one is cancelled: %s", path, data)
		expect.Equal(t, read(t, s, cancelled, "status"), "cancelled", "%s: the cancelled one", path)
		before = read(t, s, "/v1/balance", "available")
	}
	verified(t, s)
}
