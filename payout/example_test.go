package payout_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// A payout in test mode: the merchant gets the code by SMS, and the simulated rail carries the
// money.
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
	caller := api.Caller{Merchant: merchant.ID, IdempotencyKey: "supplier-17"}
	err = svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: merchant.ID, Amount: decimal.NewFromInt(500), Source: "test"})
	if err != nil {
		log.Fatal(err)
	}

	if _, err = svc.Payouts.RequestOTP(ctx, api.Caller{Merchant: merchant.ID}, payout.ForPayout); err != nil {
		log.Fatal(err)
	}
	sent, err := svc.Messages.List(ctx, caller, message.ListParams{To: merchant.Phone})
	if err != nil {
		log.Fatal(err)
	}
	code := sent.Data[0].Text[:6]
	if _, err = svc.Payouts.VerifyOTP(ctx, api.Caller{Merchant: merchant.ID}, payout.OTPParams{Purpose: payout.ForPayout, Code: code}); err != nil {
		log.Fatal(err)
	}

	p, err := svc.Payouts.Create(ctx, caller, payout.CreateParams{
		Amount: decimal.RequireFromString("150.50"), OTPCode: code,
		Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "024 123 4567"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Status, p.Amount, "fee", p.Fee, "to", p.Destination.Number)

	if err = svc.Drain(ctx); err != nil { // Start does this in the background
		log.Fatal(err)
	}
	if p, err = svc.Payouts.Get(ctx, caller, p.ID); err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Status)
	// Output:
	// pending 150.5 fee 1.51 to 024****567
	// succeeded
}
