package invoice

import "context"

// renderLimiter bounds how many documents all callers make at a time: a logo's picture alone
// may take tens of megabytes.
type renderLimiter chan struct{}

// run runs fn when there is a place, or returns the error of the context that ends
// before that.
func (p renderLimiter) run(ctx context.Context, fn func() error) error {
	select {
	case p <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-p }()
	return fn()
}
