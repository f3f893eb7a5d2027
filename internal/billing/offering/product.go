package offering

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

var products = storage.NewCollection("products", []storage.Field[catalog.Product]{
	storage.BoolColumn("active", func(p *catalog.Product) bool { return p.Active }).Indexed(),
	storage.TimeColumn("created", func(p *catalog.Product) time.Time { return time.Unix(p.Created, 0) }).Indexed(),
})

var productListing = listing(products, "product")

// Products implements [catalog.Products].
type Products struct{ engine *engine.Engine }

func checkNewProduct(p *catalog.CreateProductParams) error {
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

func (s *Products) Create(ctx context.Context, caller api.Caller, p catalog.CreateProductParams) (*catalog.Product, error) {
	if err := checkNewProduct(&p); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "product.create", Params: p}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*catalog.Product, error) {
		made := catalog.Product{
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

func (s *Products) Get(ctx context.Context, caller api.Caller, id string) (*catalog.Product, error) {
	return productListing.Get(ctx, s.engine, caller, id)
}

func (s *Products) List(ctx context.Context, caller api.Caller, p catalog.ListProductsParams) (*api.List[catalog.Product], error) {
	return productListing.List(ctx, s.engine, engine.Query(caller, p), p.Page)
}

func checkProduct(p *catalog.UpdateProductParams) error {
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

func (s *Products) Update(ctx context.Context, caller api.Caller, id string, p catalog.UpdateProductParams) (*catalog.Product, error) {
	if err := checkProduct(&p); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "product.update", Params: engine.WithID[catalog.UpdateProductParams]{ID: id, Params: p}}
	return change(ctx, s.engine, caller, op, productListing, id, func(_ *engine.Tx, is *catalog.Product) error {
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

func (s *Products) Delete(ctx context.Context, caller api.Caller, id string) (*api.Deleted, error) {
	return remove(ctx, s.engine, caller, productListing, id, nil)
}
