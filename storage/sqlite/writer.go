package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// writer is the connection that writes, and the order in which callers use it.
//
// A commit costs a sync to disk, far more than what is committed, so the
// updates that wait share one. There is no goroutine that works for the others;
// there is a baton, and each caller runs its own function while it holds it:
//
//   - A caller takes the baton, or queues for it until its context ends.
//   - If no transaction is open it begins one, and with it a group. Then it runs
//     its function. What the function writes stands in memory, see layer, until the
//     group commits; only where it asks for what it has written itself other than by
//     id, or takes a unique key, it is written to the database at once, after a
//     savepoint if earlier members have written.
//   - A function that fails, panics or calls runtime.Goexit is undone by forgetting
//     its layer, or to its savepoint, and its group goes on without it. A panic then
//     continues in the goroutine where it began.
//   - If somebody is queueing and the group is not full, the holder hands the
//     baton on with the transaction open, and waits for the outcome. Else it
//     commits, tells all members, and hands on the baton with no transaction.
//
// So a group takes all who wait and never waits for more, and a caller alone
// pays for nothing but BEGIN, its own statements and COMMIT.
//
// Each member has seen what the members before it wrote, so nothing that it
// found, not even a refusal, is true before the commit: all wait for it. If the
// commit fails, or a statement fails in such a way that SQLite drops the whole
// transaction (a full disk, say), nothing of the group is kept. The member whose
// statement it was gets the error, if it was one's alone. Every other runs again, once,
// in a group of its own, where a further failure is its own and is returned.
//
// Two things were tried, and are worth less than they cost. Where a commit does not
// sync (synchronous=NORMAL), and the next group runs beside a sync of this package's
// own, 16 connections disburse a thirteenth more over HTTP; but other processes would
// read what a power cut takes back, and a sync that fails could not be undone. Where one
// goroutine runs the functions of all members, it is a twentieth more; but a panic or
// runtime.Goexit would be in a goroutine that is not the caller's.
type writer struct {
	db       *sql.DB
	log      *checkpointer
	counters *counters
	max      int // members of a group

	mu    sync.Mutex
	held  bool
	queue []*waiter

	// What follows belongs to whoever holds the baton.

	conn  *conn // nil after trouble, until the next begin
	group *group
	cache cache
	// The layers of the group and of the member, kept to spare allocations.
	pending, own layer
}

// waiter is a caller in the queue.
type waiter struct {
	turn  chan struct{} // receives the baton
	alone bool
}

// group is what shares a transaction.
type group struct {
	size  int  // members that have begun
	wrote int  // members whose changes are in it
	alone bool // takes no second member

	layer  *layer // what is yet to be written of that
	broken error  // why that could not be written

	done chan struct{} // closed at the end; nil until somebody needs to wait
	err  error         // why nothing was kept; set before done is closed
}

// update is Update for a store that is known to be open. alone asks for a group
// of its own.
func (s *Store) update(ctx context.Context, fn func(*tx) error, alone bool) error {
	lost, err := s.updateOnce(ctx, fn, alone, false)
	if lost {
		s.counters.reruns.Add(1)
		_, err = s.updateOnce(ctx, fn, true, true)
	}
	return err
}

// updateOnce reports whether the update was lost to trouble of its group that
// need not be its own, or to a key that this process does not know of, because a newer
// one has declared it. atOnce has the database asked about every record.
func (s *Store) updateOnce(ctx context.Context, fn func(*tx) error, alone, atOnce bool) (lost bool, err error) {
	w := &s.writer
	if err := w.take(ctx, alone); err != nil {
		return false, err
	}
	if err := w.join(ctx, alone); err != nil {
		w.pass()
		return false, err
	}
	g := w.group
	t := &tx{readTx: readTx{ctx: ctx, store: s, conn: w.conn}, group: g, cache: &w.cache, own: &w.own, atOnce: atOnce}
	own, err := w.run(t, fn)
	waiting := w.pass()
	if own {
		return isUnique(err) && !atOnce, err
	}
	if waiting {
		<-g.done
	}
	if g.err != nil {
		return g.size > 1 || isUnique(g.err) && !atOnce, fmt.Errorf("sqlite: commit: %w", g.err)
	}
	return false, err
}

// run runs fn and undoes what it wrote if it fails. own reports an error that
// does not depend on what fn read: it is final, whatever becomes of the group.
func (w *writer) run(t *tx, fn func(*tx) error) (own bool, err error) {
	returned := false
	defer func() {
		if !returned { // a panic or runtime.Goexit, which goes on from here
			t.ended = true
			w.undo(t)
			w.pass()
		}
	}()
	err = fn(t)
	returned = true
	t.ended = true

	if err == nil && t.failed == nil && t.ctx.Err() == nil {
		if t.release() == nil {
			return false, nil
		}
	}
	w.undo(t)
	if t.failed != nil {
		return t.group.broken == nil, t.failed
	}
	if ended := t.ctx.Err(); ended != nil {
		if errors.Is(err, ended) {
			return true, err
		}
		return true, ended
	}
	return false, err
}

