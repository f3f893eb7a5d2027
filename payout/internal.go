package payout

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/fee"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/totals"
	"github.com/seed-7082ffec/payments/internal/transfer"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// Config holds the package's settings. The comments say what a nil or zero field means.
type Config struct {
	Accounts *account.Internal
	Events   *event.Internal
	Messages *message.Internal
	// SingleUse makes a one-time code good for one payout. Otherwise a code is good for 10
	// minutes.
	SingleUse bool
	// Rail takes the transfers of live mode. Without one, live mode pays wallets only.
	Rail provider.Rail
	// TestRail takes those of test mode; [provider.Simulated] when nil.
	TestRail provider.Rail
	// Banks lists the banks that can receive transfers; [provider.SampleBanks] when nil.
	Banks provider.BankDirectory
	// Fees are the fees of external transfers; [DefaultFees] when nil.
	Fees *Fees
	// PayoutLimits default to GHS 1.00 to 20,000.00 and 50,000.00 a day,
	// DisbursementLimits to GHS 0.01 to 20,000.00.
	PayoutLimits, DisbursementLimits Limits
	// NameMatch compares names for transfers that require it; [MatchNames] with
	// [DefaultNameTolerance] when nil.
	NameMatch NameMatch
	// NameQuota bounds lookups of names for each merchant and mode.
	NameQuota NameQuota
}

// Internal holds the methods that this package and its siblings call in their transactions.
// Payouts and disbursements share it. Hosts use their services instead.
type Internal struct {
	engine *engine.Engine
	events *event.Internal
	config Config
	limits map[*transfer.Variant]bounds
	totals map[*transfer.Variant]*totals.Service[record]
	orders map[*transfer.Variant]*orders
}

func newInternal(e *engine.Engine, c Config) (*Internal, error) {
	if c.TestRail == nil {
		c.TestRail = provider.Simulated{}
	}
	if c.Banks == nil {
		c.Banks = provider.SampleBanks()
	}
	if c.Fees == nil {
		c.Fees = DefaultFees()
	}
	if c.NameMatch == nil {
		c.NameMatch = MatchNames(DefaultNameTolerance)
	}
	c.NameQuota = c.NameQuota.orDefault()
	for name, f := range map[string]Fee{"Fees.MobileMoney": c.Fees.MobileMoney, "Fees.BankTransfer": c.Fees.BankTransfer} {
		if err := fee.Fee(f).Check(name); err != nil {
			return nil, err
		}
	}
	in := &Internal{engine: e, events: c.Events, config: c, limits: map[*transfer.Variant]bounds{}, totals: map[*transfer.Variant]*totals.Service[record]{}, orders: map[*transfer.Variant]*orders{}}
	for _, v := range transfer.Variants {
		in.totals[v], in.orders[v] = totals.New(e, collection(v), asEnded), newOrders(in, v)
	}
	if !c.DisbursementLimits.Daily.IsZero() {
		return nil, api.Invalid("DisbursementLimits", "DisbursementLimits: disbursements have no daily limit. Leave Daily zero.")
	}
	var err error
	if in.limits[transfer.Payout], err = c.PayoutLimits.bounds("PayoutLimits", minPayout, dailyPayouts); err != nil {
		return nil, err
	}
	if in.limits[transfer.Disbursement], err = c.DisbursementLimits.bounds("DisbursementLimits", minDisbursement, 0); err != nil {
		return nil, err
	}
	return in, nil
}

// preparedTransfer is a request that has passed every check that needs no transaction.
type preparedTransfer struct {
	in        *Internal
	live      bool
	variant   *transfer.Variant
	params    CreateParams
	reference *string
	amount    int64
	fee       int64
	// External destinations; nil for wallets.
	destination *Destination
	target      *target
}

