package storage

import (
	"errors"
	"fmt"
	"slices"
)

// expect remembers accounts of the target, which has none yet.
func (c *copier) expect(page []Balance) error {
	for _, b := range page {
		if len(c.accounts) < copyAccounts {
			c.accounts[b.Account] = Balance{Account: b.Account, Guarded: b.Guarded}
		}
	}
	return nil
}

// know makes sure that the accounts of postings are remembered.
func (c *copier) know(batch ...Booked) error {
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
	if err := c.book(); err != nil { // so that the target says how they are
		return err
	}
	if len(c.accounts)+unknown > copyAccounts {
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

// place is where an entry stands.
type place struct {
	account string
	number  int64
}

// postings books every posting when the entries before its own are booked. Ids are
// nearly in that order; those that come too early wait: as many as were made in the
// time by which the clocks of processes differed.
func (c *copier) postings() error {
	waiting := map[place]Booked{}
	err := pages(c, func(tx ReadTx, last Booked) ([]Booked, error) {
		return tx.Postings(last.ID, copyBatch)
	}, func(page []Booked) error {
		if err := c.know(page...); err != nil {
			return err
		}
		for len(page) > 0 {
			p := page[0]
			page = page[1:]
			if err := c.know(p); err != nil { // one that has waited
				return err
			}
			i := slices.IndexFunc(p.Entries, func(e Entry) bool { return e.Number > c.accounts[e.Account].Entries+1 })
			if i >= 0 {
				waiting[place{p.Entries[i].Account, p.Entries[i].Number}] = p
				continue
			}
			if err := c.follow(p); err != nil {
				return err
			}
			c.ready = append(c.ready, p)
			for _, e := range p.Entries {
				next := place{e.Account, e.Number + 1}
				if w, ok := waiting[next]; ok {
					delete(waiting, next)
					page = append([]Booked{w}, page...)
				}
			}
			if len(c.ready) == copyBatch {
				if err := c.book(); err != nil {
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
		return fmt.Errorf("%d postings stand behind entries that are missing", len(waiting))
	}
	return c.book()
}

// follow checks that a posting's entries are what they must be after those before
// them.
func (c *copier) follow(p Booked) error {
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

// book writes the postings that are ready.
func (c *copier) book() error {
	if len(c.ready) == 0 {
		return nil
	}
	err := c.dst.Update(c.ctx, func(tx Tx) error {
		for _, b := range c.ready {
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
	c.done += int64(len(c.ready))
	c.ready = c.ready[:0]
	c.progress(Progress{"ledger", c.done})
	return nil
}

// compare compares the next page of balances of the source with those of the target.
func (c *copier) compare(wanted []Balance) error {
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

// sum adds up all balances of the target.
func (c *copier) sum() error {
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
				total += b.Amount // wraps back, if it wraps: the true sum is zero
			}
			after = page[len(page)-1].Account
		}
		if total != 0 {
			return fmt.Errorf("all balances add up to %d, not to zero", total)
		}
		return nil
	})
}
