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
// A writer of the database holds one lock until its commit. So transactions run one after
// another, over all processes, and the design needs no argument about isolation levels or
// row locks. It is fast because many updates share the lock: waiting updates form a
// batch, which is one transaction. Each update sees the writes of those before it.
//
// The calls pass a write turn around (see turn.go). The call that has the turn runs its
// function, in its own goroutine. Writes stay in memory (see writeset.go). Reads by id
// come from there or from the cache (see cache.go), so a function rarely waits for the
// database. The batch is committed when it is full or no call waits for the turn (see
// passTurn). It then takes few statements for each table.
//
// A batch is optimistic: until it queries the database it needs no transaction. It notes
// what its functions read from the cache. Its commit names the commit as of which the cache
// was right, and those reads. Over PostgreSQL it is one round trip, and the lock is held for
// the server's own work alone: the server compares the reads with what each later commit
// changed. If another process has changed any of them, or over SQLite if it has committed at
// all, the writer drops the batch's writes and runs its functions again, pessimistically: in
// a transaction that holds the lock from the beginning. So processes that read and write
// different records commit beside each other. A posting is no read, unless it was refused: the
// database adds to the balance, and refuses what would take a guarded account below zero.
//
// A batch that takes the lock first fetches, in the same round trip, the values that other
// processes change often and those for which calls wait (see fetch.go). A function that
// needs another value leaves the batch, so that no process waits for the round trip of its
// read (see defer.go).
//
// While a server commits a batch, the next one runs on top of its writes, and is
// committed after it. If the first fails, the next runs again. This gains nothing where
// this process does the work of the commit; see [Dialect] and docs/notes/performance.md.
//
// An insert of a taken key fails only at the commit. The functions of the batch then run
// again in the same order, and calls that insert into that table query it first, so that
// one of them gets [storage.ErrExists]. If that does not help, or the connection fails, each
// call tries again in a batch of its own. A call whose writes must reach the database before
// its end gets such a batch, too, because they cannot be undone without those of other calls.
type writer struct {
	store        *Store
	maxBatchSize int // in calls

	mu        sync.Mutex
	turnTaken bool // a call has the turn
	queue     []*call

	// The call that has the turn owns the rest.

	open        *batch // accepts further calls
	committing  *batch // its commit is running, or its outcome was not processed yet
	cache       cache
	callWrites  writeSet     // of the running call, reused
	spareSets   []*writeSet  // of ended batches, for reuse
	pessimistic int          // how many of the next batches take the lock before they run
	wanted      wantedValues // that the next lock fetches
}

// call is a call of Update.
type call struct {
	ctx        context.Context
	fn         func(*tx) error
	singleCall bool            // needs a batch of its own
	defines    []*storage.Kind // whose tables the function makes or changes
	batch      *batch

	signals   chan signal
	rerunDone chan struct{} // receives after each rerun

	// mayDefer says that the call leaves its batch if it needs a value that is not cached.
	// runsAgain says that its batch runs again, and so no single call can leave it.
	mayDefer  bool
	runsAgain bool
	deferred  bool   // the call has left its batch, and joins a later one
	deferrals int    // how often
	left      *batch // the batch that the call left last

	checkTables    map[string]bool
	checkAllTables bool
	finished       bool  // its result no longer depends on the batch
	err            error // the result of its function
}

// signal tells a waiting call how it goes on.
type signal int

const (
	turnGranted    signal = iota // the call has the turn
	rerunRequested               // the call runs its function once more; another call has the turn
	batchEnded                   // the batch has its outcome
)

// maxAttempts bounds how many dropped batches an update takes part in.
const maxAttempts = 6

// update is Update for a store that is open. A call that defines kinds gets a batch of
// its own.
func (w *writer) update(ctx context.Context, fn func(*tx) error, defines []*storage.Kind) error {
	alone := len(defines) > 0
	for n := 1; ; n++ {
		c := &call{ctx: ctx, fn: fn, singleCall: alone, defines: defines, signals: make(chan signal, 1)}
		err := w.runInBatch(c)
		dropped, ok := errors.AsType[Retryable](err)
		if !ok || n == maxAttempts || n > 2 && !w.isTransient(dropped.Cause) {
			return w.publicError(err)
		}
		w.store.counters.reruns.Add(1)
		alone = true
		if err := Pause(ctx, n); err != nil {
			return err
		}
	}
}

