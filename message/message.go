// Package message sends SMS and e-mails to people. A call writes its messages in its own
// transaction. A worker sends them afterwards, with retries, through the host's [Texter]
// and [Mailer].
//
// Test mode keeps messages, so that [Service.List] shows them. It sends no SMS, and e-mail only
// through the Mailer of payments.Config.Test. Live mode deletes a message once it is sent, since it
// may hold a one-time code.
package message

import (
	"context"
	"errors"
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// Texter sends one SMS. It must be safe for concurrent use. ctx ends after 15 seconds. After an
// error, or when the outcome was lost, the library calls SendSMS again with the same message. After
// nine failed attempts, about a day, the library gives up; after an [ErrUndeliverable] it does so at
// once.
type Texter interface {
	SendSMS(ctx context.Context, m SMS) error
}

// ErrUndeliverable is wrapped by an error of a [Texter] or [Mailer] for a message that can never be
// sent, such as one to a number that does not exist. The library gives the message up.
var ErrUndeliverable = errors.New("message: it can never be delivered")

// SMS is one text message.
type SMS struct {
	// ID is that of the message; it is the same whenever the library sends it again.
	ID string
	// To is a number of the form +233XXXXXXXXX.
	To   string
	Text string
}

// Kind says whether a message is an SMS or an e-mail.
type Kind string

// The kinds of messages.
const (
	KindSMS   Kind = "sms"
	KindEmail Kind = "email"
)

// Message is an SMS or e-mail of test mode.
type Message struct {
	ID        string   `json:"id"`
	Object    string   `json:"object"` // always "message"
	Kind      Kind     `json:"kind"`
	To        string   `json:"to"`
	Subject   string   `json:"subject,omitempty"`
	Text      string   `json:"text"`
	CreatedAt api.Time `json:"created_at"`
}

// DefaultRetention is how long test mode keeps a message.
const DefaultRetention = 30 * 24 * time.Hour

// ListParams selects messages; zero values select all.
type ListParams struct {
	api.Page
	// To is a Ghanaian phone number in any common form, or an e-mail address.
	To   string `param:"to"`
	Kind Kind   `param:"kind"`
	// About is the id of the customer, consumer or cash agent who got the messages or is their subject,
	// or of the payment from a phone that they are about.
	About string
}

// Detail is a message with all that its recipient sees.
type Detail struct {
	Message
	// FromName and HTML are empty for an SMS. HTML is as it was queued: a page that shows it
	// must keep it from running scripts.
	FromName string
	HTML     string
	// Attached is the id of the invoice or refund whose PDF is attached; empty for none.
	Attached string
}
