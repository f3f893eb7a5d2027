// Package offering keeps a merchant's products, coupons and plans: it implements the services of package catalog.
//
// It owns these three, and counts how often a coupon was redeemed. An invoice or a subscription copies
// what it needs of them: a line copies a product, and an invoice copies what a coupon takes off. So a
// later change or deletion does not change what was copied.
package offering

import (
	"context"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/storage"
)

var (
	_ catalog.Products = (*Products)(nil)
	_ catalog.Coupons  = (*Coupons)(nil)
	_ catalog.Plans    = (*Plans)(nil)
)

// Service provides the three services. Its other methods are those that domains call in their transactions.
type Service struct {
	engine *engine.Engine
	events *recording.Service
}

// New returns the service.
func New(e *engine.Engine, events *recording.Service) *Service { return &Service{e, events} }

// In returns a copy of the service that works in e, the engine of a host's transaction.
func (s *Service) In(e *engine.Engine) *Service { return &Service{e, s.events} }

// Products returns the service of products.
func (s *Service) Products() *Products { return &Products{s.engine} }

// Coupons returns the service of coupons.
func (s *Service) Coupons() *Coupons { return &Coupons{s.engine} }

// Plans returns the service of plans.
func (s *Service) Plans() *Plans { return &Plans{s.engine, s.events} }

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind {
	return []*storage.Kind{products.Kind(), coupons.Kind(), deletedCoupons.Kind(), plans.Kind()}
}

// change runs an update: it reads the object, changes it and writes it.
func change[T any](ctx context.Context, e *engine.Engine, caller api.Caller, op engine.Operation, in engine.Listing[T, T], id string, do func(*engine.Tx, *T) error) (*T, error) {
	return engine.Execute(ctx, e, caller, op, func(tx *engine.Tx) (*T, error) {
		o, err := engine.GetTx(tx, in.Collection, engine.Scope(caller), id, in.Noun)
		if err != nil {
			return nil, err
		}
		if err := do(tx, &o.Value); err != nil {
			return nil, err
		}
		if err := in.Collection.Replace(tx, o); err != nil {
			return nil, fmt.Errorf("catalog: update %s: %w", in.Noun, err)
		}
		return &o.Value, nil
	})
}

// remove runs a deletion. after runs in its transaction; nil for nothing.
func remove[T any](ctx context.Context, e *engine.Engine, caller api.Caller, in engine.Listing[T, T], id string, after func(*engine.Tx, *T) error) (*api.Deleted, error) {
	op := engine.Operation{Name: in.Noun + ".delete", Params: id}
	return engine.Execute(ctx, e, caller, op, func(tx *engine.Tx) (*api.Deleted, error) {
		o, err := engine.GetTx(tx, in.Collection, engine.Scope(caller), id, in.Noun)
		if err != nil {
			return nil, err
		}
		if err := engine.Delete(tx, in.Collection, o); err != nil {
			return nil, fmt.Errorf("catalog: delete %s: %w", in.Noun, err)
		}
		if after != nil {
			if err := after(tx, &o.Value); err != nil {
				return nil, err
			}
		}
		return &api.Deleted{ID: id, Object: in.Noun, Deleted: true}, nil
	})
}

// listing reads the objects of a collection, which are shown as they are stored.
func listing[T any](c *storage.Collection[T], noun string) engine.Listing[T, T] {
	return engine.Listing[T, T]{Collection: c, Noun: noun, URL: "/v1/" + noun + "s", Show: func(v *T) T { return *v }}
}

// checkName refuses a name that is empty or too long.
func checkName(name string) error {
	if name == "" {
		return api.Missing("name")
	}
	return check.Text("name", name, api.MaxName)
}

// checkNewName refuses an update of a name to one that is empty or too long.
func checkNewName(name *string) error {
	switch {
	case name == nil:
		return nil
	case *name == "":
		return api.Invalid("name", "name is empty. Give it a value or leave it out.")
	}
	return check.Text("name", *name, api.MaxName)
}

// checkWhole refuses a number that is given and out of range.
func checkWhole(param string, n *int64, lowest, highest int64) error {
	if n != nil && (*n < lowest || *n > highest) {
		return api.Invalid(param, "%s must be a whole number from %d to %d.", param, lowest, highest)
	}
	return nil
}

var hundred = decimal.NewFromInt(100)

// numberOrNil returns the JSON form of a decimal; nil for none.
func numberOrNil(d *decimal.Decimal) *api.Number {
	if d == nil {
		return nil
	}
	return &api.Number{Decimal: d.Round(money.RatePlaces)}
}

// currencyOf returns the currency of an amount; nil without one.
func currencyOf(amount *int64) *string {
	if amount == nil {
		return nil
	}
	return new(api.Currency)
}

// TaxableByRate returns taxable if it is given. Otherwise it returns true if there is a rate, and nil if there
// is none.
func TaxableByRate(taxable *bool, rate *decimal.Decimal) *bool {
	if taxable == nil && rate != nil {
		return new(true)
	}
	return taxable
}
