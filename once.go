package payments

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
)

// Once makes a call of the host's own safe to repeat, under the idempotency key of the
// caller, as the calls of this library are: a repetition gets the first answer, and
// marks the caller's Replayed; the same key with another name or other params is refused
// with idempotency_key_reused; a call that fails keeps nothing. Without a key it is
// call alone. Routes of the host's beside /v1 share their keys with those of /v1 by it.
//
// name says which call it is, and begins with something of the host's, as
// "acme.top_up"; params is what it was called with, without secrets, and marshals to
// the same JSON whenever it is the same. T must survive encoding/json: the answer is
// kept for 30 days as JSON, and a customer who is erased is taken out of it.
//
// call makes its changes in transactions of its own, so it may run more than once: the
// process may die before its answer is kept, and two repetitions may come at the same
// time. What must not happen twice bears a key of its own, derived from the caller's, as
// [account.Service.Deposit] can; a call of this library in it must not be given the caller's own
// key, which is that of the whole.
func Once[T any](ctx context.Context, s *Service, caller api.Caller, name string, params any, call func() (*T, error)) (*T, error) {
	return engine.Memoize(ctx, s.engine, caller, engine.Operation{Name: name, Params: params}, call)
}
