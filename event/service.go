package event

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
)

// Service records and lists events, and calls the subscribers of the host. It is safe for concurrent use, but for
// Subscribe. It may grow in any release: embed it in a fake.
type Service interface {
	// List returns events in the order of their commits, newest first. A reader may page forward
	// with the id of its newest event as EndingBefore. It then sees every event once, however
	// many processes write, and whatever their clocks say.
	List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[Event], error)

	// Get returns one event.
	Get(ctx context.Context, caller api.Caller, id string) (*Event, error)

	// Record writes an event of the host's own: for a fact that only the host knows, such as the change of a
	// customer in its own directory.
	//
	// Refusals: event_type_unknown, and parameter_invalid (object).
	Record(ctx context.Context, caller api.Caller, p RecordParams) (*Event, error)

	// Subscribe registers fn: from now on the background work calls it with every event of every merchant,
	// in both modes. fn gets each event at least once, in no particular order, and several at a time. The
	// ctx of a call ends after 30 seconds. After an error or a panic the worker calls fn again until it
	// succeeds, at most an hour apart. The errors of fn go to the Observer of payments.Config, and not to
	// the log. A name stands for the same subscriber in every process and after every restart. A name has 1
	// to 40 lower-case letters and underscores. Health counts the due calls of all subscribers together,
	// without those that wait to be tried again.
	//
	// Before you remove a subscriber, let fn return nil for more than an hour, so that the calls that wait
	// for it end. Calls for a name that no process has are tried each hour, for ever.
	//
	// Call Subscribe before any other method, and not concurrently, in every process that works on the
	// store: a subscriber misses the events of a process that does not know it. Subscribe panics on a name
	// that is taken or not well formed, on a nil fn, and inside the host's transaction. Each is a
	// bug that shows when the program starts.
	Subscribe(name string, fn Subscriber)
}

// Subscriber is a function of the host that gets events. caller is the merchant of the event.
// After an error or a panic the library calls it again with the event.
type Subscriber func(ctx context.Context, caller api.Caller, e Event) error
