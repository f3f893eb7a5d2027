package payout

import (
	"context"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/chart"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/outside"
	"github.com/seed-7082ffec/payments/storage"
)

// OutgoingConfig is what transfers need. Nil and zero values stand for what the
// fields' comments say.
type OutgoingConfig struct {
	Events *event.Service
	// Rail carries transfers of live mode; without one live mode has wallets only.
	Rail Rail
	// TestRail carries transfers of test mode; [Simulated] when nil.
	TestRail Rail
	// Banks knows the banks that can be paid; [SampleBanks] when nil.
	Banks BankDirectory
	// Fees are the fees of external transfers; [DefaultFees] when nil.
	Fees *Fees
	// PayoutLimits default to GHS 1.00 to 20,000.00 and 50,000.00 a day,
	// DisbursementLimits to GHS 0.01 to 20,000.00.
	PayoutLimits, DisbursementLimits Limits
	// NameMatch compares names where a transfer demands it; [MatchNames] with
	// [DefaultNameTolerance] when nil.
	NameMatch NameMatch
	// NameQuota bounds lookups of names for each merchant and mode.
	NameQuota NameQuota
	// StuckAfter is how long a transfer may be on its way before it counts as
	// stuck; one hour when zero.
	StuckAfter time.Duration
	// NumberRetention is for how long the number of a transfer is kept from its creation
	// on, once it has ended; zero for good.
	NumberRetention time.Duration
}

// Outgoing makes transfers and sees them through. Payouts and disbursements
// share it; a host uses their services instead.
type Outgoing struct {
	engine *engine.Engine
	events *event.Service
	config OutgoingConfig
	limits map[*Noun]bounds
	// couriers see each noun's transfers through.
	couriers map[*Noun]*courier
}

// NewOutgoing returns it, or refuses a configuration that makes no sense.
func NewOutgoing(e *engine.Engine, c OutgoingConfig) (*Outgoing, error) {
	if c.TestRail == nil {
		c.TestRail = Simulated{}
	}
	if c.Banks == nil {
		c.Banks = SampleBanks()
	}
	if c.Fees == nil {
		c.Fees = DefaultFees()
	}
	if c.NameMatch == nil {
		c.NameMatch = MatchNames(DefaultNameTolerance)
	}
	c.NameQuota = c.NameQuota.orDefault()
	if c.StuckAfter <= 0 {
		c.StuckAfter = outside.DefaultStuckAfter
	}
	for name, fee := range map[string]Fee{"Fees.MobileMoney": c.Fees.MobileMoney, "Fees.BankTransfer": c.Fees.BankTransfer} {
		if err := fee.check(name); err != nil {
			return nil, err
		}
	}
	o := &Outgoing{engine: e, events: c.Events, config: c, limits: map[*Noun]bounds{}, couriers: map[*Noun]*courier{}}
	for _, n := range nouns {
		o.couriers[n] = o.courier(n)
	}
	var err error
	if o.limits[Payouts], err = c.PayoutLimits.bounds("PayoutLimits", minPayout, dailyPayouts); err != nil {
		return nil, err
	}
	if o.limits[Disbursements], err = c.DisbursementLimits.bounds("DisbursementLimits", minDisbursement, 0); err != nil {
		return nil, err
	}
	return o, nil
}

// Draft is a transfer that is asked for.
type Draft struct {
	Amount      decimal.Decimal // GHS
	Currency    string
	Destination DestinationParams
	// Scanned says that the recipient follows from a code, and is given to CreateTx;
	// Destination is not looked at.
	Scanned     bool
	Description string
	Reference   *string
	Metadata    api.Metadata
}

// Prepared is a draft in which nothing is wrong that can be seen without a
// transaction.
type Prepared struct {
	noun   *Noun
	draft  Draft
	amount int64
	fee    int64
	// External destinations; nil for wallets.
	shown  *Destination
	target *target
	match  NameMatch
}

// Prepare checks a draft. Refusals: amount_too_small, amount_too_large,
// invalid_phone_number, invalid_destination, invalid parameters; and
// service_unavailable in live mode without a rail.
func (o *Outgoing) Prepare(live bool, n *Noun, d Draft) (*Prepared, error) {
	if err := api.CheckCurrency(d.Currency); err != nil {
		return nil, err
	}
	if err := api.CheckText("description", d.Description, api.MaxText); err != nil {
		return nil, err
	}
	if d.Reference != nil {
		if err := api.CheckText("reference", *d.Reference, api.MaxReference); err != nil {
			return nil, err
		}
	}
	if err := d.Metadata.Check(false); err != nil {
		return nil, err
	}
	amount, err := o.limits[n].check(d.Amount)
	if err != nil {
		return nil, err
	}
	var shown *Destination
	var to *target
	if !d.Scanned {
		if shown, to, err = d.Destination.check(o.config.Banks); err != nil {
			return nil, err
		}
	}
	if to != nil && o.rail(live) == nil {
		return nil, errNoRail
	}
	return &Prepared{
		noun: n, draft: d, amount: amount, fee: o.config.Fees.of(d.Destination.Type, amount),
		shown: shown, target: to, match: o.config.NameMatch,
	}, nil
}

