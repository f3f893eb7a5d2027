// Package arkesel sends SMS through Arkesel. A [Client] is a [message.Texter].
//
// It owns Arkesel's one call and the meaning of its answers. It repeats nothing and keeps nothing:
// package message queues the messages and sends them again. Arkesel knows no key that would make a
// repetition harmless, so a message whose answer got lost may arrive twice.
//
// The package is experimental until the doctor (examples/doctor) has passed on a real account.
// Comments mark with "unconfirmed" what documents do not settle. If one is wrong, or the doctor does
// not pass, please report the doctor's output, the HTTP status and the answer without numbers and keys.
package arkesel

import (
	"bytes"
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

// DefaultBaseURL is Arkesel's address.
const DefaultBaseURL = "https://sms.arkesel.com"

// Config configures a [Client].
type Config struct {
	// APIKey is the key from Arkesel's dashboard.
	APIKey string `json:"-"`
	// Sender is who the SMS comes from: the sender id that Arkesel registered for you with the
	// National Communications Authority, of at most 11 characters.
	Sender string
	// Sandbox asks Arkesel to record the messages, but neither to deliver nor to bill them.
	Sandbox bool
	// BaseURL is DefaultBaseURL if empty.
	BaseURL string
	// HTTPClient makes the calls. By default it is a client with a time-out of 25 seconds. The
	// Client never follows a redirect.
	HTTPClient *http.Client `json:"-"`
}

// Format implements [fmt.Formatter], so that no print shows the key.
func (c Config) Format(w fmt.State, _ rune) {
	_, _ = fmt.Fprintf(w, "arkesel.Config{Sender: %q, Sandbox: %t, BaseURL: %q}", c.Sender, c.Sandbox, c.BaseURL)
}

// Client calls Arkesel. It is safe for concurrent use.
type Client struct {
	config Config // without the key
	key    func() string
	http   *http.Client
}

var _ message.Texter = (*Client)(nil)

// New returns a client, or refuses a configuration that cannot work. It makes no call.
func New(c Config) (*Client, error) {
	switch {
	case c.APIKey == "":
		return nil, errors.New("arkesel: Config.APIKey is empty")
	case !phone.IsSender(c.Sender):
		return nil, errors.New("arkesel: Config.Sender must have 1 to 11 letters, digits or signs of ASCII")
	}
	c.BaseURL = strings.TrimRight(cmp.Or(c.BaseURL, DefaultBaseURL), "/")
	key := httpcall.Hide(c.APIKey)
	c.APIKey = ""
	return &Client{config: c, key: key, http: httpcall.Client(c.HTTPClient)}, nil
}

type request struct {
	Sender     string   `json:"sender"`
	Message    string   `json:"message"`
	Recipients []string `json:"recipients"` // 233XXXXXXXXX
	Sandbox    bool     `json:"sandbox,omitempty"`
}

// hints say what a status means for the operator. Arkesel documents them.
var hints = map[int]string{
	http.StatusUnauthorized:        "the API key is not accepted",
	http.StatusPaymentRequired:     "too little credit, or a network that the account does not cover",
	http.StatusForbidden:           "the gateway is not active, or the sender id is not registered",
	http.StatusUnprocessableEntity: "the request is not valid",
	http.StatusTooManyRequests:     "too many calls",
}

// SendSMS implements [message.Texter]. Arkesel's success says that it took the message, not that the
// phone got it.
func (c *Client) SendSMS(ctx context.Context, m message.SMS) error {
	const op = "arkesel: send"
	number, err := phone.Parse(m.To)
	if err != nil {
		return fmt.Errorf("%s: the recipient is no number of Ghana: %w", op, message.ErrUndeliverable)
	}
	a, err := httpcall.Do(ctx, c.http, httpcall.Request{
		Op: op, Method: http.MethodPost, URL: c.config.BaseURL + "/api/v2/sms/send", Header: http.Header{"Api-Key": {c.key()}},
		Body: request{Sender: c.config.Sender, Message: m.Text, Recipients: []string{number[1:]}, Sandbox: c.config.Sandbox},
	})
	if err != nil {
		return err
	}
	var answer struct {
		Status string          `json:"status"`
		Data   json.RawMessage `json:"data"`
	}
	taken := a.Status/100 == 2 && json.Unmarshal(a.Body, &answer) == nil && strings.EqualFold(answer.Status, "success")
	switch hint := hints[a.Status]; {
	case taken && refusesNumber(answer.Data):
		return fmt.Errorf("%s: Arkesel finds the recipient's number invalid: %w", op, message.ErrUndeliverable)
	case taken:
		return nil
	case hint != "":
		return fmt.Errorf("%s: the answer is %d: %s", op, a.Status, hint)
	}
	return fmt.Errorf("%s: the answer is %d and no success", op, a.Status)
}

// refusesNumber reports whether a success lists the one number among the invalid ones, or takes no
// number. The list stands in an entry of its own, beside those of numbers that were taken.
func refusesNumber(data json.RawMessage) bool {
	type entry struct {
		Invalid json.RawMessage `json:"invalid numbers"` // unconfirmed: always a list
	}
	var entries []entry
	if json.Unmarshal(data, &entries) != nil {
		entries = make([]entry, 1) // unconfirmed: an object in place of the list
		_ = json.Unmarshal(data, &entries[0])
	}
	for _, e := range entries {
		if !empty(e.Invalid) {
			return true
		}
	}
	return entries != nil && len(entries) == 0
}

// empty reports whether a field is missing or names nothing.
func empty(field json.RawMessage) bool {
	var tight bytes.Buffer
	_ = json.Compact(&tight, field)
	return slices.Contains([]string{"", "null", `""`, "[]"}, tight.String())
}
