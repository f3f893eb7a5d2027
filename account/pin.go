package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// pinRecord is an account's PIN; the record's id is the account's.
type pinRecord struct {
	// Hash is empty for an account without PIN, and in the records of decoys; see
	// [Service.decoyFor].
	Hash string `json:"hash"`
	// Version counts the changes of the PIN.
	Version int `json:"version,omitempty"`
	// The tries of live mode.
	pinAttempts
	// Test are the tries of test mode, by merchant. Each merchant has a clock there, and
	// must lock the PIN for no other one.
	Test map[string]pinAttempts `json:"test,omitempty"`
	// Decoys are the tries at wallets that do not exist, those tried last at the end. Only
	// the records that [pinID] names for decoys have them.
	Decoys []decoyAttempts `json:"decoys,omitempty"`
}

// decoyAttempts are the tries at one wallet that does not exist.
type decoyAttempts struct {
	// Name is the decoy's. In test mode the merchant's id stands before it.
	Name string `json:"name"`
	pinAttempts
}

// maxDecoys bounds the decoys of a record. A stranger who wants to see that a lock of a
// decoy was forgotten must try as many other unknown wallets in each of the 64 records.
const maxDecoys = 32

var pins = storage.NewCollection[pinRecord]("pins", nil)

// attemptsOf returns the tries at an account that count for a caller.
func (r *pinRecord) attemptsOf(caller api.Caller, account string) pinAttempts {
	switch {
	case isDecoy(account):
		if i := r.findDecoy(caller, account); i >= 0 {
			return r.Decoys[i].pinAttempts
		}
		return pinAttempts{}
	case caller.Live:
		return r.pinAttempts
	}
	return r.Test[caller.Merchant]
}

func (r *pinRecord) setAttempts(caller api.Caller, account string, t pinAttempts) {
	switch {
	case isDecoy(account):
		if i := r.findDecoy(caller, account); i >= 0 {
			r.Decoys = slices.Delete(r.Decoys, i, i+1)
		}
		r.Decoys = append(r.Decoys, decoyAttempts{Name: decoyName(caller, account), pinAttempts: t})
		r.Decoys = r.Decoys[max(0, len(r.Decoys)-maxDecoys):]
	case caller.Live:
		r.pinAttempts = t
	case t.Locks == 0 && len(t.Recent) == 0:
		delete(r.Test, caller.Merchant)
	case r.Test == nil:
		r.Test = map[string]pinAttempts{caller.Merchant: t}
	default:
		r.Test[caller.Merchant] = t
	}
}

func (r *pinRecord) findDecoy(caller api.Caller, account string) int {
	name := decoyName(caller, account)
	return slices.IndexFunc(r.Decoys, func(d decoyAttempts) bool { return d.Name == name })
}

// decoyName names a decoy in its record: in test mode each merchant has a clock.
func decoyName(caller api.Caller, account string) string {
	if caller.Live {
		return account
	}
	return caller.Merchant + " " + account
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
	if live && isSequence(pin) {
		return api.Invalid("pin", "This PIN is too easy to guess. Choose one that is not the same digit again and again, and no sequence such as 1234 or 9876.")
	}
	return nil
}

// isSequence reports whether each digit is the one before it, the next one or the previous
// one, always the same of the three: 1111, 1234, 7890, 4321.
func isSequence(digits string) bool {
	step := func(i int) int { return (int(digits[i]) - int(digits[i-1]) + 10) % 10 }
	first := step(1)
	for i := 2; i < len(digits); i++ {
		if step(i) != first {
			return false
		}
	}
	return first <= 1 || first == 9
}

// SetPINParams are a new PIN.
type SetPINParams struct {
	// PIN is 4 to 6 digits, in live mode neither repeated nor sequential ones.
	PIN string `json:"-"`
}

// noAnswer is the kept answer of a call that returns an error alone.
type noAnswer struct{}

