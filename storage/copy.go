package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
)

// Scanner is what [Copy] needs of the ReadTx of its source, beside the contract.
// The stores that ship have it. In an Update it sees what the transaction has written.
type Scanner interface {
	// Scan returns at most limit records, at least 1, of all scopes after the given
	// scope and id, in an order of the backend's that stays the same; it begins with
	// the zero values. There need not be a record with that scope and id.
	Scan(k *Kind, after Scope, id string, limit int) ([]Record, error)
	// Sequences returns at most limit sequences, at least 1, with a name after the
	// given one, in ascending bytewise order.
	Sequences(after string, limit int) ([]Sequence, error)
}

// Sequence is a named sequence and the last number that it gave.
type Sequence struct {
	Name  string
	Value int64
}

// SequenceSetter is what [Copy] needs of the Tx of its target, beside the
// contract. The stores that ship have it.
type SequenceSetter interface {
	// SetSequence makes value, which may be less than what was given, the last number
	// of a sequence.
	SetSequence(name string, value int64) error
}

// Progress is how far a copy or a migration has come.
type Progress struct {
	// What is the name of a kind, "ledger" or "sequences".
	What string
	// Done is how many records, postings or sequences of that were copied. A
	// migration tells 0 when it begins to change the table of a kind.
	Done int64
}

// copyBatch is how much one transaction of a copy reads or writes.
const copyBatch = 500

// copyAccounts is how many accounts a copy remembers, some 150 MB of them. Those of a
// larger ledger are read again.
var copyAccounts = 1 << 20

// Copy copies one store into another, for hosts who grow: memory to SQLite, SQLite
// to PostgreSQL, or back. kinds are what src holds, those of payments.Kinds() for
// the library; dst is made ready for them, and must be empty, so that payments.New
// comes afterwards. progress, if not nil, is called after each transaction.
//
// Stop everything that writes to src first, the background work included. Copy reads
// src in many short Views, so that its database need not keep an old state for hours,
// and reads all but the postings once more at the end. Where that has changed since it
// was copied, the error is ErrConflict: without an error the copy is one state of src,
// and what is written to src after Copy has returned is missing in it. Memory does not
// grow with the store.
//
// Every posting is booked anew, in an order that gives each entry the number and the
// balance that it had; one that does not fit what was before it, and balances that
// differ at the end, are an error. Versions begin with 1 again and leases end. What a
// copy leaves that was interrupted, or has failed, is useless: throw dst away and begin
// again.
func Copy(ctx context.Context, dst, src Store, kinds []*Kind, progress func(Progress)) error {
	if progress == nil {
		progress = func(Progress) {}
	}
	if err := dst.Define(ctx, kinds...); err != nil {
		return fmt.Errorf("storage: copy: %w", err)
	}
	c := &copier{ctx: ctx, dst: dst, src: src, progress: progress, accounts: map[string]Balance{}}
	if err := c.all(kinds); err != nil {
		return fmt.Errorf("storage: copy: %w", err)
	}
	return nil
}

type copier struct {
	ctx      context.Context
	dst, src Store
	progress func(Progress)

	// accounts are those of dst, as they will be after what is ready is booked; Guarded
	// is what src says.
	accounts map[string]Balance
	ready    []Booked
	done     int64  // postings that are booked
	compared string // the account up to which the balances were compared
}

// all copies everything, and then reads once more what was copied. What is the same both
// times did not change in between, since versions and numbers of entries only rise: so
// all of it together is one state of the source.
func (c *copier) all(kinds []*Kind) error {
	if err := c.empty(kinds); err != nil {
		return err
	}
	var first [][]byte
	note := func(sum []byte) error {
		first = append(first, sum)
		return nil
	}
	for _, k := range kinds {
		if err := c.records(k, true, note); err != nil {
			return err
		}
	}
	if err := c.sequences(true, note); err != nil {
		return err
	}
	if err := c.balances(c.expect, note); err != nil {
		return err
	}
	if err := c.postings(); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}

	same := func(sum []byte) error {
		was := first[0]
		if first = first[1:]; !bytes.Equal(was, sum) {
			return fmt.Errorf("%w: the source was written to while it was copied; stop everything that writes there and begin again with an empty target", ErrConflict)
		}
		return nil
	}
	for _, k := range kinds {
		if err := c.records(k, false, same); err != nil {
			return err
		}
	}
	if err := c.sequences(false, same); err != nil {
		return err
	}
	var differs error
	compare := func(page []Balance) error {
		if differs == nil {
			differs = c.compare(page)
		}
		c.compared = page[len(page)-1].Account
		return nil
	}
	// A source that was written to is the reason rather than what differs for it.
	if err := c.balances(compare, same); err != nil {
		return err
	}
	if differs == nil {
		differs = c.sum()
	}
	if differs != nil {
		return fmt.Errorf("ledger: %w", differs)
	}
	return nil
}

