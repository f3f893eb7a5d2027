package webhook

import (
	"slices"
	"sync"
	"time"
)

const (
	// maxInFlight is how many deliveries this process has in hand at a time, over all
	// endpoints.
	maxInFlight = 256
	// maxPerEndpoint is how many of them are under way to one endpoint, and maxInside
	// how many more may wait for that.
	maxPerEndpoint = 10
	maxInside      = 64
	// maxWait is how long one waits before its claim is given back.
	maxWait = 5 * time.Second
	// firstGuess is how long an attempt is taken to last while nothing is known.
	firstGuess = time.Millisecond
	// maxPutOff bounds for how long a claim is given back.
	maxPutOff = 10 * time.Minute
	// maxLanes is how many endpoints are known at a time, before those that are idle
	// are forgotten.
	maxLanes = 10_000
)

// lanes bound the deliveries under way to each endpoint. An endpoint begins with
// one at a time and gains another with each success, up to the bound; a failure
// takes it back to one. Only one that answers has others waiting here. So
// endpoints that hang hold few of the places that all share, however many they
// are. What finds no place is put off to when its turn is likely to come.
type lanes struct {
	mu sync.Mutex
	by map[string]*lane
}

type lane struct {
	width    int
	inFlight int
	waiting  []chan struct{} // each receives a place
	// mean is about how long an attempt lasts, and progress when the last one ended,
	// or the first began: an endpoint that hangs shows before its attempt has ended.
	mean     time.Duration
	progress time.Time
	// turn is when the last of those that were put off is to come back.
	turn time.Time
}

// enter takes a place to an endpoint. If there is none to wait for, it returns for
// how long to put the delivery off.
func (l *lanes) enter(endpoint string, now time.Time) (ok bool, putOff time.Duration) {
	l.mu.Lock()
	if l.by == nil {
		l.by = map[string]*lane{}
	}
	one := l.by[endpoint]
	if one == nil {
		l.prune()
		one = &lane{width: 1, mean: firstGuess}
		l.by[endpoint] = one
	}
	if one.inFlight == 0 {
		one.progress = now
	}
	if one.inFlight < one.width {
		one.inFlight++
		l.mu.Unlock()
		return true, 0
	}
	if one.width == 1 || len(one.waiting) >= maxInside {
		defer l.mu.Unlock()
		return false, one.putOff(now)
	}
	place := make(chan struct{}, 1)
	one.waiting = append(one.waiting, place)
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
	i := slices.Index(one.waiting, place)
	if i < 0 {
		return true, 0 // the place came at the last moment
	}
	one.waiting = slices.Delete(one.waiting, i, i+1)
	return false, one.putOff(now)
}

// putOff returns when the next turn is, one after the other.
func (o *lane) putOff(now time.Time) time.Duration {
	if o.turn.Before(now) {
		o.turn = now
	}
	lasts := max(o.mean, now.Sub(o.progress))
	o.turn = o.turn.Add(max(lasts/time.Duration(o.width), 100*time.Microsecond))
	return min(o.turn.Sub(now), maxPutOff)
}

// prune forgets what is idle when too much is known.
func (l *lanes) prune() {
	if len(l.by) < maxLanes {
		return
	}
	for endpoint, one := range l.by {
		if one.inFlight == 0 && len(one.waiting) == 0 {
			delete(l.by, endpoint)
		}
	}
}

// leave gives a place back, and on to who waits for it.
func (l *lanes) leave(endpoint string, well bool, took time.Duration, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.by[endpoint]
	one.inFlight--
	one.mean += (took - one.mean) / 8
	one.progress = now
	switch {
	case !well:
		one.width = 1
	case one.width < maxPerEndpoint:
		one.width++
	}
	for len(one.waiting) > 0 && one.inFlight < one.width {
		one.waiting[0] <- struct{}{}
		one.waiting = one.waiting[1:]
		one.inFlight++
	}
}
