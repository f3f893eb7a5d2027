package orders

import (
	"context"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/provider"
)

// Settle implements [provider.Service]: it plays the provider in test mode.
func (s *Service) Settle(ctx context.Context, caller api.Caller, id string, r provider.Result) error {
	if caller.Live {
		return api.Errorf(api.PermissionDenied, "", "A %s can be settled by hand in test mode only.", s.flowOf(id).Name)
	}
	ref, of, err := s.findOwn(ctx, caller, id)
	if err != nil {
		return err
	}
	op := engine.Operation{Name: ref.Object + ".settle", Params: settleParams{ref.ID, r}}
	_, err = engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*any, error) {
		decision, err := of.ApplyResult(ctx, tx, ref, r)
		if err != nil {
			return nil, err
		}
		object, status, err := of.Load(tx, ref)
		switch { // the error rolls back what ApplyResult noted
		case err != nil:
		case ref.Object == "payment" && (decision == Contradicted || decision == AlreadyEnded):
			err = api.Errorf(api.PaymentNotSettleable, "", "This payment is %s already.", status)
		case decision == Contradicted:
			err = api.Errorf(api.TransferSettled, "", "This %s is %s already.", strings.ReplaceAll(ref.Object, "_", " "), status)
		}
		return &object, err
	})
	return err
}

// settleParams are the parameters of a call of Settle, for the fingerprint of its idempotency key.
type settleParams struct {
	ID     string          `json:"id"`
	Result provider.Result `json:"result"`
}
