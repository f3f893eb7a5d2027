package httpapi_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// This file is the list of attacks: each row says what is sent and what comes
// back. It is read as documentation, and run against a server as NewServer makes
// it, over bare connections, since clients mend what they send.

// attack is a row. In what is sent, KEY stands for a test key that may do all,
// CODE for the id of a QR code, and LIVE for a live key.
type attack struct {
	name string
	// line is the request line without the protocol, head the headers beside Host
	// and Authorization, one a line; a head that begins with "!" is all headers.
	line, head, body string
	// want is how the answer begins: its status and, of a refusal, its code and
	// the parameter that is wrong.
	want string
}

// sendJSON is a body for a route that reads most types of fields.
func sendJSON(name, body, want string) attack {
	return attack{name, "POST /v1/qr_codes", "Content-Type: application/json", body, want}
}

func sendGHS(name, amount, want string) attack {
	return attack{
		name, "POST /v1/disbursements", "Content-Type: application/json",
		`{"amount":` + amount + `,"destination":{"type":"mobile_money","phone_number":"0241234567"}}`, want,
	}
}

// sendPayment is a body for the route that asks a phone to pay.
func sendPayment(name, body, want string) attack {
	return attack{name, "POST /v1/payments", "Content-Type: application/json", body, want}
}

var attacks = []attack{
	// Authentication. What is not one good key in one header is refused, and all that
	// is refused is answered alike.
	{"no key", "GET /v1/balance", "!Host: x", "", "401 api_key_missing"},
	{"an empty key", "GET /v1/balance", "!Host: x\nAuthorization: Bearer", "", "401 api_key_invalid"},
	{"another scheme", "GET /v1/balance", "!Host: x\nAuthorization: Basic KEY", "", "401 api_key_invalid"},
	{"no scheme", "GET /v1/balance", "!Host: x\nAuthorization: KEY", "", "401 api_key_invalid"},
	{"a tab for a space", "GET /v1/balance", "!Host: x\nAuthorization: Bearer\tKEY", "", "401 api_key_invalid"},
	{"two keys in one header", "GET /v1/balance", "!Host: x\nAuthorization: Bearer KEY KEY", "", "401 api_key_invalid"},
	{"two keys with a comma", "GET /v1/balance", "!Host: x\nAuthorization: Bearer KEY, Bearer KEY", "", "401 api_key_invalid"},
	{"the header twice", "GET /v1/balance", "!Host: x\nAuthorization: Bearer KEY\nAuthorization: Bearer KEY", "", "401 api_key_invalid"},
	{"a good and a bad header", "GET /v1/balance", "!Host: x\nAuthorization: Bearer sk_test_0\nAuthorization: Bearer KEY", "", "401 api_key_invalid"},
	{"the scheme in capitals, which is the same", "GET /v1/balance", "!Host: x\nAuthorization: BEARER KEY", "", "200"},
	{"a key in the query", "GET /v1/balance?api_key=KEY", "!Host: x", "", "401 api_key_missing"},
	{"a key in a cookie", "GET /v1/balance", "!Host: x\nCookie: api_key=KEY", "", "401 api_key_missing"},
	{"a key in another header", "GET /v1/balance", "!Host: x\nX-Api-Key: KEY", "", "401 api_key_missing"},
	{"a key in the address", "GET http://KEY@x/v1/balance", "!Host: x", "", "401 api_key_missing"},
	{"a key with a letter more", "GET /v1/balance", "!Host: x\nAuthorization: Bearer KEY0", "", "401 api_key_invalid"},
	{"a live key made of a test key", "GET /v1/balance", "!Host: x\nAuthorization: Bearer sk_live_" + strings.Repeat("a", 43), "", "401 api_key_invalid"},
	{"a key of 8 KiB", "GET /v1/balance", "!Host: x\nAuthorization: Bearer " + strings.Repeat("a", 8<<10), "", "401 api_key_invalid"},
	{"a key that is not ASCII", "GET /v1/balance", "!Host: x\nAuthorization: Bearer sk_test_é", "", "401 api_key_invalid"},
	{"a key with SQL in it", "GET /v1/balance", "!Host: x\nAuthorization: Bearer sk_test_'OR'1'='1", "", "401 api_key_invalid"},
	{"no key and no such path: the same as with one", "GET /v1/nothing", "!Host: x", "", "401 api_key_missing"},
	{"a live key on a test helper", "POST /v1/test_helpers/balance", "!Host: x\nAuthorization: Bearer LIVE\nContent-Type: application/json", `{"amount":5}`, "403 permission_denied"},
	{"a live key on a test object", "GET /v1/qr_codes/CODE", "!Host: x\nAuthorization: Bearer LIVE", "", "404 resource_missing"},

	// JSON that two parsers read in two ways is read in none.
	sendJSON("a name twice", `{"amount":1,"amount":100}`, "400 invalid_json"),
	sendJSON("a name twice, once escaped", `{"amount":1,"\u0061mount":100}`, "400 invalid_json"),
	sendJSON("a name twice, deep inside", `{"metadata":{"a":1,"a":2}}`, "400 invalid_json"),
	sendJSON("a name in capitals is another name", `{"AMOUNT":"x","Type":"x"}`, "200"),
	sendJSON("nested 17 deep", strings.Repeat(`{"a":`, 17)+"1"+strings.Repeat("}", 17), "400 invalid_json"),
	sendJSON("nested 100,000 deep", strings.Repeat("[", 100_000), "400 invalid_json"),
	sendJSON("NUL", `{"name":"a`+"\x00"+`b"}`, "400 invalid_json"),
	sendJSON("NUL, escaped", `{"name":"a\u0000b"}`, "400 invalid_json"),
	sendJSON("the first half of a surrogate pair", `{"name":"\ud83d"}`, "400 invalid_json"),
	sendJSON("the second half", `{"name":"\ude00"}`, "400 invalid_json"),
	sendJSON("halves in the wrong order", `{"name":"\ude00\ud83d"}`, "400 invalid_json"),
	sendJSON("bytes that are no UTF-8", `{"name":"`+"\xff"+`"}`, "400 invalid_json"),
	sendJSON("UTF-8 that is too long", `{"name":"`+"\xc0\xaf"+`"}`, "400 invalid_json"),
	sendJSON("a byte order mark", "\xef\xbb\xbf{}", "400 invalid_json"),
	sendJSON("UTF-16", "\xff\xfe{\x00}\x00", "400 invalid_json"),
	sendJSON("something after the end", `{}{}`, "400 invalid_json"),
	sendJSON("a comma too many", `{"name":"a",}`, "400 invalid_json"),
	sendJSON("a comment", `{/**/}`, "400 invalid_json"),
	sendJSON("NaN", `{"amount":NaN}`, "400 invalid_json"),
	sendJSON("an array for the body", `[]`, "400 parameter_invalid"),
	sendJSON("null for the body", `null`, "400 parameter_invalid"),
	sendJSON("a prototype", `{"__proto__":{"amount":1},"constructor":1}`, "200"),
	sendJSON("an amount beyond 64 bits", `{"amount":99999999999999999999}`, "400 parameter_invalid amount"),
	sendJSON("an amount of 200,000 digits", `{"amount":`+strings.Repeat("9", 200_000)+`}`, "400 parameter_invalid amount"),
	sendJSON("a huge exponent", `{"amount":1e999999999}`, "400 parameter_invalid amount"),
	sendJSON("a limit beyond 64 bits", `{"type":"dynamic","usage_limit":9223372036854775808}`, "400 parameter_invalid usage_limit"),
	sendJSON("20,000 names", "{"+strings.TrimSuffix(manyNames(20_000), ",")+"}", "200"),
	sendJSON("metadata of objects", `{"metadata":{"a":{"b":1}}}`, "400 parameter_invalid metadata.a"),
	sendJSON("a control character in a name", `{"name":"a\u001b[2J"}`, "400 parameter_invalid name"),
	sendGHS("an amount as text", `"150"`, "400 parameter_invalid amount"),
	sendGHS("an amount that is not exact", `1e-3`, "400 parameter_invalid amount"),
	sendGHS("a thousandth", `1.001`, "400 parameter_invalid amount"),
	sendGHS("minus zero", `-0`, "400 parameter_invalid amount"),
	sendGHS("less than nothing", `-5`, "400 amount_too_small amount"),
	sendGHS("nothing", `0`, "400 amount_too_small amount"),
	sendGHS("an amount in an array", `[1]`, "400 parameter_invalid amount"),
	sendGHS("true", `true`, "400 parameter_invalid amount"),
	sendGHS("too much", `99999999999`, "400 amount_too_large amount"),
	sendGHS("far too much", `1`+strings.Repeat("0", 5000), "400 amount_too_large amount"),

	// Headers.
	{"a body that calls itself text", "POST /v1/qr_codes", "Content-Type: text/plain", `{}`, "415 unsupported_media_type"},
	{"a form, which any web page can send", "POST /v1/qr_codes", "Content-Type: application/x-www-form-urlencoded", `amount=1`, "415 unsupported_media_type"},
	{"no type", "POST /v1/qr_codes", "", `{}`, "415 unsupported_media_type"},
	{"two types", "POST /v1/qr_codes", "Content-Type: application/json\nContent-Type: text/plain", `{}`, "415 unsupported_media_type"},
	{"another charset", "POST /v1/qr_codes", "Content-Type: application/json; charset=utf-7", `{}`, "415 unsupported_media_type"},
	{"a packed body", "POST /v1/qr_codes", "Content-Type: application/json\nContent-Encoding: gzip", `{}`, "415 unsupported_media_type"},
	{"another method by header", "GET /v1/qr_codes/CODE", "X-HTTP-Method-Override: DELETE\nX-Method-Override: DELETE", "", "200"},
	{"another method by query", "GET /v1/qr_codes/CODE?_method=DELETE", "", "", "200"},
	{"an idempotency key that is empty", "POST /v1/qr_codes", "Idempotency-Key:", "", "400 idempotency_key_invalid"},
	{"an idempotency key of 256", "POST /v1/qr_codes", "Idempotency-Key: " + strings.Repeat("k", 256), "", "400 idempotency_key_invalid"},
	{"two idempotency keys", "POST /v1/qr_codes", "Idempotency-Key: a\nIdempotency-Key: b", "", "400 idempotency_key_invalid"},
	{"two idempotency keys under two names", "POST /v1/qr_codes", "Idempotency-Key: a\nX-Idempotency-Key: b", "", "400 idempotency_key_invalid"},
	{"an idempotency key that is not ASCII", "POST /v1/qr_codes", "Idempotency-Key: ключ", "", "400 idempotency_key_invalid"},
	{"a header on two lines, which is an old way to write one", "GET /v1/balance", "X-A: a\n b", "", "200"},
	{"a header with NUL", "GET /v1/balance", "X-A: a\x00b", "", "400"},
	{"a space before the colon", "GET /v1/balance", "X-A : a", "", "400"},
	{"two lengths", "POST /v1/qr_codes", "Content-Length: 3", "{}", "400"},
	{"a negative length", "GET /v1/balance", "Content-Length: -1", "", "400"},
	{"an unknown transfer encoding", "POST /v1/qr_codes", "Transfer-Encoding: xchunked", "", "501"},
	{"headers of 64 KiB", "GET /v1/balance", "X-A: " + strings.Repeat("a", 64<<10), "", "431"},

	// Paths. There is one way to write each.
	{"two slashes", "GET //v1/balance", "", "", "404 not_found"},
	{"two slashes inside", "GET /v1//balance", "", "", "404 not_found"},
	{"a dot", "GET /v1/./balance", "", "", "404 not_found"},
	{"up and down", "GET /v1/qr_codes/../balance", "", "", "404 not_found"},
	{"up and down, encoded", "GET /v1/qr_codes/%2e%2e/balance", "", "", "404 not_found"},
	{"out of the public part", "GET /pay/../v1/balance", "!Host: x", "", "404 not_found"},
	{"a slash at the end", "GET /v1/balance/", "", "", "404 not_found"},
	{"an encoded slash", "GET /v1%2fbalance", "!Host: x", "", "401 api_key_missing"},
	{"a letter escaped", "GET /v1/%62alance", "", "", "404 not_found"},
	{"a letter of an id escaped", "GET /v1/qr_codes/%71CODE", "", "", "404 not_found"},
	{"an underscore escaped", "GET /v1/qr%5Fcodes", "", "", "404 not_found"},
	{"a letter escaped, without a key", "GET /%761/balance", "!Host: x", "", "401 api_key_missing"},
	{"a letter of a page escaped", "GET /p%61y/CODE", "!Host: x", "", "404 not_found"},
	{"capitals", "GET /V1/balance", "!Host: x", "", "404 not_found"},
	{"a parameter in the path", "GET /v1/balance;a=b", "", "", "404 not_found"},
	{"NUL in an id", "GET /v1/qr_codes/CODE%00", "", "", "404 resource_missing"},
	{"a space in an id", "GET /v1/qr_codes/CODE%20", "", "", "404 resource_missing"},
	{"a slash in an id", "GET /v1/qr_codes/a%2fb", "", "", "404 resource_missing"},
	{"a file for an id", "GET /v1/qr_codes/..%2f..%2fetc%2fpasswd", "", "", "404 resource_missing"},
	{"SQL for an id", "GET /v1/qr_codes/'%20OR%201=1--", "", "", "404 resource_missing"},
	{"no UTF-8 for an id", "GET /v1/qr_codes/%ff%fe", "", "", "404 resource_missing"},
	{"an id of 8 KiB", "GET /v1/qr_codes/" + strings.Repeat("a", 8<<10), "", "", "404 resource_missing"},
	{"an unknown method", "BREW /v1/balance", "", "", "405 method_not_allowed"},
	{"TRACE, which would show headers to scripts", "TRACE /v1/balance", "", "", "405 method_not_allowed"},
	{"a write by GET", "GET /v1/otp/request", "", "", "405 method_not_allowed"},
	{"a proxy's request", "GET http://169.254.169.254/latest/meta-data", "!Host: 169.254.169.254", "", "404 not_found"},
	{"a query that is none", "GET /v1/qr_codes?limit=%zz", "", "", "400 parameter_invalid"},
	{"a parameter twice", "GET /v1/qr_codes?limit=1&limit=100", "", "", "400 parameter_invalid limit"},
	{"a page of a million", "GET /v1/qr_codes?limit=1000000", "", "", "400 parameter_invalid limit"},
	{"a made-up cursor", "GET /v1/qr_codes?starting_after=qr_0000000000000000000000", "", "", "400 resource_missing starting_after"},
	{"a cursor with SQL", "GET /v1/qr_codes?starting_after=%27%20OR%201=1--", "", "", "400 resource_missing starting_after"},
	{"a cursor of another list", "GET /v1/payments?starting_after=CODE", "", "", "400 resource_missing starting_after"},
	{"a cursor that was changed", "GET /v1/qr_codes?ending_before=CODE0", "", "", "400 resource_missing ending_before"},
	{"an unknown filter value", "GET /v1/payouts?status=paid", "", "", "400 parameter_invalid status"},

	// Sizes.
	{"a body of 300 KiB", "POST /v1/qr_codes", "Content-Type: application/json", `{"name":"` + strings.Repeat("a", 300<<10) + `"}`, "413 body_too_large"},
	{"a body that says it is 1 TiB", "POST /v1/qr_codes", "!Host: x\nAuthorization: Bearer KEY\nContent-Type: application/json\nContent-Length: 1099511627776", "", "413 body_too_large"},
	{"a form of 1 MiB", "POST /pay/CODE", "Content-Type: application/x-www-form-urlencoded", "pin=" + strings.Repeat("1", 1<<20), "413"},

	// Payments from phones.
	sendPayment("a payment of half a pesewa", `{"amount":0.5,"phone_number":"0241234567"}`, "400 parameter_invalid amount"),
	sendPayment("a payment of minus nothing", `{"amount":-0,"phone_number":"0241234567"}`, "400 parameter_invalid amount"),
	sendPayment("a payment above the largest amount", `{"amount":100000000,"phone_number":"0241234567"}`, "400 parameter_invalid amount"),
	sendPayment("a payment of 2^64+1", `{"amount":18446744073709551617,"phone_number":"0241234567"}`, "400 parameter_invalid amount"),
	sendPayment("a payment of a part of a pesewa", `{"amount":1e-1,"phone_number":"0241234567"}`, "400 parameter_invalid amount"),
	sendPayment("a payment from SQL", `{"amount":1,"phone_number":"' OR '1'='1"}`, "400 invalid_phone_number phone_number"),
	sendPayment("a payment from a phone abroad", `{"amount":1,"phone_number":"+442071234567"}`, "400 invalid_phone_number phone_number"),
	sendPayment("a payment from a list of phones", `{"amount":1,"phone_number":["0241234567"]}`, "400 parameter_invalid phone_number"),
	sendPayment("a payment that says it is completed, of nobody", `{"amount":1,"status":"completed","customer":"cus_0","phone_number":"0241234567"}`, "400 resource_missing customer"),
	{"a code for a payment that is none", "POST /v1/payments/CODE/confirm", "Content-Type: application/json", `{"code":"123456"}`, "404 resource_missing"},
	{"a code of 101 characters", "POST /v1/payments/CODE/confirm", "Content-Type: application/json", `{"code":"` + strings.Repeat("1", 101) + `"}`, "400 parameter_invalid code"},
	{"a payment settled with a live key", "POST /v1/test_helpers/payments/CODE/settle", "!Host: x\nAuthorization: Bearer LIVE\nContent-Type: application/json", `{"outcome":"succeeded"}`, "403 permission_denied"},

	// Secrets that are not there.
	{"a page of an id that is none", "GET /pay/qr_0", "!Host: x", "", "404"},
	{"an invoice without its secret", "GET /invoice/" + strings.Repeat("a", 32), "!Host: x", "", "404"},
	{"a subscription without its secret", "GET /subscription/" + strings.Repeat("a", 32), "!Host: x", "", "404"},
	{"a subscription cancelled without its secret", "POST /subscription/" + strings.Repeat("a", 32) + "/cancel", "!Host: x\nContent-Type: application/x-www-form-urlencoded", "", "404"},
	{"a document without its secret", "GET /invoice/" + strings.Repeat("a", 32) + "/pdf", "!Host: x", "", "404"},
	{"a receipt of nobody", "GET /pay/CODE/receipt/pay_0", "!Host: x", "", "404"},
	{"a payment without a PIN", "POST /pay/CODE", "!Host: x\nContent-Type: application/x-www-form-urlencoded", "wallet=0241000001", "400"},
	{"a payment with a wrong PIN", "POST /pay/CODE", "!Host: x\nContent-Type: application/x-www-form-urlencoded", "wallet=0241000001&pin=0000", "403"},
	{"a payment of a PIN that is SQL", "POST /pay/CODE", "!Host: x\nContent-Type: application/x-www-form-urlencoded", "wallet=0241000001&pin=' OR '1'='1", "403"},
	{"a payment from nobody's wallet", "POST /pay/CODE", "!Host: x\nContent-Type: application/x-www-form-urlencoded", "wallet=0249999999&pin=1234", "403"},
}

