package webhook

// InHand is how many deliveries have a place in the lanes, or are expected there.
func (s *Service) InHand() int {
	s.lanes.mu.Lock()
	defer s.lanes.mu.Unlock()
	return s.lanes.inHand
}
