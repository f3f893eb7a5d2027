package life

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments"
)

// gate lets a request through to a handler while few enough lives are open, so that the backlog
// cannot grow. It is an observer of the background work, from which it learns the ends of lives.
type gate struct {
	handler http.Handler

	mu sync.Mutex
	// queue and outcome are those of the work that ends a life.
	queue, outcome string
	turn
}

// turn is what the gate counts from reset until as many lives have ended as were wanted.
type turn struct {
	room        *sync.Cond
	limit, want int
	open, peak  int
	ended       int
	first, last time.Time       // the first request, and the last outcome
	took        []time.Duration // each request, without the wait at the gate
	done        chan struct{}   // nil once closed
}

// reset begins a turn of so many lives, of which no more than limit are open at a time. The
// returned channel is closed when all have ended.
func (g *gate) reset(limit, lives int) (done <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn = turn{room: sync.NewCond(&g.mu), limit: limit, want: lives, done: make(chan struct{})}
	return g.done
}

// result returns what was counted in a turn that is done.
func (g *gate) result() turn {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.turn
}

// ServeHTTP implements [http.Handler].
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.request(1, func() { g.handler.ServeHTTP(w, r) })
}

// request makes a request that begins so many lives.
func (g *gate) request(lives int, do func()) {
	g.mu.Lock()
	if g.first.IsZero() {
		g.first = time.Now()
	}
	for g.open >= g.limit {
		g.room.Wait()
	}
	g.open += lives
	g.peak = max(g.peak, g.open)
	g.mu.Unlock()
	begun := time.Now()
	do()
	took := time.Since(begun)
	g.mu.Lock()
	g.took = append(g.took, took)
	g.mu.Unlock()
}

// watch says which work ends a life.
func (g *gate) watch(queue, outcome string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue, g.outcome = queue, outcome
}

// BeginWork implements [payments.Observer].
func (g *gate) BeginWork(ctx context.Context, _ payments.Work) context.Context { return ctx }

// EndWork implements [payments.Observer].
func (g *gate) EndWork(_ context.Context, w payments.Work) {
	g.mu.Lock()
	ends := w.Queue == g.queue && w.Outcome == g.outcome
	g.mu.Unlock()
	if ends {
		g.end(w.Records)
	}
}

// end counts lives that have ended.
func (g *gate) end(lives int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done == nil {
		return
	}
	g.open -= lives
	g.room.Broadcast()
	if g.ended += lives; g.ended >= g.want {
		g.last = time.Now()
		close(g.done)
		g.done = nil
	}
}
