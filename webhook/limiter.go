package webhook

import (
	"slices"
	"sync"
	"time"
)

const (
	// maxInFlight is how many deliveries this process has under way at a time, over
	// all endpoints, and maxPerEndpoint how many of them to one endpoint.
	maxInFlight    = 256
	maxPerEndpoint = 10
	// maxInHand is how many this process has claimed at a time: those under way, and
	// those that wait for a place. A waiting one costs a few kilobytes.
	maxInHand  = 2048
	maxWaiting = maxInHand - maxInFlight
	// softWaiting deliveries keep all places busy, and softLimit in hand keep the store
	// busy. Above either, the fan-out pauses, at most maxStall. Twice as many is the bound.
	softWaiting = maxWaiting / 4
	softLimit   = maxInHand / 2
	maxStall    = 25 * time.Millisecond
	// minRoom is how many deliveries the fan-out makes room for after such a pause.
	minRoom = 128
	// maxWait is how long one waits before its claim is given back.
	maxWait = 5 * time.Second
	// firstGuess is how far apart places are taken to become free while nothing is
	// known.
	firstGuess = time.Millisecond
	// maxBackoff bounds for how long a claim is given back, and healthyBackoff for how long
	// one to an endpoint that answers.
	maxBackoff     = 10 * time.Minute
	healthyBackoff = time.Second
	// maxTracked is how many endpoints are known at a time, before those that are idle
	// are forgotten.
	maxTracked = 10_000
)

// limiter bounds the deliveries under way, to each endpoint and in all. An endpoint
// begins with one place and gains another with each success, up to the bound; a
// failure takes it back to one. So endpoints that hang hold few of the shared places,
// however many they are. Endpoints that wait for a shared place take turns.
//
// A delivery without a place waits. Each endpoint may have as many waiting as there is
// still room for others; one that does not answer may have a tenth of that. A delivery
// without room to wait is put off to when its turn is likely to come.
type limiter struct {
	mu         sync.Mutex
	endpoints  map[string]*endpointLimiter
	inFlight   int
	waiting    int                // includes the reserved
	inHand     int                // from the fan-out or the claim until the result is written
	ready      []*endpointLimiter // with a place and a waiting delivery, each once
	roomSignal chan struct{}      // closed when there is room again; made by the waiting fan-out
}

// endpointLimiter bounds the deliveries to one endpoint. window is how many may be under way.
type endpointLimiter struct {
	window   int
	inFlight int
	waiting  []chan struct{} // each receives a place
	reserved int             // on their way here from the fan-out
	ready    bool            // whether it is among the limiter's ready
	// pace is about how far apart places become free, and progress when the last one
	// did, or the first was taken: an endpoint that hangs shows before its attempt has
	// ended.
	pace     time.Duration
	progress time.Time
	// nextTurn is when the last delivery that was put off comes back.
	nextTurn time.Time
}

// enter takes a place at an endpoint, or waits for one. If there is no room to wait, it
// returns how long to put the delivery off. An expected delivery has room to wait. The
// caller calls done when the result is written.
func (l *limiter) acquire(endpoint string, expected bool, now time.Time) (ok bool, backoff time.Duration) {
	l.mu.Lock()
	ep := l.endpointAt(endpoint, now)
	if expected {
		l.addReserved(ep, -1)
	}
	l.inHand++
	if len(ep.waiting) == 0 && ep.inFlight < ep.window && l.inFlight < maxInFlight {
		ep.inFlight++
		l.inFlight++
		l.mu.Unlock()
		return true, 0
	}
	if !expected && l.waitingFull(ep) {
		defer l.mu.Unlock()
		return false, ep.backoff(now)
	}
	place := make(chan struct{}, 1)
	ep.waiting = append(ep.waiting, place)
	l.waiting++
	l.markReady(ep)
	l.mu.Unlock()

	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case <-place:
		return true, 0
	case <-timer.C:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(ep.waiting, place)
	if i < 0 {
		return true, 0 // the place came at the last moment
	}
	ep.waiting = slices.Delete(ep.waiting, i, i+1)
	l.waiting--
	return false, ep.backoff(now.Add(maxWait))
}

// waitingFull reports whether an endpoint has as many waiting as it may.
func (l *limiter) waitingFull(ep *endpointLimiter) bool {
	return len(ep.waiting)+ep.reserved >= (maxWaiting-l.waiting)*ep.window/maxPerEndpoint
}

// reserve makes room for a delivery that is not written yet; enter or release follows.
// Without room, ok is false and backoff is how long to put the delivery off. An endpoint is
// healthy when its last attempt succeeded.
func (l *limiter) reserve(endpoint string, now time.Time) (ok, healthy bool, backoff time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ep := l.endpointAt(endpoint, now)
	if l.waitingFull(ep) {
		return false, false, ep.backoff(now)
	}
	l.addReserved(ep, 1)
	return true, ep.window > 1, 0
}

