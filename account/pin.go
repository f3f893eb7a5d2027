package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// pinRecord is an account's PIN; the record's id is the account's.
type pinRecord struct {
	// Hash is empty for an account without PIN, and for the decoys of [Service.decoyFor].
	Hash string `json:"hash"`
	// Version counts the changes of the PIN.
	Version int `json:"version,omitempty"`
	// The tries of live mode.
	tries
	// Test are the tries of test mode, by merchant. Each merchant has a clock there, and
	// must lock the PIN for no other one.
	Test map[string]tries `json:"test,omitempty"`
}

var pins = storage.NewCollection[pinRecord]("pins", nil)

// triesOf returns the tries that count for a caller.
func (r *pinRecord) triesOf(caller api.Caller) tries {
	if caller.Live {
		return r.tries
	}
	return r.Test[caller.Merchant]
}

func (r *pinRecord) setTries(caller api.Caller, t tries) {
	switch {
	case caller.Live:
		r.tries = t
	case t.Locks == 0 && len(t.Recent) == 0:
		delete(r.Test, caller.Merchant)
	case r.Test == nil:
		r.Test = map[string]tries{caller.Merchant: t}
	default:
		r.Test[caller.Merchant] = t
	}
}

// checkPIN checks the form of a PIN. Live mode also refuses the PINs that a thief tries
// first.
func checkPIN(live bool, pin string) error {
	if len(pin) < 4 || len(pin) > 6 {
		return api.Invalid("pin", "A PIN has 4 to 6 digits.")
	}
	if strings.Trim(pin, "0123456789") != "" {
		return api.Invalid("pin", "A PIN has digits only.")
	}
	if live && evenSteps(pin) {
		return api.Invalid("pin", "This PIN is too easy to guess. Choose one that is not the same digit again and again, and no sequence such as 1234 or 9876.")
	}
	return nil
}

// evenSteps reports whether each digit is the one before it, the next one or the previous
// one, always the same of the three: 1111, 1234, 7890, 4321.
func evenSteps(digits string) bool {
	step := func(i int) int { return (int(digits[i]) - int(digits[i-1]) + 10) % 10 }
	first := step(1)
	for i := 2; i < len(digits); i++ {
		if step(i) != first {
			return false
		}
	}
	return first <= 1 || first == 9
}

