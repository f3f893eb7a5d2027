package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func advance(t *testing.T, s *paymentstest.Shop, by time.Duration) {
	t.Helper()
	if response, data := s.Do("POST", "/v1/test_helpers/clock", fmt.Sprintf(`{"advance":%d}`, int64(by.Seconds()))); response.StatusCode != 200 {
		t.Fatalf("clock: %s", data)
	}
}

// refused is wants that also looks at the type, which follows from the status, and
// at what every refusal has.
func refused(t *testing.T, what string, response *http.Response, body []byte, status int, code, param string) {
	t.Helper()
	wants(t, what, response, body, status, code, param)
	kind := map[int]string{
		400: "invalid_request_error", 402: "payment_error", 404: "invalid_request_error", 409: "invalid_request_error",
		422: "idempotency_error", 429: "rate_limit_error", 503: "api_error",
	}[status]
	if kind == "" || field(t, body, "error.type") != kind || field(t, body, "error.message") == "" ||
		field(t, body, "error.request_id") != response.Header.Get("Request-Id") {
		t.Errorf("%s: want type %q, a message and the id of the request: %s", what, kind, body)
	}
}

// Every refusal of money that goes out: payouts and disbursements alike.
func TestTransferRefusals(t *testing.T) {
	s := paymentstest.New(t)
	otp := verifiedOTP(t, s)
	holder := func(kind, body string) (account, service string) {
		t.Helper()
		_, data := s.Do("POST", "/v1/test_helpers/"+kind, body)
		return field(t, data, "account_id"), field(t, data, "service_id")
	}
	_, sub := holder("cash_agents", `{"name":"Sub","sub_agent":true}`)
	frozen, _ := holder("consumers", `{"name":"Frozen","phone_number":"0242000001","status":"frozen"}`)
	_, suspendedID := holder("cash_agents", `{"name":"Suspended","status":"suspended"}`)
	closed, _ := holder("consumers", `{"name":"Closed","status":"closed"}`)
	merchant := must.Get(s.Accounts.GetMerchant(t.Context(), api.Caller{}, s.Caller.Merchant))(t)

	wallet := func(by, id string) string {
		return fmt.Sprintf(`{"amount":5,"destination":{"type":"service_wallet",%q:%q}}`, by, id)
	}
	mobile := func(amount string) string {
		return `{"amount":` + amount + `,"destination":{"type":"mobile_money","phone_number":"0241234567"}}`
	}
	long := strings.Repeat("ɛ", 501)
	many := make([]string, 51)
	for i := range many {
		many[i] = fmt.Sprintf("%q:1", fmt.Sprint("k", i))
	}
	for _, c := range []struct {
		what, body  string
		status      int
		code, param string
	}{
		{"nothing", `{}`, 400, "parameter_missing", "amount"},
		{"no destination", `{"amount":5}`, 400, "parameter_missing", "destination"},
		{"a destination that is no object", `{"amount":5,"destination":"0241234567"}`, 400, "parameter_invalid", "destination"},
		{"no type", `{"amount":5,"destination":{}}`, 400, "parameter_missing", "destination.type"},
		{"another type", `{"amount":5,"destination":{"type":"cash"}}`, 400, "parameter_invalid", "destination.type"},
		{"no number", `{"amount":5,"destination":{"type":"mobile_money"}}`, 400, "parameter_missing", "destination.phone_number"},
		{"a number that is a number", `{"amount":5,"destination":{"type":"mobile_money","phone_number":241234567}}`, 400, "parameter_invalid", "destination.phone_number"},
		{"no number of Ghana", `{"amount":5,"destination":{"type":"mobile_money","phone_number":"+447911123456"}}`, 400, "invalid_phone_number", "destination.phone_number"},
		{"a number that is short", `{"amount":5,"destination":{"type":"mobile_money","phone_number":"024123456"}}`, 400, "invalid_phone_number", "destination.phone_number"},
		{"a fixed line", `{"amount":5,"destination":{"type":"mobile_money","phone_number":"0302123456"}}`, 400, "invalid_phone_number", "destination.phone_number"},
		{"another provider", `{"amount":5,"destination":{"type":"mobile_money","phone_number":"0241234567","provider":"vodafone"}}`, 400, "parameter_invalid", "destination.provider"},
		{"no account number", `{"amount":5,"destination":{"type":"bank_transfer","bank_code":"300304"}}`, 400, "parameter_missing", "destination.account_number"},
		{"no bank", `{"amount":5,"destination":{"type":"bank_transfer","account_number":"1234567890"}}`, 400, "parameter_missing", "destination.bank_code"},
		{"an unknown bank", `{"amount":5,"destination":{"type":"bank_transfer","account_number":"1234567890","bank_code":"999999"}}`, 400, "invalid_destination", "destination.bank_code"},
		{"letters for digits", `{"amount":5,"destination":{"type":"bank_transfer","account_number":"12345abc","bank_code":"300304"}}`, 400, "invalid_destination", "destination.account_number"},
		{"the rail refuses at once", `{"amount":5,"destination":{"type":"mobile_money","phone_number":"0241230906"}}`, 402, "recipient_unavailable", "destination.phone_number"},
		{"the rail refuses an account", `{"amount":5,"destination":{"type":"bank_transfer","account_number":"1234560906","bank_code":"300304"}}`, 402, "recipient_unavailable", "destination.account_number"},

		{"nobody", `{"amount":5,"destination":{"type":"service_wallet"}}`, 400, "parameter_missing", "destination.service_id"},
		{"no service id", wallet("service_id", "SVC12a"), 400, "invalid_service_id", "destination.service_id"},
		{"nobody's service id", wallet("service_id", "SVC99999999"), 400, "service_id_not_found", "destination.service_id"},
		{"a merchant's", wallet("service_id", merchant.ServiceID), 402, "service_id_not_payable", "destination.service_id"},
		{"a sub-agent's", wallet("service_id", sub), 402, "subagent_not_payable", "destination.service_id"},
		{"nobody's account", wallet("account_id", "acc_0VbZaxcl001kOOiAEr1tPH"), 400, "account_not_found", "destination.account_id"},
		{"a closed account", wallet("account_id", closed), 400, "account_not_found", "destination.account_id"},
		{"nobody's number", wallet("phone_number", "0249999999"), 400, "account_not_found", "destination.phone_number"},
		{"no number for a wallet", wallet("phone_number", "12"), 400, "invalid_phone_number", "destination.phone_number"},
		{"a frozen wallet", wallet("account_id", frozen), 402, "wallet_not_active", "destination.account_id"},
		{"a suspended float", wallet("service_id", suspendedID), 402, "wallet_not_active", "destination.service_id"},

		{"too much", mobile("20000.01"), 400, "amount_too_large", "amount"},
		{"far too much", mobile("99999999999"), 400, "amount_too_large", "amount"},
		{"nothing at all", mobile("0"), 400, "amount_too_small", "amount"},
		{"less than nothing", mobile("-5"), 400, "amount_too_small", "amount"},
		{"minus zero", mobile("-0"), 400, "parameter_invalid", "amount"},
		{"a text", mobile(`"5"`), 400, "parameter_invalid", "amount"},
		{"an exponent", mobile("1e3"), 400, "parameter_invalid", "amount"},
		{"a tenth of a pesewa", mobile("0.001"), 400, "parameter_invalid", "amount"},
		{"1e1000000", mobile("1e1000000"), 400, "parameter_invalid", "amount"},
		{"null", mobile("null"), 400, "parameter_missing", "amount"},
		{"more than there is", mobile("1000.01"), 402, "insufficient_balance", ""},
		{"the fee is too much", mobile("999.99"), 402, "insufficient_balance", ""},
		{"dollars", `{"amount":5,"currency":"USD","destination":{"type":"mobile_money","phone_number":"0241234567"}}`, 400, "currency_not_supported", "currency"},
		{"a long description", `{"amount":5,"description":"` + long + `","destination":{"type":"mobile_money","phone_number":"0241234567"}}`, 400, "parameter_invalid", "description"},
		{"a long name", `{"amount":5,"destination":{"type":"mobile_money","phone_number":"0241234567","account_name":"` + long + `"}}`, 400, "parameter_invalid", "destination.account_name"},
		{"much metadata", `{"amount":5,"metadata":{` + strings.Join(many, ",") + `},"destination":` + toMobile + `}`, 400, "parameter_invalid", "metadata"},
		{"a long value", `{"amount":5,"metadata":{"a":"` + long + `"},"destination":` + toMobile + `}`, 400, "parameter_invalid", "metadata.a"},
		{"metadata that is no object", `{"amount":5,"metadata":[],"destination":` + toMobile + `}`, 400, "parameter_invalid", "metadata"},
		{"a description that is no text", `{"amount":5,"description":1,"destination":` + toMobile + `}`, 400, "parameter_invalid", "description"},
		{"a type that is no text", `{"amount":5,"destination":{"type":1}}`, 400, "parameter_invalid", "destination.type"},
		{"an account number that is a number", `{"amount":5,"destination":{"type":"bank_transfer","account_number":1234567890,"bank_code":"300304"}}`, 400, "parameter_invalid", "destination.account_number"},
		{"a bank code that is a number", `{"amount":5,"destination":{"type":"bank_transfer","account_number":"1234567890","bank_code":300304}}`, 400, "parameter_invalid", "destination.bank_code"},
		{"a service id that is a number", `{"amount":5,"destination":{"type":"service_wallet","service_id":1}}`, 400, "parameter_invalid", "destination.service_id"},
		{"the service id wins", `{"amount":5,"destination":{"type":"service_wallet","service_id":"SVC99999999","account_id":"` + s.Consumer.ID + `"}}`, 400, "service_id_not_found", "destination.service_id"},
		{"nested metadata", `{"amount":5,"metadata":{"a":[1]},"destination":{"type":"mobile_money","phone_number":"0241234567"}}`, 400, "parameter_invalid", "metadata.a"},
	} {
		response, data := s.Do("POST", "/v1/disbursements", c.body)
		refused(t, "disbursement: "+c.what, response, data, c.status, c.code, c.param)
		withOTP := strings.TrimSuffix(c.body, "}") + `,"otp_code":"` + otp + `"}`
		withOTP = strings.Replace(withOTP, "{,", "{", 1)
		response, data = s.Do("POST", "/v1/payouts", withOTP)
		refused(t, "payout: "+c.what, response, data, c.status, c.code, c.param)
	}
	response, data := s.Do("POST", "/v1/payouts", strings.Replace(mobile("0.99"), `{"amount"`, `{"otp_code":"`+otp+`","amount"`, 1))
	refused(t, "less than a cedi", response, data, 400, "amount_too_small", "amount")
	response, data = s.Do("POST", "/v1/disbursements", `{"amount":5,"reference":"`+strings.Repeat("x", 101)+`","destination":{"type":"mobile_money","phone_number":"0241234567"}}`)
	refused(t, "a long reference", response, data, 400, "parameter_invalid", "reference")

	// Nothing was kept of all that.
	for _, list := range []string{"/v1/payouts", "/v1/disbursements"} {
		if _, data := s.Do("GET", list, nil); field(t, data, "data.0") != "" {
			t.Errorf("%s: %s", list, data)
		}
		response, data := s.Do("GET", list+"?status=done", nil)
		refused(t, "an unknown status", response, data, 400, "parameter_invalid", "status")
	}
	response, data = s.Do("GET", "/v1/disbursements?status=succeeded", nil)
	refused(t, "a status of payouts alone", response, data, 400, "parameter_invalid", "status")
	if _, data := s.Do("GET", "/v1/balance", nil); field(t, data, "available") != "1000" || field(t, data, "reserved") != "0" {
		t.Errorf("balance: %s", data)
	}
}

