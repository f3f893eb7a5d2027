package party

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/lookup"
	"github.com/seed-7082ffec/payments/storage"
)

var customers = storage.NewCollection("customers", append([]storage.Field[account.Customer]{
	storage.TextColumn("email", func(c *account.Customer) string { return strings.ToLower(c.Email) }).Nullable().Indexed(),
	storage.TextColumn("phone", func(c *account.Customer) string { return c.Phone }).Nullable().Indexed(),
	storage.TimeColumn("created", func(c *account.Customer) time.Time { return c.CreatedAt.Time }).Indexed(),
}, nameFields(func(c *account.Customer) string { return c.Name })...)).Passthrough(func(c *account.Customer) any { return c })

// setCustomer checks the given fields and writes them into a customer.
func setCustomer(u *account.UpdateCustomerParams, c *account.Customer) error {
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

func (s *Service) CreateCustomer(ctx context.Context, caller api.Caller, p account.CreateCustomerParams) (*account.Customer, error) {
	made, err := newCustomer(&p)
	if err != nil {
		return nil, err
	}
	p.Phone = made.Phone // so that two spellings of one number are the same request
	op := engine.Operation{Name: "customer.create", Params: p}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*account.Customer, error) { return s.insertCustomer(tx, tx.NewID("cus_"), *made) })
}

// newCustomer checks the parameters, and returns the customer that they describe.
func newCustomer(p *account.CreateCustomerParams) (*account.Customer, error) {
	made := &account.Customer{Object: "customer", Metadata: api.Metadata{}}
	if p.Metadata != nil {
		made.Metadata = p.Metadata
	}
	given := account.UpdateCustomerParams{Name: &p.Name, Email: &p.Email, Phone: &p.Phone, Address: &p.Address}
	return made, setCustomer(&given, made)
}

// insertCustomer writes a new customer of the caller's.
func (s *Service) insertCustomer(tx *engine.Tx, id string, c account.Customer) (*account.Customer, error) {
	c.ID, c.CreatedAt, c.Livemode = id, api.At(tx.Now), tx.Caller.Live
	if _, err := customers.Insert(tx, engine.Scope(tx.Caller), c.ID, c); err != nil {
		return nil, fmt.Errorf("account: create customer: %w", err)
	}
	return &c, s.record(tx, &c, event.CustomerCreated)
}

func (s *Service) UpdateCustomer(ctx context.Context, caller api.Caller, id string, u account.UpdateCustomerParams) (*account.Customer, error) {
	if err := setCustomer(&u, &account.Customer{}); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "customer.update", Params: struct {
		ID string `json:"id"`
		account.UpdateCustomerParams
	}{id, u}}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*account.Customer, error) {
		o, err := engine.GetTx(tx, customers, engine.Scope(caller), id, "customer")
		if err != nil {
			return nil, err
		}
		if err := setCustomer(&u, &o.Value); err != nil {
			return nil, err
		}
		if err := customers.Replace(tx, o); err != nil {
			return nil, fmt.Errorf("account: update customer: %w", err)
		}
		return &o.Value, s.record(tx, &o.Value, event.CustomerUpdated)
	})
}

// record appends an event in the transaction. Without [Config].Events it does nothing.
func (s *Service) record(tx *engine.Tx, object any, t event.Type) error {
	if s.events == nil {
		return nil
	}
	return s.events.Append(tx, object, t)
}

func getCustomer(tx storage.ReadTx, scope storage.Scope, id string) (*account.Customer, error) {
	o, err := engine.GetTx(tx, customers, scope, id, "customer")
	if err != nil {
		return nil, err
	}
	return &o.Value, nil
}

func (s *Service) GetCustomer(ctx context.Context, caller api.Caller, id string) (*account.Customer, error) {
	return customerListing.Get(ctx, s.engine, caller, id)
}

// GetCustomerJSON writes to w the JSON of what GetCustomer returns, and a newline. It costs less
// than encoding that value. When it fails, w may hold a part of the JSON.
func (s *Service) GetCustomerJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error {
	return customerListing.GetJSON(ctx, s.engine, caller, id, w)
}

// customerListing reads customers.
var customerListing = engine.Listing[account.Customer, account.Customer]{
	Collection: customers, Noun: "customer", URL: "/v1/customers",
	Show: func(c *account.Customer) account.Customer { return *c },
}

func (s *Service) ListCustomers(ctx context.Context, caller api.Caller, p account.ListCustomersParams) (*api.List[account.Customer], error) {
	q, err := customerQuery(&p, caller)
	if err != nil {
		return nil, err
	}
	return customerListing.List(ctx, s.engine, q, p.Page)
}

func (s *Service) SearchCustomers(ctx context.Context, caller api.Caller, text string, p account.ListCustomersParams) (list *api.List[account.Customer], err error) {
	if strings.TrimSpace(text) == "" {
		return s.ListCustomers(ctx, caller, p)
	}
	q, err := customerQuery(&p, caller)
	if err != nil {
		return nil, err
	}
	err = s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		v := lookup.Parse(text)
		if c, err := customers.Get(tx, q.Scope, v.Text); err == nil && v.Text != "" {
			list = api.NewList(customerListing.URL, []account.Customer{customerListing.Show(&c.Value)}, false)
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
func (s *Service) ListCustomersJSON(ctx context.Context, caller api.Caller, p account.ListCustomersParams, w io.Writer) error {
	q, err := customerQuery(&p, caller)
	if err != nil {
		return err
	}
	return customerListing.ListJSON(ctx, s.engine, q, p.Page, w)
}

func customerQuery(p *account.ListCustomersParams, caller api.Caller) (storage.Query, error) {
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
