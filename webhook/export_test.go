package webhook

import (
	"context"
	"net"
)

// InHand is how many deliveries have a place in the lanes, or are expected there.
func (s *Service) InHand() (n int) {
	for _, by := range []*carrier{&s.live, &s.test} {
		by.lanes.mu.Lock()
		n += by.lanes.inHand
		by.lanes.mu.Unlock()
	}
	return n
}

// DialTest has the deliveries of test mode go through connections of the test's.
func (s *Service) DialTest(dial func(context.Context, string, string) (net.Conn, error)) {
	s.test.transport.DialContext = dial
}
