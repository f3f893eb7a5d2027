package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/storage"
)

// The limits of a pool's connections, where its URL gives none.
const (
	// connectTimeout bounds one attempt to connect to one host. A frozen server's
	// kernel accepts a connection that the server never answers.
	connectTimeout = 2 * time.Second
	// pingAfter is how long a connection is idle before it is pinged, and pingTimeout
	// bounds the ping.
	pingAfter   = time.Second
	pingTimeout = time.Second
	// ackTimeout is how long the kernel waits for the acknowledgement of sent data.
	ackTimeout = 10 * time.Second
	// silentAfter is how long a host must have sent nothing to count as silent.
	silentAfter = 500 * time.Millisecond
	// skipSilentFor is how long a silent host is skipped, if there are others.
	skipSilentFor = 3 * time.Second
)

// Connect opens a pool with the settings of [PoolConfig]. It makes no connection yet. The
// caller closes the pool after the store.
func Connect(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := PoolConfig(url)
	if err != nil {
		return nil, err
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// PoolConfig parses a URL, or a string of keywords and values, as [pgxpool.ParseConfig]
// does. It adds settings with which a store detects dead and frozen servers and finds
// their successors within seconds:
//
//   - connect_timeout is 2 seconds for each host, unless the URL gives another;
//   - keepalives end a connection to a host that is gone after about 10 seconds; on Linux,
//     so does unacknowledged data;
//   - the pool pings a connection that was idle for a second, and waits a second for the
//     answer;
//   - of several hosts, one that accepts connections but does not answer is skipped for
//     3 seconds;
//   - with several hosts the pool uses only a server that takes writes. A
//     target_session_attrs in the URL overrides that, unless its value is "any".
//
// Behind a proxy that pools by transaction, add default_query_exec_mode=cache_describe to
// the URL. The caller may change the result.
func PoolConfig(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	c := config.ConnConfig
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	hosts := map[string]bool{hostPort(c.Host, c.Port): true}
	for _, f := range c.Fallbacks {
		hosts[hostPort(f.Host, f.Port)] = true
	}
	if len(hosts) > 1 && c.ValidateConnect == nil {
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	d := &dialer{hasAlternatives: len(hosts) > 1, skipUntil: map[string]time.Time{}}
	d.net.KeepAliveConfig = net.KeepAliveConfig{Enable: true, Idle: 4 * time.Second, Interval: 2 * time.Second, Count: 3}
	d.net.Control = setUserTimeout
	c.DialFunc = d.dial
	if config.PingTimeout == 0 {
		config.PingTimeout = pingTimeout
	}
	config.ShouldPing = func(ctx context.Context, p pgxpool.ShouldPingParams) bool {
		return p.IdleDuration > pingAfter && ctx.Value(skipPing{}) == nil
	}
	return config, nil
}

// checkProxy refuses a pool that prepares statements for longer than a transaction and
// leads through a proxy: a proxy that pools by transaction gives each transaction another
// session. A proxy issues its own cancellation keys, with process ids that are not the
// server's.
func checkProxy(ctx context.Context, pool *pgxpool.Pool) error {
	mode := pool.Config().ConnConfig.DefaultQueryExecMode
	if mode == pgx.QueryExecModeCacheDescribe {
		return nil
	}
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return unavailable(fmt.Errorf("postgres: open: %w", err))
	}
	defer conn.Release()
	var pid uint32
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&pid); err != nil {
		return unavailable(fmt.Errorf("postgres: open: %w", err))
	}
	if pid != conn.Conn().PgConn().PID() {
		return fmt.Errorf("%w: postgres: the pool leads through a proxy, and its DefaultQueryExecMode is %s; use CacheDescribe (default_query_exec_mode=cache_describe in the URL)", storage.ErrInvalid, mode)
	}
	return nil
}

// skipPing marks the context of an acquire that checks the connection itself.
type skipPing struct{}

func hostPort(host string, port uint16) string { return net.JoinHostPort(host, fmt.Sprint(port)) }

// dialer connects to servers, and remembers silent hosts: they accept connections and do
// not answer.
type dialer struct {
	net             net.Dialer
	hasAlternatives bool // there are several hosts

	mu        sync.Mutex
	skipUntil map[string]time.Time // by address
}

var errSilent = errors.New("the server accepted a connection a moment ago and did not answer")

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if d.isSkipped(address) {
		return nil, errSilent
	}
	conn, err := d.net.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &trackedConn{Conn: conn, dialer: d, address: address, since: time.Now()}, nil
}

func (d *dialer) isSkipped(address string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	until, ok := d.skipUntil[address]
	return ok && time.Now().Before(until)
}

// recordAnswer notes whether an address has answered.
func (d *dialer) recordAnswer(address string, answered bool) {
	if !d.hasAlternatives {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if answered {
		delete(d.skipUntil, address)
	} else {
		d.skipUntil[address] = time.Now().Add(skipSilentFor)
	}
}

// trackedConn is a connection that reports to its dialer whether the server has answered.
type trackedConn struct {
	net.Conn
	dialer   *dialer
	address  string
	since    time.Time
	answered atomic.Bool
	closed   atomic.Bool
}

func (c *trackedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if (n > 0 || err == io.EOF) && !c.answered.Load() && !c.answered.Swap(true) {
		c.dialer.recordAnswer(c.address, true)
	}
	return n, err
}

func (c *trackedConn) Close() error {
	if !c.closed.Swap(true) && !c.answered.Load() && time.Since(c.since) >= silentAfter {
		c.dialer.recordAnswer(c.address, false)
	}
	return c.Conn.Close()
}
