package provider

import "context"

// Rail carries transfers to mobile money and banks. A host plugs in its provider; package
// provider/railtest is what it must hold, as a test suite.
//
// A Rail carries out two submissions with one id as one transfer, and answers the second
// with the state of the first. It must be safe for concurrent use. The library calls it
// outside of any transaction, with a context that ends after 30 seconds.
//
// An error means that nothing is known: the transfer may have been carried out or not.
// Only a [Result] is an answer. So a Rail must not answer Refused for a time-out, a broken
// connection or a server error of its provider, and must not return an error for what the
// provider has conclusively refused.
type Rail interface {
	// Submit hands a transfer to the provider.
	Submit(ctx context.Context, t Transfer) (Result, error)
	// Status asks what became of a transfer. Of one that the provider has never seen it
	// answers NotFound, after which the library submits the transfer again. A provider
	// that cannot tell "not yet seen" from "never seen" answers InProgress.
	Status(ctx context.Context, t Transfer) (Result, error)
}

// Checker is what a Rail may also be: it looks at a destination before the library
// reserves anything. It returns nil, or a *[Refusal]. Any other error means that it could
// not tell, and the transfer goes on.
type Checker interface {
	Check(ctx context.Context, t Transfer) error
}

// NameEnquirer is what a Rail may also be: it tells in whose name an account is
// registered. The library calls it outside of any transaction, with a context that ends
// after 30 seconds. Neither number nor name must reach a log.
//
// AccountName returns the name, or a *[Refusal] for an account that does not exist or
// cannot be paid. Any other error means that it could not tell.
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

// Transfer is money that goes out: a payout or a disbursement.
type Transfer struct {
	Order
	Channel Channel
	// Network is mtn, telecel or airteltigo; empty for a bank transfer.
	Network string
	// Bank is the bank's code; empty for mobile money.
	Bank string
	// Number is unmasked: +233XXXXXXXXX, or the digits of a bank account. It must reach no
	// log.
	Number string
	// Name is the recipient's, as the merchant gave it; may be empty.
	Name        string
	Description string
}

// Enquiry is an account whose name is asked for.
type Enquiry struct {
	Live    bool
	Channel Channel
	// Network is mtn, telecel or airteltigo; empty for a bank account. Bank is the bank's
	// code; empty for mobile money.
	Network, Bank string
	// Number is unmasked: +233XXXXXXXXX, or the digits of a bank account.
	Number string
}
