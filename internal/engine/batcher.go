package engine

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// Batcher joins the calls of many goroutines into few runs. The first call runs alone and
// at once; calls that arrive meanwhile share the next run. So a single call waits for
// nothing, and many calls share a run, such as one transaction.
type Batcher[T any] struct {
	run      func([]T) error
	maxBatch int
	turn     chan struct{} // holds a token for each run under way

	mu   sync.Mutex
	next *joined[T]
}

type joined[T any] struct {
	members []T
	begun   bool
	errs    []error
	ran     chan struct{} // closed once errs is set
}

// NewBatcher returns a Batcher that passes at most maxBatch values to a run. run does all
// of them or, with an error, none; then it runs once for each alone, so that no call fails
// because of another. At most maxConcurrent runs are under way: transactions that wait
// together share a commit, and between them the store serves others.
func NewBatcher[T any](maxBatch, maxConcurrent int, run func([]T) error) *Batcher[T] {
	return &Batcher[T]{run: run, maxBatch: maxBatch, turn: make(chan struct{}, maxConcurrent)}
}

// Do runs v in a batch with others, and returns the error of v. It is safe for
// concurrent use.
func (g *Batcher[T]) Do(v T) error {
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

func (g *Batcher[T]) join(v T) (mine *joined[T], place int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil || len(g.next.members) >= g.maxBatch {
		g.next = &joined[T]{ran: make(chan struct{})}
	}
	g.next.members = append(g.next.members, v)
	return g.next, len(g.next.members) - 1
}

// begin closes a batch to further calls, and reports whether it is the first to do so.
func (g *Batcher[T]) begin(mine *joined[T]) bool {
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

func (g *Batcher[T]) each(members []T) []error {
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

// one runs a batch once. It turns a panic into an error, so that the turn goes on.
func (g *Batcher[T]) one(members []T) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("engine: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return g.run(members)
}
