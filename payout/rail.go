package payout

import (
	"context"
	"errors"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/provider"
)

// errNoRail is the refusal of live mode without a rail, before anything is
// reserved.
var errNoRail = api.Errorf(api.Unavailable, "", "Transfers to mobile money and banks are not available in live mode at the moment. Try again later, or ask the operator.")

// rail returns the rail of a mode, or nil.
func (in *Internal) rail(live bool) provider.Rail {
	if live {
		return in.config.Rail
	}
	return in.config.TestRail
}

// checkWithRail asks the rail, if the rail can tell, whether it accepts a destination.
func (in *Internal) checkWithRail(ctx context.Context, rail provider.Rail, t provider.Transfer, param string) error {
	checker, ok := rail.(provider.Checker)
	if !ok {
		return nil
	}
	_, err := dispatch.CallHost(ctx, func(ctx context.Context, t provider.Transfer) (struct{}, error) {
		return struct{}{}, checker.Check(ctx, t)
	}, t)
	var refusal *provider.Refusal
	if errors.As(err, &refusal) {
		told := refusal.Filled()
		if told.Code == api.ProviderBalanceInsufficient {
			param = "" // the destination is not at fault
			dispatch.LogBalanceInsufficient(ctx, in.engine.Log, dispatch.Transfers, "live", t.Live)
		}
		return api.Errorf(told.Code, param, "%s", told.Message)
	}
	if err != nil {
		// The error may quote the number, which must not reach the log.
		in.engine.Log.WarnContext(ctx, "the rail could not check a destination", "type", t.Channel)
	}
	return nil
}
