package invoice

import (
	"context"
	"io"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/payment"
)

// ListParams selects invoices; zero values select all.
type ListParams struct {
	api.Page
	Customer string `param:"customer,id"`
	Status   Status `param:"status"`
	// Subscription is the id of the subscription that made the invoices.
	Subscription string `param:"subscription,id"`
	// Number is that of one invoice, exactly.
	Number  string    `param:"invoice_number"`
	DueDate api.Times `param:"due_date"`
	Created api.Times `param:"created"`
}

// Service makes and collects invoices. It is safe for concurrent use. It may grow in any release: embed it in a
// fake.
type Service interface {
	Drafts
	Collection
	Documents
}

// Drafts makes and changes drafts, and finds invoices.
type Drafts interface {
	// Create makes a draft with the next number of its year. With p.AutoFinalize it also finalizes the
	// draft.
	//
	// Refusals: parameter_missing, parameter_invalid, invalid_phone_number, currency_not_supported,
	// resource_missing (customer, product, coupon), permission_denied (a key that may not read what it names),
	// coupon_not_redeemable, and invoice_no_lines if p.AutoFinalize is set and there are no lines.
	Create(ctx context.Context, caller api.Caller, p CreateParams) (*Invoice, error)

	// Get returns one invoice.
	Get(ctx context.Context, caller api.Caller, id string) (*Invoice, error)

	// List returns invoices, newest first.
	List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[Invoice], error)

	// ListLines lists the lines of an invoice in their order. Cursors are lines' ids:
	// starting_after goes forward.
	ListLines(ctx context.Context, caller api.Caller, id string, p api.Page) (*api.List[Line], error)

	// Update changes a draft.
	//
	// Refusals: resource_missing (also customer, product, coupon), invoice_not_draft, and those of Create
	// for the fields that are given.
	Update(ctx context.Context, caller api.Caller, id string, f UpdateParams) (*Invoice, error)

	// AddLine adds a line to a draft and returns the invoice.
	//
	// Refusals: resource_missing (also product), invoice_not_draft, parameter_missing,
	// currency_not_supported, parameter_invalid (also for more than 250 lines).
	AddLine(ctx context.Context, caller api.Caller, id string, p LineParams) (*Invoice, error)

	// Delete removes a draft. The draft's number is not used again.
	//
	// Refusals: resource_missing, invoice_not_draft.
	Delete(ctx context.Context, caller api.Caller, id string) (*api.Deleted, error)

	// Duplicate makes a new draft of any invoice: with its lines, customer, texts, coupon, discount,
	// collection method and metadata, and with a number and an address of its own. It has no due date. If
	// the customer was deleted, it has no data of the customer. If the coupon can no longer be redeemed,
	// the draft cannot be finalized until an update takes it off.
	//
	// A duplicate of a subscription's invoice has no subscription, no periods, and no credit or other
	// negative lines.
	//
	// Refusals: resource_missing.
	Duplicate(ctx context.Context, caller api.Caller, id string) (*Invoice, error)
}

