package host_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hostDB is a host's own use of the database that the store is in.
type hostDB struct {
	begin func() (tx hostTx, store storage.Store)
	count func() int // of the host's rows
	// blocked begins a transaction whose first update must begin again, because of
	// what others did, until free is called.
	blocked func(s *paymentstest.Shop) (tx hostTx, store storage.Store, free func())
	all     storage.Store
}

type hostTx struct {
	insert           func() error // a row of the host's
	commit, rollback func() error
}

func onEachHost(t *testing.T, config payments.Config, test func(*testing.T, *paymentstest.Shop, hostDB)) {
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "payments.db")
		store := must.Get(sqlite.Open(t.Context(), path, sqlite.Config{}))(t)
		s := paymentstest.NewWithStore(t, store, config)
		db := must.Get(sql.Open("sqlite", "file:"+path+"?_journal_mode=WAL&_busy_timeout=2000&_txlock=immediate"))(t)
		t.Cleanup(func() { must.Do(t, db.Close()) })
		must.Get(db.Exec("CREATE TABLE host_orders (id INTEGER PRIMARY KEY)"))(t)
		begin := func(db *sql.DB) (hostTx, storage.Store) {
			tx := must.Get(db.Begin())(t)
			insert := func() error { _, err := tx.Exec("INSERT INTO host_orders DEFAULT VALUES"); return err }
			return hostTx{insert, tx.Commit, tx.Rollback}, store.In(tx)
		}
		test(t, s, hostDB{
			all:   store,
			begin: func() (hostTx, storage.Store) { return begin(db) },
			blocked: func(s *paymentstest.Shop) (hostTx, storage.Store, func()) {
				// Without _txlock, it reads before another transaction writes.
				late := must.Get(sql.Open("sqlite", "file:"+path+"?_journal_mode=WAL&_busy_timeout=2000"))(t)
				t.Cleanup(func() { must.Do(t, late.Close()) })
				tx, own := begin(late)
				must.Do(t, own.View(t.Context(), func(tx storage.ReadTx) error { _, err := tx.Balances("", 1); return err }))
				s.Fund(s.Caller.Merchant, 1)
				return tx, own, func() {}
			},
			count: func() (n int) { must.Do(t, db.QueryRow("SELECT count(*) FROM host_orders").Scan(&n)); return n },
		})
	})
	t.Run("postgres", func(t *testing.T) {
		pool, schema := pgtest.Pool(t, 8), pgtest.Schema(t)
		store := must.Get(postgres.Open(t.Context(), pool, postgres.Config{Schema: schema}))(t)
		s := paymentstest.NewWithStore(t, store, config)
		ctx := context.Background()
		must.Get(pool.Exec(ctx, "CREATE TABLE "+schema+".host_orders (id bigserial PRIMARY KEY)"))(t)
		begin := func(set string) (hostTx, storage.Store) {
			tx := must.Get(pool.BeginTx(ctx, pgx.TxOptions{}))(t)
			must.Get(tx.Exec(ctx, set))(t)
			insert := func() error { _, err := tx.Exec(ctx, "INSERT INTO "+schema+".host_orders DEFAULT VALUES"); return err }
			return hostTx{insert, func() error { return tx.Commit(ctx) }, func() error { return tx.Rollback(ctx) }}, store.In(tx)
		}
		test(t, s, hostDB{
			all:   store,
			begin: func() (hostTx, storage.Store) { return begin("") },
			blocked: func(*paymentstest.Shop) (hostTx, storage.Store, func()) {
				// It does not wait for one who writes, and takes his time.
				slow, writes := begin("")
				must.Do(t, writes.Update(ctx, func(storage.Tx) error { return nil }))
				tx, own := begin("SET LOCAL lock_timeout = '10ms'")
				return tx, own, func() { must.Do(t, slow.rollback()) }
			},
			count: func() (n int) {
				must.Do(t, pool.QueryRow(ctx, "SELECT count(*) FROM "+schema+".host_orders").Scan(&n))
				return n
			},
		})
	})
}

