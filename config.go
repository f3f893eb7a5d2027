package payments

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
)

// DefaultBaseURL is the base URL when Config.BaseURL is empty.
const DefaultBaseURL = "http://127.0.0.1:8080"

// defaultPoll is how long a worker rests when nothing was due. Work that this
// process makes wakes its workers at once; the poll is for what other processes
// make and for what becomes due later.
const defaultPoll = time.Second

// defaultStuckAfter is how long an order may be on its way before it counts as stuck, when
// the host says nothing.
const defaultStuckAfter = time.Hour

// maxPaymentDeadline bounds Config.PaymentDeadline: no provider waits longer for a payer.
const maxPaymentDeadline = time.Hour

// minKey is the shortest server key, in bytes.
const minKey = 32

// Providers holds the host's providers for one mode. In live mode a nil field means that there is
// none. In test mode a nil Rail or Charger is simulated.
type Providers struct {
	// Rail sends payouts and disbursements to mobile money and banks. If it is nil, live mode
	// refuses them with service_unavailable, and test mode uses [provider.Simulated]. Transfers to
	// wallets and floats need no Rail.
	Rail provider.Rail
	// Charger takes money from phones, and charges invoices. If it is nil, live mode takes payments
	// only from wallets, and test mode uses [provider.Simulated]. Live mode then refuses payments from
	// phones with service_unavailable, and invoice.Service.Pay with payment_failed. A Charger that is
	// also a [provider.RefundRail] can give money back, and one that is a [provider.ChargeConfirmer]
	// passes on payers' codes.
	Charger provider.Charger
	// Texter sends SMS. If it is nil, live mode sends none and refuses one-time codes with
	// service_unavailable. Test mode only keeps SMS for reading, and New refuses a Texter there.
	Texter message.Texter
	// Mailer sends e-mail. If it is nil, live mode sends none. Test mode keeps e-mail for reading,
	// and also sends it if it has a Mailer.
	Mailer message.Mailer
}

