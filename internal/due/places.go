package due

import (
	"sync"

	"github.com/seed-7082ffec/payments/storage"
)

// places bound how many records of a queue are worked on at a time. A merchant may have
// as many under way as there are places free. So one who is alone has half of them, two
// have a third each, and there is one for who comes next, though the work of all others
// hangs. A nil pointer bounds nothing.
type places struct {
	mu   sync.Mutex
	free int
	held map[string]int // by merchant
	// short says that a claim was not made for want of a place, and missed that the worker
	// was not woken for want of one, which a claim under way may give back.
	short, missed bool
}

// of returns how many more records of a merchant may be begun.
func (p *places) of(merchant string) int { return max(0, (p.free-p.held[merchant]+1)/2) }

// ofAny returns how many may be begun, whosever they are.
func (p *places) ofAny() int {
	most := 0
	for _, n := range p.held {
		most = max(most, n)
	}
	return max(0, (p.free-most+1)/2)
}

// stand reports whether a merchant may begin anything, and whether it may begin more than
// another one.
func (p *places) stand(merchant string) (room, behind bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.of(merchant)
	p.short, p.missed = p.short || n == 0, p.missed || n == 0
	return n > 0, n > p.ofAny()
}

// none reports whether some merchant can begin nothing, and so may stand before others
// in the order of time.
func (p *places) none() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ofAny() == 0
}

// room returns how many records of a merchant may be begun, at most limit.
func (p *places) room(merchant string, limit int) int {
	if p == nil {
		return limit
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(limit, p.of(merchant))
	p.short = p.short || n == 0
	return n
}

// any reserves places that records of any merchant may take, at most limit.
func (p *places) any(limit int) int {
	if p == nil {
		return limit
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reserve(min(limit, p.ofAny()))
}

// some reserves places for merchants whose number is bound elsewhere.
func (p *places) some(limit int) int {
	if p == nil {
		return limit
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reserve(max(0, min(limit, p.free)))
}

// share reserves places for the records of merchants, at most limit, and says how many
// each may have.
func (p *places) share(merchants []string, limit int) (shares []int, all int) {
	each := max(1, limit/len(merchants))
	shares = make([]int, len(merchants))
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	for i, m := range merchants {
		n := min(each, limit-all)
		if p != nil {
			n = p.reserve(min(n, p.of(m)))
		}
		shares[i] = n
		all += n
	}
	return shares, all
}

func (p *places) reserve(n int) int {
	p.free -= n
	p.short = p.short || n == 0
	return n
}

// take takes a place for a record of a merchant, if it may have one.
func (p *places) take(merchant string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of(merchant) == 0 {
		return false
	}
	p.free--
	p.hold(merchant)
	return true
}

func (p *places) hold(merchant string) {
	if p.held == nil {
		p.held = map[string]int{}
	}
	p.held[merchant]++
}

// hold gives the places that were reserved to what was claimed, and the others back.
func (q *queue) hold(reserved int, records []storage.Record) {
	p := &q.places
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free += reserved - len(records)
	for i := range records {
		p.hold(records[i].Scope.Merchant)
	}
	if p.missed && reserved > len(records) {
		p.missed = false
		q.call()
	}
}

// release gives the place of a merchant's record back, and wakes the worker if it was
// short of one.
func (q *queue) release(merchant string) {
	p := &q.places
	p.mu.Lock()
	p.free++
	if p.held[merchant]--; p.held[merchant] == 0 {
		delete(p.held, merchant)
	}
	short, behind := p.short, p.of(merchant) > p.ofAny()
	p.short, p.missed = false, false
	p.mu.Unlock()
	if !short {
		return
	}
	if behind {
		q.turns.look()
	}
	q.call()
}
