package due

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// turns say whose work is claimed next where more is due than can be begun at once.
//
// Work is claimed in the order of its due times, from all merchants of the mode, for as
// long as that takes all that is due. After as many records as a batch has, with more
// left, the worker looks whose they are, and from then on the merchants take turns, each
// with the same share of a claim. One who is alone has no turns to wait for: the worker
// goes on in the order of time, and looks again after another batch.
//
// A look reads a few entries of an index for each merchant who has work now or later, and
// looks at lookAt of them. So another merchant waits for one batch and as many turns as
// there are merchants, however long the first one's backlog is.
type turns struct {
	mu sync.Mutex
	// ahead counts what was claimed in the order of time, with more left, since the
	// worker last looked.
	ahead int
	// news says that a merchant may have work to whom more places are free than to
	// another.
	news bool
	// waiting are merchants whose turn is to come. from is where the next look begins.
	waiting []string
	from    string
	// clock is the merchant by whose clock something was claimed last.
	clock string
}

// lookAt is how many merchants a look reads of.
const lookAt = 256

// round claims and runs one batch by the real clock and, in test mode, one by the test
// clocks. It returns how many records there were.
func (r *Runner) round(ctx context.Context, q *queue) (int, error) {
	n, turn, err := r.batch(ctx, q, nil)
	for n == 0 && turn && err == nil { // what they had waiting is done
		n, turn, err = r.batch(ctx, q, nil)
	}
	if err != nil || r.Clocks == nil || q.live {
		return n, err
	}
	clocks, err := r.Clocks(ctx)
	if err != nil || len(clocks) == 0 {
		return n, err
	}
	m, _, err := r.batch(ctx, q, clocks)
	return n + m, err
}

// batch claims and runs one batch by the given clocks, or, where there are none, by the
// real one. turn says that it was for merchants whose turn it was.
func (r *Runner) batch(ctx context.Context, q *queue, clocks []storage.Clock) (n int, turn bool, err error) {
	// The batch counts as running before it is claimed, so that whoever drains
	// cannot look between the claim and the run.
	q.begin()
	defer q.end()
	if q.InTx != nil {
		c, err := r.choose(ctx, q, clocks, false)
		if err != nil {
			return 0, false, err
		}
		turn = clocks == nil && len(c.Clocks) > 0
		c.InTx = true
		done, more, err := r.inTx(ctx, q, c)
		if err == nil || errors.Is(err, storage.ErrClosed) {
			q.turns.took(q.Batch, &c, clocks != nil, done, more)
			return len(done), turn, err
		}
		r.Log.WarnContext(ctx, "due work is done one by one, because together it failed", "kind", q.Kind.Name, "error", err)
	}
	c, err := r.choose(ctx, q, clocks, q.Do != nil)
	if err != nil || c.Limit == 0 {
		return 0, false, err
	}
	turn = clocks == nil && len(c.Clocks) > 0
	var records []storage.Record
	err = r.Store.Update(ctx, func(tx storage.Tx) error {
		var err error
		c.Now, c.Lease = r.Clock(), Lease
		records, err = tx.Claim(q.Kind, c)
		return err
	})
	if err != nil {
		records = nil // those of a run that was undone are nobody's
	}
	if q.Do != nil {
		q.hold(c.Limit, records)
	}
	if err != nil {
		return 0, false, fmt.Errorf("due: claim %s: %w", q.Kind.Name, err)
	}
	q.turns.took(q.Batch, &c, clocks != nil, records, len(records) == c.Limit)
	r.begin(ctx, q, records)
	return len(records), turn, nil
}

// begin runs what was claimed.
func (r *Runner) begin(ctx context.Context, q *queue, records []storage.Record) {
	if q.Do == nil {
		if len(records) > 0 {
			r.act(ctx, q, records, q.Run)
		}
		return
	}
	for _, record := range records {
		q.begin()
		do := func() {
			defer q.end()
			defer q.release(record.Scope.Merchant)
			run := func(ctx context.Context, records []storage.Record) error { return q.Do(ctx, records[0]) }
			r.act(ctx, q, []storage.Record{record}, run)
		}
		if r.Serial {
			do()
		} else {
			go do()
		}
	}
}