// What the simulated rail makes of numbers, as the clock moves: of phones, with
// disbursements, and of bank accounts, with payouts.
func TestSimulatedRail(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *paymentstest.Shop) {
		simulatedRail(t, s, "disbursement", "payout", "completed", `{"type":"mobile_money","phone_number":"024123%s"}`)
		// Five cedis and ten pesewas for each of four that arrived.
		if _, data := s.Do("GET", "/v1/balance", nil); field(t, data, "available") != "979.6" || field(t, data, "reserved") != "0" {
			t.Errorf("balance: %s", data)
		}
		simulatedRail(t, s, "payout", "disbursement", "succeeded", `{"type":"bank_transfer","account_number":"99123%s","bank_code":"300304"}`)
		// And five with a fee of five.
		if _, data := s.Do("GET", "/v1/balance", nil); field(t, data, "available") != "939.6" || field(t, data, "reserved") != "0" {
			t.Errorf("balance: %s", data)
		}
		verified(t, s)
	})
}

func simulatedRail(t *testing.T, s *paymentstest.Shop, noun, other, done, destination string) {
	t.Helper()
	path, code := "/v1/"+noun+"s", verifiedOTP(t, s)
	send := func(last string) string {
		t.Helper()
		response, data := s.Do("POST", path, fmt.Sprintf(`{"amount":5,"otp_code":%q,"destination":%s}`, code, fmt.Sprintf(destination, last)))
		wants(t, last, response, data, 200, "", "")
		if field(t, data, "status") != "pending" || field(t, data, "completed_at") != "" {
			t.Errorf("%s: %s", last, data)
		}
		return field(t, data, "id")
	}
	is := func(id, status, reason string) {
		t.Helper()
		_, data := s.Do("GET", path+"/"+id, nil)
		if field(t, data, "status") != status || !strings.HasPrefix(field(t, data, "failure_reason"), reason) ||
			(reason == "") != (field(t, data, "failure_reason") == "") || (status == done) != (field(t, data, "completed_at") != "") {
			t.Errorf("want %s %s: %s", status, reason, data)
		}
	}
	paid, plain, unavailable, invalid := send("0000"), send("4567"), send("0901"), send("0902")
	open, slow, lost := send("0903"), send("0904"), send("0905")
	response, data := s.Do("POST", path, fmt.Sprintf(`{"amount":5,"otp_code":%q,"destination":%s}`, code, fmt.Sprintf(destination, "0906")))
	if response.StatusCode != 402 || field(t, data, "error.code") != "recipient_unavailable" {
		t.Errorf("0906: %s", data)
	}
	advance(t, s, 0)
	is(paid, done, "")
	is(plain, done, "")
	is(unavailable, "failed", "recipient_unavailable")
	is(invalid, "failed", "invalid_destination")
	is(open, "processing", "")
	is(slow, "processing", "")
	is(lost, "processing", "")
	advance(t, s, 20*time.Second)
	is(slow, "processing", "")
	is(lost, done, "")
	advance(t, s, 5*time.Second)
	is(slow, done, "")
	advance(t, s, 30*24*time.Hour)
	is(open, "processing", "")

	cancel := func(what, id string) {
		t.Helper()
		response, data := s.Do("POST", path+"/"+id+"/cancel", nil)
		refused(t, what, response, data, 409, noun+"_not_cancellable", "")
	}
	cancel("processing", open)
	cancel("done", paid)
	cancel("failed", invalid)

	settle := func(id, body string) (*http.Response, []byte) {
		return s.Do("POST", "/v1/test_helpers/"+noun+"s/"+id+"/settle", body)
	}
	for body, want := range map[string][2]string{
		`{}`:                       {"parameter_missing", "outcome"},
		`{"outcome":"perhaps"}`:    {"parameter_invalid", "outcome"},
		`{"outcome":1}`:            {"parameter_invalid", "outcome"},
		`{"outcome":"succeeded "}`: {"parameter_invalid", "outcome"},
		`{"outcome":"failed","failure_reason":"` + strings.Repeat("x", 501) + `"}`: {"parameter_invalid", "failure_reason"},
	} {
		response, data = settle(open, body)
		refused(t, body[:min(len(body), 40)], response, data, 400, want[0], want[1])
	}
	is(open, "processing", "")
	for range 2 { // the second time changes nothing
		response, data = settle(open, `{"outcome":"failed","failure_reason":"closed"}`)
		wants(t, "settle", response, data, 200, "", "")
		is(open, "failed", "closed")
	}
	response, data = settle(open, `{"outcome":"succeeded"}`)
	refused(t, "the opposite", response, data, 409, "transfer_settled", "")
	response, data = settle(paid, `{"outcome":"failed"}`)
	refused(t, "the opposite", response, data, 409, "transfer_settled", "")
	response, data = settle(slow, `{"outcome":"succeeded"}`)
	wants(t, "the same", response, data, 200, "", "")
	response, data = settle("po_0", `{"outcome":"failed"}`)
	refused(t, "nothing", response, data, 404, "resource_missing", "")

	// What is settled was sent by the other noun's helper to nobody.
	response, data = s.Do("POST", "/v1/test_helpers/"+other+"s/"+open+"/settle", `{"outcome":"failed"}`)
	refused(t, "the other noun", response, data, 404, "resource_missing", "")
	response, data = s.Do("POST", "/v1/"+other+"s/"+open+"/cancel", nil)
	refused(t, "the other noun", response, data, 404, "resource_missing", "")
	response, data = s.Do("GET", "/v1/"+other+"s/"+open, nil)
	refused(t, "the other noun", response, data, 404, "resource_missing", "")
	for _, cursor := range []string{"starting_after", "ending_before"} {
		response, data = s.Do("GET", "/v1/"+other+"s?"+cursor+"="+open, nil)
		refused(t, "the other noun", response, data, 400, "resource_missing", cursor)
	}
	for status, want := range map[string][]string{
		done: {slow, lost, plain, paid}, "failed": {open, invalid, unavailable}, "processing": nil, "created": nil,
	} {
		response, data = s.Do("GET", path+"?status="+status, nil)
		var got []string
		for i := 0; field(t, data, fmt.Sprintf("data.%d.id", i)) != ""; i++ {
			got = append(got, field(t, data, fmt.Sprintf("data.%d.id", i)))
		}
		slices.Sort(got) // several are of one millisecond
		slices.Sort(want)
		if wants(t, status, response, data, 200, "", ""); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", status, got, want)
		}
	}
}

