package engine

import (
	"cmp"
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
	var pages []*api.List[storage.Record]
	for _, conditions := range either {
		one := q
		one.Where = slices.Concat(conditions, q.Where)
		found, more, err := l.records(tx, one, p)
		if err != nil {
			return nil, err
		}
		pages = append(pages, &api.List[storage.Record]{Data: found, HasMore: more})
	}
	all := Union(pages, func(r *storage.Record) string { return r.ID }, p)
	return l.show(all.Data, all.HasMore)
}

// Union merges the pages of several lists into the page of the merged list, with each object once. All pages
// were read with the same p, and have the newest ids first.
func Union[T any](pages []*api.List[T], id func(*T) string, p api.Page) *api.List[T] {
	all, end := &api.List[T]{}, "" // the end of the page that ends first
	newer := p.EndingBefore != ""
	for _, page := range pages {
		all.Data, all.HasMore = append(all.Data, page.Data...), all.HasMore || page.HasMore
		if !page.HasMore {
			continue
		}
		if first := id(&page.Data[0]); !newer {
			end = max(end, id(&page.Data[len(page.Data)-1]))
		} else if end == "" || first < end {
			end = first
		}
	}
	if end != "" { // past the end of a page with more to come, objects of its list are missing
		all.Data = slices.DeleteFunc(all.Data, func(o T) bool { return id(&o) != end && (id(&o) > end) == newer })
	}
	slices.SortFunc(all.Data, func(a, b T) int { return cmp.Compare(id(&b), id(&a)) })
	all.Data = slices.CompactFunc(all.Data, func(a, b T) bool { return id(&a) == id(&b) })
	if over := len(all.Data) - p.Size(); over > 0 {
		from := 0
		if newer {
			from = over
		}
		all.Data, all.HasMore = all.Data[from:from+p.Size()], true
	}
	return all
}
