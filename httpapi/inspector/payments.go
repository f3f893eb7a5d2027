package inspector

import (
	"strconv"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/refund"
)

func (v *visit) payments() (*page, error) {
	text := func(name string) string { return strings.TrimSpace(v.query.Get(name)) }
	list, err := v.svc.Payments.List(v.Context(), v.caller, payment.ListParams{
		Page: v.page(), Status: payment.Status(text("status")), PaymentMethod: text("payment_method"),
		QRCode: text("qr_code"), Invoice: text("invoice"), Customer: text("customer"), Created: v.day(),
	})
	if err != nil {
		return nil, err
	}
	return &page{
		Title: "Payments", NavPath: "payments",
		Filter: []field{
			v.filter("status", "Status", "pending", "processing", "completed", "failed", "cancelled"),
			v.filter("payment_method", "Method", payment.FromPhone, payment.ServiceWallet),
			{Name: "qr_code", Label: "QR code (qr_…)", Value: v.query.Get("qr_code")},
			{Name: "invoice", Label: "Invoice (inv_…)", Value: v.query.Get("invoice")},
			{Name: "customer", Label: "Customer (cus_…)", Value: v.query.Get("customer")},
			v.dayFilter(),
		},
		Forms: []*form{{
			Name: "create", Title: "New payment from a phone", Button: "Ask the phone",
			Fields: append(append([]field{{Name: "amount", Label: "Amount in GHS", Required: true}}, phonePayer()...),
				field{Name: "description", Label: "Description"},
				field{Name: "reference", Label: "Reference"},
				field{Name: "customer", Label: "Customer (cus_…)"}),
			do: (*visit).createPayment,
		}},
		Live:     []section{{Rows: rowsOf(list, v.paymentRow), Empty: "There is no such payment."}},
		NextPage: nextPage(v, list, func(p *payment.Payment) string { return p.ID }),
	}, nil
}

func (v *visit) paymentRow(p *payment.Payment) row {
	return row{
		Href: v.url("payments", p.ID), Title: p.ID,
		Detail: joinNonEmpty(orEmpty(p.Provider), orEmpty(p.Phone), p.Reference, orEmpty(p.FailureReason)),
		Amount: formatPesewas(p.Amount), State: string(p.Status), At: p.CreatedAt,
	}
}

func (v *visit) payment() (*page, error) {
	p, err := v.svc.Payments.Get(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	history, err := v.history("payment", p.ID, p.CreatedAt.Time, "pending", "processing", "succeeded", "failed", "canceled")
	if err != nil {
		return nil, err
	}
	first := section{Facts: v.paymentFacts(p)}
	forms := refundForms(p)
	payerPage, err := v.payerPage(p)
	if err != nil {
		return nil, err
	}
	if payerPage != "" {
		first.Facts = append(first.Facts, fact{Name: "Payer's page", Value: payerPage, Href: payerPage, Wide: true})
		first.Buttons, forms = actionsFromPhone(p, forms)
	}
	refunds, err := v.svc.Refunds.List(v.Context(), v.caller, refund.ListParams{Page: api.Page{Limit: latest}, Payment: p.ID})
	if err != nil {
		return nil, err
	}
	live := []section{first}
	if len(refunds.Data) > 0 {
		live[0].Facts = append(first.Facts, fact{Name: "Refunded", Value: formatPesewas(p.AmountRefunded)})
		live = append(live, section{Title: "Refunds", Rows: rowsOf(refunds, v.refundRow), More: v.url("refunds") + "?payment=" + p.ID})
	}
	return &page{
		Title: "Payment of " + formatPesewas(p.Amount), NavPath: "payments", Forms: forms,
		Live: append(live, history, section{JSON: indentJSON(p)}),
	}, nil
}

func (v *visit) paymentFacts(p *payment.Payment) []fact {
	next := ""
	if p.NextAction != nil {
		next = p.NextAction.Message
	}
	facts := nonEmpty(
		fact{Name: "ID", Value: p.ID, Code: true},
		fact{Name: "Status", Value: string(p.Status), State: true},
		fact{Name: "The payer is asked", Value: next, Wide: true},
		fact{Name: "Failure", Value: orEmpty(p.FailureReason), Wide: true},
		fact{Name: "Method", Value: strings.ReplaceAll(p.PaymentMethod, "_", " ")},
		fact{Name: "Network", Value: orEmpty(p.Provider)},
		fact{Name: "Phone", Value: orEmpty(p.Phone)},
		fact{Name: "Fee", Value: formatOptionalPesewas(p.Fee)},
		fact{Name: "Net", Value: formatOptionalPesewas(p.Net)},
		fact{Name: "Description", Value: p.Description},
		fact{Name: "Reference", Value: p.Reference},
		fact{Name: "Provider's reference", Value: orEmpty(p.ProviderReference), Code: true},
		fact{Name: "Created", Value: formatTime(p.CreatedAt)},
		fact{Name: "Completed", Value: formatOptionalTime(p.CompletedAt)},
		fact{Name: "Held until", Value: formatOptionalTime(p.HoldExpiresAt)},
	)
	for _, link := range []struct {
		name, path string
		id         *string
	}{{"QR code", "qr-codes", p.QRCode}, {"Invoice", "invoices", p.Invoice}, {"Customer", "customers", p.Customer}} {
		if link.id != nil {
			facts = append(facts, fact{Name: link.name, Value: *link.id, Href: v.url(link.path, *link.id)})
		}
	}
	return facts
}

func formatCount(n int64) string { return strconv.FormatInt(n, 10) }