// A disbursement in the host's transaction is committed with the host's row, or
// not at all.
func TestOwnTransaction(t *testing.T) {
	onEachHost(t, payments.Config{}, func(t *testing.T, s *paymentstest.Shop, db hostDB) {
		ctx := t.Context()
		if _, err := s.InTx(ctx, db.all); err == nil {
			t.Error("InTx takes the store itself, in which each call commits alone")
		}
		s.Fund(s.Caller.Merchant, 100)
		wallet := must.Get(s.Accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Ama", Phone: "0241234567"}))(t)
		pay := func(own *payments.Tx, key string, ghs int64) error {
			caller := s.Caller
			caller.IdempotencyKey = key
			_, err := own.Disbursements.Create(ctx, caller, disbursement.CreateParams{
				Amount: decimal.NewFromInt(ghs), Destination: payout.DestinationParams{Type: "service_wallet", ServiceID: wallet.ServiceID},
			})
			return err
		}
		check := func(what string, rows int, paid int64) {
			t.Helper()
			b := must.Get(s.Accounts.WalletBalance(ctx, api.Caller{}, wallet.ID))(t)
			n := db.count()
			expect.Equal(t, n, rows, "%s: rows", what)
			expect.True(t, b.Equal(decimal.NewFromInt(paid)), "%s: %s paid, want %d", what, b, paid)
		}
		in := func(end func(hostTx) error, do func(*payments.Tx)) { inHost(t, s, db, end, do).Wake() }

		in(rollback, func(own *payments.Tx) { must.Do(t, pay(own, "a", 10)) })
		check("rolled back", 0, 0)
		in(commit, func(own *payments.Tx) {
			must.Do(t, pay(own, "a", 10))
			must.Do(t, pay(own, "a", 10)) // a repetition, within the same transaction
			testkit.WantCode(t, "too much", pay(own, "b", 19_000), api.InsufficientBalance)
			must.Do(t, pay(own, "c", 5)) // it goes on after a refusal
		})
		check("committed", 1, 15)
		in(commit, func(own *payments.Tx) { must.Do(t, pay(own, "a", 10)) })
		check("repeated", 2, 15)
		expect.NoError(t, s.Drain(ctx), "Drain")
		// The store itself goes on, and knows what was committed beside it.
		s.Fund(s.Caller.Merchant, 1)
		check("afterwards", 2, 15)
	})
}

// Inside the host's transaction no caller can guess a code or a PIN, because the
// count of tries would be the host's to undo; a code that was verified before
// stands.
func TestOwnTransactionTakesNoGuess(t *testing.T) {
	onEachHost(t, payments.Config{}, func(t *testing.T, s *paymentstest.Shop, db hostDB) {
		ctx := t.Context()
		s.Fund(s.Caller.Merchant, 100)
		tx, store := db.begin()
		defer tx.rollback()
		own := must.Get(s.InTx(ctx, store))(t)
		params := payout.CreateParams{
			Amount: decimal.NewFromInt(5), OTPCode: "123456",
			Destination: payout.DestinationParams{Type: "mobile_money", PhoneNumber: "0241234567", AccountName: "Ama Mensah"},
		}
		expect.ErrorIs(t, testkit.Err(own.Payouts.Create(ctx, s.Caller, params)), api.ErrSecretInTx, "a payout with a code")
		expect.ErrorIs(t, testkit.Err(own.Payouts.VerifyOTP(ctx, s.Caller, payout.OTPParams{Purpose: payout.ForPayout, Code: "123456"})), api.ErrSecretInTx, "verify")
		params.OTPCode = ""
		testkit.WantCode(t, "a payout without a verified code", testkit.Err(own.Payouts.Create(ctx, s.Caller, params)), api.OTPVerificationRequired)
		amount := int64(500)
		code := must.Get(own.QRCodes.Create(ctx, s.Caller, qrcode.CreateParams{Amount: &amount}))(t)
		pay := qrcode.PayParams{Wallet: account.WalletRef{Phone: "0241234567"}, PIN: "1234"}
		expect.ErrorIs(t, testkit.Err(own.QRCodes.Pay(ctx, s.Caller, code.ID, pay)), api.ErrSecretInTx, "a PIN")
	})
}
