package httpapi

import (
	"context"
	"sync"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// InFlight bounds how many requests run at the same time, so that no key and no client of
// a page takes all memory and all connections to the database. The handler answers further
// requests with 429 and Retry-After. It counts in this process only. A field of zero or
// less stands for its default.
type InFlight struct {
	// Live and Test bound the requests of each merchant, in live mode (256) and in test
	// mode (128).
	Live, Test int
	// Page bounds the requests without a key of each client address: 64. An IPv6 address counts by
	// its /48 network.
	Page int
	// All bounds all requests together: 1,024. Test mode gets at most a quarter of it, and
	// requests without a key another quarter. So neither can stop the other or live mode.
	All int
}

func (n InFlight) withDefaults() InFlight {
	or := func(limit *int, preset int) {
		if *limit <= 0 {
			*limit = preset
		}
	}
	or(&n.Live, 256)
	or(&n.Test, 128)
	or(&n.Page, 64)
	or(&n.All, 1024)
	return n
}

// heavyInFlight bounds the requests that take up to tens of megabytes each: batches,
// statements, documents. Further ones wait, with their bodies unread. One merchant in test
// mode, or one address, gets at most half of its class.
var heavyInFlight = InFlight{Live: 4, Test: 2, Page: 2, All: 16}

// trafficClass is the share of InFlight.All that a request counts towards.
type trafficClass int

const (
	liveTraffic trafficClass = iota
	testTraffic
	pageTraffic // requests without a key
)

// concurrencyLimiter counts the running requests: all, by class and by group.
type concurrencyLimiter struct {
	limit InFlight

	mu      sync.Mutex
	total   int
	byClass [3]int // without slots that have joined no group yet
	groups  map[storage.Scope]int
	freed   chan struct{} // closed on release; nil while no request waits
}

func newConcurrencyLimiter(limit InFlight) *concurrencyLimiter {
	return &concurrencyLimiter{limit: limit.withDefaults(), groups: make(map[storage.Scope]int)}
}

var (
	errTooManyFromCaller = api.Errorf(api.RateLimited, "", "Too many requests are under way at the same time. Wait for answers before you send more, or try again after the seconds in the header Retry-After.")
	errOverloaded        = api.Errorf(api.RateLimited, "", "The service is busy. Try again after the seconds in the header Retry-After.")
)

// slot is one request's place in a limiter. The zero value holds none.
type slot struct {
	limiter *concurrencyLimiter
	group   storage.Scope
	inGroup bool
	class   trafficClass
}

// acquire takes a slot. The caller must release it.
func (f *concurrencyLimiter) acquire() (slot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.total >= f.limit.All {
		return slot{}, errOverloaded
	}
	f.total++
	return slot{limiter: f}, nil
}

// joinGroup counts the slot in its group, too: a merchant and mode, or, without a key, a
// client address.
func (p *slot) joinGroup(caller api.Caller, client string) error {
	p.limiter.mu.Lock()
	defer p.limiter.mu.Unlock()
	return p.joinGroupLocked(caller, client)
}

func (p *slot) joinGroupLocked(caller api.Caller, client string) error {
	f := p.limiter
	group, limit, part := engine.Scope(caller), f.limit.Test, testTraffic
	switch {
	case caller.Live:
		limit, part = f.limit.Live, liveTraffic
	case caller.Merchant == "":
		group, limit, part = storage.Scope{Merchant: "address " + clientNetwork(client, 48)}, f.limit.Page, pageTraffic
	}
	if f.groups[group] >= limit {
		return errTooManyFromCaller
	}
	if part != liveTraffic && f.byClass[part] >= max(1, f.limit.All/4) {
		return errOverloaded
	}
	f.groups[group]++
	f.byClass[part]++
	p.group, p.inGroup, p.class = group, true, part
	return nil
}

// wait waits until it can acquire a slot and join its group. It fails when ctx ends. The
// caller must release the slot.
func (f *concurrencyLimiter) wait(ctx context.Context, caller api.Caller, client string) (slot, error) {
	for {
		p := slot{limiter: f}
		f.mu.Lock()
		err := error(errOverloaded)
		if f.total < f.limit.All {
			err = p.joinGroupLocked(caller, client)
		}
		if err == nil {
			f.total++
		} else if f.freed == nil {
			f.freed = make(chan struct{})
		}
		freed := f.freed
		f.mu.Unlock()
		if err == nil {
			return p, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return slot{}, err
		}
	}
}

// release gives the slot back.
func (p *slot) release() {
	f := p.limiter
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total--
	if f.freed != nil {
		close(f.freed)
		f.freed = nil
	}
	if !p.inGroup {
		return
	}
	f.byClass[p.class]--
	if f.groups[p.group]--; f.groups[p.group] == 0 {
		delete(f.groups, p.group)
	}
}
