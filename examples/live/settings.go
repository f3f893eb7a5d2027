package main

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/provider/arkesel"
	"github.com/seed-7082ffec/payments/provider/hubtel"
	"github.com/seed-7082ffec/payments/provider/mtnmomo"
	"github.com/seed-7082ffec/payments/provider/paystack"
	"github.com/seed-7082ffec/payments/provider/smtp"
)

// callbackMTN is the path of MTN's callbacks, and webhookPaystack that of Paystack's webhooks.
const (
	callbackMTN     = "/callbacks/mtn"
	webhookPaystack = "/webhooks/paystack"
)

// settings are what the environment says. A nil provider is not used.
type settings struct {
	addr, baseURL, db string
	key               []byte
	healthToken       string
	proxies           []netip.Prefix
	paystack          *paystack.Client
	mtn               *mtnmomo.Client
	texter            message.Texter
	mailer            message.Mailer
	clock             func() time.Time // nil but in tests
}

// environment reads variables, and collects what is wrong with them. No problem quotes a value.
type environment struct {
	get      func(name string) string
	problems []error
}

func (e *environment) problem(format string, args ...any) {
	e.problems = append(e.problems, fmt.Errorf(format, args...))
}

// group returns the values of variables that belong together, and false if none is set. If only
// some are set, it names the others.
func (e *environment) group(names ...string) (values []string, ok bool) {
	var given, missing []string
	for _, name := range names {
		value := strings.TrimSpace(e.get(name))
		values = append(values, value)
		if value == "" {
			missing = append(missing, name)
		} else {
			given = append(given, name)
		}
	}
	if len(given) > 0 && len(missing) > 0 {
		e.problem("%s is set, so set %s, too", given[0], strings.Join(missing, ", "))
	}
	return values, len(missing) == 0
}

// readSettings reads all settings, or returns everything that is wrong with them.
func readSettings(get func(name string) string) (settings, error) {
	e := &environment{get: get}
	s := settings{
		addr:        cmp.Or(get("PAYMENTS_ADDR"), "127.0.0.1:8080"),
		db:          e.db(),
		healthToken: get("PAYMENTS_HEALTH_TOKEN"),
		baseURL:     e.baseURL(),
		key:         e.key(),
		proxies:     e.proxies(),
	}
	before := len(e.problems)
	s.paystack = e.paystack()
	s.mtn = e.mtn(s.baseURL)
	if s.paystack == nil && s.mtn == nil && len(e.problems) == before {
		e.problem("no provider: set PAYSTACK_SECRET_KEY and PAYSTACK_EMAIL, or the variables MTN_…, or both")
	}
	s.texter = e.texter()
	s.mailer = e.mailer()
	return s, errors.Join(e.problems...)
}

// baseURL is where people reach this server: https, or http on this machine for a first try.
func (e *environment) baseURL() string {
	text := strings.TrimRight(e.get("PAYMENTS_BASE_URL"), "/")
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.User != nil ||
		u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		e.problem("PAYMENTS_BASE_URL must be the public address of this server without a path, such as https://pay.example.com")
	}
	return text
}

// notPath matches the beginning of a URL, and of a connection string such as "host=db password=…".
var notPath = regexp.MustCompile(`^\w{2,}(:/|\s*=)`)

// db is a path or a URL. Text of another form would become the name of a new, empty SQLite file, which
// may show a password.
func (e *environment) db() string {
	text := cmp.Or(strings.TrimSpace(e.get("PAYMENTS_DB")), "payments.db")
	if !isPostgreSQL(text) && notPath.MatchString(text) {
		e.problem("PAYMENTS_DB must be the path of an SQLite file, such as payments.db, or begin with postgres://")
	}
	return text
}

func isPostgreSQL(db string) bool {
	return strings.HasPrefix(db, "postgres://") || strings.HasPrefix(db, "postgresql://")
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (e *environment) key() []byte {
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(e.get("PAYMENTS_KEY")))
	if err != nil || len(key) < 32 {
		e.problem("PAYMENTS_KEY must be at least 32 random bytes in base64. Make it once with: openssl rand -base64 32")
	}
	return key
}

