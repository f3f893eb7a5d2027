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

// batch is what shares a transaction.
type batch struct {
	calls   []*call
	alone   bool
	defines bool    // changes tables, and so need not know what is there
	session Session // nil before the database is asked
	written *writeSet
	below   *writeSet // of the batch before, while that is being committed
	changes changes
	base    Commit // on top of which it runs
	commit  Commit
	wrote   bool // whether anything has reached the database

	broken error  // what the transaction will not survive
	doomed string // a table in which an insert cannot have been possible

	done      chan struct{} // closed when the commit has come back
	landed    bool          // whether it has; under the writer's mutex
	outcome   error         // nil, or why the batch must run again
	committed bool

	err error // what its calls are told
}

// takes reports whether a call may join the batch.
func (b *batch) takes(c *call, most int) bool {
	return b.broken == nil && len(b.calls) < most && !b.alone && !c.alone
}

// waits reports whether a call waits for the outcome.
func (b *batch) waits() bool {
	return slices.ContainsFunc(b.calls, func(c *call) bool { return !c.left })
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

// patience bounds the wait for other processes, and for a connection, where no
// caller's context does: every other update waits as well.
const patience = 10 * time.Second

// ErrStale is what a batch meets that ran on top of a commit which is not the newest.
var ErrStale = errors.New("others have committed meanwhile")

// errDoomed is what a batch meets in which a key was taken before it was free.
var errDoomed = errors.New("a key was taken before it was free")

// eagerFor is how many batches lock before they run once another process was met.
const eagerFor = 16

// begin opens a batch. ctx of its first call bounds the wait for others.
func (w *writer) begin(c *call) (*batch, error) {
	b := &batch{alone: c.alone, defines: c.defines, done: make(chan struct{})}
	b.changes.ignored = !w.store.Logs
	eager := c.alone || w.eager > 0
	if f := w.committing; f != nil && (eager || f.broken != nil || f.doomed != "") {
		select {
		case <-f.done:
		case <-c.ctx.Done():
			return nil, c.ctx.Err()
		}
	}
	w.look()
	f := w.committing
	if n := len(w.spare); n > 0 {
		b.written, w.spare = w.spare[n-1], w.spare[:n-1]
	} else {
		b.written = new(writeSet)
	}
	if eager || f == nil && (!w.cache.known || w.cache.at == Commit{}) {
		w.eager = max(w.eager-1, 0)
		return b, w.lock(c.ctx, b)
	}
	b.base = w.cache.at
	if f != nil {
		b.below, b.base = f.written, f.base
		if f.writes() {
			b.base = f.commit
		}
	}
	b.commit = following(b.base)
	return b, nil
}

// following names a commit after another one.
func following(c Commit) Commit { return Commit{c.Number + 1, rand.Int64()} }

// look takes in what has become of the batch that was being committed, if that is known.
func (w *writer) look() {
	f := w.committing
	if f == nil {
		return
	}
	select {
	case <-f.done:
		w.note(f)
	default:
	}
}

// writes reports whether there is anything to commit.
func (b *batch) writes() bool { return b.wrote || b.written.unwritten() }

// sessionOf returns the session of a batch, which it opens when a call asks the
// database for the first time.
func (w *writer) sessionOf(b *batch) (Session, error) {
	if b.session != nil {
		return b.session, nil
	}
	if b.broken != nil {
		return nil, b.broken
	}
	if err := w.connect(b); err != nil {
		b.broken = err
		return nil, err
	}
	return b.session, nil
}

// connect opens the session of a batch that runs already.
func (w *writer) connect(b *batch) error {
	if f := w.committing; f != nil {
		<-f.done
		if f.outcome != nil { // which is for pass to look at, when no function runs
			return ErrStale
		}
		w.note(f)
	}
	base := b.base
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.lock(ctx, b); err != nil {
		return err
	}
	if b.base != base {
		return ErrStale
	}
	return nil
}

// lock opens the session of a batch, and forgets what others have changed since this
// process last had the lock. ctx bounds the wait for a connection and for others.
func (w *writer) lock(ctx context.Context, b *batch) error {
	c := &w.cache
	had, knew := c.at, c.known
	session, log, err := w.store.driver.Lock(ctx, had)
	if err == nil && !b.defines {
		if err = w.store.upToDate(ctx, session, log.Schema); err != nil {
			session.Close()
		}
	}
	if errors.Is(err, storage.ErrNewer) {
		c.forget() // the next batch, too, has to ask first
		return Final{fmt.Errorf("%s: %w", w.store.Name, err)}
	}
	if err != nil {
		if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
			return ended
		}
		if isOutcome(err) {
			return err
		}
		if fault, _ := w.store.driver.Fault(err); fault == Transient || fault == Lost {
			return Dropped{fmt.Errorf("begin: %w", err)}
		}
		return fmt.Errorf("%s: begin: %w", w.store.Name, err)
	}
	c.follow(log)
	b.session, b.base, b.commit = session, c.at, following(c.at)
	if knew && had != c.at {
		w.eager = eagerFor
	}
	return nil
}

