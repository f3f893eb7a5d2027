package collect

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/spreadsheet"
	"github.com/seed-7082ffec/payments/payment"
)

// exportColumns head the export. Amounts are in GHS.
var exportColumns = []string{
	"id", "created_at", "status", "amount", "currency", "payment_method", "provider", "phone", "qr_code", "invoice", "reference",
	"amount_refunded", "description", "completed_at", "fee", "net", "failure_reason", "provider_reference", "customer", "checkout_session", "subscription",
}

func (s *Service) Export(ctx context.Context, caller api.Caller, p payment.ExportParams) error {
	return spreadsheet.Write(p.Writer, exportColumns, func(after string) (*api.List[payment.Payment], error) {
		p.Page = api.Page{Limit: api.MaxLimit, StartingAfter: after}
		return s.List(ctx, caller, p.ListParams)
	}, func(p *payment.Payment) string { return p.ID }, func(p *payment.Payment) []string {
		return []string{
			p.ID, spreadsheet.Time(&p.CreatedAt), string(p.Status), spreadsheet.GHS(p.Amount), p.Currency,
			spreadsheet.Text(&p.PaymentMethod), spreadsheet.Text(p.Provider), spreadsheet.Text(p.Phone), spreadsheet.Text(p.QRCode),
			spreadsheet.Text(p.Invoice), spreadsheet.Text(&p.Reference), spreadsheet.GHS(p.AmountRefunded),
			spreadsheet.Text(&p.Description), spreadsheet.Time(p.CompletedAt), exportAmount(p.Fee), exportAmount(p.Net),
			spreadsheet.Text(p.FailureReason), spreadsheet.Text(p.ProviderReference), spreadsheet.Text(p.Customer),
			spreadsheet.Text(p.CheckoutSession), spreadsheet.Text(p.Subscription),
		}
	}, p.Progress)
}

// exportAmount writes pesewas as GHS; nil gives "".
func exportAmount(pesewas *int64) string {
	if pesewas == nil {
		return ""
	}
	return spreadsheet.GHS(*pesewas)
}
