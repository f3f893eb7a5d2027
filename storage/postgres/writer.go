package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/storage"
)

// writer runs the updates of this process, many in one transaction.
//
// Everything that writes holds one lock of the database, from before its first
// read until its commit. So transactions run one after another, over all
// processes, and no isolation level, retry or list of row locks has to be argued
// about. It is fast because the lock is taken for many: the updates that wait
// share a transaction, in which each has seen what those before it wrote.
//
// There is no goroutine that works for the others; there is a baton, as in
// storage/sqlite, and each caller runs its own function while it holds it. What
// the function writes stays in memory (see layer.go), and what it reads by id
// comes from there or from what the writer remembers (see cache.go), so a
// function rarely waits for the database. When nobody is queueing, or the group
// is full, the holder sends all that the group wrote, a statement for each table
// and not for each row, and the commit behind it, in one round trip.
//
// That an insert meets a taken key shows only then. Nothing of the group is kept,
// and its functions run again in the same order; those that insert into the table
// where it happened now look first, so that one of them gets [storage.ErrExists].
// The third time everybody's every write goes out at once. Trouble of the
// connection makes the callers try once more, each in a group of its own.
type writer struct {
	store *Store
	max   int // members of a group

	mu    sync.Mutex
	held  bool
	queue []*member

	// What follows belongs to whoever holds the baton.

	conn  *pgxpool.Conn // while a group is open
	group *group
	cache cache
}

// member is a caller of Update.
type member struct {
	ctx   context.Context
	fn    func(*tx) error
	alone bool // wants a group of its own

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
	begin order = iota // the baton is yours
	again              // run once more, and give the baton back
	over               // the group has ended
)

// group is what shares a transaction.
type group struct {
	members []*member
	alone   bool
	session session
	layer   *layer
	changes changes
	number  int64 // of its commit
	token   int64
	wrote   bool // whether anything has reached the database

	broken error  // what the transaction will not survive
	doomed string // a table in which an insert cannot have been possible

	err error // the outcome
}

// attempts is how often an update runs in groups that are lost.
const attempts = 6

// errLost marks the outcome of a group of which nothing was kept, through no
// fault of its members.
type errLost struct{ cause error }

func (e errLost) Error() string { return "postgres: " + e.cause.Error() }
func (e errLost) Unwrap() error { return e.cause }

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
	g := w.group
	w.run(m)
	if m.left {
		w.pass(nil)
		return m.err
	}
	if w.pass(m) {
		return w.outcome(g, m)
	}
	for {
		switch <-m.turn {
		case again:
			w.rerun(m)
			if m.left {
				return m.err
			}
		case over:
			return w.outcome(g, m)
		}
	}
}

func (w *writer) outcome(g *group, m *member) error {
	if m.left || g.err == nil {
		return m.err
	}
	return g.err
}

// rerun is run for a member that was told to, and gives the baton back.
func (w *writer) rerun(m *member) {
	defer func() { m.ran <- struct{}{} }()
	w.run(m)
}

// run runs a member's function. A member has left when its answer does not depend
// on what becomes of the group.
func (w *writer) run(m *member) {
	g := w.group
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
			w.close(g, nil)
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
	g := w.group
	return &tx{
		readTx: readTx{ctx: m.ctx, io: context.Background(), store: w.store, session: &g.session},
		db:     g.session.db, group: g, cache: &w.cache, own: newLayer(),
		careful: m.careful, strict: m.strict,
	}
}