// SetPIN gives an account a new PIN of 4 to 6 digits and unlocks it. Live mode refuses
// repeated and sequential digits with parameter_invalid.
func (s *Service) SetPIN(ctx context.Context, live bool, account, pin string) error {
	if err := checkPIN(live, pin); err != nil {
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

// UnlockPIN ends every lock of an account's PIN, which stays the same. The operator calls
// it once the holder has been identified. An account without PIN has nothing to unlock.
func (s *Service) UnlockPIN(ctx context.Context, live bool, account string) error {
	return s.engine.Update(ctx, api.Caller{Live: live}, func(tx *engine.Tx) error {
		o, err := pins.Get(tx, operator(live), account)
		if errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("account: read PIN: %w", err)
		}
		o.Value.tries, o.Value.Test = tries{}, nil
		return pins.Replace(tx, o)
	})
}

func setPIN(tx *engine.Tx, live bool, account, hash string) error {
	o, err := pinOf(tx, live, account)
	if err != nil {
		return err
	}
	o.Value = pinRecord{Hash: hash, Version: o.Value.Version + 1}
	return pins.Replace(tx, o)
}

// pinOf returns the PIN of an account, which it inserts when there is none.
func pinOf(tx *engine.Tx, live bool, account string) (*storage.Object[pinRecord], error) {
	o, err := pins.Get(tx, operator(live), account)
	if errors.Is(err, storage.ErrNotFound) {
		o, err = pins.Insert(tx, operator(live), account, pinRecord{})
	}
	if err != nil {
		return nil, fmt.Errorf("account: read PIN: %w", err)
	}
	return o, nil
}

// PayingAccountTx finds the account whose wallet is to pay, for [PINEntry.Account]. A phone
// number or a service ID without an open wallet gives an account whose PIN is always
// wrong, so that strangers do not learn who has a wallet. An account id, which cannot be
// guessed, is refused with account_not_found.
func (s *Service) PayingAccountTx(tx storage.ReadTx, live bool, ref WalletRef) (string, error) {
	c, err := PayerTx(tx, live, ref)
	named := ref.ServiceID != "" || ref.AccountID == "" && ref.Phone != ""
	if named && api.CodeOf(err) == api.AccountNotFound {
		return s.decoyFor(live, ref)
	}
	if err != nil {
		return "", err
	}
	return c.ID, nil
}

// decoyFor names an account that stands for a wallet that does not exist: one for each
// number and service ID, since entries for one account wait for each other. The name
// depends on the key, so that strangers cannot tell which wallets share a record.
func (s *Service) decoyFor(live bool, ref WalletRef) (string, error) {
	named := "service\x00" + ref.ServiceID
	if ref.ServiceID == "" {
		number, err := parsePhone("phone_number", ref.Phone)
		if err != nil {
			return "", err
		}
		named = "phone\x00" + number
	}
	sum := s.hide(fmt.Sprintf("decoy\x00%t\x00%s", live, named))
	return fmt.Sprintf("decoy_%02d_%s", sum[0]%64, base64.RawURLEncoding.EncodeToString(sum[1:16])), nil
}

// pinID returns the id of an account's record. All decoys share a few, so that what is kept
// of them is bounded. An entry is written there, because the write is a part of the time
// that a wrong PIN takes.
func pinID(account string) string {
	if n := len("decoy_00"); len(account) > n && strings.HasPrefix(account, "decoy_") {
		return account[:n]
	}
	return account
}

// PINEntry is a PIN as it was entered for an account.
type PINEntry struct {
	// Account is the consumer's, as [Service.PayingAccountTx] returns it.
	Account string
	PIN     string
	// From is the network address of a stranger who entered it on a public page. It is
	// empty where the host knows its client. Four wrong entries from one address in a
	// day lock that address out before the PIN is locked for all.
	From string
}

// Proof says that an account's PIN was entered rightly. It is worth something
// only inside the effect that [Service.WithPIN] runs.
type Proof struct {
	account string
	// hash and version are of the PIN, and counted are its tries, when the try was
	// counted.
	hash    string
	version int
	counted tries
	// fresh is the PIN's hash under the present key; empty when it need not be replaced.
	fresh string
	// confirmed says that ConfirmTx has run in a transaction that was committed,
	// unlike that of a replay.
	confirmed bool
}

// WithPIN counts a try, compares the PIN outside of any transaction, and, when
// it is right, runs the effect, whose transaction must call ConfirmTx. A wrong
// PIN is pin_invalid; while the PIN is locked every entry is pin_locked. A right
// PIN is no failed try, even though the effect is refused.
//
// Five wrong entries in a day lock the PIN, for 15 minutes, an hour, 6 hours, 24 hours,
// and then until [Service.UnlockPIN] or [Service.SetPIN]. A right entry starts anew. The
// holder is told of each lock by SMS. In test mode a PIN is locked only for the merchant
// whose entries were wrong, by that merchant's clock.
//
// Tries for one account are compared one at a time in this process.
func (s *Service) WithPIN(ctx context.Context, caller api.Caller, e PINEntry, effect func(*Proof) error) error {
	if s.engine.Host != nil {
		return fmt.Errorf("account: %w", engine.ErrHost)
	}
	giveBack, err := s.guard.Take(ctx, e.Account)
	if err != nil {
		return fmt.Errorf("account: wait for PIN: %w", err)
	}
	defer giveBack()

	proof, refusal, err := s.countTry(ctx, caller, e)
	if err != nil {
		return err
	}
	if refusal != nil && e.From == "" {
		return refusal
	}
	// A stranger waits for a refusal as long as for a wrong PIN.
	right, err := s.hasher.Matches(ctx, proof.hash, e.PIN)
	switch {
	case err != nil:
		return fmt.Errorf("account: compare PIN: %w", err)
	case refusal != nil:
		return refusal
	case !right:
		s.tellLocked(ctx, caller, proof)
		return api.Errorf(api.PINInvalid, "pin", "The PIN is wrong. Check the number of the wallet, too. %d wrong entries lock a PIN.", pinTries)
	}
	if s.hasher.Stale(proof.hash) {
		if proof.fresh, err = s.hasher.Hash(ctx, e.PIN); err != nil {
			return fmt.Errorf("account: hash PIN: %w", err)
		}
	}
	err = effect(proof)
	if err != nil || !proof.confirmed {
		// The transaction that was to give the try back is undone, or was not needed.
		undo := s.engine.Update(context.WithoutCancel(ctx), caller, func(tx *engine.Tx) error {
			return s.ConfirmTx(tx, proof)
		})
		if undo != nil && api.CodeOf(undo) == "" {
			s.engine.Log.ErrorContext(ctx, "a try of a PIN could not be given back", "account", e.Account, "error", undo)
		}
	}
	return err
}

// countTry counts a try before it is compared. refusal says that it must not be.
func (s *Service) countTry(ctx context.Context, caller api.Caller, e PINEntry) (proof *Proof, refusal *api.Error, err error) {
	err = s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		proof, refusal = &Proof{account: e.Account}, nil
		o, err := pinOf(tx, caller.Live, pinID(e.Account))
		if err != nil {
			return err
		}
		r := &o.Value
		proof.hash, proof.version = r.Hash, r.Version
		if r.Hash != "" {
			if err := s.hasher.Check(r.Hash); err != nil {
				return fmt.Errorf("account: PIN of %s: %w; add the key to Config.FallbackKeys, or set the PIN anew", e.Account, err)
			}
			proof.counted = r.triesOf(caller)
			refusal = proof.counted.count(tx.Now, s.hideAddress(e.From))
			r.setTries(caller, proof.counted)
		}
		// Written also when nothing has changed, because that is a part of the time it takes.
		return pins.Replace(tx, o)
	})
	return proof, refusal, err
}

