package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// batch is a group of calls that share a transaction.
type batch struct {
	calls           []*call
	singleCall      bool
	defines         []*storage.Kind // whose tables change, so the schema version is not checked
	session         Session         // nil until a call queries the database
	buffered        *writeSet
	previous        *writeSet // of the batch before, while its commit runs
	reads           hashSet   // what its functions have read without the lock
	changes         hashSet
	log             CommitLog // of the commit, without a session
	base            Commit    // the commit that the batch is based on
	commit          Commit
	inserts         int  // of records, so far
	wroteToDatabase bool // whether any write has reached the database

	failure     error // why the batch cannot be committed
	keyConflict bool  // whether a record took a key before another gave it up

	done       chan struct{} // closed when the commit has ended
	commitDone bool          // whether the commit has ended; guarded by writer.mu
	outcome    error         // nil, or why the batch must run again
	committed  bool

	err error // the result of its calls
}

// accepts reports whether a call may join the batch.
func (b *batch) accepts(c *call, most int) bool {
	return b.failure == nil && len(b.calls) < most && !b.singleCall && !c.singleCall && c.left != b
}

// hasWaitingCalls reports whether any call depends on the outcome.
func (b *batch) hasWaitingCalls() bool {
	return slices.ContainsFunc(b.calls, func(c *call) bool { return !c.finished })
}

// joinBatch adds the call that has the turn to the open batch, or opens one.
func (w *writer) joinBatch(c *call) error {
	if w.open == nil {
		b, err := w.openBatch(c)
		if err != nil {
			return err
		}
		w.open = b
	}
	c.batch = w.open
	c.batch.calls = append(c.batch.calls, c)
	return nil
}

// lockTimeout bounds the wait for the lock, and for a connection, where no caller's
// context does: all other updates wait meanwhile.
const lockTimeout = 10 * time.Second

// ErrStale says that the commit on which a batch is based is not the newest any more.
var ErrStale = errors.New("another process has committed meanwhile")

// errKeyConflict fails a batch in which one record took a key before another gave it up.
var errKeyConflict = errors.New("a key was taken before it was free")

// errUnchecked fails the batch of a call that failed after a write without a check, and after a flush.
var errUnchecked = errors.New("a function failed after a write that was not checked")

// pessimisticBatches is how many batches take the lock first after another process
// committed.
const pessimisticBatches = 16

// openBatch opens a batch. The context of its first call bounds the wait for other
// processes.
func (w *writer) openBatch(c *call) (*batch, error) {
	b := &batch{singleCall: c.singleCall, defines: c.defines, done: make(chan struct{})}
	b.changes.disabled, b.reads.disabled = !w.store.Remote, !w.store.Remote
	eager := c.singleCall || w.pessimistic > 0 || len(w.wanted) > 0
	if f := w.committing; f != nil && (eager || f.failure != nil || f.keyConflict || f.defines != nil) {
		select {
		case <-f.done:
		case <-c.ctx.Done():
			return nil, c.ctx.Err()
		}
	}
	w.pollCommit()
	f := w.committing
	if n := len(w.spareSets); n > 0 {
		b.buffered, w.spareSets = w.spareSets[n-1], w.spareSets[:n-1]
	} else {
		b.buffered = new(writeSet)
	}
	if eager || f == nil && (!w.cache.valid || w.cache.commit == Commit{}) {
		w.pessimistic = max(w.pessimistic-1, 0)
		return b, w.lockAndSync(c.ctx, b)
	}
	b.base = w.cache.commit
	if f != nil {
		b.previous = f.buffered
	}
	return b, nil
}

// nextCommit returns a name for the commit after c.
func nextCommit(c Commit) Commit { return Commit{c.Number + 1, rand.Int64()} }

// pollCommit processes the outcome of the running commit, if it has ended.
func (w *writer) pollCommit() {
	f := w.committing
	if f == nil {
		return
	}
	select {
	case <-f.done:
		w.commitReturned(f)
	default:
	}
}

// hasWrites reports whether there is anything to commit.
func (b *batch) hasWrites() bool { return b.wroteToDatabase || b.buffered.hasUnwritten() }

// batchSession returns the session of a batch. It opens the session for the first query.
func (w *writer) batchSession(b *batch) (Session, error) {
	if b.session != nil {
		return b.session, nil
	}
	if b.failure != nil {
		return nil, b.failure
	}
	if err := w.openSession(b); err != nil {
		b.failure = err
		return nil, err
	}
	return b.session, nil
}