// empty refuses a target that holds something.
func (c *copier) empty(kinds []*Kind) error {
	return c.dst.View(c.ctx, func(tx ReadTx) error {
		balances, err := tx.Balances("", 1)
		if err != nil {
			return err
		}
		found := len(balances) > 0
		if scanner, ok := tx.(Scanner); ok {
			for _, k := range kinds {
				records, err := scanner.Scan(k, Scope{}, "", 1)
				if err != nil {
					return err
				}
				found = found || len(records) > 0
			}
		}
		if found {
			return fmt.Errorf("%w: the target is not empty; copy before payments.New", ErrExists)
		}
		return nil
	})
}

// pages reads a page in each View of the source, beginning with what comes after the zero
// value, and hands it to use.
func pages[T any](c *copier, read func(tx ReadTx, last T) ([]T, error), use func(page []T) error) error {
	for last := *new(T); ; {
		var page []T
		err := c.src.View(c.ctx, func(tx ReadTx) error {
			var err error
			page, err = read(tx, last)
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		last = page[len(page)-1]
		if err := use(page); err != nil {
			return err
		}
	}
}

func scannerOf(tx ReadTx) (Scanner, error) {
	scanner, ok := tx.(Scanner)
	if !ok {
		return nil, fmt.Errorf("%w: the source has no Scan", ErrInvalid)
	}
	return scanner, nil
}

// records reads the records of a kind, writes them if it is to, and gives their digest to
// check.
func (c *copier) records(k *Kind, write bool, check func(sum []byte) error) error {
	d, done := sha256.New(), int64(0)
	err := pages(c, func(tx ReadTx, last Record) ([]Record, error) {
		scanner, err := scannerOf(tx)
		if err != nil {
			return nil, err
		}
		return scanner.Scan(k, last.Scope, last.ID, copyBatch)
	}, func(page []Record) error {
		for i := range page {
			r := &page[i]
			live := int64(0)
			if r.Scope.Live {
				live = 1
			}
			digest(d, []int64{r.Version, live}, []byte(r.Scope.Merchant), []byte(r.ID), r.Data)
		}
		if !write {
			return nil
		}
		err := c.dst.Update(c.ctx, func(tx Tx) error {
			for _, r := range page {
				if err := tx.Insert(k, r); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			done += int64(len(page))
			c.progress(Progress{k.Name, done})
		}
		return err
	})
	if err == nil {
		err = check(d.Sum(nil))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", k.Name, err)
	}
	return nil
}

// sequences is records for the sequences.
func (c *copier) sequences(write bool, check func(sum []byte) error) error {
	d, done := sha256.New(), int64(0)
	err := pages(c, func(tx ReadTx, last Sequence) ([]Sequence, error) {
		scanner, err := scannerOf(tx)
		if err != nil {
			return nil, err
		}
		return scanner.Sequences(last.Name, copyBatch)
	}, func(page []Sequence) error {
		for _, s := range page {
			digest(d, []int64{s.Value}, []byte(s.Name))
		}
		if !write {
			return nil
		}
		err := c.dst.Update(c.ctx, func(tx Tx) error {
			setter, ok := tx.(SequenceSetter)
			if !ok {
				return fmt.Errorf("%w: the target has no SetSequence", ErrInvalid)
			}
			for _, s := range page {
				if err := setter.SetSequence(s.Name, s.Value); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			done += int64(len(page))
			c.progress(Progress{"sequences", done})
		}
		return err
	})
	if err == nil {
		err = check(d.Sum(nil))
	}
	if err != nil {
		return fmt.Errorf("sequences: %w", err)
	}
	return nil
}

// balances hands the balances of the source to use, and their digest to check.
func (c *copier) balances(use func([]Balance) error, check func(sum []byte) error) error {
	d := sha256.New()
	err := pages(c, func(tx ReadTx, last Balance) ([]Balance, error) {
		return tx.Balances(last.Account, copyBatch)
	}, func(page []Balance) error {
		for _, b := range page {
			digest(d, []int64{b.Amount, b.Entries}, []byte(b.Account))
		}
		return use(page)
	})
	if err == nil {
		err = check(d.Sum(nil))
	}
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// digest adds to a digest, texts with their lengths, so that no two lists are the same.
func digest(d hash.Hash, numbers []int64, texts ...[]byte) {
	var b []byte
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	for _, text := range texts {
		b = binary.BigEndian.AppendUint64(b, uint64(len(text)))
		b = append(b, text...)
	}
	_, _ = d.Write(b) // a hash never fails
}
