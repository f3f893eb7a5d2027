package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// writer runs the updates of this process, many in one transaction.
//
// Everything that writes holds one lock of the database until its commit. So
// transactions run one after another, over all processes, and no isolation level,
// retry or list of row locks has to be argued about. It is fast because the lock is
// taken for many: the updates that wait share a transaction, in which each has seen
// what those before it wrote.
//
// There is no goroutine that works for the others; there is a baton (see baton.go),
// as in storage/sqlite, and each caller runs its own function while it holds it. What
// the function writes stays in memory (see layer.go), and what it reads by id
// comes from there or from what the writer remembers (see cache.go), so a
// function rarely waits for the database. When nobody is queueing, or the group
// is full, all that the group wrote goes out, a statement for each table and not for
// each row, with the commit behind it (see group.go).
//
// A group that has asked the database nothing needs no transaction before that: lock,
// writes and commit are one round trip, which begins with the question whether
// anybody else has committed since this process last looked. If so, nothing of the
// group is kept and its functions run again, in a transaction that holds the lock
// from the first.
//
// While a group is being committed the next one runs, on top of what the first has
// written, and goes out when the first is there: the server writes while the
// functions run. If the first comes to nothing, the next runs again after it. That
// is a twentieth more disbursements over HTTP with 64 connections, a tenth with 128.
// What is left of the waiting, a quarter of two processors with 64 connections, more
// connections share; a seventh of a group's time is the disk's. Two things do not
// shorten it: with two groups in flight, the inserts of the second going ahead of the
// lock on another connection, groups are a third smaller and cost as much more as is
// gained; and a group that takes nobody who comes after the one before it has landed
// is sent sooner, and is smaller.
//
// What shortens it is to allocate less, because the collector takes a quarter of this
// process's time: layers that are used again and have no maps while they are small are a
// twentieth more disbursements, arrays that are encoded into kept room (see array.go) a
// tenth.
//
// That an insert meets a taken key shows only at the end. Nothing of the group is
// kept, and its functions run again in the same order; those that insert into the
// table where it happened now look first, so that one of them gets
// [storage.ErrExists]. The third time everybody's every write goes out at once.
// Trouble of the connection makes the callers try once more, each in a group of its
// own.
type writer struct {
	store *Store
	max   int // members of a group

	mu    sync.Mutex
	held  bool
	queue []*member
	// parked says that the baton lies, though it is held: the open group is ready,
	// and whoever comes may join it, until the one before it is committed.
	parked bool

	// What follows belongs to whoever holds the baton.

	group  *group // that is open
	flight *group // that is being committed, or has been and was not looked at
	cache  cache
	own    layer    // of the member that runs, kept to spare allocations
	spare  []*layer // of groups that have ended, for the next ones
	eager  int      // so many groups, from now on, lock before they run
}

// member is a caller of Update.
type member struct {
	ctx   context.Context
	fn    func(*tx) error
	alone bool // wants a group of its own
	group *group

	turn chan order
	ran  chan struct{} // receives when a further run is through

	careful map[string]bool
	strict  bool
	left    bool  // it has its answer, and does not take part any more
	closing bool  // runs again while it closes its group
	err     error // what its function answered
}

// order is what a waiting member is told.
type order int

const (
	begin    order = iota // the baton is yours
	again                 // run once more, and give the baton back
	conclude              // the baton is yours; your group can be committed
	over                  // the group has ended
)

// attempts is how often an update runs in groups that are lost.
const attempts = 6

// errLost marks the outcome of a group of which nothing was kept, through no
// fault of its members.
type errLost struct{ cause error }

func (e errLost) Error() string { return "postgres: " + e.cause.Error() }
func (e errLost) Unwrap() error { return e.cause }

func (e errLost) Is(target error) bool { return target == storage.ErrUnavailable }

// update is Update for a store that is known to be open. alone asks for a group
// of its own.
func (w *writer) update(ctx context.Context, fn func(*tx) error, alone bool) error {
	for n := 1; ; n++ {
		m := &member{ctx: ctx, fn: fn, alone: alone, turn: make(chan order, 1)}
		err := w.once(m)
		lost, ok := errors.AsType[errLost](err)
		if !ok || n == attempts || n > 2 && !isTransient(lost.cause) {
			return err
		}
		w.store.counters.reruns.Add(1)
		alone = true
		if err := pause(ctx, n); err != nil {
			return err
		}
	}
}

// pause waits a little, and longer each time, so that those who met each other
// do not meet again.
func pause(ctx context.Context, n int) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(rand.Int64N(int64(n) * int64(10*time.Millisecond)))):
		return nil
	}
}

// once takes part in one group.
func (w *writer) once(m *member) error {
	if err := w.take(m); err != nil {
		return err
	}
	if err := w.join(m); err != nil {
		w.pass(nil)
		return err
	}
	w.run(m)
	if m.left {
		w.pass(nil)
		return m.err
	}
	if w.pass(m) {
		return m.outcome()
	}
	for {
		switch <-m.turn {
		case again:
			w.rerun(m)
			if m.left {
				return m.err
			}
		case conclude:
			if w.pass(m) {
				return m.outcome()
			}
		case over:
			return m.outcome()
		}
	}
}

func (m *member) outcome() error {
	if m.left || m.group.err == nil {
		return m.err
	}
	return m.group.err
}

// rerun is run for a member that was told to, and gives the baton back.
func (w *writer) rerun(m *member) {
	defer func() { m.ran <- struct{}{} }()
	w.run(m)
}

// run runs a member's function. A member has left when its answer does not depend
// on what becomes of the group.
func (w *writer) run(m *member) {
	t := w.tx(m)
	returned := false
	defer func() {
		t.ended = true
		if returned {
			return
		}
		// A panic or runtime.Goexit, which goes on from here.
		m.left = true
		t.undo()
		switch {
		case m.closing: // the last of its group, whose end is still to come
			w.finish(m.group, w.complete(m.group, nil))
			w.pass(nil)
		case m.ran == nil:
			w.pass(nil)
		}
	}()
	m.err = m.fn(t)
	if m.err != nil && t.assumed && t.failed == nil && m.ctx.Err() == nil {
		// It has given up for a reason that may rest on an insert which was only
		// thought to be possible, and which will not be sent. It runs again, and
		// looks first.
		t.ended = true
		t.undo()
		t = w.tx(m)
		t.lookFirst = true
		m.err = m.fn(t)
	}
	returned = true
	if ended := m.ctx.Err(); ended != nil {
		m.left = true
		if !errors.Is(m.err, ended) {
			m.err = ended
		}
		t.undo()
		return
	}
	if t.failed != nil {
		t.undo()
		if !t.blameless {
			m.left, m.err = true, t.failed
		}
		return
	}
	if m.err != nil {
		t.undo()
		return
	}
	t.join()
}

// tx returns a member's part of the group's transaction.
func (w *writer) tx(m *member) *tx {
	g := m.group
	w.own.clear()
	return &tx{
		readTx: readTx{ctx: m.ctx, io: context.Background(), store: w.store, session: &g.session},
		group:  g, cache: &w.cache, own: &w.own,
		careful: m.careful, strict: m.strict,
	}
}

// errClosed says what ErrClosed means here.
func errClosed() error { return fmt.Errorf("postgres: %w", storage.ErrClosed) }
