package inspector

import (
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
)

func (v *visit) invoices() (*page, error) {
	list, err := v.svc.Invoices.List(v.Context(), v.caller, invoice.ListParams{
		Page: v.page(), Status: invoice.Status(v.query.Get("status")), Customer: strings.TrimSpace(v.query.Get("customer")), Created: v.day(),
	})
	if err != nil {
		return nil, err
	}
	return &page{
		Title: "Invoices", NavPath: "invoices",
		Filter: []field{
			v.filter("status", "Status", "draft", "open", "paid", "void", "uncollectible"),
			{Name: "customer", Label: "Customer (cus_…)", Value: v.query.Get("customer")},
			v.dayFilter(),
		},
		Forms: []*form{{
			Name: "create", Title: "New invoice", Button: "Make the invoice",
			Fields: append([]field{
				{Name: "customer_name", Label: "Customer's name"},
				{Name: "customer_email", Label: "Customer's e-mail", Kind: "email"},
				{Name: "customer_phone", Label: "Customer's phone"},
			}, append(line(),
				field{Name: "auto_finalize", Label: "Finalize at once", Kind: "checkbox"})...),
			do: (*visit).createInvoice,
		}},
		Live:     []section{{Rows: rowsOf(list, v.invoiceRow), Empty: "There is no such invoice."}},
		NextPage: nextPage(v, list, func(i *invoice.Invoice) string { return i.ID }),
	}, nil
}

// line is a line of an invoice, in a form.
func line() []field {
	return []field{
		{Name: "product", Label: "Product (prod_…)", Hint: "It fills what is empty below. Without one, say what it is for and the price."},
		{Name: "description", Label: "What it is for"},
		{Name: "quantity", Label: "Quantity", Value: "1"},
		{Name: "unit_amount", Label: "Price of one in GHS"},
		taxField(),
	}
}

func (in *input) line() invoice.LineParams {
	l := invoice.LineParams{
		Product: in.text("product"), Description: in.text("description"), Quantity: in.number("quantity"), UnitAmount: in.pesewas("unit_amount"), TaxPercent: in.number("tax_percent"),
	}
	if l.TaxPercent != nil {
		l.Taxable = new(true)
	}
	return l
}

func (v *visit) invoiceRow(i *invoice.Invoice) row {
	return row{
		Href: v.url("invoices", i.ID), Title: i.Number, Detail: joinNonEmpty(orEmpty(i.Name), orEmpty(i.Email)),
		Amount: formatPesewas(i.Total), State: string(i.Status), At: api.At(time.Unix(i.Created, 0)),
	}
}

func (v *visit) createInvoice(in *input) (*result, error) {
	p := invoice.CreateParams{
		Fields: invoice.Fields{
			Name: in.optionalText("customer_name"), Email: in.optionalText("customer_email"), Phone: in.optionalText("customer_phone"),
			Lines: []invoice.LineParams{in.line()},
		},
		AutoFinalize: in.checked("auto_finalize"),
	}
	if err := in.err(); err != nil {
		return nil, err
	}
	i, err := v.svc.Invoices.Create(v.Context(), v.caller, p)
	if err != nil {
		return nil, err
	}
	return &result{redirect: v.url("invoices", i.ID)}, nil
}

