package transfer

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
)

// errNoRail is the refusal of live mode without a rail, before anything is
// reserved.
var errNoRail = api.Errorf(api.Unavailable, "", "Transfers to mobile money and banks are not available in live mode at the moment. Try again later, or ask the operator.")

// rail returns the rail of a mode, or nil.
func (s *Service) rail(live bool) provider.Rail {
	if live {
		return s.config.Rail
	}
	return s.config.TestRail
}

// checkCarried refuses a transfer that no rail carries, before anything is reserved.
//
// Refusals: invalid_destination, and service_unavailable if there is no rail.
func (s *Service) checkCarried(live bool, t provider.Transfer) error {
	rail := s.rail(live)
	carrier, err := (&orders.Submission{}).RouteTransfer(rail, t)
	if err != nil || carrier != nil {
		return err
	}
	taken := orders.TransferNetworks(rail, t)
	if rail == nil || t.Channel == provider.MobileMoney && slices.Contains(taken, t.Network) {
		return errNoRail // a number of that network is carried to at other times
	}
	param, to, instead := numberParam(payout.MobileMoney), "numbers of "+t.Network, ""
	if t.Channel != provider.MobileMoney {
		param, to = "destination.bank_code", "this bank"
	}
	if len(taken) > 0 {
		instead = " Send it to a number of " + strings.Join(taken, " or ") + "."
	}
	return api.Errorf(api.InvalidDestination, param, "Money cannot be sent to %s here.%s", to, instead)
}

// checkWithRail asks the rail, if the rail can tell, whether it accepts a destination.
func (s *Service) checkWithRail(ctx context.Context, rail provider.Rail, t provider.Transfer, param string) error {
	checker, ok := rail.(provider.Checker)
	if !ok {
		return nil
	}
	_, err := orders.CallHost(ctx, func(ctx context.Context, t provider.Transfer) (struct{}, error) {
		return struct{}{}, checker.Check(ctx, t)
	}, t)
	var refusal *provider.Refusal
	if errors.As(err, &refusal) {
		told := refusal.Filled()
		if told.Code == api.ProviderBalanceInsufficient {
			param = "" // the destination is not at fault
			orders.LogBalanceInsufficient(ctx, s.engine.Log, orders.Transfers, "live", t.Live)
		}
		return api.Errorf(told.Code, param, "%s", told.Message)
	}
	if err != nil {
		// The error may quote the number, which must not reach the log.
		s.engine.Log.WarnContext(ctx, "the rail could not check a destination", "type", t.Channel)
	}
	return nil
}
