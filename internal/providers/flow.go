package providers

import (
	"context"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/provider"
)

// flow is a flow of orders, with the packages that make them.
type flow struct {
	*dispatch.Flow
	// owners are those packages, by the object that an order is part of; see [dispatch.Ref].
	owners map[string]owner
}

// owner is what makes orders: payout, refund, invoice, payment, or payment's top-ups and their refunds.
type owner struct {
	orderOwner
	// settle books a result that a test makes up, under the caller's idempotency key.
	settle func(ctx context.Context, caller api.Caller, ref dispatch.Ref, r provider.Result) error
}

// orderOwner makes the orders of an object, and knows their rules.
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
	// Load returns the object as hosts see it, and the word for its status.
	Load(tx *engine.Tx, ref dispatch.Ref) (object any, status string, err error)
}

// newOwner returns an owner. fingerprint returns what the fingerprint of a call of Settle is
// computed from.
func newOwner(e *engine.Engine, of orderOwner, fingerprint func(string, provider.Result) settleParams) owner {
	return owner{of, func(ctx context.Context, caller api.Caller, ref dispatch.Ref, r provider.Result) error {
		op := engine.Operation{Name: ref.Object + ".settle", Params: fingerprint(ref.ID, r)}
		_, err := engine.Execute(ctx, e, caller, op, func(tx *engine.Tx) (*any, error) {
			decision, err := of.Book(ctx, tx, ref, r)
			if err != nil {
				return nil, err
			}
			object, status, err := of.Load(tx, ref)
			switch { // the error rolls back what Book noted
			case err != nil:
			case ref.Object == "payment" && (decision == dispatch.Contradicted || decision == dispatch.AlreadyBooked):
				err = api.Errorf(api.PaymentNotSettleable, "", "This payment is %s already.", status)
			case decision == dispatch.Contradicted:
				err = api.Errorf(api.TransferSettled, "", "This %s is %s already.", strings.ReplaceAll(ref.Object, "_", " "), status)
			}
			return &object, err
		})
		return err
	}}
}

// info describes an order that has this entry.
func (f *flow) info(tx *engine.ReadTx, ref dispatch.Ref, e *dispatch.Entry) (*provider.OrderInfo, error) {
	info, err := f.owners[ref.Object].Info(tx, ref, e)
	if err != nil {
		return nil, err
	}
	if info.ID == "" {
		info.ID = ref.ID
	}
	info.Flow, info.Object, info.Record = f.Name, ref.Object, ref.Record
	info.Merchant, info.Live, info.Contradiction = tx.Caller.Merchant, tx.Caller.Live, e.Contradiction
	info.Reported = e.Reported
	if e.ResolvedAt != nil {
		info.ResolvedAt = e.ResolvedAt.Time
	}
	info.CreatedAt, info.ProviderFee = e.CreatedAt.Time, e.ProviderFee
	if info.Route == "" { // an ended charge of an invoice has left no other trace of it
		info.Route = e.Route
	}
	return info, nil
}

// flowOf returns the flow of orders whose ids look like this one.
func (s *Service) flowOf(id string) *flow {
	switch {
	case strings.HasPrefix(id, "re_"):
		return s.refunds
	case strings.HasPrefix(id, "att_"), strings.HasPrefix(id, "pay_"), strings.HasPrefix(id, "tu_"):
		return s.charges
	}
	return s.transfers
}

// ownerOf returns what makes orders whose ids look like this one. The refund of a top-up looks like
// any other refund.
func (s *Service) ownerOf(id string) owner {
	object := "payout" // and disbursement: package payout makes both
	switch {
	case strings.HasPrefix(id, "re_"):
		object = "refund"
	case strings.HasPrefix(id, "att_"):
		object = "invoice"
	case strings.HasPrefix(id, "pay_"):
		object = "payment"
	case strings.HasPrefix(id, "tu_"):
		object = "top_up"
	}
	return s.flowOf(id).owners[object]
}

func (s *Service) all() []*flow { return []*flow{s.transfers, s.refunds, s.charges} }
