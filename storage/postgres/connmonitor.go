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

// connMonitor watches the connections that the store has in use. A connection that is in
// use for long may only be slow, or its server may be frozen, cut off or no longer the
// primary. So the monitor then connects by itself to learn to which server new
// connections lead. If that is another server, it closes the connections to the old one,
// and their users get an error at once.
//
// The monitor leaves a slow commit on the right server alone.
type connMonitor struct {
	store *Store
	stop  context.Context // ends with Close
	close context.CancelFunc

	mu        sync.Mutex
	inUse     map[*pgxpool.Conn]*connUse
	primary   string    // identity of the server that takes writes; "" until known
	lastReset time.Time // of the pool
	probing   bool
}

// connUse is an acquired connection.
type connUse struct {
	server string
	since  time.Time
	timer  *time.Timer
	killed bool
}

const (
	// acquireTimeout bounds the wait for a connection of the pool.
	acquireTimeout = 10 * time.Second
	// identifyTimeout bounds the first query on a connection.
	identifyTimeout = 2 * time.Second
	// slowAfter is how long a connection is in use before the monitor probes.
	slowAfter = time.Second
	// probeTotalTimeout bounds a probe, and probeConnectTimeout its connection to one host.
	probeTotalTimeout, probeConnectTimeout = 4 * time.Second, time.Second
	// probeRetryInterval is the pause after a failed probe, and probeInterval after a successful one.
	probeRetryInterval, probeInterval = 250 * time.Millisecond, 2 * time.Second
	// poolResetInterval is the shortest time between resets of the pool. For
	// poolResetGrace after a reset, the pool does not wait for closed connections.
	poolResetInterval, poolResetGrace = 250 * time.Millisecond, 15 * time.Second
)

// identifyServerSQL identifies the server of a new connection, and makes the server
// detect a dead client within seconds: a client that dies in a half-sent transaction
// holds the writers' lock.
const identifyServerSQL = `SELECT pg_postmaster_start_time()::text, pg_is_in_recovery(),
	set_config('tcp_keepalives_idle', '4', false), set_config('tcp_keepalives_interval', '2', false),
	set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '10000', false)`

// connState is what the monitor knows of a connection. It is stored with the connection
// and belongs to its user.
type connState struct {
	identified bool   // server is set
	server     string // "" for a standby
	idleSince  time.Time
	failed     bool // an error other than the end of the caller's context
}

// stateOf returns the state of a connection.
func stateOf(conn *pgx.Conn) *connState {
	const key = "payments/storage/postgres"
	data := conn.PgConn().CustomData()
	g, ok := data[key].(*connState)
	if !ok {
		g = &connState{}
		data[key] = g
	}
	return g
}

func newConnMonitor(s *Store) *connMonitor {
	w := &connMonitor{store: s, inUse: map[*pgxpool.Conn]*connUse{}}
	w.stop, w.close = context.WithCancel(context.Background())
	return w
}

// acquire returns a connection that worked a second ago or works now. The caller returns
// it with release.
func (w *connMonitor) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	within, cancel := context.WithTimeout(context.WithValue(ctx, skipPing{}, true), acquireTimeout)
	defer cancel()
	var failed error
	for range 3 {
		conn, err := w.store.pool.Acquire(within)
		if err != nil {
			failed = err
			break
		}
		if failed = w.check(within, conn); failed == nil {
			w.track(conn)
			return conn, nil
		}
		discard(conn)
		if ctx.Err() != nil {
			break
		}
		w.resetPool()
	}
	if ended := ctx.Err(); ended != nil {
		return nil, ended
	}
	return nil, fmt.Errorf("%w: postgres: no connection: %w", storage.ErrUnavailable, failed)
}

