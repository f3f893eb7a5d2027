package transfer

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// preparedTransfer is a request that has passed every check that needs no transaction.
type preparedTransfer struct {
	service   *Service
	live      bool
	variant   *Variant
	params    payout.CreateParams
	reference *string
	amount    int64
	fee       int64
	// External destinations; nil for wallets.
	destination *payout.Destination
	target      *target
}

// prepare checks a request. It reads and writes nothing. reference is nil for a variant that has none.
//
// Refusals: amount_too_small, amount_too_large, invalid_phone_number, invalid_destination (also a network or
// bank that the rail does not carry to), invalid parameters, and service_unavailable in live mode without a
// rail.
func (s *Service) prepare(live bool, v *Variant, p payout.CreateParams, reference *string) (*preparedTransfer, error) {
	prepared, err := s.prepareCommon(live, v, p, reference)
	if err != nil {
		return nil, err
	}
	if prepared.destination, prepared.target, err = parseDestination(&p.Destination, s.config.Banks); err != nil {
		return nil, err
	}
	if prepared.target != nil {
		to := prepared.target.providerTransfer()
		to.Order, to.Description = provider.Order{Live: live, Amount: prepared.amount}, p.Description
		if err := s.checkCarried(live, to); err != nil {
			return nil, err
		}
	}
	return prepared, nil
}

// prepareScanned is prepare for a request without a destination: its recipient follows from a scanned
// code, and is given to make. It has no fee.
func (s *Service) prepareScanned(live bool, v *Variant, p payout.CreateParams, reference *string) (*preparedTransfer, error) {
	return s.prepareCommon(live, v, p, reference)
}

// prepareCommon checks all but the destination, and computes the fee from the destination's
// type.
func (s *Service) prepareCommon(live bool, v *Variant, p payout.CreateParams, reference *string) (*preparedTransfer, error) {
	if err := cmp.Or(
		check.Currency(p.Currency),
		check.Text("description", p.Description, api.MaxText),
		check.OptionalText("reference", reference, api.MaxReference),
		check.Metadata(p.Metadata, false),
	); err != nil {
		return nil, err
	}
	amount, err := s.limits[v].check(p.Amount)
	if err != nil {
		return nil, err
	}
	return &preparedTransfer{
		service: s, live: live, variant: v, params: p, reference: reference,
		amount: amount, fee: feeOf(s.config.Fees, p.Destination.Type, amount),
	}, nil
}

// checkDigits refuses an amount like 1e999999999, whose digits would exhaust the memory. Callers
// call it before they marshal the amount for the fingerprint of an idempotency key. No call with
// such an amount can have succeeded before, so none is replayed.
func (s *Service) checkDigits(v *Variant, amount decimal.Decimal) error {
	if money.FewDigits(amount) {
		return nil
	}
	_, err := s.limits[v].check(amount)
	return err
}

// asksRail reports whether verifyDestination asks the rail.
func (p *preparedTransfer) asksRail() bool {
	_, checks := p.service.rail(p.live).(provider.Checker)
	return p.target != nil && (checks || p.params.Destination.MatchName)
}

// shown returns the destination as the transfer will show it. recipient is nil for
// an external one.
func (p *preparedTransfer) shown(recipient *party.Recipient) payout.Destination {
	if recipient != nil {
		return wallet(recipient)
	}
	return *p.destination
}

// costs returns amount and fee, in pesewas.
func (p *preparedTransfer) costs() (amount, fee int64) { return p.amount, p.fee }

// verifyDestination asks the rail about an external destination, and compares the name where the
// transfer requires that. It runs outside of any transaction.
func (s *Service) verifyDestination(ctx context.Context, caller api.Caller, p *preparedTransfer) error {
	if p.target == nil {
		return nil
	}
	if s.engine.Host != nil {
		if p.params.Destination.MatchName {
			return fmt.Errorf("payout: match_account_name: %w", api.ErrNetworkInTx)
		}
		return nil // the rail refuses a wrong destination later, and the transfer fails
	}
	now := s.engine.Clock()
	to := p.target.providerTransfer()
	to.Order = provider.Order{Live: caller.Live, Amount: p.amount, CreatedAt: now, Now: now}
	to.Description = p.params.Description
	err := s.checkWithRail(ctx, s.rail(caller.Live), to, numberParam(p.destination.Type))
	if err != nil {
		return err
	}
	return s.matchName(ctx, caller.Live, p)
}

// recipient returns the account that a wallet transfer pays; nil for any other transfer.
func (p *preparedTransfer) recipient(tx storage.ReadTx) (*party.Recipient, error) {
	if p.target != nil {
		return nil, nil
	}
	d := &p.params.Destination
	r, err := p.service.config.Accounts.Recipient(tx, p.live, walletOf(d))
	if err == nil && d.MatchName && !p.service.config.NameMatch(d.AccountName, r.Name) {
		return nil, errNameMismatch
	}
	return r, check.Under("destination", err)
}

// make makes the transfer. recipient is nil for an external one.
//
// Refusals: daily_limit_exceeded, insufficient_balance.
func (s *Service) make(tx *engine.Tx, p *preparedTransfer, recipient *party.Recipient) (*payout.Transfer, error) {
	r := record{
		Transfer: payout.Transfer{
			ID: tx.NewID("po_"), Object: p.variant.Object, Amount: api.FromPesewas(p.amount), Currency: api.Currency,
			Fee: api.FromPesewas(p.fee), Status: payout.Created, Description: p.params.Description,
			Reference: p.reference, Metadata: p.params.Metadata, CreatedAt: api.At(tx.Now),
		},
		Submission: orders.NewSubmission(tx),
	}
	if err := s.countDailyTotal(tx, p.variant, tx.Now, p.amount); err != nil {
		return nil, err
	}
	if recipient != nil {
		return s.payWallet(tx, p, &r, recipient)
	}
	return s.reserve(tx, p, &r)
}