// undo takes back what a member wrote, and ends the group where only a rollback
// of the whole transaction does that.
func (w *writer) undo(t *tx) {
	t.own.clear()
	trouble := t.group.broken
	dropped := trouble != nil || endsTransaction(t.failed)
	if !t.direct && !dropped {
		return
	}
	w.cache.forget()
	if trouble == nil {
		trouble = t.failed
	}
	if t.savepoint && !dropped {
		_, err := t.conn.run("ROLLBACK TO member", nil)
		if err == nil {
			_, err = t.conn.run("RELEASE member", nil)
		}
		if err == nil {
			return
		}
		trouble = err
	}
	w.reset()
	if t.group.wrote == 0 {
		trouble = nil // the others have lost nothing
	}
	w.finish(trouble)
}

// take waits for the baton.
func (w *writer) take(ctx context.Context, alone bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	if !w.held {
		w.held = true
		w.mu.Unlock()
		return nil
	}
	me := &waiter{turn: make(chan struct{}, 1), alone: alone}
	w.queue = append(w.queue, me)
	w.mu.Unlock()

	select {
	case <-me.turn:
		if err := ctx.Err(); err != nil {
			w.pass()
			return err
		}
		return nil
	case <-ctx.Done():
	}
	w.mu.Lock()
	i := slices.Index(w.queue, me)
	if i >= 0 {
		w.queue = slices.Delete(w.queue, i, i+1)
	}
	w.mu.Unlock()
	if i < 0 { // the baton is on its way
		<-me.turn
		w.pass()
	}
	return ctx.Err()
}

// join makes the holder of the baton a member of the open group, or begins one.
func (w *writer) join(ctx context.Context, alone bool) error {
	if w.group == nil {
		if err := w.begin(ctx); err != nil {
			return err
		}
		w.group = &group{alone: alone, layer: &w.pending}
	}
	w.group.size++
	return nil
}

// begin begins a transaction, waiting for other processes until ctx ends.
func (w *writer) begin(ctx context.Context) error {
	if w.conn == nil {
		c, err := connect(ctx, w.db, forWriting)
		if err != nil {
			return fmt.Errorf("sqlite: connect again: %w", err)
		}
		w.conn = c
		w.cache.forget()
	}
	for {
		_, err := w.conn.exec("BEGIN IMMEDIATE")
		if err == nil {
			return w.refresh()
		}
		if !isBusy(err) {
			w.reset()
			return fmt.Errorf("sqlite: begin: %w", err)
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// refresh forgets what another connection may have changed since this one last
// held the lock.
func (w *writer) refresh() error {
	var version int64
	if _, err := w.conn.one("PRAGMA data_version", nil, &version); err != nil {
		w.reset()
		return fmt.Errorf("sqlite: begin: %w", err)
	}
	if version != w.cache.version {
		w.cache.forget()
		w.cache.version = version
	}
	return nil
}

// pass hands on the baton. It reports whether it went to a further member of
// the group, whose outcome is then to be waited for; if not, the group is over.
func (w *writer) pass() (waiting bool) {
	for {
		g := w.group
		w.mu.Lock()
		switch {
		case len(w.queue) == 0 && g == nil:
			w.held = false
			w.mu.Unlock()
			return false
		case len(w.queue) > 0 && (g == nil || g.size < w.max && !g.alone && !w.queue[0].alone):
			next := w.queue[0]
			w.queue = slices.Delete(w.queue, 0, 1)
			w.mu.Unlock()
			if g != nil && g.done == nil {
				g.done = make(chan struct{})
			}
			next.turn <- struct{}{}
			return g != nil
		}
		w.mu.Unlock()
		w.commit()
	}
}

// commit makes the group durable, or drops it.
func (w *writer) commit() {
	wrote := w.group.wrote
	err := w.conn.flush(w.group.layer, &w.cache)
	if err == nil {
		_, err = w.conn.run("COMMIT", nil)
	}
	if err != nil {
		w.reset()
	}
	w.finish(err)
	if err == nil && wrote > 0 {
		w.counters.commits.Add(1)
		w.counters.updates.Add(int64(wrote))
		w.log.committed(w.conn)
	}
}

// finish tells the members the outcome.
func (w *writer) finish(err error) {
	g := w.group
	w.group = nil
	w.pending.clear()
	g.err = err
	if g.done != nil {
		close(g.done)
	}
}

// reset leaves no transaction open. A connection in doubt is given up.
func (w *writer) reset() {
	w.cache.forget()
	if w.conn.rollback() != nil {
		_ = w.conn.close() // what went wrong is already being reported
		w.conn = nil
	}
}
