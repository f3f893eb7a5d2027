package testkit

import (
	"context"
	"sync"

	"github.com/seed-7082ffec/payments"
)

// Works is an Observer that keeps the works that have ended and that Keep wants.
type Works struct {
	Keep func(payments.Work) bool
	mu   sync.Mutex
	// Ended is in the order of their ends. Read it when no work is under way.
	Ended []payments.Work
}

// Contradictions returns an Observer that keeps the works that were contradicted.
func Contradictions() *Works {
	return &Works{Keep: func(w payments.Work) bool { return w.Outcome == "contradicted" }}
}

// BeginWork implements payments.Observer.
func (*Works) BeginWork(ctx context.Context, _ payments.Work) context.Context { return ctx }

// EndWork implements payments.Observer.
func (o *Works) EndWork(_ context.Context, w payments.Work) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.Keep(w) {
		o.Ended = append(o.Ended, w)
	}
}
