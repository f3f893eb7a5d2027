package invoicing

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/spreadsheet"
	"github.com/seed-7082ffec/payments/invoice"
)

// exportColumns head the export, which has the names of people. Amounts are in GHS.
var exportColumns = []string{
	spreadsheet.Mark + "invoice_number", "id", "status", "invoice_date", "due_date", "customer_name", "customer_email", "customer_phone",
	"subtotal", "tax", "discount", "total", "amount_paid", "amount_due", "currency", "paid_at", "payment", "description",
	"amount_refunded", "paid_outside",
}

func (s *Service) Export(ctx context.Context, caller api.Caller, p invoice.ExportParams) error {
	return spreadsheet.Write(p.Writer, exportColumns, func(after string) (*api.List[invoice.Invoice], error) {
		return s.listing().ListAfter(ctx, s.engine, engine.Query(caller, p.ListParams), after) // the draft that ended the page before may have been deleted
	}, func(v *invoice.Invoice) string { return v.ID }, exportRow, p.Progress)
}

func exportRow(v *invoice.Invoice) []string {
	return []string{
		v.Number, v.ID, string(v.Status), spreadsheet.Time(&v.InvoiceDate), spreadsheet.Time(v.DueDate),
		spreadsheet.Text(v.Name), spreadsheet.Text(v.Email), spreadsheet.Phone(v.Phone),
		spreadsheet.GHS(v.Subtotal), spreadsheet.GHS(v.Tax), spreadsheet.GHS(v.Discount), spreadsheet.GHS(v.Total),
		spreadsheet.GHS(v.AmountPaid), spreadsheet.GHS(v.AmountDue), v.Currency,
		spreadsheet.Time(v.PaidAt), spreadsheet.Text(v.Payment), spreadsheet.Text(v.Description),
		spreadsheet.GHS(v.AmountRefunded), outOfBandText(v),
	}
}

// outOfBandText returns the method of a payment out of band: "outside" if no method was given, and "" if there
// was no such payment.
func outOfBandText(v *invoice.Invoice) string {
	if v.PaidOutOfBand != nil && *v.PaidOutOfBand == "" {
		return "outside"
	}
	return spreadsheet.Text(v.PaidOutOfBand)
}
