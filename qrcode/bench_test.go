package qrcode

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

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/bareloop"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// shop is a merchant with codes, and consumers with money, on SQLite.
type shop struct {
	*Service
	store     *sqlite.Store
	caller    api.Caller
	codes     []string
	consumers []string
}

func openShop(tb testing.TB, path string) *shop {
	ctx := tb.Context()
	store, err := sqlite.Open(ctx, path, sqlite.Config{})
	check(tb, err)
	tb.Cleanup(func() { check(tb, store.Close()) })
	for _, kinds := range [][]*storage.Kind{
		engine.Kinds(), account.Kinds(), event.Kinds(), message.Kinds(), payment.Kinds(), Kinds(),
	} {
		check(tb, store.Define(ctx, kinds...))
	}
	e := &engine.Engine{
		Store: store, Clock: time.Now, NewID: ids.New(time.Now, nil).Make,
		Log: slog.New(slog.DiscardHandler), Wake: func(*storage.Kind, storage.Scope, time.Time) {},
	}
	accounts, events := account.New(e, account.Config{}), event.New(e)
	s := &shop{store: store, Service: New(e, Config{
		Accounts: accounts, Payments: payment.New(e, events), Events: events,
		Messages: message.New(e, message.Config{}), Codec: NewCodec(make([]byte, 32)), BaseURL: "https://pay.example.com",
	})}
	m, err := accounts.CreateMerchant(ctx, account.MerchantParams{Name: "Adom Juice Bar", Phone: "0301000000"})
	check(tb, err)
	s.caller = api.Caller{Merchant: m.ID, RequestID: e.NewID("req_")}
	for i := range 16 {
		c, err := s.Create(ctx, s.caller, CreateParams{Name: fmt.Sprint("Till ", i), Reference: "till"})
		check(tb, err)
		s.codes = append(s.codes, c.ID)
	}
	for i := range 64 {
		c, err := accounts.CreateConsumer(ctx, account.HolderParams{Name: "Ama Mensah", Phone: fmt.Sprintf("024%07d", i)})
		check(tb, err)
		check(tb, accounts.Deposit(ctx, account.Deposit{To: c.ID, Amount: decimal.NewFromInt(900_000), Source: "test"}))
		s.consumers = append(s.consumers, c.ID)
	}
	return s
}

// payOne pays without the PIN, whose hash is slow on purpose.
func (s *shop) payOne(ctx context.Context, n int64) error {
	amount := int64(1)
	caller := s.caller
	caller.IdempotencyKey = fmt.Sprintf("order-%016d", n)
	consumer := s.consumers[n%int64(len(s.consumers))]
	p := PayParams{Code: s.codes[n%int64(len(s.codes))], Wallet: account.WalletRef{AccountID: consumer}, Amount: &amount}
	_, err := engine.Do(ctx, s.engine, caller, engine.Call{Name: "qr_code.pay", Params: p}, func(tx *engine.Tx) (*payment.Payment, error) {
		return s.payTx(tx, p, consumer)
	})
	return err
}

// BenchmarkPay pays codes on SQLite, each payment durable when it returns. The
// metric of-limit is the rate as a share of a bare loop's, which writes the same
// number of the same rows, over as many codes and wallets, to a database of the
// same schema with kept prepared statements, as many payments a commit as the
// store grouped here. It reads nothing, marshals nothing and can undo nothing.
// times-one is the rate as a multiple of that of one caller, and bare-times-one what
// the bare loop gains by the same grouping: how much there is to be gained depends on
// what a commit costs on the disk at hand, and no store gains more.
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

// payBy has so many callers make n payments.
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

// barePayment returns the nanoseconds that the rows of one payment take to write
// by a bare loop.
func barePayment(b *testing.B, group, n int) float64 {
	path := filepath.Join(b.TempDir(), "bare.db")
	s := openShop(b, path)
	check(b, s.payOne(b.Context(), 1))
	return bareloop.Call{
		Path:   path,
		Insert: []string{"payments", "events", "events", "messages", "messages", "idempotency_keys"},
		Vary:   map[string][]string{"payments.qr_code": s.codes},
		Touch:  "qr_codes", IDs: s.codes, Moves: true, Into: true,
	}.Run(b, group, n)
}

func BenchmarkGet(b *testing.B) {
	s := openShop(b, filepath.Join(b.TempDir(), "get.db"))
	for b.Loop() {
		_, err := s.Get(b.Context(), s.caller, s.codes[0])
		check(b, err)
	}
}

func BenchmarkList100(b *testing.B) {
	s := openShop(b, filepath.Join(b.TempDir(), "list.db"))
	for range 100 {
		_, err := s.Create(b.Context(), s.caller, CreateParams{Name: "Till"})
		check(b, err)
	}
	for b.Loop() {
		list, err := s.List(b.Context(), s.caller, ListParams{Page: api.Page{Limit: 100}})
		check(b, err)
		if len(list.Data) != 100 {
			b.Fatal(len(list.Data))
		}
	}
}

func BenchmarkPNG(b *testing.B) {
	for _, size := range []int{256, 512, 2048} {
		b.Run(fmt.Sprint("size=", size), func(b *testing.B) {
			for b.Loop() {
				_, err := draw("https://pay.example.com/pay/qr_0VbZaxaM0000ILT9nzQto4", PNG, size)
				check(b, err)
			}
		})
	}
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkFirstPNG draws one that is not kept. The metric of-library is how many
// times as long the PNG of skip2/go-qrcode takes, with its own matrix.
func BenchmarkFirstPNG(b *testing.B) {
	text := fmt.Sprint("https://pay.example.com/pay/qr_", time.Now().UnixNano(), "-") // none of an earlier run
	n := 0
	for b.Loop() {
		n++
		_, err := Draw(fmt.Sprintf("%s%06d", text, n), PNG, 256)
		check(b, err)
	}
	each := b.Elapsed() / time.Duration(b.N)
	begun := time.Now()
	const rounds = 200
	for n := range rounds {
		_, err := qr.Encode(fmt.Sprintf("%s%06d", text, n), qr.Medium, 256)
		check(b, err)
	}
	b.ReportMetric(float64(time.Since(begun)/rounds)/float64(each), "of-library")
}
