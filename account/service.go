// Package account keeps merchants with their API keys and customers, consumers with wallets, cash
// agents with floats, service ids, PINs, and all balances.
//
// The operator owns merchants, consumers, agents and service ids. Calls that change or list them
// refuse a merchant's caller with permission_denied. Live and test mode share only merchants.
package account

import (
	"context"
	"io"

	"github.com/seed-7082ffec/payments/api"
)

// Status says whether an account may be used.
type Status string

// The statuses of consumers and cash agents. Payments refuse a frozen or suspended account with
// wallet_not_active. They treat a closed account as missing.
const (
	Active    Status = "active"
	Frozen    Status = "frozen"
	Suspended Status = "suspended"
	Closed    Status = "closed"
)

// Service keeps accounts. It is safe for concurrent use. It may grow in any release: embed it in a fake.
type Service interface {
	Merchants
	Keys
	Wallets
	Customers
	Statements
	Audits
}

// Merchants keeps merchants, and what the operator books for them.
type Merchants interface {
	// CreateMerchant makes a merchant, with a service id that is known in both modes. Only the operator may
	// call it. With an idempotency key the call may be repeated safely.
	//
	// Refusals: permission_denied, parameter_missing (name), parameter_invalid, invalid_phone_number.
	CreateMerchant(ctx context.Context, caller api.Caller, p CreateMerchantParams) (*Merchant, error)

	// GetMerchant returns one merchant. For a merchant's caller every other merchant is resource_missing.
	GetMerchant(ctx context.Context, caller api.Caller, id string) (*Merchant, error)

	// ListMerchants returns all merchants, newest first. Only the operator may call it: any other caller is
	// permission_denied.
	ListMerchants(ctx context.Context, caller api.Caller, p api.Page) (*api.List[Merchant], error)

	// UpdateMerchant changes a merchant. Only the operator may call it. With an idempotency key the call
	// may be repeated safely.
	//
	// Refusals: permission_denied, resource_missing, parameter_missing (name), parameter_invalid,
	// invalid_phone_number.
	UpdateMerchant(ctx context.Context, caller api.Caller, id string, p UpdateMerchantParams) (*Merchant, error)

	// GetLogo returns a merchant's picture, to any caller: hosted pages show it. A merchant without one
	// is resource_missing.
	GetLogo(ctx context.Context, caller api.Caller, merchant string) (*Logo, error)

	// Deposit credits an account of the caller's mode against a clearing account. Only the operator may
	// call it, once the money has arrived. No route of /v1 makes a deposit in live mode. One idempotency
	// key makes one deposit. The keys of a caller without Merchant are separate from those of merchants.
	//
	// Refusals: permission_denied, parameter_invalid, resource_missing, account_not_found (the account was
	// closed).
	Deposit(ctx context.Context, caller api.Caller, d DepositParams) error

	// Adjust tops up or corrects the available balance of a merchant, in the caller's mode, against
	// the clearing account "adjustment". Set caller.Merchant to the merchant. Adjust does not check who
	// calls: let only the operator use it. No route of /v1 leads to it.
	//
	//	_, err := svc.Accounts.Adjust(ctx, api.Caller{Merchant: id, Live: true, IdempotencyKey: "ticket-4711"},
	//		account.AdjustParams{Amount: decimal.RequireFromString("-12.50"), Reason: "Paid twice by the bank on 3 March", Actor: "esi@operator.example"})
	//
	// The transaction of the movement also stores reason and actor. The entry has the type adjustment
	// and the adjustment's id as source. With an idempotency key the call may be repeated safely. The
	// key is one of the merchant's.
	//
	// Refusals: parameter_invalid, parameter_missing, resource_missing (no such
	// merchant), insufficient_balance when it would take the balance below zero.
	Adjust(ctx context.Context, caller api.Caller, p AdjustParams) (*Adjustment, error)

	// ListAdjustments returns the adjustments of a merchant in the caller's mode, newest first. As for
	// Adjust, set caller.Merchant to the merchant, and let only the operator use it.
	ListAdjustments(ctx context.Context, caller api.Caller, p api.Page) (*api.List[Adjustment], error)
}

