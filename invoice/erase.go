package invoice

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Erase removes a customer's personal data from drafts, including drafts that no longer name the
// customer. Issued invoices keep the data, because the law requires it.
func (in *Internal) Erase(ctx context.Context, caller api.Caller, customer string) error {
	for _, column := range []string{"customer", "unlinked"} {
		q := storage.Query{
			Scope: engine.Scope(caller), Limit: api.MaxLimit,
			Where: []storage.Equal{{Column: column, Value: customer}, {Column: "status", Value: string(Draft)}},
		}
		for more := true; more; {
			var last string
			err := in.svc.engine.Update(ctx, caller, func(tx *engine.Tx) error {
				page, further, err := invoices.List(tx, q)
				if err != nil {
					return fmt.Errorf("invoice: list for erasure: %w", err)
				}
				more = further
				for _, o := range page {
					last = o.ID
					o.Value.UnlinkedCustomer = ""
					o.Value.dropPerson()
					if err := in.svc.save(tx, o); err != nil {
						return err
					}
					if err := forgetDocument(tx, engine.Scope(caller), o.ID); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			q.After = last
		}
	}
	return nil
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
