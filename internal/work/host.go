package work

import (
	"context"
	"errors"
	"time"
)

// hostGrace is how long [CallHost] waits after the limit: code that is merely slow to heed the end of its
// context has mostly done what it was called for, and would be called for it again.
const hostGrace = 20 * time.Second

// ErrPanicked is the error of a host's code that panicked. It leaves out the value of the panic, which
// may quote numbers.
var ErrPanicked = errors.New("work: the host's code panicked")

// CallHost calls a host's code once, with a context that ends after the limit. Code that does not heed
// that is left behind 20 seconds later: a connection that hangs must not keep a record leased, a slot
// taken, or a runner from stopping.
func CallHost[R any](ctx context.Context, limit time.Duration, do func(context.Context) (R, error)) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type answer struct {
		result R
		err    error
	}
	answered := make(chan answer, 1)
	go func() {
		a := answer{err: ErrPanicked}
		defer func() {
			_ = recover()
			answered <- a
		}()
		a.result, a.err = do(ctx)
	}()
	select {
	case a := <-answered:
		return a.result, a.err
	case <-ctx.Done():
	}
	late := time.NewTimer(hostGrace)
	defer late.Stop()
	select {
	case a := <-answered:
		return a.result, a.err
	case <-late.C:
		return answer{}.result, ctx.Err()
	}
}