// Keys keeps the API keys of merchants.
type Keys interface {
	// CreateKey makes a key for the caller's merchant and mode. Only this answer has the secret; it
	// cannot be read again. This and the other methods of keys do not check who calls: let only the operator
	// and the merchant's own people use them.
	//
	// With an idempotency key a replay makes no other key. It returns the same key without its Secret:
	// the store keeps only a hash, so a stolen database reveals no key. A caller that lost the first
	// answer revokes the key and creates another.
	//
	// Refusals: parameter_invalid (name, resources[0]), resource_missing.
	CreateKey(ctx context.Context, caller api.Caller, p CreateKeyParams) (*Key, error)

	// ListKeys returns the keys of the caller's merchant and mode, newest first.
	ListKeys(ctx context.Context, caller api.Caller, p api.Page) (*api.List[Key], error)

	// RollKey makes a new key with the old one's rights. The old key works until the overlap ends, so
	// that the merchant has time to deploy the new one. In other processes an overlap under a second
	// may last a second, see [Keys.RevokeKey]. RollKey refuses an ended key with
	// parameter_invalid. With an idempotency key, a replay answers as in CreateKey.
	RollKey(ctx context.Context, caller api.Caller, id string, p RollKeyParams) (*Key, error)

	// RevokeKey ends a key. When it returns, this process refuses the key. Other processes refuse it
	// within a second. Inside a host's transaction, this counts from Wake; without Wake, all processes
	// refuse the key within a second of the commit. Revoking a key again changes nothing. An unknown id
	// is resource_missing.
	RevokeKey(ctx context.Context, caller api.Caller, id string) error

	// Authenticate returns the rights of a valid key. It refuses any key that is not valid with
	// api_key_invalid, whatever the reason. It reads a valid key from the store at most once a second;
	// see [Keys.RevokeKey].
	Authenticate(ctx context.Context, secret string) (Access, error)
}

// Wallets keeps consumers with their wallets, cash agents with their floats, PINs and service ids.
type Wallets interface {
	// CreateConsumer makes a consumer of the caller's mode, with an empty wallet. Only the operator may
	// call it. With an idempotency key the call may be repeated safely. A replay may carry another PIN,
	// because the library stores no PIN to compare.
	//
	// Refusals: permission_denied, parameter_missing, parameter_invalid (also for a phone number that
	// another account has), invalid_phone_number.
	CreateConsumer(ctx context.Context, caller api.Caller, p CreateHolderParams) (*Consumer, error)

	// GetConsumer returns one consumer of the caller's mode, in any status. Only the operator may call
	// it: a caller with a Merchant is refused with permission_denied.
	GetConsumer(ctx context.Context, caller api.Caller, id string) (*Consumer, error)

	// ListConsumers returns the consumers of the caller's mode, newest first. A caller with a Merchant
	// is refused with permission_denied.
	ListConsumers(ctx context.Context, caller api.Caller, p api.Page) (*api.List[Consumer], error)

	// UpdateConsumer changes a consumer of the caller's mode. Only the operator may call it.
	//
	// Refusals: permission_denied, resource_missing, parameter_invalid.
	UpdateConsumer(ctx context.Context, caller api.Caller, id string, p UpdateHolderParams) (*Consumer, error)

	// WalletBalance returns the balance of a consumer's wallet in the caller's mode, in GHS. Only the
	// operator may call it.
	//
	// Refusals: permission_denied (a caller with a Merchant), resource_missing.
	WalletBalance(ctx context.Context, caller api.Caller, consumer string) (api.GHS, error)

	// CreateAgent is CreateConsumer for a cash agent, with an empty float.
	CreateAgent(ctx context.Context, caller api.Caller, p CreateHolderParams) (*Agent, error)

	// GetAgent is GetConsumer for a cash agent.
	GetAgent(ctx context.Context, caller api.Caller, id string) (*Agent, error)

	// ListAgents is ListConsumers for cash agents.
	ListAgents(ctx context.Context, caller api.Caller, p api.Page) (*api.List[Agent], error)

	// UpdateAgent is UpdateConsumer for a cash agent.
	UpdateAgent(ctx context.Context, caller api.Caller, id string, p UpdateHolderParams) (*Agent, error)

	// FloatBalance is WalletBalance for a cash agent's float.
	FloatBalance(ctx context.Context, caller api.Caller, agent string) (api.GHS, error)

	// SetPIN gives a consumer's or cash agent's account of the caller's mode a new PIN, and ends every
	// lock. Live mode refuses repeated and sequential digits with parameter_invalid. An unknown account is
	// resource_missing, and a closed one account_not_found. Only the operator may call it. With an
	// idempotency key a replay changes nothing, whatever its PIN: the library stores no PIN to compare.
	//
	// Five wrong entries in a day lock the PIN. The first lock lasts 15 minutes, the next an hour, then 6
	// and 24 hours; the fifth lasts until UnlockPIN or SetPIN. A right entry resets the count. The holder
	// gets an SMS at each lock. Four wrong entries of a stranger on a public page lock the stranger's
	// network address out for the account and the day, before they lock the holder's PIN.
	SetPIN(ctx context.Context, caller api.Caller, account string, p SetPINParams) error

	// UnlockPIN ends every lock of an account's PIN, which stays the same. Only the operator may call it,
	// after identifying the holder: any other caller is permission_denied. For an account without a PIN, or
	// an unknown id, UnlockPIN does nothing and returns no error.
	UnlockPIN(ctx context.Context, caller api.Caller, account string) error

	// LookUpServiceID returns the owner of a service id in the caller's mode.
	//
	// Do not give it the idempotency key of the payout that follows: it stores its answer under the key, so
	// the payout would be refused with idempotency_key_reused.
	//
	// Refusals: parameter_missing, invalid_service_id, service_id_not_found, account_not_found (the account
	// was closed).
	LookUpServiceID(ctx context.Context, caller api.Caller, id string) (*ServiceIDLookup, error)
}

