package party

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/retry"
)

const (
	// maxPINAttempts wrong entries within pinAttemptWindow lock a PIN. A right entry starts the count
	// anew.
	maxPINAttempts   = 5
	pinAttemptWindow = 24 * time.Hour
	// maxPINAttemptsPerAddress wrong entries from one address within pinAttemptWindow lock that
	// address out. It is less than maxPINAttempts, so one stranger cannot lock out the holder.
	maxPINAttemptsPerAddress = maxPINAttempts - 1
)

// pinLockDurations are the durations of successive locks. The lock after these lasts until the operator unlocks
// the PIN. By then a thief has had 25 guesses, which find one in 400 PINs of four digits.
var pinLockDurations = retry.Schedule{15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}

// pinAttempts are the entries of a PIN since the last right one, including those under
// comparison. The service counts an attempt before the comparison, in its own transaction. So no
// refusal and no crash undoes the count.
type pinAttempts struct {
	// Recent are the attempts within pinAttemptWindow.
	Recent []pinAttempt `json:"recent,omitempty"`
	// Locks counts the locks of the PIN.
	Locks int `json:"locks,omitempty"`
	// LockedUntil is set by the attempt that locks the PIN. It is nil for a lock that only the
	// operator ends.
	LockedUntil *api.Time `json:"locked_until,omitempty"`
}

type pinAttempt struct {
	At api.Time `json:"at"`
	// From is the digest of a stranger's network address; "" for a client of the host's.
	From string `json:"from,omitempty"`
	// Lock is the number of locks before this attempt. Attempts from before a lock count only for
	// their address.
	Lock int `json:"lock,omitempty"`
}

// count counts one attempt, and locks the PIN with the last allowed one. It refuses an attempt
// that must not be compared.
func (t *pinAttempts) count(now time.Time, from string) *api.Error {
	if refusal := t.locked(now); refusal != nil {
		return refusal
	}
	t.LockedUntil = nil
	t.Recent = slices.DeleteFunc(t.Recent, func(old pinAttempt) bool { return !now.Before(old.At.Add(pinAttemptWindow)) })
	var here []pinAttempt
	open := 1
	for _, old := range t.Recent {
		if old.From == from {
			here = append(here, old)
		}
		if old.Lock == t.Locks {
			open++
		}
	}
	if from != "" && len(here) >= maxPINAttemptsPerAddress {
		return api.Errorf(api.PINLocked, "pin", "There were too many wrong entries from this connection. Try again later, or from another one.").After(here[0].At.Add(pinAttemptWindow).Sub(now))
	}
	t.Recent = append(t.Recent, pinAttempt{At: api.At(now), From: from, Lock: t.Locks})
	if open < maxPINAttempts {
		return nil
	}
	t.Locks++
	if long, ends := pinLockDurations.After(t.Locks); ends {
		t.LockedUntil = api.AtOrNil(now.Add(long))
	}
	return nil
}

// locked refuses every attempt while the PIN is locked.
func (t *pinAttempts) locked(now time.Time) *api.Error {
	_, ends := pinLockDurations.After(t.Locks)
	switch {
	case !ends:
		return api.Errorf(api.PINLocked, "pin", "The PIN is locked after too many wrong entries. Its holder can have it unlocked by customer care.")
	case t.LockedUntil != nil && now.Before(t.LockedUntil.Time):
		return api.Errorf(api.PINLocked, "pin", "The PIN is locked after too many wrong entries. Try again later.").After(t.LockedUntil.Sub(now))
	}
	return nil
}

// lockNotice is the text of the holder's message about a lock.
func (t *pinAttempts) lockNotice() string {
	const happened = "The PIN of your wallet was entered wrongly too often and is locked"
	const advice = "If this was not you, tell customer care."
	d, ends := pinLockDurations.After(t.Locks)
	if !ends {
		return happened + " until customer care unlocks it. " + advice
	}
	long := fmt.Sprintf("%d minutes", int(d.Minutes()))
	if d == time.Hour {
		long = "an hour"
	} else if d > time.Hour {
		long = fmt.Sprintf("%d hours", int(d.Hours()))
	}
	return fmt.Sprintf("%s for %s. %s", happened, long, advice)
}
