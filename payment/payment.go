// Package payment keeps every payment that a merchant receives. It also takes payments from a phone:
// the holder of a mobile-money account approves them on the phone.
//
// It owns the record of a payment, its events and its fee. It owns the charge of a phone, the booking
// of its outcome, and the limits on how often a phone is asked. It owns the holds, too: while a payment
// from a phone holds its invoice, its checkout session or its use of a QR code, no other payment can use
// it. A hold ends with the payment, after payments.Config.PaymentDeadline, or with Leave or Release. One that a page has
// started ends after 2 minutes, unless the provider has answered that the phone was asked. It also owns the
// top-ups of consumers' wallets, which are charges of phones without a merchant.
// Packages qrcode, invoice and checkout own what is paid. They take money from wallets in their own
// transactions, and call this package to start payments from a phone.
package payment

import (
	"context"
	"io"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/lookup"
	"github.com/seed-7082ffec/payments/internal/totals"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// Status is the state of a payment.
type Status string

// The statuses of a payment.
const (
	Pending    Status = "pending"
	Processing Status = "processing"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
)

var statuses = []Status{Pending, Processing, Completed, Failed, Cancelled}

// The methods of payment that this library carries out itself. Any other is the host's.
const (
	// ServiceWallet is the method of a consumer who pays from a wallet.
	ServiceWallet = "service_wallet"
	// FromPhone is the method of a payer who approves the payment on the phone.
	FromPhone = "mobile_money"
)

// Payment is money that a merchant receives, or has received.
type Payment struct {
	ID     string `json:"id"`
	Object string `json:"object"` // always "payment"
	// Amount is in pesewas.
	Amount int64 `json:"amount"`
	// AmountRefunded is the part that refunds have paid back or have reserved, in pesewas. A
	// failed refund no longer counts.
	AmountRefunded int64  `json:"amount_refunded"`
	Currency       string `json:"currency"`
	Status         Status `json:"status"`
	PaymentMethod  string `json:"payment_method"`
	// Provider is the mobile-money network that takes the money, such as "mtn"; nil for a wallet and
	// if it is unknown.
	Provider *string `json:"provider"`
	// Phone and PhoneNumber are both the payer's number, masked: /v1 has both names.
	Phone       *string `json:"phone"`
	PhoneNumber *string `json:"phone_number"`
	// QRCode or Invoice is the id of the paid object; nil for others.
	QRCode      *string      `json:"qr_code"`
	Invoice     *string      `json:"invoice"`
	Description string       `json:"description"`
	Reference   string       `json:"reference"`
	Metadata    api.Metadata `json:"metadata"`
	Livemode    bool         `json:"livemode"`
	CreatedAt   api.Time     `json:"created_at"`
	// CompletedAt is the time when the merchant got the money; nil until then.
	CompletedAt *api.Time `json:"completed_at"`
	// Fee is the operator's, and Net what the merchant got, in pesewas. Both are nil until the
	// payment is completed.
	Fee *int64 `json:"fee"`
	Net *int64 `json:"net"`
	// ProviderReference is the provider's; nil until it gives one.
	ProviderReference *string `json:"provider_reference"`
	// FailureReason says why a payment failed, and FailureCode does for programs; nil for others.
	FailureReason *string           `json:"failure_reason"`
	FailureCode   *provider.Failure `json:"failure_code"`
	// Customer is the id of the merchant's customer who pays; nil if it was not given.
	Customer *string `json:"customer"`
	// CheckoutSession is the id of the paid checkout session; nil for others.
	CheckoutSession *string `json:"checkout_session"`
	// Subscription is the id of the subscription whose invoice is paid; nil for others.
	Subscription *string `json:"subscription"`
	// HoldExpiresAt is the end of the hold on a use of the code, on the invoice or on the checkout
	// session; nil if the payment holds nothing. Of a payment that was started on a page it is 2 minutes
	// after the start, until the provider has answered that the phone was asked.
	HoldExpiresAt *api.Time `json:"hold_expires_at"`
	// NextAction says what the payer is to do; nil before the provider's first answer and after the end.
	NextAction *NextAction `json:"next_action"`

	// NewCustomer is the id that the checkout session has reserved for the customer it makes on completion.
	// The deletion of that customer finds copies of the payment by it. It is empty for any other payment.
	// /v1 does not show it.
	NewCustomer string `json:"-"`
}

// PersonID returns NewCustomer. The deletion of the customer finds copies of the payment by it.
func (p *Payment) PersonID() string { return p.NewCustomer }

// NextAction is what a payer is to do.
type NextAction struct {
	Type ActionType `json:"type"`
	// Message is the provider's text for the payer.
	Message string `json:"message"`
}

// ActionType is the kind of a NextAction.
type ActionType string

// The types of actions.
const (
	// Approve: the payer approves the payment on the phone.
	Approve ActionType = "approve"
	// EnterCode: the payer enters a code that the provider sent. See [Service.Confirm].
	EnterCode ActionType = "enter_code"
)

// Source is the origin of a payment's money, to which a refund returns it. Either Payer or Charge is set.
type Source struct {
	// Payer is the account that paid.
	Payer string `json:"payer,omitempty"`
	// Charge is the id under which an external provider took the money.
	Charge string `json:"charge,omitempty"`
	// ChargeRoute is that provider's; see [provider.Order].
	ChargeRoute string `json:"charge_route,omitempty"`
	// Reversed says that the provider took the money back.
	Reversed bool `json:"reversed,omitempty"`
}

// record is the stored form of a payment.
type record struct {
	Payment
	Source
	// Submission is that of the charge. It is empty unless the payment is from a phone.
	dispatch.Submission
	// Phoned is what the charge needs beside; nil unless the payment is from a phone.
	Phoned *phoned `json:"phoned,omitempty"`
	// FutureCustomer stores NewCustomer, which the JSON of a payment leaves out.
	FutureCustomer string `json:"future_customer,omitempty"`
	// Receipts are the times of SendReceipt, the oldest first.
	Receipts []api.Time `json:"receipts,omitempty"`
	// Decision is what staff have booked by hand; nil for nothing.
	Decision *decision `json:"decision,omitempty"`
}

var payments = storage.NewCollection("payments", []storage.Field[record]{
	storage.EnumColumn("status", func(r *record) Status { return r.Status }, statuses...).Indexed(),
	storage.NullTextColumn("qr_code", func(r *record) *string { return r.QRCode }).Indexed(),
	storage.NullTextColumn("invoice", func(r *record) *string { return r.Invoice }).Indexed(),
	storage.TimeColumn("created", func(r *record) time.Time { return r.CreatedAt.Time }).Indexed(),
	storage.TextColumn("payment_method", func(r *record) string { return r.PaymentMethod }).Nullable().Indexed(),
	storage.NullTextColumn("customer", func(r *record) *string { return r.Customer }).Indexed(),
	storage.NullTextColumn("checkout_session", func(r *record) *string { return r.CheckoutSession }).Indexed(),
	storage.NullTextColumn("subscription", func(r *record) *string { return r.Subscription }).Indexed(),
	dispatch.DueField(func(r *record) *dispatch.Submission { return &r.Submission }),
	// What Search finds. docs/notes/performance.md has the price of each index.
	storage.IntColumn("amount", func(r *record) int64 { return r.Amount }).Nullable().Indexed(),
	storage.TextColumn("reference", func(r *record) string { return r.Reference }).Nullable().Indexed(),
	storage.NullTextColumn("provider", func(r *record) *string { return r.Provider }),
	storage.TextColumn("phone_start", func(r *record) string { return lookup.PhoneStart(r.masked()) }).Nullable(),
	storage.TextColumn("phone_end", (*record).phoneEnd).Nullable().Indexed(),
	storage.TextColumn("payer", func(r *record) string { return r.Payer }).Nullable().Indexed(),
}, storage.DueBy("due")).Passthrough(func(r *record) any { return &r.Payment })

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind {
	return []*storage.Kind{payments.Kind(), holds.Kind(), endedHolds.Kind(), prompts.Kind(), topUps.Kind(), topUpRefunds.Kind(), topUpTotals.Kind()}
}

// Config is what the service works with.
type Config struct {
	Accounts *account.Internal
	Events   *event.Internal
	Messages *message.Internal
	// Charger takes money from phones in live mode. If it is nil, such payments are refused there
	// with service_unavailable. TestCharger takes them in test mode; nil means
	// [provider.Simulated].
	Charger, TestCharger provider.Charger
	// Fees are the operator's fees for payments from phones; nil means none.
	Fees *Fees
	// Deadline is how long a payer is asked, and how long a payment holds what it is for. Zero
	// means 10 minutes.
	Deadline time.Duration
	// Prompts limit how often one phone is asked. A zero field means that of [DefaultPromptLimits].
	Prompts PromptLimits
	// Tiers limit the top-ups of consumers' wallets; nil means no limits.
	Tiers *account.WalletTiers
}

// Service takes, keeps and reads payments. It is safe for concurrent use.
type Service struct {
	engine *engine.Engine
	config Config
	limits map[account.Tier]walletLimits
	totals *totals.Service[record]
	// payables is shared by all copies.
	payables *Payables

	topUps       *topUpOrders
	topUpRefunds *topUpRefundOrders
}

// New returns the service, and the methods for sibling packages' transactions. Refusals: those of
// wrong fees and limits.
func New(e *engine.Engine, c Config) (*Service, *Internal, error) {
	if c.TestCharger == nil {
		c.TestCharger = provider.Simulated{}
	}
	if c.Fees == nil {
		c.Fees = &Fees{}
	}
	if err := c.Fees.check(); err != nil {
		return nil, nil, err
	}
	if err := c.Prompts.fill(); err != nil {
		return nil, nil, err
	}
	if c.Deadline == 0 {
		c.Deadline = defaultDeadline
	}
	limits, err := limitsOf(c.Tiers)
	if err != nil {
		return nil, nil, err
	}
	s := &Service{engine: e, config: c, payables: new(Payables), limits: limits, totals: totals.New(payments, asEnded)}
	s.topUps, s.topUpRefunds = newTopUpOrders(s), newTopUpRefundOrders(s)
	if c.Accounts != nil {
		c.Accounts.OnAdjust(s.adjusted)
	}
	return s, &Internal{s}, nil
}

// defaultDeadline is how long a payer is asked if the host says nothing.
const defaultDeadline = 10 * time.Minute

// Get returns one payment.
func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*Payment, error) {
	return listing("/v1/payments").Get(ctx, s.engine, caller, id)
}

