package account

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
)

const (
	// pinTries wrong entries within pinMemory lock a PIN. A right entry starts the count
	// anew.
	pinTries  = 5
	pinMemory = 24 * time.Hour
	// pinTriesFrom wrong entries from one address within pinMemory lock that address out.
	// It is less than pinTries, so that one stranger cannot lock the holder out.
	pinTriesFrom = pinTries - 1
)

// pinLocks are how long one lock after the other lasts. The lock after these lasts until
// the operator unlocks the PIN: 25 guesses find one PIN of four digits in 400.
var pinLocks = []time.Duration{15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}

// tries are the entries of a PIN since the last right one. They include those that are
// being compared: a try is counted before it is compared, in a transaction of its own,
// so that no refusal and no crash takes it back.
type tries struct {
	// Recent are the tries within pinMemory.
	Recent []try `json:"recent,omitempty"`
	// Locks is how often the PIN was locked.
	Locks int `json:"locks,omitempty"`
	// LockedUntil is set with the try that uses up the last one. It is nil for a lock that
	// only the operator ends.
	LockedUntil *api.Time `json:"locked_until,omitempty"`
}

type try struct {
	At api.Time `json:"at"`
	// From stands for the network address of a stranger; "" for a client of the host's.
	From string `json:"from,omitempty"`
	// Lock is the number of locks before it. Tries from before a lock count for their
	// address alone.
	Lock int `json:"lock,omitempty"`
}

// count counts one try, and locks the PIN with the last one. It refuses a try that must
// not be compared.
func (t *tries) count(now time.Time, from string) *api.Error {
	if refusal := t.locked(now); refusal != nil {
		return refusal
	}
	t.LockedUntil = nil
	t.Recent = slices.DeleteFunc(t.Recent, func(old try) bool { return !now.Before(old.At.Add(pinMemory)) })
	var here []try
	open := 1
	for _, old := range t.Recent {
		if old.From == from {
			here = append(here, old)
		}
		if old.Lock == t.Locks {
			open++
		}
	}
	if from != "" && len(here) >= pinTriesFrom {
		e := api.Errorf(api.PINLocked, "pin", "There were too many wrong entries from this connection. Try again later, or from another one.")
		e.RetryAfter = here[0].At.Add(pinMemory).Sub(now)
		return e
	}
	t.Recent = append(t.Recent, try{At: api.At(now), From: from, Lock: t.Locks})
	if open < pinTries {
		return nil
	}
	if t.Locks++; t.Locks <= len(pinLocks) {
		t.LockedUntil = api.AtOrNil(now.Add(pinLocks[t.Locks-1]))
	}
	return nil
}

// locked refuses every try while the PIN is locked.
func (t *tries) locked(now time.Time) *api.Error {
	switch {
	case t.Locks > len(pinLocks):
		return api.Errorf(api.PINLocked, "pin", "The PIN is locked after too many wrong entries. Its holder can have it unlocked by customer care.")
	case t.LockedUntil != nil && now.Before(t.LockedUntil.Time):
		e := api.Errorf(api.PINLocked, "pin", "The PIN is locked after too many wrong entries. Try again later.")
		e.RetryAfter = t.LockedUntil.Sub(now)
		return e
	}
	return nil
}

// notice is what the holder is told of a lock.
func (t *tries) notice() string {
	const happened = "The PIN of your wallet was entered wrongly too often and is locked"
	const advice = "If this was not you, tell customer care."
	if t.Locks > len(pinLocks) {
		return happened + " until customer care unlocks it. " + advice
	}
	d := pinLocks[t.Locks-1]
	long := fmt.Sprintf("%d minutes", int(d.Minutes()))
	if d == time.Hour {
		long = "an hour"
	} else if d > time.Hour {
		long = fmt.Sprintf("%d hours", int(d.Hours()))
	}
	return fmt.Sprintf("%s for %s. %s", happened, long, advice)
}
