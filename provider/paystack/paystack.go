// Package paystack sends and takes money in Ghana through Paystack. One [Client] is a
// [provider.Rail] for mobile money and GhIPSS banks, a [provider.NameEnquirer], a
// [provider.BankDirectory], a [provider.Charger] of mobile money with [provider.ChargeConfirmer], and
// a [provider.RefundRail]. [Client.WebhookHandler] receives Paystack's webhooks.
//
// The package owns Paystack's calls and words. It stores nothing, books nothing and retries nothing:
// the library asks again. It charges no cards and keeps no authorizations. Test mode stays with
// [provider.Simulated]; a test key is for trying Paystack itself.
//
// The package is experimental until the doctor (examples/doctor) has passed on a real account.
// Comments mark with "unconfirmed" the facts that documents do not settle. If one is wrong, or the
// doctor does not pass, please report the doctor's output, the call, the HTTP status and the body
// without numbers and keys.
package paystack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seed-7082ffec/payments/internal/classed"
	"github.com/seed-7082ffec/payments/internal/httpcall"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/provider"
)

// DefaultBaseURL is Paystack's address.
const DefaultBaseURL = "https://api.paystack.co"

const (
	currency = "GHS"
	// perPage is the largest page of a list.
	perPage = 100
	// maxPages bounds the pages that one call reads.
	maxPages = 20
)

// Config configures a [Client].
type Config struct {
	// SecretKey is sk_live_… or sk_test_…. Paystack signs its webhooks with it, too. A client with a
	// test key takes orders of test mode only, and any other takes live orders only.
	SecretKey string `json:"-"`
	// BaseURL is DefaultBaseURL if empty.
	BaseURL string
	// Email stands for payers whose address is unknown, since Paystack demands one. Without any address
	// a charge is never sent, and fails after its deadline. So leave Email empty only if each payment has
	// a customer with an e-mail address. Paystack sends receipts to it: take a mailbox of your own.
	Email string
	// HTTPClient makes the calls. By default it is a client with a time-out of 25 seconds. The
	// Client never follows a redirect.
	HTTPClient *http.Client `json:"-"`
}

// Format implements [fmt.Formatter], so that no print shows the key.
func (c Config) Format(w fmt.State, _ rune) {
	_, _ = fmt.Fprintf(w, "paystack.Config{BaseURL: %q, Email: %q}", c.BaseURL, c.Email)
}

// Client calls Paystack. It is safe for concurrent use.
type Client struct {
	config  Config // without the key
	key     func() string
	http    *http.Client
	banks   atomic.Pointer[provider.BankDirectory]
	mu      sync.Mutex
	refunds map[string]*refunding // by id
}

var _ interface {
	provider.Rail
	provider.NameEnquirer
	provider.BankDirectory
	provider.Charger
	provider.ChargeConfirmer
	provider.RefundRail
} = (*Client)(nil)

// New returns a client, or refuses a configuration that cannot work. It makes no call:
// [Client.LoadBanks] is a good first one.
func New(c Config) (*Client, error) {
	switch {
	case c.SecretKey == "":
		return nil, errors.New("paystack: Config.SecretKey is empty")
	case strings.HasPrefix(c.SecretKey, "pk_"):
		return nil, errors.New("paystack: Config.SecretKey is the public key; the secret key begins with sk_")
	}
	c.BaseURL = strings.TrimRight(cmp.Or(c.BaseURL, DefaultBaseURL), "/")
	if err := httpcall.CheckURL("paystack", c.BaseURL); err != nil {
		return nil, err
	}
	key := httpcall.Hide(c.SecretKey)
	c.SecretKey = ""
	return &Client{config: c, key: key, http: httpcall.Client(c.HTTPClient), refunds: map[string]*refunding{}}, nil
}

// live reports whether the key moves money.
func (c *Client) live() bool { return !strings.HasPrefix(c.key(), "sk_test_") }

// checkMode refuses a live order with a test key, and an order of test mode with another key. The
// order waits until the configuration is mended.
func (c *Client) checkMode(live bool) error {
	switch {
	case live && !c.live():
		return failed(provider.ClassUnauthorized, "paystack: Config.SecretKey is a test key, which takes no live orders")
	case !live && c.live():
		return failed(provider.ClassUnauthorized, "paystack: Config.SecretKey is a live key, which takes no orders of test mode")
	}
	return nil
}

// call makes one call. It decodes the field data of a success into data. It returns a *rejection for
// a request that Paystack refused. After any other error the request may have been carried out.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, body, data any) error {
	op := "paystack: " + method + " " + path
	address := c.config.BaseURL + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	got, err := httpcall.Do(ctx, c.http, httpcall.Request{
		Op: op, Method: method, URL: address, Header: http.Header{"Authorization": {"Bearer " + c.key()}}, Body: body,
	})
	if err != nil {
		return classed.Call(Route, err)
	}
	var answer struct {
		Status  *bool           `json:"status"`
		Message text            `json:"message"`
		Code    text            `json:"code"`
		Data    json.RawMessage `json:"data"`
	}
	readable := json.Unmarshal(got.Body, &answer) == nil && answer.Status != nil
	switch status := got.Status; {
	case (status == http.StatusOK || status == http.StatusCreated) && readable && *answer.Status:
		// No call here has null for an answer: for a list it would mean that there is nothing.
		if string(answer.Data) == "null" || json.Unmarshal(answer.Data, data) != nil {
			return failed(provider.ClassUnreadable, "%s: the answer has another form than documented", op)
		}
		return nil
	case (status == http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusUnprocessableEntity) && readable && !*answer.Status:
		return &rejection{op: op, status: status, code: string(answer.Code), message: string(answer.Message)}
	case status == http.StatusUnauthorized:
		err = fmt.Errorf("%s: Paystack does not accept the secret key (401)", op)
	case status == http.StatusTooManyRequests:
		err = fmt.Errorf("%s: too many calls (429)", op)
	case readable:
		err = fmt.Errorf("%s: the answer is %d: %s", op, status, mask(string(answer.Message)))
	default:
		err = fmt.Errorf("%s: the answer is %d and not readable", op, status)
	}
	return classed.Status(Route, got.Status, err)
}

