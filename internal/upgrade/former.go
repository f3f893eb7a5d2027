package upgrade

import (
	"errors"
	"fmt"
	"slices"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage"
)

// errOlder means that the program before Version 1 has work to do first.
var errOlder = errors.New("the database is of an older version: run the last version before this one until its background work is done")

// rebuild is the place of a pass that counted old orders for the daily totals. Its id is the name of their
// kind, and Due is nil once they are counted.
type rebuild struct {
	Due *api.Time `json:"due,omitempty"`
}

var rebuilds = storage.NewCollection("daily_total_rebuilds", []storage.Field[rebuild]{
	storage.NullTimeColumn("due", func(r *rebuild) *api.Time { return r.Due }),
}, storage.DueBy("due"))

// tellings are calls of subscribers, which have another kind now.
var tellings = storage.NewCollection("event_tellings", []storage.Field[rebuild]{
	storage.NullTimeColumn("due", func(r *rebuild) *api.Time { return r.Due }),
}, storage.DueBy("due"))

// heads named the newest event, when the ids of events were in the order of their commits.
var heads = storage.NewCollection[struct{}]("event_heads", nil)

// former are kinds that the library once had. Their records go, and their tables stay empty. Those at index n
// are of databases up to version n.
var former = [Version][]*storage.Kind{{rebuilds.Kind(), tellings.Kind()}, {heads.Kind()}}

// formerOf returns the kinds that a database of a version has besides those of the library.
func formerOf(version int) []*storage.Kind { return slices.Concat(former[version:]...) }

// Former returns the kinds that a database of any earlier form may have besides those of the library, for a copy
// of it.
func Former() []*storage.Kind { return formerOf(0) }

// endRebuilds removes the places of the passes, which must have ended.
func endRebuilds(tx storage.Tx, kinds []*storage.Kind) error {
	for _, name := range []string{"payments", "payouts", "disbursements"} {
		o, err := rebuilds.GetOrNew(tx, storage.Scope{}, name)
		if err != nil {
			return err
		}
		if o.Version > 0 && o.Value.Due == nil {
			if err := rebuilds.Delete(tx, o); err != nil {
				return err
			}
			continue
		}
		k, err := kindOf(kinds, name)
		if err != nil {
			return err
		}
		if some, err := tx.Scan(k, storage.Scope{}, "", 1); err != nil {
			return err
		} else if len(some) > 0 || o.Version > 0 {
			return fmt.Errorf("%w: the daily totals leave out some %s", errOlder, name)
		}
	}
	return nil
}
