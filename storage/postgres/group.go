package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/storage/internal/sqltext"
)

// group is what shares a transaction.
type group struct {
	members []*member
	alone   bool
	conn    *pgxpool.Conn // while its transaction is open
	session session
	layer   *layer
	below   *layer // what the group before it has written, while that is in flight
	changes changes
	base    commit // on top of which it runs
	commit
	wrote bool // whether anything has reached the database

	broken error  // what the transaction will not survive
	doomed string // a table in which an insert cannot have been possible

	writes    bool // in flight: whether there is anything to commit
	committed bool

	// While it is committed and others go on:

	done    chan struct{} // closed when it has landed
	landed  bool          // under the writer's mutex
	outcome error         // nil, or why it must run again

	err error // what its members are told
}

// commit names a commit.
type commit struct{ number, token int64 }

// groupLimit bounds a round trip of the writer, for which every other update
// waits: a connection that has died without a word must not stop the process.
const groupLimit = 10 * time.Second

// lockLimit bounds the waiting for other processes where the caller's context does not.
const lockLimit = time.Minute

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

// writeSettings are those of a transaction that holds the lock. transaction_timeout
// bounds it whatever the client does; where the server has none (before PostgreSQL 17),
// the watch of whoever waits for the lock does.
const writeSettings = settings + `,
	CASE WHEN current_setting('server_version_num')::integer >= 170000 THEN set_config('transaction_timeout', '120000', true) END`

const beginWrite = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

func lockWriter(schema string) string {
	return "LOCK TABLE " + sqltext.Quote(schema) + ".storage_writer IN EXCLUSIVE MODE"
}

// errStale is what a group meets that has run on top of what did not last.
var errStale = &pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "40001", Message: "others have committed meanwhile"}

// eagerFor is how many groups lock before they run once another process was met.
const eagerFor = 16

// open opens a group. ctx of its first member bounds the waiting for others.
func (w *writer) open(m *member) (*group, error) {
	g := &group{alone: m.alone, done: make(chan struct{})}
	eager := m.alone || w.eager > 0
	if f := w.flight; f != nil && (eager || w.hasLanded(f)) {
		select {
		case <-f.done:
		case <-m.ctx.Done():
			return nil, m.ctx.Err()
		}
		w.note(f, nil)
	}
	f := w.flight
	if eager || f == nil && w.cache.number < 1 {
		w.eager = max(w.eager-1, 0)
		return g, w.begin(m.ctx, g)
	}
	if n := len(w.spare); n > 0 {
		g.layer, w.spare = w.spare[n-1], w.spare[:n-1]
	} else {
		g.layer = new(layer)
	}
	g.base = commit{w.cache.number, w.cache.token}
	if f != nil {
		g.below, g.base = f.layer, f.base
		if f.writes {
			g.base = f.commit
		}
	}
	g.commit = commit{g.base.number + 1, rand.Int64()}
	g.session = session{limit: groupLimit, open: func() error { return w.connect(g) }}
	return g, nil
}

func (w *writer) hasLanded(f *group) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return f.landed
}

// connect begins the transaction of a group that runs already, because a member
// asks the database.
func (w *writer) connect(g *group) (err error) {
	defer func() {
		if err != nil && g.broken == nil {
			g.broken = err
		}
	}()
	if f := w.flight; f != nil {
		<-f.done
		if f.outcome != nil {
			return errStale
		}
		w.note(f, nil)
	}
	base := g.base
	ctx, cancel := context.WithTimeout(context.Background(), groupLimit)
	defer cancel()
	layer, changed := g.layer, g.changes
	before := g.session.before
	if err := w.begin(ctx, g); err != nil {
		return err
	}
	g.layer, g.changes, g.session.before = layer, changed, before
	if g.base != base {
		return errStale
	}
	return nil
}

