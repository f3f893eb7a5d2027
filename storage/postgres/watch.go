package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// watch looks after the connections that the store has in use. A connection that is
// in use for long may only be slow, or its server may be frozen, cut off, or no longer
// the one that takes writes. So the watch then makes a connection of its own and asks
// which server new connections lead to. If that is another one, the watch closes the
// connections to the old one, and their users learn of it at once.
//
// A commit that takes long on the right server is left alone.
type watch struct {
	store *Store
	stop  context.Context // ends with Close
	close context.CancelFunc

	mu      sync.Mutex
	uses    map[*pgxpool.Conn]*use
	server  string    // that new connections lead to, and that takes writes; "" at first
	emptied time.Time // when the pool was last emptied
	probing bool
	fresh   bool          // a connection has become slow that was not before
	wake    chan struct{} // tells the goroutine that looks of what has changed
}

// use is a connection that was acquired and not given back.
type use struct {
	server string
	since  time.Time
	timer  *time.Timer
	killed bool
}

const (
	// acquireLimit bounds the waiting for a connection of the pool.
	acquireLimit = 10 * time.Second
	// greetLimit bounds the first question to a connection.
	greetLimit = 2 * time.Second
	// slow is how long a connection is in use before the watch looks.
	slow = time.Second
	// probeLimit bounds one look, and probeTimeout its attempt to connect to one host.
	probeLimit, probeTimeout = 4 * time.Second, time.Second
	// probeSoon is the rest between looks that find no server, and probeRarely the
	// longest between looks that find all well.
	probeSoon, probeRarely = 250 * time.Millisecond, 30 * time.Second
	// emptyEvery is how often the pool is emptied at most, and troubledFor how long
	// after that closed connections are not waited for.
	emptyEvery, troubledFor = 250 * time.Millisecond, 15 * time.Second
)

// greeting asks a new connection for its server, and has the server find out within
// seconds that the client is gone: a client that dies in a half-sent transaction holds
// the lock under which all write.
const greeting = `SELECT pg_postmaster_start_time()::text, pg_is_in_recovery(),
	set_config('tcp_keepalives_idle', '4', false), set_config('tcp_keepalives_interval', '2', false),
	set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '10000', false)`

// greeted is what is known of a connection; it is kept with the connection and belongs
// to its user.
type greeted struct {
	asked  bool   // what follows is known
	server string // "" for a standby
	rested time.Time
	lost   bool // it failed, and not because its caller's context ended
}

// knownOf returns what is known of a connection.
func knownOf(conn *pgx.Conn) *greeted {
	const key = "payments/storage/postgres"
	data := conn.PgConn().CustomData()
	g, ok := data[key].(*greeted)
	if !ok {
		g = &greeted{}
		data[key] = g
	}
	return g
}

func newWatch(s *Store) *watch {
	w := &watch{store: s, uses: map[*pgxpool.Conn]*use{}, wake: make(chan struct{}, 1)}
	w.stop, w.close = context.WithCancel(context.Background())
	return w
}

// acquire returns a connection that worked a second ago or works now. The caller gives
// it back with giveBack.
func (w *watch) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	within, cancel := context.WithTimeout(context.WithValue(ctx, asksItself{}, true), acquireLimit)
	defer cancel()
	var failed error
	for range 3 {
		conn, err := w.store.pool.Acquire(within)
		if err != nil {
			failed = err
			break
		}
		if failed = w.fit(within, conn); failed == nil {
			w.begin(conn)
			return conn, nil
		}
		discard(conn)
		if ctx.Err() != nil {
			break
		}
		w.empty()
	}
	if ended := ctx.Err(); ended != nil {
		return nil, ended
	}
	return nil, fmt.Errorf("%w: postgres: no connection: %w", storage.ErrUnavailable, failed)
}

