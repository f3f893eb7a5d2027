package storage

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// copiedPosting is a posting of the source.
type copiedPosting struct {
	Booked
	// guarded are the guarded accounts that come into being with the posting.
	guarded []string
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
	waiting, done := map[entryPosition]copiedPosting{}, int64(0)
	err := eachPage(c, readPostings, func(page []copiedPosting) error {
		var left map[entryPosition]copiedPosting
		var booked int64
		err := c.dst.Update(c.ctx, func(tx Tx) error {
			left, booked = maps.Clone(waiting), 0
			for next := page; len(next) > 0; {
				p := next[0]
				next = next[1:]
				missing, err := p.book(tx)
				if err != nil {
					return err
				}
				if missing != (entryPosition{}) {
					left[missing] = p
					continue
				}
				booked++
				for _, e := range p.Entries {
					if w, ok := left[entryPosition{e.Account, e.Number}]; ok {
						delete(left, entryPosition{e.Account, e.Number})
						next = append([]copiedPosting{w}, next...)
					}
				}
			}
			return nil
		})
		if err == nil {
			waiting, done = left, done+booked
			c.progress(Progress{"ledger", done})
		}
		return err
	})
	if err == nil && len(waiting) > 0 {
		err = fmt.Errorf("%d postings wait for entries that are missing", len(waiting))
	}
	return err
}

// readPostings reads the next page of postings.
func readPostings(tx ReadTx, last copiedPosting) (page []copiedPosting, err error) {
	postings, err := tx.Postings(last.ID, copyBatch)
	for _, p := range postings {
		copied := copiedPosting{Booked: p}
		for _, e := range p.Entries {
			if e.Number > 1 {
				continue
			}
			b, err := tx.Balance(e.Account)
			if err != nil {
				return nil, err
			}
			if b.Guarded {
				copied.guarded = append(copied.guarded, e.Account)
			}
		}
		page = append(page, copied)
	}
	return page, err
}

// book books the posting if its entries follow from those that the target has. If one of the entries
// before them is not there yet, book returns its position.
func (p *copiedPosting) book(tx Tx) (missing entryPosition, err error) {
	posting := Posting{ID: p.ID, Type: p.Type, Ref: p.Ref, At: p.At}
	for _, e := range p.Entries {
		b, err := tx.Balance(e.Account)
		if err != nil {
			return missing, err
		}
		if e.Number > b.Entries+1 {
			return entryPosition{e.Account, e.Number - 1}, nil
		}
		m := Move{Account: e.Account, Guarded: b.Guarded || e.Number == 1 && slices.Contains(p.guarded, e.Account), Amount: e.Amount}
		now, err := Apply(b, m)
		if err != nil {
			return missing, fmt.Errorf("posting %s: %w", p.ID, err)
		}
		if now.Amount != e.Balance || now.Entries != e.Number {
			return missing, fmt.Errorf("posting %s: entry %d of %s leaves %d, and the entries before it say number %d and %d",
				p.ID, e.Number, e.Account, e.Balance, now.Entries, now.Amount)
		}
		posting.Moves = append(posting.Moves, m)
	}
	return missing, tx.Post(posting)
}

// compareBalances compares the page of balances of the source after an account with the target's.
func (c *copier) compareBalances(wanted []Balance, after string) error {
	return c.dst.View(c.ctx, func(to ReadTx) error {
		got, err := to.Balances(after, copyBatch)
		if err != nil {
			return err
		}
		if !slices.Equal(wanted, got) {
			return errors.New("the balances of the copy are not those of the source")
		}
		return nil
	})
}