// check identifies the server of a new connection, and pings one that was idle.
func (w *connMonitor) check(ctx context.Context, conn *pgxpool.Conn) error {
	g := stateOf(conn.Conn())
	if !g.identified {
		ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
		defer cancel()
		var err error
		if g.server, err = identifyServer(ctx, conn.Conn()); err != nil {
			return err
		}
		g.identified = true
		w.setPrimary(g.server)
		return nil
	}
	if time.Since(g.idleSince) < pingAfter {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return conn.Ping(ctx)
}

// identifyServer returns the identity of a connection's server, or "" for one that takes
// no writes.
func identifyServer(ctx context.Context, conn *pgx.Conn) (string, error) {
	var server string
	var standby bool
	var none any
	// One round trip, in every mode and through every proxy.
	err := conn.QueryRow(ctx, identifyServerSQL, pgx.QueryExecModeSimpleProtocol).Scan(&server, &standby, &none, &none, &none, &none)
	if err != nil || standby {
		return "", err
	}
	return server, nil
}

// track notes that a connection is in use.
func (w *connMonitor) track(conn *pgxpool.Conn) {
	u := &connUse{server: stateOf(conn.Conn()).server, since: time.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inUse[conn] = u
	u.timer = time.AfterFunc(slowAfter, w.connIsSlow)
}

// release rolls back an open transaction of a connection and returns the connection to
// the pool, which closes it if the rollback failed.
func (w *connMonitor) release(conn *pgxpool.Conn) {
	c := conn.Conn()
	if !c.IsClosed() && c.PgConn().TxStatus() != 'I' {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		if _, err := c.Exec(ctx, "ROLLBACK"); err != nil {
			stateOf(c).failed = true
		}
		cancel()
	}
	w.mu.Lock()
	u := w.inUse[conn]
	delete(w.inUse, conn)
	u.timer.Stop()
	troubled := u.killed || time.Since(w.lastReset) < poolResetGrace
	w.mu.Unlock()

	g := stateOf(c)
	g.idleSince = time.Now()
	if g.failed {
		w.resetPool() // other connections to that server have probably failed, too
	}
	if c.IsClosed() && (g.failed || troubled) {
		discard(conn)
		return
	}
	conn.Release()
}

// discard closes a connection and removes it from the pool. The pool itself would wait up
// to 15 seconds for the server's answer before it made another connection.
func discard(conn *pgxpool.Conn) {
	c := conn.Hijack()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	_ = c.Close(ctx) // the connection is given up
	cancel()
}

// resetPool closes idle connections now, and those in use when they are released.
func (w *connMonitor) resetPool() {
	w.mu.Lock()
	due := time.Since(w.lastReset) >= poolResetInterval
	if due {
		w.lastReset = time.Now()
	}
	w.mu.Unlock()
	if due {
		w.store.pool.Reset()
	}
}

// setPrimary notes the server of a new connection; "" for a standby.
func (w *connMonitor) setPrimary(server string) {
	if server == "" {
		return
	}
	w.mu.Lock()
	before := w.primary
	w.primary = server
	moved := before != "" && before != server
	if moved {
		for conn, u := range w.inUse {
			if u.server != server && !u.killed {
				u.killed = true
				go conn.Conn().PgConn().Conn().Close()
			}
		}
	}
	w.mu.Unlock()
	if moved {
		w.resetPool()
	}
}

// connIsSlow starts the probing, because a connection is in use for long.
func (w *connMonitor) connIsSlow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.probing || w.store.store.Enter() != nil {
		return
	}
	w.probing = true
	go w.probeUntilQuiet()
}

// probeUntilQuiet probes until no connection is in use for long.
func (w *connMonitor) probeUntilQuiet() {
	defer w.store.store.Leave()
	for w.stillSlow() {
		pause := probeInterval
		if w.probe() != nil {
			pause = probeRetryInterval
		}
		select {
		case <-time.After(pause):
		case <-w.stop.Done():
		}
	}
}

// stillSlow reports whether the probing goes on.
func (w *connMonitor) stillSlow() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.probing = false
	for _, u := range w.inUse {
		w.probing = w.probing || time.Since(u.since) >= slowAfter && w.stop.Err() == nil
	}
	return w.probing
}

// probe identifies the server of new connections, on a connection of its own. It also
// terminates sessions there that hold the lock and whose clients have stalled.
func (w *connMonitor) probe() error {
	ctx, cancel := context.WithTimeout(w.stop, probeTotalTimeout)
	defer cancel()
	config := w.store.pool.Config()
	config.ConnConfig.ConnectTimeout = probeConnectTimeout
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
	server, err := identifyServer(ctx, conn)
	if err != nil {
		return err
	}
	if server == "" {
		return errReadOnly
	}
	w.setPrimary(server)
	_, err = conn.Exec(ctx, terminateStalledWritersSQL, pgx.QueryExecModeSimpleProtocol, sqlstore.Quote(w.store.config.Schema)+".storage_writer")
	return err
}

// terminateStalledWritersSQL terminates sessions that hold the lock while they wait for
// the rest of a message. Before PostgreSQL 17 no setting bounds that: the session counts
// as active, and no statement runs. An idle transaction has its own limit.
const terminateStalledWritersSQL = `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
	WHERE l.locktype = 'relation' AND l.relation = $1::text::regclass AND l.granted AND l.mode = 'ExclusiveLock'
	AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
	AND a.state = 'active' AND a.wait_event = 'ClientRead' AND a.query_start < clock_timestamp() - interval '5 seconds'`