// Customers keeps the customers of merchants.
type Customers interface {
	// CreateCustomer makes a customer of the calling merchant. Two customers may be
	// alike. With an idempotency key it may be repeated safely.
	//
	// Refusals: parameter_invalid, invalid_phone_number.
	CreateCustomer(ctx context.Context, caller api.Caller, p CreateCustomerParams) (*Customer, error)

	// GetCustomer returns one customer of the calling merchant.
	GetCustomer(ctx context.Context, caller api.Caller, id string) (*Customer, error)

	// ListCustomers returns customers, newest first.
	ListCustomers(ctx context.Context, caller api.Caller, p ListCustomersParams) (*api.List[Customer], error)

	// SearchCustomers returns the customers that match a text and the parameters, newest first. The text is an
	// id, a name or its first word, a whole e-mail address, or a whole phone number. An id finds its customer
	// whatever the parameters say. An empty text lists all.
	SearchCustomers(ctx context.Context, caller api.Caller, text string, p ListCustomersParams) (list *api.List[Customer], err error)

	// UpdateCustomer changes a customer. Invoices that took data from it stay as they are.
	//
	// Refusals: resource_missing, parameter_invalid, invalid_phone_number.
	UpdateCustomer(ctx context.Context, caller api.Caller, id string, u UpdateCustomerParams) (*Customer, error)

	// DeleteCustomer removes a customer and the person's data: name, e-mail, phone number, address
	// and metadata. The record is gone when the call returns. The background work that the call
	// queues removes the copies, normally at once, and also after a crash.
	//
	// Payments of the customer from a phone, and their refunds, lose the number and the e-mail; those
	// under way lose them when they end. A later refund gives the provider the id of the charge, but
	// not the phone number.
	//
	// Copies are in snapshots of events, in answers stored under idempotency keys, in draft invoices of the
	// customer and their documents, in answers of webhook endpoints, and in queued messages. That includes
	// drafts from which an update has removed the customer's id, and messages that test mode keeps. A
	// message about another customer at the same address stays. A duplicate of an invoice has no data of a
	// deleted customer. Issued invoices (open, paid, void or uncollectible) and their documents keep the
	// data, because the law of Ghana requires it. They still name the customer's id, which no longer leads
	// to a record.
	//
	// When a merchant sends an issued invoice again, or is paid for it, the message still goes to the
	// address on it. The store drops such a message once it is sent, in test mode after
	// payments.Config.MessageRetention.
	//
	// The library cannot recognise the person in free text. It leaves descriptions, memos, footers
	// and the metadata of invoices as they are, and cannot recall messages that were sent. The host
	// erases backups, and space that a database has freed but not overwritten.
	//
	// The subscriptions of the customer are cancelled before the call returns. In a host's transaction a
	// worker does it after the commit.
	//
	// Refusals: resource_missing, also for a customer that was deleted before.
	DeleteCustomer(ctx context.Context, caller api.Caller, id string) (*api.Deleted, error)

	// ForgetCustomer is DeleteCustomer for hosts with a [CustomerDirectory]: it removes the copies of
	// the data of a customer whom the host has deleted. It refuses one of the library's own customers
	// with parameter_invalid. An id without copies is no error. It may be called again.
	ForgetCustomer(ctx context.Context, caller api.Caller, id string) error
}

