package payments

// Serialize has due work done one after another, so that a simulation plays the
// same game again.
func (s *Service) Serialize() { s.runner.Serial = true }

// CatchUp waits for what calls of MoveClock have left running.
func (s *Service) CatchUp() { s.catchUps.Wait() }
