package postgres_test

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/seed-7082ffec/payments/internal/must"
)

// tcpProxy is an address that leads to one server and then to another. Existing connections stay
// with their server.
type tcpProxy struct {
	listener net.Listener
	all      sync.WaitGroup
	// change, unless it is nil, changes the clients' data in place.
	change func([]byte)

	mu     sync.Mutex
	target string
	open   map[net.Conn]bool
}

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
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server) // the end of one side ends both
		_ = client.Close()
	})
	for sent := make([]byte, 256<<10); ; {
		n, err := client.Read(sent)
		if s.change != nil {
			s.change(sent[:n])
		}
		if _, failed := server.Write(sent[:n]); err != nil || failed != nil {
			break
		}
	}
	_ = server.Close()
	back.Wait()
}