// A helper may settle what waits for the rail, which is then told nothing; a
// cancelled transfer gives back what it reserved, and is never sent.
func TestSettledAndCancelledBeforeTheRail(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *paymentstest.Shop) {
		send := func() string {
			t.Helper()
			response, data := s.Do("POST", "/v1/disbursements", `{"amount":5,"destination":{"type":"mobile_money","phone_number":"0241230901"}}`)
			wants(t, "send", response, data, 200, "", "")
			return field(t, data, "id")
		}
		balance := func(available, reserved string) {
			t.Helper()
			_, data := s.Do("GET", "/v1/balance", nil)
			if field(t, data, "available") != available || field(t, data, "reserved") != reserved {
				t.Errorf("want %s and %s reserved: %s", available, reserved, data)
			}
		}
		settled, cancelled := send(), send()
		balance("989.8", "10.2")
		response, data := s.Do("POST", "/v1/test_helpers/disbursements/"+settled+"/settle", `{"outcome":"succeeded"}`)
		if wants(t, "settle", response, data, 200, "", ""); field(t, data, "status") != "completed" {
			t.Errorf("got %s", data)
		}
		response, data = s.Do("POST", "/v1/disbursements/"+cancelled+"/cancel", nil, "Idempotency-Key", "c")
		if wants(t, "cancel", response, data, 200, "", ""); field(t, data, "status") != "cancelled" {
			t.Errorf("got %s", data)
		}
		response, data = s.Do("POST", "/v1/disbursements/"+cancelled+"/cancel", nil)
		refused(t, "twice", response, data, 409, "disbursement_not_cancellable", "")
		response, data = s.Do("POST", "/v1/disbursements/"+cancelled+"/cancel", nil, "Idempotency-Key", "c")
		if wants(t, "repeated", response, data, 200, "", ""); response.Header.Get("Idempotent-Replayed") != "true" {
			t.Error("is not marked as a replay")
		}
		response, data = s.Do("POST", "/v1/test_helpers/disbursements/"+cancelled+"/settle", `{"outcome":"succeeded"}`)
		refused(t, "settle what is cancelled", response, data, 409, "transfer_settled", "")
		balance("994.9", "0")
		advance(t, s, time.Hour)
		balance("994.9", "0")
		verified(t, s)
	})
}

