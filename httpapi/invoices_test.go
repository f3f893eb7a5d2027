package httpapi_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
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
	expect.Equal(t, response.StatusCode, 302, "status")
	expect.Equal(t, response.Header.Get("Location"), address+"/pdf", "Location")
}