// openSession opens the session of a batch whose functions already run.
func (w *writer) openSession(b *batch) error {
	if f := w.committing; f != nil {
		<-f.done
		if f.outcome != nil { // passTurn processes it when no function runs
			return ErrStale
		}
		w.commitReturned(f)
		if b.failure != nil {
			return b.failure
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	return w.lockAndSync(ctx, b)
}

// lockAndSync opens the session of a batch under the lock, evicts from the cache what
// other processes have changed, and caches the wanted and the contended values. All of
// that is one round trip. ctx bounds the wait for a connection and for the lock. If the functions of the
// batch have read what was changed since its base, lockAndSync returns ErrStale.
func (w *writer) lockAndSync(ctx context.Context, b *batch) (err error) {
	defer func() {
		// The panic may come from a hook of the host. Other calls wait for the turn.
		if p := recover(); p != nil {
			err = Final{fmt.Errorf("%s: begin: panic: %v", w.store.Name, p)}
		}
	}()
	c := &w.cache
	had, knew := c.commit, c.valid
	fetch := w.newFetch()
	session, log, err := w.store.driver.BeginWrite(ctx, had, fetch)
	w.wanted = nil
	if err != nil {
		c.contention = contention{} // a value that cannot be fetched must not fail every batch
	}
	if err == nil && b.defines == nil {
		if err = w.store.checkVersion(ctx, session, log.SchemaVersion); err != nil {
			session.Close()
		}
	}
	if errors.Is(err, storage.ErrNewer) {
		c.clear() // so the next batch takes the lock first, too
		return Final{fmt.Errorf("%s: %w", w.store.Name, err)}
	}
	if err != nil {
		if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
			return ended
		}
		if isFinalOutcome(err) {
			return err
		}
		if class, _ := w.store.driver.Classify(err); class == Transient || class == ConnectionLost {
			return Retryable{fmt.Errorf("begin: %w", err)}
		}
		return fmt.Errorf("%s: begin: %w", w.store.Name, err)
	}
	c.advance(log)
	c.storeFetched(fetch)
	base := b.base
	b.session, b.base, b.commit = session, c.commit, nextCommit(c.commit)
	if knew && had != c.commit && !w.store.Remote {
		w.pessimistic = pessimisticBatches
	}
	if base != (Commit{}) && base != b.base && b.reads.changedBy(log) {
		return ErrStale
	}
	return nil
}

// commitReturned processes the outcome of a commit. After a failure it runs the batch
// again.
func (w *writer) commitReturned(f *batch) {
	w.committing = nil
	b := w.open
	if b != nil {
		b.previous = nil
	}
	if f.outcome == nil {
		w.cacheCommitted(f)
		if b != nil && b.failure == nil && b.session == nil {
			if f.committed && b.reads.changedBy(f.log) {
				b.failure = ErrStale
			}
			b.base = w.cache.commit
		}
		return
	}
	if b != nil && b.failure == nil {
		b.failure = ErrStale
	}
	w.endCalls(f, w.rerunBatch(f, f.outcome))
}

// rerunBatch runs a batch again after an error, until it is committed or dropped, and
// returns the outcome. The turn is held meanwhile.
func (w *writer) rerunBatch(b *batch, err error) error {
	for round := 1; err != nil; round++ {
		if isFinalOutcome(err) {
			w.cache.clear()
			return err
		}
		class, table := w.classify(err)
		if class != Transient || round > 1 {
			// The cache may be wrong. After the first commit of another process it is right:
			// lockAndSync evicts what that commit changed.
			w.cache.clear()
		}
		w.wantWrites(b)
		switch {
		case class == ConnectionLost, round > 4, class == Rejected && !b.singleCall, class == UniqueViolation && round > 2 && !b.singleCall:
			return Retryable{err}
		case class == UniqueViolation && round > 2: // a key that this program does not know
			return Final{fmt.Errorf("%s: %w: %w", w.store.Name, storage.ErrExists, err)}
		case class == Rejected && round > 2:
			return Final{fmt.Errorf("%s: %w", w.store.Name, err)}
		}
		if class == Transient {
			w.pessimistic = pessimisticBatches
		}
		w.store.counters.reruns.Add(int64(len(b.calls)))
		b.resetForRerun(round, class, table)
		ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
		err = w.lockAndSync(ctx, b)
		cancel()
		if err != nil && !isFinalOutcome(err) {
			err = Retryable{err}
		}
		if err != nil {
			return err
		}
		for _, c := range b.calls {
			if c.finished || b.failure != nil {
				continue
			}
			if c.rerunDone == nil {
				c.rerunDone = make(chan struct{}, 1)
			}
			c.signals <- rerunRequested
			<-c.rerunDone
		}
		err = w.writeAndCommit(b)
	}
	w.cacheCommitted(b)
	return nil
}

// isFinalOutcome reports whether an error ends a batch: it is [Retryable] or [Final].
func isFinalOutcome(err error) bool {
	_, dropped := errors.AsType[Retryable](err)
	_, final := errors.AsType[Final](err)
	return dropped || final
}

// classify returns the class of the error that failed a batch, and the table of a taken
// key.
func (w *writer) classify(err error) (ErrorClass, string) {
	switch {
	case errors.Is(err, ErrStale):
		return Transient, ""
	case errors.Is(err, errKeyConflict):
		return UniqueViolation, ""
	case errors.Is(err, errUnchecked):
		return Rejected, ""
	}
	return w.store.driver.Classify(err)
}

// resetForRerun empties a batch, and sets the checks of its calls by the error of the
// last run.
func (b *batch) resetForRerun(round int, class ErrorClass, table string) {
	checkAll := round > 1 || table == "" && class != Transient
	for _, c := range b.calls {
		c.checkAllTables = checkAll
		careful := map[string]bool{table: true}
		for name := range c.checkTables {
			careful[name] = true
		}
		c.checkTables = careful
	}
	b.buffered, b.previous, b.session = new(writeSet), nil, nil
	b.changes, b.reads = hashSet{disabled: b.changes.disabled}, hashSet{disabled: b.reads.disabled}
	b.log, b.base = CommitLog{}, Commit{}
	b.wroteToDatabase, b.failure, b.keyConflict = false, nil, false
}

// writeAndCommit writes what the batch has buffered, and commits. It ends the
// transaction, also when it fails.
func (w *writer) writeAndCommit(b *batch) (err error) {
	defer w.closeSession(b)
	defer func() {
		if err == nil && b.defines != nil && b.hasWaitingCalls() {
			// Before any other call runs: by the old declarations it would write the new tables.
			w.store.Register(b.defines)
		}
	}()
	defer func() {
		// The panic may come from a hook of the host. Other calls wait for the outcome.
		if p := recover(); p != nil {
			err = Final{fmt.Errorf("%s: commit: panic: %v", w.store.Name, p)}
		}
	}()
	switch {
	case !b.hasWaitingCalls():
		return nil
	case b.failure != nil:
		return b.failure
	case b.keyConflict:
		return errKeyConflict
	case !b.hasWrites() && b.session == nil:
		return w.store.driver.Validate(b.base, b.reads.list())
	case !b.hasWrites():
		return nil
	}
	rows := w.store.newWrites(b.buffered, &b.changes)
	if b.session == nil {
		b.log, err = w.store.driver.CommitIfValid(b.base, rand.Int64(), b.reads.list(), rows)
		b.commit = b.log.Newest
	} else {
		err = b.session.Commit(b.commit, rows)
	}
	if err != nil {
		return err
	}
	b.committed = true
	w.store.counters.commits.Add(1)
	w.store.counters.updates.Add(int64(len(b.calls)))
	return nil
}

// cacheCommitted copies the writes of a committed batch into the cache. It evicts what others have changed
// between the batch's base and its commit: of an account to which both have posted, the cache would have a
// balance that never was.
func (w *writer) cacheCommitted(b *batch) {
	if b.committed {
		b.buffered.markWritten()
		if b.defines != nil { // cached records have the old columns
			w.cache.clear()
		}
		w.cache.merge(b.buffered)
		if b.log.Newest == b.commit { // else the lock was held since the base
			w.cache.advance(b.log)
		}
		w.cache.valid, w.cache.commit = true, b.commit
	}
	if len(w.spareSets) < 2 { // one batch commits while another is open
		b.buffered.clear()
		w.spareSets = append(w.spareSets, b.buffered)
	}
	b.buffered = nil
}

// endCalls gives the outcome to the calls that wait for it.
func (w *writer) endCalls(b *batch, err error) {
	b.err = err
	for _, c := range b.calls {
		if !c.finished {
			c.signals <- batchEnded
		}
	}
}

// closeSession ends the session of a batch.
func (w *writer) closeSession(b *batch) {
	if b.session != nil {
		b.session.Close()
		b.session = nil
	}
}
