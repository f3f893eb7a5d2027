package account

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/lookup"
	"github.com/seed-7082ffec/payments/storage"
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
// alone. The library ignores its own customers, which [Service.CreateCustomer] makes. A host that deletes one of its customers calls
// [Service.ForgetCustomer].
type CustomerDirectory interface {
	Customer(ctx context.Context, caller api.Caller, id string) (*Customer, error)
}

var customers = storage.NewCollection("customers", append([]storage.Field[Customer]{
	storage.TextColumn("email", func(c *Customer) string { return strings.ToLower(c.Email) }).Nullable().Indexed(),
	storage.TextColumn("phone", func(c *Customer) string { return c.Phone }).Nullable().Indexed(),
	storage.TimeColumn("created", func(c *Customer) time.Time { return c.CreatedAt.Time }).Indexed(),
}, nameFields(func(c *Customer) string { return c.Name })...)).Passthrough(func(c *Customer) any { return c })

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

// set checks the given fields and writes them into a customer.
func (u *UpdateCustomerParams) set(c *Customer) error {
	if u.Name != nil {
		if err := check.Text("name", *u.Name, api.MaxName); err != nil {
			return err
		}
		c.Name = *u.Name
	}
	if u.Email != nil {
		if err := check.Email("email", *u.Email); err != nil {
			return err
		}
		c.Email = *u.Email
	}
	if u.Phone != nil {
		number, err := check.AnyPhone("phone_number", *u.Phone)
		if err != nil {
			return err
		}
		c.Phone = number
	}
	if u.Address != nil {
		if err := check.Text("address", *u.Address, api.MaxText); err != nil {
			return err
		}
		c.Address = *u.Address
	}
	if err := check.Metadata(u.Metadata, true); err != nil {
		return err
	}
	if err := check.UpdateMetadata(&c.Metadata, u.ClearMetadata, u.Metadata); err != nil {
		return err
	}
	return check.Metadata(c.Metadata, false) // also that of a new customer
}

// CreateCustomer makes a customer of the calling merchant. Two customers may be
// alike. With an idempotency key it may be repeated safely.
//
// Refusals: parameter_invalid, invalid_phone_number.
func (s *Service) CreateCustomer(ctx context.Context, caller api.Caller, p CreateCustomerParams) (*Customer, error) {
	made, err := p.customer()
	if err != nil {
		return nil, err
	}
	p.Phone = made.Phone // so that two spellings of one number are the same request
	op := engine.Operation{Name: "customer.create", Params: p}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*Customer, error) { return s.insertCustomer(tx, tx.NewID("cus_"), *made) })
}

// customer checks the parameters, and returns the customer that they describe.
func (p *CreateCustomerParams) customer() (*Customer, error) {
	made := &Customer{Object: "customer", Metadata: api.Metadata{}}
	if p.Metadata != nil {
		made.Metadata = p.Metadata
	}
	given := UpdateCustomerParams{Name: &p.Name, Email: &p.Email, Phone: &p.Phone, Address: &p.Address}
	return made, given.set(made)
}

// insertCustomer writes a new customer of the caller's.
func (s *Service) insertCustomer(tx *engine.Tx, id string, c Customer) (*Customer, error) {
	c.ID, c.CreatedAt, c.Livemode = id, api.At(tx.Now), tx.Caller.Live
	if _, err := customers.Insert(tx, engine.Scope(tx.Caller), c.ID, c); err != nil {
		return nil, fmt.Errorf("account: create customer: %w", err)
	}
	return &c, s.record(tx, &c, event.CustomerCreated)
}

// UpdateCustomer changes a customer. Invoices that took data from it stay as they are.
//
// Refusals: resource_missing, parameter_invalid, invalid_phone_number.
func (s *Service) UpdateCustomer(ctx context.Context, caller api.Caller, id string, u UpdateCustomerParams) (*Customer, error) {
	if err := u.set(&Customer{}); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "customer.update", Params: struct {
		ID string `json:"id"`
		UpdateCustomerParams
	}{id, u}}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*Customer, error) {
		o, err := engine.GetTx(tx, customers, engine.Scope(caller), id, "customer")
		if err != nil {
			return nil, err
		}
		if err := u.set(&o.Value); err != nil {
			return nil, err
		}
		if err := customers.Replace(tx, o); err != nil {
			return nil, fmt.Errorf("account: update customer: %w", err)
		}
		return &o.Value, s.record(tx, &o.Value, event.CustomerUpdated)
	})
}

