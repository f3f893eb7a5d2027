package invoice

import (
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
)

// Hosted holds what the hosted page of an invoice shows.
type Hosted struct {
	Invoice  Invoice
	Merchant account.Merchant
	// CreditNotes are the invoice's newest credit notes, newest first, at most 100.
	CreditNotes []CreditNote
	// Caller stands for the merchant, for the call of PayFromWallet.
	Caller api.Caller
}

// PayFromWalletParams are a consumer's payment of an invoice.
type PayFromWalletParams struct {
	// Wallet names the consumer who pays.
	Wallet account.WalletRef `json:"wallet"`
	PIN    string            `json:"-"`
	// From is the network address of a payer on a public page, which wrong PINs lock out; see
	// [account.Wallets.SetPIN]. It is empty where the host knows its client.
	From string `json:"-"`
}
