package checkout

import (
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/payment"
)

// PayParams say how a session is paid: from a phone or from a consumer's wallet. A session without
// anything to pay needs neither. ModeSubscription always needs a phone.
type PayParams struct {
	// MobileMoney names the phone that pays. Set either MobileMoney or Wallet. ModeSubscription
	// requires MobileMoney, which later periods charge, and allows Wallet beside it for the first
	// period.
	payment.MobileMoney
	// Wallet names the paying consumer. In ModeSubscription it pays the first period alone.
	Wallet account.WalletRef `json:"wallet"`
	PIN    string            `json:"-"`
	// From is the network address of a payer on a public page. Wrong PINs lock it out; see
	// [account.Wallets.SetPIN]. It also bounds the holds of payments from phones; see Pay. It is empty where
	// the host knows its client.
	From string `json:"-"`
	// Email is the payer's address for the receipt. Nil keeps that of the session, and an empty one
	// clears it. The session shows it once this payment has completed it.
	Email *string `json:"email,omitempty"`
	// Name is the payer's, and is kept as Email is.
	Name *string `json:"name,omitempty"`
}

// Confirming is a phone that waits for its code.
type Confirming struct {
	// PhoneNumber is masked.
	PhoneNumber string
	// ExpiresAt is the end of the code's life.
	ExpiresAt api.Time
}
