package payment

import (
	"context"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// ErasePayer removes the number of a consumer from the payments of a mode, and adds the ids
// of all payments from the wallet to ids.
func (i *Internal) ErasePayer(ctx context.Context, live bool, payer string, ids map[string]bool) error {
	in := engine.Within{Scope: storage.Scope{Live: live}, All: true}
	return engine.Rewrite(ctx, i.svc.engine, payments, in, func(o *storage.Object[record]) (bool, error) {
		if o.Value.Payer != payer {
			return false, nil
		}
		ids[o.ID] = true
		changed := o.Value.Phone != nil
		o.Value.Phone = nil
		return changed, nil
	})
}