// fit asks a connection whether it works, if it has rested or is new.
func (w *watch) fit(ctx context.Context, conn *pgxpool.Conn) error {
	g := knownOf(conn.Conn())
	if !g.asked {
		ctx, cancel := context.WithTimeout(ctx, greetLimit)
		defer cancel()
		var err error
		if g.server, err = greet(ctx, conn.Conn()); err != nil {
			return err
		}
		g.asked = true
		w.leadsTo(g.server)
		return nil
	}
	if time.Since(g.rested) < pingAfter {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return conn.Ping(ctx)
}

// greet returns the server that a connection leads to, or "" for one that takes no
// writes.
func greet(ctx context.Context, conn *pgx.Conn) (string, error) {
	var server string
	var standby bool
	var none any
	// One round trip, in every mode and through every proxy.
	err := conn.QueryRow(ctx, greeting, pgx.QueryExecModeSimpleProtocol).Scan(&server, &standby, &none, &none, &none, &none)
	if err != nil || standby {
		return "", err
	}
	return server, nil
}

// begin notes that a connection is in use.
func (w *watch) begin(conn *pgxpool.Conn) {
	u := &use{server: knownOf(conn.Conn()).server, since: time.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.uses[conn] = u
	u.timer = time.AfterFunc(slow, w.suspect)
}

// giveBack ends a connection's transaction, if there is one, and gives it back. The
// pool closes one whose transaction is still open.
func (w *watch) giveBack(conn *pgxpool.Conn) {
	c := conn.Conn()
	if !c.IsClosed() && c.PgConn().TxStatus() != 'I' {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		if _, err := c.Exec(ctx, "ROLLBACK"); err != nil {
			knownOf(c).lost = true
		}
		cancel()
	}
	w.mu.Lock()
	u := w.uses[conn]
	delete(w.uses, conn)
	u.timer.Stop()
	if time.Since(u.since) >= slow {
		w.tell()
	}
	troubled := u.killed || time.Since(w.emptied) < troubledFor
	w.mu.Unlock()

	g := knownOf(c)
	g.rested = time.Now()
	if g.lost {
		w.empty() // connections that were made beside it are likely to be lost, too
	}
	if c.IsClosed() && (g.lost || troubled) {
		discard(conn)
		return
	}
	conn.Release()
}

// discard takes a connection out of the pool. The pool would wait up to 15 seconds for
// the server's good-bye before it made another connection in its place.
func discard(conn *pgxpool.Conn) {
	c := conn.Hijack()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	_ = c.Close(ctx) // there is nothing more to do for it
	cancel()
}

// empty closes the connections that rest, so that new ones are made, and has those in
// use closed when they are given back.
func (w *watch) empty() {
	w.mu.Lock()
	due := time.Since(w.emptied) >= emptyEvery
	if due {
		w.emptied = time.Now()
	}
	w.mu.Unlock()
	if due {
		w.store.pool.Reset()
	}
}

// leadsTo notes which server a new connection leads to; "" for a standby.
func (w *watch) leadsTo(server string) {
	if server == "" {
		return
	}
	w.mu.Lock()
	before := w.server
	w.server = server
	moved := before != "" && before != server
	if moved {
		for conn, u := range w.uses {
			if u.server != server && !u.killed {
				u.killed = true
				go conn.Conn().PgConn().Conn().Close()
			}
		}
	}
	w.mu.Unlock()
	if moved {
		w.empty()
	}
}

// suspect starts to look, because a connection is in use for long.
func (w *watch) suspect() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fresh = true
	w.tell()
	if w.probing || w.store.store.Enter() != nil {
		return
	}
	w.probing = true
	go w.look()
}

// tell wakes the goroutine that looks. w.mu is held.
func (w *watch) tell() {
	select {
	case w.wake <- struct{}{}:
	default: // it is already told
	}
}

// look probes until no connection is in use for long.
func (w *watch) look() {
	defer w.store.store.Leave()
	for rest := slow; ; {
		if err := w.probe(); err != nil {
			rest = probeSoon
		} else {
			rest = min(max(2*rest, slow), probeRarely)
		}
		if !w.rest(rest) {
			return
		}
	}
}

// rest waits before the next look, less long when another connection has become slow.
// It returns false when there is nothing left to look after.
func (w *watch) rest(until time.Duration) bool {
	timer := time.NewTimer(until)
	defer timer.Stop()
	for {
		w.mu.Lock()
		slowest := time.Duration(0)
		for _, u := range w.uses {
			slowest = max(slowest, time.Since(u.since))
		}
		if slowest < slow || w.stop.Err() != nil {
			w.probing = false
			w.mu.Unlock()
			return false
		}
		if w.fresh && until > slow {
			until = slow
			timer.Reset(slow)
		}
		w.fresh = false
		w.mu.Unlock()
		select {
		case <-timer.C:
			return true
		case <-w.wake:
		case <-w.stop.Done():
		}
	}
}

// probe asks, on a connection of its own, which server new connections lead to. It ends
// the sessions there that hold the lock and whose clients have gone silent.
func (w *watch) probe() error {
	ctx, cancel := context.WithTimeout(w.stop, probeLimit)
	defer cancel()
	config := w.store.pool.Config()
	config.ConnConfig.ConnectTimeout = probeTimeout
	if before := config.BeforeConnect; before != nil {
		if err := before(ctx, config.ConnConfig); err != nil {
			return err
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	server, err := greet(ctx, conn)
	if err != nil {
		return err
	}
	if server == "" {
		return errReadOnly
	}
	w.leadsTo(server)
	_, err = conn.Exec(ctx, endSilent, pgx.QueryExecModeSimpleProtocol, sqlstore.Quote(w.store.config.Schema)+".storage_writer")
	return err
}

// endSilent ends sessions that hold the lock while they wait for the rest of what their
// clients have begun to send. No setting of a server before PostgreSQL 17 bounds that:
// the session counts as active, and a statement's time is not counted between two.
// A transaction that is idle has a limit of its own.
const endSilent = `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
	WHERE l.locktype = 'relation' AND l.relation = $1::text::regclass AND l.granted AND l.mode = 'ExclusiveLock'
	AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
	AND a.state = 'active' AND a.wait_event = 'ClientRead' AND a.query_start < clock_timestamp() - interval '5 seconds'`
