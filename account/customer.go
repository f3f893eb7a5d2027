package account

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
)

// Customer is a merchant's record of a buyer. It holds no money.
type Customer struct {
	ID        string       `json:"id"`     // cus_…
	Object    string       `json:"object"` // always "customer"
	Name      string       `json:"name"`
	Email     string       `json:"email"`
	Phone     string       `json:"phone_number"` // +233XXXXXXXXX or empty
	Address   string       `json:"address"`
	Metadata  api.Metadata `json:"metadata"`
	Livemode  bool         `json:"livemode"`
	CreatedAt api.Time     `json:"created_at"`
}

// CustomerDirectory gives the library the customer records of a host that keeps its own. The
// library calls it outside of its transactions, but inside the host's own transaction where a host
// has one (payments.Service.InTx): there all writers wait for its answer. The ctx of a call ends after
// 30 seconds. For an unknown id it returns an [api.Error] with the code resource_missing; [api.NoSuch]
// makes one. Callers get any other error, wrapped; the log does not hold its text.
//
// Invoices, payments, checkout sessions and subscriptions then take their data from the directory
// alone. The library ignores its own customers, which [Customers.CreateCustomer] makes. A host that deletes one of
// its customers calls [Customers.ForgetCustomer].
type CustomerDirectory interface {
	Customer(ctx context.Context, caller api.Caller, id string) (*Customer, error)
}

// CreateCustomerParams describe a customer. Everything is optional.
type CreateCustomerParams struct {
	Name     string       `json:"name,omitempty"`         // at most 255 characters
	Email    string       `json:"email,omitempty"`        // one plain address
	Phone    string       `json:"phone_number,omitempty"` // a Ghanaian number in any common form, or another with + and its country code
	Address  string       `json:"address,omitempty"`      // at most 500 characters
	Metadata api.Metadata `json:"metadata,omitempty"`
}

// UpdateCustomerParams changes a customer: nil leaves a field as it is, the empty text
// clears it. Metadata is merged, see [api.Metadata.Merge]; ClearMetadata drops all keys first.
type UpdateCustomerParams struct {
	Name     *string      `json:"name,omitempty" param:",clear"`
	Email    *string      `json:"email,omitempty" param:",clear"`
	Phone    *string      `json:"phone_number,omitempty" param:",clear"`
	Address  *string      `json:"address,omitempty" param:",clear"`
	Metadata api.Metadata `json:"metadata,omitempty"`

	ClearMetadata bool `json:"clear_metadata,omitempty" param:"metadata,null"`
}

// ListCustomersParams selects customers; zero values select all.
type ListCustomersParams struct {
	api.Page
	// Email is a complete address; case does not matter. Phone is a number as for
	// [CreateCustomerParams].
	Email   string    `param:"email"`
	Phone   string    `param:"phone"`
	Created api.Times `param:"created"`
}
