// Package outside sees orders through that somebody else carries out: a rail, a
// charger. Their answers may be lost, so that what became of an order may be
// unknown, which is never the same as failed: the order is asked for again, under
// the same id, until the answer is conclusive.
//
// It owns the asking ([Ask], [Call]), what is kept of an order for it ([Course]), the loop
// of due work that does it ([Courier]) and the operator's index of orders
// ([Orders]). What an order is, and what its outcome books, is the business of
// payout, invoice and refund.
package outside

import (
	"context"
	"errors"
	"time"
)

// Port is where orders of one kind are carried out: two submissions with one id
// are one order. An error means that nothing is known.
type Port[O, R any] interface {
	Submit(ctx context.Context, order O) (R, error)
	Status(ctx context.Context, order O) (R, error)
}

// Reading is what an answer says about the order's having arrived.
type Reading int

// The readings.
const (
	NoAnswer Reading = iota // not one of the answers that there are
	Unseen                  // the other side has never seen the order
	Seen                    // everything else
)

// callTimeout bounds one call of a port.
const callTimeout = 30 * time.Second

// The errors of asking. What a host's code panicked with may quote numbers, so
// that it is not told.
var (
	errPanicked = errors.New("outside: the host's code panicked")
	errNoAnswer = errors.New("outside: what was answered is no outcome")
)

// Ask submits an order, or, unless it is the first time, asks what became of it
// and submits it again when it was never seen. A panic, and an answer that is
// none, are errors like any other.
func Ask[O, R any](ctx context.Context, p Port[O, R], order O, first bool, read func(R) Reading) (R, error) {
	var none R
	if !first {
		answer, err := Call(ctx, p.Status, order)
		switch {
		case err != nil:
			return none, err
		case read(answer) == Seen:
			return answer, nil
		case read(answer) == NoAnswer:
			return none, errNoAnswer
		}
	}
	answer, err := Call(ctx, p.Submit, order)
	if err == nil && read(answer) != Seen {
		err = errNoAnswer
	}
	if err != nil {
		return none, err
	}
	return answer, nil
}

// Call calls a host's code once, for at most 30 seconds. A panic is an error like
// any other.
func Call[I, R any](ctx context.Context, do func(context.Context, I) (R, error), in I) (answer R, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	defer func() {
		if recover() != nil {
			err = errPanicked
		}
	}()
	return do(ctx, in)
}
