// Package mtnmomo moves money over the MTN MoMo Open API, to and from MTN's wallets alone.
//
// A [Client] sends transfers, looks numbers up, asks payers to approve charges, and refunds them.
// It owns the calls, the tokens, the meaning of MTN's words, and the callbacks. It books nothing
// and repeats nothing: the library asks again. It does not know the other networks; see [Client.Check].
//
// The package is experimental until the doctor (examples/doctor) has passed on a real account. It was
// written from MTN's pages and from other integrations, and tested against package mtnmomotest. What is
// unconfirmed is marked "unconfirmed" at the constant that it concerns. Please report where MTN's real API
// differs, with the doctor's output if it does not pass. We also need the host and X-Target-Environment
// that MTN gave you, and how soon a status query finds a new order. Tell us too which status or reason
// words are not in the tables of words.go, and whether MTN accepts notes and an externalId with an
// underscore.
package mtnmomo

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/internal/httpcall"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/provider"
)

// The hosts. Production is unconfirmed: MTN tells each partner its host, and other integrations use
// this one.
const (
	SandboxURL    = "https://sandbox.momodeveloper.mtn.com"
	ProductionURL = "https://proxy.momoapi.mtn.com"
)

// Config configures a [Client]. Leave the Credentials of a product zero if you do not use it.
type Config struct {
	// BaseURL is the host that MTN named, such as [ProductionURL].
	BaseURL string
	// TargetEnvironment is "mtnghana" when empty. In the sandbox it is "sandbox"; such a client takes
	// orders of test mode only, and any other takes live orders only.
	TargetEnvironment string
	// Currency is GHS when empty. The sandbox takes only EUR.
	Currency string
	// Collection takes charges. Disbursement sends transfers and refunds, and looks numbers up.
	Collection, Disbursement Credentials
	// CallbackURL is where you mount [Client.WebhookHandler]: https, port 443, with the host name
	// that MTN has on file for the API user. MTN sends no callbacks when it is empty.
	CallbackURL string
	// StatusQueries is how many orders a second this client asks MTN about; 10 when zero, which is all
	// that MTN allows. Give each of several processes its share. The client delays further queries.
	StatusQueries int
	// HTTPClient is a client with a time-out of 25 seconds when nil. It follows no redirects.
	HTTPClient *http.Client `json:"-"`
	// Logger gets what the operator must act upon; slog.Default() when nil. It gets no numbers.
	Logger *slog.Logger `json:"-"`
	// Now is the clock by which tokens expire; time.Now when nil.
	Now func() time.Time `json:"-"`
}

// Credentials are those of one of MTN's products.
type Credentials struct {
	// SubscriptionKey is the product's primary or secondary key.
	SubscriptionKey string `json:"-"`
	// APIUser is a UUID, and APIKey its secret; see [Provision] for the sandbox.
	APIUser string
	APIKey  string `json:"-"`
}

// Format implements fmt.Formatter, so that no print shows the keys.
func (c Credentials) Format(w fmt.State, _ rune) {
	_, _ = fmt.Fprintf(w, "mtnmomo.Credentials{APIUser: %q}", c.APIUser)
}

// isPart reports whether some of the credentials are given, and some are missing.
func (c Credentials) isPart() bool {
	return c != Credentials{} && (c.SubscriptionKey == "" || c.APIUser == "" || c.APIKey == "")
}

// Client is a provider.Rail, Checker, NameEnquirer, Charger and RefundRail. It is safe for
// concurrent use.
type Client struct {
	cfg                         Config // without the Credentials
	http                        *http.Client
	transfers, charges, refunds *flow
	queries, callbacks          limiter
	alerts                      alerts
}

// maxQueries is how many status queries a second MTN allows.
const maxQueries = 10

// flow is one kind of order at MTN.
type flow struct {
	product *product
	path    string
	// charge says that money comes in.
	charge bool
}

