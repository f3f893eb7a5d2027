package httpapi

import (
	"context"
	"io"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
)

// The library's services write the JSON of what they return themselves: they copy most of it from the database,
// which costs less than to encode it. No public interface has these methods. The handlers below look for them,
// and encode what any other service returns, such as a host's fake.

type ownJSON interface {
	// GetJSON writes the JSON of what Get returns, and a newline.
	GetJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error
}

type ownListJSON[P any] interface {
	// ListJSON writes the JSON of what List returns, and a newline.
	ListJSON(ctx context.Context, caller api.Caller, p P, w io.Writer) error
}

// secondNoun is the second noun of a service, whose methods have names of their own.
type secondNoun[P any] struct {
	get  func(ctx context.Context, caller api.Caller, id string, w io.Writer) error
	list func(ctx context.Context, caller api.Caller, p P, w io.Writer) error
}

func (n secondNoun[P]) GetJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error {
	return n.get(ctx, caller, id, w)
}

func (n secondNoun[P]) ListJSON(ctx context.Context, caller api.Caller, p P, w io.Writer) error {
	return n.list(ctx, caller, p, w)
}

// customersOf returns the JSON of customers that a service writes itself; nil if it writes none.
func customersOf(service any) any {
	own, ok := service.(interface {
		GetCustomerJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error
		ListCustomersJSON(ctx context.Context, caller api.Caller, p account.ListCustomersParams, w io.Writer) error
	})
	if !ok {
		return nil
	}
	return secondNoun[account.ListCustomersParams]{own.GetCustomerJSON, own.ListCustomersJSON}
}

// batchesOf does the same for batches.
func batchesOf(service any) any {
	own, ok := service.(interface {
		GetBatchJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error
		ListBatchesJSON(ctx context.Context, caller api.Caller, p disbursement.ListBatchesParams, w io.Writer) error
	})
	if !ok {
		return nil
	}
	return secondNoun[disbursement.ListBatchesParams]{own.GetBatchJSON, own.ListBatchesJSON}
}

// getFrom answers with the object of the service that get returns.
func getFrom[T any](service any, get func(context.Context, api.Caller, string) (*T, error)) handler {
	if own, ok := service.(ownJSON); ok {
		return plain(func(r *request) (any, error) { return answerJSON(r, r.id(), own.GetJSON) })
	}
	return withID(get)
}

// listFrom answers with the list of the service that list returns.
func listFrom[P, T any](service any, list func(context.Context, api.Caller, P) (*api.List[T], error), enums ...enum) handler {
	return decoded(fromQuery[P](enums), listing(service, list))
}

// listing makes the answer with the list for parameters.
func listing[P, T any](service any, list func(context.Context, api.Caller, P) (*api.List[T], error)) func(*request, P) (any, error) {
	if own, ok := service.(ownListJSON[P]); ok {
		return func(r *request, p P) (any, error) { return answerJSON(r, p, own.ListJSON) }
	}
	return func(r *request, p P) (any, error) { return list(r.Context(), r.caller, p) }
}

func answerJSON[P any](r *request, p P, write func(context.Context, api.Caller, P, io.Writer) error) (any, error) {
	b := r.buffer()
	if err := write(r.Context(), r.caller, p, b); err != nil {
		return nil, err
	}
	return newResponse("application/json", b.Bytes()), nil
}
