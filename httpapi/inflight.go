package httpapi

import (
	"context"
	"sync"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage"
)

// InFlight bounds how many requests are worked on at a time, so that no key, and no
// visitor of a page, takes all memory and all connections to the database. What comes
// beyond is answered 429 with Retry-After. It counts in this process only. A field of
// zero or less stands for its default.
type InFlight struct {
	// Live and Test bound the requests of each merchant, in live mode (256) and in test
	// mode (128).
	Live, Test int
	// Page bounds the requests without a key of each client address: 64. An address of
	// IPv6 counts by its network of 48 bits.
	Page int
	// All bounds all requests together: 1,024. Test mode has at most a quarter of it, and
	// the requests without a key another quarter, so that neither can stop the other or
	// live mode.
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
// statements, documents. Those beyond it wait, with their bodies unread.
// One merchant in test mode, or one address, has no more than half of its part.
var heavyInFlight = InFlight{Live: 4, Test: 2, Page: 2, All: 16}

// part is the part of all places that a request takes one of.
type part int

const (
	livePart part = iota
	testPart
	pagePart // requests without a key
)

// flights counts the requests that are worked on.
type flights struct {
	limit InFlight

	mu     sync.Mutex
	all    int
	parts  [3]int // of all, by part; without those that have only begun
	groups map[storage.Scope]int
	freed  chan struct{} // closed when a place is given back; nil while no request waits
}

func newFlights(limit InFlight) *flights {
	return &flights{limit: limit.withDefaults(), groups: make(map[storage.Scope]int)}
}

var (
	errManyOfYours = api.Errorf(api.RateLimited, "", "Too many requests are under way at the same time. Wait for answers before you send more, or try again after the seconds in the header Retry-After.")
	errManyOfAll   = api.Errorf(api.RateLimited, "", "The service is busy. Try again after the seconds in the header Retry-After.")
)

// flight is one request's place. The zero value has none.
type flight struct {
	of      *flights
	group   storage.Scope
	grouped bool
	part    part
}

// begin takes a place among all. end follows.
func (f *flights) begin() (flight, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all >= f.limit.All {
		return flight{}, errManyOfAll
	}
	f.all++
	return flight{of: f}, nil
}

// join takes a place in the request's group as well: those of a merchant and mode, or,
// where there is no key, of a client address.
func (p *flight) join(caller api.Caller, client string) error {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	return p.joinLocked(caller, client)
}

func (p *flight) joinLocked(caller api.Caller, client string) error {
	f := p.of
	group, limit, part := caller.Scope(), f.limit.Test, testPart
	switch {
	case caller.Live:
		limit, part = f.limit.Live, livePart
	case caller.Merchant == "":
		group, limit, part = storage.Scope{Merchant: "address " + network(client, 48)}, f.limit.Page, pagePart
	}
	if f.groups[group] >= limit {
		return errManyOfYours
	}
	if part != livePart && f.parts[part] >= max(1, f.limit.All/4) {
		return errManyOfAll
	}
	f.groups[group]++
	f.parts[part]++
	p.group, p.grouped, p.part = group, true, part
	return nil
}

// wait is begin and join, as soon as there are both places. It fails when ctx ends
// before. end follows.
func (f *flights) wait(ctx context.Context, caller api.Caller, client string) (flight, error) {
	for {
		p := flight{of: f}
		f.mu.Lock()
		err := error(errManyOfAll)
		if f.all < f.limit.All {
			err = p.joinLocked(caller, client)
		}
		if err == nil {
			f.all++
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
			return flight{}, err
		}
	}
}

// end gives the places back.
func (p *flight) end() {
	f := p.of
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all--
	if f.freed != nil {
		close(f.freed)
		f.freed = nil
	}
	if !p.grouped {
		return
	}
	f.parts[p.part]--
	if f.groups[p.group]--; f.groups[p.group] == 0 {
		delete(f.groups, p.group)
	}
}
