package qrcode

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
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
		Log: slog.New(slog.DiscardHandler), Wake: func(*storage.Kind) {},
	}
	accounts, events := account.New(e), event.New(e)
	s := &shop{store: store, Service: New(e, Config{
		Accounts: accounts, Payments: payment.New(e, events), Events: events,
		Messages: message.New(e, nil), Codec: NewCodec(make([]byte, 32)), BaseURL: "https://pay.example.com",
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
func BenchmarkPay(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			s := openShop(b, filepath.Join(b.TempDir(), "pay.db"))
			before := s.store.Stats()
			var next atomic.Int64
			var all sync.WaitGroup
			b.ResetTimer()
			for range callers {
				all.Go(func() {
					for {
						n := next.Add(1)
						if n > int64(b.N) {
							return
						}
						if err := s.payOne(b.Context(), n); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.StopTimer()
			each := float64(b.Elapsed()) / float64(b.N)
			now := s.store.Stats()
			group := float64(now.Updates-before.Updates) / float64(now.Commits-before.Commits)
			b.ReportMetric(group, "group")
			b.ReportMetric(barePayment(b, int(math.Round(group)), b.N)/each, "of-limit")
		})
	}
}

// barePayment returns the nanoseconds that the rows of one payment take to write
// without any of the library: no reads, no rules, no JSON.
func barePayment(b *testing.B, group, n int) float64 {
	path := filepath.Join(b.TempDir(), "bare.db")
	s := openShop(b, path)
	check(b, s.payOne(b.Context(), 1))

	db, err := sql.Open("sqlite", "file:"+path+"?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=2000&_txlock=immediate")
	check(b, err)
	defer db.Close()
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	check(b, err)
	defer conn.Close()
	_, err = conn.ExecContext(ctx, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY")
	check(b, err)

	// The payment above is the pattern: its rows are written again with new ids.
	paid := newPattern(b, conn, "payments", "id")
	rows := []*patternRow{
		paid, newPattern(b, conn, "events", "id"), newPattern(b, conn, "events", "id"),
		newPattern(b, conn, "messages", "id"), newPattern(b, conn, "messages", "id"),
		newPattern(b, conn, "idempotency_keys", "id"),
		newPattern(b, conn, "ledger_postings", "id"),
	}
	ofCode := paid.column(b, "qr_code")
	merchant, wallets := bareAccounts(b, conn)
	prepare := func(query string) *sql.Stmt {
		stmt, err := conn.PrepareContext(ctx, query)
		check(b, err)
		return stmt
	}
	code := prepare("UPDATE qr_codes SET version = version + 1, data = data WHERE merchant = ? AND live = 0 AND id = ?")
	account := prepare("UPDATE ledger_accounts SET balance = ?, entries = ? WHERE id = ?")
	entry := prepare("INSERT INTO ledger_entries (account, number, posting, amount, balance) VALUES (?, ?, ?, ?, ?)")
	begin, commit := prepare("BEGIN IMMEDIATE"), prepare("COMMIT")
	run := func(stmt *sql.Stmt, args ...any) {
		_, err := stmt.ExecContext(ctx, args...)
		check(b, err)
	}

	start := time.Now()
	for i := range n {
		if i%group == 0 {
			run(begin)
		}
		var posting string
		paid.values[ofCode] = s.codes[i%len(s.codes)]
		for _, r := range rows {
			posting = r.insert(b, i)
		}
		run(code, s.caller.Merchant, s.codes[i%len(s.codes)])
		for side, a := range []*bareAccount{merchant, wallets[i%len(wallets)]} {
			amount := int64(1 - 2*side)
			a.entries++
			a.balance += amount
			run(account, a.balance, a.entries, a.id)
			run(entry, a.id, a.entries, posting, amount, a.balance)
		}
		if i%group == group-1 || i == n-1 {
			run(commit)
		}
	}
	return float64(time.Since(start)) / float64(n)
}

type bareAccount struct{ id, balance, entries int64 }

// bareAccounts reads the merchant's account and those of the wallets.
func bareAccounts(b *testing.B, conn *sql.Conn) (merchant *bareAccount, wallets []*bareAccount) {
	rows, err := conn.QueryContext(context.Background(), "SELECT id, balance, entries, name FROM ledger_accounts")
	check(b, err)
	defer rows.Close()
	for rows.Next() {
		var a bareAccount
		var name string
		check(b, rows.Scan(&a.id, &a.balance, &a.entries, &name))
		switch {
		case strings.Contains(name, "/wallet/"):
			wallets = append(wallets, &a)
		case strings.HasSuffix(name, "/available"):
			merchant = &a
		}
	}
	check(b, rows.Err())
	return merchant, wallets
}

// patternRow is a row that is inserted again and again with another id.
type patternRow struct {
	stmt    *sql.Stmt
	columns []string
	values  []any
	id      int
	prefix  string
}

var patterns atomic.Int64

func newPattern(b *testing.B, conn *sql.Conn, table, id string) *patternRow {
	ctx := context.Background()
	rows, err := conn.QueryContext(ctx, "SELECT * FROM "+table+" ORDER BY "+id+" DESC LIMIT 1")
	check(b, err)
	defer rows.Close()
	columns, err := rows.Columns()
	check(b, err)
	r := &patternRow{columns: columns, values: make([]any, len(columns))}
	into := make([]any, len(columns))
	for i := range into {
		into[i] = &r.values[i]
		if columns[i] == id {
			r.id = i
		}
	}
	if !rows.Next() {
		b.Fatal("no row in ", table)
	}
	check(b, rows.Scan(into...))
	check(b, rows.Close())
	marks := strings.TrimSuffix(strings.Repeat("?,", len(columns)), ",")
	r.stmt, err = conn.PrepareContext(ctx, "INSERT INTO "+table+" VALUES ("+marks+")")
	check(b, err)
	r.prefix = fmt.Sprintf("z%02d_", patterns.Add(1)%100)
	return r
}

func (r *patternRow) column(b *testing.B, name string) int {
	i := slices.Index(r.columns, name)
	if i < 0 {
		b.Fatal("no column ", name)
	}
	return i
}

func (r *patternRow) insert(b *testing.B, n int) (id string) {
	id = fmt.Sprintf("%s%020d", r.prefix, n)
	r.values[r.id] = id
	_, err := r.stmt.ExecContext(context.Background(), r.values...)
	check(b, err)
	return id
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
				_, err := Draw("https://pay.example.com/pay/qr_0VbZaxaM0000ILT9nzQto4", PNG, size)
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
