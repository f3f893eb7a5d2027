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
	// pingAfter is how long a connection rests before it is asked whether it still
	// works, and pingTimeout how long it has for the answer.
	pingAfter   = time.Second
	pingTimeout = time.Second
	// ackTimeout is how long the kernel waits until the other side has received what
	// was sent.
	ackTimeout = 10 * time.Second
	// patience is how long a host must have said nothing to count as silent.
	patience = 500 * time.Millisecond
	// silentFor is how long a host that accepted a connection and did not answer is
	// left out, where there are others.
	silentFor = 3 * time.Second
)

// Connect opens a pool with the settings of [PoolConfig]. It makes no connection yet.
// The caller closes the pool, after the store.
func Connect(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := PoolConfig(url)
	if err != nil {
		return nil, err
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// PoolConfig reads a URL, or a string of keywords and values, as
// [pgxpool.ParseConfig] does, and adds settings with which a store finds dead and
// frozen servers and their successors within seconds:
//
//   - connect_timeout is 2 seconds for each host, unless the URL gives another;
//   - keepalives end a connection whose other side is gone for about 10 seconds, and on
//     Linux so does what is sent and not received;
//   - a connection that has rested for a second is asked whether it works, and has a
//     second to answer;
//   - of several hosts, one that accepts connections but does not answer is left out for
//     3 seconds, and only a server that takes writes will do, unless the URL sets
//     another target_session_attrs than any.
//
// Behind a proxy that pools by transaction, add default_query_exec_mode=cache_describe
// to the URL. The caller may change what is returned.
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
	d := &dialer{several: len(hosts) > 1, silent: map[string]time.Time{}}
	d.net.KeepAliveConfig = net.KeepAliveConfig{Enable: true, Idle: 4 * time.Second, Interval: 2 * time.Second, Count: 3}
	d.net.Control = limitSending
	c.DialFunc = d.dial
	if config.PingTimeout == 0 {
		config.PingTimeout = pingTimeout
	}
	config.ShouldPing = func(ctx context.Context, p pgxpool.ShouldPingParams) bool {
		return p.IdleDuration > pingAfter && ctx.Value(asksItself{}) == nil
	}
	return config, nil
}

// checkProxy refuses a pool that leads through a proxy with statements prepared for
// longer than a transaction: a proxy that pools by transaction gives each one another
// session. A proxy hands out keys for cancelling of its own, with process ids that are
// not the server's.
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

// asksItself marks the context of a caller that asks a connection itself whether it works.
type asksItself struct{}

func hostPort(host string, port uint16) string { return net.JoinHostPort(host, fmt.Sprint(port)) }

// dialer connects to servers, and remembers those that accept and say nothing.
type dialer struct {
	net     net.Dialer
	several bool // hosts to choose from

	mu     sync.Mutex
	silent map[string]time.Time // until when an address is left out
}

var errSilent = errors.New("the server accepted a connection a moment ago and did not answer")

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if d.leftOut(address) {
		return nil, errSilent
	}
	conn, err := d.net.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &answering{Conn: conn, dialer: d, address: address, since: time.Now()}, nil
}

func (d *dialer) leftOut(address string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	until, ok := d.silent[address]
	return ok && time.Now().Before(until)
}

// note remembers whether an address has answered.
func (d *dialer) note(address string, answered bool) {
	if !d.several {
		return // there is no other to turn to
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if answered {
		delete(d.silent, address)
	} else {
		d.silent[address] = time.Now().Add(silentFor)
	}
}

// answering is a connection that reports whether the server has said anything.
type answering struct {
	net.Conn
	dialer   *dialer
	address  string
	since    time.Time
	answered atomic.Bool
	closed   atomic.Bool
}

func (c *answering) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if (n > 0 || err == io.EOF) && !c.answered.Load() && !c.answered.Swap(true) {
		c.dialer.note(c.address, true)
	}
	return n, err
}

func (c *answering) Close() error {
	if !c.closed.Swap(true) && !c.answered.Load() && time.Since(c.since) >= patience {
		c.dialer.note(c.address, false)
	}
	return c.Conn.Close()
}
