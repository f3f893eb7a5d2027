package catalog

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Interval is the unit of a plan's period.
type Interval string

// The intervals of plans.
const (
	Day   Interval = "day"
	Week  Interval = "week"
	Month Interval = "month"
	Year  Interval = "year"
)

// longestPeriods are how many of an interval make three years, the longest period.
var longestPeriods = map[Interval]int64{Day: 3 * 365, Week: 3 * 52, Month: 3 * 12, Year: 3}

// Plan is a price for each period, to which customers subscribe. A field that was not given is nil.
type Plan struct {
	ID       string   `json:"id"`     // plan_…
	Object   string   `json:"object"` // always "plan"
	Name     string   `json:"name"`
	Amount   int64    `json:"amount"` // of one period, in pesewas
	Currency string   `json:"currency"`
	Interval Interval `json:"interval"`
	// IntervalCount is how many intervals make a period.
	IntervalCount   int64        `json:"interval_count"`
	TrialPeriodDays *int64       `json:"trial_period_days"`
	Product         *string      `json:"product"`
	Taxable         *bool        `json:"taxable"`
	TaxPercent      *api.Number  `json:"tax_percent"`
	Active          bool         `json:"active"`
	Livemode        bool         `json:"livemode"`
	Metadata        api.Metadata `json:"metadata"`
	Created         int64        `json:"created"` // Unix seconds
}

var plans = storage.NewCollection("plans", []storage.Field[Plan]{
	storage.BoolColumn("active", func(p *Plan) bool { return p.Active }).Indexed(),
	storage.NullTextColumn("product", func(p *Plan) *string { return p.Product }).Indexed(),
	storage.TimeColumn("created", func(p *Plan) time.Time { return time.Unix(p.Created, 0) }).Indexed(),
})

var planListing = listing(plans, "plan")

// Plans keeps the plans of merchants. It is safe for concurrent use.
type Plans struct {
	engine *engine.Engine
	events *event.Internal
}

// CreatePlanParams describe a new plan.
type CreatePlanParams struct {
	Name string `json:"name" param:",required"` // at most 255 characters
	// Amount is in pesewas, from 1 to 99,999,999.
	Amount   int64    `json:"amount" param:",required,pesewas"`
	Currency string   `json:"currency,omitempty"` // GHS when empty
	Interval Interval `json:"interval" param:",required"`
	// IntervalCount is 1 when nil. A period has at most 1,095 days, 156 weeks, 36 months or 3 years.
	IntervalCount *int64 `json:"interval_count,omitempty"`
	// TrialPeriodDays is from 0 to 730.
	TrialPeriodDays *int64 `json:"trial_period_days,omitempty"`
	Product         string `json:"product,omitempty"` // the id of an active product
	// Taxable, and TaxPercent from 0 to 100 rounded half up to six decimals, are the product's when nil. With a
	// TaxPercent alone, the plan is taxable.
	Taxable    *bool            `json:"taxable,omitempty"`
	TaxPercent *decimal.Decimal `json:"tax_percent,omitempty" param:",rate"`
	Active     *bool            `json:"active,omitempty"` // true when nil
	Metadata   api.Metadata     `json:"metadata,omitempty"`
}

const maxTrialDays = 730

func (p *CreatePlanParams) check() error {
	if err := checkName(p.Name); err != nil {
		return err
	}
	if err := cmp.Or(check.Pesewas("amount", p.Amount), check.Currency(p.Currency)); err != nil {
		return err
	}
	if p.Interval == "" {
		return api.Missing("interval")
	}
	longest, ok := longestPeriods[p.Interval]
	if !ok {
		return api.Invalid("interval", "interval must be day, week, month or year.")
	}
	if p.IntervalCount == nil {
		p.IntervalCount = new(int64(1))
	}
	if *p.IntervalCount < 1 || *p.IntervalCount > longest {
		return api.Invalid("interval_count", "interval_count must be a whole number from 1 to %d, since a period is at most three years.", longest)
	}
	if err := checkWhole("trial_period_days", p.TrialPeriodDays, 0, maxTrialDays); err != nil {
		return err
	}
	return cmp.Or(check.Percent("tax_percent", p.TaxPercent), check.Metadata(p.Metadata, false))
}

