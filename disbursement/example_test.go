package disbursement_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// A salary goes to a wallet and arrives at once. A repetition with the same key does not pay it
// again.
func Example() {
	ctx := context.Background()
	svc, err := payments.New(ctx, memory.New(), payments.Config{})
	if err != nil {
		log.Fatal(err)
	}
	merchant, err := svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar", Phone: "0301000000"})
	if err != nil {
		log.Fatal(err)
	}
	ama, err := svc.Accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: "0241000001"})
	if err != nil {
		log.Fatal(err)
	}
	err = svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: merchant.ID, Amount: decimal.NewFromInt(500), Source: "test"})
	if err != nil {
		log.Fatal(err)
	}

	caller := api.Caller{Merchant: merchant.ID, IdempotencyKey: "salary-2026-03-ama"}
	for range 2 {
		d, err := svc.Disbursements.Create(ctx, caller, disbursement.CreateParams{
			Amount:      decimal.NewFromInt(200),
			Destination: payout.DestinationParams{Type: payout.ServiceWallet, ServiceID: ama.ServiceID},
			Reference:   "March",
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(d.Status, d.Amount, "to", d.Destination.Name)
	}
	wallet, err := svc.Accounts.WalletBalance(ctx, api.Caller{}, ama.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("in the wallet:", wallet)
	// Output:
	// completed 200 to Ama M.
	// completed 200 to Ama M.
	// in the wallet: 200
}

// Salaries from a file, as one batch. A refused row does not stop the others.
func ExampleService_CreateBatch() {
	ctx := context.Background()
	svc, err := payments.New(ctx, memory.New(), payments.Config{})
	if err != nil {
		log.Fatal(err)
	}
	merchant, err := svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar", Phone: "0301000000"})
	if err != nil {
		log.Fatal(err)
	}
	err = svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: merchant.ID, Amount: decimal.NewFromInt(500), Source: "test"})
	if err != nil {
		log.Fatal(err)
	}
	rows, err := disbursement.ReadRows(strings.NewReader(`amount,type,phone_number,reference,idempotency_key
200,mobile_money,0241234560,March,2026-03-ama
999,mobile_money,0201234561,March,2026-03-kojo
150.50,mobile_money,0271234562,March,2026-03-yaw
`))
	if err != nil {
		log.Fatal(err)
	}
	caller := api.Caller{Merchant: merchant.ID, IdempotencyKey: "salaries-2026-03"}
	batch, err := svc.Disbursements.CreateBatch(ctx, caller, disbursement.CreateBatchParams{Rows: rows})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(batch.Status, batch.Counts.Queued)
	if err := svc.Drain(ctx); err != nil { // svc.Start does it in the background
		log.Fatal(err)
	}
	list, err := svc.Disbursements.ListRows(ctx, caller, batch.ID, disbursement.ListRowsParams{})
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range list.Data {
		if row.Error != nil {
			fmt.Println(row.Number, row.Amount, row.Status, row.Error.Code)
			continue
		}
		fmt.Println(row.Number, row.Amount, row.Status, row.Disbursement.Status)
	}
	// Output:
	// pending 3
	// 1 200 made completed
	// 2 999 refused insufficient_balance
	// 3 150.5 made completed
}
