package payments

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
)

// DefaultBaseURL is where the hosted pages are when the host says nothing.
const DefaultBaseURL = "http://127.0.0.1:8080"

// defaultPoll is how long a worker rests when nothing was due. Work that this
// process makes wakes its workers at once; the poll is for what other processes
// make and for what becomes due later.
const defaultPoll = time.Second

// defaultStuckAfter is how long an order may be on its way before it counts as stuck, when
// the host says nothing.
const defaultStuckAfter = time.Hour

// minKey is the shortest server key, in bytes.
const minKey = 32

// Providers are the host's own providers of one mode. What is nil is missing in live mode
// and simulated in test mode.
type Providers struct {
	// Rail carries payouts and disbursements to mobile money and banks. Without one, live
	// mode refuses them with service_unavailable; those to wallets and floats need none.
	// Test mode has [provider.Simulated].
	Rail provider.Rail
	// Charger takes the money of invoices. Without one, live mode has invoices paid on
	// their hosted page only. One that is a [provider.RefundRail], too, can give the money
	// back. Test mode has [provider.Simulated].
	Charger provider.Charger
	// Texter sends SMS; without one live mode sends none. Test mode keeps SMS to be read,
	// and New refuses a Texter there.
	Texter message.Texter
	// Mailer sends e-mail; without one live mode sends none. Test mode keeps e-mail to be
	// read, and sends it, too, where it has a Mailer.
	Mailer message.Mailer
}

