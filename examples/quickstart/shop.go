package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/qrcode"
)

// keys is the line that -json prints.
type keys struct {
	BaseURL    string `json:"base_url"`
	MerchantID string `json:"merchant_id"`
	TestKey    string `json:"test_key"`
	LiveKey    string `json:"live_key"`
}

// shop is the merchant that the quickstart has prepared.
type shop struct {
	keys
	code *qrcode.QRCode
}

// people are the consumers that a new database begins with, whose PIN is 1234.
var people = []account.CreateHolderParams{
	{Name: "Ama Mensah", Phone: "0241000001", PIN: "1234"},
	{Name: "Kofi Boateng", Phone: "0201000002", PIN: "1234"},
	{Name: "Esi Owusu", Phone: "0261000003", PIN: "1234"},
}

// prepare finds the merchant of an earlier start, or makes one, with consumers who have
// money. It issues new keys each time: the database keeps hashes, so that earlier keys
// cannot be shown again. They keep working.
func prepare(ctx context.Context, svc *payments.Service) (*shop, error) {
	merchants, err := svc.Accounts.ListMerchants(ctx, api.Caller{}, api.Page{Limit: 1})
	if err != nil {
		return nil, err
	}
	var merchant account.Merchant
	if len(merchants.Data) > 0 {
		merchant = merchants.Data[0]
	} else {
		m, err := createMerchant(ctx, svc)
		if err != nil {
			return nil, err
		}
		merchant = *m
	}

	s := &shop{keys: keys{BaseURL: svc.BaseURL(), MerchantID: merchant.ID}}
	for live, secret := range map[bool]*string{false: &s.TestKey, true: &s.LiveKey} {
		key, err := svc.Accounts.CreateKey(ctx, api.Caller{Merchant: merchant.ID, Live: live}, account.CreateKeyParams{Name: "quickstart"})
		if err != nil {
			return nil, err
		}
		*secret = key.Secret
	}

	caller := api.Caller{Merchant: merchant.ID, IdempotencyKey: "quickstart-till"}
	s.code, err = svc.QRCodes.Create(ctx, caller, qrcode.CreateParams{
		Name: "Till 1", Description: "Fresh juice and snacks", Reference: "till-1",
	})
	if err != nil {
		return nil, err
	}
	// Create answers a repetition with the address of the first start; Get has the present one.
	s.code, err = svc.QRCodes.Get(ctx, caller, s.code.ID)
	if api.CodeOf(err) == api.ResourceMissing {
		s.code, err = nil, nil // it was deleted
	}
	return s, err
}

// createMerchant makes the consumers and the merchant.
func createMerchant(ctx context.Context, svc *payments.Service) (*account.Merchant, error) {
	for _, p := range people {
		c, err := svc.Accounts.CreateConsumer(ctx, api.Caller{}, p)
		var refused *api.Error
		if errors.As(err, &refused) && refused.Param == "phone_number" {
			continue // an earlier start made this consumer and ended before its merchant was made
		}
		if err != nil {
			return nil, err
		}
		err = svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: c.ID, Amount: decimal.NewFromInt(500), Source: "test"})
		if err != nil {
			return nil, err
		}
	}
	return svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar", Phone: "0301000000"})
}

