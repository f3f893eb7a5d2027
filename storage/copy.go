package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
)

// Scanner is an optional interface of a ReadTx: [Copy] needs it for its source. The
// stores of this module have it. In an Update it sees the writes of the transaction.
type Scanner interface {
	// Scan returns at most limit records, at least 1, of all scopes after the given scope and id. They
	// come in ascending bytewise order of merchants. For one merchant, those of test mode come first.
	// Those of one mode come in ascending bytewise order of ids. A zero scope and id begin at the first
	// record. There need not be a record with that scope and id.
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

// SequenceSetter is an optional interface of a Tx: [Copy] needs it for its target. The
// stores of this module have it.
type SequenceSetter interface {
	// SetSequence sets the last number of a sequence. value may be less than the current
	// one.
	SetSequence(name string, value int64) error
}

// Progress is the progress of a copy or a migration.
type Progress struct {
	// What is the name of a kind, "ledger" or "sequences".
	What string
	// Done is the number of copied records, postings or sequences. A migration reports 0 when it
	// begins to change the table of a kind.
	Done int64
}

// copyBatch is the number of records that a transaction of a copy reads or writes.
const copyBatch = 500

// maxCopyAccounts bounds the accounts that a copy keeps in memory, some 150 MB. A copy of a
// larger ledger reads accounts again.
var maxCopyAccounts = 1 << 20

// Copy copies one store into another, for example SQLite to PostgreSQL or back. kinds are the kinds
// of src: payments.Kinds() for the library. Copy defines them in dst, which must be empty; so call
// payments.New afterwards. progress, if not nil, is called after each transaction.
//
// Stop everything that writes to src first, the background work included. Copy reads src
// in many short Views, so that its database need not keep an old state for hours. At the
// end it reads everything but the postings once more, and fails with ErrConflict if
// something has changed since it was copied. So a copy without an error is one state of
// src. Later writes to src are missing in it. Copy needs the same memory for any size of
// store.
//
// Copy books every posting again, in an order that keeps each entry's number and balance. It fails
// if a posting does not fit the earlier entries, or if balances differ at the end. Versions begin
// at 1 again, and leases end. If Copy fails, drop dst and begin again.
func Copy(ctx context.Context, dst, src Store, kinds []*Kind, progress func(Progress)) error {
	if progress == nil {
		progress = func(Progress) {}
	}
	if err := dst.Define(ctx, kinds...); err != nil {
		return fmt.Errorf("storage: copy: %w", err)
	}
	c := &copier{ctx: ctx, dst: dst, src: src, progress: progress, accounts: map[string]Balance{}}
	if err := c.run(kinds); err != nil {
		return fmt.Errorf("storage: copy: %w", err)
	}
	return nil
}

type copier struct {
	ctx      context.Context
	dst, src Store
	progress func(Progress)

	// accounts are the accounts of dst as they will be after the next batch. Guarded is as in
	// src.
	accounts map[string]Balance
	batch    []Booked
	done     int64  // booked postings
	compared string // balances were compared up to this account
}

// run copies everything, and then reads the source once more. Versions and numbers of
// entries only rise. So what is equal in both reads did not change in between, and the
// copy is one state of the source.
func (c *copier) run(kinds []*Kind) error {
	if err := c.checkTargetEmpty(kinds); err != nil {
		return err
	}
	var first [][]byte
	note := func(sum []byte) error {
		first = append(first, sum)
		return nil
	}
	for _, k := range kinds {
		if err := c.copyRecords(k, true, note); err != nil {
			return err
		}
	}
	if err := c.copySequences(true, note); err != nil {
		return err
	}
	if err := c.eachBalance(c.rememberAccounts, note); err != nil {
		return err
	}
	if err := c.copyPostings(); err != nil {
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
		if err := c.copyRecords(k, false, same); err != nil {
			return err
		}
	}
	if err := c.copySequences(false, same); err != nil {
		return err
	}
	var differs error
	compare := func(page []Balance) error {
		if differs == nil {
			differs = c.compareBalances(page)
		}
		c.compared = page[len(page)-1].Account
		return nil
	}
	// If the source was written to, report that rather than the difference it made.
	if err := c.eachBalance(compare, same); err != nil {
		return err
	}
	if differs == nil {
		differs = c.checkTotalIsZero()
	}
	if differs != nil {
		return fmt.Errorf("ledger: %w", differs)
	}
	return nil
}

// checkTargetEmpty refuses a target that has records or balances.
func (c *copier) checkTargetEmpty(kinds []*Kind) error {
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

// eachPage reads the source page by page, each in a View, and passes the pages to use.
func eachPage[T any](c *copier, read func(tx ReadTx, last T) ([]T, error), use func(page []T) error) error {
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

// copyRecords reads the records of a kind, writes them if write is set, and passes their
// digest to check.
func (c *copier) copyRecords(k *Kind, write bool, check func(sum []byte) error) error {
	d, done := sha256.New(), int64(0)
	err := eachPage(c, func(tx ReadTx, last Record) ([]Record, error) {
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
			addToDigest(d, []int64{r.Version, live}, []byte(r.Scope.Merchant), []byte(r.ID), r.Data)
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

// copySequences is copyRecords for the sequences.
func (c *copier) copySequences(write bool, check func(sum []byte) error) error {
	d, done := sha256.New(), int64(0)
	err := eachPage(c, func(tx ReadTx, last Sequence) ([]Sequence, error) {
		scanner, err := scannerOf(tx)
		if err != nil {
			return nil, err
		}
		return scanner.Sequences(last.Name, copyBatch)
	}, func(page []Sequence) error {
		for _, s := range page {
			addToDigest(d, []int64{s.Value}, []byte(s.Name))
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

// eachBalance passes the balances of the source to use, and their digest to check.
func (c *copier) eachBalance(use func([]Balance) error, check func(sum []byte) error) error {
	d := sha256.New()
	err := eachPage(c, func(tx ReadTx, last Balance) ([]Balance, error) {
		return tx.Balances(last.Account, copyBatch)
	}, func(page []Balance) error {
		for _, b := range page {
			addToDigest(d, []int64{b.Amount, b.Entries}, []byte(b.Account))
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

// addToDigest adds numbers and texts to a digest. Each text follows its length, so that
// no two lists have the same encoding.
func addToDigest(d hash.Hash, numbers []int64, texts ...[]byte) {
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
