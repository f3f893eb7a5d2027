package message

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
)

// Service reads the messages of test mode, and finds short links. It is safe for concurrent use. It may grow in any
// release: embed it in a fake.
type Service interface {
	// List returns the messages of test mode, newest first. Live mode, which deletes messages once they are
	// sent, is refused with permission_denied.
	List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[Message], error)

	// Get returns one message of test mode. Live mode is refused with permission_denied.
	Get(ctx context.Context, caller api.Caller, id string) (*Detail, error)

	// CanText reports whether an SMS of a mode would be sent, or at least listed in test mode.
	CanText(live bool) bool

	// FindLink finds a short link by the secret in it. An unknown secret is resource_missing, and so is one
	// of another page.
	FindLink(ctx context.Context, page LinkPage, code string) (*Linked, error)
}
