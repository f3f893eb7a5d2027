package event

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
)

// Subscriber is a function of the host that gets events. caller is the merchant of the event.
// After an error or a panic the library calls it again with the event.
type Subscriber func(ctx context.Context, caller api.Caller, e Event) error
