package account_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// An operator adds to a merchant's balance and takes a part back. The statement shows both.
func ExampleService_Adjust() {
	ctx := context.Background()
	day := time.Date(2026, 3, 6, 9, 0, 0, 0, time.UTC)
	n := 0
	svc, err := payments.New(ctx, memory.New(), payments.Config{
		Clock: func() time.Time { return day },
		NewID: func(prefix string) string { n++; return fmt.Sprintf("%s%03d", prefix, n) }, // fixed ids, for the output below
	})
	if err != nil {
		log.Fatal(err)
	}
	merchant, err := svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar"})
	if err != nil {
		log.Fatal(err)
	}
	caller := api.Caller{Merchant: merchant.ID, Live: true}
	for _, p := range []account.AdjustParams{
		{Amount: decimal.NewFromInt(500), Reason: "Top-up, bank transfer of 5 March", Actor: "esi@operator.example"},
		{Amount: decimal.RequireFromString("-12.50"), Reason: "Charged too little in February", Actor: "esi@operator.example"},
	} {
		day = day.Add(time.Hour)
		if _, err := svc.Accounts.Adjust(ctx, caller, p); err != nil {
			log.Fatal(err)
		}
	}
	st, err := svc.Accounts.Statement(ctx, caller, api.Times{From: day.Truncate(24 * time.Hour)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(st.Opening, "+", st.Credits, "-", st.Debits, "=", st.Closing)
	if err := svc.Accounts.StatementCSV(ctx, caller, st, os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 0 + 500 - 12.5 = 487.5
	// created_at,id,type,source,amount,balance,currency
	// 2026-03-06T00:00:00Z,,opening_balance,,,0.00,GHS
	// 2026-03-06T10:00:00Z,txn_003,adjustment,adj_002,500.00,500.00,GHS
	// 2026-03-06T11:00:00Z,txn_005,adjustment,adj_004,-12.50,487.50,GHS
	// ,,closing_balance,,,487.50,GHS
}
