package payments

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/payout"
)

// EraseConsumer closes a consumer's account for good and removes the person's data: name,
// number and PIN; the number on payments and the name on transfers, of every merchant, with
// their copies in events and kept answers; and the messages to the consumer or about them
// that wait or are kept. Bookings, with the account's id, stay. It is a call for the
// operator, reads all records of the mode, and may be repeated, as after an error.
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

// ErasePayee removes who was paid at a phone or bank account from the transfers of the
// calling merchant: number and name, in payouts, disbursements, rows of batches, events and
// kept answers. The masked number stays. With account_name it also finds transfers whose
// number is no longer kept, see [Config.NumberRetention]. It reads all transfers and events
// of the merchant's mode, and may be repeated, as after an error.
//
// Refusals: those of a destination; and parameter_invalid when the rest is erased, but a
// transfer to the payee is still under way.
func (s *Service) ErasePayee(ctx context.Context, caller api.Caller, d payout.DestinationParams) error {
	return s.internal.erasure.ErasePayee(ctx, caller, d)
}
