package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
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
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	// What the host's own code fails with is not told either.
	const fault = "7717177"
	s.Events.Subscribe("fails", func(_ context.Context, _ api.Caller, e event.Event) error {
		if len(e.ID)%2 == 0 || e.Type == "disbursement.created" {
			panic("about " + fault)
		}
		return errors.New("about " + fault)
	})
	otp := s.OTP()
	const voucher = "9393193" // a payer's code
	canaries := []string{fault, voucher, s.PIN + "5", "Ama Mensah", "ama@example.com", "247654321", otp}
	known := len(canaries)
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
	_, till := s.Do("POST", "/v1/qr_codes", `{"name":"Phones"}`)
	// pay pays from a phone each way, and does all that can be done with the payment.
	pay := func(number string) {
		t.Helper()
		bill, _ := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
		for _, path := range []string{"/v1/payments", "/v1/test_helpers/qr_codes/" + field(t, till, "id") + "/pay", "/v1/invoices/" + bill + "/pay"} {
			for _, amount := range []string{"5", "0"} {
				_, data := s.Do("POST", path, `{"amount":`+amount+`,"phone_number":"`+number+`"}`)
				drain(t, s)
				id := field(t, data, "id")
				for _, action := range []string{"cancel", "confirm"} {
					s.Do("POST", "/v1/payments/"+id+"/"+action, `{"code":"`+voucher+`"}`)
				}
				s.Do("POST", "/v1/refunds", `{"payment":"`+id+`"}`)
			}
		}
	}
	// The digits in the middle are what must not be seen; the ends decide the fate.
	mobile := func(middle, last string) {
		send(middle+last, `{"type":"mobile_money","phone_number":"+233 24 `+middle+"-"+last+`"}`)
		send("24"+middle+last, `{"type":"mobile_money","phone_number":"024`+middle+last+`"}`)
		pay("+233 24 " + middle + "-" + last)
	}
	for _, last := range []string{"0001", "0901", "0902", "0903", "0905", "0906", "0907", "0908", "0910", "0911"} {
		mobile("771", last)
		send("88173"+last, `{"type":"bank_transfer","account_number":"99 88173`+last+`","bank_code":"300304"}`)
		send("66173"+last, `{"type":"bank_transfer","account_number":"6617366173`+last+`","bank_code":"000000"}`)
	}
	send("55123123", `{"type":"mobile_money","phone_number":"5512312355123123"}`)
	send("241000001", `{"type":"service_wallet","phone_number":"0241000001"}`)
	s.Do("GET", "/v1/payouts?starting_after=0247710001", nil)
	s.Do("GET", "/v1/payouts/0247710001", nil)
	// A payment, and an invoice, with all that is sent about them.
	_, code := s.Do("POST", "/v1/qr_codes", `{"name":"Till"}`)
	s.Do("POST", "/v1/test_helpers/qr_codes/"+field(t, code, "id")+"/pay", `{"account_id":"`+s.Consumer.ID+`","pin":"`+s.PIN+`5","amount":100}`)
	s.Pay(field(t, code, "id"), 100)
	_, bill := s.Do("POST", "/v1/invoices", `{"customer_name":"Ama Mensah","customer_email":"ama@example.com","customer_phone":"0247654321","auto_finalize":true,"line_items":[{"description":"Juice","unit_amount":100}]}`)
	for _, action := range []string{"send", "pay", "void"} {
		s.Do("POST", "/v1/invoices/"+field(t, bill, "id")+"/"+action, nil)
	}
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
	for _, path := range []string{"/v1/payouts", "/v1/disbursements", "/v1/payments", "/v1/refunds", "/v1/events", "/v1/balance/entries"} {
		collect(path + "?limit=100")
	}
	// Times and addresses of the machine are any digits, those of a PIN too.
	seen = append(seen, regexp.MustCompile(`(time|wait|duration|stack)=("[^"]*"|\S+)`).ReplaceAllString(log.String(), ""))
	for i, text := range seen {
		plain := strings.NewReplacer(" ", "", "-", "").Replace(text)
		for j, c := range canaries {
			// An invoice shows its merchant whom it is for, in answers and events; the log
			// shows nothing.
			if j < known && i < len(seen)-1 {
				continue
			}
			c := strings.ReplaceAll(c, " ", "")
			if i := strings.Index(plain, c); i >= 0 {
				t.Errorf("%s is told in …%s…", c, plain[max(0, i-150):min(len(plain), i+50)])
			}
		}
	}
	if told := log.String(); strings.Count(told, "msg=work ") < 100 || strings.Count(told, "msg=request ") < 100 || !strings.Contains(told, "outcome=again") {
		t.Error("the log tells of too little")
	}
	expect.True(t, len(seen) >= 8, "too little was looked at: %d texts", len(seen))
	expect.True(t, strings.Contains(strings.Join(seen, ""), "****"), "too little was looked at: %d texts", len(seen))
}
