package work

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

// fairScheduler chooses the merchants of the next claim when more is due than one claim
// takes.
//
// As long as one claim takes all due records, the worker claims in the order of due times, from
// all merchants of the mode. After a batch with more left, the worker scans for merchants with
// due work. From then on they take turns, each with the same share of a claim. A merchant that is
// alone takes no turns: the worker claims in the order of due times, and scans again after
// another batch.
//
// A scan reads a few index entries for each of scanSize merchants. So a new merchant waits
// for one batch and one turn of each other merchant, however long their backlogs are.
type fairScheduler struct {
	mu sync.Mutex
	// fifoOnly turns scans off: merchants of the kind share one queue.
	fifoOnly bool
	// claimedSinceScan counts the records claimed by due time, with more left, since the
	// last scan.
	claimedSinceScan int
	// rescan says that a merchant may have both due work and more free slots than another.
	rescan bool
	// waiting are the merchants whose turn is to come. The next scan begins at scanFrom.
	waiting  []string
	scanFrom string
	// lastClock is the merchant whose test clock the last claim by test clocks used.
	lastClock string
}

// scanSize is the number of merchants in one scan.
const scanSize = 256

// claimOnce claims and runs one batch by the real clock and, in test mode, one by the test
// clocks. It returns the number of records. lookFirst says that probably nothing is due by the
// real clock, so it looks before it claims: a claim excludes all other writers, a look does not.
func (r *Runner) claimOnce(ctx context.Context, q *queue, lookFirst bool) (int, error) {
	var n int
	var err error
	again := true
	if lookFirst {
		again, err = r.isDue(ctx, q)
	}
	for n == 0 && again && err == nil { // again after a claim by turns that found nothing
		n, again, err = r.claimBatch(ctx, q, nil)
	}
	if err != nil || r.Clocks == nil || q.live || q.Kind.OneQueue {
		return n, err
	}
	clocks, err := r.Clocks(ctx)
	if err != nil || len(clocks) == 0 {
		return n, err
	}
	m, _, err := r.claimBatch(ctx, q, clocks)
	return n + m, err
}

