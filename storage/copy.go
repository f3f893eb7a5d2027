package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// copyBatch is how much one transaction of a copy writes.
const copyBatch = 500

// Copy copies one store into another, for hosts who grow: memory to SQLite, SQLite
// to PostgreSQL, or back. kinds are what src holds, those of payments.Kinds() for
// the library; dst is made ready for them, and must be empty, so that payments.New
// comes afterwards. progress, if not nil, is called after each transaction.
//
// It reads one snapshot of src: stop everything that writes there first, or what
// is written meanwhile is missing. Every posting is booked anew, in an order that
// gives each entry the number and the balance that it had; one that does not fit
// what was before it, and balances that differ at the end, are an error. Versions
// begin with 1 again and leases end. What an interrupted copy leaves is useless:
// throw dst away and begin again.
func Copy(ctx context.Context, dst, src Store, kinds []*Kind, progress func(Progress)) error {
	if progress == nil {
		progress = func(Progress) {}
	}
	if err := dst.Define(ctx, kinds...); err != nil {
		return fmt.Errorf("storage: copy: %w", err)
	}
	err := src.View(ctx, func(from ReadTx) error {
		scanner, ok := from.(Scanner)
		if !ok {
			return fmt.Errorf("%w: the source has no Scan", ErrInvalid)
		}
		c := &copier{ctx: ctx, dst: dst, from: from, scanner: scanner, progress: progress}
		if err := c.empty(kinds); err != nil {
			return err
		}
		for _, k := range kinds {
			if err := c.records(k); err != nil {
				return fmt.Errorf("%s: %w", k.Name, err)
			}
		}
		if err := c.sequences(); err != nil {
			return fmt.Errorf("sequences: %w", err)
		}
		if err := c.ledger(); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		return c.compare()
	})
	if err != nil {
		return fmt.Errorf("storage: copy: %w", err)
	}
	return nil
}

type copier struct {
	ctx      context.Context
	dst      Store
	from     ReadTx
	scanner  Scanner
	progress func(Progress)

	guarded  map[string]bool
	balances map[string]Balance // of dst, as they will be after what is booked
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

func (c *copier) records(k *Kind) error {
	var last Record
	for done := int64(0); ; {
		batch, err := c.scanner.Scan(k, last.Scope, last.ID, copyBatch)
		if err != nil || len(batch) == 0 {
			return err
		}
		err = c.dst.Update(c.ctx, func(tx Tx) error {
			for _, r := range batch {
				if err := tx.Insert(k, r); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		last = batch[len(batch)-1]
		done += int64(len(batch))
		c.progress(Progress{k.Name, done})
	}
}

func (c *copier) sequences() error {
	for after, done := "", int64(0); ; {
		batch, err := c.scanner.Sequences(after, copyBatch)
		if err != nil || len(batch) == 0 {
			return err
		}
		err = c.dst.Update(c.ctx, func(tx Tx) error {
			setter, ok := tx.(SequenceSetter)
			if !ok {
				return fmt.Errorf("%w: the target has no SetSequence", ErrInvalid)
			}
			for _, s := range batch {
				if err := setter.SetSequence(s.Name, s.Value); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		after = batch[len(batch)-1].Name
		done += int64(len(batch))
		c.progress(Progress{"sequences", done})
	}
}

// place is where an entry stands.
type place struct {
	account string
	number  int64
}

// ledger books every posting when the entries before its own are booked. Ids are
// nearly in that order; those that come too early wait.
func (c *copier) ledger() error {
	c.guarded, c.balances = map[string]bool{}, map[string]Balance{}
	for after := ""; ; {
		batch, err := c.from.Balances(after, copyBatch)
		if err != nil {
			return err
		}
		if len(batch) == 0 {
			break
		}
		for _, b := range batch {
			c.guarded[b.Account] = b.Guarded
		}
		after = batch[len(batch)-1].Account
	}

	waiting := map[place]Booked{}
	var ready []Booked
	done := int64(0)
	flush := func() error {
		if err := c.book(ready); err != nil {
			return err
		}
		done += int64(len(ready))
		ready = ready[:0]
		c.progress(Progress{"ledger", done})
		return nil
	}
	for after := ""; ; {
		batch, err := c.from.Postings(after, copyBatch)
		if err != nil {
			return err
		}
		if len(batch) == 0 {
			break
		}
		after = batch[len(batch)-1].ID
		for len(batch) > 0 {
			p := batch[0]
			batch = batch[1:]
			i := slices.IndexFunc(p.Entries, func(e Entry) bool { return e.Number > c.balances[e.Account].Entries+1 })
			if i >= 0 {
				waiting[place{p.Entries[i].Account, p.Entries[i].Number}] = p
				continue
			}
			if err := c.follow(p); err != nil {
				return err
			}
			ready = append(ready, p)
			for _, e := range p.Entries {
				next := place{e.Account, e.Number + 1}
				if w, ok := waiting[next]; ok {
					delete(waiting, next)
					batch = append([]Booked{w}, batch...)
				}
			}
			if len(ready) == copyBatch {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	if len(waiting) > 0 {
		return fmt.Errorf("%d postings stand behind entries that are missing", len(waiting))
	}
	if len(ready) == 0 {
		return nil
	}
	return flush()
}

// follow checks that a posting's entries are what they must be after those before
// them.
func (c *copier) follow(p Booked) error {
	for _, e := range p.Entries {
		now, err := Apply(c.balances[e.Account], Move{Account: e.Account, Guarded: c.guarded[e.Account], Amount: e.Amount})
		if err != nil {
			return fmt.Errorf("posting %s: %w", p.ID, err)
		}
		if now.Amount != e.Balance || now.Entries != e.Number {
			return fmt.Errorf("posting %s: entry %d of %s leaves %d, and the entries before it say number %d and %d",
				p.ID, e.Number, e.Account, e.Balance, now.Entries, now.Amount)
		}
		c.balances[e.Account] = now
	}
	return nil
}

func (c *copier) book(batch []Booked) error {
	return c.dst.Update(c.ctx, func(tx Tx) error {
		for _, b := range batch {
			p := Posting{ID: b.ID, Type: b.Type, Ref: b.Ref, At: b.At}
			for _, e := range b.Entries {
				p.Moves = append(p.Moves, Move{Account: e.Account, Guarded: c.guarded[e.Account], Amount: e.Amount})
			}
			if err := tx.Post(p); err != nil {
				return err
			}
		}
		return nil
	})
}

// compare reads all balances of both stores.
func (c *copier) compare() error {
	return c.dst.View(c.ctx, func(to ReadTx) error {
		var total int64
		for after := ""; ; {
			wanted, err := c.from.Balances(after, copyBatch)
			if err != nil {
				return err
			}
			got, err := to.Balances(after, copyBatch)
			if err != nil {
				return err
			}
			if !slices.Equal(wanted, got) {
				return errors.New("ledger: the balances of the copy are not those of the source")
			}
			if len(wanted) == 0 {
				break
			}
			for _, b := range wanted {
				total += b.Amount // wraps back, if it wraps: the true sum is zero
			}
			after = wanted[len(wanted)-1].Account
		}
		if total != 0 {
			return fmt.Errorf("ledger: all balances add up to %d, not to zero", total)
		}
		return nil
	})
}
