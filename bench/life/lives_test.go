package life

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/bench/internal/httpload"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/webhook"
)

// callers is how many goroutines call the library at a time.
const callers = 64

// call calls do n times, with a number that no other call has.
func (s *server) call(b *testing.B, n int, do func(ctx context.Context, caller api.Caller) error) {
	b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for next.Add(1) <= int64(n) {
				caller := api.Caller{Merchant: s.merchant, RequestID: s.svc.NewID("req_"), IdempotencyKey: s.svc.NewID("order-")}
				if err := do(b.Context(), caller); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

// BenchmarkQRPayment pays a QR code from wallets, until the webhook of each payment is delivered and
// its delivery is on record. The receiver is in this process, so cpu-us/op includes it.
func BenchmarkQRPayment(b *testing.B) {
	overStores(b, func(b *testing.B, _ backend, s *server) {
		var received atomic.Int64
		receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			received.Add(1)
		}))
		defer receiver.Close()
		caller := api.Caller{Merchant: s.merchant}
		endpoint := must.Get(s.svc.Webhooks.Create(b.Context(), caller, webhook.CreateParams{
			URL: receiver.URL, Events: []event.Type{event.PaymentSucceeded},
		}))(b)
		defer func() { must.Get(s.svc.Webhooks.Delete(context.Background(), caller, endpoint.ID))(b) }()
		code := must.Get(s.svc.QRCodes.Create(b.Context(), caller, qrcode.CreateParams{Name: "Till 1"}))(b)
		payers := s.consumers[:16]
		for _, id := range payers {
			must.Do(b, s.svc.Accounts.SetPIN(b.Context(), api.Caller{}, id, account.SetPINParams{PIN: "2580"}))
			must.Do(b, s.svc.Accounts.Deposit(b.Context(), api.Caller{}, account.DepositParams{To: id, Amount: decimal.NewFromInt(900_000), Source: "test"}))
		}
		s.gate.watch("webhook_deliveries", "delivered")
		var next atomic.Int64
		amount := int64(1)
		pay := func(ctx context.Context, caller api.Caller) (err error) {
			payer := payers[next.Add(1)%int64(len(payers))]
			s.gate.request(1, func() {
				_, err = s.svc.QRCodes.Pay(ctx, caller, code.ID, qrcode.PayParams{Wallet: account.WalletRef{AccountID: payer}, PIN: "2580", Amount: &amount})
			})
			return err
		}
		begin := func(n int) *lives {
			return s.await(b, n, maxOpen(callers, 0), func() { s.call(b, n, pay) })
		}
		begin(callers)
		received.Store(0)
		done := begin(b.N)
		if received.Load() != int64(b.N) {
			b.Errorf("the receiver got %d of %d webhooks", received.Load(), b.N)
		}
		report(b, b.N, done.last.Sub(done.first), done.cpu)
		b.ReportMetric(float64(done.peak), "backlog")
	})
}

// BenchmarkBatch disburses batches of 1,000 rows to mobile phones, until the last row has its
// outcome. An op is a row. of-bare is the rate as a share of that of the bare loop of
// BenchmarkTransfer, which writes the rows of as many single transfers.
func BenchmarkBatch(b *testing.B) {
	const size = disbursement.MaxRows
	overStores(b, func(b *testing.B, on backend, s *server) {
		limit := newBareTransfers(b, on.open(b))
		rows := make([]disbursement.RowParams, size)
		for i := range rows {
			rows[i].CreateParams = disbursement.CreateParams{
				Amount: decimal.New(1, -2), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: s.phones[i%len(s.phones)]}, Reference: "salary",
			}
		}
		batches := max(1, b.N/size)
		var took, cpu time.Duration
		var bare float64
		for range batches {
			done := s.await(b, size, 1<<30, func() {
				s.gate.request(size, func() {
					must.Get(s.svc.Disbursements.CreateBatch(b.Context(), api.Caller{Merchant: s.merchant, IdempotencyKey: s.svc.NewID("batch-")},
						disbursement.CreateBatchParams{Rows: rows}))(b)
				})
			})
			took, cpu = took+done.last.Sub(done.first), cpu+done.cpu
			bare += limit.run(b, size) * size
		}
		report(b, batches*size, took, cpu)
		b.ReportMetric(bare/float64(took), "of-bare")
	})
}

// BenchmarkInvoice makes invoices of five lines and charges them with the simulated charger. The
// outcome is on record when a call returns.
func BenchmarkInvoice(b *testing.B) {
	overStores(b, func(b *testing.B, _ backend, s *server) {
		unit := int64(1999)
		lines := make([]invoice.LineParams, 5)
		for i := range lines {
			lines[i] = invoice.LineParams{Description: "Jollof rice with fish", UnitAmount: &unit, Taxable: new(true), Taxes: invoice.GhanaVAT()}
		}
		charge := func(ctx context.Context, caller api.Caller) error {
			v, err := s.svc.Invoices.Create(ctx, caller, invoice.CreateParams{Fields: invoice.Fields{Lines: lines}, AutoFinalize: true})
			if err != nil {
				return err
			}
			caller.IdempotencyKey += "-pay"
			if v, err = s.svc.Invoices.Pay(ctx, caller, v.ID, invoice.PayParams{}); err == nil && v.Status != invoice.Paid {
				err = fmt.Errorf("the invoice is %s", v.Status)
			}
			return err
		}
		s.call(b, callers, charge)
		cpu, begun := httpload.CPUTime(), time.Now()
		s.call(b, b.N, charge)
		report(b, b.N, time.Since(begun), httpload.CPUTime()-cpu)
	})
}
