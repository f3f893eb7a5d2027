package webhook

import (
	"context"
	"net"
)

// Claimed returns how many deliveries the limiters count as claimed.
func (s *Service) Claimed() (n int) {
	for _, sender := range []*sender{&s.live, &s.test} {
		sender.limiter.mu.Lock()
		n += sender.limiter.atHand
		sender.limiter.mu.Unlock()
	}
	return n
}

// DialTest sets how the deliveries of test mode connect.
func (s *Service) DialTest(dial func(context.Context, string, string) (net.Conn, error)) {
	s.test.transport.DialContext = dial
}
