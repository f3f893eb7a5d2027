// Package erasure removes people's data from the copies that the library keeps of it.
//
// Package party deletes a customer, and writes an erasure as due work in the same transaction.
// The job of this package does that work, because it knows the domains with copies. For the
// operator it also closes the accounts of consumers and cash agents, and removes their data and
// that of payees from the copies.
//
// It owns the order of the steps. Each domain removes data from its own records. A new domain that copies
// personal data gets a method for that, a call here, and a
// record in the tests, which search every row of the database for the data.
package erasure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/billing/subscribing"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/notify/delivering"
	"github.com/seed-7082ffec/payments/internal/notify/messaging"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/internal/refunding"
	"github.com/seed-7082ffec/payments/internal/session"
	"github.com/seed-7082ffec/payments/internal/transfer"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage"
)

// Config holds the packages that keep people's data.
type Config struct {
	Accounts      *party.Service
	Payments      *collect.Service
	Refunds       *refunding.Service
	Transfers     *transfer.Service
	Invoices      *invoicing.Service
	Subscriptions *subscribing.Service
	Sessions      *session.Service
	Messages      *messaging.Service
	// Webhooks removes data from events and from the answers of endpoints.
	Webhooks *delivering.Service
}

// Service erases people's data.
type Service struct {
	engine *engine.Engine
	config Config
}

// New returns the service.
func New(e *engine.Engine, c Config) *Service { return &Service{engine: e, config: c} }

// Job erases the copies of deleted customers.
func (s *Service) Job() work.Job {
	const atATime = 4 // each writes a lot
	return work.Job{Kind: pii.Erasures.Kind(), Timeout: 5 * time.Minute, Batch: atATime, RunOne: s.eraseCustomer}
}

// eraseCustomer removes a deleted customer from all copies: drafts, checkout sessions, subscriptions, events,
// stored answers and messages. Each package works in its own small transactions, and the call may be repeated.
func (s *Service) eraseCustomer(ctx context.Context, claimed storage.Record) error {
	o, err := pii.Erasures.Decode(claimed)
	if err != nil {
		return err
	}
	caller := api.Caller{
		Merchant: o.Scope.Merchant, Live: o.Scope.Live, RequestID: o.Value.Request, IdempotencyKey: o.Value.IdempotencyKey,
	}
	if err := s.config.Invoices.Erase(ctx, caller, o.ID); err != nil {
		return fmt.Errorf("erasure: invoices: %w", err)
	}
	if err := s.config.Subscriptions.Erase(ctx, caller, o.ID); err != nil {
		return fmt.Errorf("erasure: subscriptions: %w", err)
	}
	if err := s.config.Sessions.Erase(ctx, caller, o.ID); err != nil {
		return fmt.Errorf("erasure: checkout sessions: %w", err)
	}
	paid, err := s.config.Payments.EraseCustomer(ctx, caller, o.ID)
	if err != nil {
		return fmt.Errorf("erasure: payments: %w", err)
	}
	if err := s.config.Refunds.ErasePayments(ctx, caller, paid); err != nil {
		return fmt.Errorf("erasure: refunds: %w", err)
	}
	if err := s.config.Webhooks.EraseCustomer(ctx, caller, o.ID); err != nil {
		return fmt.Errorf("erasure: events: %w", err)
	}
	if err := s.engine.Erase(ctx, caller, o.ID); err != nil {
		return fmt.Errorf("erasure: stored answers: %w", err)
	}
	for _, about := range append(paid, o.ID) {
		if err := s.config.Messages.Erase(ctx, caller, about); err != nil {
			return fmt.Errorf("erasure: messages: %w", err)
		}
	}
	err = s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		done := *o // a rolled back run leaves the claimed version as it is
		done.Value = pii.Erasure{}
		return pii.Erasures.Replace(tx, &done)
	})
	if errors.Is(err, storage.ErrConflict) {
		return nil // another worker has taken it over
	}
	return err
}

// EraseConsumer closes a consumer's account and takes the person's data out of the records
// and copies of every merchant.
func (s *Service) EraseConsumer(ctx context.Context, caller api.Caller, id string) error {
	serviceID, err := s.config.Accounts.CloseConsumer(ctx, caller, id)
	if err != nil {
		return err
	}
	return s.eraseHolder(ctx, caller.Live, id, serviceID)
}

// EraseAgent is EraseConsumer for a cash agent.
func (s *Service) EraseAgent(ctx context.Context, caller api.Caller, id string) error {
	serviceID, err := s.config.Accounts.CloseAgent(ctx, caller, id)
	if err != nil {
		return err
	}
	return s.eraseHolder(ctx, caller.Live, id, serviceID)
}