// CheckSize refuses an amount that is none, before anybody writes it out, as the
// fingerprint of an idempotency key does. No call with it can have succeeded.
func (o *Outgoing) CheckSize(n *Noun, amount decimal.Decimal) error {
	if money.Writable(amount) {
		return nil
	}
	_, err := o.limits[n].check(amount)
	return err
}

// External reports a destination outside of the service.
func (p *Prepared) External() bool { return p.target != nil }

// Shown returns the destination as the transfer will show it. recipient is nil for
// an external one.
func (p *Prepared) Shown(recipient *account.Recipient) Destination {
	if recipient != nil {
		return wallet(recipient)
	}
	return *p.shown
}

// Costs returns amount and fee, in pesewas.
func (p *Prepared) Costs() (amount, fee int64) { return p.amount, p.fee }

// Ask lets the rail look at an external destination, and compares its name where
// that is demanded, outside of any transaction.
func (o *Outgoing) Ask(ctx context.Context, caller api.Caller, p *Prepared) error {
	if p.target == nil {
		return nil
	}
	if o.engine.Host != nil {
		if p.draft.Destination.MatchName {
			return fmt.Errorf("payout: match_account_name: %w", engine.ErrOutside)
		}
		return nil // what is wrong with it is told when it fails
	}
	now := o.engine.Clock()
	err := o.refusedEarly(ctx, o.rail(caller.Live), Order{
		Live: caller.Live, Type: p.shown.Type, Amount: decimal.New(p.amount, -2), Provider: p.target.Provider,
		Number: p.target.Number, Name: p.target.Name, Description: p.draft.Description, CreatedAt: now, Now: now,
	}, numberParam(p.shown.Type))
	if err != nil {
		return err
	}
	return o.matchName(ctx, caller.Live, p)
}

// RecipientTx finds who a wallet draft pays.
func (p *Prepared) RecipientTx(tx storage.ReadTx, live bool) (*account.Recipient, error) {
	if p.target != nil {
		return nil, nil
	}
	d := &p.draft.Destination
	r, err := account.RecipientTx(tx, live, d.wallet())
	if err == nil && d.MatchName && !p.match(d.AccountName, r.Name) {
		return nil, errOtherName
	}
	return r, within("destination", err)
}

// CreateTx makes the transfer. recipient is nil for an external one.
//
// Refusals: daily_limit_exceeded, insufficient_balance.
func (o *Outgoing) CreateTx(tx *engine.Tx, p *Prepared, recipient *account.Recipient) (*Transfer, error) {
	r := record{
		Transfer: Transfer{
			ID: tx.NewID("po_"), Object: p.noun.Object, Amount: api.Pesewas(p.amount), Currency: api.Currency,
			Fee: api.Pesewas(p.fee), Status: Created, Description: p.draft.Description,
			Reference: p.draft.Reference, Metadata: p.draft.Metadata, CreatedAt: api.At(tx.Now),
		},
		Course: outside.Begin(tx.Caller, tx.Now),
	}
	if err := o.countDay(tx, p.noun, tx.Now, p.amount); err != nil {
		return nil, err
	}
	if recipient != nil {
		return o.payWallet(tx, p, &r, recipient)
	}
	return o.reserve(tx, p, &r)
}

// payWallet moves the money within the service, which completes the transfer.
func (o *Outgoing) payWallet(tx *engine.Tx, p *Prepared, r *record, to *account.Recipient) (*Transfer, error) {
	r.Destination = wallet(to)
	merchant, live := tx.Caller.Merchant, tx.Caller.Live
	err := tx.Post(storage.Posting{
		ID: tx.NewID("txn_"), Type: r.Object, Ref: r.ID, At: tx.Now,
		Moves: []storage.Move{chart.Available(merchant, live).Move(-p.amount), to.Account.Move(p.amount)},
	})
	if err != nil {
		return nil, fmt.Errorf("payout: pay wallet: %w", err)
	}
	r.enter(Completed)
	r.CompletedAt, r.Due = api.AtOrNil(tx.Now), nil
	if _, err := p.noun.transfers.Insert(tx, tx.Caller.Scope(), r.ID, *r); err != nil {
		return nil, fmt.Errorf("payout: keep %s: %w", r.Object, err)
	}
	if err := o.events.RecordTx(tx, &r.Transfer, p.noun.entered(Created), p.noun.entered(Completed)); err != nil {
		return nil, err
	}
	return &r.Transfer, nil
}