// Config configures New. The zero value works. Test mode then has no test clocks and no test helpers,
// and live mode refuses what needs a provider.
type Config struct {
	// BaseURL is the public URL under which browsers reach the hosted pages (/pay/…, /invoice/…),
	// such as "https://pay.example.com". It has no query. Empty means DefaultBaseURL.
	BaseURL string
	// Sandbox allows test clocks and test helpers, which create money in test mode. It does not
	// affect live mode. Leave it off in production.
	Sandbox bool
	// Serial makes the workers do due work one record at a time, so that a test gives the same
	// result each time. Use it in tests only.
	Serial bool
	// Key is the server's secret, at least 32 bytes. The library uses it for the payloads of
	// consumers' codes, the seals of the ledger, one-time codes and PINs. A host sets it in
	// production and keeps it outside the database: then a stolen database reveals no PIN. If Key
	// is empty, New makes one at the first start and keeps it in the store. A thief of the database
	// then has the key too; see [StoredKey].
	Key []byte
	// FallbackKeys are accepted beside Key. The library makes nothing new with them. To change Key,
	// add the new key here in all processes, then make it Key and put the old one here. See
	// docs/guide/keys.md for how long an old key must stay.
	FallbackKeys [][]byte
	// Live and Test are the providers of each mode.
	Live, Test Providers
	// ConsumerCodec reads and writes the payloads of consumers' QR codes. Nil means the library's
	// own codec.
	ConsumerCodec qrcode.ConsumerCodec
	// Banks lists the banks that can receive money, with their codes. Nil means
	// [provider.SampleBanks], which is sample data.
	Banks provider.BankDirectory
	// Fees are those of external transfers; [payout.DefaultFees] when nil.
	Fees *payout.Fees
	// CollectionFees are those of payments from phones; nil means none.
	CollectionFees *payment.Fees
	// PaymentDeadline is how long a payer has to approve a payment or top-up on the phone, from a
	// minute to an hour. For that time the payment holds its invoice, checkout session or use of a QR
	// code. Zero means 10 minutes.
	PaymentDeadline time.Duration
	// PromptLimits bound how often one phone is asked in live mode, over all merchants. A zero
	// field means that of [payment.DefaultPromptLimits].
	PromptLimits payment.PromptLimits
	// WalletTiers limit the top-ups of consumers' wallets, by the tier of the holder. Nil means no
	// limits. [account.BankOfGhanaTiers] are those of mobile-money wallets in Ghana.
	WalletTiers *account.WalletTiers
	// PayoutLimits bound each payout (default GHS 1.00 to 20,000.00) and a merchant's payouts of a
	// day (default GHS 50,000.00). DisbursementLimits bound each disbursement (default GHS 0.01 to
	// 20,000.00).
	PayoutLimits, DisbursementLimits payout.Limits
	// NameMatch compares the account_name of a transfer with match_account_name to the registered
	// name. Nil means [payout.DefaultNameMatch].
	NameMatch payout.NameMatch
	// NameQuota bounds how many account names each merchant may look up per hour and per day. A
	// zero field means that of [payout.DefaultNameQuota].
	NameQuota payout.NameQuota
	// StuckAfter is how long a transfer, refund or charge may be under way before it counts as stuck.
	// The log then reports it, and [provider.Service].List lists it. Zero means one hour.
	StuckAfter time.Duration
	// SingleUseOTP makes a verified one-time code valid for one payout only. Otherwise it is valid for
	// any number of payouts in the 10 minutes after VerifyOTP accepted it.
	SingleUseOTP bool
	// Customers is the host's own directory of customers, for invoices, payments, checkout sessions and
	// subscriptions. Nil means the library's own customers.
	Customers account.CustomerDirectory
	// DefaultTax is the rate, in percent, of taxable invoice lines that give none;
	// nil for no tax.
	DefaultTax *decimal.Decimal
	// ChargeHours are the hours of the day in Accra in which automatic charges ask phones in live mode.
	// The zero value means [invoice.DefaultChargeHours], from 8 until 20 o'clock.
	ChargeHours invoice.ChargeHours
	// KeepPastDue leaves a subscription past_due, and goes on with it, when one of its invoices has
	// become uncollectible: after the last failed charge, or 30 days after the due date. Otherwise the
	// subscription is cancelled then.
	KeepPastDue bool
	// NoChargeNotice turns off the SMS that announces the first charge of each renewal of a subscription
	// a day before it, in live mode.
	NoChargeNotice bool
	// InvoiceReminders are the days, counted from the due date, on which customers are reminded of open
	// invoices at 09:00 UTC. -3 is three days before, 0 the day itself, 7 a week later. Each reminder
	// is queued at most once. If several are overdue, for example after the workers were stopped, only
	// the latest is sent. Invoices that are charged automatically have no reminders. An empty list
	// sends none.
	InvoiceReminders []int
	// EventRetention is how long the store keeps events and their deliveries, counted from their
	// creation. Zero means for ever. Use at least ten days, so that every delivery can end first.
	// DeliveryRetention is how long the store keeps ended deliveries; it must be at least an hour.
	// Zero keeps them as long as their events.
	//
	// A change of these or of MessageRetention also applies to existing records. A worker removes
	// older records every hour, in small transactions. All processes over one database should have
	// the same values.
	EventRetention, DeliveryRetention time.Duration
	// MessageRetention is how long test mode keeps messages for reading. Zero means 30 days. In
	// live mode a message leaves the store when it is delivered or given up.
	MessageRetention time.Duration
	// IdempotencyRetention is how long the library remembers an idempotency key. Zero means 30
	// days, which clients are promised; New refuses less. A change applies to keys that are first
	// used after it.
	IdempotencyRetention time.Duration
	// CheckoutRetention is how long the store keeps checkout sessions that have ended, counted from their
	// creation. Zero means for ever. Their payments and subscriptions stay. A change also applies to
	// existing records.
	CheckoutRetention time.Duration
	// NumberRetention is how long ended objects keep personal numbers, counted from their creation.
	// Payouts and disbursements keep the recipient's phone or account number. Payments from a phone,
	// top-ups, refunds and checkout sessions keep the payer's number and e-mail. Zero means for ever.
	// After that only the masked number is left. A later refund gives the provider the id of the
	// charge, but not the phone number. A change also applies to existing records. A removed number
	// does not come back. Events and stored answers still show a checkout session's number and e-mail,
	// for EventRetention and IdempotencyRetention. The payer's name stays in the session.
	NumberRetention time.Duration
	// WebhookAllow lets test mode deliver webhooks to further address ranges, such as loopback.
	// Live mode delivers to public addresses only.
	WebhookAllow []netip.Prefix
	// Logger receives one line for each piece of background work, and each problem that a person
	// should look at. Nil means slog.Default(). No line holds a secret, a phone number or an
	// account number. No line holds an error of the host's own code, because it may quote them.
	Logger *slog.Logger
	// Observer observes the background work, for metrics and traces. Nil means none.
	Observer Observer
	// Clock returns the real time. Nil means time.Now. Tests may set their own.
	Clock func() time.Time
	// NewID makes unique, ascending ids with the given prefix. Nil means the library's own. Tests
	// may set their own. Events are listed in the order of their commits only if ids ascend over
	// all processes. The library's own ids do, even if clocks differ.
	NewID func(prefix string) string
	// Poll is how often idle workers look for due work. Zero means one second. Work that this
	// process creates starts at once.
	Poll time.Duration
}