func (s *Service) eraseHolder(ctx context.Context, live bool, id, serviceID string) error {
	in := engine.Within{Scope: engine.Scope(api.Caller{Live: live}), All: true}
	ids := map[string]bool{id: true, serviceID: true, pii.MaskAccount(id): true} // in the answers of lookups, too
	if err := s.config.Payments.ErasePayer(ctx, live, id, ids); err != nil {
		return fmt.Errorf("erasure: payer: %w", err)
	}
	if err := s.config.Messages.EraseEverywhere(ctx, live, id); err != nil {
		return fmt.Errorf("erasure: messages: %w", err)
	}
	return s.erasePayee(ctx, in, transfer.WalletPayee(id), ids)
}

// ErasePayee removes the holder of a phone or bank account from the caller's transfers, from the
// payments that came from the phone, and from their copies. Subscriptions that wait for the confirmation of
// the number forget it.
func (s *Service) ErasePayee(ctx context.Context, caller api.Caller, d payout.DestinationParams) error {
	p, err := s.config.Transfers.ExternalPayee(d)
	if err != nil {
		return err
	}
	in, ids, number := engine.Within{Scope: engine.Scope(caller)}, map[string]bool{}, p.Phone()
	if number == "" {
		return s.erasePayee(ctx, in, p, ids)
	}
	open, err := s.config.Payments.FindPhone(ctx, in, number, ids)
	if err != nil {
		return fmt.Errorf("erasure: find payer: %w", err)
	}
	paid := slices.Collect(maps.Keys(ids))
	for _, about := range paid {
		if err := s.config.Messages.Erase(ctx, caller, about); err != nil {
			return fmt.Errorf("erasure: messages: %w", err)
		}
	}
	if err := s.config.Messages.EraseTo(ctx, caller, number); err != nil {
		return fmt.Errorf("erasure: messages: %w", err)
	}
	transfers := s.erasePayee(ctx, in, p, ids)
	if transfers != nil && !api.IsRefusal(transfers) {
		return transfers
	}
	if err := s.config.Payments.ErasePhone(ctx, in, ids); err != nil {
		return fmt.Errorf("erasure: payer: %w", err)
	}
	back, err := s.config.Refunds.ErasePhone(ctx, in, number)
	if err != nil {
		return fmt.Errorf("erasure: refunds: %w", err)
	}
	charged, err := s.config.Subscriptions.ErasePhone(ctx, in, number)
	switch {
	case err != nil:
		return fmt.Errorf("erasure: subscriptions: %w", err)
	case charged > 0:
		return api.Invalid("destination", "%d subscriptions charge this phone. Cancel them, or have them charge another one, and call this again.", charged)
	case open+back > 0:
		return api.Invalid("destination", "%d payments from this phone, or refunds to it, are still under way. Call this again once they have ended.", open+back)
	}
	return transfers
}

// erasePayee first erases the copies, by the ids of the payee's transfers. It erases the names
// last, because a search finds the transfers by them. So a repetition after an error finds the
// rest.
func (s *Service) erasePayee(ctx context.Context, in engine.Within, p transfer.Payee, ids map[string]bool) error {
	open, err := s.config.Transfers.FindPayee(ctx, in, p, ids)
	if err != nil {
		return fmt.Errorf("erasure: find payee: %w", err)
	}
	if err := s.config.Transfers.ErasePayeeRows(ctx, in, p, ids); err != nil {
		return fmt.Errorf("erasure: payee: %w", err)
	}
	if number := p.ShownNumber(); number != "" {
		ids[number] = true // in the answers of lookups
	}
	if err := s.config.Sessions.FindPayments(ctx, in, ids); err != nil {
		return fmt.Errorf("erasure: find checkout sessions: %w", err)
	}
	if err := s.config.Webhooks.EraseObjects(ctx, in, ids); err != nil {
		return fmt.Errorf("erasure: events: %w", err)
	}
	if err := s.engine.EraseObjects(ctx, in, ids); err != nil {
		return fmt.Errorf("erasure: stored answers: %w", err)
	}
	if err := s.config.Sessions.ErasePayments(ctx, in, ids); err != nil {
		return fmt.Errorf("erasure: checkout sessions: %w", err)
	}
	if err := s.config.Transfers.ErasePayee(ctx, in, ids); err != nil {
		return fmt.Errorf("erasure: payee: %w", err)
	}
	if open > 0 {
		return api.Invalid("destination", "%d transfers to this payee are still under way. Call this again once they have ended.", open)
	}
	return nil
}
