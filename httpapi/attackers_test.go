package httpapi_test

import (
	"encoding/csv"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
)

// These are the attacks that take more than one request; see attacks_test.go.

// A request that is hidden in the body of another is a request of its own, without
// the other's key.
func TestSmuggledRequests(t *testing.T) {
	v := newVictim(t, nil)
	hidden := "GET /v1/balance HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	for name, text := range map[string]string{
		"two kinds of length": "POST /v1/qr_codes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + v.Key +
			"\r\nContent-Type: application/json\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"a body for a GET": fmt.Sprintf("GET /v1/qr_codes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", v.Key, len(hidden), hidden),
	} {
		c := must.Get(net.Dial("tcp", v.address))(t)
		must.Get(io.WriteString(c, text))(t)
		if half, ok := c.(*net.TCPConn); ok {
			_ = half.CloseWrite()
		}
		answers, _ := io.ReadAll(c)
		c.Close()
		expect.True(t, !strings.Contains(string(answers), `"object":"balance"`), "%s: the hidden request was answered with the key of the other: %s", name, answers)
		if n := strings.Count(string(answers), "HTTP/1.1 200"); n > 1 {
			t.Errorf("%s: %d requests succeeded", name, n)
		}
	}
}

// Who sends headers or a body slowly, or stops in between, is hung up on, and
// all others are served meanwhile.
func TestSlowClients(t *testing.T) {
	const limit = 200 * time.Millisecond
	v := newVictim(t, func(s *http.Server) { s.ReadHeaderTimeout, s.ReadTimeout = limit, 2*limit })
	var all sync.WaitGroup
	for name, begin := range map[string]string{
		"headers that do not end": "GET /v1/balance HTTP/1.1\r\nHost: x\r\nX-A: ",
		"a body that does not come": "POST /v1/qr_codes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + v.Key +
			"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
		"a form that does not come": "POST /pay/" + v.code + " HTTP/1.1\r\nHost: x\r\n" +
			"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nwallet=",
		"chunks that do not end": "POST /v1/qr_codes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + v.Key +
			"\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
	} {
		for range 20 {
			all.Go(func() {
				c, err := net.Dial("tcp", v.address)
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				_, _ = io.WriteString(c, begin)
				_ = c.SetReadDeadline(time.Now().Add(time.Minute))
				answer, err := io.ReadAll(c)
				if ne, ok := err.(net.Error); ok && ne.Timeout() {
					t.Errorf("%s: the connection is held", name)
				}
				expect.True(t, !strings.Contains(string(answer), "HTTP/1.1 200"), "%s: %s", name, answer)
			})
		}
	}
	for range 20 {
		if response, _ := v.send(t, v.request(attack{line: "GET /v1/balance"})); response == nil || response.StatusCode != 200 {
			t.Error("no other client is served")
		}
	}
	all.Wait()
}

// The name under which a server is called is in none of its answers: addresses
// are made of Config.BaseURL.
func TestHostSpoofing(t *testing.T) {
	v := newVictim(t, nil)
	_, hosted := newInvoice(t, v.Shop, `{"auto_finalize":true,`+oneLine+`}`)
	page := strings.TrimPrefix(hosted, v.Server.URL)
	for _, line := range []string{"POST /v1/qr_codes", "GET /v1/qr_codes/" + v.code, "GET /pay/" + v.code, "GET /v1/invoices", "POST /v1/invoices", "GET " + page, "GET /v1/nothing", "POST /pay/" + v.code} {
		for _, host := range []string{"evil.example", "evil.example:80", "x\"><script>", "evil.example/../"} {
			response, body := v.send(t, v.request(attack{line: line, head: "!Host: " + host + "\nAuthorization: Bearer KEY\nX-Forwarded-Host: evil.example\nForwarded: host=evil.example\nX-Original-URL: /v1/balance\nReferer: https://evil.example"}))
			if response == nil {
				t.Errorf("%s as %s: no answer", line, host)
				continue
			}
			if text := fmt.Sprint(response.Header) + string(body); strings.Contains(text, "evil.example") || strings.Contains(text, "<script") {
				t.Errorf("%s as %s: %s", line, host, text)
			}
		}
	}
}

