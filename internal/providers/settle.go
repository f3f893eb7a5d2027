package providers

import (
	"context"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
)

// Settle implements [provider.Service].
func (s *Service) Settle(ctx context.Context, caller api.Caller, id string, r provider.Result) error {
	f := s.flowOf(id)
	if caller.Live {
		return api.Errorf(api.PermissionDenied, "", "A %s can be settled by hand in test mode only.", f.Name)
	}
	ref, err := f.rules.Find(ctx, caller, id)
	if err != nil {
		return err
	}
	return f.settle(ctx, caller, ref, r)
}

// settleParams are the parameters of Settle in the form that fingerprints of stored idempotency
// keys have.
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
