package checkout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
)

// Hosted holds what the page of a session shows.
type Hosted struct {
	Session  Session
	Merchant account.Merchant
	// Token is the secret part of the page's address.
	Token string
	// Plan is the plan of ModeSubscription, as it was when the session was made; nil for none.
	Plan *catalog.Plan
	// Coupon is the coupon of ModeSubscription, as it was when the session was made; nil for none.
	Coupon *catalog.Coupon
	// Sums are the totals in the order in which they are shown, the total last.
	Sums []invoice.Sum
	// Refusal says why the session cannot be paid now; nil if it can.
	Refusal *api.Error
	// Attempt is the id of the last payment from a phone; empty for none. HeldUntil is the end of its
	// hold, or the zero time if it holds the session no longer.
	Attempt   string
	HeldUntil time.Time
	// Email and Name are the session's, or what the payer of the last attempt has entered instead; empty
	// for none.
	Email, Name string
	// Now is the merchant's clock.
	Now time.Time
	// Caller stands for the merchant in the call of Pay.
	Caller api.Caller
}

// Hosted finds a session by the secret in its page's address. An unknown secret is resource_missing.
func (s *Service) Hosted(ctx context.Context, token string) (*Hosted, error) {
	var caller api.Caller
	var id string
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		o, err := sessions.Find(tx, "token", storage.Scope{}, token)
		if o, err = engine.OrMissing(o, err, "checkout_session"); err != nil {
			return err
		}
		caller, id = api.Caller{Merchant: o.Scope.Merchant, Live: o.Scope.Live}, o.ID
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.HostedByID(ctx, caller, id)
}

// HostedByID is Hosted for a page that knows the session's id and merchant. [Service.Brief] is less work.
func (s *Service) HostedByID(ctx context.Context, caller api.Caller, id string) (*Hosted, error) {
	h := &Hosted{Caller: caller}
	err := s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		o, err := s.get(tx, engine.Scope(caller), id)
		if err != nil {
			return err
		}
		m, err := s.config.Accounts.Merchant(tx, caller.Merchant)
		if err != nil {
			return fmt.Errorf("checkout: merchant: %w", err)
		}
		r := &o.Value
		h.Session, h.Merchant, h.Token, h.Plan, h.Coupon, h.Attempt, h.Now = r.Session, *m, r.Token, r.PlanTerms, r.CouponTerms, r.Attempt, tx.Now
		email, name := r.payer()
		engine.SetGiven(&h.Email, email)
		engine.SetGiven(&h.Name, name)
		for i, row := range r.Sums {
			h.Sums = append(h.Sums, invoice.Sum{Name: row.Name, Amount: row.Amount, Bold: i == len(r.Sums)-1})
		}
		if h.HeldUntil, err = s.config.Payments.HeldUntil(tx, o.Scope, tx.Now, o.ID); err != nil {
			return err
		}
		err = s.payable(tx, tx.Now, o)
		if err == nil {
			err = s.couponLeft(tx, r)
		}
		if errors.As(err, &h.Refusal) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Brief is what the page of a payment shows of its session.
type Brief struct {
	ID         string  `json:"id"`
	Mode       Mode    `json:"mode"`
	Token      string  `json:"token"` // the secret part of the page's address
	SuccessURL string  `json:"success_url"`
	Reference  *string `json:"reference"`
	Payment    *string `json:"payment"`
}

// Destination is that of [Session.Destination].
func (b *Brief) Destination() string { return escaped(b.SuccessURL, b.ID) }

// Brief returns a session without its lines, of which there may be many: a page that waits for a payment
// reads it every few seconds. An unknown id is resource_missing.
func (s *Service) Brief(ctx context.Context, caller api.Caller, id string) (*Brief, error) {
	b := &Brief{}
	err := s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		stored, err := tx.Get(sessions.Kind(), engine.Scope(caller), id)
		switch {
		case errors.Is(err, storage.ErrNotFound):
			return api.NoSuch("checkout_session")
		case err != nil:
			return fmt.Errorf("checkout: read: %w", err)
		}
		return json.Unmarshal(stored.Data, b)
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}
