package message

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
)

// Mailer sends one e-mail. It must be safe for concurrent use. ctx ends after 15 seconds. After an
// error, or when the outcome was lost, the library calls SendEmail again with the same message.
// After nine failed attempts, about a day, the library gives up; after an [ErrUndeliverable] it does
// so at once. Package provider/smtp has a Mailer.
type Mailer interface {
	SendEmail(ctx context.Context, e Email) error
}

// Email is one e-mail. The Mailer chooses the address of the sender. FromName is the merchant
// on whose behalf it is sent.
type Email struct {
	// ID is that of the message; it is the same whenever the library sends it again.
	ID       string
	To       string
	FromName string
	Subject  string
	// Text and HTML have the same content. HTML loads nothing from other servers.
	Text, HTML  string
	Attachments []Attachment
}

// Attachment is a file attached to an e-mail.
type Attachment struct {
	Name, Type string
	Data       []byte
}

// CanEmail reports whether an e-mail of a mode would be sent, or at least listed in test mode.
func (i *Internal) CanEmail(live bool) bool { return !live || i.svc.config.Mailer != nil }

// Email queues an e-mail in the caller's transaction. person is as for Text. document is the id
// of the invoice or refund whose PDF the worker attaches; empty for none. Without a Mailer live
// mode queues nothing.
func (i *Internal) Email(tx *engine.Tx, person string, e Email, document string) error {
	if e.To == "" || !i.CanEmail(tx.Caller.Live) {
		return nil
	}
	r := record{
		Message: Message{
			ID: tx.NewID("msg_"), Object: "message", Kind: KindEmail,
			To: e.To, Subject: e.Subject, Text: e.Text, CreatedAt: api.At(tx.Now),
		},
		FromName: e.FromName, HTML: e.HTML, Attach: document, Person: person,
	}
	return i.queue(tx, r, tx.Now)
}

// email sends a queued e-mail.
func (i *Internal) email(ctx context.Context, caller api.Caller, r *record, attachment *Attachment) error {
	mailer := i.svc.config.Mailer
	if !caller.Live {
		mailer = i.svc.config.TestMailer
	}
	e := Email{ID: r.ID, To: r.To, FromName: r.FromName, Subject: r.Subject, Text: r.Text, HTML: r.HTML}
	if attachment != nil {
		e.Attachments = []Attachment{*attachment}
	}
	return mailer.SendEmail(ctx, e)
}
