package work

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// hostGrace is how long [CallHost] waits after the limit: code that is merely slow to heed the end of its
// context has mostly done what it was called for, and would be called for it again.
const hostGrace = 20 * time.Second

// ErrPanicked is the error of a host's code that panicked. It leaves out the value of the panic, which
// may quote numbers.
var ErrPanicked = errors.New("work: the host's code panicked")

// HideText returns an error of a host's code with another text, for logs: its own may quote a number or
// a key. errors.Is and errors.As find the host's error. A nil error stays nil.
func HideText(err error, text string) error {
	if err == nil {
		return nil
	}
	return &hiddenText{text, err}
}

type hiddenText struct {
	text string
	err  error
}

func (h *hiddenText) Error() string { return h.text }
func (h *hiddenText) Unwrap() error { return h.err }

// PanicText returns what a log may hold of a panic: the text of an error of the Go runtime, and of any
// other value the type alone, because a host's code may panic with a number or a key.
func PanicText(p any) string {
	if e, ok := p.(runtime.Error); ok {
		return e.Error()
	}
	return fmt.Sprintf("%T", p)
}

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
