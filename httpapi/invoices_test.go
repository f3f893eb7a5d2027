package httpapi_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/must"
)

const oneLine = `"line_items":[{"description":"Catering","unit_amount":2500}]`

func newInvoice(t *testing.T, s *paymentstest.Shop, body string) (id, address string) {
	t.Helper()
	response, data := s.Do("POST", "/v1/invoices", body)
	must.True(t, response.StatusCode == 200, "create: %s", data)
	return field(t, data, "id"), field(t, data, "hosted_invoice_url")
}

func TestInvoiceListFilters(t *testing.T) {
	s := paymentstest.New(t)
	early, _ := newInvoice(t, s, `{"due_date":"2030-01-31"}`)
	late, _ := newInvoice(t, s, `{"due_date":"2030-02-01T10:00:00Z"}`)
	newInvoice(t, s, `{}`)
	for query, want := range map[string]string{
		"due_date=2030-01-31":                early,
		"due_date=2030-02-01..":              late,
		"due_date[gte]=2030-02-01T10:00:00Z": late,
		"due_date[lt]=2030-02-01":            early,
		"status=draft&due_date=2030-02-01":   late,
		"limit=1&starting_after=" + late:     early,
	} {
		expect.Equal(t, read(t, s, "/v1/invoices?"+query, "data.0.id"), want, "%s", query)
	}
}

func TestInvoicePage(t *testing.T) {
	s := paymentstest.New(t)
	evil := `<script>alert(1)</script>`
	id, address := newInvoice(t, s, fmt.Sprintf(`{"customer_name":%q,"memo":"SECRET MEMO","footer":%q,"description":%q,"auto_finalize":true,
		"line_items":[{"description":%q,"unit_amount":2500}]}`, evil, evil, evil, evil))
	response, page := shows(t, "open", "GET", address, nil, 200, "GH₵</span>25.00", "Pay GH₵&nbsp;25.00", "&lt;script&gt;")
	if strings.Contains(page, "<script") || strings.Contains(page, "SECRET") || !strings.Contains(response.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") ||
		response.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v, page %s", response.Header, page)
	}
	form := func(pin string) url.Values {
		return url.Values{"token": {tokenInput.FindStringSubmatch(page)[1]}, "wallet": {"024 100 0001"}, "pin": {pin}}
	}
	shows(t, "wrong PIN", "POST", address, form("0000"), 403, "The PIN is wrong")
	shows(t, "empty", "POST", address, url.Values{}, 400, "Enter your wallet number")
	for range 2 { // posted twice, it is paid once
		if r, text := browse(t, "POST", address, form("1234")); r.StatusCode != 303 || !strings.HasSuffix(address, "/"+r.Header.Get("Location")) {
			t.Errorf("pay: %d %s", r.StatusCode, text)
		}
	}
	shows(t, "paid", "GET", address, nil, 200, ">Paid</span>", "Thank you.", "pay_")
	_, data := s.Do("GET", "/v1/payments?invoice="+id, nil)
	expect.True(t, field(t, data, "data.0.amount") == "2500" && field(t, data, "data.1") == "", "payments: %s", data)
	redirect, _ := browse(t, "GET", s.Server.URL+"/v1/invoices/"+id+"/pdf", nil)
	expect.Equal(t, redirect.StatusCode, 401, "the PDF without a key")
	r, pdf := browse(t, "GET", address+"/pdf", nil)
	_, again := browse(t, "GET", address+"/pdf", nil)
	expect.True(t, r.Header.Get("Content-Type") == "application/pdf" && strings.HasPrefix(pdf, "%PDF") && pdf == again, "the PDF: %v, %d bytes, then %d", r.Header, len(pdf), len(again))
	shows(t, "an unknown PDF", "GET", s.Server.URL+"/invoice/unknown/pdf", nil, 404)
	verified(t, s)
}

// A form with a phone that is posted again, also after the invoice was paid, leads to the same payment.
func TestInvoicePageByPhoneTwice(t *testing.T) {
	s := paymentstest.New(t)
	_, draft := newInvoice(t, s, `{`+oneLine+`}`)
	shows(t, "a draft", "GET", draft, nil, 404)
	_, address := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	form := byPhone(t, address, "0241234567")
	first, text := browse(t, "POST", address, form)
	expect.Equal(t, first.StatusCode, 303, "status: %s", text)
	s.Work()
	again, text := browse(t, "POST", address, form)
	expect.True(t, again.StatusCode == 303 && again.Header.Get("Location") == first.Header.Get("Location"), "again: %d %s", again.StatusCode, text)
	verified(t, s)
}

