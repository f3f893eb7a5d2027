package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/png"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/makiuchi-d/gozxing"
	gozxingqr "github.com/makiuchi-d/gozxing/qrcode"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/race"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// onEachStore runs a test on every store that ships.
func onEachStore(t *testing.T, test func(*testing.T, *paymentstest.Shop)) {
	stores := map[string]func(t *testing.T) storage.Store{
		"memory": func(*testing.T) storage.Store { return memory.New() },
		"sqlite": func(t *testing.T) storage.Store {
			return must.Get(sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "payments.db"), sqlite.Config{}))(t)
		},
		"postgres": func(t *testing.T) storage.Store { return pgtest.Store(t) },
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { test(t, paymentstest.NewWithStore(t, open(t), payments.Config{})) })
	}
}

// wants checks an answer's status, and, for a refusal, its code and parameter.
func wants(t *testing.T, what string, response *http.Response, body []byte, status int, code, param string) {
	t.Helper()
	if response.StatusCode != status || field(t, body, "error.code") != code || field(t, body, "error.param") != param {
		t.Errorf("%s: got %d %s, want %d %s %s", what, response.StatusCode, body, status, code, param)
	}
}

func newCode(t *testing.T, s *paymentstest.Shop, body string) string {
	t.Helper()
	response, data := s.Do("POST", "/v1/qr_codes", body)
	if response.StatusCode != 200 {
		t.Fatalf("create: %s", data)
	}
	return field(t, data, "id")
}

func payBody(consumer, pin string) map[string]any {
	return map[string]any{"account_id": consumer, "pin": pin}
}

func verified(t *testing.T, s *paymentstest.Shop) {
	t.Helper()
	v := must.Get(s.Accounts.Verify(t.Context()))(t)
	if len(v.Problems) > 0 || v.Entries == 0 {
		t.Errorf("ledger: %+v", v)
	}
}

func TestCreateRefusals(t *testing.T) {
	s := paymentstest.New(t)
	long := strings.Repeat("ɛ", 501)
	many := make([]string, 51)
	for i := range many {
		many[i] = fmt.Sprintf("%q:1", fmt.Sprint("k", i))
	}
	for body, want := range map[string][2]string{
		`{"type":"other"}`:               {"parameter_invalid", "type"},
		`{"type":1}`:                     {"parameter_invalid", "type"},
		`{"amount":0}`:                   {"parameter_invalid", "amount"},
		`{"amount":-5}`:                  {"parameter_invalid", "amount"},
		`{"amount":10.5}`:                {"parameter_invalid", "amount"},
		`{"amount":"10"}`:                {"parameter_invalid", "amount"},
		`{"amount":100000000}`:           {"parameter_invalid", "amount"},
		`{"currency":"USD"}`:             {"currency_not_supported", "currency"},
		`{"name":"` + long[:512] + `"}`:  {"parameter_invalid", "name"},
		`{"description":"` + long + `"}`: {"parameter_invalid", "description"},
		`{"reference":"` + strings.Repeat("r", 101) + `"}`: {"parameter_invalid", "reference"},
		`{"name":"a\tb"}`:                                {"parameter_invalid", "name"},
		`{"usage_limit":3}`:                              {"parameter_invalid", "usage_limit"},
		`{"type":"dynamic","usage_limit":0}`:             {"parameter_invalid", "usage_limit"},
		`{"expires_at":"2001-01-01T00:00:00Z"}`:          {"parameter_invalid", "expires_at"},
		`{"expires_at":"soon"}`:                          {"parameter_invalid", "expires_at"},
		`{"metadata":[]}`:                                {"parameter_invalid", "metadata"},
		`{"metadata":{"a":{}}}`:                          {"parameter_invalid", "metadata.a"},
		`{"metadata":{"a":null}}`:                        {"parameter_invalid", "metadata.a"},
		`{"metadata":{` + strings.Join(many, ",") + `}}`: {"parameter_invalid", "metadata"},
		`{"name":"a","name":"b"}`:                        {"invalid_json", ""},
		`{"name":"a"`:                                    {"invalid_json", ""},
		`[]`:                                             {"parameter_invalid", ""},
	} {
		response, data := s.Do("POST", "/v1/qr_codes", body)
		wants(t, fmt.Sprintf("%.60s", body), response, data, 400, want[0], want[1])
	}
	_, list := s.Do("GET", "/v1/qr_codes", nil)
	if got := field(t, list, "data.0.id"); got != "" {
		t.Errorf("a refused create left %s", got)
	}
}

