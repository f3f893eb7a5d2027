package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/storage"
)

// The bounds of the time until a session expires.
const (
	minLife = 30 * time.Minute
	maxLife = 24 * time.Hour
)

// checkCreate also fills in the stored forms.
func checkCreate(p *checkout.CreateParams, in *invoicing.Service, live bool) error {
	switch p.Mode {
	case "":
		p.Mode = checkout.ModePayment
	case checkout.ModePayment, checkout.ModeSubscription:
	default:
		return api.Invalid("mode", "mode must be payment or subscription.")
	}
	if err := checkSold(p, in); err != nil {
		return err
	}
	if err := check.Currency(p.Currency); err != nil {
		return err
	}
	if p.SuccessURL == "" {
		return api.Missing("success_url")
	}
	if err := checkURL("success_url", p.SuccessURL, live); err != nil {
		return err
	}
	if p.CancelURL != "" {
		if err := checkURL("cancel_url", p.CancelURL, live); err != nil {
			return err
		}
	}
	if err := checkPayer(p); err != nil {
		return err
	}
	return cmp.Or(check.Text("reference", p.Reference, api.MaxReference), check.Metadata(p.Metadata, false))
}

// checkReads refuses what the caller may not read: the session shows the customer's data, and what the rest costs.
func checkReads(p *checkout.CreateParams, caller api.Caller) error {
	return cmp.Or(
		check.Reads(caller, "customers", "customer", p.Customer), check.Reads(caller, "plans", "plan", p.Plan), check.Reads(caller, "coupons", "coupon", p.Coupon),
		invoicing.CheckReads(caller, p.Lines),
	)
}

// checkSold refuses what the mode does not sell, and sets the default of Quantity.
func checkSold(p *checkout.CreateParams, in *invoicing.Service) error {
	switch {
	case p.Mode == checkout.ModePayment && p.Plan != "":
		return api.Invalid("plan", "plan is for the mode subscription. Send line_items, or set mode.")
	case p.Mode == checkout.ModePayment && p.Quantity != nil:
		return api.Invalid("quantity", "quantity is for the mode subscription. Send that of each line in line_items.")
	case p.Mode == checkout.ModePayment && len(p.Lines) == 0:
		return api.Missing("line_items")
	case p.Mode == checkout.ModePayment:
		return in.CheckLines(p.Lines)
	case len(p.Lines) > 0:
		return api.Invalid("line_items", "line_items are for the mode payment. Send plan and quantity.")
	case p.Plan == "":
		return api.Missing("plan")
	case p.Quantity == nil:
		p.Quantity = new(int64(1))
	}
	return nil
}

func checkPayer(p *checkout.CreateParams) error {
	for _, given := range []struct{ param, value string }{
		{"customer_name", p.Name}, {"customer_email", p.Email}, {"customer_phone", p.Phone},
	} {
		if p.Customer != "" && given.value != "" {
			return api.Invalid(given.param, "Give either customer or %s.", given.param)
		}
	}
	if err := cmp.Or(check.Text("customer_name", p.Name, api.MaxName), check.Email("customer_email", p.Email)); err != nil {
		return err
	}
	var err error
	p.Phone, err = check.Phone("customer_phone", p.Phone)
	return err
}

// tokenLength is the length of the secret in a page's address, in characters of base 62: 190 bits.
const tokenLength = 32

func (s *Service) Create(ctx context.Context, caller api.Caller, p checkout.CreateParams) (*checkout.Session, error) {
	if err := checkCreate(&p, s.config.Invoices, caller.Live); err != nil {
		return nil, err
	}
	if err := checkReads(&p, caller); err != nil {
		return nil, err
	}
	if p.Mode == checkout.ModeSubscription && p.Customer == "" && s.config.Accounts.HostsCustomers() {
		return nil, api.Missing("customer")
	}
	op := engine.Operation{Name: "checkout_session.create", Params: p}
	if p.Customer == "" || !s.config.Accounts.HostsCustomers() {
		return s.create(ctx, caller, op, p)
	}
	// The host may have deleted the customer since.
	return engine.ExecuteWithReplay(ctx, s.engine, caller, op, func() (*checkout.Session, error) { return s.create(ctx, caller, op, p) })
}

