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
	// maxPerEndpoint is how many of them are under way to one endpoint, and
	// maxInside how many more may wait for that.
	maxPerEndpoint = 10
	maxInside      = 64
	// maxWait is how long one waits before its claim is given back.
	maxWait = 5 * time.Second
)

// lanes bound the deliveries under way to each endpoint. An endpoint begins with
// one at a time and gains another with each success, up to the bound; a failure
// takes it back to one. Only one that answers has others waiting here. So
// endpoints that hang hold few of the places that all share, however many they
// are.
type lanes struct {
	mu sync.Mutex
	by map[string]*lane
}

type lane struct {
	width    int
	inFlight int
	waiting  []chan struct{} // each receives a place
}

// enter takes a place to an endpoint, or reports that there is none to wait for.
func (l *lanes) enter(endpoint string) bool {
	l.mu.Lock()
	if l.by == nil {
		l.by = map[string]*lane{}
	}
	one := l.by[endpoint]
	if one == nil {
		one = &lane{width: 1}
		l.by[endpoint] = one
	}
	if one.inFlight < one.width {
		one.inFlight++
		l.mu.Unlock()
		return true
	}
	if one.width == 1 || len(one.waiting) >= maxInside {
		l.mu.Unlock()
		return false
	}
	place := make(chan struct{}, 1)
	one.waiting = append(one.waiting, place)
	l.mu.Unlock()

	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case <-place:
		return true
	case <-timer.C:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(one.waiting, place)
	if i < 0 {
		return true // the place came at the last moment
	}
	one.waiting = slices.Delete(one.waiting, i, i+1)
	return false
}

// leave gives a place back, and on to who waits for it.
func (l *lanes) leave(endpoint string, well bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.by[endpoint]
	one.inFlight--
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
	if one.inFlight == 0 && len(one.waiting) == 0 && one.width == 1 {
		delete(l.by, endpoint) // it is as a new one
	}
}