// Statements tells what a merchant has and how it came to it.
type Statements interface {
	// Balance returns the caller's balance.
	Balance(ctx context.Context, caller api.Caller) (*Balance, error)

	// ListEntries returns the changes of the caller's available balance, newest first, as they were
	// booked. In a list without filters, each entry's balance is the older entry's balance plus its
	// amount.
	ListEntries(ctx context.Context, caller api.Caller, p ListEntriesParams) (*api.List[Entry], error)

	// Statement returns the statement of a period of the caller's available balance.
	//
	// An entry belongs to the period that contains its time. Entries are in the order of their times,
	// except that the clocks of processes sharing a store may differ by up to a minute. Two
	// periods that meet at a time share no entry and miss none. So the closing balance of the first is the
	// opening balance of the second. A statement never
	// changes once its period has been over for a minute.
	Statement(ctx context.Context, caller api.Caller, period api.Times) (*Statement, error)

	// StatementCSV writes a statement of the caller's as a table, the oldest entry first, with amounts in GHS. It has
	// a row with the type opening_balance, one row for each entry, and one with the type closing_balance. It reads a
	// part of the ledger at a time, so it takes little memory. It puts an apostrophe before text that
	// a spreadsheet would take for a formula.
	//
	// Refusals: resource_missing (a statement of another merchant or mode).
	StatementCSV(ctx context.Context, caller api.Caller, st *Statement, w io.Writer) error

	// StatementPDF returns a statement of the caller's as a document of A4 pages. A second call makes the same bytes.
	//
	// Refusals: resource_missing (a statement of another merchant or mode), parameter_invalid (created) for more
	// than 20,000 entries. Use a shorter period or StatementCSV instead.
	StatementPDF(ctx context.Context, caller api.Caller, st *Statement) ([]byte, error)

	// MoneyFlow returns where the money of the caller's mode lies, and whose it is, over all merchants, as
	// of one moment. Only the operator may call it: any other caller is permission_denied.
	//
	// Held names where the money lies: clearing, bank, owed (by merchants), and each provider, under its
	// name as in provider.Order.Route. Clearing has the sources of deposits, adjustments, and providers
	// without a name. Bank has the settlements that RecordSettlement has booked. OwedTo names whose it is:
	// merchants, reserved (their transfers under way), wallets, agents, fees (the operator's, less those of
	// providers), and excess. Excess belongs to payers of top-ups that wallets could not take.
	//
	// It reads at most 5,000 accounts. For a larger mode it returns a flow that is not Complete, because
	// sums of accounts that were read at different times would not be equal.
	MoneyFlow(ctx context.Context, caller api.Caller) (*api.MoneyFlow, error)
}

// Audits seals the ledger, and checks it.
type Audits interface {
	// Seal seals every entry that was booked before the call, and returns how many had no seal. The
	// background work does the same within [SealWithin] of the booking. A host may call Seal as well,
	// for example before a backup. Entries booked meanwhile wait for the next pass. Seal reads each
	// account once, in short transactions. It may run alongside traffic and the background work.
	// After an error, the seals written so far stay.
	Seal(ctx context.Context) (int64, error)

	// Verify replays every entry of every account and compares the result with all balances. Entries
	// must be numbered without holes, and each balance must be the one before plus the amount. A
	// merchant's available and reserved money, a wallet, a float and the excess of top-ups may never be
	// below zero. Every posting must add up to zero, and so must all
	// balances together. Verify also compares sealed entries with their seals. So it names an entry
	// that was changed, removed or moved in the database. It reports entries that should have a seal
	// by now and have none.
	//
	// Verify may run alongside traffic. It takes time in proportion to the ledger, and little memory. It
	// reads in many short Views, so that no database has to keep an old state for it. It verifies each
	// account as of one View: the entries up to the number that the balance counts never change. Entries
	// booked later are left to the next verification. One View adds up all balances and does nothing else;
	// it takes a few seconds for a million accounts. Verify also counts the entries of all postings, which
	// go on meanwhile. This count must lie between the accounts' entries at its start and at its end.
	//
	// An error says that the ledger could not be read. The problems of the ledger itself are in the
	// Verification.
	Verify(ctx context.Context) (*Verification, error)

	// VerifyWithProgress is Verify, and calls progress, unless it is nil, every few hundred rows with
	// the counts so far. It calls it in the same goroutine, first for accounts and their entries,
	// then for postings, then for seals.
	VerifyWithProgress(ctx context.Context, progress func(Verification)) (*Verification, error)
}