// release gives up the room that reserve made.
func (l *limiter) unreserve(endpoint string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addReserved(l.endpoint(endpoint), -1)
}

func (l *limiter) addReserved(ep *endpointLimiter, n int) {
	ep.reserved += n
	l.waiting += n
	l.inHand += n
	l.signal()
}

// done ends what enter began, with or without a place.
func (l *limiter) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inHand--
	l.signal()
}

// full reports whether there is enough to do.
func (l *limiter) saturated() bool { return l.waiting > softWaiting || l.inHand > softLimit }

// signal wakes the waiting fan-out if there is room.
func (l *limiter) signal() {
	if l.roomSignal != nil && !l.saturated() {
		close(l.roomSignal)
		l.roomSignal = nil
	}
}

// room waits, at most maxStall, until the limiter is not full, and returns how many
// deliveries have room. Events wait until then, because a delivery that is written before
// there is room must be claimed later. Endpoints that hang delay the others by no more.
func (l *limiter) awaitRoom() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.saturated() {
		if l.roomSignal == nil {
			l.roomSignal = make(chan struct{})
		}
		roomSignal := l.roomSignal
		l.mu.Unlock()
		timer := time.NewTimer(maxStall)
		select {
		case <-roomSignal:
		case <-timer.C:
		}
		timer.Stop()
		l.mu.Lock()
	}
	return max(min(2*softWaiting-l.waiting, maxInHand-l.inHand), minRoom)
}

// leave gives a place back, and hands free places to waiting deliveries.
func (l *limiter) release(endpoint string, ok bool, took time.Duration, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ep := l.endpoints[endpoint]
	apart := took / time.Duration(ep.window)
	if len(ep.waiting) > 0 {
		apart = now.Sub(ep.progress)
	}
	ep.pace += (apart - ep.pace) / 8
	ep.progress = now
	ep.inFlight--
	l.inFlight--
	switch {
	case !ok:
		ep.window = 1
	case ep.window < maxPerEndpoint:
		ep.window++
	}
	l.markReady(ep)
	for len(l.ready) > 0 && l.inFlight < maxInFlight {
		next := l.ready[0]
		l.ready = slices.Delete(l.ready, 0, 1)
		next.ready = false
		if len(next.waiting) == 0 || next.inFlight >= next.window {
			continue // its last one has waited for too long, or it failed since
		}
		next.waiting[0] <- struct{}{}
		next.waiting = slices.Delete(next.waiting, 0, 1)
		next.inFlight++
		l.waiting--
		l.inFlight++
		l.markReady(next)
	}
}

// markReady notes that an endpoint can use a place.
func (l *limiter) markReady(ep *endpointLimiter) {
	if !ep.ready && len(ep.waiting) > 0 && ep.inFlight < ep.window {
		ep.ready = true
		l.ready = append(l.ready, ep)
	}
}

// endpointAt returns the limiter of an endpoint. Its progress begins now if nothing is
// under way.
func (l *limiter) endpointAt(endpoint string, now time.Time) *endpointLimiter {
	ep := l.endpoint(endpoint)
	if ep.inFlight == 0 {
		ep.progress = now
	}
	return ep
}

// endpoint returns the limiter of an endpoint. When it knows too many, it forgets the idle
// ones.
func (l *limiter) endpoint(endpoint string) *endpointLimiter {
	if ep := l.endpoints[endpoint]; ep != nil {
		return ep
	}
	if l.endpoints == nil {
		l.endpoints = map[string]*endpointLimiter{}
	}
	if len(l.endpoints) >= maxTracked {
		for known, ep := range l.endpoints {
			if ep.inFlight == 0 && len(ep.waiting) == 0 && ep.reserved == 0 {
				delete(l.endpoints, known)
			}
		}
	}
	ep := &endpointLimiter{window: 1, pace: firstGuess}
	l.endpoints[endpoint] = ep
	return ep
}

// backoff returns when the next turn is, one after the other, after those who wait.
func (o *endpointLimiter) backoff(now time.Time) time.Duration {
	apart := max(o.pace, now.Sub(o.progress), 10*time.Microsecond)
	if first := now.Add(time.Duration(len(o.waiting)) * apart); o.nextTurn.Before(first) {
		o.nextTurn = first
	}
	o.nextTurn = o.nextTurn.Add(apart)
	if o.window > 1 {
		return min(o.nextTurn.Sub(now), healthyBackoff)
	}
	return min(o.nextTurn.Sub(now), maxBackoff)
}
