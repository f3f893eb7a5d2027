package sqlstore

import (
	"math"

	"github.com/seed-7082ffec/payments/storage"
)

// due returns the records that a claim takes over.
func (t *readTx) due(b *Table, c storage.Claim) ([]storage.Record, error) {
	if len(c.Clocks) == 0 {
		return t.records(b, c.Limit, b.Kind.Columns, nil, nil, b.due, c.Due.UnixMilli(), c.Now.UnixMilli(), c.Limit)
	}
	var all []storage.Record
	for clocks := c.Clocks; len(clocks) > 0 && len(all) < c.Limit; {
		text, n := b.byClock, 1
		if len(clocks) > 1 {
			text, n = b.byClocks, clocksAtOnce
		}
		left := c.Limit - len(all)
		args := make([]any, 0, 4*n+1)
		for i := range n {
			// What is missing is filled with clocks by which nothing is due.
			merchant, due := "", int64(math.MinInt64)
			if i < len(clocks) && t.store.storable(clocks[i].Scope.Merchant) {
				merchant, due = clocks[i].Scope.Merchant, clocks[i].Now.UnixMilli()
			}
			args = append(args, merchant, due, c.Now.UnixMilli(), left)
		}
		records, err := t.records(b, left, b.Kind.Columns, nil, nil, text, append(args, left)...)
		if err != nil {
			return nil, err
		}
		all, clocks = append(all, records...), clocks[min(n, len(clocks)):]
	}
	return all, nil
}
