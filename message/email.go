package message

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
)

// Mailer sends one e-mail. It may be called again with the same message when its
// outcome was lost, and must be safe for concurrent use. An error means that the
// message is tried again. Package invoice/smtp has one.
type Mailer interface {
	SendEmail(ctx context.Context, e Email) error
}

// Email is one e-mail. The address that it comes from is the Mailer's business;
// FromName is the merchant on whose behalf it goes.
type Email struct {
	// ID is the message's, the same whenever it is sent again.
	ID       string
	To       string
	FromName string
	Subject  string
	// Text and HTML say the same. HTML fetches nothing from elsewhere.
	Text, HTML  string
	Attachments []Attachment
}

// Attachment is a file that goes with an e-mail.
type Attachment struct {
	Name, Type string
	Data       []byte
}

// CanEmail reports whether an e-mail of that mode would reach anybody, if only the
// list of test mode.
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
	return i.queue(tx, r)
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