// record writes an event, unless the service has no event package.
func (s *Service) record(tx *engine.Tx, object any, t event.Type) error {
	if s.events == nil {
		return nil
	}
	return s.events.Record(tx, object, t)
}

func getCustomer(tx storage.ReadTx, scope storage.Scope, id string) (*Customer, error) {
	o, err := engine.GetTx(tx, customers, scope, id, "customer")
	if err != nil {
		return nil, err
	}
	return &o.Value, nil
}

// GetCustomer returns one customer of the calling merchant.
func (s *Service) GetCustomer(ctx context.Context, caller api.Caller, id string) (*Customer, error) {
	return customerListing.Get(ctx, s.engine, caller, id)
}

// GetCustomerJSON writes to w the JSON of what GetCustomer returns, and a newline. It costs less
// than encoding that value. When it fails, w may hold a part of the JSON.
func (s *Service) GetCustomerJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error {
	return customerListing.GetJSON(ctx, s.engine, caller, id, w)
}

// customerListing reads customers.
var customerListing = engine.Listing[Customer, Customer]{
	Collection: customers, Noun: "customer", URL: "/v1/customers",
	Show: func(c *Customer) Customer { return *c },
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

// ListCustomers returns customers, newest first.
func (s *Service) ListCustomers(ctx context.Context, caller api.Caller, p ListCustomersParams) (*api.List[Customer], error) {
	q, err := p.query(caller)
	if err != nil {
		return nil, err
	}
	return customerListing.List(ctx, s.engine, q, p.Page)
}

// SearchCustomers returns the customers that match a text and the parameters, newest first. The text is an
// id, a name or its first word, a whole e-mail address, or a whole phone number. An id finds its customer
// whatever the parameters say. An empty text lists all.
func (s *Service) SearchCustomers(ctx context.Context, caller api.Caller, text string, p ListCustomersParams) (list *api.List[Customer], err error) {
	if strings.TrimSpace(text) == "" {
		return s.ListCustomers(ctx, caller, p)
	}
	q, err := p.query(caller)
	if err != nil {
		return nil, err
	}
	err = s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		v := lookup.Parse(text)
		if c, err := customers.Get(tx, q.Scope, v.Text); err == nil && v.Text != "" {
			list = api.NewList(customerListing.URL, []Customer{customerListing.Show(&c.Value)}, false)
			return nil
		}
		var either [][]storage.Equal
		if v.Text != "" {
			either = append(either, engine.Where(nil, "email", strings.ToLower(v.Text)))
		}
		if v.Name != "" {
			either = append(either, []storage.Equal{named(v.Name)})
		}
		if v.Number != "" {
			either = append(either, engine.Where(nil, "phone", v.Number))
		}
		list, err = customerListing.AnyTx(tx, q, either, p.Page)
		return err
	})
	return list, err
}

// ListCustomersJSON writes the JSON of what ListCustomers returns; see package httpapi.
func (s *Service) ListCustomersJSON(ctx context.Context, caller api.Caller, p ListCustomersParams, w io.Writer) error {
	q, err := p.query(caller)
	if err != nil {
		return err
	}
	return customerListing.ListJSON(ctx, s.engine, q, p.Page, w)
}

func (p *ListCustomersParams) query(caller api.Caller) (storage.Query, error) {
	if err := check.Email("email", p.Email); err != nil {
		return storage.Query{}, err
	}
	number, err := check.AnyPhone("phone", p.Phone)
	if err != nil {
		return storage.Query{}, err
	}
	p.Email, p.Phone = strings.ToLower(p.Email), number
	return engine.Query(caller, *p), nil
}
