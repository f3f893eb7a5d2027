package payout

import (
	"github.com/seed-7082ffec/payments/account"
)

// Type is the kind of destination of a transfer.
type Type string

// The types of destinations.
const (
	MobileMoney   Type = "mobile_money"
	BankTransfer  Type = "bank_transfer"
	ServiceWallet Type = "service_wallet"
)

// DestinationParams name the recipient of a transfer.
type DestinationParams struct {
	Type Type `json:"type"`
	// PhoneNumber is a Ghanaian number in any common form. It is required for mobile money. For a
	// service wallet it is one of three ways to name the recipient.
	PhoneNumber string `json:"phone_number,omitempty"`
	// Provider is mtn, telecel or airteltigo. If empty, it follows from the number's prefix. The
	// number may have been ported to another provider since.
	Provider string `json:"provider,omitempty"`
	// AccountNumber and BankCode are required for a bank transfer; the code is one
	// of the [provider.BankDirectory]'s.
	AccountNumber string `json:"account_number,omitempty"`
	BankCode      string `json:"bank_code,omitempty"`
	AccountName   string `json:"account_name,omitempty"` // at most 255 characters
	// MatchName refuses the transfer unless the account is registered in AccountName, which is
	// then required. payments.Config.NameMatch compares the names. The refusal is account_name_mismatch,
	// before anything is reserved, or service_unavailable when the provider does not tell the
	// name.
	MatchName bool `json:"match_account_name,omitempty"`
	// ServiceID and AccountID name the recipient of a service wallet transfer. When
	// several are given, the service id wins, then the account id.
	ServiceID string `json:"service_id,omitempty"`
	AccountID string `json:"account_id,omitempty"`
}

// Destination is the recipient as callers see it, with phone and account numbers masked.
type Destination struct {
	Type Type `json:"type"`
	// Provider is the mobile-money network, or the bank's code; nil for a service wallet.
	Provider *string `json:"provider"`
	// Number is the masked number; for a service wallet the recipient's account id.
	Number string `json:"number"`
	// Name is the given account_name, or, for a service wallet, the recipient's first name and
	// last initial.
	Name string `json:"name"`
	// The fields below are set for service wallets only.
	ServiceID     string                `json:"service_id,omitempty"`
	AccountID     string                `json:"account_id,omitempty"`
	RecipientType account.RecipientType `json:"recipient_type,omitempty"`
}