func (v *visit) invoice() (*page, error) {
	i, err := v.svc.Invoices.Get(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	history, err := v.history("invoice", i.ID, time.Unix(i.Created, 0),
		"updated", "finalized", "sent", "paid", "payment_failed", "voided", "marked_uncollectible")
	if err != nil {
		return nil, err
	}
	facts := nonEmpty(
		fact{Name: "ID", Value: i.ID, Code: true},
		fact{Name: "Status", Value: string(i.Status), State: true},
		fact{Name: "Customer", Value: joinNonEmpty(orEmpty(i.Name), orEmpty(i.Email), orEmpty(i.Phone))},
		fact{Name: "Due", Value: formatOptionalTime(i.DueDate)},
		fact{Name: "Collection", Value: string(i.CollectionMethod)},
		fact{Name: "Attempts", Value: formatCount(int64(i.AttemptCount))},
		fact{Name: "Next attempt", Value: formatOptionalTime(i.NextPaymentAttempt)},
		fact{Name: "Memo", Value: orEmpty(i.Memo), Wide: true},
	)
	if i.Customer != nil {
		facts = append(facts, fact{Name: "Customer's record", Value: *i.Customer, Href: v.url("customers", *i.Customer)})
	}
	if i.Coupon != nil {
		facts = append(facts, fact{Name: "Coupon", Value: *i.Coupon, Href: v.url("coupons", *i.Coupon)})
	}
	if i.Payment != nil {
		facts = append(facts, fact{Name: "Payment", Value: *i.Payment, Href: v.url("payments", *i.Payment)})
	}
	facts = append(facts, fact{Name: "Document", Value: "Open the PDF", Href: v.url("invoices", i.ID, "invoice.pdf")})
	if i.Status != invoice.Draft {
		facts = append(facts, fact{Name: "Customer's page", Value: i.HostedURL, Href: i.HostedURL, Wide: true})
	}
	attempts, err := v.svc.Payments.List(v.Context(), v.caller, payment.ListParams{Page: api.Page{Limit: latest}, Invoice: i.ID})
	if err != nil {
		return nil, err
	}
	live := []section{{Facts: facts, Buttons: invoiceButtons(i.Status)}, {Table: invoiceTable(i)}}
	if len(attempts.Data) > 0 {
		live = append(live, section{Title: "Payments", Rows: rowsOf(attempts, v.paymentRow), More: v.url("payments") + "?invoice=" + i.ID})
	}
	p := &page{
		Title: "Invoice " + i.Number, NavPath: "invoices",
		Live: append(live, history, section{JSON: indentJSON(i)}),
	}
	switch i.Status {
	case invoice.Draft:
		p.Forms = []*form{
			{Name: "add-line", Title: "Add a line", Button: "Add the line", Fields: line(), do: (*visit).addLine},
			{Name: "coupon", Title: "Put a coupon on", Button: "Put it on", Fields: []field{{Name: "coupon", Label: "Coupon (cpn_…)", Hint: "Empty takes it off."}}, do: (*visit).putCoupon},
		}
	case invoice.Open:
		wallets, err := v.wallets()
		if err != nil {
			return nil, err
		}
		p.Forms = []*form{{
			Name: "scan", Title: "Pay as a consumer", Button: "Pay " + formatPesewas(i.AmountDue), Fields: payer(wallets), do: (*visit).payInvoiceFromWallet,
		}, {
			Name: "pay-phone", Title: "Pay from a phone", Button: "Ask the phone for " + formatPesewas(i.AmountDue), Fields: phonePayer(), do: (*visit).payInvoiceFromPhone,
		}}
	}
	return p, nil
}

func (v *visit) putCoupon(in *input) (*result, error) {
	_, err := v.svc.Invoices.Update(v.Context(), v.caller, v.id, invoice.Fields{Coupon: new(in.text("coupon"))})
	return nil, err
}

func invoiceTable(i *invoice.Invoice) *table {
	t := &table{Caption: "Lines", Head: []string{"Description", "Quantity", "Amount (GHS)"}, Numbers: true}
	for _, l := range i.Lines.Data {
		t.Rows = append(t.Rows, []string{l.Description, l.Quantity.String() + " × " + money.Text(l.UnitAmount), money.Text(l.Amount)})
	}
	for _, s := range i.Sums() {
		t.Rows = append(t.Rows, []string{s.Name, "", money.Text(s.Amount)})
	}
	return t
}

// invoiceButtons is what a status allows.
func invoiceButtons(s invoice.Status) []*form {
	send := &form{Name: "send", Button: "Send", do: invoiceAction((*invoice.Service).Send)}
	void := &form{Name: "void", Button: "Void", Danger: true, do: invoiceAction((*invoice.Service).Void)}
	switch s {
	case invoice.Draft:
		return []*form{
			{Name: "finalize", Button: "Finalize", do: invoiceAction((*invoice.Service).Finalize)},
			{Name: "delete", Button: "Delete", Danger: true, do: (*visit).deleteInvoice},
		}
	case invoice.Open:
		return []*form{
			send,
			{Name: "pay", Button: "Charge the customer", do: (*visit).chargeInvoice},
			void,
			{Name: "uncollectible", Button: "Give up", Danger: true, do: invoiceAction((*invoice.Service).MarkUncollectible)},
		}
	case invoice.Uncollectible:
		return []*form{send, void}
	}
	return []*form{send}
}
