package account

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/due"
	"github.com/seed-7082ffec/payments/storage"
)

// Entries of the ledger are sealed by a worker some time after they were booked,
// so that booking costs nothing more. Each account has a chain of segments; the
// seal of a segment is an HMAC over the seal before it and the digests of its
// entries. Whoever changes, removes or reorders what was sealed would have to
// make all later seals of the account anew, for which the server's key is needed.

const (
	// segment is how many entries one seal covers.
	segment = 128
	// mark is how many bytes of an entry's digest are kept, to say which entry does
	// not agree with its seal.
	mark = 8
	// sealEvery is how long the worker rests, and so for how long an entry may be
	// unsealed.
	sealEvery = 10 * time.Minute
)

// sealHead is how far an account is sealed; its id is the account's name.
type sealHead struct {
	Entries int64 `json:"entries"`
}

// seal covers one segment of an account's entries.
type seal struct {
	Marks []byte `json:"marks"` // of each entry
	MAC   []byte `json:"mac"`
}

// sealer is the one record by whose due time the worker comes.
type sealer struct {
	Due api.Time `json:"due"`
}

const sealerID = "sealer"

var (
	sealHeads = storage.NewCollection[sealHead]("sealed_accounts", nil)
	seals     = storage.NewCollection[seal]("seals", nil)
	sealers   = storage.NewCollection("sealers", []storage.Field[sealer]{{
		Column: storage.Column{Name: "due", Type: storage.Time, Null: true},
		Value:  func(s *sealer) any { return s.Due.Time },
	}}, storage.DueBy("due"))
)

// SealWith gives the service the server's key and makes room for the sealer, which
// [Service.SealJob] runs.
func (s *Service) SealWith(ctx context.Context, key []byte) error {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("ledger seals"))
	s.sealKey = h.Sum(nil)
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		_, err := sealers.Get(tx, storage.Scope{}, sealerID)
		return err
	})
	if !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	return s.engine.Store.Update(ctx, func(tx storage.Tx) error {
		_, err := sealers.Insert(tx, storage.Scope{}, sealerID, sealer{Due: api.At(s.engine.Clock().Add(sealEvery))})
		if errors.Is(err, storage.ErrExists) {
			return nil
		}
		return err
	})
}

// Inside makes the service, which works inside the host's transaction, one with another
// that does not: it seals with the same key, and a key that it ends is ended there.
func (s *Service) Inside(other *Service) { s.sealKey, s.known = other.sealKey, other.known }

// SealJob seals what was booked since it last ran.
func (s *Service) SealJob() due.Job {
	return due.Job{
		Kind: sealers.Kind(), Lease: time.Minute, Batch: 1,
		Run: func(ctx context.Context, records []storage.Record) error {
			if _, err := s.Seal(ctx); err != nil {
				return err
			}
			return s.engine.Store.Update(ctx, func(tx storage.Tx) error {
				o, err := sealers.Get(tx, records[0].Scope, records[0].ID)
				if err != nil {
					return err
				}
				o.Value.Due = api.At(s.engine.Clock().Add(sealEvery))
				return sealers.Replace(tx, o)
			})
		},
	}
}

// Seal seals every entry that was booked before, and returns how many were not
// sealed yet. The background work calls it every ten minutes; a host may, too,
// before a backup say. Entries that are booked meanwhile wait for the next time.
func (s *Service) Seal(ctx context.Context) (int64, error) {
	var sealed int64
	after := ""
	for {
		var page []storage.Balance
		open := map[string]int64{} // entries of the accounts that are not wholly sealed
		err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
			var err error
			clear(open)
			if page, err = tx.Balances(after, verifyPage); err != nil {
				return err
			}
			for _, b := range page {
				n, err := sealedTo(tx, b.Account)
				if err != nil {
					return err
				}
				if n < b.Entries {
					open[b.Account] = b.Entries
				}
			}
			return nil
		})
		if err != nil {
			return sealed, fmt.Errorf("account: seal: %w", err)
		}
		for _, b := range page {
			if open[b.Account] == 0 {
				continue
			}
			n, err := s.sealAccount(ctx, b.Account, open[b.Account])
			if sealed += n; err != nil {
				return sealed, fmt.Errorf("account: seal: %w", err)
			}
		}
		if len(page) < verifyPage {
			return sealed, nil
		}
		after = page[len(page)-1].Account
	}
}

