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
	// enough waiting ones keep all places busy, and enough in hand the store. While
	// there are more, no more events are fanned out, but for no longer than maxStall;
	// then there are at most twice as many. No lane may have more waiting than that,
	// and few have no room for them.
	enoughWaiting = maxWaiting / 4
	enoughInHand  = maxInHand / 2
	maxStall      = 25 * time.Millisecond
	// minRoom is for how many deliveries events are fanned out all the same then.
	minRoom = 128
	// maxWait is how long one waits before its claim is given back.
	maxWait = 5 * time.Second
	// firstGuess is how far apart places are taken to become free while nothing is
	// known.
	firstGuess = time.Millisecond
	// maxPutOff bounds for how long a claim is given back, and briskPutOff for how long
	// one to an endpoint that answers.
	maxPutOff   = 10 * time.Minute
	briskPutOff = time.Second
	// maxLanes is how many endpoints are known at a time, before those that are idle
	// are forgotten.
	maxLanes = 10_000
)

// lanes bound the deliveries under way, to each endpoint and in all. An endpoint
// begins with one place and gains another with each success, up to the bound; a
// failure takes it back to one. So endpoints that hang hold few of the places that
// all share, however many they are. Lanes that wait for a place of those take turns.
//
// What finds no place in its lane waits, and each lane may have as many waiting as
// there is still room for others, which leaves some for every endpoint; one that
// does not answer may have a tenth of that. What finds no room either is put off to
// when its turn is likely to come.
type lanes struct {
	mu       sync.Mutex
	by       map[string]*lane
	inFlight int
	waiting  int           // and those on their way here from the fan-out
	inHand   int           // from the fan-out or the claim until the outcome is written down
	ready    []*lane       // with a place and somebody who waits for it, each once
	eased    chan struct{} // closed when there is room again; made by whoever waits for that
}

type lane struct {
	width    int
	inFlight int
	waiting  []chan struct{} // each receives a place
	coming   int             // those on their way here from the fan-out
	ready    bool            // whether it is among the lanes' ready
	// pace is about how far apart places become free, and progress when the last one
	// did, or the first was taken: an endpoint that hangs shows before its attempt has
	// ended.
	pace     time.Duration
	progress time.Time
	// turn is when the last of those that were put off is to come back.
	turn time.Time
}

// enter takes a place to an endpoint. If there is none to wait for, it returns for
// how long to put the delivery off. Who was expected finds at least room to wait.
// done follows when the outcome is written down.
func (l *lanes) enter(endpoint string, expected bool, now time.Time) (ok bool, putOff time.Duration) {
	l.mu.Lock()
	one := l.at(endpoint, now)
	if expected {
		l.come(one, -1)
	}
	l.inHand++
	if len(one.waiting) == 0 && one.inFlight < one.width && l.inFlight < maxInFlight {
		one.inFlight++
		l.inFlight++
		l.mu.Unlock()
		return true, 0
	}
	if !expected && l.fills(one) {
		defer l.mu.Unlock()
		return false, one.putOff(now)
	}
	place := make(chan struct{}, 1)
	one.waiting = append(one.waiting, place)
	l.waiting++
	l.queue(one)
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
	l.waiting--
	return false, one.putOff(now.Add(maxWait))
}

// fills reports whether a lane has as many waiting as it may.
func (l *lanes) fills(one *lane) bool {
	return len(one.waiting)+one.coming >= (maxWaiting-l.waiting)*one.width/maxPerEndpoint
}

// expect makes room for a delivery that is yet to be written, and then enters or is
// given up by leaveOut. If there is none, it returns for how long to put it off. An
// endpoint is brisk whose last attempt went well.
func (l *lanes) expect(endpoint string, now time.Time) (putOff time.Duration, brisk bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.at(endpoint, now)
	if l.fills(one) {
		return one.putOff(now), false
	}
	l.come(one, 1)
	return 0, one.width > 1
}

// leaveOut gives up the room of one that was expected.
func (l *lanes) leaveOut(endpoint string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.come(l.lane(endpoint), -1)
}