// Payer is what a merchant's own pages show of a payer beyond the payment.
type Payer struct {
	// Account is the account that paid from a wallet; "" for any other payment.
	Account string
	// Number is the whole number of a payment from a phone, +233XXXXXXXXX; "" after an erasure.
	Number string
	// PageToken is that of a payment from a phone; see [Service.PageToken].
	PageToken string
}

// Payer returns the payer of a payment.
func (s *Service) Payer(ctx context.Context, caller api.Caller, id string) (*Payer, error) {
	o, err := engine.Get(ctx, s.engine, caller, payments, id, "payment")
	if err != nil {
		return nil, err
	}
	p := &Payer{Account: o.Value.Payer}
	if is := o.Value.Phoned; is != nil {
		p.Number, p.PageToken = is.Number, o.ID+"-"+is.PageSecret
	}
	return p, nil
}

// GetJSON writes the JSON of what Get returns; see package httpapi.
func (s *Service) GetJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error {
	return listing("/v1/payments").GetJSON(ctx, s.engine, caller, id, w)
}

// listing reads payments; url is the path of the list.
func listing(url string) engine.Listing[record, Payment] {
	return engine.Listing[record, Payment]{
		Collection: payments, Noun: "payment", URL: url,
		Show: func(r *record) Payment {
			r.fillDerived()
			return r.Payment
		},
	}
}

