package offering

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/storage"
)

// longestPeriods are the counts of each interval that make three years, the longest period.
var longestPeriods = map[catalog.Interval]int64{catalog.Day: 3 * 365, catalog.Week: 3 * 52, catalog.Month: 3 * 12, catalog.Year: 3}

var plans = storage.NewCollection("plans", []storage.Field[catalog.Plan]{
	storage.BoolColumn("active", func(p *catalog.Plan) bool { return p.Active }).Indexed(),
	storage.NullTextColumn("product", func(p *catalog.Plan) *string { return p.Product }).Indexed(),
	storage.TimeColumn("created", func(p *catalog.Plan) time.Time { return time.Unix(p.Created, 0) }).Indexed(),
})

var planListing = listing(plans, "plan")

// Plans implements [catalog.Plans].
type Plans struct {
	engine *engine.Engine
	events *recording.Service
}

// MaxTrialDays is the longest trial of a plan, and of a subscription.
const MaxTrialDays = 730

func checkNewPlan(p *catalog.CreatePlanParams) error {
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
	if err := checkWhole("trial_period_days", p.TrialPeriodDays, 0, MaxTrialDays); err != nil {
		return err
	}
	return cmp.Or(check.Percent("tax_percent", p.TaxPercent), check.Metadata(p.Metadata, false))
}

func (s *Plans) Create(ctx context.Context, caller api.Caller, p catalog.CreatePlanParams) (*catalog.Plan, error) {
	if err := checkNewPlan(&p); err != nil {
		return nil, err
	}
	if err := check.Reads(caller, "products", "product", p.Product); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "plan.create", Params: p}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*catalog.Plan, error) {
		p := p // the function may run again
		p.Taxable = TaxableByRate(p.Taxable, p.TaxPercent)
		if p.Product != "" {
			product, err := usableProduct(tx, engine.Scope(caller), p.Product)
			if err != nil {
				return nil, err
			}
			takeTax(&p, product)
		}
		made := catalog.Plan{
			ID: tx.NewID("plan_"), Object: "plan", Name: p.Name, Amount: p.Amount, Currency: api.Currency,
			Interval: p.Interval, IntervalCount: *p.IntervalCount, TrialPeriodDays: p.TrialPeriodDays,
			Product: api.TextOrNil(p.Product), Taxable: p.Taxable, TaxPercent: numberOrNil(p.TaxPercent),
			Active: p.Active == nil || *p.Active, Livemode: caller.Live, Metadata: p.Metadata, Created: tx.Now.Unix(),
		}
		if _, err := plans.Insert(tx, engine.Scope(caller), made.ID, made); err != nil {
			return nil, fmt.Errorf("catalog: create plan: %w", err)
		}
		return &made, s.events.Append(tx, &made, event.PlanCreated)
	})
}

// takeTax gives a plan that states no tax the tax of its product.
func takeTax(p *catalog.CreatePlanParams, from *catalog.Product) {
	if p.Taxable == nil {
		p.Taxable = from.Taxable
	}
	if p.TaxPercent == nil && from.TaxPercent != nil {
		p.TaxPercent = &from.TaxPercent.Decimal
	}
}

func (s *Plans) Get(ctx context.Context, caller api.Caller, id string) (*catalog.Plan, error) {
	return planListing.Get(ctx, s.engine, caller, id)
}

func (s *Plans) List(ctx context.Context, caller api.Caller, p catalog.ListPlansParams) (*api.List[catalog.Plan], error) {
	return planListing.List(ctx, s.engine, engine.Query(caller, p), p.Page)
}

func checkPlan(p *catalog.UpdatePlanParams) error {
	if err := checkNewName(p.Name); err != nil {
		return err
	}
	if p.TrialPeriodDays != nil {
		if err := checkWhole("trial_period_days", *p.TrialPeriodDays, 0, MaxTrialDays); err != nil {
			return err
		}
	}
	return check.Metadata(p.Metadata, true)
}

func (s *Plans) Update(ctx context.Context, caller api.Caller, id string, p catalog.UpdatePlanParams) (*catalog.Plan, error) {
	if err := checkPlan(&p); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "plan.update", Params: engine.WithID[catalog.UpdatePlanParams]{ID: id, Params: p}}
	return change(ctx, s.engine, caller, op, planListing, id, func(tx *engine.Tx, is *catalog.Plan) error {
		engine.SetGiven(&is.Name, p.Name)
		engine.SetGiven(&is.Active, p.Active)
		engine.SetGiven(&is.TrialPeriodDays, p.TrialPeriodDays)
		if err := check.UpdateMetadata(&is.Metadata, p.ClearMetadata, p.Metadata); err != nil {
			return err
		}
		return s.events.Append(tx, is, event.PlanUpdated)
	})
}

func (s *Plans) Delete(ctx context.Context, caller api.Caller, id string) (*api.Deleted, error) {
	return remove(ctx, s.engine, caller, planListing, id, func(tx *engine.Tx, was *catalog.Plan) error {
		return s.events.Append(tx, was, event.PlanDeleted)
	})
}