// keys are all keys of the server. The first is for what is made from now on.
func (c *Config) keys() [][]byte { return append([][]byte{c.Key}, c.FallbackKeys...) }

func (c *Config) check() error {
	for name, p := range map[string]any{
		"Live.Rail": c.Live.Rail, "Live.Charger": c.Live.Charger, "Live.Texter": c.Live.Texter, "Live.Mailer": c.Live.Mailer,
		"Test.Rail": c.Test.Rail, "Test.Charger": c.Test.Charger, "Test.Mailer": c.Test.Mailer,
		"Banks": c.Banks, "Customers": c.Customers, "ConsumerCodec": c.ConsumerCodec, "Observer": c.Observer,
	} {
		// A variable of a pointer's type that was never set makes a field that is not nil.
		if v := reflect.ValueOf(p); v.Kind() == reflect.Pointer && v.IsNil() {
			return fmt.Errorf("payments: %s is a nil %T. Leave the field itself nil if there is none", name, p)
		}
	}
	for _, p := range []any{c.Live.Rail, c.Live.Charger, c.Test.Rail, c.Test.Charger} {
		if r, ok := p.(interface{ Validate() error }); ok {
			if err := r.Validate(); err != nil {
				return fmt.Errorf("payments: %w", err)
			}
		}
	}
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	u, err := url.Parse(c.BaseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil || strings.ContainsAny(c.BaseURL, " ?#") {
		return fmt.Errorf("payments: BaseURL %q must be like https://pay.example.com, with http or https and without query", c.BaseURL)
	}
	if err := check.Percent("DefaultTax", c.DefaultTax); err != nil {
		return fmt.Errorf("payments: %w", err)
	}
	if c.Test.Texter != nil {
		return errors.New("payments: Test.Texter must be nil; SMS of test mode are kept to be read")
	}
	// A host may clear its own copies of the keys after New.
	c.Key, c.FallbackKeys = bytes.Clone(c.Key), slices.Clone(c.FallbackKeys)
	for i := range c.FallbackKeys {
		c.FallbackKeys[i] = bytes.Clone(c.FallbackKeys[i])
	}
	if len(c.Key) > 0 && len(c.Key) < minKey {
		return fmt.Errorf("payments: Key has %d bytes, want at least %d", len(c.Key), minKey)
	}
	for i, key := range c.FallbackKeys {
		if len(key) < minKey {
			return fmt.Errorf("payments: FallbackKeys[%d] has %d bytes, want at least %d", i, len(key), minKey)
		}
	}
	if err := c.ChargeHours.Check(); err != nil {
		return fmt.Errorf("payments: ChargeHours: %w", err)
	}
	if err := invoice.CheckReminders(c.InvoiceReminders); err != nil {
		return fmt.Errorf("payments: InvoiceReminders: %w", err)
	}
	for _, r := range []struct {
		name        string
		keep, least time.Duration
	}{
		{"EventRetention", c.EventRetention, 0},
		{"DeliveryRetention", c.DeliveryRetention, time.Hour},
		{"MessageRetention", c.MessageRetention, 0},
		{"CheckoutRetention", c.CheckoutRetention, 0},
		{"NumberRetention", c.NumberRetention, 0},
		{"PaymentDeadline", c.PaymentDeadline, time.Minute},
		{"IdempotencyRetention", c.IdempotencyRetention, engine.IdempotencyKeyLife},
	} {
		if r.keep != 0 && (r.keep < 0 || r.keep < r.least) {
			return fmt.Errorf("payments: %s is %s, want 0 or at least %s", r.name, r.keep, r.least)
		}
	}
	if c.PaymentDeadline > maxPaymentDeadline {
		return fmt.Errorf("payments: PaymentDeadline is %s, want at most %s", c.PaymentDeadline, maxPaymentDeadline)
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Poll <= 0 {
		c.Poll = defaultPoll
	}
	if c.StuckAfter <= 0 {
		c.StuckAfter = defaultStuckAfter
	}
	return nil
}
