package faults_test

import (
	"runtime"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/qrcode"
)

// A decimal may say in a few characters what has millions of digits. A host that
// hands on what its client wrote must not be brought down by it. The library refuses it before it writes the
// number out, as it does for the fingerprint of an idempotency key.
func TestHugeExponents(t *testing.T) {
	s := paymentstest.New(t)
	ctx, caller := t.Context(), s.Caller
	caller.IdempotencyKey = "k"
	code := must.Get(s.QRCodes.IssueConsumerCode(ctx, s.Caller, qrcode.IssueConsumerCodeParams{Account: s.Consumer.ID}))(t)
	to := payout.DestinationParams{Type: "mobile_money", PhoneNumber: "0241234567", AccountName: "Ama Mensah"}
	price := int64(1)
	for _, exponent := range []int32{10_000_000, -10_000_000} {
		huge := decimal.New(1, exponent)
		line := invoice.LineParams{Description: "Rice", UnitAmount: &price, Quantity: &huge}
		taxed := invoice.LineParams{Description: "Rice", UnitAmount: &price, Taxable: new(true), TaxPercent: &huge}
		for what, call := range map[string]func() error{
			"payout": func() error {
				_, err := s.Payouts.Create(ctx, caller, payout.CreateParams{Amount: huge, Destination: to, OTPCode: "123456"})
				return err
			},
			"disbursement": func() error {
				_, err := s.Disbursements.Create(ctx, caller, disbursement.CreateParams{Amount: huge, Destination: to})
				return err
			},
			"batch": func() error {
				row := disbursement.RowParams{CreateParams: disbursement.CreateParams{Amount: huge, Destination: to}}
				_, err := s.Disbursements.CreateBatch(ctx, caller, disbursement.CreateBatchParams{Rows: []disbursement.RowParams{row}})
				return err
			},
			"code": func() error {
				_, err := s.Disbursements.CreateQR(ctx, caller, disbursement.CreateQRParams{Payload: code.Payload, Amount: &huge})
				return err
			},
			"invoice": func() error {
				_, err := s.Invoices.Create(ctx, caller, invoice.CreateParams{Fields: invoice.Fields{Lines: []invoice.LineParams{line}}})
				return err
			},
			"tax": func() error {
				_, err := s.Invoices.Create(ctx, caller, invoice.CreateParams{Fields: invoice.Fields{Lines: []invoice.LineParams{taxed}}})
				return err
			},
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := call()
			runtime.ReadMemStats(&after)
			expect.True(t, api.CodeOf(err) != "", "%s of 1e%d: %v", what, exponent, err)
			if used := after.TotalAlloc - before.TotalAlloc; used > 2<<20 {
				t.Errorf("%s of 1e%d took %d KiB of memory", what, exponent, used>>10)
			}
		}
	}
}
