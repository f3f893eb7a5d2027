package postgres_test

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// tcpProxy is an address that leads to one server and then to another. Existing connections stay
// with their server.
type tcpProxy struct {
	listener net.Listener
	all      sync.WaitGroup
	// lose, unless it is nil, says what is lost of the clients' data, which it may change in place. With a loss
	// the connection ends.
	lose func([]byte) loss

	mu     sync.Mutex
	target string
	open   map[net.Conn]bool
}

// loss is a part of an exchange with the server.
type loss int

const (
	nothing loss = iota
	message
	answer
)

func newTCPProxy(t *testing.T, target string) *tcpProxy {
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	s := &tcpProxy{listener: listener, target: target, open: map[net.Conn]bool{}}
	s.all.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			s.all.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		s.cut()
		s.all.Wait()
	})
	return s
}

func (s *tcpProxy) url() string {
	return "postgres://postgres@" + s.listener.Addr().String() + "/postgres?sslmode=disable"
}

// pool returns a pool on the proxy, for the user of the tests' server.
func (s *tcpProxy) pool(t *testing.T, maxConns int32) *pgxpool.Pool {
	t.Helper()
	config := must.Get(pgxpool.ParseConfig(s.url() + "&default_query_exec_mode=cache_describe"))(t)
	user := must.Get(pgx.ParseConfig(pgtest.URL(t)))(t)
	config.ConnConfig.User, config.ConnConfig.Password, config.ConnConfig.Database = user.User, user.Password, user.Database
	config.MaxConns = maxConns
	pool := must.Get(pgxpool.NewWithConfig(t.Context(), config))(t)
	t.Cleanup(pool.Close)
	return pool
}

// serverAddress returns the address of the tests' server.
func serverAddress(t *testing.T) string {
	c := must.Get(pgx.ParseConfig(pgtest.URL(t)))(t)
	return net.JoinHostPort(c.Host, fmt.Sprint(c.Port))
}

// lead sends new connections to a server.
func (s *tcpProxy) lead(target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.target = target
}

// cut ends all connections.
func (s *tcpProxy) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		_ = c.Close()
	}
}

func (s *tcpProxy) note(c net.Conn, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open {
		s.open[c] = true
	} else {
		delete(s.open, c)
	}
}

func (s *tcpProxy) serve(client net.Conn) {
	s.note(client, true)
	defer s.note(client, false)
	defer client.Close()
	s.mu.Lock()
	target := s.target
	s.mu.Unlock()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	s.note(server, true)
	defer s.note(server, false)
	defer server.Close()
	var mute atomic.Bool
	var back sync.WaitGroup
	back.Go(func() {
		for answers := make([]byte, 64<<10); ; { // the end of one side ends both
			n, err := server.Read(answers)
			if mute.Load() && n > 0 {
				_ = server.Close() // it has answered, and the client does not get the answer
				break
			}
			if _, failed := client.Write(answers[:n]); err != nil || failed != nil {
				break
			}
		}
		_ = client.Close()
	})
	for sent := make([]byte, 256<<10); ; {
		n, err := client.Read(sent)
		lost := nothing
		if s.lose != nil && n > 0 {
			lost = s.lose(sent[:n])
		}
		mute.Store(lost == answer || mute.Load())
		if lost == message {
			break
		}
		if _, failed := server.Write(sent[:n]); err != nil || failed != nil {
			break
		}
	}
	_ = server.Close()
	back.Wait()
}
