// Package message sends SMS and e-mails to people. A call writes its messages in its own
// transaction; a worker delivers them afterwards, with retries, through the host's [Texter]
// and [Mailer].
//
// It owns the queue of messages. It does not own their texts and recipients, which come
// from the packages that queue them.
//
// In test mode nothing is sent: a message is kept, so that it can be read with
// [Service.List], and counts as delivered. In live mode a message is removed
// when it has been delivered, since it may hold a one-time code.
package message

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/internal/retry"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

// Texter sends one SMS. The library may call it again with the same message when the
// outcome was lost. It must be safe for concurrent use. After an error the message is
// tried again.
type Texter interface {
	SendSMS(ctx context.Context, m SMS) error
}

// SMS is one text message.
type SMS struct {
	// ID is the message's, the same whenever it is sent again.
	ID string
	// To is a number of the form +233XXXXXXXXX.
	To   string
	Text string
}

// Kind is the way a message goes.
type Kind string

// The kinds of messages.
const (
	KindSMS   Kind = "sms"
	KindEmail Kind = "email"
)

// Message is what somebody was told.
type Message struct {
	ID        string   `json:"id"`
	Object    string   `json:"object"` // always "message"
	Kind      Kind     `json:"kind"`
	To        string   `json:"to"`
	Subject   string   `json:"subject,omitempty"`
	Text      string   `json:"text"`
	CreatedAt api.Time `json:"created_at"`
}

type record struct {
	Message
	// FromName, HTML and Attach are of e-mails.
	FromName string `json:"from_name,omitempty"`
	HTML     string `json:"html,omitempty"`
	Attach   string `json:"attach,omitempty"`
	Attempts int    `json:"attempts,omitempty"`
	// Person is the customer, consumer or cash agent whom the message is to or tells of.
	Person string `json:"person,omitempty"`
	// Sent says that a message of test mode is only kept: it was sent, or was not to be.
	Sent bool `json:"sent,omitempty"`
	// Due is when the message is to be sent, or, for one of test mode, forgotten.
	Due api.Time `json:"due"`
}

var messages = storage.NewCollection("messages", []storage.Field[record]{
	storage.TextColumn("kind", func(r *record) string { return string(r.Kind) }).OneOf(string(KindSMS), string(KindEmail)),
	storage.TextColumn("recipient", func(r *record) string { return r.To }).Indexed(),
	storage.NullTimeColumn("due", func(r *record) *api.Time { return &r.Due }),
	storage.TextColumn("person", func(r *record) string { return r.Person }).Nullable().Indexed(),
}, storage.DueBy("due"))

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind { return []*storage.Kind{messages.Kind()} }

// DefaultRetention is how long a message of test mode can be read.
const DefaultRetention = 30 * 24 * time.Hour

// retryAfter is how long to wait after each failed attempt. After the last one
// the message is given up: nobody wants yesterday's receipt.
var retryAfter = retry.Schedule{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute,
	time.Hour, 3 * time.Hour, 8 * time.Hour, 12 * time.Hour,
}

// sendTimeout bounds one call of the Texter or Mailer.
const sendTimeout = 15 * time.Second

// Config is what carries messages. What is nil carries nothing: live mode then
// has no SMS, or no e-mail.
type Config struct {
	Texter Texter
	Mailer Mailer
	// TestMailer sends the e-mails of test mode, which are listed all the same.
	TestMailer Mailer
	// Retention is how long the messages of test mode can be read; [DefaultRetention]
	// when zero.
	Retention time.Duration
}

// Service reads the messages of test mode.
type Service struct {
	engine *engine.Engine
	config Config
}

// Internal is what the packages of this module call, most of it in their transactions.
// Only payments.New has one.
type Internal struct{ svc *Service }

// New returns the service for hosts and the one for the packages of this module.
func New(e *engine.Engine, c Config) (*Service, *Internal) {
	c.Retention = cmp.Or(c.Retention, DefaultRetention)
	s := &Service{engine: e, config: c}
	return s, &Internal{s}
}

// CanText reports whether an SMS of that mode would reach anybody.
func (i *Internal) CanText(live bool) bool { return !live || i.svc.config.Texter != nil }