// fillDerived sets what the stored JSON of a payment leaves out.
func (r *record) fillDerived() { r.NewCustomer = r.FutureCustomer }

// complete sets what a completed payment shows.
func (p *Payment) complete(fee int64, at api.Time) {
	net := p.Amount - fee
	p.Status, p.Fee, p.Net, p.CompletedAt = Completed, &fee, &net, &at
}

// ListParams selects payments; zero values select all.
type ListParams struct {
	api.Page
	Status        Status `param:"status"`
	PaymentMethod string `param:"payment_method"`
	Customer      string `param:"customer,id"`
	// QRCode, Invoice and CheckoutSession are ids of paid objects, and Subscription that of a
	// subscription whose invoice is paid.
	QRCode          string `param:"qr_code,id"`
	Invoice         string `param:"invoice,id"`
	CheckoutSession string `param:"checkout_session,id"`
	Subscription    string `param:"subscription,id"`
	// Reference is the caller's own, exactly.
	Reference string    `param:"reference"`
	Created   api.Times `param:"created"`
}

// List returns payments, newest first.
func (s *Service) List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[Payment], error) {
	return listing("/v1/payments").List(ctx, s.engine, engine.Query(caller, p), p.Page)
}

// ListJSON writes the JSON of what List returns; see package httpapi.
func (s *Service) ListJSON(ctx context.Context, caller api.Caller, p ListParams, w io.Writer) error {
	return listing("/v1/payments").ListJSON(ctx, s.engine, engine.Query(caller, p), p.Page, w)
}
