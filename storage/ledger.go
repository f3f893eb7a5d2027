package storage

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Posting is one movement of money: amounts in pesewas, positive into an
// account and negative out of it, that add up to zero.
type Posting struct {
	// ID is unique over all postings of the store, and time-ordered.
	ID string
	// Type says what kind of movement it is ("payment"), Ref which object
	// caused it ("pay_…").
	Type, Ref string
	At        time.Time
	Moves     []Move
}

// Move is one leg of a posting.
type Move struct {
	// Account is the name of the account; internal/ledger defines the names.
	Account string
	// Guarded accounts never go below zero. It is a property of the account and
	// must be the same in every posting.
	Guarded bool
	// Amount is in pesewas, never zero.
	Amount int64
}

// Entry is a leg as booked. Entries are never changed or removed.
type Entry struct {
	Account string
	// Number counts the entries of the account, beginning with 1, without holes.
	Number int64
	// Amount and Balance are in pesewas; Balance is the account's after the
	// entry.
	Amount, Balance int64
	// Posting, Type, Ref and At are the posting's.
	Posting, Type, Ref string
	At                 time.Time
}

// Booked is a posting with its entries, in ascending order of account.
type Booked struct {
	ID, Type, Ref string
	At            time.Time
	Entries       []Entry
}

// Balance is the state of an account.
type Balance struct {
	Account string
	Guarded bool
	// Amount is in pesewas.
	Amount int64
	// Entries is the number of the account's entries, which is also the number of the newest.
	Entries int64
}

// Check returns an error for a posting that must not be booked. It sorts the moves by
// account: backends lock in that order, so that postings do not deadlock.
func (p *Posting) Check() error {
	if p.ID == "" || p.Type == "" || p.At.IsZero() {
		return fmt.Errorf("%w: posting needs id, type and time", ErrInvalid)
	}
	if len(p.Moves) < 2 {
		return fmt.Errorf("%w: posting of %d moves", ErrInvalid, len(p.Moves))
	}
	p.At = Instant(p.At)
	p.Moves = slices.Clone(p.Moves)
	slices.SortFunc(p.Moves, func(a, b Move) int { return strings.Compare(a.Account, b.Account) })
	// Two totals of one sign each detect an overflow. A single sum could wrap and wrap back.
	var in, out int64
	for i, m := range p.Moves {
		switch {
		case m.Account == "":
			return fmt.Errorf("%w: posting to an account without name", ErrInvalid)
		case i > 0 && m.Account == p.Moves[i-1].Account:
			return fmt.Errorf("%w: account %s is twice in a posting", ErrInvalid, m.Account)
		case m.Amount == 0 || m.Amount == math.MinInt64:
			return fmt.Errorf("%w: posting moves %d on %s", ErrInvalid, m.Amount, m.Account)
		case m.Amount > 0:
			if in > math.MaxInt64-m.Amount {
				return fmt.Errorf("%w: posting", ErrOverflow)
			}
			in += m.Amount
		default:
			if out > math.MaxInt64+m.Amount {
				return fmt.Errorf("%w: posting", ErrOverflow)
			}
			out -= m.Amount
		}
	}
	if in != out {
		return fmt.Errorf("%w: posting is off balance by %d", ErrInvalid, in-out)
	}
	return nil
}

// Apply returns the account after one move of a checked posting, or the error that
// forbids it. now is the account as stored; its zero value is an account that does not
// exist yet.
func Apply(now Balance, m Move) (Balance, error) {
	if now.Entries == 0 {
		now = Balance{Account: m.Account, Guarded: m.Guarded}
	}
	if now.Guarded != m.Guarded {
		return now, fmt.Errorf("%w: account %s is guarded in one posting and not in another", ErrInvalid, m.Account)
	}
	sum := now.Amount + m.Amount
	if (m.Amount > 0 && sum < now.Amount) || (m.Amount < 0 && sum > now.Amount) {
		return now, fmt.Errorf("%w: account %s", ErrOverflow, m.Account)
	}
	if now.Guarded && sum < 0 {
		return now, fmt.Errorf("%w: account %s", ErrInsufficient, m.Account)
	}
	now.Amount = sum
	now.Entries++
	return now, nil
}