func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"n%d":1,`, i)
	}
	return b.String()
}

// victim is a shop behind a server with all its limits.
type victim struct {
	*paymentstest.Shop
	address, code, live string
}

func newVictim(t *testing.T, limits func(*http.Server)) *victim {
	t.Helper()
	s := paymentstest.New(t)
	v := &victim{Shop: s}
	v.code = newCode(t, s, `{"amount":100}`)
	live := must.Get(s.Accounts.CreateKey(t.Context(), api.Caller{Merchant: s.Caller.Merchant, Live: true}, account.CreateKeyParams{}))(t)
	v.live = live.Secret
	handler := httpapi.New(s.Service, httpapi.Config{TestHelpers: true, Timeout: time.Minute, Logger: slog.New(slog.DiscardHandler)})
	server := httptest.NewUnstartedServer(handler)
	server.Config = httpapi.NewServer("", handler)
	server.Config.ErrorLog = nil
	if limits != nil {
		limits(server.Config)
	}
	server.Start()
	t.Cleanup(server.Close)
	v.address = server.Listener.Addr().String()
	return v
}

// send writes bytes to a connection of its own and reads one answer; nil when
// the server hung up without one.
func (v *victim) send(t *testing.T, text string) (*http.Response, []byte) {
	t.Helper()
	c, err := net.Dial("tcp", v.address)
	must.Do(t, err)
	defer c.Close()
	must.Do(t, c.SetDeadline(time.Now().Add(time.Minute)))
	go func() { _, _ = io.WriteString(c, text) }() // the server may hang up before the end
	method, _, _ := strings.Cut(text, " ")
	response, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		return nil, nil
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response, body
}

// request writes a row out.
func (v *victim) request(a attack) string {
	head, all := strings.CutPrefix(a.head, "!")
	if !all {
		head = strings.TrimSpace("Host: x\nAuthorization: Bearer KEY\n" + head)
	}
	if a.body != "" {
		head += "\nContent-Length: " + strconv.Itoa(len(a.body))
	}
	text := a.line + " HTTP/1.1\n" + head + "\nConnection: close\n\n"
	text = strings.NewReplacer("KEY", v.Key, "CODE", v.code, "LIVE", v.live).Replace(text)
	return strings.ReplaceAll(text, "\n", "\r\n") + a.body
}

func TestAttacks(t *testing.T) {
	expect.True(t, len(attacks) > 130, "docs/proof.md promises more than 130 single requests: there are %d", len(attacks))
	v := newVictim(t, nil)
	before, _ := v.Accounts.Balance(t.Context(), v.Caller)
	names := map[string]bool{}
	for _, a := range attacks {
		expect.True(t, !names[a.name], "two rows are called %q", a.name)
		names[a.name] = true
		response, body := v.send(t, v.request(a))
		if response == nil {
			t.Errorf("%s: no answer", a.name)
			continue
		}
		got := strconv.Itoa(response.StatusCode)
		if strings.Contains(response.Header.Get("Content-Type"), "json") && response.StatusCode >= 400 && len(body) > 0 {
			got = strings.TrimSpace(got + " " + field(t, body, "error.code") + " " + field(t, body, "error.param"))
		}
		expect.Equal(t, got, a.want, "%s: got %s, want %s\n%.300s", a.name, got, a.want, body)
		expect.True(t, response.StatusCode < 500 || response.StatusCode == 501, "%s: it shows the inside: %.300s", a.name, body)
		expect.True(t, !bytes.Contains(body, []byte("goroutine")), "%s: it shows the inside: %.300s", a.name, body)
		expect.True(t, !bytes.Contains(body, []byte(".go:")), "%s: it shows the inside: %.300s", a.name, body)
		expect.True(t, !bytes.Contains(body, []byte(v.Key)), "%s: the key is in the answer", a.name)
	}
	after, err := v.Accounts.Balance(t.Context(), v.Caller)
	must.Do(t, err)
	expect.True(t, before.Available.Equal(after.Available.Decimal), "the balance was %s and is %s, %v", before.Available, after.Available, err)
	verified(t, v.Shop)
}
