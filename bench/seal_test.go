package bench

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// BenchmarkSeal seals a hot merchant's entries. ns/entry is the worker's cost of one; the booking
// call pays nothing.
func BenchmarkSeal(b *testing.B) {
	ctx := b.Context()
	svc := must.Get(payments.New(ctx, memory.New(), payments.Config{Key: make([]byte, 32), Logger: slog.New(slog.DiscardHandler)}))(b)
	to := must.Get(svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "M"}))(b).ID
	const batch = 2000
	for b.Loop() {
		b.StopTimer()
		for i := range batch {
			must.Do(b, svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: to, Amount: decimal.NewFromInt(1), Source: "bank", Ref: fmt.Sprint("r", i)}))
		}
		b.StartTimer()
		sealed := must.Get(svc.Accounts.Seal(ctx))(b)
		must.True(b, sealed == 2*batch, "%d entries are sealed", sealed)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*2*batch), "ns/entry")
}
