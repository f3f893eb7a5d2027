package message

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
)

// Detail is a message with everything that its recipient sees of it.
type Detail struct {
	Message
	// FromName and HTML are of e-mails. HTML is as it was queued: whoever shows it
	// keeps it from running scripts.
	FromName string
	HTML     string
	// Attached is the id of the invoice or refund whose PDF goes with it; empty for none.
	Attached string
}

// Get returns one message of test mode. Live mode has none to show.
func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*Detail, error) {
	if caller.Live {
		return nil, errTestOnly
	}
	o, err := engine.Get(ctx, s.engine, caller, messages, id, "message")
	if err != nil {
		return nil, err
	}
	return &Detail{Message: o.Value.Message, FromName: o.Value.FromName, HTML: o.Value.HTML, Attached: o.Value.Attach}, nil
}

var errTestOnly = api.Errorf(api.PermissionDenied, "", "Messages can be read in test mode only.")
