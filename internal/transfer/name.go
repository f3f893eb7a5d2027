package transfer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
)

func (s *Payouts) LookUpAccountName(ctx context.Context, caller api.Caller, p payout.DestinationParams) (*payout.AccountName, error) {
	if s.engine.Host != nil {
		return nil, fmt.Errorf("payout: look up a name: %w", api.ErrNetworkInTx)
	}
	op := engine.Operation{Name: "account_name.look_up", Params: p}
	// The call changes nothing, but with an idempotency key a replay gets the stored answer.
	return engine.RunAndStoreAnswer(ctx, s.engine, caller, op, func() (*payout.AccountName, error) {
		return s.lookUpName(ctx, caller, p)
	})
}

// lookUpName runs LookUpAccountName for a call that is not a replay.
func (s *Payouts) lookUpName(ctx context.Context, caller api.Caller, p payout.DestinationParams) (*payout.AccountName, error) {
	if p.Type == "" {
		p.Type = payout.MobileMoney
		if p.PhoneNumber == "" && (p.AccountNumber != "" || p.BankCode != "") {
			p.Type = payout.BankTransfer
		}
	}
	if p.Type == payout.ServiceWallet {
		return nil, api.Invalid("type", "type must be mobile_money or bank_transfer. The name of a service wallet comes from POST /v1/lookup/service-id.")
	}
	shown, to, err := parseDestination(&p, s.config.Banks)
	if err != nil {
		return nil, alone("destination", err)
	}
	if err := s.countNameLookup(ctx, caller); err != nil {
		return nil, err
	}
	name, err := s.accountName(ctx, caller.Live, shown.Type, to)
	if err != nil {
		return nil, alone("destination", err)
	}
	return &payout.AccountName{
		Object: "account_name_lookup", Type: shown.Type, Provider: *shown.Provider, Number: shown.Number, Name: name,
	}, nil
}

// alone removes the enclosing object's name from a refusal's parameter. It is the opposite of
// [api.Error.Under].
func alone(object string, err error) error {
	var refusal *api.Error
	if !errors.As(err, &refusal) {
		return err
	}
	bare := *refusal
	bare.Message = strings.ReplaceAll(bare.Message, object+".", "")
	bare.Param = strings.TrimPrefix(bare.Param, object+".")
	return &bare
}

// errNoNames is the refusal if the rail cannot tell names, or cannot do so now.
var errNoNames = api.Errorf(api.Unavailable, "", "The provider does not tell the name of this account at the moment. Try again later, or go on without its name.")

// accountName asks the rail of a mode for the name of an account.
func (s *Service) accountName(ctx context.Context, live bool, t payout.Type, to *target) (string, error) {
	rail := s.rail(live)
	if rail == nil {
		return "", errNoRail
	}
	of := to.providerTransfer()
	of.Live = live
	if err := s.checkCarried(live, of); api.CodeOf(err) == api.InvalidDestination {
		return "", err
	}
	enquirer, ok := rail.(provider.NameEnquirer)
	if !ok {
		return "", errNoNames
	}
	name, err := orders.CallHost(ctx, enquirer.AccountName, to.enquiry(live))
	var refusal *provider.Refusal
	if errors.As(err, &refusal) {
		told := refusal.Filled()
		return "", api.Errorf(told.Code, numberParam(t), "%s", told.Message)
	}
	name = orders.Truncate(strings.Join(strings.Fields(strings.Map(printable, name)), " "), api.MaxName)
	if err != nil || name == "" {
		// The error may quote the number, which must not reach the log.
		s.engine.Log.WarnContext(ctx, "the rail could not tell the name of an account", "type", t)
		return "", errNoNames
	}
	return name, nil
}

func printable(r rune) rune {
	if unicode.IsControl(r) || r == unicode.ReplacementChar {
		return ' '
	}
	return r
}

// numberParam is the parameter that names an external account.
func numberParam(t payout.Type) string {
	if t == payout.BankTransfer {
		return "destination.account_number"
	}
	return "destination.phone_number"
}

// errNameMismatch refuses a transfer whose account has another name. It leaves the registered
// name out: a caller who may know it can look it up.
var errNameMismatch = api.Errorf(api.AccountNameMismatch, "destination.account_name",
	"The account is registered in another name than destination.account_name. Look the name up, and make sure that the account is the recipient's.")

// matchName refuses a transfer that requires a name, if its account has another.
func (s *Service) matchName(ctx context.Context, live bool, p *preparedTransfer) error {
	if !p.params.Destination.MatchName {
		return nil
	}
	registered, err := s.accountName(ctx, live, p.destination.Type, p.target)
	if err != nil {
		return err
	}
	if !s.config.NameMatch(p.params.Destination.AccountName, registered) {
		return errNameMismatch
	}
	return nil
}
