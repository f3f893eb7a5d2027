package inspector

import (
	"sync"

	"github.com/seed-7082ffec/payments/api"
)

// The limits on concurrent live updates. Each rebuilds its page repeatedly.
const (
	maxStreams         = 64
	maxMerchantStreams = 16
)

// streamLimiter counts the open streams of live updates.
type streamLimiter struct {
	mu         sync.Mutex
	total      int
	byMerchant map[string]int // by merchant
}

var errManyStreams = api.Errorf(api.RateLimited, "", "Too many pages are open with live updates. Close some; this one can be loaded again.")

// acquire counts a stream until the caller calls release.
func (p *streamLimiter) acquire(merchant string) (release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total >= maxStreams || p.byMerchant[merchant] >= maxMerchantStreams {
		return nil, errManyStreams
	}
	if p.byMerchant == nil {
		p.byMerchant = map[string]int{}
	}
	p.total++
	p.byMerchant[merchant]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.total--
		if p.byMerchant[merchant]--; p.byMerchant[merchant] == 0 {
			delete(p.byMerchant, merchant)
		}
	}, nil
}
