// Package outbox is the worker that sends the queued messages. It stands above the other
// packages. It asks package invoicing for the PDF that an e-mail needs, and passes it to package
// message, which owns the queue, the retries and the outcome.
//
// The worker makes the PDF when it sends the e-mail. A copy in the queue would take tens of
// kilobytes, and hold personal data that erasure would have to find.
package outbox

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/storage"
)

// renderTimeout bounds the making of one PDF, which may wait for others.
const renderTimeout = 15 * time.Second

// Job sends the messages that are due.
func Job(messages *message.Internal, invoices *invoicing.Service, log *slog.Logger) work.Job {
	o := &outbox{messages, invoices, log}
	const atATime = 32 // most of the time goes to waiting for the host's senders
	return work.Job{Kind: messages.Kind(), Timeout: time.Minute, Batch: atATime, RunOne: o.send}
}

type outbox struct {
	messages *message.Internal
	invoices *invoicing.Service
	log      *slog.Logger
}

// send sends one message. A failure to make the PDF counts as a failed attempt of the message.
func (o *outbox) send(ctx context.Context, r storage.Record) error {
	m, err := o.messages.Open(r)
	if err != nil {
		return err
	}
	attachment, failed := o.attachment(ctx, m)
	return o.messages.Send(ctx, m, attachment, failed)
}

// attachment makes the PDF for the message's document; nil for none.
func (o *outbox) attachment(ctx context.Context, m *message.Outgoing) (a *message.Attachment, err error) {
	document := m.Document()
	if document == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, renderTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			a, err = nil, fmt.Errorf("outbox: make the PDF of %s: panic", document)
			o.log.ErrorContext(ctx, "making a PDF panicked", "document", document, "stack", string(debug.Stack()))
		}
	}()
	a, err = o.invoices.Attachment(ctx, m.Caller(), document)
	if err != nil {
		return nil, fmt.Errorf("outbox: make the PDF of %s: %w", document, err)
	}
	return a, nil
}
