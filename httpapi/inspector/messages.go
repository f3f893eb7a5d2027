package inspector

import (
	"cmp"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/message"
)

var messageNoun = &noun[message.Message]{
	path: "messages", one: "Message", many: "Messages", heads: [5]string{"Message", "", "Kind", "To", "Time"},
	tab: "kind", tabs: options(message.KindSMS, message.KindEmail), search: "Phone number or e-mail address",
	empty: "SMS and e-mails of test mode are kept here. No SMS goes out.",
	list:  func(v *visit) (*api.List[message.Message], error) { return choose(v, v.svc.Messages.List) },
	row: func(v *visit, m *message.Message) row {
		return row{Href: v.url("messages", m.ID), Title: shortened(m), Badge: state(m.Kind), For: m.To, At: m.CreatedAt}
	},
	get: func(v *visit) (*message.Message, error) {
		m, err := v.svc.Messages.Get(v.Context(), v.caller, v.id)
		if err != nil {
			return nil, err
		}
		return &m.Message, nil
	},
	page: (*visit).messagePage,
}

// shortened is the subject of a message, or the beginning of its text.
func shortened(m *message.Message) string {
	const most = 120
	said := []rune(cmp.Or(m.Subject, m.Text))
	if len(said) > most {
		return strings.TrimSpace(string(said[:most])) + "…"
	}
	return string(said)
}

func (v *visit) messagePage(short *message.Message, p *page) {
	m, err := v.svc.Messages.Get(v.Context(), v.caller, short.ID)
	if err != nil {
		v.note(err)
		return
	}
	p.Title, p.Badge, p.Sentence = "SMS", badge{}, sentence("To %s, %s", m.To, v.when(m.CreatedAt))
	p.Live = []section{{Title: "Text", Verbatim: m.Text}}
	if m.Kind == message.KindEmail {
		p.Title = cmp.Or(m.Subject, "E-mail")
		if m.HTML != "" {
			p.Live = []section{{Title: "As it looks", Frame: v.url("messages", m.ID, "mail.html")}, {Title: "As text", Verbatim: m.Text}}
		}
	}
	var attached *link
	if strings.HasPrefix(m.Attached, "inv_") {
		attached = &link{"Open the PDF of the invoice", v.url("invoices", m.Attached, "invoice.pdf")}
	}
	p.Side = []section{{Title: "Details", Facts: facts("To", m.To, "From", m.FromName, "Subject", m.Subject, "Attached", attached, "Time", m.CreatedAt, "Message", id(m.ID))}}
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
	return &file{
		contentType: "text/html; charset=utf-8", policy: mailPolicy, framed: true,
		data: []byte(`<!doctype html><base target="_blank">` + m.HTML),
	}, nil
}
