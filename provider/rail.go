package provider

import "context"

// Rail sends transfers to mobile money and banks. The host implements it for its provider.
// Package provider/railtest is a test suite for this contract.
//
// A Rail carries out two submissions with one id as one transfer, and answers the second with the state
// of the first. A Rail must be safe for concurrent use. In each mode, a process calls it for up to
// 1,024 payouts of a merchant at once, and for 2,048 in all. It calls it for as many disbursements. The
// library calls it outside of any transaction, with a context that ends after 30 seconds.
//
// An error means that the outcome is unknown: the provider may have carried out the transfer or not.
// Only a [Result] is an answer. So a Rail must not answer Refused for a time-out, a broken connection
// or a server error of its provider. It must not return an error for what the provider has conclusively
// refused.
type Rail interface {
	// Submit hands a transfer to the provider.
	Submit(ctx context.Context, t Transfer) (Result, error)
	// Status returns the state of a transfer. If the provider has never seen it, Status answers
	// NotFound, and the library submits the transfer again. A provider that cannot tell "not yet
	// seen" from "never seen" answers InProgress.
	Status(ctx context.Context, t Transfer) (Result, error)
}

// Checker is an optional interface of a [Rail]. The library calls Check before it reserves money.
// Check returns nil or a *[Refusal]. Any other error means that the result is unknown, and the
// transfer goes on.
type Checker interface {
	Check(ctx context.Context, t Transfer) error
}

// NameEnquirer is an optional interface of a [Rail]. It returns the registered name of an account.
// The library calls it outside of any transaction, with a context that ends after 30 seconds. The
// implementation must log neither number nor name.
//
// AccountName returns the name, or a *[Refusal] for an account that does not exist or cannot be
// paid. Any other error means that the name is not available now.
type NameEnquirer interface {
	AccountName(ctx context.Context, e Enquiry) (string, error)
}

// Channel is how a transfer reaches its recipient.
type Channel string

// The channels.
const (
	MobileMoney  Channel = "mobile_money"
	BankTransfer Channel = "bank_transfer"
)

// Transfer is an external transfer: a payout or a disbursement to mobile money or a bank.
type Transfer struct {
	Order
	Channel Channel
	// Network is mtn, telecel or airteltigo; empty for a bank transfer.
	Network string
	// Bank is the bank's code; empty for mobile money.
	Bank string
	// Number is unmasked: +233XXXXXXXXX, or the digits of a bank account. The implementation must
	// not log it.
	Number string
	// Name is the recipient's, as the merchant gave it; may be empty.
	Name        string
	Description string
}

// Enquiry names an account for [NameEnquirer].
type Enquiry struct {
	Live    bool
	Channel Channel
	// Network is mtn, telecel or airteltigo; empty for a bank account. Bank is the bank's
	// code; empty for mobile money.
	Network, Bank string
	// Number is unmasked: +233XXXXXXXXX, or the digits of a bank account.
	Number string
}
