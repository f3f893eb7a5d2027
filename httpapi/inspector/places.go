package inspector

import (
	"sync"

	"github.com/seed-7082ffec/payments/api"
)

// How many live updates there are at a time: each builds its page again and again.
const (
	maxStreams         = 64
	maxMerchantStreams = 16
)

// places counts the live updates that are sent.
type places struct {
	mu  sync.Mutex
	all int
	of  map[string]int // by merchant
}

var errManyStreams = api.Errorf(api.RateLimited, "", "Too many pages are open with live updates. Close some; this one can be loaded again.")

// take takes a place, which is given back by leave.
func (p *places) take(merchant string) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all >= maxStreams || p.of[merchant] >= maxMerchantStreams {
		return nil, errManyStreams
	}
	if p.of == nil {
		p.of = map[string]int{}
	}
	p.all++
	p.of[merchant]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.all--
		if p.of[merchant]--; p.of[merchant] == 0 {
			delete(p.of, merchant)
		}
	}, nil
}
