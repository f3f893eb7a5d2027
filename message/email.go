package message

import (
	"context"
	"fmt"

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

// Attacher makes the attachment that a queued e-mail names. It is called when the
// e-mail is sent, so that the queue holds no files.
type Attacher func(ctx context.Context, caller api.Caller, name string) (*Attachment, error)

// CanEmail reports whether an e-mail of that mode would reach anybody, if only the
// list of test mode.
func (i *Internal) CanEmail(live bool) bool { return !live || i.svc.config.Mailer != nil }

// Email queues an e-mail in the caller's transaction. person is as for Text. attach is what the
// [Attacher] is called with; empty for nothing. Without a Mailer live mode queues
// nothing.
func (i *Internal) Email(tx *engine.Tx, person string, e Email, attach string) error {
	if e.To == "" || !i.CanEmail(tx.Caller.Live) {
		return nil
	}
	r := record{
		Message: Message{
			ID: tx.NewID("msg_"), Object: "message", Kind: KindEmail,
			To: e.To, Subject: e.Subject, Text: e.Text, CreatedAt: api.At(tx.Now),
		},
		FromName: e.FromName, HTML: e.HTML, Attach: attach, Person: person,
	}
	return i.queue(tx, r)
}

// email sends a queued e-mail.
func (b *outbox) email(ctx context.Context, caller api.Caller, r *record) error {
	mailer := b.svc.config.Mailer
	if !caller.Live {
		mailer = b.svc.config.TestMailer
	}
	e := Email{ID: r.ID, To: r.To, FromName: r.FromName, Subject: r.Subject, Text: r.Text, HTML: r.HTML}
	if r.Attach != "" && b.attach != nil {
		attachment, err := b.attach(ctx, caller, r.Attach)
		if err != nil {
			return fmt.Errorf("message: attachment: %w", err)
		}
		e.Attachments = []Attachment{*attachment}
	}
	return mailer.SendEmail(ctx, e)
}
