package inspector

import (
	"strings"

	"github.com/seed-7082ffec/payments/message"
)

func (v *visit) messages() (*page, error) {
	list, err := v.svc.Messages.List(v.Context(), v.caller, message.ListParams{
		Page: v.page(), Kind: message.Kind(v.query.Get("kind")), To: strings.TrimSpace(v.query.Get("to")),
	})
	if err != nil {
		return nil, err
	}
	return &page{
		Title: "Messages", NavPath: "messages",
		Filter:   []field{v.filter("kind", "Kind", "sms", "email"), {Name: "to", Label: "To", Value: v.query.Get("to")}},
		Live:     []section{{Rows: rowsOf(list, v.messageRow), Empty: "There is no such message."}},
		NextPage: nextPage(v, list, func(m *message.Message) string { return m.ID }),
	}, nil
}

func (v *visit) messageRow(m *message.Message) row {
	said := m.Subject
	if said == "" {
		said = m.Text
	}
	return row{Href: v.url("messages", m.ID), Title: said, Detail: "to " + m.To, State: string(m.Kind), At: m.CreatedAt}
}

func (v *visit) message() (*page, error) {
	m, err := v.svc.Messages.Get(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	facts := nonEmpty(
		fact{Name: "To", Value: m.To},
		fact{Name: "From", Value: m.FromName},
		fact{Name: "Subject", Value: m.Subject},
		fact{Name: "Time", Value: formatTime(m.CreatedAt)},
		fact{Name: "ID", Value: m.ID, Code: true},
	)
	if strings.HasPrefix(m.Attached, "inv_") {
		facts = append(facts, fact{Name: "Attached", Value: "Open the PDF of the invoice", Href: v.url("invoices", m.Attached, "invoice.pdf")})
	}
	p := &page{Title: "SMS", NavPath: "messages", Static: []section{{Facts: facts}, {Title: "Text", Verbatim: m.Text}}}
	if m.Kind == message.KindEmail {
		p.Title = "E-mail"
		if m.HTML != "" {
			p.Static = []section{{Facts: facts}, {Title: "As it looks", Frame: v.url("messages", m.ID, "mail.html")}, {Title: "As text", Verbatim: m.Text}}
		}
	}
	return p, nil
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
