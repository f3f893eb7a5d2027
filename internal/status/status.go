// Package status moves objects between their statuses. It owns no status: each package has its own statuses,
// and the transitions between them.
package status

import (
	"fmt"
	"slices"
)

// Transitions is a state machine: it lists, for each status, the statuses from which an object enters it. No
// object enters a status without a list. A status that is in no list is final.
type Transitions[S ~string] map[S][]S

// Enter moves the status of an object, which the error calls by its noun. It fails, and changes nothing,
// if there is no such transition.
func (t Transitions[S]) Enter(noun string, s *S, to S) error {
	if !slices.Contains(t[to], *s) {
		return fmt.Errorf("%s: one that is %s cannot become %s", noun, *s, to)
	}
	*s = to
	return nil
}