// hideAddress returns what stands for a network address in the store.
func (s *Service) hideAddress(from string) string {
	if from == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(s.hide("address\x00" + from)[:9])
}

// hide returns a digest that cannot be computed without the key.
func (s *Service) hide(text string) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// tellLocked tells the holder by SMS that the wrong entry of the proof has locked the PIN,
// if it has.
func (s *Service) tellLocked(ctx context.Context, caller api.Caller, p *Proof) {
	if last := len(p.counted.Recent) - 1; s.messages == nil || last < 0 || p.counted.Recent[last].Lock == p.counted.Locks {
		return
	}
	err := s.engine.Update(context.WithoutCancel(ctx), caller, func(tx *engine.Tx) error {
		holder, _, err := findHolder(tx, caller.Live, p.account, "")
		if err != nil || holder == nil {
			return err
		}
		return s.messages.TextTx(tx, p.account, holder.Phone, p.counted.notice())
	})
	if err != nil {
		s.engine.Log.ErrorContext(ctx, "a holder could not be told that the PIN is locked", "account", p.account, "error", err)
	}
}

// Account is the id of the account whose PIN was entered.
func (p *Proof) Account() string { return p.account }

// ConfirmTx gives the try back, in the transaction of the effect, and refuses
// if the PIN was changed, or locked by others, since it was compared.
func (s *Service) ConfirmTx(tx *engine.Tx, p *Proof) error {
	tx.Committed(func() { p.confirmed = true })
	o, err := pins.Get(tx, operator(tx.Caller.Live), p.account)
	if err != nil {
		return fmt.Errorf("account: read PIN: %w", err)
	}
	r := &o.Value
	if r.Version != p.version {
		return api.Errorf(api.PINInvalid, "pin", "The PIN was changed a moment ago. Enter the new one.")
	}
	now := r.triesOf(tx.Caller)
	if now.Locks > p.counted.Locks {
		if refusal := now.locked(tx.Now); refusal != nil {
			return refusal
		}
	}
	if len(now.Recent) == 0 && now.Locks == 0 && now.LockedUntil == nil && p.fresh == "" {
		return nil
	}
	r.setTries(tx.Caller, tries{})
	if p.fresh != "" {
		r.Hash = p.fresh
	}
	return pins.Replace(tx, o)
}
