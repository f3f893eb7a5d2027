package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
)

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
// at 1 again, and leases end; records of Ordered kinds keep their numbers. If Copy fails, drop dst and begin again.
func Copy(ctx context.Context, dst, src Store, kinds []*Kind, progress func(Progress)) error {
	if progress == nil {
		progress = func(Progress) {}
	}
	if err := dst.Define(ctx, kinds...); err != nil {
		return fmt.Errorf("storage: copy: %w", err)
	}
	c := &copier{ctx: ctx, dst: dst, src: src, progress: progress}
	if err := c.run(kinds); err != nil {
		return fmt.Errorf("storage: copy: %w", err)
	}
	return nil
}

type copier struct {
	ctx      context.Context
	dst, src Store
	progress func(Progress)
}

// part reads a part of the source and returns the digest of it. In the first read it also copies the
// part; in the second one it compares balances.
type part func(first bool) ([]byte, error)

// run copies everything, and then reads the source once more. Versions and numbers of
// entries only rise. So what is equal in both reads did not change in between, and the
// copy is one state of the source.
func (c *copier) run(kinds []*Kind) error {
	if err := c.checkTargetEmpty(kinds); err != nil {
		return err
	}
	var parts []part
	for _, k := range kinds {
		parts = append(parts, c.records(k))
	}
	var differs error
	parts = append(parts, c.sequences(), c.balances(&differs))
	var sums [][]byte
	for _, read := range parts {
		sum, err := read(true)
		if err != nil {
			return err
		}
		sums = append(sums, sum)
	}
	if err := c.copyPostings(); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	for i, read := range parts {
		sum, err := read(false)
		if err == nil && !bytes.Equal(sum, sums[i]) {
			err = fmt.Errorf("%w: the source was written to while it was copied; stop everything that writes there and begin again with an empty target", ErrConflict)
		}
		if err != nil {
			return err
		}
	}
	// If the source was written to, that was reported rather than the difference it made.
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
		for _, k := range kinds {
			records, err := tx.Scan(k, Scope{}, "", 1)
			if err != nil {
				return err
			}
			found = found || len(records) > 0
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

// readPart reads a part of the source page by page, passes the pages to use, and returns the digest of
// them all.
func readPart[T any](c *copier, what string, read func(tx ReadTx, last T) ([]T, error), digest func(hash.Hash, T), use func(page []T) error) ([]byte, error) {
	d := sha256.New()
	err := eachPage(c, read, func(page []T) error {
		for _, v := range page {
			digest(d, v)
		}
		return use(page)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return d.Sum(nil), nil
}

// writer returns a function that writes the pages of a part of the copy, each in an Update, and
// reports them. Without write it does nothing.
func writer[T any](c *copier, what string, write bool, one func(tx Tx, v T) error) func(page []T) error {
	done := int64(0)
	return func(page []T) error {
		if !write {
			return nil
		}
		err := c.dst.Update(c.ctx, func(tx Tx) error {
			for _, v := range page {
				if err := one(tx, v); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			done += int64(len(page))
			c.progress(Progress{what, done})
		}
		return err
	}
}

func (c *copier) records(k *Kind) part {
	return func(first bool) ([]byte, error) {
		return readPart(c, k.Name, func(tx ReadTx, last Record) ([]Record, error) {
			return tx.Scan(k, last.Scope, last.ID, copyBatch)
		}, func(d hash.Hash, r Record) {
			live := int64(0)
			if r.Scope.Live {
				live = 1
			}
			addToDigest(d, []int64{r.Version, live, r.Number}, []byte(r.Scope.Merchant), []byte(r.ID), r.Data)
		}, writer(c, k.Name, first, func(tx Tx, r Record) error { return tx.Insert(k, r) }))
	}
}

func (c *copier) sequences() part {
	const what = "sequences"
	return func(first bool) ([]byte, error) {
		return readPart(c, what, func(tx ReadTx, last Sequence) ([]Sequence, error) {
			return tx.Sequences(last.Name, copyBatch)
		}, func(d hash.Hash, s Sequence) {
			addToDigest(d, []int64{s.Value}, []byte(s.Name))
		}, writer(c, what, first, func(tx Tx, s Sequence) error { return tx.SetSequence(s.Name, s.Value) }))
	}
}

// balances copies none, since postings make them. The second read sets differs if the target has other
// balances.
func (c *copier) balances(differs *error) part {
	return func(first bool) ([]byte, error) {
		compared := "" // up to this account
		return readPart(c, "ledger", func(tx ReadTx, last Balance) ([]Balance, error) {
			return tx.Balances(last.Account, copyBatch)
		}, func(d hash.Hash, b Balance) {
			addToDigest(d, []int64{b.Amount, b.Entries}, []byte(b.Account))
		}, func(page []Balance) error {
			if !first && *differs == nil {
				*differs = c.compareBalances(page, compared)
				compared = page[len(page)-1].Account
			}
			return nil
		})
	}
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
