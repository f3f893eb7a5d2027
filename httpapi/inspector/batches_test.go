package inspector_test

import (
	"net/http"
	"path"
	"strings"
	"testing"
)

func TestBatchForms(t *testing.T) { onEachStore(t, testBatchForms) }

func testBatchForms(t *testing.T, s *site) {
	at, body := s.do("batches", "create", "rows", strings.ReplaceAll(batchCSV, "\n", "\r\n"), "description", "Salaries of November")
	shows(t, body, "Created.", "Batch of GHS 20,009.50", "pending", "2: 2 queued", "disbursement_batch.created", "Row 1", "Row 2")
	page := "batches/" + path.Base(at)
	s.check(s.Drain(t.Context()))
	shows(t, s.page(page), "2: 0 queued, 1 made, 1 refused", "disbursement_batch.completed", "disbursements/po_", "The balance")
	refused := s.page(page + "?status=refused")
	shows(t, refused, "Row 2")
	if strings.Contains(refused, "Row 1<") {
		t.Error("the filter shows all rows")
	}
	shows(t, s.page("batches?status=completed"), path.Base(at), "2 rows · Salaries of November")
	if strings.Contains(s.page("batches?status=pending"), "bat_") {
		t.Error("the filter shows all batches")
	}
	wrong := "amount,type,phone_number\n<1>,mobile_money,0241234567"
	answer, body := s.post("batches", s.token("batches"), "create", "rows", wrong)
	if answer.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a wrong row: %s", answer.Status)
	}
	shows(t, body, "Line 2: amount", wrong, "aria-invalid")
	if strings.Contains(body, "<1>") {
		t.Error("what was entered is markup")
	}
}