// The limit of a day: what fails or is cancelled gives its room back, and the next
// day begins anew.
func TestDailyLimit(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *paymentstest.Shop) {
		s.Fund(s.Caller.Merchant, 200_000)
		advance(t, s, 24*time.Hour-time.Duration(time.Now().UTC().Unix()%86400)*time.Second) // not over midnight
		code := verifiedOTP(t, s)
		pay := func(amount, last string) string {
			t.Helper()
			response, data := payOut(s, amount, `{"type":"mobile_money","phone_number":"024123`+last+`"}`, code)
			wants(t, amount, response, data, 200, "", "")
			return field(t, data, "id")
		}
		full := func(amount string) {
			t.Helper()
			response, data := payOut(s, amount, `{"type":"service_wallet","account_id":"`+s.Consumer.ID+`"}`, code)
			refused(t, amount, response, data, 402, "daily_limit_exceeded", "amount")
		}
		pay("20000", "4567")
		pay("20000", "0901")
		last := pay("9998.99", "4567")
		full("1.02")
		pay("1.01", "4567")
		full("1")
		response, data := s.Do("POST", "/v1/payouts/"+last+"/cancel", nil)
		wants(t, "cancel", response, data, 200, "", "")
		full("9999")
		pay("9998.99", "4567")
		full("1")
		drain(t, s) // 20,000 fail
		pay("20000", "4567")
		full("1")
		response, data = s.Do("POST", "/v1/disbursements", `{"amount":1,"destination":`+toMobile+`}`)
		wants(t, "disbursements are not counted", response, data, 200, "", "")
		advance(t, s, 24*time.Hour)
		code = verifiedOTP(t, s)
		pay("20000", "4567")
		verified(t, s)
	})
}

