package pin

import (
	"context"
	"sync"
)

// Guard gives the turn for a name to one holder at a time. The zero value is ready. It makes
// concurrent attempts for one account wait for each other, so that many right ones do not lock
// the account.
type Guard struct {
	mu    sync.Mutex
	turns map[string]*turn
}

type turn struct {
	token   chan struct{} // holds one token while the turn is free
	waiting int
}

// Lock waits for the turn, at most until ctx ends, and returns the function that gives the turn
// back.
func (g *Guard) Lock(ctx context.Context, name string) (giveBack func(), err error) {
	g.mu.Lock()
	if g.turns == nil {
		g.turns = map[string]*turn{}
	}
	t := g.turns[name]
	if t == nil {
		t = &turn{token: make(chan struct{}, 1)}
		t.token <- struct{}{}
		g.turns[name] = t
	}
	t.waiting++
	g.mu.Unlock()

	leave := func() {
		g.mu.Lock()
		if t.waiting--; t.waiting == 0 {
			delete(g.turns, name)
		}
		g.mu.Unlock()
	}
	select {
	case <-t.token:
		return func() { t.token <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
