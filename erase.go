package payments

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/payout"
)

// EraseConsumer closes a consumer's account for good and removes the person's data. It removes
// name, number and PIN from the account. For every merchant, it removes the number from payments
// and top-ups and the name from transfers, and their copies in events and stored answers. A top-up
// under way, which will go back to the payer, keeps the number until it has ended. It deletes messages to
// or about the consumer that wait or are kept. Bookings stay, with the account's id.
// EraseConsumer reads all records of the mode. After an error, call it again.
//
// Only the operator may call it: a caller with a Merchant is refused with permission_denied. Other
// refusals: resource_missing, and parameter_invalid while there is money in the account.
func (s *Service) EraseConsumer(ctx context.Context, caller api.Caller, id string) error {
	return s.internal.erasure.EraseConsumer(ctx, caller, id)
}

// EraseAgent is EraseConsumer for a cash agent.
func (s *Service) EraseAgent(ctx context.Context, caller api.Caller, id string) error {
	return s.internal.erasure.EraseAgent(ctx, caller, id)
}

// ErasePayee removes the number and name of a phone's or bank account's holder from the merchant's
// transfers. It covers payouts, disbursements, batch rows, events and stored answers. In transfers the
// masked number stays. In payments that came from the phone, and in their refunds, ErasePayee removes
// the number, also the masked one, and the e-mail. It deletes messages to the phone. If d has an
// AccountName, it also finds transfers whose number [Config.NumberRetention] has removed. It reads all
// transfers and events of the merchant's mode. After an error, call it again.
//
// Refusals: parameter_missing, parameter_invalid, invalid_phone_number, invalid_destination. ErasePayee
// also refuses with parameter_invalid while a transfer to the payee or a payment from the phone is
// under way, or a subscription charges the phone. A row of a batch that waits for its turn counts as a
// transfer. In these cases everything else is erased already.
func (s *Service) ErasePayee(ctx context.Context, caller api.Caller, d payout.DestinationParams) error {
	return s.internal.erasure.ErasePayee(ctx, caller, d)
}
