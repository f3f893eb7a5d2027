package payments

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
)

// Once makes the host's own call safe to repeat under the caller's idempotency key. A replay
// returns the first answer and sets caller.Replayed. The same key with another name or other params
// is refused with idempotency_key_reused. If call fails, Once stores nothing. Without a key, Once
// just runs call. The host's routes and /v1 share one set of keys.
//
// name identifies the call and begins with the host's own prefix, as in "acme.top_up". params are
// the call's parameters without secrets. Equal params must marshal to equal JSON. T must survive a
// round trip through encoding/json. Once stores the answer as JSON for 30 days, or for
// Config.IdempotencyRetention. The erasure of a customer removes that person's data from an
// answer that is an object of this library, such as a payment. Keep other personal data out of T.
//
// call may run more than once: the process may die before Once stores the answer, and two repeated
// calls may run at once. Give each effect inside call its own idempotency key, derived from the
// caller's. Do not pass the caller's own key to a method of this library: Once uses it for the
// whole call.
func Once[T any](ctx context.Context, s *Service, caller api.Caller, name string, params any, call func() (*T, error)) (*T, error) {
	return engine.RunAndStoreAnswer(ctx, s.engine, caller, engine.Operation{Name: name, Params: params}, call)
}
