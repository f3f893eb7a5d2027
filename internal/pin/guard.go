package pin

import (
	"context"
	"sync"
)

// Guard lets one holder at a time have the turn for a name. The zero value is
// ready. Tries for one account that arrive at once are compared one after
// another, so that right ones do not lock the account by being many.
type Guard struct {
	mu    sync.Mutex
	turns map[string]*turn
}

type turn struct {
	token   chan struct{} // holds one token while nobody has the turn
	waiting int
}

// Lock waits for the turn, at most until ctx ends, and returns what gives it
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
