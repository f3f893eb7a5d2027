// Package hubtel sends SMS through Hubtel. A [Client] is a [message.Texter].
//
// It owns the one call and the meaning of its answers. It does not know Hubtel's payments. It
// repeats nothing and keeps nothing: package message queues the messages and sends them again.
// Hubtel knows no key that would make a repetition harmless, so a message whose answer got lost may
// arrive twice.
//
// The package is experimental until the doctor (examples/doctor) has passed on a real account.
// Comments mark with "unconfirmed" what documents do not settle. If one is wrong, or the doctor does
// not pass, please report the doctor's output, the HTTP status and the answer without numbers and keys.
package hubtel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/internal/httpcall"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/message"
)

// DefaultBaseURL is Hubtel's address for SMS. Unconfirmed: that it stays. Hubtel also names
// https://smsc.hubtel.com.
const DefaultBaseURL = "https://sms.hubtel.com"

// Config configures a [Client].
type Config struct {
	// ClientID and ClientSecret are the keys for programmable SMS from Hubtel's dashboard.
	ClientID     string
	ClientSecret string `json:"-"`
	// Sender is who the SMS comes from: the sender id of at most 11 characters that belongs to the
	// keys. Hubtel registers it for you with the National Communications Authority.
	Sender string
	// BaseURL is DefaultBaseURL if empty.
	BaseURL string
	// HTTPClient makes the calls. By default it is a client with a time-out of 25 seconds. The
	// Client never follows a redirect.
	HTTPClient *http.Client `json:"-"`
}

// Format implements [fmt.Formatter], so that no print shows the secret.
func (c Config) Format(w fmt.State, _ rune) {
	_, _ = fmt.Fprintf(w, "hubtel.Config{ClientID: %q, Sender: %q, BaseURL: %q}", c.ClientID, c.Sender, c.BaseURL)
}

// Client calls Hubtel. It is safe for concurrent use.
type Client struct {
	config Config // without the secret
	secret func() string
	http   *http.Client
}

var _ message.Texter = (*Client)(nil)

// New returns a client, or refuses a configuration that cannot work. It makes no call.
func New(c Config) (*Client, error) {
	switch {
	case c.ClientID == "" || c.ClientSecret == "":
		return nil, errors.New("hubtel: Config.ClientID or ClientSecret is empty")
	case !phone.IsSender(c.Sender):
		return nil, errors.New("hubtel: Config.Sender must have 1 to 11 letters, digits or signs of ASCII")
	}
	c.BaseURL = strings.TrimRight(cmp.Or(c.BaseURL, DefaultBaseURL), "/")
	secret := httpcall.Hide(c.ClientSecret)
	c.ClientSecret = ""
	return &Client{config: c, secret: secret, http: httpcall.Client(c.HTTPClient)}, nil
}

type request struct {
	From    string
	To      string // 233XXXXXXXXX
	Content string
}

// hints say what a status means for the operator.
var hints = map[int]string{
	http.StatusUnauthorized:    "the client id or the secret is not accepted",
	http.StatusPaymentRequired: "too little credit",
	http.StatusForbidden:       "Hubtel does not allow the message; are your addresses on its list?",
	http.StatusTooManyRequests: "too many calls",
}

// undeliverable are the codes with which Hubtel refuses a message that it would refuse again. They
// stand beside the HTTP status 400. Unconfirmed: that they stand in the field status.
var undeliverable = map[httpcall.Text]string{
	"1": "the recipient's number is invalid",
	"3": "the text is too long",
	"6": "the text is not allowed",
}

// SendSMS implements [message.Texter]. Hubtel's success says that it took the message, not that the
// phone got it.
func (c *Client) SendSMS(ctx context.Context, m message.SMS) error {
	const op = "hubtel: send"
	number, err := phone.Parse(m.To)
	if err != nil {
		return fmt.Errorf("%s: the recipient is no number of Ghana: %w", op, message.ErrUndeliverable)
	}
	basic := http.Request{Header: http.Header{}}
	basic.SetBasicAuth(c.config.ClientID, c.secret())
	a, err := httpcall.Do(ctx, c.http, httpcall.Request{
		Op: op, Method: http.MethodPost, URL: c.config.BaseURL + "/v1/messages/send", Header: basic.Header,
		Body: request{From: c.config.Sender, To: number[1:], Content: m.Text},
	})
	if err != nil {
		return err
	}
	// One of Hubtel's pages puts the fields into an object.
	type outcome struct {
		Status    httpcall.Text `json:"status"`
		MessageID httpcall.Text `json:"messageId"`
	}
	var answer struct {
		outcome
		Data outcome `json:"data"`
	}
	readable := json.Unmarshal(a.Body, &answer) == nil
	status := cmp.Or(answer.Status, answer.Data.Status)
	why, never := undeliverable[status]
	hint := hints[a.Status]
	switch {
	case a.Status/100 == 2 && readable && status == "0":
		return nil
	case a.Status/100 == 2 && readable && status == "" && cmp.Or(answer.MessageID, answer.Data.MessageID) != "":
		return nil // a repetition would send it twice
	case a.Status == http.StatusBadRequest && never:
		return fmt.Errorf("%s: %s: %w", op, why, message.ErrUndeliverable)
	case hint != "":
		return fmt.Errorf("%s: the answer is %d: %s", op, a.Status, hint)
	case len(status) <= 4 && !slices.ContainsFunc([]byte(status), func(b byte) bool { return b < '0' || b > '9' }):
		return fmt.Errorf("%s: the answer is %d %s", op, a.Status, status)
	}
	return fmt.Errorf("%s: the answer is %d and no success", op, a.Status)
}