func sealedTo(tx storage.ReadTx, account string) (int64, error) {
	o, err := sealHeads.Get(tx, storage.Scope{}, account)
	if errors.Is(err, storage.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return o.Value.Entries, nil
}

// sealAccount seals an account up to an entry, one segment in a transaction, so
// that none is long.
func (s *Service) sealAccount(ctx context.Context, account string, upTo int64) (sealed int64, err error) {
	for more := true; more && err == nil; {
		var n int64
		err = s.engine.Store.Update(ctx, func(tx storage.Tx) error {
			var err error
			n, more, err = s.sealSegment(ctx, tx, account, upTo)
			return err
		})
		if err == nil {
			sealed += n
		}
	}
	return sealed, err
}

// sealSegment seals what is open of the first segment that is not wholly sealed.
func (s *Service) sealSegment(ctx context.Context, tx storage.Tx, account string, upTo int64) (sealed int64, more bool, err error) {
	head, err := sealHeads.Get(tx, storage.Scope{}, account)
	if errors.Is(err, storage.ErrNotFound) {
		head, err = sealHeads.Insert(tx, storage.Scope{}, account, sealHead{})
	}
	if err != nil {
		return 0, false, err
	}
	done := head.Value.Entries
	if done >= upTo {
		return 0, false, nil // another worker was faster
	}
	number := done / segment
	last := min(upTo, (number+1)*segment)
	before, kept, err := lastSeals(tx, account, number)
	if err != nil {
		return 0, false, err
	}
	if number > 0 && before == nil || kept == nil && done > number*segment {
		s.engine.Log.ErrorContext(ctx, "a seal of the ledger was removed, and is not made anew; see Verify", "account", account, "segment", number)
		return 0, false, nil
	}
	if kept != nil {
		// What is sealed already must agree, or the seal would be renewed over what
		// somebody has changed.
		_, problem, err := s.check(tx, account, number, done, before)
		if err != nil {
			return 0, false, err
		}
		if problem != "" {
			s.engine.Log.ErrorContext(ctx, "the ledger was changed behind its seal; see Verify", "problem", problem)
			return 0, false, nil
		}
	}
	mac, marks, err := s.mac(tx, account, number, last, before)
	if err != nil {
		return 0, false, err
	}
	fresh := seal{Marks: marks, MAC: mac}
	if kept == nil {
		_, err = seals.Insert(tx, storage.Scope{}, sealID(account, number), fresh)
	} else {
		kept.Value = fresh
		err = seals.Replace(tx, kept)
	}
	if err != nil {
		return 0, false, err
	}
	head.Value.Entries = last
	return last - done, last < upTo, sealHeads.Replace(tx, head)
}

func sealID(account string, number int64) string { return fmt.Sprintf("%s#%012d", account, number) }

// lastSeals returns the MAC before a segment, and the segment's seal or nil.
func lastSeals(tx storage.ReadTx, account string, number int64) (before []byte, is *storage.Object[seal], err error) {
	if number > 0 {
		o, err := seals.Get(tx, storage.Scope{}, sealID(account, number-1))
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return nil, nil, err
		}
		if o != nil {
			before = o.Value.MAC
		}
	}
	is, err = seals.Get(tx, storage.Scope{}, sealID(account, number))
	if errors.Is(err, storage.ErrNotFound) {
		return before, nil, nil
	}
	return before, is, err
}

// mac computes the seal of a segment's entries up to one.
func (s *Service) mac(tx storage.ReadTx, account string, number, last int64, before []byte) (mac, marks []byte, err error) {
	first := number*segment + 1
	entries, err := tx.Entries(account, last+1, int(last-first+1))
	if err != nil {
		return nil, nil, err
	}
	slices.Reverse(entries)
	h := hmac.New(sha256.New, s.sealKey)
	field(h, []byte(account))
	field(h, before)
	for _, e := range entries {
		sum := digest(&e)
		h.Write(sum[:])
		marks = append(marks, sum[:mark]...)
	}
	return h.Sum(nil), marks, nil
}

// field writes a text with its length, so that no two lists of texts are the same.
func field(h interface{ Write([]byte) (int, error) }, text []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(text)))
	_, _ = h.Write(length[:]) // a hash never fails
	_, _ = h.Write(text)
}

// digest covers all that an entry says.
func digest(e *storage.Entry) [sha256.Size]byte {
	var b bytes.Buffer
	for _, text := range []string{e.Account, e.Posting, e.Type, e.Ref} {
		field(&b, []byte(text))
	}
	for _, n := range []int64{e.Number, e.Amount, e.Balance, e.At.UnixMilli()} {
		_ = binary.Write(&b, binary.BigEndian, n) // into memory
	}
	return sha256.Sum256(b.Bytes())
}

// check computes the seal of a segment up to an entry and says which of its
// entries does not agree with its mark; "" when all do.
func (s *Service) check(tx storage.ReadTx, account string, number, last int64, before []byte) (mac []byte, problem string, err error) {
	mac, marks, err := s.mac(tx, account, number, last, before)
	if err != nil {
		return nil, "", err
	}
	_, kept, err := lastSeals(tx, account, number)
	if err != nil {
		return nil, "", err
	}
	first := number*segment + 1
	if kept == nil {
		return mac, fmt.Sprintf("account %s: the seal of entries %d to %d is missing", account, first, last), nil
	}
	for i := range int(last - first + 1) {
		from, to := i*mark, (i+1)*mark
		if to > len(marks) || to > len(kept.Value.Marks) || !bytes.Equal(marks[from:to], kept.Value.Marks[from:to]) {
			return mac, fmt.Sprintf("account %s: entry %d is not the one that was sealed", account, first+int64(i)), nil
		}
	}
	if !hmac.Equal(mac, kept.Value.MAC) {
		return mac, fmt.Sprintf("account %s: the seal of entries %d to %d is not this server's", account, first, last), nil
	}
	return mac, "", nil
}

// seals compares every account with its seals.
func (v *verifier) seals(tx storage.ReadTx, s *Service) error {
	q := storage.Query{Limit: api.MaxLimit}
	for {
		page, more, err := sealHeads.List(tx, q)
		if err != nil {
			return err
		}
		for _, head := range page {
			if err := v.sealed(tx, s, head.ID, head.Value.Entries); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
		q.After = page[len(page)-1].ID
	}
}

func (v *verifier) sealed(tx storage.ReadTx, s *Service, account string, entries int64) error {
	b, err := tx.Balance(account)
	if err != nil {
		return err
	}
	if b.Entries < entries {
		v.problem("account %s: %d entries were sealed, and %d are there", account, entries, b.Entries)
		return nil
	}
	v.Sealed += entries
	var before []byte
	for number := int64(0); number*segment < entries; number++ {
		mac, problem, err := s.check(tx, account, number, min(entries, (number+1)*segment), before)
		if err != nil {
			return err
		}
		if problem != "" {
			v.problem("%s", problem)
			return nil // what follows hangs on it
		}
		before = mac
	}
	return nil
}