// Prepare checks a request. It reads and writes nothing. reference is nil for a variant that has
// none. Refusals:
// amount_too_small, amount_too_large, invalid_phone_number, invalid_destination, invalid
// parameters; and service_unavailable in live mode without a rail.
func (in *Internal) Prepare(live bool, v *transfer.Variant, p CreateParams, reference *string) (*preparedTransfer, error) {
	prepared, err := in.prepareCommon(live, v, p, reference)
	if err != nil {
		return nil, err
	}
	if prepared.destination, prepared.target, err = p.Destination.check(in.config.Banks); err != nil {
		return nil, err
	}
	if prepared.target != nil {
		to := prepared.target.providerTransfer()
		to.Order, to.Description = provider.Order{Live: live, Amount: prepared.amount}, p.Description
		rail, err := (&dispatch.Submission{}).RouteTransfer(in.rail(live), to)
		if err != nil {
			return nil, err
		}
		if rail == nil {
			return nil, errNoRail
		}
	}
	return prepared, nil
}

// PrepareScanned is Prepare for a request without a destination: its recipient follows from
// a scanned code, and is given to Create. It has no fee.
func (in *Internal) PrepareScanned(live bool, v *transfer.Variant, p CreateParams, reference *string) (*preparedTransfer, error) {
	return in.prepareCommon(live, v, p, reference)
}

// prepareCommon checks all but the destination, and computes the fee from the destination's
// type.
func (in *Internal) prepareCommon(live bool, v *transfer.Variant, p CreateParams, reference *string) (*preparedTransfer, error) {
	if err := cmp.Or(
		check.Currency(p.Currency),
		check.Text("description", p.Description, api.MaxText),
		check.OptionalText("reference", reference, api.MaxReference),
		check.Metadata(p.Metadata, false),
	); err != nil {
		return nil, err
	}
	amount, err := in.limits[v].check(p.Amount)
	if err != nil {
		return nil, err
	}
	return &preparedTransfer{
		in: in, live: live, variant: v, params: p, reference: reference,
		amount: amount, fee: in.config.Fees.of(p.Destination.Type, amount),
	}, nil
}

// CheckDigits refuses an amount like 1e999999999, whose digits would exhaust the memory. Callers
// call it before they marshal the amount for the fingerprint of an idempotency key. No call with
// such an amount can have succeeded before, so none is replayed.
func (in *Internal) CheckDigits(v *transfer.Variant, amount decimal.Decimal) error {
	if money.FewDigits(amount) {
		return nil
	}
	_, err := in.limits[v].check(amount)
	return err
}

// AsksRail reports whether CheckDestination asks the rail.
func (p *preparedTransfer) AsksRail() bool {
	_, checks := p.in.rail(p.live).(provider.Checker)
	return p.target != nil && (checks || p.params.Destination.MatchName)
}

// Destination returns the destination as the transfer will show it. recipient is nil for
// an external one.
func (p *preparedTransfer) Destination(recipient *account.Recipient) Destination {
	if recipient != nil {
		return wallet(recipient)
	}
	return *p.destination
}

// Costs returns amount and fee, in pesewas.
func (p *preparedTransfer) Costs() (amount, fee int64) { return p.amount, p.fee }

// CheckDestination asks the rail about an external destination, and compares the name where the
// transfer requires that. It runs outside of any transaction.
func (in *Internal) CheckDestination(ctx context.Context, caller api.Caller, p *preparedTransfer) error {
	if p.target == nil {
		return nil
	}
	if in.engine.Host != nil {
		if p.params.Destination.MatchName {
			return fmt.Errorf("payout: match_account_name: %w", api.ErrNetworkInTx)
		}
		return nil // the rail refuses a wrong destination later, and the transfer fails
	}
	now := in.engine.Clock()
	to := p.target.providerTransfer()
	to.Order = provider.Order{Live: caller.Live, Amount: p.amount, CreatedAt: now, Now: now}
	to.Description = p.params.Description
	err := in.checkWithRail(ctx, in.rail(caller.Live), to, numberParam(p.destination.Type))
	if err != nil {
		return err
	}
	return in.matchName(ctx, caller.Live, p)
}