// Collection asks for the money of invoices.
type Collection interface {
	// Finalize opens a draft for payment. It sets the invoice date and queues an e-mail and an SMS to
	// the customer. A charge_automatically invoice is queued for its first charge. If nothing is due, Finalize
	// asks for no money: a worker marks the invoice paid.
	//
	// It redeems the coupon.
	//
	// Refusals: resource_missing, invoice_not_draft, invoice_no_lines, coupon_not_redeemable.
	Finalize(ctx context.Context, caller api.Caller, id string) (*Invoice, error)

	// Send sends an invoice to the customer again, by e-mail and SMS if the invoice has the addresses.
	// It does so at most 5 times an hour and 20 times a day.
	//
	// Refusals: rate_limited, invoice_not_open (a draft, or void), invoice_no_recipient; service_unavailable in
	// live mode without a Mailer or Texter that can reach the customer.
	Send(ctx context.Context, caller api.Caller, id string) (*Invoice, error)

	// Pay charges an open invoice through the [provider.Charger]. It credits the merchant, writes the
	// payment and queues the receipts. With PaidOutOfBand, or if nothing is due, Pay neither charges
	// nor credits anything: it marks the invoice paid and queues the receipts. With an idempotency key
	// the call may be repeated safely.
	//
	// With a phone, Pay starts a payment and returns the open invoice; see [Collection.StartPayment].
	//
	// A charger that does not answer leaves the outcome open: the call fails with
	// service_unavailable, and a worker asks the charger later. Until then the invoice can be neither
	// paid nor voided.
	//
	// Refusals: parameter_invalid, invalid_phone_number, resource_missing, invoice_not_open,
	// invoice_already_paid, invoice_payment_in_progress, payment_in_progress, payment_failed (also in live
	// mode without a charger), service_unavailable (the outcome is not known yet), and, with a phone,
	// too_many_prompts.
	Pay(ctx context.Context, caller api.Caller, id string, p PayParams) (*Invoice, error)

	// StartPayment asks a phone to pay the amount due of an open invoice, and returns the pending
	// payment; see [payment.Payments.Create]. The payment holds the invoice until it ends, or for
	// payments.Config.PaymentDeadline: meanwhile the invoice can be neither paid another way nor voided. The
	// invoice is paid when the payment is completed. A payer may approve after the hold, when the
	// invoice is no longer open or is being charged another way. That payment is refunded if the Charger is
	// a provider.RefundRail; otherwise Providers.List shows it. If nothing is due, StartPayment marks the invoice
	// paid and returns nil. With an idempotency key it may be repeated safely.
	//
	// Refusals: parameter_missing, parameter_invalid, invalid_phone_number, resource_missing,
	// invoice_not_open, invoice_already_paid, invoice_payment_in_progress, payment_in_progress,
	// too_many_prompts; service_unavailable in live mode without a charger.
	StartPayment(ctx context.Context, caller api.Caller, id string, from payment.MobileMoney) (*payment.Payment, error)

	// PayFromWallet pays the amount due of an open invoice from a consumer's wallet. caller is the
	// merchant; see [Hosted]. With an idempotency key it may be repeated safely; a replay
	// ignores the PIN. If nothing is due, it marks the invoice paid without a wallet, a PIN or a
	// payment.
	//
	// Refusals: invoice_not_open, invoice_already_paid, invoice_payment_in_progress, payment_in_progress,
	// parameter_missing (pin), account_not_found (an unknown account id), pin_invalid (also a phone number
	// or service id without an open wallet), pin_locked, wallet_not_active, insufficient_balance.
	PayFromWallet(ctx context.Context, caller api.Caller, id string, p PayFromWalletParams) (*Invoice, error)

	// Hosted finds an invoice by the secret in its URL. A draft or an unknown secret is
	// resource_missing.
	Hosted(ctx context.Context, token string) (*Hosted, error)

	// StartHostedPayment is StartPayment for a page, where a stranger may enter any number. The payment holds
	// the invoice for 2 minutes, until the provider has answered that the phone was asked. In live mode an address
	// starts at most two such payments of one invoice in an hour; another is too_many_prompts.
	StartHostedPayment(ctx context.Context, caller api.Caller, id string, from HostedPayment) (*payment.Payment, error)

	// Void cancels an open or uncollectible invoice, and gives the redemption of its coupon back. A draft
	// is refused; delete it instead.
	//
	// Refusals: invoice_not_voidable, invoice_payment_in_progress, payment_in_progress.
	Void(ctx context.Context, caller api.Caller, id string) (*Invoice, error)

	// MarkUncollectible sets an open invoice to uncollectible: the merchant does not expect the money.
	//
	// Refusals: invoice_not_open, invoice_already_paid, invoice_payment_in_progress,
	// payment_in_progress.
	MarkUncollectible(ctx context.Context, caller api.Caller, id string) (*Invoice, error)
}

// Documents makes PDFs and exports of invoices, and their credit notes.
type Documents interface {
	// PDFURL returns the URL of an invoice's PDF. It also sets Invoice.PDF, unless the caller may only
	// read.
	PDFURL(ctx context.Context, caller api.Caller, id string) (string, error)

	// PDFFile returns the PDF of one of the caller's invoices, also of a draft, and the name of
	// the file.
	PDFFile(ctx context.Context, caller api.Caller, id string) (data []byte, name string, err error)

	// HostedPDF returns the PDF of the invoice with that secret in its URL, and the file name. An unknown
	// secret is resource_missing. HostedPDF makes the PDF once for each state of the invoice, and caches
	// it.
	HostedPDF(ctx context.Context, token string) (data []byte, name string, err error)

	// CreditNotePDF returns the PDF of a refund's credit note, and the name of the file.
	// A refund that has none, because it is of no invoice or did not succeed, is
	// resource_missing.
	CreditNotePDF(ctx context.Context, caller api.Caller, refund string) (data []byte, name string, err error)

	// HostedCreditNote is CreditNotePDF for the hosted page: token is the secret in the invoice's URL. An
	// unknown secret or credit note is resource_missing.
	HostedCreditNote(ctx context.Context, token, refund string) (data []byte, name string, err error)

	// Export writes the invoices that the parameters select as CSV, newest first, each with the id of
	// its payment. Amounts are in GHS with two decimals. The file begins with the mark of UTF-8, U+FEFF. The first
	// row names the columns, of which later versions add more at the end. Export ignores p.Page. It writes an
	// apostrophe before a text that a spreadsheet would run as a formula.
	Export(ctx context.Context, caller api.Caller, p ExportParams) error
}

// ExportParams selects the invoices of an export.
type ExportParams struct {
	ListParams
	// Writer receives the CSV.
	Writer io.Writer
	// Progress, unless it is nil, is called after each page with the number of invoices written, in
	// the goroutine of Export.
	Progress func(written int)
}