// Create makes a plan. With an idempotency key it may be repeated safely.
//
// Refusals: parameter_missing, parameter_invalid, currency_not_supported, resource_missing
// (product), permission_denied for a key that may not read products.
func (s *Plans) Create(ctx context.Context, caller api.Caller, p CreatePlanParams) (*Plan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if err := check.Reads(caller, "products", "product", p.Product); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "plan.create", Params: p}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*Plan, error) {
		p := p // the function may run again
		p.Taxable = TaxableByRate(p.Taxable, p.TaxPercent)
		if p.Product != "" {
			product, err := usableProduct(tx, engine.Scope(caller), p.Product)
			if err != nil {
				return nil, err
			}
			p.takeTax(product)
		}
		made := Plan{
			ID: tx.NewID("plan_"), Object: "plan", Name: p.Name, Amount: p.Amount, Currency: api.Currency,
			Interval: p.Interval, IntervalCount: *p.IntervalCount, TrialPeriodDays: p.TrialPeriodDays,
			Product: api.TextOrNil(p.Product), Taxable: p.Taxable, TaxPercent: numberOrNil(p.TaxPercent),
			Active: p.Active == nil || *p.Active, Livemode: caller.Live, Metadata: p.Metadata, Created: tx.Now.Unix(),
		}
		if _, err := plans.Insert(tx, engine.Scope(caller), made.ID, made); err != nil {
			return nil, fmt.Errorf("catalog: create plan: %w", err)
		}
		return &made, s.events.Record(tx, &made, event.PlanCreated)
	})
}

// takeTax takes from a product the tax that a plan does not give.
func (p *CreatePlanParams) takeTax(from *Product) {
	if p.Taxable == nil {
		p.Taxable = from.Taxable
	}
	if p.TaxPercent == nil && from.TaxPercent != nil {
		p.TaxPercent = &from.TaxPercent.Decimal
	}
}

// Get returns one plan.
func (s *Plans) Get(ctx context.Context, caller api.Caller, id string) (*Plan, error) {
	return planListing.Get(ctx, s.engine, caller, id)
}

// ListPlansParams selects plans; zero values select all.
type ListPlansParams struct {
	api.Page
	Active  *bool     `param:"active"`
	Product string    `param:"product,id"`
	Created api.Times `param:"created"`
}

// List returns plans, newest first.
func (s *Plans) List(ctx context.Context, caller api.Caller, p ListPlansParams) (*api.List[Plan], error) {
	return planListing.List(ctx, s.engine, engine.Query(caller, p), p.Page)
}

// UpdatePlanParams change a plan. Nil keeps a field. Its price and its period never change: make
// another plan.
type UpdatePlanParams struct {
	Name   *string `json:"name,omitempty"`
	Active *bool   `json:"active,omitempty"`
	// TrialPeriodDays is for later subscriptions; a pointer to nil clears it.
	TrialPeriodDays **int64 `json:"trial_period_days,omitempty" param:",clear"`
	// Metadata is merged: a key with nil or "" is dropped. ClearMetadata drops all keys first.
	Metadata      api.Metadata `json:"metadata,omitempty"`
	ClearMetadata bool         `json:"clear_metadata,omitempty" param:"metadata,null"`
}

func (p *UpdatePlanParams) check() error {
	if err := checkNewName(p.Name); err != nil {
		return err
	}
	if p.TrialPeriodDays != nil {
		if err := checkWhole("trial_period_days", *p.TrialPeriodDays, 0, maxTrialDays); err != nil {
			return err
		}
	}
	return check.Metadata(p.Metadata, true)
}

// Update changes a plan. Subscriptions and checkout sessions keep what they copied from it. A plan that is
// not active takes no new ones.
//
// Refusals: resource_missing, parameter_invalid.
func (s *Plans) Update(ctx context.Context, caller api.Caller, id string, p UpdatePlanParams) (*Plan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "plan.update", Params: withID[UpdatePlanParams]{id, p}}
	return change(ctx, s.engine, caller, op, planListing, id, func(tx *engine.Tx, is *Plan) error {
		engine.SetGiven(&is.Name, p.Name)
		engine.SetGiven(&is.Active, p.Active)
		engine.SetGiven(&is.TrialPeriodDays, p.TrialPeriodDays)
		if err := check.UpdateMetadata(&is.Metadata, p.ClearMetadata, p.Metadata); err != nil {
			return err
		}
		return s.events.Record(tx, is, event.PlanUpdated)
	})
}

// Delete removes a plan. Its subscriptions go on.
//
// Refusals: resource_missing.
func (s *Plans) Delete(ctx context.Context, caller api.Caller, id string) (*api.Deleted, error) {
	return remove(ctx, s.engine, caller, planListing, id, func(tx *engine.Tx, was *Plan) error {
		return s.events.Record(tx, was, event.PlanDeleted)
	})
}
