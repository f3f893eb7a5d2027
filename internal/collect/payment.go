// Package collect takes and keeps payments: it implements [payment.Service].
//
// It owns the record of a payment, its events and its fee. It owns the charge of a phone, the booking
// of its outcome, the holds, and the limits on how often a phone is asked. It also owns the
// top-ups of consumers' wallets, which are charges of phones without a merchant.
//
// Packages scanning, invoicing and session own what is paid: see [Payable]. They take money from wallets in
// their own transactions, and call this package to start payments from a phone.
package collect

import (
	"context"
	"io"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/lookup"
	"github.com/seed-7082ffec/payments/internal/notify/messaging"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/internal/totals"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

var statuses = []payment.Status{payment.Pending, payment.Processing, payment.Completed, payment.Failed, payment.Cancelled}

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
	payment.Payment
	Source
	// Submission is that of the charge. It is empty unless the payment is from a phone.
	orders.Submission
	// Phoned is what else the charge needs; nil unless the payment is from a phone.
	Phoned *phoned `json:"phoned,omitempty"`
	// FutureCustomer stores NewCustomer, which the JSON of a payment leaves out.
	FutureCustomer string `json:"future_customer,omitempty"`
	// Receipts are the times of SendReceipt, the oldest first.
	Receipts []api.Time `json:"receipts,omitempty"`
	// Decision is what staff have booked by hand; nil for nothing.
	Decision *decision `json:"decision,omitempty"`
}

var payments = storage.NewCollection("payments", []storage.Field[record]{
	storage.EnumColumn("status", func(r *record) payment.Status { return r.Status }, statuses...).Indexed(),
	storage.NullTextColumn("qr_code", func(r *record) *string { return r.QRCode }).Indexed(),
	storage.NullTextColumn("invoice", func(r *record) *string { return r.Invoice }).Indexed(),
	storage.TimeColumn("created", func(r *record) time.Time { return r.CreatedAt.Time }).Indexed(),
	storage.TextColumn("payment_method", func(r *record) string { return r.PaymentMethod }).Nullable().Indexed(),
	storage.NullTextColumn("customer", func(r *record) *string { return r.Customer }).Indexed(),
	storage.NullTextColumn("checkout_session", func(r *record) *string { return r.CheckoutSession }).Indexed(),
	storage.NullTextColumn("subscription", func(r *record) *string { return r.Subscription }).Indexed(),
	orders.DueField(func(r *record) *orders.Submission { return &r.Submission }),
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
	Accounts *party.Service
	Events   *recording.Service
	Messages *messaging.Service
	// Charger takes money from phones in live mode. If it is nil, such payments are refused there
	// with service_unavailable. TestCharger takes them in test mode; nil means
	// [provider.Simulated].
	Charger, TestCharger provider.Charger
	// Fees are the operator's fees for payments from phones; nil means none.
	Fees *payment.Fees
	// Deadline is how long a payer has to approve, and how long a payment holds the object that it pays. Zero
	// means 10 minutes.
	Deadline time.Duration
	// Prompts limit how often one phone is asked. A zero field means that of [payment.DefaultPromptLimits].
	Prompts payment.PromptLimits
	// Tiers limit the top-ups of consumers' wallets; nil means no limits.
	Tiers *account.WalletTiers
}

// Service implements [payment.Service].
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

var _ payment.Service = (*Service)(nil)

// New returns the service. It refuses wrong fees and limits.
func New(e *engine.Engine, c Config) (*Service, error) {
	if c.TestCharger == nil {
		c.TestCharger = provider.Simulated{}
	}
	if c.Fees == nil {
		c.Fees = &payment.Fees{}
	}
	if err := checkFees(c.Fees); err != nil {
		return nil, err
	}
	if err := fillLimits(&c.Prompts); err != nil {
		return nil, err
	}
	if c.Deadline == 0 {
		c.Deadline = defaultDeadline
	}
	limits, err := limitsOf(c.Tiers)
	if err != nil {
		return nil, err
	}
	s := &Service{engine: e, config: c, payables: new(Payables), limits: limits, totals: totals.New(payments, asEnded)}
	s.topUps, s.topUpRefunds = newTopUpOrders(s), newTopUpRefundOrders(s)
	if c.Accounts != nil {
		c.Accounts.OnAdjust(s.adjusted)
	}
	return s, nil
}

// defaultDeadline is how long a payer has to approve if the host sets no deadline.
const defaultDeadline = 10 * time.Minute

func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*payment.Payment, error) {
	return listing("/v1/payments").Get(ctx, s.engine, caller, id)
}

func (s *Service) Payer(ctx context.Context, caller api.Caller, id string) (*payment.Payer, error) {
	o, err := engine.Get(ctx, s.engine, caller, payments, id, "payment")
	if err != nil {
		return nil, err
	}
	p := &payment.Payer{Account: o.Value.Payer}
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
func listing(url string) engine.Listing[record, payment.Payment] {
	return engine.Listing[record, payment.Payment]{
		Collection: payments, Noun: "payment", URL: url,
		Show: func(r *record) payment.Payment {
			r.fillDerived()
			return r.Payment
		},
	}
}

// fillDerived sets what the stored JSON of a payment leaves out.
func (r *record) fillDerived() { r.NewCustomer = r.FutureCustomer }

// complete sets what a completed payment shows.
func complete(p *payment.Payment, fee int64, at api.Time) {
	net := p.Amount - fee
	p.Status, p.Fee, p.Net, p.CompletedAt = payment.Completed, &fee, &net, &at
}

func (s *Service) List(ctx context.Context, caller api.Caller, p payment.ListParams) (*api.List[payment.Payment], error) {
	return listing("/v1/payments").List(ctx, s.engine, engine.Query(caller, p), p.Page)
}

// ListJSON writes the JSON of what List returns; see package httpapi.
func (s *Service) ListJSON(ctx context.Context, caller api.Caller, p payment.ListParams, w io.Writer) error {
	return listing("/v1/payments").ListJSON(ctx, s.engine, engine.Query(caller, p), p.Page, w)
}
