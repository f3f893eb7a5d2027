package api

import (
	"context"
	"fmt"
	"iter"
	"reflect"
)

// paged is a pointer to the parameters of a list, which embed [Page] or are one.
type paged[P any] interface {
	*P
	setPage(p Page)
}

func (p *Page) setPage(to Page) { *p = to }

// All iterates over the objects that the list parameters p select, newest first. It reads page by
// page and ignores the Page in p. It yields the first error and then ends.
//
//	for t, err := range api.All(ctx, caller, payout.ListParams{}, svc.Payouts.List) { … }
//
// All does not yield objects that are created during the loop. The loop may delete the objects that
// it gets. If another caller deletes the last object of a page before All reads the next page, All
// ends with resource_missing.
func All[T, P any, PP paged[P]](ctx context.Context, caller Caller, p P, list func(context.Context, Caller, P) (*List[T], error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		PP(&p).setPage(Page{Limit: MaxLimit})
		page, err := list(ctx, caller, p)
		for err == nil {
			var next *List[T]
			for i := range page.Data {
				if i == len(page.Data)-1 && page.HasMore {
					var id string
					if id, err = idOf(&page.Data[i]); err == nil {
						PP(&p).setPage(Page{Limit: MaxLimit, StartingAfter: id})
						next, err = list(ctx, caller, p)
					}
				}
				if !yield(&page.Data[i], nil) {
					return
				}
			}
			if err == nil && next == nil {
				return
			}
			page = next
		}
		yield(nil, err)
	}
}

// idOf returns the id of an object of a list, which is the text field ID.
func idOf(object any) (string, error) {
	value := reflect.Indirect(reflect.ValueOf(object))
	if value.Kind() == reflect.Struct {
		if id := value.FieldByName("ID"); id.IsValid() && id.Kind() == reflect.String {
			return id.String(), nil
		}
	}
	return "", fmt.Errorf("api: %T has no text field ID, so a list of it has no next page", object)
}
