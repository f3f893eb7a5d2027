package subscribing

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/subscription"
)

// trial says that a phone had a trial of a plan at a merchant. Its id hides the number and the plan.
type trial struct {
	BegunAt api.Time `json:"begun_at"`
}

var trials = storage.NewCollection[trial]("subscription_trials", nil)

// trialID returns the id of the trial of a phone, a keyed digest.
func trialID(key []byte, plan, number string) string {
	digest := hmac.New(sha256.New, key)
	digest.Write([]byte("trial\x00" + plan + "\x00" + number))
	return "trial_" + hex.EncodeToString(digest.Sum(nil)[:16])
}

// HadTrial reports whether a phone, +233…, had a trial of a plan. A change of the server's key keeps the
// trials under the keys that are still accepted.
func (s *Service) HadTrial(tx storage.ReadTx, scope storage.Scope, plan, number string) (bool, error) {
	for _, key := range s.engine.ServerKeys {
		o, err := engine.OrNil(trials.Get(tx, scope, trialID(key, plan, number)))
		if err != nil || o != nil {
			return o != nil, err
		}
	}
	return false, nil
}

// rememberTrial notes that the phone of a subscription in its trial has a trial of the plan.
func (s *Service) rememberTrial(tx *engine.Tx, r *record) error {
	if r.Status != subscription.Trialing || r.Phone == "" {
		return nil
	}
	scope := engine.Scope(tx.Caller)
	had, err := s.HadTrial(tx, scope, r.Plan, r.Phone)
	if err == nil && !had {
		_, err = trials.Insert(tx, scope, trialID(s.engine.ServerKeys[0], r.Plan, r.Phone), trial{BegunAt: api.At(tx.Now)})
		if errors.Is(err, storage.ErrExists) { // another transaction has noted it
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("subscription: trial: %w", err)
	}
	return nil
}
