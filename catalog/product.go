package catalog

import (
	"context"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
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

// ListProductsParams selects products; zero values select all.
type ListProductsParams struct {
	api.Page
	Active  *bool     `param:"active"`
	Created api.Times `param:"created"`
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

// Products keeps what a merchant sells. It is safe for concurrent use. It may grow in any release: embed
// it in a fake.
type Products interface {
	// Create makes a product. With an idempotency key it may be repeated safely.
	//
	// Refusals: parameter_missing, parameter_invalid, currency_not_supported.
	Create(ctx context.Context, caller api.Caller, p CreateProductParams) (*Product, error)

	// Get returns one product.
	Get(ctx context.Context, caller api.Caller, id string) (*Product, error)

	// List returns products, newest first.
	List(ctx context.Context, caller api.Caller, p ListProductsParams) (*api.List[Product], error)

	// Update changes a product. Lines that were made of it stay as they are.
	//
	// Refusals: resource_missing, parameter_invalid, currency_not_supported.
	Update(ctx context.Context, caller api.Caller, id string, p UpdateProductParams) (*Product, error)

	// Delete removes a product. Lines and plans that name it stay.
	//
	// Refusals: resource_missing.
	Delete(ctx context.Context, caller api.Caller, id string) (*api.Deleted, error)
}
