package memory

import (
	"cmp"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// eachDue calls yield with the records under a prefix of an index that are due by now,
// until yield returns false.
func (t *table) eachDue(in *dueIndex, prefix string, now time.Time, yield func(*row) bool) {
	until := prefix + dueKey(now.Add(time.Millisecond)) // due times are whole milliseconds
	in.Ascend(prefix, func(key, at string) bool {
		if key >= until {
			return false
		}
		r, _ := t.records.Get(at)
		return yield(r)
	})
}

func (t *tx) Backlog(k *storage.Kind, due time.Time, limit int) (storage.Backlog, error) {
	table, err := t.table(k)
	if err != nil {
		return storage.Backlog{}, err
	}
	if err := k.CheckBacklog(due, limit); err != nil {
		return storage.Backlog{}, err
	}
	var b storage.Backlog
	for _, live := range []bool{false, true} {
		n := 0
		table.eachDue(&table.dueByMode, modeKey(live), due, func(r *row) bool {
			if at := r.Columns[k.Column(k.Due)].(time.Time); n == 0 && (b.Count == 0 || at.Before(b.Oldest)) {
				b.Oldest = at
			}
			n++
			return n < limit
		})
		b.Count = min(b.Count+n, limit)
	}
	return b, nil
}

func (t *tx) NextDue(k *storage.Kind, from storage.Scope, limit int) ([]storage.Due, error) {
	table, err := t.table(k)
	if err != nil {
		return nil, err
	}
	if err := k.CheckNextDue(limit); err != nil {
		return nil, err
	}
	var next []storage.Due
	for key := dueScope(from); len(next) < limit; {
		var first *row
		table.dueByScope.Ascend(key, func(key, at string) bool {
			if strings.HasPrefix(key, modeKey(from.Live)) {
				first, _ = table.records.Get(at)
			}
			return false
		})
		if first == nil {
			break
		}
		next = append(next, storage.Due{Scope: first.Scope, At: first.Columns[k.Column(k.Due)].(time.Time)})
		key = prefixEnd(dueScope(first.Scope))
	}
	return next, nil
}

func (t *tx) Claim(k *storage.Kind, c storage.Claim) ([]storage.Record, error) {
	table, err := t.table(k)
	if err != nil {
		return nil, err
	}
	if err := k.CheckClaim(c); err != nil {
		return nil, err
	}
	var found []*row
	find := func(in *dueIndex, prefix string, now time.Time, limit int) {
		limit = min(limit, c.Limit-len(found))
		table.eachDue(in, prefix, now, func(r *row) bool {
			if limit > 0 && !r.lease.After(c.Now) {
				found = append(found, r)
				limit--
			}
			return limit > 0
		})
	}
	if len(c.Clocks) == 0 {
		find(&table.dueByMode, modeKey(c.Live), c.Due, c.Limit)
	}
	for _, clock := range c.Clocks {
		find(&table.dueByScope, dueScope(clock.Scope), clock.Now, cmp.Or(clock.Limit, c.Limit))
	}
	claimed := make([]storage.Record, len(found))
	for i, r := range found {
		if c.InTx {
			claimed[i] = copyRecord(r.Record)
			continue
		}
		held := &row{Record: copyRecord(r.Record), lease: c.Now.Add(c.Lease)}
		held.Version++
		table.records.Set(recordKey(r.Scope, r.ID), held)
		claimed[i] = copyRecord(held.Record)
	}
	return claimed, nil
}
