package sqlstore

import "errors"

// A function may need a value that is not cached. If it read the value at once, the other
// calls of its batch, and those that wait for the turn, would wait for a round trip, and
// so would other processes that wait for the lock. So the function ends early with
// errDeferred, and its call leaves the batch. The next batch takes the lock first, and
// fetches the values that all such calls want in the same round trip. There the function
// runs again.

// errDeferred ends the run of a function that runs again in a later batch.
var errDeferred = errors.New("the function runs again in a later batch")

// maxDeferrals bounds how often a call leaves its batch. After that it reads by itself.
const maxDeferrals = 6

// require follows when a function needs values that are not cached. It makes the call
// leave the batch, or opens the session of the batch and fetches the values with the lock,
// or does nothing. If it returns nil, the caller looks into the cache again, and reads what
// is still not there.
func (w *writer) require(t *tx, c *call, values wantedValues) error {
	b := c.batch
	if b.failure != nil {
		return nil
	}
	for v, table := range values {
		w.cache.contention.noteMissing(v, table)
	}
	if len(b.calls) == 1 && w.store.QueueLength() == 0 {
		// No other call waits, so a deferral would be in vain.
		if b.session != nil {
			return nil
		}
		w.wantAll(values)
		if _, err := w.batchSession(b); err != nil {
			return t.fail("open", "session", err)
		}
		return nil
	}
	if !c.mayDefer {
		return nil
	}
	w.wantAll(values)
	t.deferred, t.failed = true, errDeferred
	return t.failed
}

// leaveBatch takes the call that runs out of its batch. Its writes were dropped. In a batch that runs
// again, calls keep their order, and all of them leave instead.
func (w *writer) leaveBatch(c *call) {
	b := c.batch
	if c.runsAgain {
		b.failure = Retryable{errDeferred}
		return
	}
	b.calls = b.calls[:len(b.calls)-1]
	c.deferred, c.left, c.batch = true, b, nil
	c.deferrals++
}
