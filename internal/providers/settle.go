package providers

import (
	"context"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
)

// Settle implements [provider.Service]: it plays the provider in test mode.
func (s *Service) Settle(ctx context.Context, caller api.Caller, id string, r provider.Result) error {
	if caller.Live {
		return api.Errorf(api.PermissionDenied, "", "A %s can be settled by hand in test mode only.", s.flowOf(id).Name)
	}
	owner := s.ownerOf(id)
	if s.flowOf(id) == s.refunds { // an id does not tell whether a payment or a top-up is refunded
		entry, _, err := s.refunds.FindInIndex(ctx, s.engine, id, "refund")
		switch {
		case err == nil:
			owner = s.refunds.owners[entry.Object]
		case api.CodeOf(err) != api.ResourceMissing: // one to a wallet is in no index
			return err
		}
	}
	ref, err := owner.FindOwnOrder(ctx, caller, id)
	if err != nil {
		return err
	}
	return s.flowOf(id).owners[ref.Object].settle(ctx, caller, ref, r)
}

// settleParams are the parameters of a call of Settle, from which the fingerprint of its
// idempotency key is computed. Keys are stored, so their form stays that of the release that
// stored them.
type settleParams struct {
	ID     string `json:"id"`
	Result any    `json:"result"`
}

// settleFingerprint is the form for transfers and charges.
func settleFingerprint(id string, r provider.Result) settleParams {
	return settleParams{id, struct {
		Outcome   provider.Outcome
		Reference string
		Reason    provider.Refusal
		Again     time.Duration
	}{r.Outcome, r.Reference, r.Reason, r.PollAfter}}
}

// legacyRefundFingerprint is the form for refunds, in the words of an earlier release.
func legacyRefundFingerprint(id string, r provider.Result) settleParams {
	words := map[provider.Outcome]string{provider.Paid: "refunded", provider.Refused: "declined", provider.Reversed: "reversed", provider.InProgress: "undecided", provider.NotFound: "unseen"}
	return settleParams{id, struct {
		Outcome, Reference, Reason string
		Again                      time.Duration
	}{words[r.Outcome], r.Reference, r.Reason.Message, r.PollAfter}}
}
