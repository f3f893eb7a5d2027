package httpapi

import (
	"net/http"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/qrcode"
)

func qrCodeRoutes(svc *payments.Service) []route {
	const codes = "qr_codes"
	h := qrCodeHandlers{svc.QRCodes}
	return []route{
		{method: http.MethodPost, pattern: "/v1/qr_codes", resource: codes, write: true, handle: h.create},
		{method: http.MethodGet, pattern: "/v1/qr_codes", resource: codes, handle: h.list},
		{method: http.MethodGet, pattern: "/v1/qr_codes/{id}", resource: codes, handle: h.get},
		{method: http.MethodPost, pattern: "/v1/qr_codes/{id}", resource: codes, write: true, handle: h.update},
		{method: http.MethodDelete, pattern: "/v1/qr_codes/{id}", resource: codes, write: true, handle: h.delete},
		{method: http.MethodGet, pattern: "/v1/qr_codes/{id}/payments", resource: "payments", handle: h.payments},
		{method: http.MethodGet, pattern: "/v1/qr_codes/{id}/download", resource: codes, handle: h.download},
		// Resolving changes nothing, so a read-only key may do it.
		{method: http.MethodPost, pattern: "/v1/qr_codes/resolve", resource: codes, handle: h.resolve},
	}
}

type qrCodeHandlers struct{ codes *qrcode.Service }

func (h qrCodeHandlers) create(r *request) (any, error) {
	b := r.body()
	p := qrcode.CreateParams{
		Type:        qrcode.Type(b.text("type")),
		Amount:      b.optionalPesewas("amount"),
		Currency:    b.text("currency"),
		Name:        b.text("name"),
		Description: b.text("description"),
		Reference:   b.text("reference"),
		UsageLimit:  b.optionalInteger("usage_limit"),
		ExpiresAt:   b.time("expires_at"),
		Metadata:    b.metadata("metadata"),
	}
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.codes.Create(r.Context(), r.caller, p)
}

func (h qrCodeHandlers) get(r *request) (any, error) {
	return answerObject(r, h.codes.GetJSON)
}

func (h qrCodeHandlers) list(r *request) (any, error) {
	q := r.query()
	p := qrcode.ListParams{
		Page:    q.page(),
		Type:    oneOf(q, "type", qrcode.Static, qrcode.Dynamic),
		Active:  q.boolean("active"),
		Created: q.times("created"),
	}
	if err := q.err(); err != nil {
		return nil, err
	}
	return answerList(r, p, h.codes.ListJSON)
}

func (h qrCodeHandlers) update(r *request) (any, error) {
	b := r.body()
	p := qrcode.UpdateParams{
		Name:        clearable(b, "name", b.optionalText),
		Description: clearable(b, "description", b.optionalText),
		Active:      b.optionalBoolean("active"),
		ExpiresAt:   clearable[time.Time](b, "expires_at", b.optionalTime),
		Metadata:    b.metadata("metadata"),
	}
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.codes.Update(r.Context(), r.caller, r.id(), p)
}

// clearable reads a field of an update, where null clears: it stands for the
// zero value.
func clearable[T any](b *fields, name string, read func(string) *T) *T {
	if b.null(name) {
		return new(T)
	}
	return read(name)
}

func (h qrCodeHandlers) delete(r *request) (any, error) {
	return h.codes.Delete(r.Context(), r.caller, r.id())
}

func (h qrCodeHandlers) payments(r *request) (any, error) {
	q := r.query()
	p := payment.ListParams{Page: q.page(), Created: q.times("created")}
	if err := q.err(); err != nil {
		return nil, err
	}
	return h.codes.ListPayments(r.Context(), r.caller, r.id(), p)
}

func (h qrCodeHandlers) download(r *request) (any, error) {
	q := r.query()
	size := orZero(q.integer("size", qrcode.MinSize, qrcode.MaxSize))
	format := oneOf(q, "format", qrcode.PNG, qrcode.SVG)
	if err := q.err(); err != nil {
		return nil, err
	}
	if format == "" {
		format = qrcode.PNG
	}
	picture, err := h.codes.Image(r.Context(), r.caller, r.id(), qrcode.ImageParams{Format: format, Size: size})
	if err != nil {
		return nil, err
	}
	answer := newResponse(pictureType(format), picture)
	answer.setHeader("Content-Disposition", `inline; filename="`+r.id()+"."+string(format)+`"`)
	return answer, nil
}

func pictureType(f qrcode.Format) string {
	if f == qrcode.SVG {
		return "image/svg+xml"
	}
	return "image/png"
}

func (h qrCodeHandlers) resolve(r *request) (any, error) {
	b := r.body()
	b.require("qr_payload")
	payload := b.text("qr_payload")
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.codes.Resolve(r.Context(), r.caller, payload)
}
