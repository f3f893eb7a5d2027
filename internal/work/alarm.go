package work

import (
	"slices"
	"sync"
	"time"
)

const (
	// maxAlarms bounds the future times that a worker keeps, the nearest ones. The poll finds
	// work that is due later.
	maxAlarms = 512
	// near is the largest delay of an alarm that joins one set already.
	near = 2 * time.Millisecond
)

// alarms wake a worker at future times.
type alarms struct {
	mu    sync.Mutex
	times []time.Time // ascending
	timer *time.Timer // of the first time
}

// set calls ring at that time.
func (a *alarms) set(at time.Time, ring func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i, _ := slices.BinarySearchFunc(a.times, at, time.Time.Compare)
	if i < len(a.times) && a.times[i].Sub(at) <= near || i == maxAlarms {
		return
	}
	a.times = slices.Insert(a.times, i, at)
	a.times = a.times[:min(len(a.times), maxAlarms)]
	if i == 0 {
		a.arm(ring)
	}
}

// arm sets the timer to the first.
func (a *alarms) arm(ring func()) {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.timer = time.AfterFunc(time.Until(a.times[0]), func() {
		a.mu.Lock()
		past, _ := slices.BinarySearchFunc(a.times, time.Now().Add(1), time.Time.Compare)
		a.times = slices.Delete(a.times, 0, past)
		if len(a.times) > 0 {
			a.arm(ring)
		}
		a.mu.Unlock()
		ring()
	})
}