// publicError returns the error that the caller of Update gets.
func (w *writer) publicError(err error) error {
	switch err := err.(type) {
	case Retryable:
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
	class, _ := w.store.driver.Classify(err)
	return err != nil && class == Transient
}

// Pause waits a random time that grows with n, so that two writers that collided do not
// collide again.
func Pause(ctx context.Context, n int) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(rand.Int64N(int64(n) * int64(10*time.Millisecond)))):
		return nil
	}
}

// runInBatch joins a batch, runs the call, and waits for the outcome. passTurn commits the batch.
func (w *writer) runInBatch(c *call) error {
	for ran := false; !ran || c.deferred; ran = true {
		c.deferred = false
		if err := w.acquireTurn(c); err != nil {
			return err
		}
		if err := w.joinBatch(c); err != nil {
			w.passTurn()
			return err
		}
		w.runFirst(c)
	}
	for !c.finished && <-c.signals == rerunRequested {
		w.runAgain(c)
	}
	if c.finished || c.batch.err == nil {
		return c.err
	}
	return c.batch.err
}

// runFirst runs a call's function and passes the turn on, even if the function panics.
func (w *writer) runFirst(c *call) {
	defer w.passTurn()
	c.mayDefer = w.store.Remote && !c.singleCall && c.deferrals < maxDeferrals
	w.runCall(c)
}

// runAgain runs a call's function once more, when its batch runs again.
func (w *writer) runAgain(c *call) {
	defer func() { c.rerunDone <- struct{}{} }()
	c.mayDefer, c.runsAgain = false, true
	w.runCall(c)
}

// runCall runs a call's function, and marks the call as finished if its result does not
// depend on the batch's outcome.
func (w *writer) runCall(c *call) {
	t := w.newTx(c)
	returned := false
	defer func() {
		t.ended = true
		if returned {
			return
		}
		c.finished = true // the function panicked or called runtime.Goexit
	}()
	c.err = c.fn(t)
	if c.err != nil && t.skippedCheck && t.failed == nil && c.ctx.Err() == nil {
		// The function failed after a write that skipped its check. The failure may be
		// a consequence, so the function runs again and checks first.
		t.ended = true
		if c.batch.wroteToDatabase && t.alone {
			returned, c.batch.failure = true, errUnchecked
			return
		}
		t = w.newTx(c)
		t.checkAllTables = true
		c.err = c.fn(t)
	}
	returned = true
	if t.deferred && c.ctx.Err() == nil {
		w.leaveBatch(c)
		return
	}
	if c.err == nil && t.failed == nil && c.ctx.Err() == nil {
		if t.mergeIntoBatch() == nil {
			return
		}
	}
	switch ended := c.ctx.Err(); {
	case ended != nil:
		c.finished = true
		if !errors.Is(c.err, ended) {
			c.err = ended
		}
	case t.failed != nil && !t.retryable:
		c.finished, c.err = true, t.failed
	case t.failed == nil && t.alone:
		c.finished = true // it ran under the lock, and the batch has no other call to commit
	}
}

// newTx returns the transaction of a call within its batch.
func (w *writer) newTx(c *call) *tx {
	b := c.batch
	w.callWrites.clear()
	t := &tx{
		readTx: readTx{
			ctx: c.ctx, ioCtx: context.Background(), store: w.store,
			session: func() (Session, error) { return w.batchSession(b) },
		},
		batch: b, cache: &w.cache, own: &w.callWrites,
		alone: c.singleCall, checkTables: c.checkTables, checkAllTables: c.checkAllTables,
	}
	t.needOwnBatch = func() error {
		c.singleCall = true
		if len(b.calls) == 1 {
			b.singleCall, t.alone = true, true
			return nil
		}
		t.deferred, t.failed = true, errDeferred
		return t.failed
	}
	t.flushBuffered, t.onFailure = t.flushKind, t.transactionFailed
	if w.store.Remote {
		t.require = func(values wantedValues) error { return w.require(t, c, values) }
	}
	return t
}
