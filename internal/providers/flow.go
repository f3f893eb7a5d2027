package providers

import (
	"context"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/provider"
)

// flow is a flow of orders, with the package that makes them.
type flow struct {
	*dispatch.Flow
	owner orderOwner
	// settle books a result that a test makes up, under the caller's idempotency key.
	settle func(ctx context.Context, caller api.Caller, ref dispatch.Ref, r provider.Result) error
}

// orderOwner is the package that makes the orders of a flow: payout, refund or invoice. It
// knows their rules.
type orderOwner interface {
	// FindOwnOrder returns the order of the caller's with that id.
	FindOwnOrder(ctx context.Context, caller api.Caller, id string) (dispatch.Ref, error)
	// Begin counts an attempt for an object and returns the call of the provider; nil where
	// there is nothing to call.
	Begin(ctx context.Context, tx *engine.Tx, object, id string) (*dispatch.Call, error)
	// Book books a result of an order.
	Book(ctx context.Context, tx *engine.Tx, ref dispatch.Ref, r provider.Result) (dispatch.Decision, error)
	// Info describes an order that has this entry.
	Info(tx *engine.ReadTx, ref dispatch.Ref, e *dispatch.Entry) (*provider.OrderInfo, error)
}

// ownerOf is the owner of orders that are part of objects of type T.
type ownerOf[T any] interface {
	orderOwner
	// Load returns the object as hosts see it, and the word for its status.
	Load(tx *engine.Tx, ref dispatch.Ref) (*T, string, error)
}

// newFlow returns a flow. fingerprint returns what the fingerprint of a call of Settle is
// computed from.
func newFlow[T any](e *engine.Engine, of *dispatch.Flow, owner ownerOf[T], fingerprint func(string, provider.Result) settleParams) *flow {
	return &flow{of, owner, func(ctx context.Context, caller api.Caller, ref dispatch.Ref, r provider.Result) error {
		op := engine.Operation{Name: ref.Object + ".settle", Params: fingerprint(ref.ID, r)}
		_, err := engine.Execute(ctx, e, caller, op, func(tx *engine.Tx) (*T, error) {
			decision, err := owner.Book(ctx, tx, ref, r)
			if err != nil {
				return nil, err
			}
			object, status, err := owner.Load(tx, ref)
			if err == nil && decision == dispatch.Contradicted { // the error rolls back what Book noted
				err = api.Errorf(api.TransferSettled, "", "This %s is %s already.", ref.Object, status)
			}
			return object, err
		})
		return err
	}}
}

// info describes an order that has this entry.
func (f *flow) info(tx *engine.ReadTx, ref dispatch.Ref, e *dispatch.Entry) (*provider.OrderInfo, error) {
	info, err := f.owner.Info(tx, ref, e)
	if err != nil {
		return nil, err
	}
	if info.ID == "" {
		info.ID = ref.ID
	}
	info.Flow, info.Object, info.Record = f.Name, ref.Object, ref.Record
	info.Merchant, info.Live, info.Contradiction = tx.Caller.Merchant, tx.Caller.Live, e.Contradiction
	info.CreatedAt = e.CreatedAt.Time
	return info, nil
}

// flowOf returns the flow of orders whose ids look like this one.
func (s *Service) flowOf(id string) *flow {
	switch {
	case strings.HasPrefix(id, "re_"):
		return s.refunds
	case strings.HasPrefix(id, "att_"):
		return s.charges
	}
	return s.transfers
}

// all are the flows.
func (s *Service) all() []*flow { return []*flow{s.transfers, s.refunds, s.charges} }
