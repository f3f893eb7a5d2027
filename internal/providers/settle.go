package providers

import (
	"context"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/provider"
)

// Settle implements [provider.Service].
func (s *Service) Settle(ctx context.Context, caller api.Caller, id string, r provider.Result) error {
	k := kindOf(id)
	if caller.Live {
		return api.Errorf(api.PermissionDenied, "", "A %s can be settled by hand in test mode only.", k.Name)
	}
	switch k {
	case dispatch.Refunds:
		ref := dispatch.Ref{Object: "refund", ID: id, Record: id}
		return settle(ctx, s, caller, ref, refundSettling(id, r), r, s.config.Refunds.Load)
	case dispatch.Charges:
		entry, owner, err := k.Find(ctx, s.engine, id, k.Name)
		if err != nil {
			return err
		}
		if owner.Merchant != caller.Merchant || owner.Live {
			return api.NoSuch(k.Name)
		}
		return settle(ctx, s, caller, entry.Ref(id), transferSettling(id, r), r, s.config.Invoices.Load)
	}
	// One that never left the service, to a wallet, is in no index.
	of, err := s.config.Payouts.Find(ctx, caller, id)
	if err != nil {
		return err
	}
	if of == nil {
		return api.NoSuch(k.Name)
	}
	ref := dispatch.Ref{Object: of.Object, ID: id, Record: id}
	return settle(ctx, s, caller, ref, transferSettling(id, r), r, s.config.Payouts.Load)
}

// settle books a result under the caller's idempotency key. The answer that it keeps is the
// object as it is afterwards.
func settle[T any](ctx context.Context, s *Service, caller api.Caller, ref dispatch.Ref, params settleParams, r provider.Result, shown func(*engine.Tx, dispatch.Ref) (*T, string, error)) error {
	call := engine.Call{Name: ref.Object + ".settle", Params: params}
	_, err := engine.Execute(ctx, s.engine, caller, call, func(tx *engine.Tx) (*T, error) {
		decision, err := s.book(ctx, tx, ref, r)
		if err != nil {
			return nil, err
		}
		object, status, err := shown(tx, ref)
		if err == nil && decision == dispatch.Contradict { // refused, and so noted nowhere
			err = api.Errorf(api.TransferSettled, "", "This %s is %s already.", ref.Object, status)
		}
		return object, err
	})
	return err
}

// settleParams is what a call of Settle says, in the form of which the fingerprints of kept
// idempotency keys are made.
type settleParams struct {
	ID     string `json:"id"`
	Result any    `json:"result"`
}

func transferSettling(id string, r provider.Result) settleParams {
	return settleParams{id, struct {
		Outcome   provider.Outcome
		Reference string
		Reason    provider.Refusal
		Again     time.Duration
	}{r.Outcome, r.Reference, r.Reason, r.PollAfter}}
}

func refundSettling(id string, r provider.Result) settleParams {
	words := map[provider.Outcome]string{provider.Paid: "refunded", provider.Refused: "declined", provider.InProgress: "undecided", provider.NotFound: "unseen"}
	return settleParams{id, struct {
		Outcome, Reference, Reason string
		Again                      time.Duration
	}{words[r.Outcome], r.Reference, r.Reason.Message, r.PollAfter}}
}
