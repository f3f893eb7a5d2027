package invoice_test

import (
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/benchbase"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// biller is a merchant on SQLite.
type biller struct {
	*payments.Service
	store  *sqlite.Store
	caller api.Caller
}

func openBiller(b *testing.B, path string) *biller {
	b.Helper()
	store := must.Get(sqlite.Open(b.Context(), path, sqlite.Config{}))(b)
	b.Cleanup(func() { must.Do(b, store.Close()) })
	svc := must.Get(payments.New(b.Context(), store, payments.Config{Logger: slog.New(slog.DiscardHandler)}))(b)
	m := must.Get(svc.Accounts.CreateMerchant(b.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar", Phone: "0301000000"}))(b)
	return &biller{svc, store, api.Caller{Merchant: m.ID, RequestID: svc.NewID("req_")}}
}

// create makes an open invoice of five lines.
func (s *biller) create(b *testing.B, n int64) *invoice.Invoice {
	unit := int64(1999)
	lines := make([]invoice.LineParams, 5)
	for i := range lines {
		lines[i] = invoice.LineParams{Description: "Jollof rice with fish", UnitAmount: &unit, Taxable: new(true), Taxes: invoice.GhanaVAT()}
	}
	caller := s.caller
	caller.IdempotencyKey = fmt.Sprintf("order-%016d", n)
	v, err := s.Invoices.Create(b.Context(), caller, invoice.CreateParams{Fields: invoice.Fields{Lines: lines}, AutoFinalize: true})
	if err != nil {
		b.Error(err)
	}
	return v
}

// BenchmarkCreate creates and finalizes invoices on SQLite, each durable when it
// returns. The metric of-limit is the rate as a share of a bare loop's that writes
// the same rows, as many invoices a commit as the store grouped here.
func BenchmarkCreate(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			s := openBiller(b, filepath.Join(b.TempDir(), "create.db"))
			before := s.store.Stats()
			var next atomic.Int64
			var all sync.WaitGroup
			b.ResetTimer()
			for range callers {
				all.Go(func() {
					for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
						s.create(b, n)
					}
				})
			}
			all.Wait()
			b.StopTimer()
			each := float64(b.Elapsed()) / float64(b.N)
			now := s.store.Stats()
			group := float64(now.Updates-before.Updates) / float64(now.Commits-before.Commits)
			b.ReportMetric(group, "group")

			path := filepath.Join(b.TempDir(), "bare.db")
			bare := openBiller(b, path)
			bare.create(b, 1)
			limit := benchbase.Call{
				Path: path, Insert: []string{"invoices", "events", "events", "idempotency_keys"},
				Vary: map[string][]string{"invoices.token": nil},
			}.Run(b, int(math.Round(group)), b.N)
			b.ReportMetric(limit/each, "of-limit")
		})
	}
}

// BenchmarkPay charges invoices through the charger of test mode on SQLite: the
// attempt and its outcome are two transactions, each durable when it returns.
func BenchmarkPay(b *testing.B) {
	const callers = 64
	s := openBiller(b, filepath.Join(b.TempDir(), "pay.db"))
	ids := make([]string, b.N)
	for n := range ids {
		ids[n] = s.create(b, int64(n)).ID
	}
	pay := func(s *biller, n int, id string) {
		caller := s.caller
		caller.IdempotencyKey = fmt.Sprintf("pay-%016d", n)
		if _, err := s.Invoices.Pay(b.Context(), caller, id, invoice.PayParams{}); err != nil {
			b.Error(err)
		}
	}
	before := s.store.Stats()
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for n := next.Add(1) - 1; n < int64(b.N); n = next.Add(1) - 1 {
				pay(s, int(n), ids[n])
			}
		})
	}
	all.Wait()
	b.StopTimer()
	each := float64(b.Elapsed()) / float64(b.N)
	now := s.store.Stats()
	group := float64(now.Updates-before.Updates) / float64(now.Commits-before.Commits)
	b.ReportMetric(group, "group")

	path := filepath.Join(b.TempDir(), "bare.db")
	bare := openBiller(b, path)
	var paid []string
	for n := range 64 {
		v := bare.create(b, int64(n))
		pay(bare, n, v.ID)
		paid = append(paid, v.ID)
	}
	limit := benchbase.Call{
		Path: path, Insert: []string{"payments", "events", "events", "events", "messages", "idempotency_keys"},
		Touch: "invoices", IDs: paid, Times: 2, Moves: true, Into: true, With: "clearing/charges",
	}.Run(b, max(1, int(math.Round(group/2))), b.N)
	b.ReportMetric(limit/each, "of-limit")
}

func BenchmarkList100(b *testing.B) {
	s := openBiller(b, filepath.Join(b.TempDir(), "list.db"))
	for n := range int64(100) {
		s.create(b, n)
	}
	b.ReportAllocs()
	for b.Loop() {
		list := must.Get(s.Invoices.List(b.Context(), s.caller, invoice.ListParams{Page: api.Page{Limit: 100}}))(b)
		if len(list.Data) != 100 {
			b.Fatal(len(list.Data))
		}
	}
}
