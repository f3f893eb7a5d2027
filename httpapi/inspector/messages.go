package inspector

import (
	"cmp"
	"context"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/message"
)

var messageNoun = &noun[message.Message]{
	path: "messages", prefix: "msg", one: "Message", many: "Messages", heads: [5]string{"Message", "", "Kind", "", "Time"},
	tab: "kind", tabs: options(message.KindSMS, message.KindEmail), search: "Phone or e-mail",
	empty: "SMS and e-mails of test mode are kept here. No SMS goes out.",
	reads: func(v *visit) reader[message.Message] {
		return reading(v.svc.Messages.List, func(ctx context.Context, caller api.Caller, id string) (*message.Message, error) {
			m, err := v.svc.Messages.Get(ctx, caller, id)
			if err != nil {
				return nil, err
			}
			return &m.Message, nil
		})
	},
	row: func(v *visit, m *message.Message) row {
		return row{Href: v.url("messages", m.ID), Title: look.Phone(m.To), Below: cmp.Or(m.Subject, m.Text), Badge: `<span class="src">` + value(words(m.Kind)) + `</span>`, At: m.CreatedAt}
	},
	page: (*visit).messagePage,
}

func (v *visit) messagePage(short *message.Message, p *page) {
	m := get(v, v.svc.Messages.Get, short.ID)
	p.Title, p.Badge, p.Sentence = "SMS", nil, sentence("To %s, %s", phone.Spaced(m.To), v.when(m.CreatedAt))
	p.Live = []section{{Title: "Text", Verbatim: m.Text}}
	if m.Kind == message.KindEmail {
		p.Title = cmp.Or(m.Subject, "E-mail")
		if m.HTML != "" {
			p.Live = []section{{Title: "As it looks", Frame: v.url("messages", m.ID, "mail.html")}, {Title: "As text", Verbatim: m.Text}}
		}
	}
	var attached link
	if strings.HasPrefix(m.Attached, "inv_") {
		attached = link{"Open the PDF of the invoice", v.url("invoices", m.Attached, "invoice.pdf")}
	}
	p.Side = []section{{Title: "Details", Facts: facts("To", phone.Spaced(m.To), "From", m.FromName, "Subject", m.Subject, "Attached", attached, "Time", m.CreatedAt, "Message", id(m.ID))}}
}

// mailPolicy lets an e-mail have its colours and nothing else: no script, no
// request, no form. Its links open in a window of their own.
const mailPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; frame-ancestors 'self'; " +
	"sandbox allow-popups allow-popups-to-escape-sandbox"

// mail is an e-mail as it looks, for a frame.
func (v *visit) mail() (*file, error) {
	m, err := v.svc.Messages.Get(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	if m.HTML == "" {
		return nil, errNoPage
	}
	return &file{contentType: "text/html; charset=utf-8", policy: mailPolicy, framed: true, data: []byte(`<!doctype html><base target="_blank">` + m.HTML)}, nil
}
