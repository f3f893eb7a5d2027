package invoicing

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
)

// Erase removes a customer's personal data from drafts, including drafts that no longer name the
// customer. Issued invoices keep the data, because the law requires it.
func (s *Service) Erase(ctx context.Context, caller api.Caller, customer string) error {
	for _, column := range []string{"customer", "unlinked"} {
		q := storage.Query{Where: []storage.Equal{{Column: column, Value: customer}, {Column: "status", Value: string(invoice.Draft)}}, Limit: api.MaxLimit}
		err := engine.UpdateEach(ctx, s.engine, caller, invoices, q, func(tx *engine.Tx, o *storage.Object[record]) error {
			o.Value.UnlinkedCustomer = ""
			o.Value.dropPerson()
			if err := s.save(tx, o); err != nil {
				return err
			}
			return forgetDocument(tx, o.Scope, o.ID)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetDocument removes the PDF that was made of an invoice, if there is one.
func forgetDocument(tx storage.Tx, scope storage.Scope, id string) error {
	o, err := engine.OrNil(pdfs.Get(tx, scope, id))
	if o == nil || err != nil {
		return err
	}
	return pdfs.Delete(tx, o)
}