// choose returns what is claimed next, without a lease. Where it is bounded, places are
// reserved for as many records as its limit says, which is 0 when there are none.
func (r *Runner) choose(ctx context.Context, q *queue, clocks []storage.Clock, bounded bool) (storage.Claim, error) {
	c := storage.Claim{Live: q.live, Now: r.Clock()}
	bound := &q.places
	if !bounded {
		bound = nil
	}
	if clocks != nil {
		c.Clocks, c.Limit = q.byClocks(clocks, bound)
		return c, nil
	}
	for {
		merchants, err := r.whoseTurn(ctx, q, bound)
		if err != nil {
			return c, err
		}
		if len(merchants) == 0 {
			c.Due, c.Limit = c.Now, bound.any(q.Batch)
			return c, nil
		}
		shares, all := bound.share(merchants, q.Batch)
		for i, n := range shares {
			if n > 0 {
				c.Clocks = append(c.Clocks, storage.Clock{Scope: storage.Scope{Merchant: merchants[i], Live: q.live}, Now: c.Now, Limit: n})
			}
		}
		if c.Limit = all; all > 0 {
			return c, nil
		}
		q.turns.pass(merchants) // no place is free to them
	}
}

// whoseTurn returns the merchants whose turn it is, if they take turns, and looks who that
// is where it is time for it.
func (r *Runner) whoseTurn(ctx context.Context, q *queue, bound *places) ([]string, error) {
	t := &q.turns
	if from, look := t.over(q.Batch, bound.none()); look {
		var due []storage.Due
		err := r.Store.View(ctx, func(tx storage.ReadTx) (err error) {
			due, err = tx.NextDue(q.Kind, storage.Scope{Merchant: from, Live: q.live}, lookAt)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("due: look at %s: %w", q.Kind.Name, err)
		}
		t.looked(from, due, r.Clock())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.waiting[:min(len(t.waiting), q.Batch)]), nil
}

// look has the worker look at the merchants before it is kept from claiming for want of
// places.
func (t *turns) look() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.news = true
}

// over reports whether it is time to look, and from whom on. none says that some merchant
// has all the places it can have.
func (t *turns) over(batch int, none bool) (from string, look bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.from, len(t.waiting) == 0 && (t.ahead >= batch || t.news && none)
}

// looked notes who has work that is due.
func (t *turns) looked(from string, due []storage.Due, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ahead, t.news, t.from, t.waiting = 0, false, "", nil
	all := from == "" && len(due) < lookAt
	if len(due) == lookAt {
		t.from = due[len(due)-1].Scope.Merchant
	}
	for _, d := range due {
		if !d.At.After(now) && (d.Scope.Merchant != from || from == "") { // who was last has had a turn
			t.waiting = append(t.waiting, d.Scope.Merchant)
		}
	}
	if all && len(t.waiting) == 1 {
		t.waiting = nil // it is alone
	}
}

// pass notes that merchants have had their turn, and could not use it.
func (t *turns) pass(merchants []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = slices.DeleteFunc(t.waiting, func(m string) bool { return slices.Contains(merchants, m) })
}

// took notes what a claim of a queue has taken, and whether more was due.
func (t *turns) took(batch int, c *storage.Claim, byClocks bool, records []storage.Record, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case byClocks:
		if len(records) > 0 {
			t.clock = records[len(records)-1].Scope.Merchant
		}
	case len(c.Clocks) > 0:
		had := map[string]bool{} // a turn
		for _, r := range records {
			had[r.Scope.Merchant] = true
		}
		for _, clock := range c.Clocks {
			had[clock.Scope.Merchant] = had[clock.Scope.Merchant] || !more
		}
		t.waiting = slices.DeleteFunc(t.waiting, func(m string) bool { return had[m] })
		if len(records) > 0 {
			t.ahead = batch // when all have had their turn, the worker looks again
		}
	case more:
		t.ahead += len(records)
	default:
		t.ahead = 0
	}
}

// byClocks has the merchants with test clocks take turns: a claim begins with the one after
// the last that had something. All are asked, since by most clocks nothing is due.
func (q *queue) byClocks(clocks []storage.Clock, bound *places) (all []storage.Clock, limit int) {
	clocks = slices.SortedFunc(slices.Values(clocks), func(a, b storage.Clock) int { return cmp.Compare(a.Scope.Merchant, b.Scope.Merchant) })
	q.turns.mu.Lock()
	next := slices.IndexFunc(clocks, func(c storage.Clock) bool { return c.Scope.Merchant > q.turns.clock })
	q.turns.mu.Unlock()
	for _, c := range slices.Concat(clocks[max(next, 0):], clocks[:max(next, 0)]) {
		if c.Limit = bound.room(c.Scope.Merchant, q.Batch); c.Limit > 0 {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return nil, 0
	}
	return all, bound.some(q.Batch)
}
