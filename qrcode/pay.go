package qrcode

import (
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/payment"
)

// Hosted is the payment page's view of a code.
type Hosted struct {
	Code     QRCode
	Merchant account.Merchant
	// Refusal says why the code cannot be paid now; nil if it can.
	Refusal *api.Error
	// Caller stands for the merchant in the call of Pay.
	Caller api.Caller
}

// PayParams describe a payment of a code: from a consumer's wallet, or from a phone.
type PayParams struct {
	// MobileMoney names the phone that pays. If it names one, Wallet and PIN are not used.
	payment.MobileMoney
	// Wallet names the paying consumer.
	Wallet account.WalletRef `json:"wallet"`
	PIN    string            `json:"-"`
	// From is the network address of a payer on a public page. Wrong PINs lock it out; see
	// [account.Wallets.SetPIN]. It also bounds the holds of payments from phones; see Pay. It is empty where
	// the host knows its client.
	From string `json:"-"`
	// Amount is in pesewas. A code without a fixed amount requires it. For a code with one, it
	// must be nil or equal.
	Amount *int64 `json:"amount,omitempty"`
}
