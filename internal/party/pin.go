package party

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
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
	// The embedded attempts are those of live mode.
	pinAttempts
	// Test holds the attempts of test mode, by merchant. Each merchant has its own clock there,
	// and its attempts must lock no other merchant.
	Test map[string]pinAttempts `json:"test,omitempty"`
	// Decoys holds the attempts at missing wallets, the latest at the end. Only the decoy
	// records of [pinID] have them.
	Decoys []decoyAttempts `json:"decoys,omitempty"`
}

// decoyAttempts are the attempts at one missing wallet.
type decoyAttempts struct {
	// Name is the decoy's. In test mode the merchant's id stands before it.
	Name string `json:"name"`
	pinAttempts
}

// maxDecoys bounds the decoys of a record, which drops the oldest. A dropped lock tells a stranger that the
// wallet is missing. To cause that, the stranger must first try this many other missing wallets in each of the
// 64 records.
const maxDecoys = 32

var pins = storage.NewCollection[pinRecord]("pins", nil)

// attemptsOf returns the attempts at an account that count for a caller.
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

// noAnswer is the stored answer of a call that returns only an error.
type noAnswer struct{}

func (s *Service) SetPIN(ctx context.Context, caller api.Caller, id string, p account.SetPINParams) error {
	if err := operatorOnly(caller); err != nil {
		return err
	}
	if err := checkPIN(caller.Live, p.PIN); err != nil {
		return err
	}
	op := engine.Operation{Name: "pin.set", Params: id}
	_, err := engine.ExecuteWithReplay(ctx, s.engine, caller, op, func() (*noAnswer, error) {
		hash, err := s.hasher.Hash(ctx, p.PIN)
		if err != nil {
			return nil, fmt.Errorf("account: hash PIN: %w", err)
		}
		return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*noAnswer, error) {
			holder, _, err := findHolder(tx, caller.Live, id, "")
			switch {
			case err != nil:
				return nil, err
			case holder == nil:
				return nil, api.NoSuch("account")
			case holder.Status == account.Closed: // an erased holder would have a PIN again
				return nil, api.Errorf(api.AccountNotFound, "", "This account is closed, and takes no PIN. Create a new one.")
			}
			return &noAnswer{}, setPIN(tx, caller.Live, id, hash)
		})
	})
	return err
}

