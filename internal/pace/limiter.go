package pace

import (
	"slices"
	"sync"
	"time"
)

const (
	// MaxInFlight is how many attempts this process has under way at a time in one mode, over
	// all endpoints, and maxPerEndpoint how many of them to one endpoint.
	MaxInFlight    = 256
	maxPerEndpoint = 10
	// initialWindow is the window of an endpoint that is not known yet: one that is merely slow need
	// not take one event after the other.
	initialWindow = 4
	// MaxAtHand is how many deliveries this process has at hand in one mode before the fan-out
	// makes only the least: those in flight, and those that wait for a slot. A waiting one
	// costs a few kilobytes.
	MaxAtHand  = 2048
	maxWaiting = MaxAtHand - MaxInFlight
	// softWaiting deliveries keep all slots busy, and softAtHand keep the store busy. Above
	// either, the fan-out pauses, at most maxPause; at twice as many it makes only minRoom after
	// each pause. maxWaiting bounds all that wait.
	softWaiting = maxWaiting / 4
	softAtHand  = MaxAtHand / 2
	maxPause    = 25 * time.Millisecond
	// minRoom is how many deliveries the fan-out makes at least after such a pause.
	minRoom = 128
	// maxWait is how long a delivery waits for a slot before the worker puts it off.
	maxWait = 5 * time.Second
	// initialInterval is the assumed time between free slots of an unknown endpoint.
	initialInterval = time.Millisecond
	// maxBackoff bounds how long a delivery is put off, and healthyBackoff how long one to an
	// endpoint that answers.
	maxBackoff     = 10 * time.Minute
	healthyBackoff = time.Second
	// maxEndpointLimiters is how many endpoints the limiter knows before it forgets the idle
	// ones.
	maxEndpointLimiters = 10_000
)

// Limiter bounds the attempts in flight, to each endpoint and in all. An endpoint begins with
// a window of a few slots. Each success widens the window by one, up to the bound; a failure
// narrows it to one. So endpoints that hang hold few of the shared slots, however many
// they are. Endpoints that wait for a shared slot take turns.
//
// A delivery without a slot waits. All endpoints share the room to wait: each may have as many
// tenths of what is left as its window has slots, so one that is new or fails has one tenth.
// The limiter puts off a delivery without room to wait until its turn is likely to come.
//
// A delivery at hand calls AcquireSlot, then ReleaseSlot if it got one, and OutcomeWritten at
// the end. For one that the fan-out starts, ReserveRoom comes before, and FreeRoom instead of
// the others if the fan-out does not start it after all.
type Limiter struct {
	mu         sync.Mutex
	endpoints  map[string]*endpointLimiter
	inFlight   int
	waiting    int                // includes the reserved
	atHand     int                // from the fan-out or the claim until the outcome is written
	ready      []*endpointLimiter // with a slot and a waiting delivery, each once
	roomSignal chan struct{}      // closed when there is room again; made by the waiting fan-out
}

// Result is that of an attempt: whether it succeeded, and how long it took.
type Result struct {
	OK   bool
	Took time.Duration
}

// endpointLimiter bounds the attempts in flight to one endpoint.
type endpointLimiter struct {
	window   int  // how many attempts may be in flight
	healthy  bool // whether the last attempt succeeded
	inFlight int
	waiting  []chan struct{} // each receives a slot
	reserved int             // deliveries that the fan-out has started, before AcquireSlot
	ready    bool            // whether it is among the limiter's ready
	// interval is about the time between free slots. progress is when the last slot became
	// free, or the first was taken: so an endpoint that hangs shows before its attempt ends.
	interval time.Duration
	progress time.Time
	// nextTurn is when the last delivery that was put off comes back.
	nextTurn time.Time
}

// AcquireSlot takes a slot of an endpoint, or waits for one. Without room to wait, or after
// maxWait, ok is false and backoff is how long to put the delivery off. A reserved delivery
// has room to wait. The caller calls OutcomeWritten at the end.
func (l *Limiter) AcquireSlot(endpoint string, reserved bool, now time.Time) (ok bool, backoff time.Duration) {
	l.mu.Lock()
	ep := l.endpointAt(endpoint, now)
	if reserved {
		l.addReserved(ep, -1)
	}
	l.atHand++
	if len(ep.waiting) == 0 && ep.inFlight < ep.window && l.inFlight < MaxInFlight {
		ep.inFlight++
		l.inFlight++
		l.mu.Unlock()
		return true, 0
	}
	if !reserved && l.waitingFull(ep) {
		defer l.mu.Unlock()
		return false, ep.backoff(now)
	}
	slot := make(chan struct{}, 1)
	ep.waiting = append(ep.waiting, slot)
	l.waiting++
	l.markReady(ep)
	l.mu.Unlock()

	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case <-slot:
		return true, 0
	case <-timer.C:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(ep.waiting, slot)
	if i < 0 {
		return true, 0 // the slot came at the last moment
	}
	ep.waiting = slices.Delete(ep.waiting, i, i+1)
	l.waiting--
	return false, ep.backoff(now.Add(maxWait))
}

// AtHand returns how many deliveries are at hand: from ReserveRoom or AcquireSlot to FreeRoom or
// OutcomeWritten.
func (l *Limiter) AtHand() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.atHand
}

// waitingFull reports whether an endpoint has as many waiting as it may.
func (l *Limiter) waitingFull(ep *endpointLimiter) bool {
	tenths := 1
	if ep.healthy {
		tenths = ep.window
	}
	return len(ep.waiting)+ep.reserved >= (maxWaiting-l.waiting)*tenths/maxPerEndpoint
}

