package inspector_test

import (
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/invoice"
)

func TestCustomerForms(t *testing.T) { onEachStore(t, testCustomerForms) }

func testCustomerForms(t *testing.T, s *site) {
	at, body := s.do("customers", "create", "name", "Esi Owusu", "email", "Esi@example.com", "phone_number", "024 123 4568", "address", "12 Oxford Street\r\nOsu, Accra")
	shows(t, body, "Created.", "<h1>Esi Owusu", "<dd>024 123 4568", "12 Oxford Street<br>Osu, Accra", "customer.created", "No invoices yet")
	page := "customers/" + path.Base(at)
	i, err := s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{Fields: invoice.Fields{
		Customer: new(path.Base(at)), Lines: []invoice.LineParams{{Description: "Sobolo", UnitAmount: new(int64(900))}},
	}})
	s.check(err)
	shows(t, s.page(page), i.Number)
	shows(t, s.page("invoices/"+i.ID), page)
	_, body = s.do(page, "change", "name", "Esi Addo", "email", "esi@example.com")
	shows(t, body, "Changed.", "<h1>Esi Addo", "customer.updated")
	expect.True(t, !strings.Contains(body, "<dd>024\u00a0123\u00a04568"), "what was emptied is still there")
	answer, body := s.post(page, s.token(), "change", "phone_number", "12")
	expect.Equal(t, answer.StatusCode, http.StatusUnprocessableEntity, "a wrong number: %s", answer.Status)
	shows(t, body, "aria-invalid", `value="12"`)

	shows(t, s.page("customers?q=ESI%40example.com"), "Esi Addo")
	expect.True(t, !strings.Contains(s.page("customers?q=0241234568"), "Esi Addo"), "the filter shows all")
	shows(t, s.page("customers?q=12"), "Nothing matches")
	_, body = s.do(page, "delete")
	shows(t, body, "Deleted.", "No customers yet")
	if answer, _ := s.get(s.at(page)); answer.StatusCode != http.StatusNotFound {
		t.Errorf("deleted: %s", answer.Status)
	}
}