// welcome prints addresses, keys and commands to paste.
func welcome(out io.Writer, s *shop) error {
	fmt.Fprintf(out, "Serving %s\nThe reference is at %[1]s/docs/\n\n", s.BaseURL)
	if s.code != nil {
		picture, err := qrcode.Terminal(s.code.Data)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\nOpen the payment page, and pay from the phone 0241234567, or as Ama with wallet 0241000001 and PIN 1234:\n\n  %s\n\n", picture, s.code.Data)
	}
	_, err := fmt.Fprintf(out, `See and do everything in test mode:

  %[1]s/inspector/

Merchant  %[2]s
Test key  %[3]s
Live key  %[4]s

Paste these:

  export KEY=%[3]s RUN=$(date +%%s)

  # ask a phone for GHS 12.50: its payer approves at once, and the payment is completed
  curl -s %[1]s/v1/payments -H "Authorization: Bearer $KEY" \
    -H "Content-Type: application/json" -H "X-Idempotency-Key: phone-$RUN" \
    -d '{"amount":1250,"phone_number":"0241234567","description":"Two smoothies","reference":"1000"}'
  curl -s "%[1]s/v1/payments?payment_method=mobile_money&limit=1" -H "Authorization: Bearer $KEY"

  # make a QR code for GHS 12.50 that can be paid once
  curl -s %[1]s/v1/qr_codes -H "Authorization: Bearer $KEY" \
    -H "Content-Type: application/json" -H "X-Idempotency-Key: order-$RUN" \
    -d '{"type":"dynamic","amount":1250,"name":"Order 1001","reference":"1001"}'

  # a consumer with GHS 100, who pays it; or open its qr_code_data in a browser and pay from a phone
  PAYER=$(curl -s %[1]s/v1/test_helpers/consumers -H "Authorization: Bearer $KEY" \
    -H "Content-Type: application/json" -d '{"name":"Yaa Asante","pin":"1234","balance":100}' \
    | grep -oE 'acc_[0-9A-Za-z]+')
  CODE=$(curl -s "%[1]s/v1/qr_codes?type=dynamic&limit=1" -H "Authorization: Bearer $KEY" \
    | grep -oE '"id":"qr_[0-9A-Za-z]+' | grep -oE 'qr_.*')
  curl -s %[1]s/v1/test_helpers/qr_codes/$CODE/pay -H "Authorization: Bearer $KEY" \
    -H "Content-Type: application/json" -H "X-Idempotency-Key: pay-$CODE" \
    -d "{\"account_id\":\"$PAYER\",\"pin\":\"1234\"}"

  # what came in
  curl -s %[1]s/v1/payments -H "Authorization: Bearer $KEY"
  curl -s %[1]s/v1/balance  -H "Authorization: Bearer $KEY"
  curl -s "%[1]s/v1/events?type=payment.succeeded" -H "Authorization: Bearer $KEY"

  # money to send out, which in test mode comes from nowhere
  curl -s %[1]s/v1/test_helpers/balance -H "Authorization: Bearer $KEY" \
    -H "Content-Type: application/json" -d '{"amount":1000}'

  # pay out to mobile money: request a code, read it from the merchant's SMS, verify it, use it
  curl -s %[1]s/v1/otp/request -H "Authorization: Bearer $KEY" \
    -H "Content-Type: application/json" -d '{"purpose":"PAYOUT"}'
  CODE=$(curl -s "%[1]s/v1/test_helpers/messages?to=0301000000&limit=1" -H "Authorization: Bearer $KEY" \
    | grep -oE '"text":"[0-9]{6}' | grep -oE '[0-9]{6}')
  curl -s %[1]s/v1/otp/verify -H "Authorization: Bearer $KEY" \
    -H "Content-Type: application/json" -d "{\"purpose\":\"PAYOUT\",\"code\":\"$CODE\"}"
  curl -s %[1]s/v1/payouts -H "Authorization: Bearer $KEY" \
    -H "Content-Type: application/json" -H "X-Idempotency-Key: payout-$RUN" \
    -d "{\"amount\":150.50,\"destination\":{\"type\":\"mobile_money\",\"phone_number\":\"0241234567\"},\"otp_code\":\"$CODE\"}"
  curl -s %[1]s/v1/payouts -H "Authorization: Bearer $KEY"

  # disburse to a wallet, at once and without a code
  curl -s %[1]s/v1/disbursements -H "Authorization: Bearer $KEY" \
    -H "Content-Type: application/json" -H "X-Idempotency-Key: salary-$RUN" \
    -d '{"amount":20,"destination":{"type":"service_wallet","phone_number":"0241000001"},"reference":"salary"}'

  # an invoice, finalized at once: open its hosted_invoice_url, or pay it with the last line
  curl -s %[1]s/v1/invoices -H "Authorization: Bearer $KEY" \
    -H "Content-Type: application/json" -H "X-Idempotency-Key: invoice-$RUN" \
    -d '{"customer_name":"Akosua","customer_email":"akosua@example.com","auto_finalize":true,"line_items":[{"description":"Catering","quantity":2,"unit_amount":12500,"taxable":true,"tax_percent":20}]}'
  INVOICE=$(curl -s "%[1]s/v1/invoices?status=open&limit=1" -H "Authorization: Bearer $KEY" \
    | grep -oE '"id":"inv_[0-9A-Za-z]+' | grep -oE 'inv_.*')
  curl -s %[1]s/v1/invoices/$INVOICE/pay -H "Authorization: Bearer $KEY" \
    -H "Content-Type: application/json" -H "X-Idempotency-Key: pay-$INVOICE" -d '{"source":"0241000001"}'

  # tell a server of yours of every event; the answer has the secret that signs
  curl -s %[1]s/v1/webhooks -H "Authorization: Bearer $KEY" \
    -H "Content-Type: application/json" -d '{"url":"http://127.0.0.1:9000/webhooks","events":["*"]}'
  curl -s %[1]s/v1/webhooks -H "Authorization: Bearer $KEY"

  # what the consumer and the merchant were told
  curl -s %[1]s/v1/test_helpers/messages -H "Authorization: Bearer $KEY"

Ctrl-C stops.
`, s.BaseURL, s.MerchantID, s.TestKey, s.LiveKey)
	return err
}