// failed returns an error of a class.
func failed(class provider.Class, format string, args ...any) error {
	return classed.Of(Route, class, fmt.Errorf(format, args...))
}

// pages reads the rows of a list, each once. Paystack may give fewer rows a page than it is asked for, so
// a list ends at a page without a new row.
func pages[T any, K comparable](ctx context.Context, c *Client, path string, query url.Values, id func(T) K) ([]T, error) {
	var all []T
	var none K
	seen := map[K]bool{}
	query.Set("perPage", strconv.Itoa(perPage))
	for page := range maxPages {
		var rows []T
		query.Set("page", strconv.Itoa(page+1))
		if err := c.call(ctx, http.MethodGet, path, query, nil, &rows); err != nil {
			return nil, err
		}
		before := len(all)
		for _, row := range rows {
			key := id(row)
			if key == none {
				return nil, failed(provider.ClassUnreadable, "paystack: GET %s lists a row without an id", path)
			}
			if !seen[key] {
				seen[key], all = true, append(all, row)
			}
		}
		if len(all) == before {
			return all, nil
		}
	}
	return nil, failed(provider.ClassUnreadable, "paystack: GET %s has more than %d pages", path, maxPages)
}

// rejection is Paystack's refusal of a request. It is not yet the refusal of an order: an earlier
// request with the same reference may have been carried out.
type rejection struct {
	op            string
	status        int
	code, message string
}

// Unwrap gives the rejection its class.
func (r *rejection) Unwrap() error {
	return &provider.Error{Route: Route, Class: provider.ClassRefused}
}

func (r *rejection) Error() string {
	return fmt.Sprintf("%s: refused with %d: %s", r.op, r.status, mask(strings.TrimSpace(r.message+" "+r.code)))
}

// secrets matches what no message may quote: addresses, keys, and numbers of accounts and phones,
// whatever stands between their digits but letters.
var secrets = regexp.MustCompile(`\S+@\S+|[sp]k_(live|test)_\S*|\+?[0-9]\P{L}{4,}[0-9]`)

// maxText is the length of the longest text that is passed on, in bytes.
const maxText = 400

// mask prepares a text of Paystack's for people and logs.
func mask(text string) string {
	if len(text) > maxText {
		text = text[:maxText]
	}
	return secrets.ReplaceAllString(strings.ToValidUTF8(text, ""), "…")
}

// reference returns the reference at Paystack of an order: its id without upper case, which
// Paystack refuses for transfers.
func (c *Client) reference(live bool, id string) (string, error) {
	text, ok := ids.ToBase36(id)
	if !ok {
		return "", fmt.Errorf("paystack: %q is no id of an order, such as po_ with 22 letters and digits", id)
	}
	return text, c.checkMode(live)
}

// read reads what Paystack has under the reference of an order, and reports whether Paystack knows it.
func (c *Client) read(ctx context.Context, path string, o provider.Order, data any) (found bool, err error) {
	reference, err := c.reference(o.Live, o.ID)
	if err != nil {
		return false, err
	}
	err = c.call(ctx, http.MethodGet, path+reference, nil, nil, data)
	if m, _, _ := rejected(err); m == notFound {
		return false, nil
	}
	return err == nil, err
}

// number is an integer that Paystack writes as a number, also with zeros behind a point, or as a text.
// Null and "" are 0.
type number int64

func (n *number) UnmarshalJSON(text []byte) error {
	s := strings.Trim(string(text), `"`)
	if s == "" || s == "null" {
		return nil
	}
	if whole, fraction, _ := strings.Cut(s, "."); strings.Trim(fraction, "0") == "" {
		s = whole
	}
	v, err := strconv.ParseInt(s, 10, 64)
	*n = number(v)
	return err
}

// optional is a number that decides nothing. One that is not readable is 0.
type optional int64

func (o *optional) UnmarshalJSON(text []byte) error {
	var n number
	if n.UnmarshalJSON(text) == nil {
		*o = optional(n)
	}
	return nil
}

type text = httpcall.Text

// sameMoney returns an error if Paystack reports the end of a charge, transfer or refund of another amount
// or currency than the order's, or of another order. It passes what is not known.
func sameMoney(o provider.Order, amount *number, inCurrency, of string) error {
	other := &provider.Error{Route: Route, Class: provider.ClassAmountMismatch}
	switch want, _ := ids.ToBase36(o.ID); {
	case of != "" && of != want:
		return failed(provider.ClassUnreadable, "paystack: asked about %s, Paystack reports another reference", o.ID)
	case inCurrency != "" && inCurrency != currency:
		return classed.Amount(other, fmt.Errorf("paystack: %s is in GHS, and Paystack reports another currency", o.ID))
	case o.Amount != 0 && amount != nil && int64(*amount) != o.Amount:
		other.Amount = int64(*amount)
		return classed.Amount(other, fmt.Errorf("paystack: %s is of %d pesewas, and Paystack reports %d", o.ID, o.Amount, other.Amount))
	}
	return nil
}
