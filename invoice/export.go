package invoice

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
)

// exportColumns head the export. Amounts are in GHS.
var exportColumns = []string{
	"invoice_number", "id", "status", "invoice_date", "due_date", "customer_name", "customer_email", "customer_phone",
	"subtotal", "tax", "discount", "total", "amount_paid", "amount_due", "currency", "paid_at", "payment", "description",
}

// Export writes the invoices that the parameters select as CSV, newest first,
// with the payment of each; the page of the parameters is ignored. It reads page
// by page, so that it takes little memory and holds up nobody.
//
// A cell that a spreadsheet would take for a formula is written with an apostrophe
// before it.
func (s *Service) Export(ctx context.Context, caller api.Caller, w io.Writer, p ListParams) error {
	c := csv.NewWriter(w)
	if err := c.Write(exportColumns); err != nil {
		return fmt.Errorf("invoice: export: %w", err)
	}
	p.Page = api.Page{Limit: api.MaxLimit}
	for {
		list, err := s.List(ctx, caller, p)
		if err != nil {
			return err
		}
		for i := range list.Data {
			if err := c.Write(list.Data[i].row()); err != nil {
				return fmt.Errorf("invoice: export: %w", err)
			}
		}
		c.Flush()
		if err := c.Error(); err != nil {
			return fmt.Errorf("invoice: export: %w", err)
		}
		if !list.HasMore {
			return nil
		}
		p.StartingAfter = list.Data[len(list.Data)-1].ID
	}
}

func (v *Invoice) row() []string {
	ghs := func(pesewas int64) string { return decimal.New(pesewas, -2).StringFixed(2) }
	at := func(t *api.Time) string {
		if t == nil {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	return []string{
		v.Number, v.ID, string(v.Status), at(&v.InvoiceDate), at(v.DueDate),
		cell(v.Name), cell(v.Email), phoneCell(v.Phone),
		ghs(v.Subtotal), ghs(v.Tax), ghs(v.Discount), ghs(v.Total), ghs(v.AmountPaid), ghs(v.AmountDue),
		v.Currency, at(v.PaidAt), cell(v.Payment), cell(v.Description),
	}
}

// cell keeps a spreadsheet from running what people wrote.
func cell(s *string) string {
	if s == nil {
		return ""
	}
	if strings.ContainsAny((*s + " ")[:1], "=+-@\t\r\n|%") {
		return "'" + *s
	}
	return *s
}

// phoneCell leaves the plus of a number alone: what follows is digits only.
func phoneCell(s *string) string {
	if s == nil {
		return ""
	}
	if _, err := strconv.ParseUint(strings.TrimPrefix(*s, "+"), 10, 64); err != nil {
		return cell(s)
	}
	return *s
}