// begin opens the transaction of a group. ctx bounds the waiting for a connection
// and for other processes.
func (w *writer) begin(ctx context.Context, g *group) error {
	conn, err := w.store.watch.acquire(ctx)
	if err != nil {
		return fmt.Errorf("postgres: begin: %w", err)
	}
	g.conn = conn
	raw := conn.Conn()
	g.session = session{db: raw, limit: groupLimit}
	g.layer, g.changes, g.wrote, g.broken, g.doomed = new(layer), changes{}, false, nil, ""
	// Outside of the session, whose limit is not for waiting.
	waiting := session{db: raw, limit: lockLimit, before: []string{beginWrite, writeSettings, lockWriter(w.store.config.Schema)}}
	if err := w.refresh(ctx, &waiting, g); err != nil {
		w.release(g)
		if ended := ctx.Err(); ended != nil {
			return ended
		}
		if isTransient(err) || isReadOnly(err) || isLost(err) && raw.IsClosed() {
			return errLost{fmt.Errorf("begin: %w", err)}
		}
		return fmt.Errorf("postgres: begin: %w", err)
	}
	return nil
}

// refresh forgets what others have changed since this process last held the lock.
func (w *writer) refresh(ctx context.Context, s *session, g *group) error {
	c := &w.cache
	had := commit{c.number, c.token}
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
	g.base, g.commit = commit{newest, token}, commit{newest + 1, rand.Int64()}
	if had.number >= 0 && had != g.base {
		w.eager = eagerFor
	}
	return nil
}

// commit has a group committed, while the baton is with the next. It reports whether
// the group of me has ended, and whether the caller has the baton again.
func (w *writer) commit(g *group, me *member) (ended, holds bool) {
	w.group = nil
	if g.broken != nil || g.doomed != "" || g.last() == nil {
		w.finish(g, w.complete(g, me))
		return me != nil && me.group == g, true
	}
	g.writes = g.wrote || g.layer.unwritten()
	w.flight = g
	w.mu.Lock()
	w.next()
	w.mu.Unlock()

	err := w.settle(g)

	w.mu.Lock()
	g.landed, g.outcome = true, err
	close(g.done)
	holds = !w.held || w.parked
	if holds {
		w.held, w.parked = true, false
	}
	w.mu.Unlock()
	if err != nil {
		return false, holds
	}
	w.finish(g, nil)
	return me != nil && me.group == g, holds
}

// note takes in what has become of the group that was in flight, and if that is
// nothing, has it run again. It reports whether the group of me has ended by that.
func (w *writer) note(f *group, me *member) (ended bool) {
	w.flight = nil
	g := w.group
	if g != nil {
		g.below = nil
	}
	if f.outcome == nil {
		w.remember(f)
		if len(w.spare) < 2 { // one flies while another is open
			f.layer.clear()
			w.spare = append(w.spare, f.layer)
		}
		f.layer = nil
		return false
	}
	if g != nil && g.broken == nil {
		g.broken = errStale
	}
	w.finish(f, w.repeat(f, f.outcome, me))
	return me != nil && me.group == f
}

// complete makes a group durable while the baton stays, and returns the outcome.
func (w *writer) complete(g *group, me *member) error {
	if g.last() == nil {
		w.release(g) // all have their answers, and nothing was written
		return nil
	}
	return w.repeat(g, w.settle(g), me)
}

