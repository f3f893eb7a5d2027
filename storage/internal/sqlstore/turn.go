package sqlstore

import (
	"runtime"
	"slices"
)

// The calls pass the write turn around. The call that has the turn runs its function and
// owns the batches and the cache.

// acquireTurn waits for the write turn.
func (w *writer) acquireTurn(c *call) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	if !w.turnTaken && len(w.queue) == 0 && (w.open == nil || w.open.accepts(c, w.maxBatchSize)) {
		w.turnTaken = true
		w.mu.Unlock()
		return nil
	}
	w.queue = append(w.queue, c)
	w.mu.Unlock()

	select {
	case <-c.signals:
		if err := c.ctx.Err(); err != nil {
			w.passTurn()
			return err
		}
		return nil
	case <-c.ctx.Done():
	}
	w.mu.Lock()
	i := slices.Index(w.queue, c)
	if i >= 0 {
		w.queue = slices.Delete(w.queue, i, i+1)
	}
	w.mu.Unlock()
	if i < 0 { // passTurn has chosen this call
		<-c.signals
		w.passTurn()
	}
	return c.ctx.Err()
}

// passTurn gives the turn to the next call if the open batch accepts it. Otherwise it
// commits the open batch, unless another commit is running.
func (w *writer) passTurn() {
	yielded := false
	for {
		w.mu.Lock()
		b, f := w.open, w.committing
		switch {
		case f != nil && f.commitDone:
			w.mu.Unlock()
			if f.outcome == nil {
				w.commitReturned(f)
				continue
			}
			// The calls of the batch run again in their own goroutines, perhaps this one too.
			w.store.Go(func() {
				w.commitReturned(f)
				w.passTurn()
			})
			return
		case len(w.queue) > 0 && (b == nil || b.accepts(w.queue[0], w.maxBatchSize)):
			next := w.queue[0]
			w.queue = slices.Delete(w.queue, 0, 1)
			w.mu.Unlock()
			next.signals <- turnGranted
			return
		case b == nil || f != nil:
			w.turnTaken = false
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		if !yielded && len(b.calls) > 1 {
			// The callers of the last batch may be about to call again.
			yielded = true
			runtime.Gosched()
			continue
		}
		w.open = nil
		switch {
		case !b.hasWaitingCalls(): // no call depends on the outcome
			w.closeSession(b)
		case !w.store.Remote:
			w.committing = b
			w.commitBatch(b)
		default:
			w.committing = b
			w.store.Go(func() {
				if w.commitBatch(b) {
					w.passTurn()
				}
			})
		}
	}
}

// commitBatch commits a batch. It returns true if no call had the turn when the commit
// ended: then the caller has the turn and must pass it on.
func (w *writer) commitBatch(b *batch) (free bool) {
	err := w.writeAndCommit(b)
	w.mu.Lock()
	b.commitDone, b.outcome = true, err
	close(b.done)
	free, w.turnTaken = !w.turnTaken, true
	w.mu.Unlock()
	if err == nil {
		w.endCalls(b, nil)
	}
	return free
}