// ReserveRoom makes room for a delivery that the fan-out starts; AcquireSlot or FreeRoom follows.
// Without room, ok is false and backoff is how long to put the delivery off.
func (l *Limiter) ReserveRoom(endpoint string, now time.Time) (ok, healthy bool, backoff time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ep := l.endpointAt(endpoint, now)
	if l.waitingFull(ep) {
		return false, false, ep.backoff(now)
	}
	l.addReserved(ep, 1)
	return true, ep.healthy, 0
}

// FreeRoom gives up the room that ReserveRoom made.
func (l *Limiter) FreeRoom(endpoint string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addReserved(l.endpoint(endpoint), -1)
}

func (l *Limiter) addReserved(ep *endpointLimiter, n int) {
	ep.reserved += n
	l.waiting += n
	l.atHand += n
	l.signal()
}

// OutcomeWritten ends what AcquireSlot began, with or without a slot.
func (l *Limiter) OutcomeWritten() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.atHand--
	l.signal()
}

// saturated reports whether the deliveries at hand keep the slots or the store busy.
func (l *Limiter) saturated() bool { return l.waiting > softWaiting || l.atHand > softAtHand }

// signal wakes the waiting fan-out if there is room.
func (l *Limiter) signal() {
	if l.roomSignal != nil && !l.saturated() {
		close(l.roomSignal)
		l.roomSignal = nil
	}
}

// AwaitRoom waits while the limiter is saturated, and returns how many deliveries have room. An
// event that is fanned out without room costs more: its deliveries are stored, and a worker
// claims each again. The wait ends after maxPause, so that endpoints that hang do not delay the
// events of others.
func (l *Limiter) AwaitRoom() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.saturated() {
		if l.roomSignal == nil {
			l.roomSignal = make(chan struct{})
		}
		roomSignal := l.roomSignal
		l.mu.Unlock()
		timer := time.NewTimer(maxPause)
		select {
		case <-roomSignal:
		case <-timer.C:
		}
		timer.Stop()
		l.mu.Lock()
	}
	return max(min(2*softWaiting-l.waiting, MaxAtHand-l.atHand), minRoom)
}

// ReleaseSlot gives a slot back, and hands free slots to waiting deliveries. result is nil if
// nothing was posted.
func (l *Limiter) ReleaseSlot(endpoint string, result *Result, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ep := l.endpoints[endpoint]
	ep.inFlight--
	l.inFlight--
	if result != nil {
		ep.learn(result, now)
	}
	l.markReady(ep)
	for len(l.ready) > 0 && l.inFlight < MaxInFlight {
		next := l.ready[0]
		l.ready = slices.Delete(l.ready, 0, 1)
		next.ready = false
		if len(next.waiting) == 0 || next.inFlight >= next.window {
			continue // its last delivery has waited for too long, or an attempt has failed since
		}
		next.waiting[0] <- struct{}{}
		next.waiting = slices.Delete(next.waiting, 0, 1)
		next.inFlight++
		l.waiting--
		l.inFlight++
		l.markReady(next)
	}
}

// learn adapts the window of an endpoint, and the interval between its free slots, to the result
// of an attempt.
func (ep *endpointLimiter) learn(result *Result, now time.Time) {
	apart := result.Took / time.Duration(ep.window)
	if len(ep.waiting) > 0 {
		apart = now.Sub(ep.progress)
	}
	ep.interval += (apart - ep.interval) / 8
	ep.progress = now
	ep.healthy = result.OK
	if ep.healthy {
		ep.window = min(ep.window+1, maxPerEndpoint)
	} else {
		ep.window = 1
	}
}

// markReady notes that an endpoint can use a slot.
func (l *Limiter) markReady(ep *endpointLimiter) {
	if !ep.ready && len(ep.waiting) > 0 && ep.inFlight < ep.window {
		ep.ready = true
		l.ready = append(l.ready, ep)
	}
}

// endpointAt returns the limiter of an endpoint. Its progress begins now if nothing is
// in flight.
func (l *Limiter) endpointAt(endpoint string, now time.Time) *endpointLimiter {
	ep := l.endpoint(endpoint)
	if ep.inFlight == 0 {
		ep.progress = now
	}
	return ep
}

// endpoint returns the limiter of an endpoint. If there are too many, it forgets the idle
// ones.
func (l *Limiter) endpoint(endpoint string) *endpointLimiter {
	if ep := l.endpoints[endpoint]; ep != nil {
		return ep
	}
	if l.endpoints == nil {
		l.endpoints = map[string]*endpointLimiter{}
	}
	if len(l.endpoints) >= maxEndpointLimiters {
		for known, ep := range l.endpoints {
			if ep.inFlight == 0 && len(ep.waiting) == 0 && ep.reserved == 0 {
				delete(l.endpoints, known)
			}
		}
	}
	ep := &endpointLimiter{window: initialWindow, interval: initialInterval}
	l.endpoints[endpoint] = ep
	return ep
}

// backoff returns how long to put a delivery off. Deliveries that are put off come back one
// after the other, after those that wait.
func (ep *endpointLimiter) backoff(now time.Time) time.Duration {
	apart := max(ep.interval, now.Sub(ep.progress), 10*time.Microsecond)
	if first := now.Add(time.Duration(len(ep.waiting)) * apart); ep.nextTurn.Before(first) {
		ep.nextTurn = first
	}
	ep.nextTurn = ep.nextTurn.Add(apart)
	if ep.window > 1 {
		return min(ep.nextTurn.Sub(now), healthyBackoff)
	}
	return min(ep.nextTurn.Sub(now), maxBackoff)
}