// What people write into any text comes out as that text: in JSON as it was, in
// pages and e-mails as letters and never as markup, in tables as no formula.
func TestInjection(t *testing.T) {
	markup := regexp.MustCompile(`<(script|img src=x|svg onload|iframe|!--)|href="javascript`)
	for _, evil := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'><svg onload=alert(1)>`, `</title><script>1</script>`,
		`</style><script>1</script>`, `javascript:alert(1)`, `{{.Offer}}{{printf "%s" .}}`, `${7*7}`, `<!--#exec cmd="ls"-->`,
		`'; DROP TABLE qr_codes; --`, `=cmd|' /C calc'!A0`, `+1+1`, `@SUM(1)`, `-2+3`, `＝1+1`, `＠SUM(1)`, "\u202egnp.exe", `%s%n%x`, `\u003cscript\u003e`, `&lt;b&gt;`,
	} {
		s := paymentstest.New(t)
		must.Get(s.Accounts.UpdateMerchant(t.Context(), api.Caller{}, s.Caller.Merchant, account.UpdateMerchantParams{Name: new(evil), Phone: new("0301000000"), Address: new(evil)}))(t)
		page := func(address string) string {
			t.Helper()
			nobody := *s
			nobody.Key = ""
			response, body := nobody.Do("GET", strings.TrimPrefix(address, s.Server.URL), nil)
			expect.Equal(t, response.StatusCode, 200, "%s: status", address)
			expect.True(t, strings.Contains(response.Header.Get("Content-Security-Policy"), "default-src 'none'"), "%s: %d, %q", address, response.StatusCode, response.Header)
			return string(body)
		}
		whole := func(what, text string) {
			t.Helper()
			if found := markup.FindString(text); found != "" || strings.ContainsAny(evil, "<\"") && strings.Contains(text, evil) {
				t.Errorf("%s holds %q of %q", what, found, evil)
			}
			expect.True(t, !strings.Contains(text, "49") || evil != `${7*7}` || strings.Contains(text, "7*7"), "%s: %q was computed", what, evil)
		}
		j := func(v string) string { return fmt.Sprintf("%q", v) }
		if strings.ContainsRune(evil, '\u202e') {
			j = func(v string) string { return `"` + v + `"` }
		}
		response, data := s.Do("POST", "/v1/qr_codes", `{"amount":100,"name":`+j(evil)+`,"description":`+j(evil)+`,"reference":`+j(evil)+`,"metadata":{`+j(evil)+`:`+j(evil)+`}}`)
		if response.StatusCode != 200 {
			// Refused is as good.
			expect.Equal(t, field(t, data, "error.code"), "parameter_invalid", "%q: %s", evil, data)
		} else {
			for _, name := range []string{"name", "description", "reference"} {
				expect.Equal(t, field(t, data, name), evil, "%s: %q came back as", name, evil)
			}
			code := field(t, data, "id")
			whole("the payment page", page("/pay/"+code))
			whole("the receipt", page("/pay/"+code+"/receipt/"+s.Pay(code, 0).ID))
			nobody := *s
			nobody.Key = ""
			form := url.Values{"wallet": {evil}, "pin": {evil}, "amount": {evil}, "token": {evil}}
			_, body := nobody.Do("POST", "/pay/"+code, form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
			whole("the refusal of a payment", string(body))
		}
		for _, path := range []string{"/pay/" + url.PathEscape(evil), "/invoice/" + url.PathEscape(evil), "/v1/" + url.PathEscape(evil), "/v1/qr_codes/" + url.PathEscape(evil), "/v1/events?type=" + url.QueryEscape(evil)} {
			response, body := s.Do("GET", path, nil)
			if strings.Contains(response.Header.Get("Content-Type"), "html") {
				whole(path, string(body))
			} else if response.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s may be taken for a page", path)
			}
		}
		texts := `"customer_name":` + j(evil) + `,"customer_address":` + j(evil) + `,"description":` + j(evil) + `,"footer":` + j(evil) + `,"memo":` + j(evil) +
			`,"customer_email":"a@example.com","line_items":[{"description":` + j(evil) + `,"unit_amount":100}]`
		response, data = s.Do("POST", "/v1/invoices", `{"auto_finalize":true,`+texts+`}`)
		if response.StatusCode != 200 {
			t.Errorf("%q: %s", evil, data)
			continue
		}
		address := field(t, data, "hosted_invoice_url")
		whole("the invoice's page", page(address))
		expect.True(t, strings.Count(page(address), "memo") == 0, "the memo is on the page")
		s.Do("POST", "/v1/invoices/"+field(t, data, "id")+"/send", nil)
		drain(t, s)
		_, messages := s.Do("GET", "/v1/test_helpers/messages?kind=email", nil)
		if subject := field(t, messages, "data.0.subject"); strings.ContainsAny(subject, "\r\n") {
			t.Errorf("the subject %q has two lines", subject)
		}
		for name, export := range map[string]func(w io.Writer) error{
			"invoices": func(w io.Writer) error {
				return s.Invoices.Export(t.Context(), s.Caller, invoice.ExportParams{Writer: w})
			},
			"payments": func(w io.Writer) error {
				return s.Payments.Export(t.Context(), s.Caller, payment.ExportParams{Writer: w})
			},
		} {
			var b strings.Builder
			must.Do(t, export(&b))
			rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(b.String(), "\ufeff"))).ReadAll()
			must.True(t, err == nil, "%s: %v", name, err)
			for _, row := range rows {
				for _, cell := range row {
					expect.True(t, strings.IndexAny(cell, "=+-@\t\r＝＋－＠") != 0, "%s: the cell %q is a formula", name, cell)
				}
			}
		}
	}
}

// Who tries secrets of hosted pages, or one PIN on many wallets, is soon told to
// wait, whatever is in the headers by which a proxy would name a client.
func TestBruteForceOfHostedPages(t *testing.T) {
	for name, try := range map[string]func(s *paymentstest.Shop, n int) *http.Response{
		"secrets of invoices": func(s *paymentstest.Shop, n int) *http.Response {
			r, _ := s.Do("GET", fmt.Sprintf("/invoice/%032d", n), nil, "X-Forwarded-For", fmt.Sprint("10.0.0.", n))
			return r
		},
		"PINs of wallets": func(s *paymentstest.Shop, n int) *http.Response {
			form := url.Values{"wallet": {fmt.Sprintf("024%07d", n)}, "pin": {"1234"}}
			r, _ := s.Do("POST", "/pay/qr_0", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "X-Real-IP", fmt.Sprint("10.0.0.", n))
			return r
		},
	} {
		s := paymentstest.New(t)
		s.Key = ""
		stopped := 0
		for n := range 200 {
			if response := try(s, n); response.StatusCode == 429 {
				stopped++
				expect.True(t, response.Header.Get("Retry-After") != "", "%s: no Retry-After", name)
			}
		}
		expect.True(t, stopped != 0, "%s: 200 tries were answered", name)
	}
}
