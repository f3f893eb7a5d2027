package inspector_test

import (
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/qrcode"
)

func TestRefundForms(t *testing.T) { onEachStore(t, testRefundForms) }

func testRefundForms(t *testing.T, s *site) {
	code, err := s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{})
	s.check(err)
	payment := "payments/" + s.Pay(code.ID, 1250).ID
	at, body := s.do(payment, "refund", "amount", "2.50", "reason", "The juice was warm")
	shows(t, body, "The refund is made.", "GH₵2.50 to Ama Mensah", "succeeded", "The juice was warm", "refund.created", "refund.succeeded", "As the API shows it")
	refund := path.Base(at)
	shows(t, s.page(payment), refund, "Refunded", "GH₵2.50")
	shows(t, s.page(payment+"?form=refund"), "At most GH₵10.00", `value="10.00"`, "Up to GH₵10.00", "Ama Mensah")
	shows(t, s.page("ledger"), "refunds/"+refund, "−GH₵2.50")
	answer, body := s.post(payment, s.token(), "refund", "amount", "10.01")
	expect.Equal(t, answer.StatusCode, http.StatusUnprocessableEntity, "more than is left: %s", answer.Status)
	shows(t, body, "aria-invalid", `value="10.01"`, "Not refunded yet", "The amount is more than what is left.", "At most GH₵10.00 can go back.")
	s.do(payment, "refund")
	expect.True(t, !strings.Contains(s.page(payment), "form=refund"), "what was given back is offered again")
	if body := s.page("refunds?payment=" + path.Base(payment)); rows(body) != 2 {
		t.Errorf("refunds of the payment:\n%s", body)
	}
	if body := s.page("refunds?status=failed"); strings.Contains(body, "re_") {
		t.Error("the filter shows all")
	}
	if answer, _ := s.get(s.at("refunds/" + refund + "/credit-note.pdf")); answer.StatusCode != http.StatusNotFound {
		t.Errorf("a credit note of no invoice: %s", answer.Status)
	}
}

// A refund that a provider carries is ended by hand, and has a credit note then.
func TestRefundsUnderWay(t *testing.T) { onEachStore(t, testRefundsUnderWay) }

func testRefundsUnderWay(t *testing.T, s *site) {
	i, err := s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{AutoFinalize: true, Fields: invoice.Fields{
		Name: new("Akosua Addo"), Lines: []invoice.LineParams{{Description: "Catering", Quantity: new(decimal.NewFromInt(1)), UnitAmount: new(int64(10000))}},
	}})
	s.check(err)
	i, err = s.Invoices.Pay(t.Context(), s.Caller, i.ID, invoice.PayParams{PaymentMethod: "pm_refund_slow_1"})
	s.check(err)
	for form, want := range map[string]string{"succeed": "refund.succeeded", "fail": "No such card"} {
		at, body := s.do("payments/"+*i.Payment, "refund", "amount", "20")
		shows(t, body, "pending", i.ID)
		page := "refunds/" + path.Base(at)
		s.check(s.Drain(t.Context()))
		shows(t, s.page(page), "processing")
		_, body = s.do(page, form, "failure_reason", "No such card")
		shows(t, body, want)
		expect.True(t, !strings.Contains(body, "Let the provider"), "%s: it can be ended again", form)
		answer, data := s.get(s.at(page + "/credit-note.pdf"))
		expect.Equal(t, answer.StatusCode == http.StatusOK && strings.HasPrefix(data, "%PDF-"), (form == "succeed"), "%s: credit note: %s", form, answer.Status)
	}
}