func TestLists(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *paymentstest.Shop) {
		var made []string
		for i := range 12 {
			body := `{"type":"static"}`
			if i%3 == 0 {
				body = `{"type":"dynamic"}`
			}
			made = append([]string{newCode(t, s, body)}, made...)
		}
		ids := func(path string) (ids []string, more string) {
			response, data := s.Do("GET", path, nil)
			if response.StatusCode != 200 {
				t.Fatalf("%s: %s", path, data)
			}
			for i := 0; field(t, data, fmt.Sprintf("data.%d.id", i)) != ""; i++ {
				ids = append(ids, field(t, data, fmt.Sprintf("data.%d.id", i)))
			}
			return ids, field(t, data, "has_more")
		}
		same := func(path string, wanted []string, wantedMore string) {
			t.Helper()
			got, more := ids(path)
			if fmt.Sprint(got) != fmt.Sprint(wanted) || more != wantedMore {
				t.Errorf("%s: got %v, more %s; want %v, %s", path, got, more, wanted, wantedMore)
			}
		}
		same("/v1/qr_codes", made[:10], "true")
		same("/v1/qr_codes?limit=100", made, "false")
		same("/v1/qr_codes?limit=4&starting_after="+made[3], made[4:8], "true")
		same("/v1/qr_codes?limit=4&starting_after="+made[7], made[8:], "false")
		same("/v1/qr_codes?limit=2&ending_before="+made[5], made[3:5], "true")
		same("/v1/qr_codes?limit=5&ending_before="+made[5], made[:5], "false")
		same("/v1/qr_codes?type=dynamic", []string{made[2], made[5], made[8], made[11]}, "false")
		same("/v1/qr_codes?active=false", nil, "false")

		s.Do("DELETE", "/v1/qr_codes/"+made[4], nil)
		for query, param := range map[string]string{
			"limit=0": "limit", "limit=101": "limit", "limit=ten": "limit", "limit=": "limit", "limit=1&limit=2": "limit",
			"type=other": "type", "active=yes": "active",
			"starting_after=" + made[1] + "&ending_before=" + made[2]: "ending_before",
		} {
			response, data := s.Do("GET", "/v1/qr_codes?"+query, nil)
			wants(t, query, response, data, 400, "parameter_invalid", param)
		}
		for _, param := range []string{"starting_after", "ending_before"} {
			for _, id := range []string{made[4], "qr_unknown"} { // a deleted one is refused, too
				response, data := s.Do("GET", "/v1/qr_codes?"+param+"="+id, nil)
				wants(t, param, response, data, 400, "resource_missing", param)
			}
		}
	})
}

// Every picture of a code, at every size, says where to pay.
func TestPicturesDecode(t *testing.T) {
	s := paymentstest.New(t)
	id := newCode(t, s, `{}`)
	want := s.Server.URL + "/pay/" + id
	decode := func(data []byte, size int) {
		t.Helper()
		img, _, err := image.Decode(bytes.NewReader(data))
		must.Do(t, err)
		if b := img.Bounds(); b.Dx() != size || b.Dy() != size {
			t.Errorf("size is %v, want %d", b, size)
		}
		bitmap := must.Get(gozxing.NewBinaryBitmapFromImage(img))(t)
		result, err := gozxingqr.NewQRCodeReader().Decode(bitmap, map[gozxing.DecodeHintType]any{gozxing.DecodeHintType_PURE_BARCODE: true})
		if err != nil {
			t.Errorf("size %d: %v", size, err)
			return
		}
		if result.GetText() != want {
			t.Errorf("size %d: got %q, want %q", size, result.GetText(), want)
		}
	}
	step := 1
	if testing.Short() {
		step = 97
	}
	for size := qrcode.MinSize; size <= 400; size += step {
		_, data := s.Do("GET", fmt.Sprintf("/v1/qr_codes/%s/download?size=%d", id, size), nil)
		decode(data, size)
	}
	for _, size := range []int{512, 777, 1024, 2047, 2048} {
		_, data := s.Do("GET", fmt.Sprintf("/v1/qr_codes/%s/download?size=%d", id, size), nil)
		decode(data, size)
	}
	response, data := s.Do("GET", "/v1/qr_codes/"+id+"/download", nil)
	decode(data, qrcode.DefaultSize)
	if got := response.Header.Get("Content-Type"); got != "image/png" {
		t.Errorf("Content-Type %s", got)
	}
	public := must.Get(http.Get(want + ".png"))(t)
	defer public.Body.Close()
	var b bytes.Buffer
	must.Get(b.ReadFrom(public.Body))(t)
	decode(b.Bytes(), qrcode.DefaultSize)

	response, data = s.Do("GET", "/v1/qr_codes/"+id+"/download?format=svg&size=300", nil)
	if response.Header.Get("Content-Type") != "image/svg+xml" || !bytes.Contains(data, []byte(`width="300"`)) {
		t.Errorf("SVG: %v %.80s", response.Header, data)
	}
	for query, param := range map[string]string{"size=63": "size", "size=2049": "size", "size=big": "size", "format=gif": "format"} {
		response, data := s.Do("GET", "/v1/qr_codes/"+id+"/download?"+query, nil)
		wants(t, query, response, data, 400, "parameter_invalid", param)
	}
}

