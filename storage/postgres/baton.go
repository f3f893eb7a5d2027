package postgres

import "slices"

// take waits for the baton.
func (w *writer) take(m *member) error {
	if err := m.ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	if !w.held || w.parked && len(w.queue) == 0 && w.group.takes(m, w.max) {
		w.held, w.parked = true, false
		w.mu.Unlock()
		return nil
	}
	w.queue = append(w.queue, m)
	w.mu.Unlock()

	select {
	case <-m.turn:
		if err := m.ctx.Err(); err != nil {
			w.pass(nil)
			return err
		}
		return nil
	case <-m.ctx.Done():
	}
	w.mu.Lock()
	i := slices.Index(w.queue, m)
	if i >= 0 {
		w.queue = slices.Delete(w.queue, i, i+1)
	}
	w.mu.Unlock()
	if i < 0 { // the baton is on its way
		<-m.turn
		w.pass(nil)
	}
	return m.ctx.Err()
}

// takes reports whether a member may join the group.
func (g *group) takes(m *member, most int) bool {
	return g.broken == nil && len(g.members) < most && !g.alone && !m.alone
}

// join makes the holder of the baton a member of the open group, or opens one.
func (w *writer) join(m *member) error {
	if w.group == nil {
		g, err := w.open(m)
		if err != nil {
			return err
		}
		w.group = g
	}
	m.group = w.group
	m.group.members = append(m.group.members, m)
	return nil
}

// pass hands on the baton. It reports whether it has seen the end of the group of me,
// who holds it; if not, the outcome is to be waited for.
func (w *writer) pass(me *member) (ended bool) {
	for {
		g, f := w.group, w.flight
		w.mu.Lock()
		flying := f != nil && !f.landed
		switch {
		case len(w.queue) > 0 && (g == nil || g.takes(w.queue[0], w.max)):
			w.next()
			w.mu.Unlock()
			return ended
		case g == nil && (f == nil || flying):
			w.held = false
			w.mu.Unlock()
			return ended
		case g != nil && flying:
			w.parked = true
			w.mu.Unlock()
			return ended
		}
		w.mu.Unlock()
		if f != nil {
			ended = w.note(f, me) || ended
			continue
		}
		if last := g.last(); last != nil && last != me {
			last.turn <- conclude
			return ended
		}
		over, holds := w.commit(g, me)
		ended = over || ended
		if !holds {
			return ended
		}
	}
}

// next gives the baton to the first of the queue, or lays it down. w.mu is held.
func (w *writer) next() {
	if len(w.queue) == 0 {
		w.held = false
		return
	}
	next := w.queue[0]
	w.queue = slices.Delete(w.queue, 0, 1)
	next.turn <- begin
}