// Recipient returns the account that a wallet transfer pays; nil for any other transfer.
func (p *preparedTransfer) Recipient(tx storage.ReadTx) (*account.Recipient, error) {
	if p.target != nil {
		return nil, nil
	}
	d := &p.params.Destination
	r, err := p.in.config.Accounts.Recipient(tx, p.live, d.wallet())
	if err == nil && d.MatchName && !p.in.config.NameMatch(d.AccountName, r.Name) {
		return nil, errNameMismatch
	}
	return r, check.Under("destination", err)
}

// Create makes the transfer. recipient is nil for an external one.
//
// Refusals: daily_limit_exceeded, insufficient_balance.
func (in *Internal) Create(tx *engine.Tx, p *preparedTransfer, recipient *account.Recipient) (*Transfer, error) {
	r := record{
		Transfer: Transfer{
			ID: tx.NewID("po_"), Object: p.variant.Object, Amount: api.FromPesewas(p.amount), Currency: api.Currency,
			Fee: api.FromPesewas(p.fee), Status: Created, Description: p.params.Description,
			Reference: p.reference, Metadata: p.params.Metadata, CreatedAt: api.At(tx.Now),
		},
		Submission: dispatch.NewSubmission(tx),
	}
	if err := in.countDailyTotal(tx, p.variant, tx.Now, p.amount); err != nil {
		return nil, err
	}
	if recipient != nil {
		return in.payWallet(tx, p, &r, recipient)
	}
	return in.reserve(tx, p, &r)
}

// payWallet moves the money within the service, which completes the transfer.
func (in *Internal) payWallet(tx *engine.Tx, p *preparedTransfer, r *record, to *account.Recipient) (*Transfer, error) {
	r.Destination = wallet(to)
	merchant, live := tx.Caller.Merchant, tx.Caller.Live
	err := tx.Post(storage.Posting{
		ID: tx.NewID("txn_"), Type: r.Object, Ref: r.ID, At: tx.Now,
		Moves: []storage.Move{ledger.Available(merchant, live).Move(-p.amount), ledger.Of(to.AccountID, live).Move(p.amount)},
	})
	if err != nil {
		return nil, fmt.Errorf("payout: pay wallet: %w", err)
	}
	if err := r.enter(Completed); err != nil {
		return nil, err
	}
	r.CompletedAt, r.Due = api.AtOrNil(tx.Now), nil
	if _, err := collection(p.variant).Insert(tx, engine.Scope(tx.Caller), r.ID, *r); err != nil {
		return nil, fmt.Errorf("payout: write %s: %w", r.Object, err)
	}
	if err := in.totals[p.variant].Count(tx, r.ID, r); err != nil {
		return nil, err
	}
	// One event for each status entered. The transfer is made in its final status, so both show it
	// completed.
	if err := in.events.Record(tx, &r.Transfer, statusEvent(p.variant, Created), statusEvent(p.variant, Completed)); err != nil {
		return nil, err
	}
	return &r.Transfer, nil
}

// reserve reserves the money and queues the transfer for the rail.
func (in *Internal) reserve(tx *engine.Tx, p *preparedTransfer, r *record) (*Transfer, error) {
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
	if err := in.events.Record(tx, &r.Transfer, statusEvent(p.variant, Created)); err != nil {
		return nil, err
	}
	if err := r.enter(Pending); err != nil {
		return nil, err
	}
	if err := in.events.Record(tx, &r.Transfer, statusEvent(p.variant, Pending)); err != nil {
		return nil, err
	}
	by, err := in.orders[p.variant].Routed(tx, r)
	if err != nil {
		return nil, err
	}
	pending := r.Transfer // the answer; what is stored may be processing already
	return &pending, in.orders[p.variant].Insert(tx, r, by, 0)
}