// SetPIN gives an account of the caller's mode a new PIN and unlocks it. Live mode refuses
// repeated and sequential digits with parameter_invalid. It is a call of the operator's.
// With an idempotency key a repetition changes nothing, whatever its PIN: no record holds a
// PIN to compare with.
func (s *Service) SetPIN(ctx context.Context, caller api.Caller, account string, p SetPINParams) error {
	if err := operatorOnly(caller); err != nil {
		return err
	}
	if err := checkPIN(caller.Live, p.PIN); err != nil {
		return err
	}
	call := engine.Call{Name: "pin.set", Params: account}
	_, err := engine.ExecuteWithReplay(ctx, s.engine, caller, call, func() (*noAnswer, error) {
		hash, err := s.hasher.Hash(ctx, p.PIN)
		if err != nil {
			return nil, fmt.Errorf("account: hash PIN: %w", err)
		}
		return engine.Execute(ctx, s.engine, caller, call, func(tx *engine.Tx) (*noAnswer, error) {
			return &noAnswer{}, setPIN(tx, caller.Live, account, hash)
		})
	})
	return err
}

// UnlockPIN ends every lock of an account's PIN, which stays the same. The operator calls
// it once the holder has been identified. An account without PIN has nothing to unlock.
func (s *Service) UnlockPIN(ctx context.Context, caller api.Caller, account string) error {
	if err := operatorOnly(caller); err != nil {
		return err
	}
	call := engine.Call{Name: "pin.unlock", Params: account}
	_, err := engine.Execute(ctx, s.engine, caller, call, func(tx *engine.Tx) (*noAnswer, error) {
		o, err := pins.Get(tx, operator(caller.Live), account)
		if errors.Is(err, storage.ErrNotFound) {
			return &noAnswer{}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("account: read PIN: %w", err)
		}
		o.Value.pinAttempts, o.Value.Test = pinAttempts{}, nil
		return &noAnswer{}, pins.Replace(tx, o)
	})
	return err
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

func (s *Service) payingAccount(tx storage.ReadTx, live bool, ref WalletRef) (string, error) {
	c, err := findPayer(tx, live, ref)
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
	sum := s.keyedDigest(fmt.Sprintf("decoy\x00%t\x00%s", live, named))
	return fmt.Sprintf("decoy_%02d_%s", sum[0]%64, base64.RawURLEncoding.EncodeToString(sum[1:16])), nil
}

// decoyRecord is the length of the id of a decoy's record.
const decoyRecord = len("decoy_00")

func isDecoy(account string) bool {
	return len(account) > decoyRecord && strings.HasPrefix(account, "decoy_")
}

// pinID returns the id of an account's record. All decoys share a few, so that what is kept
// of them is bounded.
func pinID(account string) string {
	if isDecoy(account) {
		return account[:decoyRecord]
	}
	return account
}

// PINEntry is a PIN as it was entered for an account.
type PINEntry struct {
	// Account is the consumer's, as [Internal.PayingAccount] returns it.
	Account string
	PIN     string
	// From is the network address of a stranger who entered it on a public page. It is
	// empty where the host knows its client. Four wrong entries from one address in a
	// day lock that address out before the PIN is locked for all.
	From string
}

// Proof says that an account's PIN was entered rightly. It is worth something
// only inside the effect that [Internal.WithPIN] runs.
type Proof struct {
	account string
	// hash and version are of the PIN, and counted are its tries, when the try was
	// counted.
	hash     string
	version  int
	attempts pinAttempts
	// rehashed is the PIN's hash under the present key; empty when it need not be replaced.
	rehashed string
	// confirmed says that confirm has run in a transaction that was committed,
	// unlike that of a replay.
	confirmed bool
}

func (s *Service) withPIN(ctx context.Context, caller api.Caller, e PINEntry, effect func(*Proof) error) error {
	if s.engine.Host != nil {
		return fmt.Errorf("account: %w", api.ErrSecretInTx)
	}
	giveBack, err := s.guard.Lock(ctx, e.Account)
	if err != nil {
		return fmt.Errorf("account: wait for PIN: %w", err)
	}
	defer giveBack()

	proof, refusal, err := s.countAttempt(ctx, caller, e)
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
		s.notifyLocked(ctx, caller, proof)
		return api.Errorf(api.PINInvalid, "pin", "The PIN is wrong. Check the number of the wallet, too. %d wrong entries lock a PIN.", maxPINAttempts)
	}
	if s.hasher.Stale(proof.hash) {
		if proof.rehashed, err = s.hasher.Hash(ctx, e.PIN); err != nil {
			return fmt.Errorf("account: hash PIN: %w", err)
		}
	}
	err = effect(proof)
	if err != nil || !proof.confirmed {
		// The transaction that was to give the try back is undone, or was not needed.
		undo := s.engine.Update(context.WithoutCancel(ctx), caller, func(tx *engine.Tx) error {
			return s.confirm(tx, proof)
		})
		if undo != nil && api.CodeOf(undo) == "" {
			s.engine.Log.ErrorContext(ctx, "a try of a PIN could not be given back", "account", e.Account, "error", undo)
		}
	}
	return err
}

