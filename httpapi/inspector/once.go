package inspector

import "sync"

// doneOnce remembers the newest forms that were posted, for what no idempotency key
// of the services covers: money from nowhere, the clock, a new consumer. A double
// click then does it once. It knows this process only, which is enough for that.
type doneOnce struct {
	mu   sync.Mutex
	keys map[string]bool
	// order has the keys as they came, the oldest at next.
	order [512]string
	next  int
}

// begin reports whether a key is new, and remembers it.
func (d *doneOnce) begin(key string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.keys[key] {
		return false
	}
	if d.keys == nil {
		d.keys = map[string]bool{}
	}
	delete(d.keys, d.order[d.next])
	d.keys[key], d.order[d.next] = true, key
	d.next = (d.next + 1) % len(d.order)
	return true
}

// failed forgets a key, so that it can be tried again.
func (d *doneOnce) failed(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.keys, key)
}
