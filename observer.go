package payments

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/provider"
)

// Observer observes the background work, for metrics and traces. Package otelpayments, a separate
// module, implements it for OpenTelemetry. httpapi.Observer observes requests.
//
// Many goroutines call its methods at once, and the work waits for them. The library logs a panic
// in them and goes on.
type Observer interface {
	// The library calls BeginWork before the work and passes the returned context to it. So a span
	// in that context reaches the host's Rail, Charger, Texter, Mailer and subscribers. The context
	// must derive from ctx. For work that is a single store transaction, such as the fan-out of
	// events, the library calls BeginWork only after it has ended; w is then complete.
	BeginWork(ctx context.Context, w Work) context.Context
	// The library calls EndWork after the work, with the context that BeginWork returned.
	EndWork(ctx context.Context, w Work)
}

// Work is a piece of background work, such as submitting a transfer or delivering a webhook. It
// holds ids. Only Err may hold personal data.
type Work struct {
	// Queue is the name of the queue, such as "webhook_deliveries"; see [Health].
	Queue string
	// ID is the id of the object, such as "po_…"; empty for a batch.
	ID string
	// Merchant and Live are those of the object; for a batch, those of its first object.
	Merchant string
	Live     bool
	// Records is the number of objects; 1 unless the work is a batch.
	Records int
	// Wait is how long the work had been due when it began, in real time.
	Wait time.Duration

	// What follows is known when the work has ended; see BeginWork.

	// Duration is how long the work took. It and the fields below are set when the work has ended.
	Duration time.Duration
	// Outcome is one word for the result. Transfers, refunds and charges have "paid", "refused",
	// "reversed", "in_progress", "not_found" and "no_answer". "contradicted" means that the provider
	// reports the opposite of an earlier report, and "ended_before" that it had its outcome already.
	// "postponed" means that a limit of prompts or the hours of charges put it off. "no_rail" and
	// "no_charger" mean that there is no provider for it, which needs a person. Deliveries have
	// "delivered", "again" (a retry follows), "failed", "put_off" (others of the endpoint go first) and
	// "not_wanted" (the endpoint or the event is gone). Messages have "sent", "again" and "given_up".
	// Subscribers have "told" and "again". "error" is a fault of the store or of this library. Other
	// work has "done" or a word of its own. Later versions may add words.
	Outcome string
	// Attempt is the number of attempts so far; 0 if the library does not count them.
	Attempt int
	// RequestID is the id of the API request that caused the work; may be empty.
	RequestID string
	// Provider names the provider that a transfer, refund or charge was submitted to or asked about: as its
	// Order does, or else "rail" or "charger". ErrorClass is the class of the provider's error, if the call
	// failed or told another amount than the order's. Both are empty for other work.
	Provider   string
	ErrorClass provider.Class
	// Level is the level of the log line: Debug for housekeeping, Info for success, Warn for a
	// coming retry, Error for a problem that needs a person.
	Level slog.Level
	// Err is the error of failed work, or nil. An error of the host's own code, such as a Rail, may
	// quote phone numbers. So the library does not log it.
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
		Duration: w.Duration, Outcome: w.Name, Attempt: w.Attempt, RequestID: w.RequestID,
		Provider: w.Provider, ErrorClass: provider.Class(w.ErrorClass), Level: w.Level, Err: w.Err,
	}
}