// countAttempt counts a try before it is compared. refusal says that it must not be.
func (s *Service) countAttempt(ctx context.Context, caller api.Caller, e PINEntry) (proof *Proof, refusal *api.Error, err error) {
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
		}
		// An account without PIN and a wallet that does not exist are locked, too: else the
		// entry after the last would tell them from others.
		proof.attempts = r.attemptsOf(caller, e.Account)
		refusal = proof.attempts.count(tx.Now, s.digestAddress(e.From))
		r.setAttempts(caller, e.Account, proof.attempts)
		// Written also when nothing has changed, because that is a part of the time it takes.
		return pins.Replace(tx, o)
	})
	return proof, refusal, err
}

// digestAddress returns what stands for a network address in the store.
func (s *Service) digestAddress(from string) string {
	if from == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(s.keyedDigest("address\x00" + from)[:9])
}

// keyedDigest returns a digest that cannot be computed without the key.
func (s *Service) keyedDigest(text string) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// notifyLocked tells the holder by SMS that the wrong entry of the proof has locked the PIN,
// if it has. A wallet without PIN, or that does not exist, has no holder to tell. Its record
// is written again instead, because the time that a message takes would tell it from others.
func (s *Service) notifyLocked(ctx context.Context, caller api.Caller, p *Proof) {
	if last := len(p.attempts.Recent) - 1; s.messages == nil || last < 0 || p.attempts.Recent[last].Lock == p.attempts.Locks {
		return
	}
	err := s.engine.Update(context.WithoutCancel(ctx), caller, func(tx *engine.Tx) error {
		if p.hash == "" {
			o, err := pinOf(tx, caller.Live, pinID(p.account))
			if err != nil {
				return err
			}
			return pins.Replace(tx, o)
		}
		holder, _, err := findHolder(tx, caller.Live, p.account, "")
		if err != nil || holder == nil {
			return err
		}
		return s.messages.Text(tx, p.account, holder.Phone, p.attempts.lockNotice())
	})
	if err != nil {
		s.engine.Log.ErrorContext(ctx, "a holder could not be told that the PIN is locked", "account", p.account, "error", err)
	}
}

// Account is the id of the account whose PIN was entered.
func (p *Proof) Account() string { return p.account }

func (s *Service) confirm(tx *engine.Tx, p *Proof) error {
	tx.OnCommit(func() { p.confirmed = true })
	o, err := pins.Get(tx, operator(tx.Caller.Live), p.account)
	if err != nil {
		return fmt.Errorf("account: read PIN: %w", err)
	}
	r := &o.Value
	if r.Version != p.version {
		return api.Errorf(api.PINInvalid, "pin", "The PIN was changed a moment ago. Enter the new one.")
	}
	now := r.attemptsOf(tx.Caller, p.account)
	if now.Locks > p.attempts.Locks {
		if refusal := now.locked(tx.Now); refusal != nil {
			return refusal
		}
	}
	if len(now.Recent) == 0 && now.Locks == 0 && now.LockedUntil == nil && p.rehashed == "" {
		return nil
	}
	r.setAttempts(tx.Caller, p.account, pinAttempts{})
	if p.rehashed != "" {
		r.Hash = p.rehashed
	}
	return pins.Replace(tx, o)
}
