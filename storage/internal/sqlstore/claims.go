package sqlstore

import (
	"cmp"
	"math"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// claimable returns the records that a claim takes over.
func (t *readTx) claimable(table *Table, c storage.Claim) ([]storage.Record, error) {
	if len(c.Clocks) == 0 {
		return t.records(table, c.Limit, table.Kind.Columns, nil, nil, table.claimDue, c.Live, c.Due.UnixMilli(), c.Now.UnixMilli(), c.Limit)
	}
	var all []storage.Record
	for clocks := c.Clocks; len(clocks) > 0 && len(all) < c.Limit; {
		text, n := table.claimByClock, 1
		if len(clocks) > 1 {
			text, n = table.claimByClocks, clocksAtOnce
		}
		left := c.Limit - len(all)
		args := make([]any, 0, 5*n+1)
		for i := range n {
			// Clocks by which nothing is due fill the rest of the statement.
			merchant, due, limit := "", int64(math.MinInt64), left
			if i < len(clocks) && t.store.validText(clocks[i].Scope.Merchant) {
				merchant, due = clocks[i].Scope.Merchant, clocks[i].Now.UnixMilli()
				limit = min(cmp.Or(clocks[i].Limit, left), left)
			}
			args = append(args, c.Live, merchant, due, c.Now.UnixMilli(), limit)
		}
		records, err := t.records(table, left, table.Kind.Columns, nil, nil, text, append(args, left)...)
		if err != nil {
			return nil, err
		}
		all, clocks = append(all, records...), clocks[min(n, len(clocks)):]
	}
	return all, nil
}

// Backlog implements [storage.ReadTx].
func (t *readTx) Backlog(k *storage.Kind, due time.Time, limit int) (storage.Backlog, error) {
	table, err := t.tableToQuery(k, k.CheckBacklog(due, limit))
	if err != nil {
		return storage.Backlog{}, err
	}
	var all storage.Backlog
	for _, live := range []bool{false, true} {
		err = t.query("count", k.Name, func(row Row) error {
			var count int
			var oldest int64
			if err := row.Scan(&count, &oldest); err != nil || count == 0 {
				return err
			}
			if at := fromMillis(oldest); all.Count == 0 || at.Before(all.Oldest) {
				all.Oldest = at
			}
			all.Count = min(all.Count+count, limit)
			return nil
		}, table.backlog, live, due.UnixMilli(), limit)
		if err != nil {
			return storage.Backlog{}, err
		}
	}
	return all, nil
}

// NextDue implements [storage.ReadTx].
func (t *readTx) NextDue(k *storage.Kind, from storage.Scope, limit int) ([]storage.Due, error) {
	table, err := t.tableToQuery(k, k.CheckNextDue(limit))
	if err != nil {
		return nil, err
	}
	return collect(t, k.Name, func(row Row) (storage.Due, error) {
		next, due := storage.Due{Scope: from}, int64(0)
		err := row.Scan(&next.Scope.Merchant, &due)
		next.At = fromMillis(due)
		return next, cmp.Or(err, t.ctx.Err())
	}, table.nextDue, from.Live, t.store.cursorText(from.Merchant), from.Live, from.Live, limit)
}