// note takes in what has become of the batch that was being committed. If that is
// nothing, it runs again.
func (w *writer) note(f *batch) {
	w.committing = nil
	b := w.open
	if b != nil {
		b.below = nil
	}
	if f.outcome == nil {
		w.remember(f)
		return
	}
	if b != nil && b.broken == nil {
		b.broken = ErrStale
	}
	w.finish(f, w.repeat(f, f.outcome))
}

// repeat runs a batch again, after what went wrong, until it is durable, or drops it,
// and returns the outcome. The turn stays until then.
func (w *writer) repeat(b *batch, err error) error {
	for round := 1; err != nil; round++ {
		w.cache.forget()
		if isOutcome(err) {
			return err
		}
		fault, table := w.fault(err)
		switch {
		case fault == Lost || round > 4:
			return Dropped{err}
		case fault == Refused && round > 3 && len(b.calls) == 1:
			return Final{fmt.Errorf("%s: %w", w.store.Name, err)}
		}
		if fault == Transient {
			w.eager = eagerFor
		}
		w.store.counters.reruns.Add(int64(len(b.calls)))
		if b.doomed != "" {
			table = b.doomed
		}
		b.prepare(round, fault, table)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err = w.lock(ctx, b)
		cancel()
		if err != nil && !isOutcome(err) {
			err = Dropped{err}
		}
		if err != nil {
			return err
		}
		for _, c := range b.calls {
			if c.left || b.broken != nil {
				continue
			}
			if c.ran == nil {
				c.ran = make(chan struct{}, 1)
			}
			c.turn <- again
			<-c.ran
		}
		err = w.settle(b)
	}
	w.remember(b)
	return nil
}

// isOutcome reports whether an error says what becomes of a batch.
func isOutcome(err error) bool {
	_, dropped := errors.AsType[Dropped](err)
	_, final := errors.AsType[Final](err)
	return dropped || final
}

// fault classifies why a batch comes to nothing.
func (w *writer) fault(err error) (Fault, string) {
	switch {
	case errors.Is(err, ErrStale):
		return Transient, ""
	case errors.Is(err, errDoomed):
		return Taken, ""
	}
	return w.store.driver.Fault(err)
}

// prepare empties a batch that must run again, and makes its calls find out what went
// wrong.
func (b *batch) prepare(round int, fault Fault, table string) {
	strict := round > 2 || table == "" && fault != Transient
	for _, c := range b.calls {
		c.strict = strict
		careful := map[string]bool{table: true}
		for name := range c.careful {
			careful[name] = true
		}
		c.careful = careful
	}
	b.written, b.below, b.session = new(writeSet), nil, nil
	b.changes = changes{ignored: b.changes.ignored}
	b.wrote, b.broken, b.doomed = false, nil, ""
}

// settle writes what the batch has, and commits. The transaction is over when it
// returns, whatever it returns.
func (w *writer) settle(b *batch) (err error) {
	defer w.release(b)
	defer func() {
		// A hook of the host's, say. Others wait for the outcome.
		if p := recover(); p != nil {
			err = Final{fmt.Errorf("%s: commit: panic: %v", w.store.Name, p)}
		}
	}()
	switch {
	case b.broken != nil:
		return b.broken
	case b.doomed != "":
		return errDoomed
	case !b.writes() && b.session == nil:
		return w.current(b)
	case !b.writes():
		return nil
	}
	err = w.store.writing(b.written, &b.changes, func(rows *Writes) error {
		if b.session == nil {
			return w.store.driver.CommitOnto(b.base, b.commit, rows)
		}
		return b.session.Commit(b.commit, rows)
	})
	if err != nil {
		return err
	}
	b.committed = true
	w.store.counters.commits.Add(1)
	w.store.counters.updates.Add(int64(len(b.calls)))
	return nil
}

// current reports whether a batch that has written nothing ran on what is committed.
func (w *writer) current(b *batch) error {
	newest, err := w.store.driver.Newest()
	if err != nil {
		return err
	}
	if newest != b.base {
		return ErrStale
	}
	return nil
}

// remember takes what a batch has committed into the cache.
func (w *writer) remember(b *batch) {
	if b.committed {
		b.written.written()
		w.cache.take(b.written)
		w.cache.known, w.cache.at = true, b.commit
	}
	if len(w.spare) < 2 { // one is committed while another is open
		b.written.clear()
		w.spare = append(w.spare, b.written)
	}
	b.written = nil
}

// finish tells the calls the outcome.
func (w *writer) finish(b *batch, err error) {
	b.err = err
	for _, c := range b.calls {
		if !c.left {
			c.turn <- over
		}
	}
}

// release ends the session of a batch.
func (w *writer) release(b *batch) {
	if b.session != nil {
		b.session.Close()
		b.session = nil
	}
}
