package inspector_test

import (
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
)

func TestBatchForms(t *testing.T) { onEachStore(t, testBatchForms) }

func testBatchForms(t *testing.T, s *site) {
	at, body := s.do("batches", "create", "rows", strings.ReplaceAll(batchCSV, "\n", "\r\n"), "description", "Salaries of November")
	shows(t, body, "Created.", "GH₵20,009.50", "to 2 recipients", "pending", "Queued2", "disbursement_batch.created", "Row 1", "Row 2")
	page := "batches/" + path.Base(at)
	s.check(s.Drain(t.Context()))
	shows(t, s.page(page), "Made1", "Refused1", "Partly refused", "disbursement_batch.completed", "disbursements/po_", "The balance")
	refused := s.page(page + "?status=refused")
	shows(t, refused, "Row 2")
	expect.True(t, !strings.Contains(refused, "Row 1<"), "the filter shows all rows")
	shows(t, s.page("batches?status=completed"), path.Base(at), "2 rows", "Salaries of November")
	expect.True(t, !strings.Contains(s.page("batches?status=pending"), "bat_"), "the filter shows all batches")
	many, _ := s.do("batches", "create", "rows", "amount,type,phone_number\n"+strings.Repeat("1,mobile_money,0241234567\n", 30))
	first := s.page("batches/" + path.Base(many))
	shows(t, first, "In the order given", "Row 1 ", "Row 25 ")
	shows(t, s.page("batches/"+path.Base(many)+"?"+query(linkTo(t, first, "Rows after"))), "Row 26 ", "Rows before")
	wrong := "amount,type,phone_number\n<1>,mobile_money,0241234567"
	answer, body := s.post("batches", s.token(), "create", "rows", wrong)
	expect.Equal(t, answer.StatusCode, http.StatusUnprocessableEntity, "a wrong row: %s", answer.Status)
	shows(t, body, "Line 2: amount", wrong, "aria-invalid")
	expect.True(t, !strings.Contains(body, "<1>"), "what was entered is markup")
}
