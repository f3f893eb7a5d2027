package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

func (s *Service) Hosted(ctx context.Context, token string) (*checkout.Hosted, error) {
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

func (s *Service) HostedByID(ctx context.Context, caller api.Caller, id string) (*checkout.Hosted, error) {
	h := &checkout.Hosted{Caller: caller}
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
		h.Session, h.Merchant, h.Token, h.Plan, h.Coupon, h.Attempt, h.Now = r.Session, *m, r.Token, r.planTerms(), r.CouponTerms, r.Attempt, tx.Now
		h.Confirming, h.TrialUsed = r.confirming(tx), r.NoTrial
		email, name := r.payer()
		engine.SetGiven(&h.Email, email)
		engine.SetGiven(&h.Name, name)
		h.Sums = r.sums()
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

func (s *Service) Brief(ctx context.Context, caller api.Caller, id string) (*checkout.Brief, error) {
	b := &checkout.Brief{}
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
