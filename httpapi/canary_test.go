package httpapi_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// safeBuffer is a log that may be written to from many goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// No number of a phone or bank account, in whatever spelling it was sent, comes
// out again: not in an answer, not in an event, not in the log.
func TestCanaries(t *testing.T) {
	var log safeBuffer
	s := paymentstest.On(t, memory.New(), payments.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	otp := verifiedOTP(t, s)
	var canaries []string
	send := func(number, destination string) {
		t.Helper()
		canaries = append(canaries, number)
		for _, path := range []string{"/v1/payouts", "/v1/disbursements"} {
			for _, amount := range []string{"5", "0", "9999", "90000"} {
				_, data := s.Do("POST", path, `{"amount":`+amount+`,"otp_code":"`+otp+`","destination":`+destination+`}`)
				id := field(t, data, "id")
				if id == "" {
					id = "po_0"
				}
				s.Do("POST", path+"/"+id+"/cancel", nil)
			}
			s.Do("POST", path, `{"amount":1,"otp_code":"`+otp+`","destination":`+destination+`}`)
		}
	}
	// The digits in the middle are what must not be seen; the ends decide the fate.
	mobile := func(middle, last string) {
		send(middle+last, `{"type":"mobile_money","phone_number":"+233 24 `+middle+"-"+last+`"}`)
		send("24"+middle+last, `{"type":"mobile_money","phone_number":"024`+middle+last+`"}`)
	}
	for _, last := range []string{"0001", "0901", "0902", "0903", "0905", "0906"} {
		mobile("771", last)
		send("88173"+last, `{"type":"bank_transfer","account_number":"99 88173`+last+`","bank_code":"300304"}`)
		send("66173"+last, `{"type":"bank_transfer","account_number":"6617366173`+last+`","bank_code":"000000"}`)
	}
	send("55123123", `{"type":"mobile_money","phone_number":"5512312355123123"}`)
	send("241000001", `{"type":"service_wallet","phone_number":"0241000001"}`)
	s.Do("GET", "/v1/payouts?starting_after=0247710001", nil)
	s.Do("GET", "/v1/payouts/0247710001", nil)
	for range 3 {
		drain(t, s)
		advance(t, s, 2*time.Hour)
	}
	var seen []string
	collect := func(path string) {
		t.Helper()
		for next := path; ; {
			_, data := s.Do("GET", next, nil)
			seen = append(seen, string(data))
			if field(t, data, "has_more") != "true" {
				return
			}
			next = path + "&starting_after=" + field(t, data, "data.99.id")
		}
	}
	for _, path := range []string{"/v1/payouts", "/v1/disbursements", "/v1/events", "/v1/balance/entries"} {
		collect(path + "?limit=100")
	}
	seen = append(seen, log.String())
	for _, text := range seen {
		plain := strings.NewReplacer(" ", "", "-", "").Replace(text)
		for _, c := range canaries {
			if i := strings.Index(plain, c); i >= 0 {
				t.Errorf("%s is told in …%s…", c, plain[max(0, i-150):min(len(plain), i+50)])
			}
		}
	}
	if len(seen) < 6 || !strings.Contains(strings.Join(seen, ""), "****") {
		t.Errorf("too little was looked at: %d texts", len(seen))
	}
}
