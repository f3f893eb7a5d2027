package bench

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	qr "github.com/skip2/go-qrcode"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/bench/internal/benchbase"
	"github.com/seed-7082ffec/payments/internal/pin"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// shop is a merchant with codes, and consumers with money, on SQLite.
type shop struct {
	*payments.Service
	store     *sqlite.Store
	caller    api.Caller
	codes     []string
	consumers []string
}

const consumerPIN = "4826"

func openShop(b *testing.B, path string) *shop {
	pin.Weaken() // the hash is slow by design
	ctx := b.Context()
	s := &shop{store: must.Get(sqlite.Open(ctx, path, sqlite.Config{}))(b)}
	b.Cleanup(func() { must.Do(b, s.store.Close()) })
	s.Service = must.Get(payments.New(ctx, s.store, payments.Config{BaseURL: "https://pay.example.com", Logger: slog.New(slog.DiscardHandler)}))(b)
	m := must.Get(s.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar", Phone: "0301000000"}))(b)
	s.caller = api.Caller{Merchant: m.ID, RequestID: s.NewID("req_")}
	for i := range 16 {
		c := must.Get(s.QRCodes.Create(ctx, s.caller, qrcode.CreateParams{Name: fmt.Sprint("Till ", i), Reference: "till"}))(b)
		s.codes = append(s.codes, c.ID)
	}
	for i := range 64 {
		c := must.Get(s.Accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: fmt.Sprintf("024%07d", i)}))(b)
		must.Do(b, s.Accounts.SetPIN(ctx, api.Caller{}, c.ID, account.SetPINParams{PIN: consumerPIN}))
		must.Do(b, s.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: c.ID, Amount: decimal.NewFromInt(900_000), Source: "test"}))
		s.consumers = append(s.consumers, c.ID)
	}
	return s
}

func (s *shop) payOne(ctx context.Context, n int64) error {
	caller := s.caller
	caller.IdempotencyKey = fmt.Sprintf("order-%016d", n)
	_, err := s.QRCodes.Pay(ctx, caller, s.codes[n%int64(len(s.codes))], qrcode.PayParams{
		Wallet: account.WalletRef{AccountID: s.consumers[n%int64(len(s.consumers))]}, PIN: consumerPIN, Amount: new(int64(1)),
	})
	return err
}

// BenchmarkPay pays codes on SQLite. Each payment is durable when it returns. The metric of-limit
// is the rate as a share of a bare loop's. The loop writes the same rows to the same schema with
// prepared statements, with as many payments in a commit as the store grouped. It reads nothing,
// marshals nothing and cannot undo anything. times-one is the rate as a multiple of a single
// caller's. bare-times-one is the bare loop's gain from the same grouping, which is the most that
// any store can gain on this disk.
func BenchmarkPay(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			s := openShop(b, filepath.Join(b.TempDir(), "pay.db"))
			before := s.store.Stats()
			b.ResetTimer()
			s.payBy(b, callers, b.N)
			b.StopTimer()
			each := float64(b.Elapsed()) / float64(b.N)
			now := s.store.Stats()
			group := float64(now.Updates-before.Updates) / float64(now.Commits-before.Commits)
			b.ReportMetric(group, "group")
			bare := barePayment(b, int(math.Round(group)), b.N)
			b.ReportMetric(bare/each, "of-limit")
			if callers > 1 {
				n := max(1, b.N/8)
				s := openShop(b, filepath.Join(b.TempDir(), "one.db"))
				start := time.Now()
				s.payBy(b, 1, n)
				b.ReportMetric(float64(time.Since(start))/float64(n)/each, "times-one")
				b.ReportMetric(barePayment(b, 1, n)/bare, "bare-times-one")
			}
		})
	}
}

// payBy has callers goroutines make n payments.
func (s *shop) payBy(b *testing.B, callers, n int) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if err := s.payOne(b.Context(), i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// barePayment returns the nanoseconds that a bare loop takes to write the rows of one payment.
func barePayment(b *testing.B, group, n int) float64 {
	path := filepath.Join(b.TempDir(), "bare.db")
	s := openShop(b, path)
	must.Do(b, s.payOne(b.Context(), 1))
	return benchbase.Call{
		Path:   path,
		Insert: []string{"payments", "events", "events", "messages", "messages", "idempotency_keys"},
		Vary:   map[string][]string{"payments.qr_code": s.codes},
		Touch:  "qr_codes", IDs: s.codes, Moves: true, Into: true,
	}.Run(b, group, n)
}

// BenchmarkFirstPNG draws a picture that is not cached. The metric of-library is the time of
// skip2/go-qrcode for the same matrix, as a multiple of this package's. The two take turns.
func BenchmarkFirstPNG(b *testing.B) {
	text := fmt.Sprint("https://pay.example.com/pay/qr_", time.Now().UnixNano(), "-") // a text that no earlier run has cached
	var ours, library time.Duration
	n := 0
	for b.Loop() {
		n++
		text := fmt.Sprintf("%s%06d", text, n)
		begun := time.Now()
		must.Get(qrcode.Draw(text, qrcode.PNG, 256))(b)
		ours += time.Since(begun)
		b.StopTimer()
		begun = time.Now()
		must.Get(qr.Encode(text, qr.Medium, 256))(b)
		library += time.Since(begun)
		b.StartTimer()
	}
	b.ReportMetric(float64(library)/float64(ours), "of-library")
}
