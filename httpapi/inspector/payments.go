package inspector

import (
	"strconv"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/refund"
)

func (v *visit) payments() (*page, error) {
	list, err := v.svc.Payments.List(v.Context(), v.caller, payment.ListParams{
		Page: v.page(), Status: payment.Status(v.query.Get("status")), QRCode: strings.TrimSpace(v.query.Get("qr_code")), Created: v.day(),
	})
	if err != nil {
		return nil, err
	}
	return &page{
		Title: "Payments", NavPath: "payments",
		Filter: []field{
			v.filter("status", "Status", "pending", "processing", "completed", "failed", "cancelled"),
			{Name: "qr_code", Label: "QR code (qr_…)", Value: v.query.Get("qr_code")},
			v.dayFilter(),
		},
		Live:     []section{{Rows: rowsOf(list, v.paymentRow), Empty: "There is no such payment."}},
		NextPage: nextPage(v, list, func(p *payment.Payment) string { return p.ID }),
	}, nil
}

func (v *visit) paymentRow(p *payment.Payment) row {
	return row{
		Href: v.url("payments", p.ID), Title: p.ID, Detail: joinNonEmpty(orEmpty(p.Phone), p.Reference),
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
	facts := nonEmpty(
		fact{Name: "ID", Value: p.ID, Code: true},
		fact{Name: "Status", Value: string(p.Status), State: true},
		fact{Name: "Method", Value: p.PaymentMethod},
		fact{Name: "Provider", Value: orEmpty(p.Provider)},
		fact{Name: "Phone", Value: orEmpty(p.Phone)},
		fact{Name: "Reference", Value: p.Reference},
		fact{Name: "Time", Value: formatTime(p.CreatedAt)},
	)
	if p.QRCode != nil {
		facts = append(facts, fact{Name: "QR code", Value: *p.QRCode, Href: v.url("qr-codes", *p.QRCode)})
	}
	if p.Invoice != nil {
		facts = append(facts, fact{Name: "Invoice", Value: *p.Invoice, Href: v.url("invoices", *p.Invoice)})
	}
	refunds, err := v.svc.Refunds.List(v.Context(), v.caller, refund.ListParams{Page: api.Page{Limit: latest}, Payment: p.ID})
	if err != nil {
		return nil, err
	}
	back := section{Rows: rowsOf(refunds, v.refundRow)}
	if len(back.Rows) > 0 {
		facts = append(facts, fact{Name: "Refunded", Value: formatPesewas(p.AmountRefunded)})
		back.Title, back.More = "Refunds", v.url("refunds")+"?payment="+p.ID
	}
	return &page{
		Title: "Payment of " + formatPesewas(p.Amount), NavPath: "payments", Forms: refundForms(p),
		Live: []section{{Facts: facts}, back, history, {JSON: indentJSON(p)}},
	}, nil
}

func formatCount(n int64) string { return strconv.FormatInt(n, 10) }
