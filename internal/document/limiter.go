package document

import "context"

// Limiter bounds how many documents are made at a time, to its capacity: a logo's picture alone may take
// tens of megabytes.
type Limiter chan struct{}

// Run runs fn when there is a place, or returns the error of the context that ends
// before that.
func (l Limiter) Run(ctx context.Context, fn func() error) error {
	select {
	case l <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-l }()
	return fn()
}