func TestPaymentRefusals(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *paymentstest.Shop) {
		ama := s.Consumer.ID
		pay := func(code string, body map[string]any) (*http.Response, []byte) {
			return s.Do("POST", "/v1/test_helpers/qr_codes/"+code+"/pay", body)
		}
		open := newCode(t, s, `{}`)
		response, data := pay(open, payBody(ama, "1234"))
		wants(t, "no amount", response, data, 400, "amount_required", "amount")

		off := newCode(t, s, `{"amount":100}`)
		s.Do("POST", "/v1/qr_codes/"+off, `{"active":false}`)
		response, data = pay(off, payBody(ama, "1234"))
		wants(t, "inactive", response, data, 402, "qr_inactive", "")

		once := newCode(t, s, `{"type":"dynamic","amount":100}`)
		if response, data = pay(once, payBody(ama, "1234")); response.StatusCode != 200 {
			t.Fatalf("pay: %s", data)
		}
		_, data = s.Do("GET", "/v1/qr_codes/"+once, nil)
		if field(t, data, "active") != "false" || field(t, data, "usage_count") != "1" {
			t.Errorf("after its last use: %s", data)
		}
		response, data = pay(once, payBody(ama, "1234"))
		wants(t, "used up", response, data, 402, "qr_limit_reached", "")
		s.Do("POST", "/v1/qr_codes/"+once, `{"active":true}`)
		response, data = pay(once, payBody(ama, "1234"))
		wants(t, "used up and active again", response, data, 402, "qr_limit_reached", "")

		for status, want := range map[string][2]string{
			"frozen": {"402", "wallet_not_active"}, "suspended": {"402", "wallet_not_active"}, "closed": {"400", "account_not_found"},
		} {
			_, c := s.Do("POST", "/v1/test_helpers/consumers", `{"name":"B","pin":"1111","balance":5,"status":"`+status+`"}`)
			response, data = pay(off, payBody(field(t, c, "account_id"), "1111"))
			wants(t, status+" and an inactive code", response, data, 402, "qr_inactive", "")
			fixed := newCode(t, s, `{"amount":100}`)
			response, data = pay(fixed, payBody(field(t, c, "account_id"), "1111"))
			if got := fmt.Sprint(response.StatusCode); got != want[0] || field(t, data, "error.code") != want[1] {
				t.Errorf("%s: %s %s", status, got, data)
			}
		}

		rich := newCode(t, s, `{"amount":99999999}`)
		response, data = pay(rich, payBody(ama, "1234"))
		wants(t, "too little", response, data, 402, "insufficient_balance", "")

		soon := newCode(t, s, fmt.Sprintf(`{"amount":100,"expires_at":%q}`, time.Now().Add(time.Hour).Format(time.RFC3339)))
		s.Do("POST", "/v1/test_helpers/clock", `{"advance":3601}`)
		response, data = pay(soon, payBody(ama, "1234"))
		wants(t, "expired", response, data, 402, "qr_expired", "")
		verified(t, s)
	})
}

