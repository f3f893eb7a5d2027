package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/invoice"
)

func invoiceRoutes(svc *payments.Service) []route {
	h := invoiceHandlers{svc.Invoices}
	read := func(method, path string, handle func(*request) (any, error)) route {
		return route{method: method, pattern: "/v1/invoices" + path, resource: "invoices", handle: handle}
	}
	write := func(method, path string, handle func(*request) (any, error)) route {
		r := read(method, path, handle)
		r.write = true
		return r
	}
	return []route{
		write(http.MethodPost, "", h.create),
		read(http.MethodGet, "", h.list),
		read(http.MethodGet, "/{id}", h.get),
		write(http.MethodPost, "/{id}", h.update),
		write(http.MethodDelete, "/{id}", h.delete),
		write(http.MethodPost, "/{id}/lines", h.addLine),
		read(http.MethodGet, "/{id}/lines", h.lines),
		read(http.MethodGet, "/{id}/pdf", h.pdf),
		write(http.MethodPost, "/{id}/finalize", h.act(h.invoices.Finalize)),
		write(http.MethodPost, "/{id}/pay", h.pay),
		write(http.MethodPost, "/{id}/void", h.act(h.invoices.Void)),
		write(http.MethodPost, "/{id}/duplicate", h.act(h.invoices.Duplicate)),
		write(http.MethodPost, "/{id}/send", h.act(h.invoices.Send)),
		write(http.MethodPost, "/{id}/mark_uncollectible", h.act(h.invoices.MarkUncollectible)),
	}
}

type invoiceHandlers struct{ invoices *invoice.Service }

// act is a handler for what is done to an invoice without a body.
func (h invoiceHandlers) act(do func(context.Context, api.Caller, string) (*invoice.Invoice, error)) func(*request) (any, error) {
	return func(r *request) (any, error) { return do(r.Context(), r.caller, r.id()) }
}

// invoiceFields reads what a draft can be given. Null clears.
func invoiceFields(b *fields) invoice.Fields {
	f := invoice.Fields{
		Customer:    clearable(b, "customer", b.optionalText),
		Email:       clearable(b, "customer_email", b.optionalText),
		Name:        clearable(b, "customer_name", b.optionalText),
		Phone:       clearable(b, "customer_phone", b.optionalText),
		Address:     clearable(b, "customer_address", b.optionalText),
		Description: clearable(b, "description", b.optionalText),
		Footer:      clearable(b, "footer", b.optionalText),
		Memo:        clearable(b, "memo", b.optionalText),
		DueDate:     clearable[time.Time](b, "due_date", b.optionalTime),
		Metadata:    b.metadata("metadata"),
	}
	if method := b.optionalText("collection_method"); method != nil {
		f.CollectionMethod = new(invoice.CollectionMethod(*method))
	}
	if items := b.objects("line_items"); items != nil {
		f.Lines = make([]invoice.LineParams, len(items))
		for i, item := range items {
			f.Lines[i] = lineParams(item)
		}
	}
	return f
}

func lineParams(b *fields) invoice.LineParams {
	return invoice.LineParams{
		Description: b.text("description"),
		Quantity:    b.optionalDecimal("quantity", 6),
		UnitAmount:  b.optionalPesewas("unit_amount"),
		Product:     b.text("product"),
		Taxable:     b.boolean("taxable"),
		TaxPercent:  b.optionalDecimal("tax_percent", 6),
		Metadata:    b.metadata("metadata"),
	}
}

func (h invoiceHandlers) create(r *request) (any, error) {
	b := r.body()
	p := invoice.CreateParams{Fields: invoiceFields(b), AutoFinalize: b.boolean("auto_finalize")}
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.invoices.Create(r.Context(), r.caller, p)
}

func (h invoiceHandlers) update(r *request) (any, error) {
	b := r.body()
	f := invoiceFields(b)
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.invoices.Update(r.Context(), r.caller, r.id(), f)
}

func (h invoiceHandlers) get(r *request) (any, error) {
	return answerObject(r, h.invoices.GetJSON)
}

func (h invoiceHandlers) list(r *request) (any, error) {
	q := r.query()
	p := invoice.ListParams{
		Page:     q.page(),
		Customer: q.id("customer"),
		Status:   oneOf(q, "status", invoice.Draft, invoice.Open, invoice.Paid, invoice.Void, invoice.Uncollectible),
		DueDate:  q.times("due_date"),
		Created:  q.times("created"),
	}
	if err := q.err(); err != nil {
		return nil, err
	}
	return answerList(r, p, h.invoices.ListJSON)
}

func (h invoiceHandlers) delete(r *request) (any, error) {
	return h.invoices.Delete(r.Context(), r.caller, r.id())
}

func (h invoiceHandlers) addLine(r *request) (any, error) {
	b := r.body()
	p := lineParams(b)
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.invoices.AddLine(r.Context(), r.caller, r.id(), p)
}

func (h invoiceHandlers) lines(r *request) (any, error) {
	q := r.query()
	page := q.page()
	if err := q.err(); err != nil {
		return nil, err
	}
	return h.invoices.ListLines(r.Context(), r.caller, r.id(), page)
}

// pdf sends the caller to the document, whose address needs no key.
func (h invoiceHandlers) pdf(r *request) (any, error) {
	address, err := h.invoices.PDF(r.Context(), r.caller, r.id())
	if err != nil {
		return nil, err
	}
	return &response{status: http.StatusFound, header: map[string]string{"Location": address}}, nil
}

func (h invoiceHandlers) pay(r *request) (any, error) {
	b := r.body()
	p := invoice.PayParams{
		PaymentMethod: b.text("payment_method"),
		Source:        b.text("source"),
		OffSession:    b.boolean("off_session"),
		PaidOutOfBand: b.boolean("paid_outside"),
	}
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.invoices.Pay(r.Context(), r.caller, r.id(), p)
}