func (s *Service) UnlockPIN(ctx context.Context, caller api.Caller, account string) error {
	if err := operatorOnly(caller); err != nil {
		return err
	}
	op := engine.Operation{Name: "pin.unlock", Params: account}
	_, err := engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*noAnswer, error) {
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

// pinOf returns the PIN record of an account. It inserts one if there is none.
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

// PayingAccount finds the account whose wallet pays, for [PINEntry.Account]. A phone number or a
// service id without an open wallet gives an account whose PIN is always wrong, so that strangers
// cannot find out which numbers have a wallet. An unknown account id is refused with
// account_not_found, because strangers cannot guess one.
func (s *Service) PayingAccount(tx storage.ReadTx, live bool, ref account.WalletRef) (string, error) {
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

// decoyFor names an account that stands for a missing wallet. Each number and service id has its
// own, since entries for one account wait for each other. The name depends on the key, so
// strangers cannot tell which wallets share a record.
func (s *Service) decoyFor(live bool, ref account.WalletRef) (string, error) {
	named := "service\x00" + ref.ServiceID
	if ref.ServiceID == "" {
		number, err := check.Phone("phone_number", ref.Phone)
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

// pinID returns the id of an account's PIN record. All decoys share a few records, which
// bounds their number.
func pinID(account string) string {
	if isDecoy(account) {
		return account[:decoyRecord]
	}
	return account
}

// PINEntry is a PIN that a person entered for an account.
type PINEntry struct {
	// Account is the consumer's, as [Service.PayingAccount] returns it.
	Account string
	PIN     string
	// From is the network address of a stranger who entered the PIN on a public page. It is empty
	// where the host knows its client. Four wrong entries from one address in a day lock that
	// address out. The PIN itself is locked later, for all.
	From string
}

// Proof says that a person entered an account's right PIN. It is valid only inside the effect
// that [Service.WithPIN] runs.
type Proof struct {
	account string
	// hash, version and attempts are the state of the PIN when this try was counted.
	hash     string
	version  int
	attempts pinAttempts
	// rehashed is the PIN's hash under the present key; empty if the hash is already under it.
	rehashed string
	// confirmed says that confirm ran in a committed transaction. A replay's transaction is
	// rolled back.
	confirmed bool
}

// PayFromWallet runs pay for the wallet that ref names, with the PIN of entry. It sets entry.Account itself. The
// transaction of pay must call confirm before it changes anything. confirm calls [Service.Confirm] and returns
// the consumer.
//
// due runs first. It refuses what can be refused without the PIN, before a try is counted, and reports whether
// there is anything to pay. If there is not, PayFromWallet needs no PIN, and confirm returns nil.
//
// PayFromWallet works in the engine e. In a host's transaction it fails with [api.ErrSecretInTx] if there is
// anything to pay.
func (s *Service) PayFromWallet(ctx context.Context, e *engine.Engine, caller api.Caller, ref account.WalletRef, entry PINEntry, due func(*engine.ReadTx) (bool, error), pay func(confirm func(*engine.Tx) (*account.Consumer, error)) error) error {
	s = s.In(e)
	var charged bool
	err := e.View(ctx, caller, func(tx *engine.ReadTx) (err error) {
		if charged, err = due(tx); err != nil || !charged {
			return err
		}
		if entry.PIN == "" {
			return api.Missing("pin")
		}
		entry.Account, err = s.PayingAccount(tx, caller.Live, ref)
		return err
	})
	switch {
	case err != nil:
		return err
	case !charged:
		return pay(func(*engine.Tx) (*account.Consumer, error) { return nil, nil })
	}
	return s.WithPIN(ctx, caller, entry, func(proof *Proof) error {
		return pay(func(tx *engine.Tx) (*account.Consumer, error) {
			if err := s.Confirm(tx, proof); err != nil {
				return nil, err
			}
			from, err := s.Payer(tx, caller.Live, account.WalletRef{AccountID: proof.account})
			if err != nil {
				return nil, err
			}
			return from, from.Usable()
		})
	})
}

// WithPIN counts a try, compares the PIN outside of any transaction, and, when it is right, runs
// the effect, whose transaction must call [Service.Confirm]. A wrong PIN is pin_invalid. While
// the PIN is locked, every entry is pin_locked. A right PIN never counts as a failed try, even if
// the effect is refused.
//
// Five wrong entries in a day lock the PIN. The first lock lasts 15 minutes, the next an hour, then 6
// and 24 hours; the fifth lasts until [Service.UnlockPIN] or [Service.SetPIN]. A right entry resets the
// count. The holder gets an SMS at each lock. In test mode the lock affects only the merchant whose
// entries were wrong, and runs by that merchant's clock.
//
// Each process compares one PIN of an account at a time.
func (s *Service) WithPIN(ctx context.Context, caller api.Caller, e PINEntry, effect func(*Proof) error) error {
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
	compare := context.WithoutCancel(ctx) // a counted try ends, even if the payer has gone: a right PIN costs none
	if refusal != nil {
		compare = ctx // a stranger waits as long for a refusal as for a wrong PIN
	}
	right, err := s.hasher.Matches(compare, proof.hash, e.PIN)
	switch {
	case err != nil:
		return fmt.Errorf("account: compare PIN: %w", err)
	case refusal != nil:
		return refusal
	case !right:
		s.textLocked(ctx, caller, proof)
		return api.Errorf(api.PINInvalid, "pin", "The PIN is wrong. Check the number of the wallet, too. %d wrong entries lock a PIN.", maxPINAttempts)
	}
	if s.hasher.Stale(proof.hash) {
		if proof.rehashed, err = s.hasher.Hash(compare, e.PIN); err != nil {
			return fmt.Errorf("account: hash PIN: %w", err)
		}
	}
	err = effect(proof)
	if err != nil || !proof.confirmed {
		// The effect's transaction failed or never confirmed the proof, so return the attempt
		// here.
		undo := s.engine.Update(context.WithoutCancel(ctx), caller, func(tx *engine.Tx) error {
			return s.Confirm(tx, proof)
		})
		if undo != nil && !api.IsRefusal(undo) {
			s.engine.Log.ErrorContext(ctx, "a try of a PIN could not be given back", "account", e.Account, "error", undo)
		}
	}
	return err
}

// countAttempt counts an attempt before the comparison. A refusal means that the PIN must not be
// compared.
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
		// This writes even an unchanged record, because the write is part of the time that an
		// entry takes.
		return pins.Replace(tx, o)
	})
	return proof, refusal, err
}

// digestAddress returns the digest that the store keeps in place of a network address.
func (s *Service) digestAddress(from string) string {
	if from == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(s.keyedDigest("address\x00" + from)[:9])
}

// keyedDigest returns a digest that depends on the server's key.
func (s *Service) keyedDigest(text string) []byte {
	h := hmac.New(sha256.New, s.digestKey)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// textLocked sends the holder an SMS if the wrong entry of the proof has locked the PIN. A
// missing wallet, or one without PIN, gets no message. textLocked writes its record again
// instead, so that the time does not distinguish it from others.
func (s *Service) textLocked(ctx context.Context, caller api.Caller, p *Proof) {
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

// Confirm resets the count of wrong entries, in the transaction that moves the money. It refuses with
// pin_invalid if the PIN has changed since the try was counted, and with pin_locked if other entries have locked
// it.
func (s *Service) Confirm(tx *engine.Tx, p *Proof) error {
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
