package webhook

import (
	"context"
	"net"
)

// InHand is how many deliveries have a place in the limiter, or are expected there.
func (s *Service) InHand() (n int) {
	for _, sender := range []*sender{&s.live, &s.test} {
		sender.limiter.mu.Lock()
		n += sender.limiter.inHand
		sender.limiter.mu.Unlock()
	}
	return n
}

// DialTest has the deliveries of test mode go through connections of the test's.
func (s *Service) DialTest(dial func(context.Context, string, string) (net.Conn, error)) {
	s.test.transport.DialContext = dial
}