func (e *environment) proxies() (all []netip.Prefix) {
	for text := range strings.FieldsFuncSeq(e.get("PAYMENTS_TRUSTED_PROXIES"), func(r rune) bool { return r == ',' || r == ' ' }) {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			e.problem("PAYMENTS_TRUSTED_PROXIES must be networks such as 10.0.0.0/8, with commas between them")
			return nil
		}
		all = append(all, p)
	}
	return all
}

func (e *environment) paystack() *paystack.Client {
	v, ok := e.group("PAYSTACK_SECRET_KEY", "PAYSTACK_EMAIL")
	switch {
	case !ok:
		return nil
	case strings.HasPrefix(v[0], "sk_test_"):
		e.problem("PAYSTACK_SECRET_KEY is a test key, and this server moves real money. Take the live key")
	case !strings.HasPrefix(v[0], "sk_live_"):
		e.problem("PAYSTACK_SECRET_KEY must begin with sk_live_")
		return nil
	}
	client, err := paystack.New(paystack.Config{SecretKey: v[0], Email: v[1], BaseURL: e.get("PAYSTACK_BASE_URL")})
	if err != nil {
		e.problem("PAYSTACK_BASE_URL: %w", err)
	}
	return client
}

// mtn needs the credentials of both products, since refunds need both.
func (e *environment) mtn(baseURL string) *mtnmomo.Client {
	v, ok := e.group(
		"MTN_COLLECTION_SUBSCRIPTION", "MTN_COLLECTION_USER", "MTN_COLLECTION_KEY",
		"MTN_DISBURSEMENT_SUBSCRIPTION", "MTN_DISBURSEMENT_USER", "MTN_DISBURSEMENT_KEY",
	)
	if !ok {
		return nil
	}
	c := mtnmomo.Config{
		BaseURL:           cmp.Or(e.get("MTN_BASE_URL"), mtnmomo.ProductionURL),
		TargetEnvironment: e.get("MTN_TARGET_ENVIRONMENT"),
		Collection:        mtnmomo.Credentials{SubscriptionKey: v[0], APIUser: v[1], APIKey: v[2]},
		Disbursement:      mtnmomo.Credentials{SubscriptionKey: v[3], APIUser: v[4], APIKey: v[5]},
	}
	// MTN calls back only https on port 443. Without callbacks the library asks by itself.
	if u, err := url.Parse(baseURL); err == nil && u.Scheme == "https" && u.Port() == "" {
		c.CallbackURL = baseURL + callbackMTN
	}
	if c.TargetEnvironment == "sandbox" {
		e.problem("MTN_TARGET_ENVIRONMENT is the sandbox, and this server moves real money. Leave it empty, or take what MTN told you")
	}
	client, err := mtnmomo.New(c)
	if err != nil {
		e.problem("MTN_BASE_URL: %w", err)
	}
	return client
}

// texter is Arkesel or Hubtel.
func (e *environment) texter() message.Texter {
	a, isArkesel := e.group("ARKESEL_API_KEY", "ARKESEL_SENDER")
	h, isHubtel := e.group("HUBTEL_ID", "HUBTEL_SECRET", "HUBTEL_SENDER")
	switch {
	case isArkesel && isHubtel:
		e.problem("ARKESEL_API_KEY and HUBTEL_ID are both set. One gateway sends the SMS: unset the variables of the other")
	case isArkesel:
		client, err := arkesel.New(arkesel.Config{APIKey: a[0], Sender: a[1], BaseURL: e.get("ARKESEL_BASE_URL")})
		if err == nil {
			return client
		}
		e.problem("ARKESEL_SENDER: %w", err)
	case isHubtel:
		client, err := hubtel.New(hubtel.Config{ClientID: h[0], ClientSecret: h[1], Sender: h[2], BaseURL: e.get("HUBTEL_BASE_URL")})
		if err == nil {
			return client
		}
		e.problem("HUBTEL_SENDER: %w", err)
	}
	return nil
}

func (e *environment) mailer() message.Mailer {
	v, ok := e.group("SMTP_SERVER", "SMTP_FROM")
	login, _ := e.group("SMTP_USERNAME", "SMTP_PASSWORD")
	if !ok {
		return nil
	}
	mailer, err := smtp.New(smtp.Config{Server: v[0], From: v[1], Username: login[0], Password: login[1]})
	if err != nil {
		e.problem("SMTP_SERVER or SMTP_FROM: %w", err)
		return nil
	}
	return mailer
}
