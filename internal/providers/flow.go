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

// owner makes the orders of an object, and knows their rules: payout, refund, invoice, payment, or payment's
// top-ups and their refunds.
type owner interface {
	// FindOwnOrder returns the order of the caller's with that id.
	FindOwnOrder(ctx context.Context, e *engine.Engine, caller api.Caller, id string) (dispatch.Ref, error)
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
	info.Reported, info.LastError = e.Reported, e.LastError
	if e.ReportedAt != nil {
		info.ReportedAt = e.ReportedAt.Time
	}
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
	object := "payout" // and disbursement: package transfer makes both
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