// Fifty requests with one key make one transfer; forty disbursements of 1 over a
// balance of 10 make ten; parallel payouts stay within the limit of the day.
func TestParallelTransfers(t *testing.T) {
	parallel := func(n int, do func(i int) (*http.Response, []byte)) map[string]int {
		outcomes := make([]string, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				response, data := do(i)
				outcomes[i] = fmt.Sprint(response.StatusCode, " ", field(t, data, "id"), field(t, data, "error.code"))
			})
		}
		all.Wait()
		count := map[string]int{}
		for _, o := range outcomes {
			count[o]++
		}
		return count
	}
	ones := func(outcomes map[string]int) (made int) {
		for o, n := range outcomes {
			if strings.HasPrefix(o, "200 po_") {
				made += n
			}
		}
		return made
	}
	onEachStore(t, func(t *testing.T, s *paymentstest.Shop) {
		otp := verifiedOTP(t, s)
		mobile := `{"amount":5,"destination":{"type":"mobile_money","phone_number":"0241234567"},"otp_code":"` + otp + `"}`
		for _, path := range []string{"/v1/payouts", "/v1/disbursements"} {
			got := parallel(50, func(int) (*http.Response, []byte) { return s.Do("POST", path, mobile, "X-Idempotency-Key", path) })
			if len(got) != 1 || ones(got) != 50 {
				t.Errorf("%s: %v", path, got)
			}
		}
		if _, data := s.Do("GET", "/v1/balance", nil); field(t, data, "reserved") != "10.2" {
			t.Errorf("balance: %s", data)
		}
		response, data := s.Do("POST", "/v1/payouts", strings.Replace(mobile, `,"otp_code":"`+otp+`"`, "", 1), "Idempotency-Key", "/v1/payouts")
		if wants(t, "a replay needs no code", response, data, 200, "", ""); response.Header.Get("Idempotent-Replayed") != "true" {
			t.Error("is not marked as a replay")
		}
		response, data = s.Do("POST", "/v1/payouts", strings.Replace(mobile, ":5", ":6", 1), "Idempotency-Key", "/v1/payouts")
		refused(t, "another request", response, data, 422, "idempotency_key_reused", "")

		wallet := func(amount string) string {
			return `{"amount":` + amount + `,"destination":{"type":"service_wallet","account_id":"` + s.Consumer.ID + `"}}`
		}
		s.Do("POST", "/v1/disbursements", wallet("979.80")) // leaves ten
		if got := parallel(40, func(int) (*http.Response, []byte) { return s.Do("POST", "/v1/disbursements", wallet("1")) }); ones(got) != 10 || got["402 insufficient_balance"] != 30 {
			t.Errorf("forty over ten: %v", got)
		}
		verified(t, s)
	})
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{PayoutLimits: payout.Limits{Daily: decimal.NewFromInt(10)}})
	otp := verifiedOTP(t, s)
	got := parallel(40, func(i int) (*http.Response, []byte) {
		to := `{"type":"mobile_money","phone_number":"0241234567"}`
		if i%2 == 0 {
			to = `{"type":"service_wallet","account_id":"` + s.Consumer.ID + `"}`
		}
		return s.Do("POST", "/v1/payouts", `{"amount":1,"destination":`+to+`,"otp_code":"`+otp+`"}`)
	})
	if ones(got) != 10 || got["402 daily_limit_exceeded"] != 30 {
		t.Errorf("forty within a limit of ten: %v", got)
	}
}

