package work

import (
	"sync"

	"github.com/seed-7082ffec/payments/storage"
)

// slots bound how many records of a queue run at a time. A merchant may start a record while
// it runs fewer than there are free slots. So a merchant that is alone gets half of them, and two get a third
// each. A slot always remains for the next merchant, even when the work of all others hangs.
// A nil pointer bounds nothing.
type slots struct {
	mu    sync.Mutex
	free  int
	inUse map[string]int // by merchant
	// starved says that a claim found no free slot. wakeSkipped says that Wake found none,
	// and did not wake the worker; a claim under way may give slots back.
	starved, wakeSkipped bool
	// backlog says that due records wait for slots. Until a claim has found no more than it
	// has slots for, new records wait behind them.
	backlog bool
}

// allowance returns how many more records of a merchant may start. Each start takes a free slot
// and adds one in use, so it narrows the gap by two.
func (p *slots) allowance(merchant string) int { return max(0, (p.free-p.inUse[merchant]+1)/2) }

// minAllowance returns the allowance of the merchant with the most records under way.
func (p *slots) minAllowance() int {
	most := 0
	for _, n := range p.inUse {
		most = max(most, n)
	}
	return max(0, (p.free-most+1)/2)
}

// noteDue notes that a record of a merchant is due. It reports whether the merchant may start
// one; if not, freeSlot wakes the worker later, and new records wait behind this one.
// belowFairShare reports whether the merchant may start more records than another, and so has
// fewer under way.
func (p *slots) noteDue(merchant string) (free, belowFairShare bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.allowance(merchant)
	if n == 0 {
		p.starved, p.wakeSkipped, p.backlog = true, true, true
	}
	return n > 0, n > p.minAllowance()
}

// exhausted reports whether a merchant may start nothing. Its records may then block others
// in the order of due times.
func (p *slots) exhausted() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.minAllowance() == 0
}

// allow returns how many records of a merchant may start, at most limit.
func (p *slots) allow(merchant string, limit int) int {
	if p == nil {
		return limit
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(limit, p.allowance(merchant))
	p.starved = p.starved || n == 0
	return n
}

// acquireAny takes slots that any merchant may use, at most limit.
func (p *slots) acquireAny(limit int) int {
	if p == nil {
		return limit
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acquire(min(limit, p.minAllowance()))
}

// acquireBounded takes slots, at most limit, for merchants that the caller has bounded
// with allow.
func (p *slots) acquireBounded(limit int) int {
	if p == nil {
		return limit
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acquire(max(0, min(limit, p.free)))
}

// acquireShares takes slots for merchants, at most limit, and returns the number of each.
func (p *slots) acquireShares(merchants []string, limit int) (shares []int, all int) {
	each := max(1, limit/len(merchants))
	shares = make([]int, len(merchants))
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	for i, m := range merchants {
		n := min(each, limit-all)
		if p != nil {
			n = p.acquire(min(n, p.allowance(m)))
		}
		shares[i] = n
		all += n
	}
	return shares, all
}

func (p *slots) acquire(n int) int {
	p.free -= n
	p.starved = p.starved || n == 0
	return n
}

// acquireFor takes a slot for a record of a merchant, if the merchant may have one and no
// older records wait.
func (p *slots) acquireFor(merchant string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.backlog || p.allowance(merchant) == 0 {
		return false
	}
	p.free--
	p.assign(merchant)
	return true
}

// noBacklog notes that a claim has left no due records.
func (p *slots) noBacklog() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backlog = false
}

func (p *slots) assign(merchant string) {
	if p.inUse == nil {
		p.inUse = map[string]int{}
	}
	p.inUse[merchant]++
}

// assign gives acquired slots to the claimed records, and gives the others back. more says that more records
// are due.
func (q *queue) assign(acquired int, records []storage.Record, more bool) {
	p := &q.slots
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backlog = p.backlog || more
	p.free += acquired - len(records)
	for i := range records {
		p.assign(records[i].Scope.Merchant)
	}
	if p.wakeSkipped && acquired > len(records) {
		p.wakeSkipped = false
		q.wakeUp()
	}
}

// freeSlot gives the slot of a merchant's record back, and wakes the worker if it was
// starved.
func (q *queue) freeSlot(merchant string) {
	p := &q.slots
	p.mu.Lock()
	p.free++
	if p.inUse[merchant]--; p.inUse[merchant] == 0 {
		delete(p.inUse, merchant)
	}
	starved, belowFairShare := p.starved, p.allowance(merchant) > p.minAllowance()
	p.starved, p.wakeSkipped = false, false
	p.mu.Unlock()
	if !starved {
		return
	}
	if belowFairShare {
		q.scheduler.requestScan()
	}
	q.wakeUp()
}
