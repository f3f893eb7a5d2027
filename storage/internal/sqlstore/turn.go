package sqlstore

import (
	"runtime"
	"slices"
)

// The write turn goes from call to call. The call that has it runs its function, and
// owns the batches and the cache until it passes the turn on.

// take waits for the write turn.
func (w *writer) take(c *call) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	if !w.held && len(w.queue) == 0 && (w.open == nil || w.open.takes(c, w.max)) {
		w.held = true
		w.mu.Unlock()
		return nil
	}
	w.queue = append(w.queue, c)
	w.mu.Unlock()

	select {
	case <-c.turn:
		if err := c.ctx.Err(); err != nil {
			w.pass()
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
	if i < 0 { // the turn is on its way
		<-c.turn
		w.pass()
	}
	return c.ctx.Err()
}

// pass gives the turn to the next call, if the open batch takes it. If not, and no
// other commit is under way, the open batch is committed.
func (w *writer) pass() {
	yielded := false
	for {
		w.mu.Lock()
		b, f := w.open, w.committing
		switch {
		case f != nil && f.landed:
			w.mu.Unlock()
			if f.outcome == nil {
				w.note(f)
				continue
			}
			// Its calls run again, each in its own goroutine. This one may be among them.
			w.store.Go(func() {
				w.note(f)
				w.pass()
			})
			return
		case len(w.queue) > 0 && (b == nil || b.takes(w.queue[0], w.max)):
			next := w.queue[0]
			w.queue = slices.Delete(w.queue, 0, 1)
			w.mu.Unlock()
			next.turn <- begin
			return
		case b == nil || f != nil:
			w.held = false
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		if !yielded && len(b.calls) > 1 {
			// The callers of the last batch are about to come back.
			yielded = true
			runtime.Gosched()
			continue
		}
		w.open = nil
		switch {
		case !b.waits(): // all calls have their answers, and nothing was written
			w.release(b)
		case w.store.Local:
			w.committing = b
			w.land(b)
		default:
			w.committing = b
			w.store.Go(func() {
				if w.land(b) {
					w.pass()
				}
			})
		}
	}
}

// land commits a batch, and reports whether nobody had the turn when it came back.
// Then it is the caller's, who has the outcome looked at.
func (w *writer) land(b *batch) (free bool) {
	err := w.settle(b)
	w.mu.Lock()
	b.landed, b.outcome = true, err
	close(b.done)
	free, w.held = !w.held, true
	w.mu.Unlock()
	if err == nil {
		w.finish(b, nil)
	}
	return free
}