// New returns a client, or refuses a configuration that cannot work. It does not call MTN. A call
// that needs a product without Credentials fails.
func New(cfg Config) (*Client, error) {
	cfg.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	if err := httpcall.CheckURL("mtnmomo", cfg.BaseURL); err != nil {
		return nil, err
	}
	switch {
	case cfg.Collection == Credentials{} && cfg.Disbursement == Credentials{}:
		return nil, errors.New("mtnmomo: Config.Collection and Config.Disbursement are both empty")
	case cfg.Collection.isPart():
		return nil, errors.New("mtnmomo: Config.Collection must have SubscriptionKey, APIUser and APIKey")
	case cfg.Disbursement.isPart():
		return nil, errors.New("mtnmomo: Config.Disbursement must have SubscriptionKey, APIUser and APIKey")
	}
	cfg.TargetEnvironment = cmp.Or(cfg.TargetEnvironment, "mtnghana")
	cfg.Currency = cmp.Or(cfg.Currency, "GHS")
	cfg.StatusQueries = cmp.Or(max(cfg.StatusQueries, 0), maxQueries)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	collection := newProduct("collection", cfg.Collection)
	disbursement := newProduct("disbursement", cfg.Disbursement)
	cfg.Collection, cfg.Disbursement = Credentials{}, Credentials{}
	return &Client{
		cfg: cfg, http: httpcall.Client(cfg.HTTPClient),
		transfers: &flow{product: disbursement, path: "/v1_0/transfer"},
		charges:   &flow{product: collection, path: "/v1_0/requesttopay", charge: true},
		refunds:   &flow{product: disbursement, path: "/v1_0/refund"},
	}, nil
}

// flowOf returns the flow of an order by its id, or nil if the id is none of the library's.
func (c *Client) flowOf(id string) *flow {
	prefix, rest, _ := strings.Cut(id, "_")
	if len(rest) != ids.Length || !ids.IsBase62(rest) {
		return nil
	}
	switch prefix {
	case "po":
		return c.transfers
	case "pay", "tu", "att":
		return c.charges
	case "re":
		return c.refunds
	}
	return nil
}

// ReferenceID returns the X-Reference-Id of an order, under which MTN knows it: a UUID of version 4
// made of the hash of the library's id.
func ReferenceID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return uuid(sum[:16])
}

// uuid writes 16 bytes as a UUID of version 4.
func uuid(b []byte) string {
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// msisdn returns a number of MTN's network as MTN writes it: digits with the country code. It
// returns "" for a number of another network. It takes numbers of other countries, because those
// of the sandbox are Swedish.
func msisdn(network, number string) string {
	digits, plus := strings.CutPrefix(number, "+")
	if !plus || len(digits) < 8 || len(digits) > 15 || strings.Trim(digits, "0123456789") != "" {
		return ""
	}
	if cmp.Or(network, phone.Provider(number)) != phone.MTN {
		return ""
	}
	return digits
}

// maxNote is how long a note may be. One of MTN's pages says 160 characters, another says 128. The
// shorter one passes both.
const maxNote = 128

// note returns a text without the characters that MTN refuses. It refuses an apostrophe. Which
// others it refuses is unconfirmed, so only ASCII letters, digits and spaces stay.
func note(text, otherwise string) string {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	short := strings.Join(words, " ")
	return cmp.Or(strings.TrimSpace(short[:min(len(short), maxNote)]), otherwise)
}

// alerts are what the operator has been told, so that polls and forged callbacks do not fill the log.
type alerts struct {
	mu   sync.Mutex
	told map[[2]string]bool
}

// maxAlerts is how many alerts are remembered before all are forgotten.
const maxAlerts = 1024

// first reports whether the operator has not been told this of an order.
func (a *alerts) first(id, what string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	alert := [2]string{id, what}
	if a.told[alert] {
		return false
	}
	if len(a.told)%maxAlerts == 0 {
		a.told = map[[2]string]bool{}
	}
	a.told[alert] = true
	return true
}

// alert logs what the operator must act upon, once for an order.
func (c *Client) alert(ctx context.Context, id, what string) {
	if c.alerts.first(id, what) {
		c.cfg.Logger.ErrorContext(ctx, "mtnmomo: "+what, "order", id)
	}
}

// sandbox is the X-Target-Environment of MTN's sandbox, in which no money moves.
const sandbox = "sandbox"

// checkMode refuses a live order in the sandbox, and an order of test mode elsewhere. The order
// waits until the configuration is mended.
func (c *Client) checkMode(live bool) error {
	switch isSandbox := c.cfg.TargetEnvironment == sandbox; {
	case live && isSandbox:
		return failed(provider.ClassUnauthorized, "mtnmomo: Config.TargetEnvironment is the sandbox, which takes no live orders")
	case !live && !isSandbox:
		return failed(provider.ClassUnauthorized, "mtnmomo: Config.TargetEnvironment is live, and takes no orders of test mode")
	}
	return nil
}