func (l *lanes) come(one *lane, n int) {
	one.coming += n
	l.waiting += n
	l.inHand += n
	l.ease()
}

// done lets go of one that was entered, with or without a place.
func (l *lanes) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inHand--
	l.ease()
}

// full reports whether there is enough to do.
func (l *lanes) full() bool { return l.waiting > enoughWaiting || l.inHand > enoughInHand }

// ease tells who waits that there is not.
func (l *lanes) ease() {
	if l.eased != nil && !l.full() {
		close(l.eased)
		l.eased = nil
	}
}

// room waits a little until there is room for as many deliveries as are worth a
// transaction, and returns for how many there is. An event is better left alone
// until then: a delivery that is written before there is room for it must be claimed
// later. Endpoints that hang hold the others up by no more than that wait.
func (l *lanes) room() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full() {
		if l.eased == nil {
			l.eased = make(chan struct{})
		}
		eased := l.eased
		l.mu.Unlock()
		timer := time.NewTimer(maxStall)
		select {
		case <-eased:
		case <-timer.C:
		}
		timer.Stop()
		l.mu.Lock()
	}
	return max(min(2*enoughWaiting-l.waiting, maxInHand-l.inHand), minRoom)
}

// leave gives a place back, and on to who waits for it.
func (l *lanes) leave(endpoint string, well bool, took time.Duration, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.by[endpoint]
	apart := took / time.Duration(one.width)
	if len(one.waiting) > 0 {
		apart = now.Sub(one.progress)
	}
	one.pace += (apart - one.pace) / 8
	one.progress = now
	one.inFlight--
	l.inFlight--
	switch {
	case !well:
		one.width = 1
	case one.width < maxPerEndpoint:
		one.width++
	}
	l.queue(one)
	for len(l.ready) > 0 && l.inFlight < maxInFlight {
		next := l.ready[0]
		l.ready = slices.Delete(l.ready, 0, 1)
		next.ready = false
		if len(next.waiting) == 0 || next.inFlight >= next.width {
			continue // its last one has waited for too long, or it failed since
		}
		next.waiting[0] <- struct{}{}
		next.waiting = slices.Delete(next.waiting, 0, 1)
		next.inFlight++
		l.waiting--
		l.inFlight++
		l.queue(next)
	}
}

// queue notes that a lane can use a place.
func (l *lanes) queue(one *lane) {
	if !one.ready && len(one.waiting) > 0 && one.inFlight < one.width {
		one.ready = true
		l.ready = append(l.ready, one)
	}
}

// at returns the lane of an endpoint, where time begins to count now if nothing is
// under way.
func (l *lanes) at(endpoint string, now time.Time) *lane {
	one := l.lane(endpoint)
	if one.inFlight == 0 {
		one.progress = now
	}
	return one
}

// lane returns the lane of an endpoint. When too many are known, those that are idle
// are forgotten.
func (l *lanes) lane(endpoint string) *lane {
	if one := l.by[endpoint]; one != nil {
		return one
	}
	if l.by == nil {
		l.by = map[string]*lane{}
	}
	if len(l.by) >= maxLanes {
		for known, one := range l.by {
			if one.inFlight == 0 && len(one.waiting) == 0 && one.coming == 0 {
				delete(l.by, known)
			}
		}
	}
	one := &lane{width: 1, pace: firstGuess}
	l.by[endpoint] = one
	return one
}

// putOff returns when the next turn is, one after the other, after those who wait.
func (o *lane) putOff(now time.Time) time.Duration {
	apart := max(o.pace, now.Sub(o.progress), 10*time.Microsecond)
	if first := now.Add(time.Duration(len(o.waiting)) * apart); o.turn.Before(first) {
		o.turn = first
	}
	o.turn = o.turn.Add(apart)
	if o.width > 1 {
		return min(o.turn.Sub(now), briskPutOff)
	}
	return min(o.turn.Sub(now), maxPutOff)
}