// Five wrong PINs lock it, for the right one too, until a quarter of an hour has
// passed; a refusal for another reason is no wrong PIN.
func TestPINLocks(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *paymentstest.Shop) {
		code, rich := newCode(t, s, `{"amount":100}`), newCode(t, s, `{"amount":99999999}`)
		try := func(code, pin string, status int, wanted string) {
			t.Helper()
			response, data := s.Do("POST", "/v1/test_helpers/qr_codes/"+code+"/pay", payBody(s.Consumer.ID, pin))
			param := "pin"
			if wanted == "" || wanted == "insufficient_balance" {
				param = ""
			}
			wants(t, "PIN "+pin, response, data, status, wanted, param)
		}
		for range 4 {
			try(code, "0000", 403, "pin_invalid")
		}
		try(code, "1234", 200, "") // which starts the count anew
		for range 6 {
			try(rich, "1234", 402, "insufficient_balance")
		}
		for range 5 {
			try(code, "9999", 403, "pin_invalid")
		}
		try(code, "1234", 403, "pin_locked")
		s.Do("POST", "/v1/test_helpers/clock", `{"advance":840}`) // the clock runs on while requests are made
		try(code, "1234", 403, "pin_locked")
		s.Do("POST", "/v1/test_helpers/clock", `{"advance":60}`)
		try(code, "1234", 200, "")
	})
}

func TestResolveRefusals(t *testing.T) {
	s := paymentstest.New(t)
	issue := func(body string) string {
		t.Helper()
		response, data := s.Do("POST", "/v1/test_helpers/consumer_qrs", fmt.Sprintf(body, s.Consumer.ID))
		if response.StatusCode != 200 {
			t.Fatalf("issue: %s", data)
		}
		return field(t, data, "qr_payload")
	}
	resolve := func(payload string) (*http.Response, []byte) {
		return s.Do("POST", "/v1/qr_codes/resolve", map[string]string{"qr_payload": payload})
	}
	soon := time.Now().Add(time.Hour).Format(time.RFC3339)
	good := issue(`{"account_id":%q}`)
	off := issue(`{"account_id":%q,"type":"dynamic","active":false}`)
	staticOff := issue(`{"account_id":%q,"active":false}`)
	expiring := issue(`{"account_id":%q,"type":"dynamic","expires_at":"` + soon + `"}`)
	_, closed := s.Do("POST", "/v1/test_helpers/consumers", `{"name":"C","status":"closed"}`)
	_, gone := s.Do("POST", "/v1/test_helpers/consumer_qrs", map[string]string{"account_id": field(t, closed, "account_id")})

	for _, replayed := range []string{"", "true"} {
		response, data := s.Do("POST", "/v1/qr_codes/resolve", map[string]string{"qr_payload": good}, "Idempotency-Key", "r")
		if response.StatusCode != 200 || response.Header.Get("Idempotent-Replayed") != replayed {
			t.Errorf("with a key: %v %s", response.Header, data)
		}
	}
	response, data := resolve(off)
	wants(t, "inactive", response, data, 402, "qr_inactive", "")
	response, data = resolve(staticOff)
	if response.StatusCode != 200 || field(t, data, "qr_active") != "false" {
		t.Errorf("a static code that is off: %s", data)
	}
	response, data = resolve(field(t, gone, "qr_payload"))
	wants(t, "closed account", response, data, 400, "account_not_found", "")
	for _, bad := range []string{"", "***", good[:len(good)-1], good + "\n", "not base64!"} {
		response, data = resolve(bad)
		wanted := "invalid_qr"
		if bad == "" {
			wanted = "parameter_missing"
		}
		wants(t, "payload "+bad, response, data, 400, wanted, "qr_payload")
	}
	live := *s
	key := must.Get(s.Accounts.CreateKey(t.Context(), api.Caller{Merchant: s.Caller.Merchant, Live: true}, account.CreateKeyParams{}))(t)
	live.Key = key.Secret
	response, data = live.Do("POST", "/v1/qr_codes/resolve", map[string]string{"qr_payload": good})
	wants(t, "the other mode", response, data, 400, "invalid_consumer_qr", "qr_payload")

	s.Do("POST", "/v1/test_helpers/clock", `{"advance":3601}`)
	response, data = resolve(expiring)
	wants(t, "expired", response, data, 402, "qr_expired", "")
}

