package invoice

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Erase is the [account.Eraser] of invoices: it takes the personal data of a
// customer out of drafts, and returns the addresses and numbers of all invoices.
// What was issued stays as it is, as bookkeeping wants it.
func (s *Service) Erase(ctx context.Context, caller api.Caller, customer string, _ []string) ([]string, error) {
	found := map[string]bool{}
	q := storage.Query{Scope: caller.Scope(), Where: api.Where(nil, "customer", customer), Limit: api.MaxLimit}
	for more := true; more; {
		var last string
		err := s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
			page, further, err := invoices.List(tx, q)
			if err != nil {
				return fmt.Errorf("invoice: list for erasure: %w", err)
			}
			more = further
			for _, o := range page {
				last = o.ID
				for _, to := range []*string{o.Value.Email, o.Value.Phone} {
					if to != nil {
						found[*to] = true // adding it twice does no harm, should this run again
					}
				}
				if o.Value.Status != Draft {
					continue
				}
				o.Value.Email, o.Value.Name, o.Value.Phone, o.Value.Address = nil, nil, nil, nil
				if err := s.replace(tx, o); err != nil {
					return err
				}
				if err := forgetDocument(tx, caller.Scope(), o.ID); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		q.After = last
	}
	var recipients []string
	for to := range found {
		recipients = append(recipients, to)
	}
	return recipients, nil
}

// forgetDocument removes the PDF that was made of an invoice, if there is one.
func forgetDocument(tx storage.Tx, scope storage.Scope, id string) error {
	o, err := pdfs.Get(tx, scope, id)
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = pdfs.Delete(tx, o)
	}
	if err != nil {
		return fmt.Errorf("invoice: forget PDF: %w", err)
	}
	return nil
}
