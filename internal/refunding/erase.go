package refunding

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/storage"
)

// forgetDeleted removes the payer's number from a refund that is about to end, if the customer was
// deleted in the meantime.
func (r *record) forgetDeleted(tx *engine.Tx) error {
	if r.Customer == "" {
		return nil
	}
	deleted, err := pii.Deleted(tx, engine.Scope(tx.Caller), r.Customer)
	if err != nil {
		return fmt.Errorf("refund: customer: %w", err)
	}
	if deleted {
		r.forgetNumber()
	}
	return nil
}

// forgetNumber removes the payer's number.
func (r *record) forgetNumber() { r.Phone = "" }

// ErasePayments removes the payer's number from the ended refunds of some payments. Any other refund of
// a deleted customer loses it when it ends.
func (s *Service) ErasePayments(ctx context.Context, caller api.Caller, payments []string) error {
	for _, payment := range payments {
		q := storage.Query{Where: engine.Where(nil, "payment", payment), Limit: api.MaxLimit}
		err := engine.UpdateEach(ctx, s.engine, caller, refunds, q, func(tx *engine.Tx, o *storage.Object[record]) error {
			if !o.Value.ended() || o.Value.Phone == "" {
				return nil
			}
			o.Value.Phone = ""
			return refunds.Replace(tx, o)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ErasePhone removes a payer's number from the ended refunds, and returns the number of those still
// under way.
func (s *Service) ErasePhone(ctx context.Context, within engine.Within, number string) (open int, err error) {
	under := map[string]bool{}
	err = engine.Rewrite(ctx, s.engine, refunds, within, func(o *storage.Object[record]) (bool, error) {
		if o.Value.Phone != number {
			return false, nil
		}
		if !o.Value.ended() {
			under[o.ID] = true
			return false, nil
		}
		o.Value.Phone = ""
		return true, nil
	})
	return len(under), err
}

// Retention returns the rule that removes the payer's number from ended refunds.
func (s *Service) Retention() []retention.Rule {
	return []retention.Rule{retention.PartRule(refunds, s.engine.NumberRetention, func(r *record) (api.Time, bool) {
		return r.CreatedAt, r.ended() && r.Phone != ""
	}, (*record).forgetNumber)}
}