// take waits for the baton.
func (w *writer) take(m *member) error {
	if err := m.ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	if !w.held {
		w.held = true
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

// join makes the holder of the baton a member of the open group, or begins one.
func (w *writer) join(m *member) error {
	if w.group == nil {
		g := &group{alone: m.alone}
		if err := w.begin(m.ctx, g); err != nil {
			return err
		}
		w.group = g
	}
	w.group.members = append(w.group.members, m)
	return nil
}

// pass hands on the baton. It reports whether the group of the member that holds
// it has ended; if not, its outcome is to be waited for.
func (w *writer) pass(me *member) (ended bool) {
	for {
		g := w.group
		w.mu.Lock()
		switch {
		case len(w.queue) == 0 && g == nil:
			w.held = false
			w.mu.Unlock()
			return ended
		case len(w.queue) > 0 && (g == nil || g.broken == nil && len(g.members) < w.max && !g.alone && !w.queue[0].alone):
			next := w.queue[0]
			w.queue = slices.Delete(w.queue, 0, 1)
			w.mu.Unlock()
			next.turn <- begin
			return ended
		}
		w.mu.Unlock()
		w.close(g, me)
		ended = true
	}
}

// groupLimit bounds a round trip of the writer, for which every other update
// waits: a connection that has died without a word must not stop the process.
const groupLimit = 30 * time.Second

// settings are those of every transaction of this package. The planner's keep the
// plans of prepared statements right whatever was known of a table when they were
// made: every statement here has an index that serves it. A client that died in a
// transaction must not keep the lock; and a commit is on disk, whatever the
// host's default is.
const settings = `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
	set_config('enable_mergejoin', 'off', true), set_config('enable_bitmapscan', 'off', true),
	set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
	set_config('idle_in_transaction_session_timeout', '60000', true),
	CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END`

func lockWriter(schema string) string {
	return "LOCK TABLE " + quote(schema) + ".storage_writer IN EXCLUSIVE MODE"
}

// begin opens the transaction of a group. ctx bounds the waiting for a connection
// and for other processes.
func (w *writer) begin(ctx context.Context, g *group) error {
	conn, err := w.store.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("postgres: begin: %w", err)
	}
	w.conn = conn
	raw := conn.Conn()
	g.session = session{db: raw, limit: groupLimit}
	g.layer, g.changes, g.wrote, g.broken, g.doomed = newLayer(), changes{}, false, nil, ""
	// Outside of the session, whose limit is not for waiting.
	waiting := session{db: raw, before: []string{
		"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", settings, lockWriter(w.store.config.Schema),
	}}
	if err := w.refresh(ctx, &waiting, g); err != nil {
		w.release()
		if ended := ctx.Err(); ended != nil {
			return ended
		}
		if isTransient(err) || isLost(err) && raw.IsClosed() {
			return errLost{fmt.Errorf("begin: %w", err)}
		}
		return fmt.Errorf("postgres: begin: %w", err)
	}
	return nil
}

// refresh forgets what others have changed since this process last held the lock.
func (w *writer) refresh(ctx context.Context, s *session, g *group) error {
	c := &w.cache
	newest, token, seen := int64(0), int64(0), false
	var changed [][]byte
	query, args := w.store.newestCommit, []any(nil)
	if c.number >= 0 {
		query, args = w.store.commitsSince, []any{c.number}
	}
	err := s.query(ctx, func(rows pgx.Rows) error {
		var number, of int64
		var hashes []byte
		if err := rows.Scan(&number, &of, &hashes); err != nil {
			return err
		}
		if number > newest {
			newest, token = number, of
		}
		if number == c.number {
			seen = of == c.token
		} else {
			changed = append(changed, hashes)
		}
		return nil
	}, query, args...)
	if err != nil {
		return err
	}
	if c.number < 0 || !seen && !(c.number == 0 && newest == 0) || slices.ContainsFunc(changed, func(b []byte) bool { return b == nil }) {
		c.forget()
	} else {
		for _, hashes := range changed {
			for ; len(hashes) >= 8; hashes = hashes[8:] {
				c.changed(hashOf(hashes))
			}
		}
	}
	c.number, c.token = newest, token
	g.number, g.token = newest+1, rand.Int64()
	return nil
}

// close ends the group: it makes it durable, or runs it again until it can, or
// drops it. me is the member that holds the baton, if it waits for the outcome.
func (w *writer) close(g *group, me *member) {
	for round := 1; ; round++ {
		err := w.settle(g)
		if err == nil {
			w.finish(g, nil)
			return
		}
		w.cache.forget()
		w.release()
		var unknown errUnknown
		switch {
		case errors.As(err, &unknown):
			err = w.store.resolve(g.number, g.token, unknown.cause)
			w.finish(g, err)
			return
		case isLost(err) || round > 4:
			w.finish(g, errLost{err})
			return
		}
		w.store.counters.reruns.Add(int64(len(g.members)))
		w.prepare(g, err, round)
		ctx, cancel := context.WithTimeout(context.Background(), groupLimit)
		err = w.begin(ctx, g)
		cancel()
		if err != nil {
			w.finish(g, errLost{err})
			return
		}
		for _, m := range g.members {
			if m.left || g.broken != nil {
				continue
			}
			if m.ran == nil {
				m.ran = make(chan struct{}, 1)
			}
			if m == me {
				m.closing = true
				w.run(m)
				m.closing = false
				continue
			}
			m.turn <- again
			<-m.ran
		}
	}
}

// prepare makes the members of a group that must run again find what went wrong.
func (w *writer) prepare(g *group, err error, round int) {
	table := g.doomed
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23505" {
		table = e.TableName
	}
	strict := round > 2 || table == "" && !isTransient(err)
	for _, m := range g.members {
		m.strict = strict
		careful := map[string]bool{table: true}
		for name := range m.careful {
			careful[name] = true
		}
		m.careful = careful
	}
}

// errUnknown is a commit whose answer was lost.
type errUnknown struct{ cause error }

func (e errUnknown) Error() string { return e.cause.Error() }

var errDoomed = &pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "23505", Message: "a key was taken before it was free"}

// settle writes what the group has, and commits.
func (w *writer) settle(g *group) error {
	if g.broken != nil {
		return g.broken
	}
	if g.doomed != "" {
		e := *errDoomed
		e.TableName = g.doomed
		return &e
	}
	writes := g.wrote || g.layer.unwritten()
	err := g.session.send(context.Background(), func(b *pgx.Batch) {
		if !writes {
			b.Queue("ROLLBACK")
			return
		}
		g.layer.queue(b, &w.store.sql, &g.changes)
		b.Queue(w.store.insertCommit, g.number, g.token, g.changes.bytes())
		if g.number%256 == 0 {
			b.Queue(w.store.deleteCommits, g.number)
		}
		b.Queue("COMMIT")
	})
	if err != nil {
		if writes && isLost(err) {
			return errUnknown{err}
		}
		return err
	}
	w.release()
	if !writes {
		return nil
	}
	g.layer.written()
	w.cache.take(g.layer)
	w.cache.number, w.cache.token = g.number, g.token
	w.store.counters.commits.Add(1)
	w.store.counters.updates.Add(int64(len(g.members)))
	return nil
}

// finish tells the members the outcome.
func (w *writer) finish(g *group, err error) {
	w.group = nil
	g.err = err
	for _, m := range g.members {
		if !m.left {
			m.turn <- over
		}
	}
}

// release gives the connection back. The pool closes one whose transaction is
// open.
func (w *writer) release() {
	if w.conn == nil {
		return
	}
	if !w.conn.Conn().IsClosed() && w.conn.Conn().PgConn().TxStatus() != 'I' {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_, err := w.conn.Exec(ctx, "ROLLBACK")
		cancel()
		if err != nil {
			_ = w.conn.Conn().Close(context.Background()) // it is being thrown away
		}
	}
	w.conn.Release()
	w.conn = nil
}

// errClosed says what ErrClosed means here.
func errClosed() error { return fmt.Errorf("postgres: %w", storage.ErrClosed) }