// isDue reports whether any record is due by the real clock, even a leased one.
func (r *Runner) isDue(ctx context.Context, q *queue) (due bool, err error) {
	r.looking.Lock()
	defer r.looking.Unlock()
	err = r.Store.View(ctx, func(tx storage.ReadTx) error {
		b, err := tx.Backlog(q.Kind, r.Clock(), 1)
		due = b.Count > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("work: look at %s: %w", q.Kind.Name, err)
	}
	return due, nil
}

// claimBatch claims and runs one batch, by the given test clocks, or by the real clock if there
// are none. turn says that the claim was limited to merchants whose turn it was.
func (r *Runner) claimBatch(ctx context.Context, q *queue, testClocks []storage.Clock) (n int, turn bool, err error) {
	// The batch counts as running before it is claimed, so Drain cannot see an idle queue
	// between the claim and the run.
	q.begin()
	defer q.end()
	c, err := r.nextClaim(ctx, q, testClocks, q.RunOne != nil)
	if err != nil || c.Limit == 0 {
		return 0, false, err
	}
	turn = testClocks == nil && len(c.Clocks) > 0
	records, claimed, err := r.claim(ctx, q, c)
	if q.RunOne != nil {
		q.assign(c.Limit, records, claimed.More)
	}
	if err != nil {
		return 0, false, fmt.Errorf("work: claim %s: %w", q.Kind.Name, err)
	}
	if len(c.Clocks) == 0 && !claimed.More {
		q.slots.noBacklog()
	}
	all := slices.Concat(claimed.Done, records)
	q.scheduler.claimed(q.Batch, &c, testClocks != nil, all, claimed.More)
	r.start(ctx, q, records, claimed.Begun)
	return len(all), turn, nil
}

// claim claims records, and returns those on which work is left. Claimed has no records if they are leased for RunOne
// or RunBatch.
func (r *Runner) claim(ctx context.Context, q *queue, c storage.Claim) (records []storage.Record, claimed Claimed, err error) {
	if q.BeginInTx != nil {
		claimed, err := r.beginInTx(ctx, q, c)
		if err == nil || errors.Is(err, storage.ErrClosed) {
			for i := range claimed.Begun {
				records = append(records, claimed.Begun[i].Record)
			}
			return records, claimed, err
		}
		r.Log.WarnContext(ctx, "due work is done one by one, because together it failed", "kind", q.Kind.Name, "error", err)
	}
	err = r.Store.Update(ctx, func(tx storage.Tx) error {
		var err error
		c.Now, c.Lease = r.Clock(), LeaseDuration
		records, err = tx.Claim(q.Kind, c)
		return err
	})
	if err != nil {
		return nil, Claimed{}, err // the claim was rolled back
	}
	return records, Claimed{More: len(records) == c.Limit}, nil
}

// start runs claimed records. begun is the rest of the work on each, if it has begun.
func (r *Runner) start(ctx context.Context, q *queue, records []storage.Record, begun []Begun) {
	if q.RunOne == nil {
		if len(records) > 0 {
			r.runTask(ctx, q, records, q.RunBatch)
		}
		return
	}
	for i, record := range records {
		run := q.RunOne
		if begun != nil {
			record.Version = 0 // its lease is in the hands of Run
			run = func(ctx context.Context, _ storage.Record) error { return begun[i].Run(ctx) }
		}
		q.begin()
		do := func() {
			defer q.end()
			defer q.freeSlot(record.Scope.Merchant)
			r.runTask(ctx, q, []storage.Record{record}, func(ctx context.Context, records []storage.Record) error { return run(ctx, records[0]) })
		}
		if r.Serial {
			do()
		} else {
			go do()
		}
	}
}

// nextClaim returns the next claim, without a lease. Its Clocks are test clocks, or the merchants
// whose turn it is, all with the real time. If bounded, it acquires as many slots
// as the claim's limit, which is 0 when no slot is free.
func (r *Runner) nextClaim(ctx context.Context, q *queue, testClocks []storage.Clock, bounded bool) (storage.Claim, error) {
	c := storage.Claim{Live: q.live, Now: r.Clock()}
	bound := &q.slots
	if !bounded {
		bound = nil
	}
	if testClocks != nil {
		c.Clocks, c.Limit = q.rotateClocks(testClocks, bound)
		return c, nil
	}
	for {
		merchants, err := r.nextMerchants(ctx, q, bound)
		if err != nil {
			return c, err
		}
		if len(merchants) == 0 {
			c.Due, c.Limit = c.Now, bound.acquireAny(q.Batch)
			return c, nil
		}
		shares, all := bound.acquireShares(merchants, q.Batch)
		for i, n := range shares {
			if n > 0 {
				c.Clocks = append(c.Clocks, storage.Clock{Scope: storage.Scope{Merchant: merchants[i], Live: q.live}, Now: c.Now, Limit: n})
			}
		}
		if c.Limit = all; all > 0 {
			return c, nil
		}
		q.scheduler.skip(merchants) // they have no free slot
	}
}

// nextMerchants returns the merchants whose turn it is, if they take turns. It scans first
// when a scan is needed.
func (r *Runner) nextMerchants(ctx context.Context, q *queue, bound *slots) ([]string, error) {
	t := &q.scheduler
	if from, scan := t.needsScan(q.Batch, bound.exhausted()); scan {
		var due []storage.Due
		err := r.Store.View(ctx, func(tx storage.ReadTx) (err error) {
			due, err = tx.NextDue(q.Kind, storage.Scope{Merchant: from, Live: q.live}, scanSize)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("work: look at %s: %w", q.Kind.Name, err)
		}
		t.scanned(from, due, r.Clock())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.waiting[:min(len(t.waiting), q.Batch)]), nil
}

// requestScan has the worker scan once a merchant has no free slot.
func (t *fairScheduler) requestScan() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rescan = true
}

// needsScan reports whether the worker must scan, and the merchant it starts after.
// exhausted says that a merchant has all the slots it may have.
func (t *fairScheduler) needsScan(batch int, exhausted bool) (from string, scan bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.scanFrom, !t.fifoOnly && len(t.waiting) == 0 && (t.claimedSinceScan >= batch || t.rescan && exhausted)
}

// scanned stores the merchants of a scan that have due work.
func (t *fairScheduler) scanned(from string, due []storage.Due, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.claimedSinceScan, t.rescan, t.scanFrom, t.waiting = 0, false, "", nil
	all := from == "" && len(due) < scanSize
	if len(due) == scanSize {
		t.scanFrom = due[len(due)-1].Scope.Merchant
	}
	for _, d := range due {
		if !d.At.After(now) && (d.Scope.Merchant != from || from == "") { // from has had its turn
			t.waiting = append(t.waiting, d.Scope.Merchant)
		}
	}
	if all && len(t.waiting) == 1 {
		t.waiting = nil // it is alone
	}
}

// skip ends the turn of merchants that have no free slot.
func (t *fairScheduler) skip(merchants []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = slices.DeleteFunc(t.waiting, func(m string) bool { return slices.Contains(merchants, m) })
}

// claimed notes the records of a claim, and whether more was due.
func (t *fairScheduler) claimed(batch int, c *storage.Claim, byTestClocks bool, records []storage.Record, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case byTestClocks:
		if len(records) > 0 {
			t.lastClock = records[len(records)-1].Scope.Merchant
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
			t.claimedSinceScan = batch // after the last turn the worker scans again
		}
	case more:
		t.claimedSinceScan += len(records)
	default:
		t.claimedSinceScan = 0
	}
}

// rotateClocks has the merchants with test clocks take turns: a claim begins after the
// merchant of the last one. It includes all clocks, since by most nothing is due.
func (q *queue) rotateClocks(clocks []storage.Clock, bound *slots) (all []storage.Clock, limit int) {
	clocks = slices.SortedFunc(slices.Values(clocks), func(a, b storage.Clock) int { return cmp.Compare(a.Scope.Merchant, b.Scope.Merchant) })
	q.scheduler.mu.Lock()
	next := slices.IndexFunc(clocks, func(c storage.Clock) bool { return c.Scope.Merchant > q.scheduler.lastClock })
	q.scheduler.mu.Unlock()
	for _, c := range slices.Concat(clocks[max(next, 0):], clocks[:max(next, 0)]) {
		if c.Limit = bound.allow(c.Scope.Merchant, q.Batch); c.Limit > 0 {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return nil, 0
	}
	return all, bound.acquireBounded(q.Batch)
}
