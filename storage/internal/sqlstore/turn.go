package sqlstore

import "slices"

// take waits for the write turn.
func (w *writer) take(c *call) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	if !w.held || w.parked && len(w.queue) == 0 && w.open.takes(c, w.max) {
		w.held, w.parked = true, false
		w.mu.Unlock()
		return nil
	}
	w.queue = append(w.queue, c)
	w.mu.Unlock()

	select {
	case <-c.turn:
		if err := c.ctx.Err(); err != nil {
			w.pass(nil)
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
		w.pass(nil)
	}
	return c.ctx.Err()
}

// takes reports whether a call may join the batch.
func (b *batch) takes(c *call, most int) bool {
	return b.broken == nil && len(b.calls) < most && !b.alone && !c.alone
}

// join makes the call that has the turn part of the open batch, or opens one.
func (w *writer) join(c *call) error {
	if w.open == nil {
		b, err := w.begin(c)
		if err != nil {
			return err
		}
		w.open = b
	}
	c.batch = w.open
	c.batch.calls = append(c.batch.calls, c)
	return nil
}

// pass hands on the turn. It reports whether it has seen the end of the batch of me,
// the call that has the turn. If not, me waits for an order.
func (w *writer) pass(me *call) (ended bool) {
	for {
		b, f := w.open, w.committing
		w.mu.Lock()
		underway := f != nil && !f.landed
		switch {
		case len(w.queue) > 0 && (b == nil || b.takes(w.queue[0], w.max)):
			w.next()
			w.mu.Unlock()
			return ended
		case b == nil && (f == nil || underway):
			w.held = false
			w.mu.Unlock()
			return ended
		case b != nil && underway:
			w.parked = true
			w.mu.Unlock()
			return ended
		}
		w.mu.Unlock()
		if f != nil {
			ended = w.note(f, me) || ended
			continue
		}
		if last := b.last(); last != nil && last != me {
			last.turn <- conclude
			return ended
		}
		over, holds := w.commit(b, me)
		ended = over || ended
		if !holds {
			return ended
		}
	}
}

// next gives the turn to the first of the queue, or to none. w.mu is held.
func (w *writer) next() {
	if len(w.queue) == 0 {
		w.held = false
		return
	}
	next := w.queue[0]
	w.queue = slices.Delete(w.queue, 0, 1)
	next.turn <- begin
}
