package refund_test

import (
	"context"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func ExampleService_Create() {
	ctx := context.Background()
	svc, err := payments.New(ctx, memory.New(), payments.Config{})
	if err != nil {
		panic(err)
	}
	merchant, _ := svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar"})
	ama, _ := svc.Accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: "0241234567", PIN: "1234"})
	if err := svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: ama.ID, Amount: decimal.NewFromInt(50), Source: "test"}); err != nil {
		panic(err)
	}
	caller := api.Caller{Merchant: merchant.ID}
	code, _ := svc.QRCodes.Create(ctx, caller, qrcode.CreateParams{})
	amount := int64(12_50)
	paid, _ := svc.QRCodes.Pay(ctx, caller, code.ID, qrcode.PayParams{
		Wallet: account.WalletRef{AccountID: ama.ID}, PIN: "1234", Amount: &amount,
	})

	part := int64(5_00)
	r, err := svc.Refunds.Create(ctx, caller, refund.CreateParams{Payment: paid.ID, Amount: &part, Reason: "One juice was warm"})
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Status, r.Amount)
	rest, _ := svc.Refunds.Create(ctx, caller, refund.CreateParams{Payment: paid.ID})
	fmt.Println(rest.Status, rest.Amount)
	_, err = svc.Refunds.Create(ctx, caller, refund.CreateParams{Payment: paid.ID})
	fmt.Println(api.CodeOf(err))
	// Output:
	// succeeded 500
	// succeeded 750
	// payment_already_refunded
}
