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
	// Page bounds the requests without a key of each client address: 64.
	Page int
	// All bounds all requests together: 1,024. Test mode and the requests without a key
	// have half of it, so that they cannot stop live mode.
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
var heavyInFlight = InFlight{Live: 4, Test: 4, Page: 4, All: 16}

// flights counts the requests that are worked on.
type flights struct {
	limit InFlight

	mu     sync.Mutex
	all    int
	spare  int // of all, those that must leave half to live mode
	groups map[storage.Scope]int
	freed  chan struct{} // closed when a place is given back
}

func newFlights(limit InFlight) *flights {
	return &flights{limit: limit.withDefaults(), groups: make(map[storage.Scope]int), freed: make(chan struct{})}
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
	spare   bool
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
	group, limit := caller.Scope(), f.limit.Test
	switch {
	case caller.Live:
		limit = f.limit.Live
	case caller.Merchant == "":
		group, limit = storage.Scope{Merchant: "address " + client}, f.limit.Page
	}
	if f.groups[group] >= limit {
		return errManyOfYours
	}
	if !group.Live && f.spare >= f.limit.All/2 {
		return errManyOfAll
	}
	f.groups[group]++
	p.group, p.grouped, p.spare = group, true, !group.Live
	if p.spare {
		f.spare++
	}
	return nil
}

// wait is begin and join, as soon as there are both places. It fails when ctx ends
// before. end follows.
func (f *flights) wait(ctx context.Context, caller api.Caller, client string) (flight, error) {
	for {
		p := flight{of: f}
		f.mu.Lock()
		freed, err := f.freed, error(errManyOfAll)
		if f.all < f.limit.All {
			err = p.joinLocked(caller, client)
		}
		if err == nil {
			f.all++
		}
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
	close(f.freed)
	f.freed = make(chan struct{})
	if p.spare {
		f.spare--
	}
	if !p.grouped {
		return
	}
	if f.groups[p.group]--; f.groups[p.group] == 0 {
		delete(f.groups, p.group)
	}
}
