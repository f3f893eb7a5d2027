package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage"
)

// AnyTx reads one page of the objects that meet all conditions of q and all of at least one element
// of either. It reads a page for each element, by its first condition, whose column should be Indexed.
func (l Listing[T, O]) AnyTx(tx storage.ReadTx, q storage.Query, either [][]storage.Equal, p api.Page) (*api.List[O], error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	var all []storage.Record
	more, end := false, "" // the end of the page that ends first
	forward := p.EndingBefore != ""
	for _, conditions := range either {
		one := q
		one.Where = slices.Concat(conditions, q.Where)
		found, further, err := l.records(tx, one, p)
		if err != nil {
			return nil, err
		}
		all, more = append(all, found...), more || further
		if !further {
			continue
		}
		if last := found[len(found)-1].ID; !forward {
			end = max(end, last)
		} else if end == "" || found[0].ID < end {
			end = found[0].ID
		}
	}
	if end != "" { // large documents shorten a page, and what follows its end comes before what other pages have there
		all = slices.DeleteFunc(all, func(r storage.Record) bool { return r.ID != end && (r.ID > end) == forward })
	}
	slices.SortFunc(all, func(a, b storage.Record) int { return cmp.Compare(b.ID, a.ID) })
	all = slices.CompactFunc(all, func(a, b storage.Record) bool { return a.ID == b.ID })
	if n := p.Size(); len(all) > n {
		more = true
		if forward {
			all = all[len(all)-n:]
		} else {
			all = all[:n]
		}
	}
	data := make([]O, len(all))
	for i := range all {
		o, err := l.Collection.Decode(all[i])
		if err != nil {
			return nil, fmt.Errorf("search %s: %w", l.Noun, err)
		}
		data[i] = l.Show(&o.Value)
	}
	return api.NewList(l.URL, data, more), nil
}