// Config is what the host brings. The zero value works: test mode in full, and
// live mode as far as nothing outside is needed.
type Config struct {
	// BaseURL is where the hosted pages (/pay/…, /invoice/…) are reached from
	// outside, as "https://pay.example.com": no query, no slash at its end.
	// DefaultBaseURL when empty.
	BaseURL string
	// Sandbox allows test clocks to be moved and the test helpers to be mounted.
	// Live mode is untouched by it.
	Sandbox bool
	// Serial does due work one record after another, so that a test on a memory store
	// replays. It costs throughput, and is for tests.
	Serial bool
	// Key is the server's secret, at least 32 bytes. The library uses it for the payloads
	// of consumers' codes, the seals of the ledger, one-time codes and PINs. A host sets it
	// in production and keeps it outside the database: then a stolen database gives away
	// no PIN. When Key is empty, New makes one at the first start and keeps it in the
	// store, where a thief of the database finds it; see [StoredKey].
	Key []byte
	// FallbackKeys are accepted beside Key, and nothing new is made under them. To change
	// Key, add the new key here in all processes, then make it Key and put the old one
	// here. See docs/guide/keys.md for how long an old key must stay.
	FallbackKeys [][]byte
	// Live and Test are what carries money and messages in each mode.
	Live, Test Providers
	// ConsumerCodec reads and writes the payloads of consumers' QR codes; the
	// library's own when nil.
	ConsumerCodec qrcode.ConsumerCodec
	// Banks knows the banks that can be paid and their codes; sample data,
	// [provider.SampleBanks], when nil.
	Banks provider.BankDirectory
	// Fees are those of external transfers; [payout.DefaultFees] when nil.
	Fees *payout.Fees
	// PayoutLimits default to GHS 1.00 to 20,000.00 for one and 50,000.00 for a
	// day's, DisbursementLimits to GHS 0.01 to 20,000.00 for one.
	PayoutLimits, DisbursementLimits payout.Limits
	// NameMatch decides whether the account_name of a transfer that demands it
	// (match_account_name) stands for the registered one; with
	// [payout.MatchNames] the host sets a tolerance. [payout.DefaultNameTolerance]
	// percent of the letters may differ when nil.
	NameMatch payout.NameMatch
	// NameQuota is how many names of bank and mobile-money accounts each merchant may look
	// up in an hour and in a day; [payout.DefaultNameQuota] where it is zero.
	NameQuota payout.NameQuota
	// StuckAfter is how long a transfer, a refund or a charge may be on its way before
	// the log tells of it, and List of Providers lists it; one hour when zero.
	StuckAfter time.Duration
	// SingleUseOTP makes a one-time code good for one payout, instead of for 10
	// minutes.
	SingleUseOTP bool
	// Customers is the host's own record of customers, from which invoices are
	// filled; the library's own when nil.
	Customers account.CustomerDirectory
	// DefaultTax is the rate, in percent, of taxable invoice lines that give none;
	// nil for no tax.
	DefaultTax *decimal.Decimal
	// InvoiceReminders are the days from the due date on which customers are reminded
	// of open invoices, at nine in the morning: -3 is three days before, 0 the day
	// itself, 7 a week later. Each reminder is sent once. Nobody is reminded when it is
	// empty.
	InvoiceReminders []int
	// EventRetention is for how long events and their deliveries are kept from their
	// creation on; zero for good. Ten days at least let every delivery end.
	// DeliveryRetention removes deliveries that have ended before their events, an hour
	// after their creation at the soonest; zero keeps them as long as the events.
	//
	// These and MessageRetention hold for what is there already, too, whenever they are
	// changed: a worker looks every hour for what is older, and removes it in small
	// transactions. Processes over one database should have the same. They need a store
	// whose transactions are [storage.Scanner], as those of this library are; New refuses
	// them on another.
	EventRetention, DeliveryRetention time.Duration
	// MessageRetention is for how long the messages of test mode can be read; 30 days
	// when zero. Those of live mode leave the store when they are delivered or given up.
	MessageRetention time.Duration
	// IdempotencyRetention is for how long an idempotency key stands for its first
	// request: 30 days when zero, which is promised to clients, and no less. A change is
	// for the keys that are used from then on.
	IdempotencyRetention time.Duration
	// NumberRetention is for how long the phone or account number of a payout or
	// disbursement is kept from the creation on, once it has ended; zero for good. After
	// that only the masked form is left. It holds as EventRetention does, for what is
	// there already, too; a number that was removed does not come back.
	NumberRetention time.Duration
	// WebhookAllow opens address ranges that are not public, such as loopback, to the
	// webhook deliveries of test mode. Live mode delivers to public addresses only.
	WebhookAllow []netip.Prefix
	// Logger gets one line for each piece of background work, and what people should
	// look at; slog.Default when nil. No secret, phone number or account number is
	// logged, and nothing that the host's own code fails with, which may quote them.
	Logger *slog.Logger
	// Observer is told of the background work, for metrics and traces; nobody when
	// nil.
	Observer Observer
	// Clock is the real time, time.Now when nil. Tests inject their own.
	Clock func() time.Time
	// NewID makes ids with a given prefix, unique and ascending; the library's own
	// when nil. Tests inject their own. The library's are moved on where the clock of
	// another process is ahead, so that events are listed in the order of their commits;
	// others must ascend over all processes for that.
	NewID func(prefix string) string
	// Poll is how often workers look for due work that nobody told them of; one
	// second when zero.
	Poll time.Duration
}

// keys are all keys of the server. The first is for what is made from now on.
func (c *Config) keys() [][]byte { return append([][]byte{c.Key}, c.FallbackKeys...) }

func (c *Config) check() error {
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	u, err := url.Parse(c.BaseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return fmt.Errorf("payments: BaseURL %q must be like https://pay.example.com, with http or https and without query", c.BaseURL)
	}
	if c.Test.Texter != nil {
		return errors.New("payments: Test.Texter must be nil; SMS of test mode are kept to be read")
	}
	if len(c.Key) > 0 && len(c.Key) < minKey {
		return fmt.Errorf("payments: Key has %d bytes, want at least %d", len(c.Key), minKey)
	}
	for i, key := range c.FallbackKeys {
		if len(key) < minKey {
			return fmt.Errorf("payments: FallbackKeys[%d] has %d bytes, want at least %d", i, len(key), minKey)
		}
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
		{"NumberRetention", c.NumberRetention, 0},
		{"IdempotencyRetention", c.IdempotencyRetention, engine.KeyLife},
	} {
		if r.keep != 0 && (r.keep < 0 || r.keep < r.least) {
			return fmt.Errorf("payments: %s is %s, want 0 or at least %s", r.name, r.keep, r.least)
		}
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