func TestIdempotency(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *paymentstest.Shop) {
		code := newCode(t, s, `{"amount":100}`)
		path := "/v1/test_helpers/qr_codes/" + code + "/pay"
		response, data := s.Do("POST", path, payBody(s.Consumer.ID, "0000"), "Idempotency-Key", "k")
		wants(t, "refused", response, data, 403, "pin_invalid", "pin")

		first, body := s.Do("POST", path, payBody(s.Consumer.ID, "1234"), "Idempotency-Key", "k")
		if first.StatusCode != 200 || first.Header.Get("Idempotent-Replayed") != "" {
			t.Fatalf("first: %s", body)
		}
		// A repetition needs no PIN that is right, and no code that is active.
		s.Do("POST", "/v1/qr_codes/"+code, `{"active":false}`)
		again, replay := s.Do("POST", path, payBody(s.Consumer.ID, "9999"), "X-Idempotency-Key", "k")
		if again.StatusCode != 200 || again.Header.Get("Idempotent-Replayed") != "true" || !bytes.Equal(body, replay) {
			t.Errorf("replay: %v %s, want %s", again.Header, replay, body)
		}
		response, data = s.Do("POST", "/v1/qr_codes", `{"name":"another"}`, "Idempotency-Key", "k")
		wants(t, "another request", response, data, 422, "idempotency_key_reused", "")

		_, list := s.Do("GET", "/v1/payments", nil)
		if field(t, list, "data.1.id") != "" {
			t.Errorf("more than one payment: %s", list)
		}
		for _, key := range []string{strings.Repeat("k", 256), "ключ"} {
			response, data = s.Do("POST", "/v1/qr_codes", `{}`, "Idempotency-Key", key)
			wants(t, "key "+key[:4], response, data, 400, "idempotency_key_invalid", "")
		}
		verified(t, s)
	})
}

// crowd is how many make a request at once. Hashing PINs takes very long under the race
// detector, and a request may take half a minute.
func crowd() int {
	if race.Detector {
		return 12
	}
	return 50
}

// Fifty pay a code that may be paid five times: by one consumer and by many.
func TestUsageLimitHolds(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *paymentstest.Shop) {
		payers, limit := crowd(), 5
		for _, many := range []bool{false, true} {
			code := newCode(t, s, fmt.Sprintf(`{"type":"dynamic","amount":100,"usage_limit":%d}`, limit))
			consumers := make([]string, payers)
			for i := range consumers {
				consumers[i] = s.Consumer.ID
				if many && i > 0 {
					consumers[i] = s.NewConsumer("Kofi", fmt.Sprintf("020%07d", i), 10).ID
				}
			}
			before := must.Get(s.Accounts.Balance(t.Context(), s.Caller))(t)
			codes := make([]string, payers)
			var all sync.WaitGroup
			for i, consumer := range consumers {
				all.Go(func() {
					response, data := s.Do("POST", "/v1/test_helpers/qr_codes/"+code+"/pay", payBody(consumer, "1234"))
					codes[i] = fmt.Sprint(response.StatusCode, field(t, data, "error.code"))
				})
			}
			all.Wait()
			count := map[string]int{}
			for _, c := range codes {
				count[c]++
			}
			if count["200"] != limit || count["402qr_limit_reached"] != payers-limit {
				t.Errorf("outcomes %v", count)
			}
			_, data := s.Do("GET", "/v1/qr_codes/"+code, nil)
			if field(t, data, "usage_count") != fmt.Sprint(limit) || field(t, data, "active") != "false" {
				t.Errorf("code: %s", data)
			}
			after := must.Get(s.Accounts.Balance(t.Context(), s.Caller))(t)
			if got := after.Available.Sub(before.Available.Decimal).String(); got != fmt.Sprint(limit) {
				t.Errorf("the merchant got GHS %s, want %d", got, limit)
			}
		}
		verified(t, s)
	})
}

// Fifty requests with one key make one payment, and all get the same answer.
func TestOneKeyOnePayment(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *paymentstest.Shop) {
		code := newCode(t, s, `{"amount":100}`)
		answers := make([]string, crowd())
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				response, data := s.Do("POST", "/v1/test_helpers/qr_codes/"+code+"/pay", payBody(s.Consumer.ID, "1234"), "Idempotency-Key", "one")
				answers[i] = fmt.Sprint(response.StatusCode, string(data))
			})
		}
		all.Wait()
		for _, a := range answers {
			if a != answers[0] || !strings.HasPrefix(a, "200") {
				t.Errorf("got %s and %s", answers[0], a)
			}
		}
		_, list := s.Do("GET", "/v1/payments", nil)
		if field(t, list, "data.0.id") == "" || field(t, list, "data.1.id") != "" {
			t.Errorf("payments: %s", list)
		}
	})
}