// reserve sets the money aside and queues the transfer for the rail.
func (o *Outgoing) reserve(tx *engine.Tx, p *Prepared, r *record) (*Transfer, error) {
	r.Destination, r.To = *p.shown, p.target
	merchant, live := tx.Caller.Merchant, tx.Caller.Live
	whole := p.amount + p.fee
	err := tx.Post(storage.Posting{
		ID: tx.NewID("txn_"), Type: r.Object, Ref: r.ID, At: tx.Now,
		Moves: []storage.Move{chart.Available(merchant, live).Move(-whole), chart.Reserved(merchant, live).Move(whole)},
	})
	if err != nil {
		return nil, fmt.Errorf("payout: reserve: %w", err)
	}
	if err := o.events.RecordTx(tx, &r.Transfer, p.noun.entered(Created)); err != nil {
		return nil, err
	}
	r.enter(Pending)
	if _, err := p.noun.transfers.Insert(tx, tx.Caller.Scope(), r.ID, *r); err != nil {
		return nil, fmt.Errorf("payout: keep %s: %w", r.Object, err)
	}
	if err := orders.OpenTx(tx, r.Object, r.ID); err != nil {
		return nil, err
	}
	tx.Due(p.noun.transfers.Kind())
	return &r.Transfer, o.events.RecordTx(tx, &r.Transfer, p.noun.entered(Pending))
}

// Get returns one transfer of a noun.
func (o *Outgoing) Get(ctx context.Context, caller api.Caller, n *Noun, id string) (*Transfer, error) {
	return n.listing().Get(ctx, o.engine, caller, id)
}

// listing is how transfers are read.
func (n *Noun) listing() engine.Listing[record, Transfer] {
	return engine.Listing[record, Transfer]{
		Collection: n.transfers, Noun: n.Object, URL: "/v1/" + n.transfers.Kind().Name,
		Show: func(r *record) Transfer { return r.Transfer }, AsStored: true,
	}
}

// GetTx returns one transfer of a noun in a transaction.
func GetTx(tx storage.ReadTx, scope storage.Scope, n *Noun, id string) (*Transfer, error) {
	found, err := engine.GetTx(tx, n.transfers, scope, id, n.Object)
	if err != nil {
		return nil, err
	}
	return &found.Value.Transfer, nil
}

// ListParams selects transfers; zero values select all.
type ListParams struct {
	api.Page
	Status  Status
	Created api.Times
}

// List returns transfers of a noun, newest first.
func (o *Outgoing) List(ctx context.Context, caller api.Caller, n *Noun, p ListParams) (*api.List[Transfer], error) {
	q := storage.Query{
		Scope: caller.Scope(),
		Where: api.Where(nil, "status", string(p.Status)),
		Range: api.InTimes(nil, "created", p.Created),
	}
	return n.listing().List(ctx, o.engine, q, p.Page)
}

// Cancel takes back a transfer that the rail has not been told of. Any other is
// refused with the noun's code.
func (o *Outgoing) Cancel(ctx context.Context, caller api.Caller, n *Noun, id string) (*Transfer, error) {
	call := engine.Call{Name: n.Object + ".cancel", Params: id}
	return engine.Do(ctx, o.engine, caller, call, func(tx *engine.Tx) (*Transfer, error) {
		found, err := engine.GetTx(tx, n.transfers, caller.Scope(), id, n.Object)
		if err != nil {
			return nil, err
		}
		if status := found.Value.Status; !found.Value.enter(Cancelled) {
			return nil, api.Errorf(n.NotCancellable, "", "This %s is %s and can no longer be cancelled.", n.Object, status)
		}
		if err := o.giveBack(tx, n, found); err != nil {
			return nil, err
		}
		return &found.Value.Transfer, nil
	})
}

// day is what a merchant has paid out on one day; its id is the day.
type day struct {
	Pesewas int64 `json:"pesewas"`
}

var days = storage.NewCollection[day]("payout_days", nil)

// countDay adds a payout to the sum of the day of its creation, or, negative,
// takes it off. Disbursements are not counted.
func (o *Outgoing) countDay(tx *engine.Tx, n *Noun, created time.Time, amount int64) error {
	most := o.limits[n].daily
	if most == 0 {
		return nil
	}
	id := created.UTC().Format(time.DateOnly)
	found, err := days.GetOrNew(tx, tx.Caller.Scope(), id)
	if err != nil {
		return fmt.Errorf("payout: read the day: %w", err)
	}
	found.Value.Pesewas += amount
	if amount > 0 && found.Value.Pesewas > most {
		left := max(0, most-(found.Value.Pesewas-amount))
		return api.Errorf(api.DailyLimitExceeded, "amount", "The daily limit of payouts is GHS %s, of which GHS %s is left today.", money.Text(most), money.Text(left))
	}
	if err := days.Put(tx, found); err != nil {
		return fmt.Errorf("payout: count the day: %w", err)
	}
	return nil
}