// Get returns one transfer of a variant.
func (in *Internal) Get(ctx context.Context, caller api.Caller, v *transfer.Variant, id string) (*Transfer, error) {
	return listing(v).Get(ctx, in.engine, caller, id)
}

// RecipientNumber returns the whole number of a transfer's recipient.
func (in *Internal) RecipientNumber(ctx context.Context, caller api.Caller, v *transfer.Variant, id string) (string, error) {
	o, err := engine.Get(ctx, in.engine, caller, collection(v), id, v.Object)
	if err != nil || o.Value.To == nil {
		return "", err
	}
	return o.Value.To.Number, nil
}

// GetJSON writes to w the JSON of what Get returns.
func (in *Internal) GetJSON(ctx context.Context, caller api.Caller, v *transfer.Variant, id string, w io.Writer) error {
	return listing(v).GetJSON(ctx, in.engine, caller, id, w)
}

// listing is how transfers are read.
func listing(v *transfer.Variant) engine.Listing[record, Transfer] {
	return engine.Listing[record, Transfer]{
		Collection: collection(v), Noun: v.Object, URL: "/v1/" + v.Table,
		Show: func(r *record) Transfer { return r.Transfer },
	}
}

// GetTx is Get in a transaction.
func (in *Internal) GetTx(tx storage.ReadTx, scope storage.Scope, v *transfer.Variant, id string) (*Transfer, error) {
	found, err := engine.GetTx(tx, collection(v), scope, id, v.Object)
	if err != nil {
		return nil, err
	}
	return &found.Value.Transfer, nil
}

// ListParams selects transfers; zero values select all.
type ListParams struct {
	api.Page
	Status  Status    `param:"status"`
	Created api.Times `param:"created"`
}

// List returns transfers of a variant, newest first.
func (in *Internal) List(ctx context.Context, caller api.Caller, v *transfer.Variant, p ListParams) (*api.List[Transfer], error) {
	return listing(v).List(ctx, in.engine, engine.Query(caller, p), p.Page)
}

// ListJSON writes to w the JSON of what List returns.
func (in *Internal) ListJSON(ctx context.Context, caller api.Caller, v *transfer.Variant, p ListParams, w io.Writer) error {
	return listing(v).ListJSON(ctx, in.engine, engine.Query(caller, p), p.Page, w)
}

// Cancel takes back a transfer that was not submitted to the rail yet. Any other is refused
// with the variant's code.
func (in *Internal) Cancel(ctx context.Context, caller api.Caller, v *transfer.Variant, id string) (*Transfer, error) {
	op := engine.Operation{Name: v.Object + ".cancel", Params: id}
	return engine.Execute(ctx, in.engine, caller, op, func(tx *engine.Tx) (*Transfer, error) {
		found, err := engine.GetTx(tx, collection(v), engine.Scope(caller), id, v.Object)
		if err != nil {
			return nil, err
		}
		if status := found.Value.Status; found.Value.enter(Cancelled) != nil {
			return nil, api.Errorf(v.NotCancellable, "", "This %s is %s and can no longer be cancelled.", v.Object, status)
		}
		orders := in.orders[v]
		if err := orders.End(tx, found, func() error { return orders.release(tx, &found.Value) }); err != nil {
			return nil, err
		}
		return &found.Value.Transfer, nil
	})
}

// dailyTotal is the sum of a merchant's payouts on one day; its id is the day.
type dailyTotal struct {
	Pesewas int64 `json:"pesewas"`
}

var dailyTotals = storage.NewCollection[dailyTotal]("payout_days", nil)

// countDailyTotal adds a payout to the sum of the day of its creation, or, negative,
// takes it off. Disbursements are not counted.
func (in *Internal) countDailyTotal(tx *engine.Tx, v *transfer.Variant, created time.Time, amount int64) error {
	most := in.limits[v].daily
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
