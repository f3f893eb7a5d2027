package catalog

import (
	"context"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
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

// ListPlansParams selects plans; zero values select all.
type ListPlansParams struct {
	api.Page
	Active  *bool     `param:"active"`
	Product string    `param:"product,id"`
	Created api.Times `param:"created"`
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

// Plans keeps what a subscription costs and when it is billed. It is safe for concurrent use. It may grow in any
// release: embed it in a fake.
type Plans interface {
	// Create makes a plan. With an idempotency key it may be repeated safely.
	//
	// Refusals: parameter_missing, parameter_invalid, currency_not_supported, resource_missing
	// (product), permission_denied for a key that may not read products.
	Create(ctx context.Context, caller api.Caller, p CreatePlanParams) (*Plan, error)

	// Get returns one plan.
	Get(ctx context.Context, caller api.Caller, id string) (*Plan, error)

	// List returns plans, newest first.
	List(ctx context.Context, caller api.Caller, p ListPlansParams) (*api.List[Plan], error)

	// Update changes a plan. Subscriptions and checkout sessions keep what they copied from it. A plan that is
	// not active takes no new ones.
	//
	// Refusals: resource_missing, parameter_invalid.
	Update(ctx context.Context, caller api.Caller, id string, p UpdatePlanParams) (*Plan, error)

	// Delete removes a plan. Its subscriptions go on.
	//
	// Refusals: resource_missing.
	Delete(ctx context.Context, caller api.Caller, id string) (*api.Deleted, error)
}
