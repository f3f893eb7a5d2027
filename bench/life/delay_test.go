package life

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/bench/internal/benchbase"
	"github.com/seed-7082ffec/payments/bench/internal/httpload"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// delayProxy leads to PostgreSQL as a network with a round trip of so long would. Data in both
// directions arrives in order, each piece half a round trip after it was sent. Any number of
// pieces may be under way.
type delayProxy struct {
	listener net.Listener
	target   string
	half     time.Duration
	all      sync.WaitGroup

	mu     sync.Mutex
	open   map[net.Conn]bool
	closed bool
}

// newDelayProxy returns the URL that leads to the server of another URL with that delay.
func newDelayProxy(b testing.TB, server string, roundTrip time.Duration) (through string) {
	b.Helper()
	u, err := url.Parse(server)
	if err != nil || u.Port() == "" {
		b.Skip("the URL of the server must name its host and port")
	}
	p := &delayProxy{
		listener: must.Get(net.Listen("tcp", "127.0.0.1:0"))(b), target: u.Host,
		half: roundTrip / 2, open: map[net.Conn]bool{},
	}
	p.all.Go(func() {
		for {
			client, err := p.listener.Accept()
			if err != nil {
				return
			}
			p.all.Go(func() { p.serve(client) })
		}
	})
	b.Cleanup(p.close)
	u.Host = p.listener.Addr().String()
	return u.String()
}

func (p *delayProxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for c := range p.open {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.all.Wait()
}

// note remembers an open connection, or closes it if the proxy has ended.
func (p *delayProxy) note(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[c] = true
	if p.closed {
		_ = c.Close()
	}
}

func (p *delayProxy) forget(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

func (p *delayProxy) serve(client net.Conn) {
	p.note(client)
	defer p.forget(client)
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	p.note(server)
	defer p.forget(server)
	var both sync.WaitGroup
	both.Go(func() { p.carry(client, server) })
	both.Go(func() { p.carry(server, client) })
	both.Wait()
}

// piece is data on its way.
type piece struct {
	data []byte
	due  time.Time
}

// carry sends what it reads from one side to the other, later. The end of the data ends both
// sides, once all has arrived.
func (p *delayProxy) carry(from, to net.Conn) {
	line := make(chan piece, 4096)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(line)
		for buffer := make([]byte, 64<<10); ; {
			n, err := from.Read(buffer)
			if n > 0 {
				line <- piece{append([]byte(nil), buffer[:n]...), time.Now().Add(p.half)}
			}
			if err != nil {
				return
			}
		}
	})
	for next := range line {
		if wait := time.Until(next.due); p.half > 0 && wait > 0 {
			time.Sleep(wait)
		}
		if _, err := to.Write(next.data); err != nil {
			break
		}
	}
	_ = to.Close()
	_ = from.Close()
	for range line { // the reader may wait for room
	}
	reader.Wait()
}

// Two requests under way at a time take one round trip, not two, and arrive in order.
func TestDelayProxyIsALine(t *testing.T) {
	echo := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer echo.Close()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	const roundTrip = 200 * time.Millisecond
	through := must.Get(url.Parse(newDelayProxy(t, "postgres://"+echo.Addr().String(), roundTrip)))(t)
	c := must.Get(net.Dial("tcp", through.Host))(t)
	defer c.Close()
	begun := time.Now()
	for i := range 10 {
		must.Get(c.Write([]byte{byte(i)}))(t)
		time.Sleep(time.Millisecond)
	}
	answer := make([]byte, 10)
	must.Get(io.ReadFull(c, answer))(t)
	if took := time.Since(begun); took < roundTrip || took > 5*roundTrip {
		t.Errorf("it took %v", took)
	}
	for i, got := range answer {
		must.True(t, got == byte(i), "got %v", answer)
	}
}

// BenchmarkDistance makes the transfers of BenchmarkTransfer with a round trip of 5 ms to
// PostgreSQL. of-near is the rate as a share of that without a delay, through the same kind of
// proxy. The two servers take turns, and the median of the turns counts.
func BenchmarkDistance(b *testing.B) {
	near, far := openServer(b, openPostgresAt(b, 0)), openServer(b, openPostgresAt(b, 5*time.Millisecond))
	for _, connections := range []int{64, 256} {
		b.Run(fmt.Sprintf("roundtrip=5ms/connections=%d", connections), func(b *testing.B) {
			turns := benchbase.Turns(b, 3)
			share := max(b.N/turns, connections)
			open := maxOpen(connections, 0)
			for _, s := range []*server{near, far} {
				s.live(b, s.load(connections, max(share/4, connections)), open)
			}
			var each, ofNear []float64
			for range turns {
				life := far.live(b, far.load(connections, share), open).each()
				each = append(each, life)
				ofNear = append(ofNear, near.live(b, near.load(connections, share), open).each()/life)
			}
			b.ReportMetric(httpload.Median(each), "ns/op")
			b.ReportMetric(httpload.Median(ofNear), "of-near")
		})
	}
}

// openPostgresAt returns a database with a round trip of so long.
func openPostgresAt(b testing.TB, roundTrip time.Duration) *database {
	b.Helper()
	config := must.Get(postgres.PoolConfig(newDelayProxy(b, postgresURL(b), roundTrip)))(b)
	config.MaxConns = poolSize
	pool := must.Get(pgxpool.NewWithConfig(b.Context(), config))(b)
	b.Cleanup(pool.Close)
	return openSchema(b, pool, pgtest.Schema(b))
}
