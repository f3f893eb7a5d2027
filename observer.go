package payments

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-7082ffec/payments/internal/work"
)

// Observer is told of the background work, for metrics and traces. Package
// otelpayments, a module of its own, is one for OpenTelemetry; that of requests is
// httpapi.Observer.
//
// Its methods are called by many goroutines at once, and hold up the work that they
// are told of. A panic in them is logged and ends nothing.
type Observer interface {
	// BeginWork is called before the work, which gets the returned context: what is
	// put into it, as a span, reaches the host's Rail, Charger, Texter, Mailer and
	// subscribers. It must come from ctx. Work that is one transaction of the store
	// and no more, as the fan-out of events or the booking of a callback that contradicts
	// an earlier one, is told of when it has ended, Duration and all.
	BeginWork(ctx context.Context, w Work) context.Context
	// EndWork is called when the work has ended, with the context of BeginWork.
	EndWork(ctx context.Context, w Work)
}

// Work is a piece of background work: carrying a transfer, delivering a webhook,
// sending a message, charging an invoice, telling a subscriber. It holds ids, and
// nothing of a person but what Err may quote.
type Work struct {
	// Queue is what kind of work it is, as "webhook_deliveries"; see [Health].
	Queue string
	// ID is of what is worked on, as "po_…"; empty for a batch.
	ID string
	// Merchant and Live say whose it is; they are of the first of a batch.
	Merchant string
	Live     bool
	// Records is how many are worked on; 1 but for a batch.
	Records int
	// Wait is for how long the work was due when it was begun, by the real time.
	Wait time.Duration

	// What follows is known when the work has ended; see BeginWork.

	// Duration is how long it took.
	Duration time.Duration
	// Outcome is what became of it, in one word: "paid", "refused", "in_progress",
	// "no_answer" of transfers, refunds and charges alike; "delivered", "again", "failed";
	// "sent", "given_up"; "contradicted" where a provider reports the opposite of what it
	// reported before, be it to a worker or in a callback; "told"; "error" for a fault of the
	// store or of this library; "done" for all else. There may be more in later versions.
	Outcome string
	// Attempt counts the tries so far; 0 where nobody counts.
	Attempt int
	// RequestID is of the API call that caused the work; may be empty.
	RequestID string
	// Level is that of the line in the log: Info for what went as it should, Warn for
	// what will be tried again, Error for what people should look at.
	Level slog.Level
	// Err is what the work failed with; nil when it did not. Where it comes from the
	// host's own code, as a Rail, it may quote what that was given, phone numbers
	// included. It is not logged for that reason.
	Err error
}

// observed passes on to the host's observer.
type observed struct{ observer Observer }

func (o observed) BeginWork(ctx context.Context, w work.Work) context.Context {
	return o.observer.BeginWork(ctx, publicWork(&w))
}

func (o observed) EndWork(ctx context.Context, w work.Work) { o.observer.EndWork(ctx, publicWork(&w)) }

func publicWork(w *work.Work) Work {
	return Work{
		Queue: w.Queue, ID: w.ID, Merchant: w.Scope.Merchant, Live: w.Scope.Live, Records: w.Records, Wait: w.Wait,
		Duration: w.Duration, Outcome: w.Name, Attempt: w.Attempt, RequestID: w.RequestID, Level: w.Level, Err: w.Err,
	}
}
