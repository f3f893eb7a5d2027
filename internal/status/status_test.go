package status_test

import (
	"testing"

	"github.com/seed-7082ffec/payments/internal/status"
	"github.com/seed-7082ffec/payments/internal/test/expect"
)

// An object makes the transitions of its table alone.
func TestEnter(t *testing.T) {
	transitions := status.Transitions[string]{"sent": {"queued"}, "lost": {"queued", "sent"}}
	allowed := map[[2]string]bool{{"queued", "sent"}: true, {"queued", "lost"}: true, {"sent", "lost"}: true}
	all := []string{"queued", "sent", "lost"}
	for _, from := range all {
		for _, to := range all {
			is := from
			entered := transitions.Enter("letter", &is, to) == nil
			expect.Equal(t, entered, allowed[[2]string{from, to}], "from %s to %s", from, to)
			expect.Equal(t, is, map[bool]string{true: to, false: from}[entered], "the status after %s to %s", from, to)
		}
	}
}
