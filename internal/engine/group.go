package engine

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// Group joins what many goroutines have to do at the same time into few runs. The
// first run alone and at once; whoever comes meanwhile waits for the next run
// and shares it. So nothing is slower when little is to be done, and much is done
// together when there is much, such as in one transaction.
type Group[T any] struct {
	run  func([]T) error
	most int
	turn chan struct{} // holds one for each run under way

	mu   sync.Mutex
	next *joined[T]
}

type joined[T any] struct {
	members []T
	begun   bool
	errs    []error
	ran     chan struct{} // closed when errs are there
}

// NewGroup returns a group that does the work of at most so many at once by run,
// which does all of it or, with an error, nothing. Then it is run for each alone,
// so that nobody fails for another's sake. Up to so many runs are under way beside
// each other: transactions that wait together share a commit, and between them the
// store serves others.
func NewGroup[T any](most, beside int, run func([]T) error) *Group[T] {
	return &Group[T]{run: run, most: most, turn: make(chan struct{}, beside)}
}

// Do has v done with what others bring, and returns its error. It is safe for
// concurrent use.
func (g *Group[T]) Do(v T) error {
	mine, i := g.join(v)
	select {
	case <-mine.ran:
		return mine.errs[i]
	case g.turn <- struct{}{}:
	}
	first := g.begin(mine)
	if first {
		mine.errs = g.each(mine.members)
		close(mine.ran)
	}
	<-g.turn
	if !first {
		<-mine.ran
	}
	return mine.errs[i]
}

func (g *Group[T]) join(v T) (mine *joined[T], place int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil || len(g.next.members) >= g.most {
		g.next = &joined[T]{ran: make(chan struct{})}
	}
	g.next.members = append(g.next.members, v)
	return g.next, len(g.next.members) - 1
}

// begin lets nobody join any more, and reports whether nobody has begun before.
func (g *Group[T]) begin(mine *joined[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if mine.begun {
		return false
	}
	mine.begun = true
	if g.next == mine {
		g.next = nil
	}
	return true
}

func (g *Group[T]) each(members []T) []error {
	errs := make([]error, len(members))
	err := g.one(members)
	if err == nil || len(members) == 1 {
		errs[0] = err
		return errs
	}
	for i := range members {
		errs[i] = g.one(members[i : i+1])
	}
	return errs
}

// one runs once. A panic is an error, so that the turn goes on to the next.
func (g *Group[T]) one(members []T) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("engine: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return g.run(members)
}