// create runs Create for checked parameters.
func (s *Service) create(ctx context.Context, caller api.Caller, op engine.Operation, p checkout.CreateParams) (*checkout.Session, error) {
	customer, err := s.customer(ctx, caller, p.Customer)
	if err != nil {
		return nil, err
	}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*checkout.Session, error) {
		id := tx.NewID("cs_")
		r := &record{
			Session: checkout.Session{
				ID: id, Object: "checkout_session", Mode: p.Mode, Status: checkout.Open, PaymentStatus: checkout.Unpaid,
				SuccessURL: p.SuccessURL, CancelURL: api.TextOrNil(p.CancelURL), Customer: api.TextOrNil(p.Customer),
				Name: api.TextOrNil(p.Name), Email: api.TextOrNil(p.Email), Phone: api.TextOrNil(p.Phone),
				Coupon: api.TextOrNil(p.Coupon), Reference: api.TextOrNil(p.Reference), Currency: api.Currency,
				Livemode: caller.Live, Metadata: p.Metadata, Created: tx.Now.Unix(),
			},
			Token: ids.Secret(rand.Reader, tokenLength), CreatedAt: api.At(tx.Now),
			RequestID: caller.RequestID, IdempotencyKey: caller.IdempotencyKey,
		}
		if err := r.setExpiry(p.ExpiresAt, tx.Now); err != nil {
			return nil, err
		}
		if err := r.setCustomer(tx, customer); err != nil {
			return nil, err
		}
		var coupon *catalog.Coupon
		if p.Coupon != "" {
			if coupon, err = s.config.Catalog.RedeemableCoupon(tx, engine.Scope(caller), tx.Now, p.Coupon); err != nil {
				return nil, err
			}
		}
		priced, err := s.price(tx, r, p, coupon)
		if err != nil {
			return nil, err
		}
		r.setLines(priced)
		s.fillDerived(r)
		if _, err := sessions.Insert(tx, engine.Scope(caller), id, *r); err != nil {
			return nil, fmt.Errorf("checkout: create: %w", err)
		}
		return &r.Session, nil
	})
}

// setExpiry sets when the session expires; the zero time stands for the latest.
func (r *record) setExpiry(at, now time.Time) error {
	now = now.Truncate(time.Second)
	if at.IsZero() {
		at = now.Add(maxLife)
	}
	at = at.Truncate(time.Second)
	if at.Before(now.Add(minLife)) || at.After(now.Add(maxLife)) {
		return api.Invalid("expires_at", "expires_at must be from 30 minutes to 24 hours ahead.")
	}
	r.ExpiresAt, r.Due = at.Unix(), api.AtOrNil(at)
	return nil
}

func (r *record) setLines(p *invoicing.Priced) {
	r.Lines = *api.NewList("/v1/checkout/sessions/"+r.ID+"/lines", p.Lines, false)
	r.Subtotal, r.Discount, r.Tax, r.Total, r.Sums = p.Subtotal, p.Discount, p.Tax, p.Total, nil
	for _, row := range p.Sums {
		r.Sums = append(r.Sums, sum{row.Name, row.Amount})
	}
}

// customer returns the function that reads a customer in a transaction; nil for none. A host's
// directory is asked before. The session shows the customer's data, so that a caller who may not read
// customers is refused.
func (s *Service) customer(ctx context.Context, caller api.Caller, id string) (func(storage.ReadTx) (*account.Customer, error), error) {
	if id == "" {
		return nil, nil
	}
	return s.config.Accounts.FindCustomer(ctx, caller, id)
}

// setCustomer takes name, e-mail and phone from a customer; find is nil for none. A host's record may
// hold an address or a number that is none; the session leaves it out.
func (r *record) setCustomer(tx storage.ReadTx, find func(storage.ReadTx) (*account.Customer, error)) error {
	if find == nil {
		return nil
	}
	c, err := find(tx)
	if err != nil {
		return err
	}
	if check.Text("", c.Name, api.MaxName) == nil {
		r.Name = api.TextOrNil(c.Name)
	}
	if check.Email("", c.Email) == nil {
		r.Email = api.TextOrNil(c.Email)
	}
	if number, err := phone.Parse(c.Phone); err == nil {
		r.Phone = &number
	}
	return nil
}
