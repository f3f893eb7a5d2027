package payments

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/payout"
)

// EraseConsumer closes a consumer's account for good and removes the person's data. It removes
// name, number and PIN from the account. For every merchant, it removes the number from payments
// and the name from transfers, and their copies in events and stored answers. It deletes messages to
// or about the consumer that wait or are kept. Bookings stay, with the account's id. EraseConsumer
// ignores caller.Merchant, so the host must call it for the operator only. It reads all records of
// the mode. After an error, call it again.
//
// Refusals: resource_missing, parameter_invalid while there is money in the account, and
// permission_denied to a merchant's caller.
func (s *Service) EraseConsumer(ctx context.Context, caller api.Caller, id string) error {
	return s.internal.erasure.EraseConsumer(ctx, caller, id)
}

// EraseAgent is EraseConsumer for a cash agent.
func (s *Service) EraseAgent(ctx context.Context, caller api.Caller, id string) error {
	return s.internal.erasure.EraseAgent(ctx, caller, id)
}

// ErasePayee removes the number and name of a phone's or bank account's holder from the merchant's
// transfers. It covers payouts, disbursements, batch rows, events and stored answers. The masked
// number stays. If d has an AccountName, it also finds transfers whose number
// [Config.NumberRetention] has removed. It reads all transfers and events of the merchant's mode.
// After an error, call it again.
//
// Refusals: those of a destination, and parameter_invalid while a transfer to the payee is under
// way. In that case everything else is erased already.
func (s *Service) ErasePayee(ctx context.Context, caller api.Caller, d payout.DestinationParams) error {
	return s.internal.erasure.ErasePayee(ctx, caller, d)
}