// Text queues an SMS in the caller's transaction. person is the id of the customer,
// consumer or cash agent whom it is to or tells of, with whose data it is erased; empty
// for nobody. Without a Texter live mode queues nothing; a caller for whom the message is
// essential asks CanText first.
func (i *Internal) Text(tx *engine.Tx, person, to, text string) error {
	if to == "" || !i.CanText(tx.Caller.Live) {
		return nil
	}
	r := record{
		Message: Message{
			ID: tx.NewID("msg_"), Object: "message", Kind: KindSMS,
			To: to, Text: text, CreatedAt: api.At(tx.Now),
		},
		Person: person,
	}
	return i.queue(tx, r)
}

// queue writes a message down. One of test mode that is not to be sent is due
// when it may be forgotten.
func (i *Internal) queue(tx *engine.Tx, r record) error {
	r.Due = api.At(tx.Now)
	if !tx.Caller.Live && !i.sendsInTest(&r) {
		r.Due, r.Sent = api.At(tx.Now.Add(i.svc.config.Retention)), true
	}
	if _, err := messages.Insert(tx, engine.Scope(tx.Caller), r.ID, r); err != nil {
		return fmt.Errorf("message: queue: %w", err)
	}
	tx.Due(messages.Kind())
	return nil
}

// sendsInTest reports a message of test mode that is sent all the same.
func (i *Internal) sendsInTest(r *record) bool {
	return r.Kind == KindEmail && i.svc.config.TestMailer != nil && !r.Sent
}

// ListParams selects messages; zero values select all.
type ListParams struct {
	api.Page
	// To is a phone number in any form, or an e-mail address.
	To   string `param:"to"`
	Kind Kind   `param:"kind"`
}

// List returns the messages of test mode, newest first. Live mode has none to
// show: they leave the store when they are delivered.
func (s *Service) List(ctx context.Context, caller api.Caller, p ListParams) (*api.List[Message], error) {
	if caller.Live {
		return nil, errTestOnly
	}
	if p.Kind != "" && p.Kind != KindSMS && p.Kind != KindEmail {
		return nil, api.Invalid("kind", "kind must be sms or email.")
	}
	q := storage.Query{Scope: engine.Scope(caller)}
	if p.To != "" {
		to := p.To
		if number, err := phone.Parse(to); err == nil {
			to = number
		}
		q.Where = engine.Where(q.Where, "recipient", to)
	}
	q.Where = engine.Where(q.Where, "kind", string(p.Kind))
	listing := engine.Listing[record, Message]{
		Collection: messages, Noun: "message", URL: "/v1/test_helpers/messages",
		Show: func(r *record) Message { return r.Message },
	}
	return listing.List(ctx, s.engine, q, p.Page)
}

// Detail is a message with everything that its recipient sees of it.
type Detail struct {
	Message
	// FromName and HTML are of e-mails. HTML is as it was queued: a page that shows it must
	// keep it from running scripts.
	FromName string
	HTML     string
	// Attached is the id of the invoice or refund whose PDF goes with it; empty for none.
	Attached string
}

// Get returns one message of test mode. Live mode has none to show.
func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*Detail, error) {
	if caller.Live {
		return nil, errTestOnly
	}
	o, err := engine.Get(ctx, s.engine, caller, messages, id, "message")
	if err != nil {
		return nil, err
	}
	return &Detail{Message: o.Value.Message, FromName: o.Value.FromName, HTML: o.Value.HTML, Attached: o.Value.Attach}, nil
}

var errTestOnly = api.Errorf(api.PermissionDenied, "", "Messages can be read in test mode only.")

// Retention returns the rule that removes old messages of test mode. Their due times remove
// them, too; the rule is for those that were queued when the host kept messages for longer.
func (*Internal) Retention(keep time.Duration) retention.Rule {
	return retention.NewRule(messages, keep, func(r *record) (api.Time, bool) { return r.CreatedAt, r.Sent })
}

// Outgoing is a queued message that a worker has claimed.
type Outgoing struct {
	object *storage.Object[record]
	caller api.Caller
	sends  bool // else nothing carries it, or it was sent
}

