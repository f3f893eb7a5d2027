package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// eachDue calls yield with the records of a mode that are due by a time, those due longest first, until
// yield returns false.
func (t *table) eachDue(live bool, by time.Time, yield func(*row) bool) {
	until := modeKey(live) + timeKey(by.Add(time.Millisecond)) // due times are whole milliseconds
	t.due.Ascend(modeKey(live), func(key, at string) bool {
		if key >= until {
			return false
		}
		r, _ := t.records.Get(at)
		return yield(r)
	})
}

func (t *tx) Backlog(k *storage.Kind, due time.Time, limit int) (storage.Backlog, error) {
	table, err := t.table(k)
	if err = cmp.Or(err, k.CheckBacklog(due, limit)); err != nil {
		return storage.Backlog{}, err
	}
	var b storage.Backlog
	for _, live := range []bool{false, true} {
		n := 0
		table.eachDue(live, due, func(r *row) bool {
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
	if err = cmp.Or(err, k.CheckNextDue(limit)); err != nil {
		return nil, err
	}
	var next []storage.Due
	seen := map[string]bool{}
	table.eachDue(from.Live, time.UnixMilli(math.MaxInt64-1), func(r *row) bool {
		if r.Scope.Merchant >= from.Merchant && !seen[r.Scope.Merchant] {
			seen[r.Scope.Merchant] = true
			next = append(next, storage.Due{Scope: r.Scope, At: r.Columns[k.Column(k.Due)].(time.Time)})
		}
		return true
	})
	slices.SortFunc(next, func(a, b storage.Due) int { return strings.Compare(a.Scope.Merchant, b.Scope.Merchant) })
	return next[:min(limit, len(next))], nil
}

func (t *tx) Claim(k *storage.Kind, c storage.Claim) ([]storage.Record, error) {
	table, err := t.table(k)
	if err = cmp.Or(err, k.CheckClaim(c)); err != nil {
		return nil, err
	}
	var found []*row
	find := func(scope *storage.Scope, by time.Time, limit int) {
		limit = min(limit, c.Limit-len(found))
		table.eachDue(c.Live, by, func(r *row) bool {
			if limit > 0 && !r.lease.After(c.Now) && (scope == nil || r.Scope == *scope) {
				found = append(found, r)
				limit--
			}
			return limit > 0
		})
	}
	if len(c.Clocks) == 0 {
		find(nil, c.Due, c.Limit)
	}
	for _, clock := range c.Clocks {
		find(&clock.Scope, clock.Now, cmp.Or(clock.Limit, c.Limit))
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
