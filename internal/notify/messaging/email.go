package messaging

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/message"
)

// CanEmail reports whether an e-mail of a mode would be sent, or at least listed in test mode.
func (s *Service) CanEmail(live bool) bool { return !live || s.config.Mailer != nil }

// Email queues an e-mail in the caller's transaction. person is as for Text. document is the id
// of the invoice or refund whose PDF the worker attaches; empty for none. Without a Mailer live
// mode queues nothing.
func (s *Service) Email(tx *engine.Tx, person string, e message.Email, document string) error {
	if e.To == "" || !s.CanEmail(tx.Caller.Live) {
		return nil
	}
	r := record{
		Message: message.Message{
			ID: tx.NewID("msg_"), Object: "message", Kind: message.KindEmail,
			To: e.To, Subject: e.Subject, Text: e.Text, CreatedAt: api.At(tx.Now),
		},
		FromName: e.FromName, HTML: e.HTML, Attach: document, Person: person,
	}
	return s.queue(tx, r, tx.Now)
}

// email sends a queued e-mail.
func (s *Service) email(ctx context.Context, caller api.Caller, r *record, attachment *message.Attachment) error {
	mailer := s.config.Mailer
	if !caller.Live {
		mailer = s.config.TestMailer
	}
	e := message.Email{ID: r.ID, To: r.To, FromName: r.FromName, Subject: r.Subject, Text: r.Text, HTML: r.HTML}
	if attachment != nil {
		e.Attachments = []message.Attachment{*attachment}
	}
	return mailer.SendEmail(ctx, e)
}
