// Package status moves objects between their statuses. It owns no status: each package has its own, and
// the moves between them.
package status

import (
	"fmt"
	"slices"
)

// Moves is a state machine: for each status, the statuses from which an object enters it. A status that
// is missing is entered by no move, and one that stands in no list is final.
type Moves[S ~string] map[S][]S

// Enter moves the status of an object, which the error calls by its noun. It fails, and changes nothing,
// if there is no such move.
func (m Moves[S]) Enter(noun string, s *S, to S) error {
	if !slices.Contains(m[to], *s) {
		return fmt.Errorf("%s: one that is %s cannot become %s", noun, *s, to)
	}
	*s = to
	return nil
}
