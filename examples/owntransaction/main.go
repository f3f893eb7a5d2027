// Command owntransaction commits a shop's own row and a disbursement in one transaction:
// it marks a seller's sale as paid out and moves the money, or does neither.
//
//	go run ./examples/owntransaction
//
// It uses SQLite. On PostgreSQL only open and begin differ: a pgxpool.Pool,
// postgres.Open, and store.In of a pgx.Tx.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

func main() {
	dir, err := os.MkdirTemp("", "owntransaction")
	if err != nil {
		log.Fatal(err)
	}
	err = run(context.Background(), filepath.Join(dir, "shop.db"), os.Stdout)
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		log.Fatal(err)
	}
}

// shop is the host: its own tables and the library share a database.
type shop struct {
	db    *sql.DB
	store *sqlite.Store
	svc   *payments.Service
}

func run(ctx context.Context, path string, out io.Writer) (err error) {
	s := &shop{}
	if s.store, err = sqlite.Open(ctx, path, sqlite.Config{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.store.Close()) }()
	if s.svc, err = payments.New(ctx, s.store, payments.Config{}); err != nil {
		return err
	}
	// _txlock=immediate, because SQLite refuses the write of a transaction that read before
	// another one wrote.
	if s.db, err = sql.Open("sqlite", "file:"+path+"?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=2000&_txlock=immediate"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.db.Close()) }()
	if _, err := s.db.ExecContext(ctx, "CREATE TABLE sales (id TEXT PRIMARY KEY, seller TEXT NOT NULL, cedis INTEGER NOT NULL, paid TEXT)"); err != nil {
		return err
	}

	merchant, err := s.svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Makola Online"})
	if err != nil {
		return err
	}
	seller, err := s.svc.Accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: "0241234567"})
	if err != nil {
		return err
	}
	if err := s.svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: merchant.ID, Amount: decimal.NewFromInt(100), Source: "example"}); err != nil {
		return err
	}
	for id, cedis := range map[string]int{"sale_1": 60, "sale_2": 70} {
		if _, err := s.db.ExecContext(ctx, "INSERT INTO sales (id, seller, cedis) VALUES (?, ?, ?)", id, seller.ServiceID, cedis); err != nil {
			return err
		}
	}

	// The second sale finds too little money, and stays unpaid.
	for _, sale := range []string{"sale_1", "sale_1", "sale_2"} {
		err := s.payOut(ctx, api.Caller{Merchant: merchant.ID}, sale)
		for n := 0; errors.Is(err, storage.ErrRetry) && n < 5; n++ {
			err = s.payOut(ctx, api.Caller{Merchant: merchant.ID}, sale)
		}
		switch {
		case errors.Is(err, errPaid):
			fmt.Fprintln(out, sale, "was paid out before")
		case api.CodeOf(err) == api.InsufficientBalance:
			fmt.Fprintln(out, sale, "must wait for money")
		case err != nil:
			return err
		default:
			fmt.Fprintln(out, sale, "is paid out")
		}
	}
	balance, err := s.svc.Accounts.WalletBalance(ctx, api.Caller{}, seller.ID)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the seller has GHS %s\n", balance.StringFixed(2))
	return nil
}

var errPaid = errors.New("paid before")

// payOut marks a sale as paid and pays it, in one transaction.
func (s *shop) payOut(ctx context.Context, caller api.Caller, sale string) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit

	var seller string
	var cedis int64
	var paid sql.NullString
	if err := tx.QueryRowContext(ctx, "SELECT seller, cedis, paid FROM sales WHERE id = ?", sale).Scan(&seller, &cedis, &paid); err != nil {
		return err
	}
	if paid.Valid {
		return errPaid
	}
	own, err := s.svc.InTx(ctx, s.store.In(tx))
	if err != nil {
		return err
	}
	d, err := own.Disbursements.Create(ctx, caller, disbursement.CreateParams{
		Amount:      decimal.NewFromInt(cedis),
		Destination: payout.DestinationParams{Type: "service_wallet", ServiceID: seller},
		Reference:   sale,
	})
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE sales SET paid = ? WHERE id = ?", d.ID, sale); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	own.Wake()
	return nil
}