// repeat runs a group again, after what went wrong, until it is durable, or drops
// it, and returns the outcome. me is the member that holds the baton, if it waits
// for that.
func (w *writer) repeat(g *group, err error, me *member) error {
	for round := 1; err != nil; round++ {
		w.cache.forget()
		if _, final := errors.AsType[errLost](err); final || errors.Is(err, ErrUnknown) {
			return err
		}
		if isLost(err) || round > 4 {
			return errLost{err}
		}
		if isTransient(err) {
			w.eager = eagerFor
		}
		w.store.counters.reruns.Add(int64(len(g.members)))
		w.prepare(g, err, round)
		g.below = nil
		ctx, cancel := context.WithTimeout(context.Background(), groupLimit)
		err = w.begin(ctx, g)
		cancel()
		if err != nil {
			return errLost{err}
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
		err = w.settle(g)
	}
	w.remember(g)
	return nil
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

var errDoomed = &pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "23505", Message: "a key was taken before it was free"}

// settle writes what the group has, and commits. The transaction is over when it
// returns, whatever it returns.
func (w *writer) settle(g *group) (err error) {
	defer w.release(g)
	defer func() {
		// A hook of the host's pool, say. Others wait for the outcome.
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: panic: %v", ErrUnknown, p)
		}
	}()
	if g.broken != nil {
		return g.broken
	}
	if g.doomed != "" {
		e := *errDoomed
		e.TableName = g.doomed
		return &e
	}
	writes := g.wrote || g.layer.unwritten()
	late := g.session.open != nil // nobody has asked the database anything
	if late && !writes {
		return w.current(g)
	}
	if late {
		ctx, cancel := context.WithTimeout(context.Background(), groupLimit)
		conn, err := w.store.watch.acquire(ctx)
		cancel()
		if err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		g.conn = conn
		// A lock that is not free is waited for by [writer.begin], when the group runs
		// again: after others' commits it would have to anyway.
		g.session = session{db: conn.Conn(), limit: groupLimit, before: []string{
			beginWrite, writeSettings, lockWriter(w.store.config.Schema) + " NOWAIT",
		}}
	}
	err = w.store.drafted(func(d *draft) error {
		return g.session.send(context.Background(), func(b *pgx.Batch) {
			if !writes {
				b.Queue("ROLLBACK")
				return
			}
			if late {
				b.Queue(w.store.expectCommit, g.base.token)
			}
			g.layer.queue(b, d, &w.store.sql, &g.changes)
			b.Queue(w.store.insertCommit, g.number, g.token, g.changes.bytes())
			if g.number%256 == 0 {
				b.Queue(w.store.deleteCommits, g.number)
			}
			b.Queue("COMMIT")
		})
	})
	switch {
	case err != nil && writes && isLost(err):
		w.release(g)
		if err := w.store.resolve(g.number, g.token, err); err != nil {
			return err
		}
	case err != nil || !writes:
		return err
	}
	g.committed = true
	w.store.counters.commits.Add(1)
	w.store.counters.updates.Add(int64(len(g.members)))
	return nil
}

// current reports whether what a group has run on, which has written nothing, is
// what is committed.
func (w *writer) current(g *group) error {
	ctx, cancel := context.WithTimeout(context.Background(), groupLimit)
	defer cancel()
	conn, err := w.store.watch.acquire(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer w.store.watch.giveBack(conn)
	asking := session{db: conn.Conn()}
	var newest commit
	if _, err := asking.one(ctx, []any{&newest.number, &newest.token, nil}, w.store.newestCommit); err != nil {
		return err
	}
	if newest != g.base {
		return errStale
	}
	return nil
}

// remember takes what a group has committed into the cache.
func (w *writer) remember(g *group) {
	if !g.committed {
		return
	}
	g.layer.written()
	w.cache.take(g.layer)
	w.cache.number, w.cache.token = g.number, g.token
}

// finish tells the members the outcome.
func (w *writer) finish(g *group, err error) {
	g.err = err
	for _, m := range g.members {
		if !m.left {
			m.turn <- over
		}
	}
}

// last returns the last member that waits for the outcome, or nil.
func (g *group) last() *member {
	for _, m := range slices.Backward(g.members) {
		if !m.left {
			return m
		}
	}
	return nil
}

// release gives the connection back. The pool closes one whose transaction is
// open.
func (w *writer) release(g *group) {
	if g.conn == nil {
		return
	}
	w.store.watch.giveBack(g.conn)
	g.conn = nil
}
