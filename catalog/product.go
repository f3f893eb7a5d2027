package catalog

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Product is something that a merchant sells. A field that was not given is nil.
type Product struct {
	ID          string  `json:"id"`     // prod_…
	Object      string  `json:"object"` // always "product"
	Name        string  `json:"name"`
	Description *string `json:"description"`
	// UnitAmount is the price of one, in pesewas.
	UnitAmount *int64       `json:"unit_amount"`
	Currency   *string      `json:"currency"` // GHS; nil without a price
	Taxable    *bool        `json:"taxable"`
	TaxPercent *api.Number  `json:"tax_percent"`
	Active     bool         `json:"active"`
	Livemode   bool         `json:"livemode"`
	Metadata   api.Metadata `json:"metadata"`
	Created    int64        `json:"created"` // Unix seconds
}

var products = storage.NewCollection("products", []storage.Field[Product]{
	storage.BoolColumn("active", func(p *Product) bool { return p.Active }).Indexed(),
	storage.TimeColumn("created", func(p *Product) time.Time { return time.Unix(p.Created, 0) }).Indexed(),
})

var productListing = listing(products, "product")

// Products keeps the products of merchants. It is safe for concurrent use.
type Products struct{ engine *engine.Engine }

// CreateProductParams describe a new product.
type CreateProductParams struct {
	Name        string `json:"name" param:",required"` // at most 255 characters
	Description string `json:"description,omitempty"`  // at most 500 characters
	// UnitAmount is in pesewas, from 1 to 99,999,999.
	UnitAmount *int64 `json:"unit_amount,omitempty" param:",pesewas"`
	Currency   string `json:"currency,omitempty"` // GHS when empty
	Taxable    *bool  `json:"taxable,omitempty"`
	// TaxPercent is from 0 to 100 rounded half up to six decimals. With it alone, the product is taxable.
	TaxPercent *decimal.Decimal `json:"tax_percent,omitempty" param:",rate"`
	Active     *bool            `json:"active,omitempty"` // true when nil
	Metadata   api.Metadata     `json:"metadata,omitempty"`
}

func (p *CreateProductParams) check() error {
	if err := checkName(p.Name); err != nil {
		return err
	}
	if err := check.Text("description", p.Description, api.MaxText); err != nil {
		return err
	}
	if p.UnitAmount != nil {
		if err := check.Pesewas("unit_amount", *p.UnitAmount); err != nil {
			return err
		}
	}
	return cmp.Or(check.Currency(p.Currency), check.Percent("tax_percent", p.TaxPercent), check.Metadata(p.Metadata, false))
}

// Create makes a product. With an idempotency key it may be repeated safely.
//
// Refusals: parameter_missing, parameter_invalid, currency_not_supported.
func (s *Products) Create(ctx context.Context, caller api.Caller, p CreateProductParams) (*Product, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "product.create", Params: p}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*Product, error) {
		made := Product{
			ID: tx.NewID("prod_"), Object: "product", Name: p.Name, Description: api.TextOrNil(p.Description),
			UnitAmount: p.UnitAmount, Currency: currencyOf(p.UnitAmount), Taxable: TaxableByRate(p.Taxable, p.TaxPercent), TaxPercent: numberOrNil(p.TaxPercent),
			Active: p.Active == nil || *p.Active, Livemode: caller.Live, Metadata: p.Metadata, Created: tx.Now.Unix(),
		}
		if _, err := products.Insert(tx, engine.Scope(caller), made.ID, made); err != nil {
			return nil, fmt.Errorf("catalog: create product: %w", err)
		}
		return &made, nil
	})
}

// Get returns one product.
func (s *Products) Get(ctx context.Context, caller api.Caller, id string) (*Product, error) {
	return productListing.Get(ctx, s.engine, caller, id)
}

// ListProductsParams selects products; zero values select all.
type ListProductsParams struct {
	api.Page
	Active  *bool     `param:"active"`
	Created api.Times `param:"created"`
}

// List returns products, newest first.
func (s *Products) List(ctx context.Context, caller api.Caller, p ListProductsParams) (*api.List[Product], error) {
	return productListing.List(ctx, s.engine, engine.Query(caller, p), p.Page)
}

// UpdateProductParams change a product. Nil keeps a field. An empty Description clears the description.
// A pointer to nil clears UnitAmount, Taxable or TaxPercent. A rate alone means taxable, as in a create.
type UpdateProductParams struct {
	Name        *string           `json:"name,omitempty"`
	Description *string           `json:"description,omitempty" param:",clear"`
	UnitAmount  **int64           `json:"unit_amount,omitempty" param:",pesewas,clear"`
	Currency    string            `json:"currency,omitempty"` // GHS when empty
	Taxable     **bool            `json:"taxable,omitempty" param:",clear"`
	TaxPercent  **decimal.Decimal `json:"tax_percent,omitempty" param:",rate,clear"`
	Active      *bool             `json:"active,omitempty"`
	// Metadata is merged: a key with nil or "" is dropped. ClearMetadata drops all keys first.
	Metadata      api.Metadata `json:"metadata,omitempty"`
	ClearMetadata bool         `json:"clear_metadata,omitempty" param:"metadata,null"`
}

func (p *UpdateProductParams) check() error {
	if err := checkNewName(p.Name); err != nil {
		return err
	}
	if err := check.OptionalText("description", p.Description, api.MaxText); err != nil {
		return err
	}
	if p.UnitAmount != nil && *p.UnitAmount != nil {
		if err := check.Pesewas("unit_amount", **p.UnitAmount); err != nil {
			return err
		}
	}
	if err := check.Currency(p.Currency); err != nil {
		return err
	}
	if p.TaxPercent != nil {
		if err := check.Percent("tax_percent", *p.TaxPercent); err != nil {
			return err
		}
	}
	return check.Metadata(p.Metadata, true)
}

// Update changes a product. Lines that were made of it stay as they are.
//
// Refusals: resource_missing, parameter_invalid, currency_not_supported.
func (s *Products) Update(ctx context.Context, caller api.Caller, id string, p UpdateProductParams) (*Product, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "product.update", Params: withID[UpdateProductParams]{id, p}}
	return change(ctx, s.engine, caller, op, productListing, id, func(_ *engine.Tx, is *Product) error {
		engine.SetGiven(&is.Name, p.Name)
		if p.Description != nil {
			is.Description = api.TextOrNil(*p.Description)
		}
		if p.UnitAmount != nil {
			is.UnitAmount, is.Currency = *p.UnitAmount, currencyOf(*p.UnitAmount)
		}
		engine.SetGiven(&is.Taxable, p.Taxable)
		if p.TaxPercent != nil {
			is.TaxPercent = numberOrNil(*p.TaxPercent)
		}
		if is.TaxPercent != nil {
			is.Taxable = TaxableByRate(is.Taxable, &is.TaxPercent.Decimal)
		}
		engine.SetGiven(&is.Active, p.Active)
		return check.UpdateMetadata(&is.Metadata, p.ClearMetadata, p.Metadata)
	})
}

// Delete removes a product. Lines and plans that name it stay.
//
// Refusals: resource_missing.
func (s *Products) Delete(ctx context.Context, caller api.Caller, id string) (*api.Deleted, error) {
	return remove(ctx, s.engine, caller, productListing, id, nil)
}