func TestQRDisbursementRefusals(t *testing.T) {
	s := paymentstest.New(t)
	issue := func(body string) string {
		t.Helper()
		response, data := s.Do("POST", "/v1/test_helpers/consumer_qrs", body)
		wants(t, "issue", response, data, 200, "", "")
		return field(t, data, "qr_payload")
	}
	response, data := s.Do("POST", "/v1/test_helpers/consumer_qrs", `{"account_id":"acc_unknown"}`)
	refused(t, "nobody's code", response, data, 400, "account_not_found", "account_id")
	consumer := func(status string) string {
		t.Helper()
		_, data := s.Do("POST", "/v1/test_helpers/consumers", `{"name":"X","status":"`+status+`"}`)
		return field(t, data, "account_id")
	}
	code := func(rest string) string { return issue(fmt.Sprintf(`{"account_id":%q%s}`, s.Consumer.ID, rest)) }
	use := func(payload, rest string) (*http.Response, []byte) {
		return s.Do("POST", "/v1/disbursements/qr", fmt.Sprintf(`{"qr_payload":%q%s}`, payload, rest))
	}
	expiring := code(`,"type":"dynamic","amount":1,"expires_at":"2999-01-01T00:00:00Z"`)
	once := code(`,"type":"dynamic","amount":1`)
	fixed := code(`,"type":"static","amount":2`)
	for i := range 2 {
		response, data := use(once, "")
		if i == 0 {
			wants(t, "once", response, data, 200, "", "")
		} else {
			refused(t, "twice", response, data, 402, "qr_limit_reached", "")
		}
	}
	response, data = use(fixed, `,"amount":3.5`)
	if wants(t, "the amount given goes first", response, data, 200, "", ""); field(t, data, "amount") != "3.5" {
		t.Errorf("got %s", data)
	}
	if _, data = use(fixed, ""); field(t, data, "amount") != "2" {
		t.Errorf("got %s", data)
	}
	for _, c := range []struct {
		what, payload, rest string
		status              int
		code, param         string
	}{
		{"nothing", "", "", 400, "parameter_missing", "qr_payload"},
		{"no base64", "%%%", "", 400, "invalid_qr", "qr_payload"},
		{"no payload", "aGVsbG8=", "", 400, "invalid_consumer_qr", "qr_payload"},
		{"switched off", code(`,"type":"dynamic","amount":1,"active":false`), "", 402, "qr_inactive", ""},
		{"no amount", code(``), "", 400, "amount_required", "amount"},
		{"too small", code(``), `,"amount":0`, 400, "amount_too_small", "amount"},
		{"too large", code(``), `,"amount":20000.01`, 400, "amount_too_large", "amount"},
		{"too much", code(``), `,"amount":5000`, 402, "insufficient_balance", ""},
		{"dollars", code(``), `,"amount":1,"currency":"USD"`, 400, "currency_not_supported", "currency"},
		{"frozen", issue(fmt.Sprintf(`{"account_id":%q,"amount":1}`, consumer("frozen"))), "", 402, "wallet_not_active", "qr_payload"},
		{"closed", issue(fmt.Sprintf(`{"account_id":%q,"amount":1}`, consumer("closed"))), "", 400, "account_not_found", "qr_payload"},
	} {
		response, data := use(c.payload, c.rest)
		refused(t, c.what, response, data, c.status, c.code, c.param)
	}
	advance(t, s, 90*365*24*time.Hour)
	shortLived := code(`,"type":"dynamic","amount":1,"expires_at":"2120-01-01T00:00:00Z"`)
	advance(t, s, 9*365*24*time.Hour)
	response, data = use(shortLived, "")
	refused(t, "expired", response, data, 402, "qr_expired", "")
	response, data = use(expiring, "")
	wants(t, "not yet", response, data, 200, "", "")
	verified(t, s)
}

