package invoicing

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/billing/offering"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
)

func checkFields(f *invoice.Fields) error {
	for _, text := range []struct {
		name  string
		value *string
		limit int
	}{
		{"customer_name", f.Name, api.MaxName},
		{"customer_address", f.Address, api.MaxText},
		{"description", f.Description, api.MaxText},
		{"footer", f.Footer, api.MaxText},
		{"memo", f.Memo, api.MaxText},
	} {
		if err := check.OptionalText(text.name, text.value, text.limit); err != nil {
			return err
		}
	}
	if f.Email != nil {
		if err := check.Email("customer_email", *f.Email); err != nil {
			return err
		}
	}
	if f.Phone != nil {
		number, err := check.AnyPhone("customer_phone", *f.Phone)
		if err != nil {
			return err
		}
		f.Phone = &number
	}
	if err := check.Currency(f.Currency); err != nil {
		return err
	}
	if err := checkCount(len(f.Lines)); err != nil {
		return err
	}
	for i := range f.Lines {
		if err := checkSize(&f.Lines[i]); err != nil {
			return check.Under(lineParam(i), err)
		}
	}
	if m := f.CollectionMethod; m != nil && *m != invoice.SendInvoice && *m != invoice.ChargeAutomatically {
		return api.Invalid("collection_method", "collection_method must be send_invoice or charge_automatically.")
	}
	return check.Metadata(f.Metadata, true)
}

// plainLines returns the lines of a request, and removes a Taxable that only states the default. So a request
// that states the default and one that does not are the same under an idempotency key.
func plainLines(lines []invoice.LineParams) []invoice.LineParams {
	lines = slices.Clone(lines)
	for i := range lines {
		lines[i] = plain(lines[i])
	}
	return lines
}

func plain(p invoice.LineParams) invoice.LineParams {
	if p.Product == "" && len(p.Taxes) == 0 && p.Taxable != nil && !*p.Taxable {
		p.Taxable = nil
	}
	return p
}

// lines makes the lines of a request.
func (s *Service) lines(tx *engine.Tx, params []invoice.LineParams) ([]invoice.Line, error) {
	lines := make([]invoice.Line, len(params))
	for i := range params {
		l, err := s.line(tx, params[i])
		if err != nil {
			return nil, check.Under(lineParam(i), err)
		}
		lines[i] = *l
	}
	return lines, nil
}

// line makes a line. A product fills in what the line does not state.
func (s *Service) line(tx *engine.Tx, p invoice.LineParams) (*invoice.Line, error) {
	if len(p.Taxes) > 0 {
		p.Taxable = offering.TaxableByRate(p.Taxable, &p.Taxes[0].Percent)
	}
	if p.Product != "" {
		if err := check.Text("product", p.Product, api.MaxName); err != nil {
			return nil, err
		}
		product, err := s.config.Catalog.Product(tx, engine.Scope(tx.Caller), p.Product)
		if err != nil {
			return nil, err
		}
		fill(&p, product)
	}
	return newLine(&p, s.config.DefaultTax)
}

// checkFieldReads refuses fields that name what the caller may not read: the invoice shows the customer's data, a
// product's text and price, and what a coupon takes off.
func checkFieldReads(f *invoice.Fields, caller api.Caller) error {
	return cmp.Or(
		check.OptionalReads(caller, "customers", "customer", f.Customer),
		check.OptionalReads(caller, "coupons", "coupon", f.Coupon),
		CheckReads(caller, f.Lines),
	)
}

// CheckReads refuses lines with a product that the caller may not read.
func CheckReads(caller api.Caller, lines []invoice.LineParams) error {
	for i := range lines {
		if err := check.Reads(caller, "products", "product", lines[i].Product); err != nil {
			return check.Under(lineParam(i), err)
		}
	}
	return nil
}

// customer returns the function that reads the customer that the fields name; nil for none. A host's directory is
// asked here, before the transaction. The function reads the library's own records in the transaction.
func (s *Service) customer(ctx context.Context, caller api.Caller, f *invoice.Fields) (func(storage.ReadTx) (*account.Customer, error), error) {
	if f.Customer == nil || *f.Customer == "" {
		return nil, nil
	}
	return s.config.Accounts.FindCustomer(ctx, caller, *f.Customer)
}

// apply writes the fields into an invoice, except the metadata, which only an update merges.
func (s *Service) apply(tx *engine.Tx, r *record, f *invoice.Fields, customer func(storage.ReadTx) (*account.Customer, error)) error {
	before, was := r.Customer, r.person()
	if f.Customer != nil {
		if r.Customer = api.TextOrNil(*f.Customer); r.Customer == nil && before != nil {
			r.UnlinkedCustomer = *before // whose data stays, until it is overwritten or erased
		}
	}
	if customer != nil {
		c, err := customer(tx)
		if err != nil {
			return err
		}
		r.UnlinkedCustomer = ""
		// The former customer's address is not that of another customer.
		if before == nil || *before != *r.Customer {
			r.Address = nil
		}
		r.copyPerson(c)
	}
	old := *r
	for _, text := range []struct {
		given *string
		into  **string
	}{
		{f.Email, &r.Email},
		{f.Name, &r.Name},
		{f.Phone, &r.Phone},
		{f.Address, &r.Address},
		{f.Description, &r.Description},
		{f.Footer, &r.Footer},
		{f.Memo, &r.Memo},
	} {
		if text.given != nil {
			*text.into = api.TextOrNil(*text.given)
		}
	}
	if !r.sharesPerson(old) {
		r.UnlinkedCustomer = ""
	}
	if was != "" && r.person() != was {
		// The PDF may show the former customer, whose erasure would no longer find this invoice.
		if err := forgetDocument(tx, engine.Scope(tx.Caller), r.ID); err != nil {
			return err
		}
	}
	if f.DueDate != nil {
		r.DueDate = api.AtOrNil(*f.DueDate)
	}
	engine.SetGiven(&r.CollectionMethod, f.CollectionMethod)
	if f.Coupon != nil {
		if err := s.putCoupon(tx, r, *f.Coupon); err != nil {
			return err
		}
	}
	engine.SetGiven(&r.InvoiceDiscount, f.Discount)
	lines := r.Lines.Data
	if f.Lines != nil {
		var err error
		if lines, err = s.lines(tx, f.Lines); err == nil {
			err = checkLines(lines)
		}
		if err != nil {
			return err
		}
	}
	return r.setLines(lines)
}

// copyPerson copies a customer's data into the invoice. A host's record may hold invalid data, which is left
// out. If the record has no postal address, the invoice keeps its own.
func (r *record) copyPerson(c *account.Customer) {
	r.Email, r.Name, r.Phone = nil, api.TextOrNil(c.Name), nil
	if check.Email("", c.Email) == nil {
		r.Email = api.TextOrNil(c.Email)
	}
	if number, err := phone.ParseAny(c.Phone); err == nil {
		r.Phone = &number
	}
	if c.Address == "" {
		return
	}
	r.Address = nil
	if check.Text("", c.Address, api.MaxText) == nil {
		r.Address = api.TextOrNil(c.Address)
	}
}