// The page of an invoice of 0 asks for no wallet; one press pays it.
func TestInvoicePageOfZero(t *testing.T) {
	s := paymentstest.New(t)
	id, address := newInvoice(t, s, `{"auto_finalize":true,"line_items":[{"description":"Sample","unit_amount":0}]}`)
	_, page := browse(t, "GET", address, nil)
	expect.True(t, !strings.Contains(page, `name="wallet"`), "the page asks for a wallet: %s", page)
	form := url.Values{"token": {tokenInput.FindStringSubmatch(page)[1]}}
	shows(t, "pay", "POST", address, form, 303)
	_, data := s.Do("GET", "/v1/invoices/"+id, nil)
	expect.True(t, field(t, data, "status") == "paid" && strings.Contains(string(data), `"payment":null`), "paid: %s", data)
}

// JSON, page and document show the same figures, whatever the invoice.
func TestInvoiceFigures(t *testing.T) {
	s := paymentstest.New(t)
	dice := rand.New(rand.NewPCG(1, 2))
	pdftotext, missing := exec.LookPath("pdftotext")
	for n := range 20 {
		var lines []string
		for range 1 + dice.IntN(8) {
			lines = append(lines, fmt.Sprintf(`{"description":"x","unit_amount":%d,"quantity":%d.%06d,"taxable":%t,"tax_percent":%d.5}`,
				dice.IntN(200_000), dice.IntN(20), 1+dice.IntN(999_999), dice.IntN(2) == 0, dice.IntN(30)))
		}
		_, data := s.Do("POST", "/v1/coupons", []string{`{"percent_off":12.5}`, `{"amount_off":1234}`}[n%2])
		coupon := []string{"", `"coupon":"` + field(t, data, "id") + `",`}[n/2%2]
		id, address := newInvoice(t, s, `{"auto_finalize":true,`+coupon+`"line_items":[`+strings.Join(lines, ",")+`]}`)
		_, data = s.Do("GET", "/v1/invoices/"+id, nil)
		figures := map[string]bool{}
		names := []string{"subtotal", "total", "amount_due"}
		if coupon != "" {
			names = append(names, "discount")
		}
		for _, name := range names {
			figures[pesewas(t, field(t, data, name))] = true
		}
		for i := range lines {
			figures[pesewas(t, field(t, data, fmt.Sprint("lines.data.", i, ".amount")))] = true
		}
		_, page := browse(t, "GET", address, nil)
		texts := map[string]string{"page": page}
		if missing == nil {
			_, pdf := browse(t, "GET", address+"/pdf", nil)
			command := exec.Command(pdftotext, "-layout", "-", "-")
			command.Stdin = strings.NewReader(pdf)
			out := must.Get(command.Output())(t)
			texts["PDF"] = string(out)
		}
		for where, text := range texts {
			for figure := range figures {
				expect.True(t, strings.Contains(text, figure), "the %s lacks %s of %s", where, figure, data)
			}
		}
	}
}

// pesewas writes an amount as people read it.
func pesewas(t *testing.T, text string) string {
	t.Helper()
	var n int64
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatalf("%q is no amount", text)
	}
	return money.Text(n)
}

func TestLogoAndPDFOfAnInvoice(t *testing.T) {
	s := paymentstest.New(t)
	giveLogo(t, s)
	id, address := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	showsLogo(t, address)
	request := must.Get(http.NewRequestWithContext(t.Context(), "GET", s.Server.URL+"/v1/invoices/"+id+"/pdf", nil))(t)
	request.Header.Set("Authorization", "Bearer "+s.Key)
	response := must.Get(http.DefaultTransport.RoundTrip(request))(t) // follows nothing
	response.Body.Close()
	expect.True(t, response.StatusCode == 302 && response.Header.Get("Location") == address+"/pdf", "got %d to %s", response.StatusCode,
		response.Header.Get("Location"))
}