// payWallet moves the money within the service, which completes the transfer.
func (s *Service) payWallet(tx *engine.Tx, p *preparedTransfer, r *record, to *party.Recipient) (*payout.Transfer, error) {
	r.Destination = wallet(to)
	merchant, live := tx.Caller.Merchant, tx.Caller.Live
	err := tx.Post(storage.Posting{
		ID: tx.NewID("txn_"), Type: r.Object, Ref: r.ID, At: tx.Now,
		Moves: []storage.Move{ledger.Available(merchant, live).Move(-p.amount), ledger.Of(to.AccountID, live).Move(p.amount)},
	})
	if err != nil {
		return nil, fmt.Errorf("payout: pay wallet: %w", err)
	}
	if err := r.enter(payout.Completed); err != nil {
		return nil, err
	}
	r.CompletedAt, r.Due = api.AtOrNil(tx.Now), nil
	if _, err := collection(p.variant).Insert(tx, engine.Scope(tx.Caller), r.ID, *r); err != nil {
		return nil, fmt.Errorf("payout: write %s: %w", r.Object, err)
	}
	if err := s.totals[p.variant].Count(tx, r); err != nil {
		return nil, err
	}
	// One event for each status entered. The transfer is made in its final status, so both show it
	// completed.
	if err := s.config.Events.Append(tx, &r.Transfer, statusEvent(p.variant, payout.Created), statusEvent(p.variant, payout.Completed)); err != nil {
		return nil, err
	}
	return &r.Transfer, nil
}

// reserve reserves the money and queues the transfer for the rail.
func (s *Service) reserve(tx *engine.Tx, p *preparedTransfer, r *record) (*payout.Transfer, error) {
	r.Destination, r.To = *p.destination, p.target
	merchant, live := tx.Caller.Merchant, tx.Caller.Live
	whole := p.amount + p.fee
	err := tx.Post(storage.Posting{
		ID: tx.NewID("txn_"), Type: r.Object, Ref: r.ID, At: tx.Now,
		Moves: []storage.Move{ledger.Available(merchant, live).Move(-whole), ledger.Reserved(merchant, live).Move(whole)},
	})
	if err != nil {
		return nil, fmt.Errorf("payout: reserve: %w", err)
	}
	if err := s.config.Events.Append(tx, &r.Transfer, statusEvent(p.variant, payout.Created)); err != nil {
		return nil, err
	}
	if err := r.enter(payout.Pending); err != nil {
		return nil, err
	}
	if err := s.config.Events.Append(tx, &r.Transfer, statusEvent(p.variant, payout.Pending)); err != nil {
		return nil, err
	}
	by, err := s.orders[p.variant].Routed(tx, r)
	if err != nil {
		return nil, err
	}
	wait := s.submitAfter(tx, r)
	r.Due = api.AtOrNil(tx.Now.Add(wait))
	pending := r.Transfer // the answer; what is stored may be processing already
	return &pending, s.orders[p.variant].Insert(tx, r, by, wait)
}

// submitAfter returns how long the rail of test mode wants a transfer to stay pending, so that a tester can
// cancel it; 0 for any other.
func (s *Service) submitAfter(tx *engine.Tx, r *record) time.Duration {
	rail, ok := s.rail(tx.Caller.Live).(interface {
		SubmitTransferAfter(provider.Transfer) time.Duration
	})
	if !ok || tx.Caller.Live {
		return 0
	}
	return rail.SubmitTransferAfter(r.To.providerTransfer())
}

// getTx is Get in a transaction.
func (s *Service) getTx(tx storage.ReadTx, scope storage.Scope, v *Variant, id string) (*payout.Transfer, error) {
	found, err := engine.GetTx(tx, collection(v), scope, id, v.Object)
	if err != nil {
		return nil, err
	}
	return &found.Value.Transfer, nil
}

// dailyTotal is the sum of a merchant's payouts on one day; its id is the day.
type dailyTotal struct {
	Pesewas int64 `json:"pesewas"`
}

var dailyTotals = storage.NewCollection[dailyTotal]("payout_days", nil)

// countDailyTotal adds a payout to the sum of the day of its creation, or, negative,
// takes it off. Disbursements are not counted.
func (s *Service) countDailyTotal(tx *engine.Tx, v *Variant, created time.Time, amount int64) error {
	most := s.limits[v].daily
	if most == 0 {
		return nil
	}
	id := created.UTC().Format(time.DateOnly)
	found, err := dailyTotals.GetOrNew(tx, engine.Scope(tx.Caller), id)
	if err != nil {
		return fmt.Errorf("payout: read the day: %w", err)
	}
	found.Value.Pesewas += amount
	if amount > 0 && found.Value.Pesewas > most {
		left := max(0, most-(found.Value.Pesewas-amount))
		return api.Errorf(api.DailyLimitExceeded, "amount", "The daily limit of payouts is GHS %s, of which GHS %s is left today.", money.Text(most), money.Text(left))
	}
	return dailyTotals.Put(tx, found)
}
