// Package till is money that the tests of the command mutate.
package till

import (
	"errors"
	"fmt"
	"time"
)

// Max is the most that a till takes.
const Max = 100

// Tx is a transaction.
type Tx struct{ Rows map[string]int }

// Till holds money.
type Till struct {
	Held   int
	Closed bool
}

// Put takes money.
func (t *Till) Put(tx *Tx, n int, now, ends time.Time) error {
	if n > Max {
		return fmt.Errorf("%d is %d too much", n, n-Max)
	}
	if t.Closed || !now.Before(ends) {
		return errors.New("closed")
	}
	if err := write(tx, "held", t.Held+n); err != nil {
		return err
	}
	count(tx)
	t.Held += n
	return nil
}

func write(tx *Tx, name string, n int) error {
	if tx == nil {
		return errors.New("no transaction")
	}
	tx.Rows[name] = n
	return nil
}

func count(tx *Tx) {
	tx.Rows["puts"]++
}

// Larger returns the larger one.
func Larger(a, b int) int {
	if a < b {
		a = b
	}
	return a
}

// Fee has no test that knows it.
func Fee(n int) int {
	if n == 0 && !free {
		return 0
	}
	return n * 2
}

// Untested is called by no test.
func Untested(n int) bool { return n < 0 }

var free bool