// Kind is the kind of messages, which are due when they are to be sent, or forgotten.
func (*Internal) Kind() *storage.Kind { return messages.Kind() }

// Open returns the message of a claimed record.
func (i *Internal) Open(r storage.Record) (*Outgoing, error) {
	o, err := messages.Decode(r)
	if err != nil {
		return nil, err
	}
	m := &Outgoing{object: o, caller: api.Caller{Merchant: o.Scope.Merchant, Live: o.Scope.Live}}
	switch {
	case !m.caller.Live:
		m.sends = i.sendsInTest(&o.Value)
	case o.Value.Kind == KindEmail:
		m.sends = i.svc.config.Mailer != nil
	default:
		m.sends = i.svc.config.Texter != nil
	}
	return m, nil
}

// Caller stands for the merchant who sends the message.
func (m *Outgoing) Caller() api.Caller { return m.caller }

// Document is the id of the invoice or refund whose PDF is to be attached; empty for none.
func (m *Outgoing) Document() string {
	if !m.sends {
		return ""
	}
	return m.object.Value.Attach
}

// Send sends the message, with the attachment of its Document, and writes the outcome. failed
// says that there is no attachment, though there should be: the message is tried again.
func (i *Internal) Send(ctx context.Context, m *Outgoing, attachment *Attachment, failed error) error {
	o, caller := m.object, m.caller
	if !m.sends {
		work.Report(ctx, work.Outcome{Name: "forgotten", Level: slog.LevelDebug})
		return i.svc.engine.Update(ctx, caller, func(tx *engine.Tx) error {
			until := o.Value.CreatedAt.Add(i.svc.config.Retention)
			if !o.Value.Sent || !until.After(tx.Now) {
				return messages.Delete(tx, o)
			}
			kept := *o // the host keeps messages for longer than it did
			kept.Value.Due = api.At(until)
			return messages.Replace(tx, &kept)
		})
	}
	if failed == nil {
		failed = i.send(ctx, caller, o, attachment)
	}
	o.Value.Attempts++
	said := work.Outcome{Name: "sent", Attempt: o.Value.Attempts}
	defer func() { work.Report(ctx, said) }()
	if wait, more := retryAfter.After(o.Value.Attempts); failed != nil && more {
		// The error may quote the number; the log must not.
		said.Name, said.Level, said.Err = "again", slog.LevelWarn, failed
		return i.svc.engine.Update(ctx, caller, func(tx *engine.Tx) error {
			again := *o // a run that is undone leaves the claimed version as it is
			again.Value.Due = api.At(tx.Now.Add(wait))
			return messages.Replace(tx, &again)
		})
	}
	if failed != nil {
		said.Name, said.Level, said.Err = "given_up", slog.LevelError, failed
	}
	if !caller.Live {
		return i.svc.engine.Update(ctx, caller, func(tx *engine.Tx) error {
			kept := *o // as above
			kept.Value.Sent, kept.Value.Due = true, api.At(tx.Now.Add(i.svc.config.Retention))
			return messages.Replace(tx, &kept)
		})
	}
	return i.svc.engine.Update(ctx, caller, func(tx *engine.Tx) error { return messages.Delete(tx, o) })
}

// send calls the host's Texter or Mailer, whose panic is a failed try like any other. What
// it panicked with may quote the number, so that only the stack is logged.
func (i *Internal) send(ctx context.Context, caller api.Caller, o *storage.Object[record], attachment *Attachment) (err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	defer func() {
		if recover() != nil {
			err = errPanicked
			i.svc.engine.Log.ErrorContext(ctx, "the Texter or Mailer panicked", "message", o.ID, "stack", string(debug.Stack()))
		}
	}()
	if o.Value.Kind == KindEmail {
		return i.email(ctx, caller, &o.Value, attachment)
	}
	return i.svc.config.Texter.SendSMS(ctx, SMS{ID: o.ID, To: o.Value.To, Text: o.Value.Text})
}

var errPanicked = errors.New("message: the Texter or Mailer panicked")
