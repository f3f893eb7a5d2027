package account

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Customer is a merchant's record of somebody who buys there. It holds no money.
type Customer struct {
	ID        string   `json:"id"`     // cus_…
	Object    string   `json:"object"` // always "customer"
	Name      string   `json:"name"`
	Email     string   `json:"email"`
	Phone     string   `json:"phone_number"` // +233XXXXXXXXX or empty
	Livemode  bool     `json:"livemode"`
	CreatedAt api.Time `json:"created_at"`
}

// Customers is where a host with customer records of its own keeps them. It is
// asked outside of any transaction. An unknown id is an [api.Error] with the code
// resource_missing, as [api.NoSuch] makes it.
type Customers interface {
	Customer(ctx context.Context, caller api.Caller, id string) (*Customer, error)
}

var customers = storage.NewCollection[Customer]("customers", nil)

// CustomerParams describe a customer. Everything is optional.
type CustomerParams struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
	Phone string `json:"phone_number,omitempty"`
}

// CreateCustomer makes a customer of the calling merchant.
func (s *Service) CreateCustomer(ctx context.Context, caller api.Caller, p CustomerParams) (*Customer, error) {
	if err := api.CheckText("name", p.Name, api.MaxName); err != nil {
		return nil, err
	}
	if err := api.CheckEmail("email", p.Email); err != nil {
		return nil, err
	}
	var err error
	if p.Phone, err = parsePhone("phone_number", p.Phone); err != nil {
		return nil, err
	}
	call := engine.Call{Name: "customer.create", Params: p}
	return engine.Do(ctx, s.engine, caller, call, func(tx *engine.Tx) (*Customer, error) {
		c := Customer{
			ID: tx.NewID("cus_"), Object: "customer", Name: p.Name, Email: p.Email, Phone: p.Phone,
			Livemode: caller.Live, CreatedAt: api.At(tx.Now),
		}
		if _, err := customers.Insert(tx, caller.Scope(), c.ID, c); err != nil {
			return nil, fmt.Errorf("account: create customer: %w", err)
		}
		return &c, nil
	})
}

// CustomerTx returns one customer in a transaction.
func CustomerTx(tx storage.ReadTx, scope storage.Scope, id string) (*Customer, error) {
	o, err := engine.GetTx(tx, customers, scope, id, "customer")
	if err != nil {
		return nil, err
	}
	return &o.Value, nil
}

// Customer returns one customer of the calling merchant.
func (s *Service) Customer(ctx context.Context, caller api.Caller, id string) (*Customer, error) {
	o, err := engine.Get(ctx, s.engine, caller, customers, id, "customer")
	if err != nil {
		return nil, err
	}
	return &o.Value, nil
}
