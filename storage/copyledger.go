package storage

import (
	"errors"
	"fmt"
	"slices"
)

// rememberAccounts remembers accounts, which the target does not have yet.
func (c *copier) rememberAccounts(page []Balance) error {
	for _, b := range page {
		if len(c.accounts) < maxCopyAccounts {
			c.accounts[b.Account] = Balance{Account: b.Account, Guarded: b.Guarded}
		}
	}
	return nil
}

// loadAccounts makes sure that the accounts of postings are in memory.
func (c *copier) loadAccounts(batch ...Booked) error {
	all, unknown := map[string]bool{}, 0
	for _, p := range batch {
		for _, e := range p.Entries {
			if _, ok := c.accounts[e.Account]; !ok && !all[e.Account] {
				unknown++
			}
			all[e.Account] = true
		}
	}
	if unknown == 0 {
		return nil
	}
	if err := c.writeBatch(); err != nil { // so that the target has the current balances
		return err
	}
	if len(c.accounts)+unknown > maxCopyAccounts {
		clear(c.accounts)
	}
	return c.src.View(c.ctx, func(from ReadTx) error {
		return c.dst.View(c.ctx, func(to ReadTx) error {
			for name := range all {
				if _, ok := c.accounts[name]; ok {
					continue
				}
				is, err := from.Balance(name)
				if err != nil {
					return err
				}
				b, err := to.Balance(name)
				if err != nil {
					return err
				}
				b.Account, b.Guarded = name, is.Guarded
				c.accounts[name] = b
			}
			return nil
		})
	})
}

// entryPosition identifies an entry.
type entryPosition struct {
	account string
	number  int64
}

// copyPostings books every posting after the entries before its own. Ids are nearly in
// that order. A posting that comes too early waits. As many wait as were made within the
// difference between the clocks of processes.
func (c *copier) copyPostings() error {
	waiting := map[entryPosition]Booked{}
	err := eachPage(c, func(tx ReadTx, last Booked) ([]Booked, error) {
		return tx.Postings(last.ID, copyBatch)
	}, func(page []Booked) error {
		if err := c.loadAccounts(page...); err != nil {
			return err
		}
		for len(page) > 0 {
			p := page[0]
			page = page[1:]
			if err := c.loadAccounts(p); err != nil { // p may have waited
				return err
			}
			i := slices.IndexFunc(p.Entries, func(e Entry) bool { return e.Number > c.accounts[e.Account].Entries+1 })
			if i >= 0 {
				waiting[entryPosition{p.Entries[i].Account, p.Entries[i].Number}] = p
				continue
			}
			if err := c.checkEntries(p); err != nil {
				return err
			}
			c.batch = append(c.batch, p)
			for _, e := range p.Entries {
				next := entryPosition{e.Account, e.Number + 1}
				if w, ok := waiting[next]; ok {
					delete(waiting, next)
					page = append([]Booked{w}, page...)
				}
			}
			if len(c.batch) == copyBatch {
				if err := c.writeBatch(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(waiting) > 0 {
		return fmt.Errorf("%d postings wait for entries that are missing", len(waiting))
	}
	return c.writeBatch()
}

// checkEntries checks that a posting's entries follow from the entries before them.
func (c *copier) checkEntries(p Booked) error {
	for _, e := range p.Entries {
		b := c.accounts[e.Account]
		now, err := Apply(b, Move{Account: e.Account, Guarded: b.Guarded, Amount: e.Amount})
		if err != nil {
			return fmt.Errorf("posting %s: %w", p.ID, err)
		}
		if now.Amount != e.Balance || now.Entries != e.Number {
			return fmt.Errorf("posting %s: entry %d of %s leaves %d, and the entries before it say number %d and %d",
				p.ID, e.Number, e.Account, e.Balance, now.Entries, now.Amount)
		}
		c.accounts[e.Account] = now
	}
	return nil
}

// writeBatch books the postings of the batch.
func (c *copier) writeBatch() error {
	if len(c.batch) == 0 {
		return nil
	}
	err := c.dst.Update(c.ctx, func(tx Tx) error {
		for _, b := range c.batch {
			p := Posting{ID: b.ID, Type: b.Type, Ref: b.Ref, At: b.At}
			for _, e := range b.Entries {
				p.Moves = append(p.Moves, Move{Account: e.Account, Guarded: c.accounts[e.Account].Guarded, Amount: e.Amount})
			}
			if err := tx.Post(p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.done += int64(len(c.batch))
	c.batch = c.batch[:0]
	c.progress(Progress{"ledger", c.done})
	return nil
}

// compareBalances compares the next page of balances of the source with the target's.
func (c *copier) compareBalances(wanted []Balance) error {
	return c.dst.View(c.ctx, func(to ReadTx) error {
		got, err := to.Balances(c.compared, copyBatch)
		if err != nil {
			return err
		}
		if !slices.Equal(wanted, got) {
			return errors.New("the balances of the copy are not those of the source")
		}
		return nil
	})
}

// checkTotalIsZero adds up all balances of the target.
func (c *copier) checkTotalIsZero() error {
	return c.dst.View(c.ctx, func(to ReadTx) error {
		var total int64
		for after := ""; ; {
			page, err := to.Balances(after, copyBatch)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			for _, b := range page {
				total += b.Amount // may wrap, and then wraps back: the true sum is zero
			}
			after = page[len(page)-1].Account
		}
		if total != 0 {
			return fmt.Errorf("all balances add up to %d, not to zero", total)
		}
		return nil
	})
}
