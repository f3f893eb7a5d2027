package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
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
	// silentAfter is how long a host must have sent nothing to count as silent. It is skipped until
	// skipSilentUntil, if there are others.
	silentAfter, skipSilentUntil = 500 * time.Millisecond, 3500 * time.Millisecond
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
	d := &dialer{unanswered: map[string]time.Time{}}
	d.KeepAliveConfig = net.KeepAliveConfig{Enable: true, Idle: 4 * time.Second, Interval: 2 * time.Second, Count: 3}
	d.Control = setUserTimeout
	c.DialFunc = d.DialContext
	if slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.Host != c.Host || f.Port != c.Port }) {
		c.DialFunc = d.dial
		if c.ValidateConnect == nil {
			c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
		}
	}
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

// dialer connects to one of several hosts. It skips a silent one, which accepts connections and does not
// answer.
type dialer struct {
	net.Dialer

	mu         sync.Mutex
	unanswered map[string]time.Time // by address, when the dialer connected to it
}

var errSilent = errors.New("the server accepted a connection a moment ago and did not answer")

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d.mu.Lock()
	silent := time.Since(d.unanswered[address])
	d.mu.Unlock()
	if silent >= silentAfter && silent < skipSilentUntil {
		return nil, errSilent
	}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &awaitedConn{Conn: conn, since: time.Now()}
	c.forget = sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.unanswered, address)
	})
	if silent >= skipSilentUntil {
		d.mu.Lock()
		d.unanswered[address] = c.since
		d.mu.Unlock()
	}
	return c, nil
}

// awaitedConn is a connection that makes its dialer forget the address when the server answers, or when it
// had too little time for that.
type awaitedConn struct {
	net.Conn
	since  time.Time
	forget func()
}

func (c *awaitedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 || err == io.EOF {
		c.forget()
	}
	return n, err
}

func (c *awaitedConn) Close() error {
	if time.Since(c.since) < silentAfter {
		c.forget()
	}
	return c.Conn.Close()
}
