package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// A PIN is locked for a while after so many wrong entries in a row.
const (
	pinTries = 5
	pinLock  = 15 * time.Minute
)

// pinRecord is an account's PIN; the record's id is the account's.
type pinRecord struct {
	Hash string `json:"hash"`
	// Tries counts the entries since the last right one, those being compared
	// included: a try is counted before it is compared, in a transaction of its
	// own, so that no refusal and no crash takes it back.
	Tries int `json:"tries"`
	// LockedUntil is set with the try that uses up the last one.
	LockedUntil *api.Time `json:"locked_until,omitempty"`
}

var pins = storage.NewCollection[pinRecord]("pins", nil)

func checkPIN(pin string) error {
	if len(pin) < 4 || len(pin) > 6 {
		return api.Invalid("pin", "A PIN has 4 to 6 digits.")
	}
	for i := range len(pin) {
		if pin[i] < '0' || pin[i] > '9' {
			return api.Invalid("pin", "A PIN has digits only.")
		}
	}
	return nil
}

// SetPIN gives an account a new PIN and unlocks it.
func (s *Service) SetPIN(ctx context.Context, live bool, account, pin string) error {
	if err := checkPIN(pin); err != nil {
		return err
	}
	hash, err := s.hasher.Hash(ctx, pin)
	if err != nil {
		return fmt.Errorf("account: hash PIN: %w", err)
	}
	return s.engine.Update(ctx, api.Caller{Live: live}, func(tx *engine.Tx) error {
		return setPIN(tx, live, account, hash)
	})
}

func setPIN(tx *engine.Tx, live bool, account, hash string) error {
	_, err := pins.Insert(tx, operator(live), account, pinRecord{Hash: hash})
	if errors.Is(err, storage.ErrExists) {
		var o *storage.Object[pinRecord]
		if o, err = pins.Get(tx, operator(live), account); err == nil {
			o.Value = pinRecord{Hash: hash}
			err = pins.Replace(tx, o)
		}
	}
	if err != nil {
		return fmt.Errorf("account: set PIN: %w", err)
	}
	return nil
}

// Proof says that an account's PIN was entered rightly. It is worth something
// only inside the effect that [Service.WithPIN] runs.
type Proof struct {
	account string
	counted pinRecord // the PIN as it was when the try was counted
	// confirmed says that ConfirmTx has run in a transaction that was committed,
	// unlike that of a replay.
	confirmed bool
}

// WithPIN counts a try, compares the PIN outside of any transaction, and, when
// it is right, runs the effect, whose transaction must call ConfirmTx. A wrong
// PIN is pin_invalid; while the PIN is locked every entry is pin_locked. A right
// PIN is no failed try, even though the effect is refused.
//
// Tries for one account are compared one at a time in this process.
func (s *Service) WithPIN(ctx context.Context, caller api.Caller, account, pin string, effect func(*Proof) error) error {
	if s.engine.Host != nil {
		return fmt.Errorf("account: %w", engine.ErrHost)
	}
	giveBack, err := s.guard.Take(ctx, account)
	if err != nil {
		return fmt.Errorf("account: wait for PIN: %w", err)
	}
	defer giveBack()

	proof := &Proof{account: account}
	err = s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		o, err := pins.Get(tx, operator(caller.Live), account)
		if errors.Is(err, storage.ErrNotFound) {
			return api.Errorf(api.PINInvalid, "pin", "This wallet has no PIN yet. Its holder sets one before the first payment.")
		}
		if err != nil {
			return fmt.Errorf("account: read PIN: %w", err)
		}
		if err := o.Value.count(tx.Now); err != nil {
			return err
		}
		proof.counted = o.Value
		return pins.Replace(tx, o)
	})
	if err != nil {
		return err
	}
	right, err := s.hasher.Matches(ctx, proof.counted.Hash, pin)
	if err != nil {
		return fmt.Errorf("account: compare PIN: %w", err)
	}
	if !right {
		return proof.counted.wrong()
	}
	err = effect(proof)
	if err != nil || !proof.confirmed {
		// The transaction that was to give the try back is undone, or was not needed.
		undo := s.engine.Update(context.WithoutCancel(ctx), caller, func(tx *engine.Tx) error {
			return s.ConfirmTx(tx, proof)
		})
		if undo != nil && api.CodeOf(undo) == "" {
			s.engine.Log.ErrorContext(ctx, "a try of a PIN could not be given back", "account", account, "error", undo)
		}
	}
	return err
}

// ConfirmTx gives the try back, in the transaction of the effect, and refuses
// if the PIN was changed, or locked by others, since it was compared.
func (s *Service) ConfirmTx(tx *engine.Tx, p *Proof) error {
	tx.Committed(func() { p.confirmed = true })
	o, err := pins.Get(tx, operator(tx.Caller.Live), p.account)
	if err != nil {
		return fmt.Errorf("account: read PIN: %w", err)
	}
	if o.Value.Hash != p.counted.Hash {
		return api.Errorf(api.PINInvalid, "pin", "The PIN was changed a moment ago. Enter the new one.")
	}
	if until := o.Value.LockedUntil; until != nil && tx.Now.Before(until.Time) {
		if ours := p.counted.LockedUntil; ours == nil || !ours.Equal(until.Time) {
			return locked(until.Sub(tx.Now))
		}
	}
	if o.Value.Tries == 0 && o.Value.LockedUntil == nil {
		return nil
	}
	o.Value.Tries, o.Value.LockedUntil = 0, nil
	return pins.Replace(tx, o)
}

// count counts one try, and locks the PIN with the last one.
func (r *pinRecord) count(now time.Time) error {
	if r.LockedUntil != nil {
		if now.Before(r.LockedUntil.Time) {
			return locked(r.LockedUntil.Sub(now))
		}
		r.Tries, r.LockedUntil = 0, nil
	}
	if r.Tries++; r.Tries >= pinTries {
		r.LockedUntil = api.AtOrNil(now.Add(pinLock))
	}
	return nil
}

// wrong is the refusal of a counted try that was wrong.
func (r *pinRecord) wrong() error {
	if left := pinTries - r.Tries; left > 0 {
		return api.Errorf(api.PINInvalid, "pin", "The PIN is wrong. After %d more wrong entries it is locked for %d minutes.", left, int(pinLock.Minutes()))
	}
	return api.Errorf(api.PINInvalid, "pin", "The PIN is wrong, and is now locked for %d minutes.", int(pinLock.Minutes()))
}

func locked(left time.Duration) error {
	e := api.Errorf(api.PINLocked, "pin", "The PIN is locked after too many wrong entries. Try again later.")
	e.RetryAfter = left
	return e
}
