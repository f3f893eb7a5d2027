package payments

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/payout"
)

// EraseConsumer closes a consumer's account for good and removes the person's data: name,
// number and PIN; the number on payments and the name on transfers, of every merchant, with
// their copies in events and kept answers; and the messages to the consumer or about them
// that wait or are kept. Bookings, with the account's id, stay. It is a call for the
// operator, reads all records of the mode, and may be repeated, as after an error.
//
// Refusals: resource_missing, and parameter_invalid while there is money in the account.
func (s *Service) EraseConsumer(ctx context.Context, live bool, id string) error {
	if err := s.Accounts.CloseConsumer(ctx, live, id); err != nil {
		return err
	}
	return s.eraseHolder(ctx, live, id)
}

// EraseAgent is EraseConsumer for a cash agent.
func (s *Service) EraseAgent(ctx context.Context, live bool, id string) error {
	if err := s.Accounts.CloseAgent(ctx, live, id); err != nil {
		return err
	}
	return s.eraseHolder(ctx, live, id)
}

func (s *Service) eraseHolder(ctx context.Context, live bool, id string) error {
	in := engine.Within{Scope: api.Caller{Live: live}.Scope(), All: true}
	ids := map[string]bool{id: true}
	if err := s.Payments.ErasePayer(ctx, live, id, ids); err != nil {
		return fmt.Errorf("payments: erase payer: %w", err)
	}
	if err := s.Messages.EraseEverywhere(ctx, live, id); err != nil {
		return fmt.Errorf("payments: erase messages: %w", err)
	}
	return s.erasePayee(ctx, in, payout.WalletPayee(id), ids)
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
	p, err := s.outgoing.ExternalPayee(d)
	if err != nil {
		return err
	}
	return s.erasePayee(ctx, engine.Within{Scope: caller.Scope()}, p, map[string]bool{})
}

func (s *Service) erasePayee(ctx context.Context, in engine.Within, p payout.Payee, ids map[string]bool) error {
	open, err := s.outgoing.FindPayee(ctx, in, p, ids)
	if err != nil {
		return fmt.Errorf("payments: find payee: %w", err)
	}
	queued, err := s.Disbursements.ErasePayee(ctx, in, p, ids)
	if err != nil {
		return fmt.Errorf("payments: erase payee: %w", err)
	}
	if err := s.Events.EraseObjects(ctx, in, ids); err != nil {
		return fmt.Errorf("payments: erase events: %w", err)
	}
	if err := s.engine.EraseObjects(ctx, in, ids); err != nil {
		return fmt.Errorf("payments: erase answers: %w", err)
	}
	if err := s.outgoing.ErasePayee(ctx, in, ids); err != nil {
		return fmt.Errorf("payments: erase payee: %w", err)
	}
	if open+queued > 0 {
		return api.Invalid("destination", "%d transfers to this payee are still under way. Call this again once they have ended.", open+queued)
	}
	return nil
}
