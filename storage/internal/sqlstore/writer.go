package sqlstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// writer runs the updates of this process, many in one transaction.
//
// Whatever writes holds one lock of the database until its commit. So transactions
// run one after another, over all processes, and no isolation level, retry or list
// of row locks has to be argued about. It is fast because the lock is taken for many:
// the updates that wait share a transaction, a batch, in which each sees what those
// before it wrote.
//
// There is a write turn (see turn.go), and each call runs its own function, in its own
// goroutine, while it has the turn. What the function writes stays in
// memory (see writeset.go), and what it reads by id comes from there or from the cache
// (see cache.go), so a function rarely waits for the database. When no call waits for
// the turn, or the batch is full, the batch goes out, few statements for each table,
// with the commit behind them (see batch.go).
//
// A batch that has not asked the database anything needs no transaction before that.
// Its commit says on top of which commit it ran. If another process has committed
// since, nothing of the batch is kept, and its functions run again in a transaction
// that holds the lock from the first.
//
// While a server commits a batch the next one runs, on top of what the first has
// written, and goes out when the first is there. If the first comes to nothing, the
// next runs again after it. Measured with `-bench HTTP ./storage/postgres`, that is a
// fifth more at 16 connections and a tenth at 64. Where the commit is this process's
// own work, see [Dialect], it gains nothing and makes batches smaller.
//
// That an insert meets a taken key shows only at the end. Nothing of the batch is
// kept then, and its functions run again in the same order. Those that insert into
// the table where it happened look first, so that one of them gets
// [storage.ErrExists]. The third time every write goes out at once. Trouble of the
// connection makes the callers try once more, each in a batch of its own.
type writer struct {
	store *Store
	max   int // calls of a batch

	mu    sync.Mutex
	held  bool // whether a call has the turn
	queue []*call

	// The call that has the turn owns the rest.

	open       *batch // that further calls may join
	committing *batch // whose commit is under way, or has come back and was not looked at
	cache      cache
	own        writeSet    // of the call that runs, kept to spare allocations
	spare      []*writeSet // of batches that have ended, for the next ones
	eager      int         // so many batches, from now on, lock before they run
}

// call is a caller of Update.
type call struct {
	ctx   context.Context
	fn    func(*tx) error
	alone bool // wants a batch of its own
	// defines says that the function changes tables.
	defines bool
	batch   *batch

	turn chan order
	ran  chan struct{} // receives when a further run is through

	careful map[string]bool
	strict  bool
	left    bool  // it has its answer, and does not take part any more
	err     error // what its function answered
}

// order is what a waiting call is told.
type order int

const (
	begin order = iota // the turn is yours
	again              // run once more; the turn is another's
	over               // the batch has ended
)

// attempts is how often an update runs in batches that are dropped.
const attempts = 6

// update is Update for a store that is known to be open. One that defines has a batch
// of its own.
func (w *writer) update(ctx context.Context, fn func(*tx) error, defines bool) error {
	alone := defines
	for n := 1; ; n++ {
		c := &call{ctx: ctx, fn: fn, alone: alone, defines: defines, turn: make(chan order, 1)}
		err := w.once(c)
		dropped, ok := errors.AsType[Dropped](err)
		if !ok || n == attempts || n > 2 && !w.isTransient(dropped.Cause) {
			return w.named(err)
		}
		w.store.counters.reruns.Add(1)
		alone = true
		if err := Pause(ctx, n); err != nil {
			return err
		}
	}
}

// named puts the name of the store before an error that has none yet.
func (w *writer) named(err error) error {
	switch err := err.(type) {
	case Dropped:
		return &unavailable{w.store.Name, err.Cause}
	case Final:
		return err.Cause
	}
	return err
}

// unavailable is a [storage.ErrUnavailable].
type unavailable struct {
	name string
	err  error
}

func (e *unavailable) Error() string        { return e.name + ": " + e.err.Error() }
func (e *unavailable) Unwrap() error        { return e.err }
func (e *unavailable) Is(target error) bool { return target == storage.ErrUnavailable }

func (w *writer) isTransient(err error) bool {
	fault, _ := w.store.driver.Fault(err)
	return err != nil && fault == Transient
}

// Pause waits a little, and longer each time, so that two that met do not meet again.
func Pause(ctx context.Context, n int) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(rand.Int64N(int64(n) * int64(10*time.Millisecond)))):
		return nil
	}
}

// once takes part in one batch.
func (w *writer) once(c *call) error {
	if err := w.take(c); err != nil {
		return err
	}
	if err := w.join(c); err != nil {
		w.pass()
		return err
	}
	w.first(c)
	for !c.left && <-c.turn == again {
		w.rerun(c)
	}
	if c.left || c.batch.err == nil {
		return c.err
	}
	return c.batch.err
}

// first runs a call's function, and passes the turn on, whatever becomes of it.
func (w *writer) first(c *call) {
	defer w.pass()
	w.run(c)
}

// rerun runs it once more, for the batch that is repeated.
func (w *writer) rerun(c *call) {
	defer func() { c.ran <- struct{}{} }()
	w.run(c)
}

// run runs a call's function. A call has left when its answer does not depend on
// what becomes of the batch.
func (w *writer) run(c *call) {
	t := w.tx(c)
	returned := false
	defer func() {
		t.ended = true
		if returned {
			return
		}
		// A panic or runtime.Goexit, which goes on from here.
		c.left = true
		t.undo()
	}()
	c.err = c.fn(t)
	if c.err != nil && t.assumed && t.failed == nil && c.ctx.Err() == nil {
		// It gave up, perhaps because of an insert that was only assumed to be
		// possible and will not be sent. It runs again, and looks first.
		t.ended = true
		t.undo()
		t = w.tx(c)
		t.lookFirst = true
		c.err = c.fn(t)
	}
	returned = true
	if c.err == nil && t.failed == nil && c.ctx.Err() == nil {
		if t.join() == nil {
			return
		}
	}
	t.undo()
	switch ended := c.ctx.Err(); {
	case ended != nil:
		c.left = true
		if !errors.Is(c.err, ended) {
			c.err = ended
		}
	case t.failed != nil && !t.blameless:
		c.left, c.err = true, t.failed
	}
}

// tx returns a call's part of the batch's transaction.
func (w *writer) tx(c *call) *tx {
	b := c.batch
	w.own.clear()
	t := &tx{
		readTx: readTx{
			ctx: c.ctx, io: context.Background(), store: w.store,
			session: func() (Session, error) { return w.sessionOf(b) },
		},
		batch: b, cache: &w.cache, own: &w.own,
		careful: c.careful, strict: c.strict,
	}
	t.flush, t.broke = t.flushFor, t.trouble
	return t
}
