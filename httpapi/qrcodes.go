package httpapi

import (
	"context"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/qrcode"
)

func qrCodeRoutes(svc *payments.Service) []route {
	const codes = "qr_codes"
	s := svc.QRCodes
	return []route{
		write(codes, "POST /v1/qr_codes", withBody(s.Create)),
		read(codes, "GET /v1/qr_codes", listFrom(s, s.List, oneOf("type", qrcode.Static, qrcode.Dynamic))),
		read(codes, "GET /v1/qr_codes/{id}", getFrom(s, s.Get)),
		write(codes, "POST /v1/qr_codes/{id}", withIDBody(s.Update)),
		write(codes, "DELETE /v1/qr_codes/{id}", withID(s.Delete)),
		read("payments", "GET /v1/qr_codes/{id}/payments", withIDQuery(
			func(ctx context.Context, caller api.Caller, id string, p codePayments) (*api.List[payment.Payment], error) {
				return s.ListPayments(ctx, caller, id, payment.ListParams{Page: p.Page, Created: p.Created})
			})),
		read(codes, "GET /v1/qr_codes/{id}/download", downloadQRCode(s)),
		// Resolving changes nothing, so a read-only key may do it.
		read(codes, "POST /v1/qr_codes/resolve", withBody(
			func(ctx context.Context, caller api.Caller, p qrPayload) (*qrcode.Resolved, error) {
				return s.Resolve(ctx, caller, p.Payload)
			})),
	}
}

// codePayments selects payments of a QR code.
type codePayments struct {
	api.Page
	Created api.Times `param:"created"`
}

type qrPayload struct {
	Payload string `param:"qr_payload,required"`
}

func downloadQRCode(codes qrcode.Service) handler {
	formats := oneOf("format", qrcode.PNG, qrcode.SVG)
	params := []param{{name: "size"}, {name: "format"}}
	return func(r *request) (any, error) {
		if err := r.takes(nil, params); err != nil {
			return nil, err
		}
		q := r.query()
		size := q.integer("size", qrcode.MinSize, qrcode.MaxSize)
		format := qrcode.Format(q.oneOf(formats.name, formats.values))
		if err := q.err(); err != nil {
			return nil, err
		}
		p := qrcode.ImageParams{Format: format}
		if p.Format == "" {
			p.Format = qrcode.PNG
		}
		if size != nil {
			p.Size = *size
		}
		picture, err := codes.Image(r.Context(), r.caller, r.id(), p)
		if err != nil {
			return nil, err
		}
		answer := newResponse(pictureType(p.Format), picture)
		answer.setHeader("Content-Disposition", `inline; filename="`+r.id()+"."+string(p.Format)+`"`)
		return answer, nil
	}
}

func pictureType(f qrcode.Format) string {
	if f == qrcode.SVG {
		return "image/svg+xml"
	}
	return "image/png"
}