// Live mode has no rail here: what needs one is refused before anything is
// reserved, and wallets are paid.
func TestLiveTransferWithoutRailIsRefused(t *testing.T) {
	s := paymentstest.New(t)
	caller := api.Caller{Merchant: s.Caller.Merchant, Live: true}
	live, _ := as(t, s, caller, account.CreateKeyParams{})
	must.Do(t, s.Accounts.Deposit(t.Context(), api.Caller{Live: true}, account.DepositParams{To: s.Caller.Merchant, Amount: decimal.NewFromInt(50), Source: "bank"}))
	for path, body := range map[string]string{
		"/v1/disbursements": `{"amount":5,"destination":{"type":"mobile_money","phone_number":"0241234567"}}`,
		"/v1/payouts":       `{"amount":5,"otp_code":"123456","destination":{"type":"bank_transfer","account_number":"1234567890","bank_code":"300304"}}`,
		"/v1/otp/request":   `{"purpose":"PAYOUT"}`,
	} {
		response, data := live.Do("POST", path, body)
		refused(t, path, response, data, 503, "service_unavailable", "")
	}
	c := must.Get(s.Accounts.CreateConsumer(t.Context(), api.Caller{Live: true}, account.CreateHolderParams{Name: "Live", Phone: "0243334444"}))(t)
	response, data := live.Do("POST", "/v1/disbursements", `{"amount":5,"destination":{"type":"service_wallet","account_id":"`+c.ID+`"}}`)
	wants(t, "a wallet", response, data, 200, "", "")
	if _, data := live.Do("GET", "/v1/balance", nil); field(t, data, "available") != "45" || field(t, data, "reserved") != "0" {
		t.Errorf("balance: %s", data)
	}
	response, data = live.Do("POST", "/v1/test_helpers/disbursements/"+field(t, data, "id")+"/settle", `{"outcome":"failed"}`)
	wants(t, "the helper in live mode", response, data, 403, "permission_denied", "")
}
