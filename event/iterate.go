package event

import (
	"context"
	"iter"

	"github.com/seed-7082ffec/payments/api"
)

// All goes through the events that the parameters select, newest first, reading
// page by page as it goes; the page of the parameters is ignored. It ends with the
// first error, which it yields.
func (s *Service) All(ctx context.Context, caller api.Caller, p ListParams) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		p.Page = api.Page{Limit: api.MaxLimit}
		for {
			list, err := s.List(ctx, caller, p)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range list.Data {
				if !yield(&list.Data[i], nil) {
					return
				}
			}
			if !list.HasMore {
				return
			}
			p.StartingAfter = list.Data[len(list.Data)-1].ID
		}
	}
}
