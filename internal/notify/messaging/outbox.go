package messaging

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/storage"
)

// renderTimeout bounds the making of one PDF, which may wait for others.
const renderTimeout = 15 * time.Second

// Attachments makes the documents of e-mails.
type Attachments interface {
	// Attachment makes the PDF of an invoice or refund, whose id it gets.
	Attachment(ctx context.Context, caller api.Caller, document string) (*message.Attachment, error)
}

// SetAttachments sets, once and before the jobs run, what makes the documents of e-mails.
func (s *Service) SetAttachments(a Attachments) error {
	if a == nil {
		return errors.New("message: nothing makes the documents of e-mails")
	}
	s.attachments = a
	return nil
}

// Jobs returns the job that sends the messages that are due.
func (s *Service) Jobs() []work.Job {
	const atATime = 32 // most of the time goes to waiting for the host's senders
	return []work.Job{{Kind: messages.Kind(), Timeout: time.Minute, Batch: atATime, RunOne: s.sendDue}}
}

// sendDue sends one message. A failure to make the PDF counts as a failed attempt of the message.
func (s *Service) sendDue(ctx context.Context, r storage.Record) error {
	m, err := s.open(r)
	if err != nil {
		return err
	}
	attachment, failed := s.attachment(ctx, m)
	return s.deliver(ctx, m, attachment, failed)
}

// attachment makes the PDF for the message's document; nil for none. It is made when the e-mail is sent: a copy in
// the queue would take tens of kilobytes, and hold personal data that an erasure would have to find.
func (s *Service) attachment(ctx context.Context, m *outgoing) (a *message.Attachment, err error) {
	document := m.document()
	if document == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, renderTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			a, err = nil, fmt.Errorf("message: make the PDF of %s: panic", document)
			s.engine.Log.ErrorContext(ctx, "making a PDF panicked", "document", document, "stack", string(debug.Stack()))
		}
	}()
	a, err = s.attachments.Attachment(ctx, m.caller, document)
	if err != nil {
		return nil, fmt.Errorf("message: make the PDF of %s: %w", document, err)
	}
	return a, nil
}
