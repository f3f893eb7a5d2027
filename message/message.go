// Package message sends SMS and e-mails to people. A call writes its messages in its own
// transaction. A worker sends them afterwards, with retries, through the host's [Texter]
// and [Mailer].
//
// It owns the queue of messages and the short links in them. It does not own their texts and
// recipients, which come from the packages that queue them.
//
// Test mode keeps messages, so that [Service.List] shows them. It sends no SMS, and e-mail only
// through the Mailer of payments.Config.Test. Live mode deletes a message once it is sent, since it
// may hold a one-time code.
package message

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/internal/retry"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
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

type record struct {
	Message
	// FromName, HTML and Attach are of e-mails.
	FromName string `json:"from_name,omitempty"`
	HTML     string `json:"html,omitempty"`
	Attach   string `json:"attach,omitempty"`
	Attempts int    `json:"attempts,omitempty"`
	// Person is the customer, consumer or cash agent who gets the message or is its subject, or the
	// payment from a phone that it is about.
	Person string `json:"person,omitempty"`
	// Sent says that a message of test mode is only kept: there is nothing left to send.
	Sent bool `json:"sent,omitempty"`
	// Due is when the worker sends the message or, if Sent, deletes it.
	Due api.Time `json:"due"`
}

var messages = storage.NewCollection("messages", []storage.Field[record]{
	storage.EnumColumn("kind", func(r *record) Kind { return r.Kind }, KindSMS, KindEmail),
	storage.TextColumn("recipient", func(r *record) string { return r.To }).Indexed(),
	storage.NullTimeColumn("due", func(r *record) *api.Time { return &r.Due }),
	storage.TextColumn("person", func(r *record) string { return r.Person }).Nullable().Indexed(),
}, storage.DueBy("due"))

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind { return []*storage.Kind{messages.Kind(), links.Kind()} }

// DefaultRetention is how long test mode keeps a message.
const DefaultRetention = 30 * 24 * time.Hour

// retrySchedule is how long to wait after each failed attempt. After the last one the worker
// gives up: a receipt of yesterday is of no use.
var retrySchedule = retry.Schedule{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute,
	time.Hour, 3 * time.Hour, 8 * time.Hour, 12 * time.Hour,
}

// sendTimeout bounds one call of the Texter or Mailer.
const sendTimeout = 15 * time.Second

// Config has the host's senders. Live mode queues no SMS without a Texter, and no e-mail without a
// Mailer. A message that another process has queued waits a day for a process with the sender.
type Config struct {
	Texter Texter
	Mailer Mailer
	// TestMailer sends the e-mails of test mode, which List shows all the same.
	TestMailer Mailer
	// Retention is how long test mode keeps a message; zero means [DefaultRetention].
	Retention time.Duration
}

// Service reads the messages of test mode. It is safe for concurrent use.
type Service struct {
	engine             *engine.Engine
	config             Config
	noTexter, noMailer *sync.Once // whose lack is logged
}

// Internal is what the packages of this module call, most of it in their transactions.
// Only payments.New has one.
type Internal struct{ svc *Service }

// New returns the service for hosts and the one for the packages of this module.
func New(e *engine.Engine, c Config) (*Service, *Internal) {
	c.Retention = cmp.Or(c.Retention, DefaultRetention)
	s := &Service{engine: e, config: c, noTexter: new(sync.Once), noMailer: new(sync.Once)}
	return s, &Internal{s}
}

// CanText reports whether an SMS of a mode would be sent, or at least listed in test mode.
func (s *Service) CanText(live bool) bool { return !live || s.config.Texter != nil }

// CanText is [Service.CanText].
func (i *Internal) CanText(live bool) bool { return i.svc.CanText(live) }

// maxName is the length of a name in an SMS, in characters. A gateway bills each 160 characters of a text, and each
// 70 of one with letters such as ɛ.
const maxName = 40

// Name returns a name as an SMS shows it: on one line, and cut if it is long.
func (*Internal) Name(name string) string {
	return cut(strings.Join(strings.Fields(name), " "), maxName)
}

// Text queues an SMS in the caller's transaction. person is the id of the customer, consumer or cash
// agent who gets the message or is its subject. It may also be the id of the payment from a phone that
// the message is about, or empty. The erasure of the person, or of the payment's payer, erases the
// message. Without a Texter live mode queues nothing, and a number of another country gets none. A
// caller that needs the message checks CanText first.
func (i *Internal) Text(tx *engine.Tx, person, to, text string) error {
	return i.TextAt(tx, person, to, text, tx.Now)
}

// TextAt is Text for an SMS that waits until a time.
func (i *Internal) TextAt(tx *engine.Tx, person, to, text string, at time.Time) error {
	if to == "" || phone.IsForeign(to) || !i.CanText(tx.Caller.Live) {
		return nil
	}
	r := record{
		Message: Message{
			ID: tx.NewID("msg_"), Object: "message", Kind: KindSMS,
			To: to, Text: text, CreatedAt: api.At(tx.Now),
		},
		Person: person,
	}
	return i.queue(tx, r, at)
}

// queue stores a message that is sent at a time. One of test mode that needs no sending is due when the
// worker may delete it.
func (i *Internal) queue(tx *engine.Tx, r record, at time.Time) error {
	r.Due = api.At(at)
	if !tx.Caller.Live && !i.sendsInTest(&r) {
		r.Due, r.Sent = api.At(tx.Now.Add(i.svc.config.Retention)), true
	}
	if _, err := messages.Insert(tx, engine.Scope(tx.Caller), r.ID, r); err != nil {
		return fmt.Errorf("message: queue: %w", err)
	}
	tx.WakeAfter(messages.Kind(), at.Sub(tx.Now))
	return nil
}

// sendsInTest reports whether test mode sends a message, through the TestMailer.
func (i *Internal) sendsInTest(r *record) bool {
	return r.Kind == KindEmail && i.svc.config.TestMailer != nil && !r.Sent
}

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

// List returns the messages of test mode, newest first. Live mode, which deletes messages once they are
// sent, is refused with permission_denied.
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
	q.Where = engine.Where(q.Where, "person", p.About)
	listing := engine.Listing[record, Message]{
		Collection: messages, Noun: "message", URL: "/v1/test_helpers/messages",
		Show: func(r *record) Message { return r.Message },
	}
	return listing.List(ctx, s.engine, q, p.Page)
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

// Get returns one message of test mode. Live mode is refused with permission_denied.
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

// Retention returns the rule that removes old messages of test mode. A message is also removed at its
// due time. The rule removes messages that were queued when payments.Config.MessageRetention was
// longer.
func (*Internal) Retention(keep time.Duration) retention.Rule {
	return retention.NewRule(messages, keep, func(r *record) (api.Time, bool) { return r.CreatedAt, r.Sent })
}

// Outgoing is a queued message that a worker has claimed.
type Outgoing struct {
	object *storage.Object[record]
	caller api.Caller
	sends  bool // whether there is a sender for it, and something left to send
}

// Kind returns the kind of messages, which are due when the worker sends or deletes them.
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

// Caller returns the merchant of the message as a caller.
func (m *Outgoing) Caller() api.Caller { return m.caller }

// Document returns the id of the invoice or refund whose PDF to attach; empty for none.
func (m *Outgoing) Document() string {
	if !m.sends {
		return ""
	}
	return m.object.Value.Attach
}

// Send sends the message, with the attachment of its Document, and writes the outcome. If failed is
// not nil, the attachment could not be made. Send then sends nothing and retries later.
func (i *Internal) Send(ctx context.Context, m *Outgoing, attachment *Attachment, failed error) error {
	o, caller := m.object, m.caller
	if !m.sends && caller.Live {
		return i.postpone(ctx, m)
	}
	if !m.sends {
		work.SetReport(ctx, work.Report{Name: "forgotten", Level: slog.LevelDebug})
		return i.svc.engine.Update(ctx, caller, func(tx *engine.Tx) error {
			until := o.Value.CreatedAt.Add(i.svc.config.Retention)
			if !until.After(tx.Now) {
				return remove(tx, o)
			}
			kept := *o // the host has lengthened the retention, or has taken the Mailer of test mode away
			kept.Value.Sent, kept.Value.Due = true, api.At(until)
			return messages.Replace(tx, &kept)
		})
	}
	if failed == nil {
		failed = i.send(ctx, caller, o, attachment)
	}
	o.Value.Attempts++
	outcome := work.Report{Name: "sent", Attempt: o.Value.Attempts}
	defer func() { work.SetReport(ctx, outcome) }()
	if wait, more := retrySchedule.After(o.Value.Attempts); failed != nil && more && !errors.Is(failed, ErrUndeliverable) {
		// The error may quote the number; the log must not.
		outcome.Name, outcome.Level, outcome.Err = "again", slog.LevelWarn, failed
		return i.svc.engine.Update(ctx, caller, func(tx *engine.Tx) error {
			again := *o // a run that is rolled back leaves the claimed version as it is
			again.Value.Due = api.At(tx.Now.Add(wait))
			return messages.Replace(tx, &again)
		})
	}
	if failed != nil {
		outcome.Name, outcome.Level, outcome.Err = "given_up", slog.LevelError, failed
	}
	if !caller.Live {
		return i.svc.engine.Update(ctx, caller, func(tx *engine.Tx) error {
			kept := *o // as above
			kept.Value.Sent, kept.Value.Due = true, api.At(tx.Now.Add(i.svc.config.Retention))
			return messages.Replace(tx, &kept)
		})
	}
	return i.svc.engine.Update(ctx, caller, func(tx *engine.Tx) error { return remove(tx, o) })
}

// remove deletes a message. Live messages are in no list.
func remove(tx *engine.Tx, o *storage.Object[record]) error {
	if tx.Caller.Live {
		return messages.Delete(tx, o)
	}
	return engine.Delete(tx, messages, o)
}

const (
	// senderWait is the wait of a live message that this process has no sender for. Another process
	// may have one, or this one after a restart.
	senderWait = 15 * time.Minute
	// senderGone is the age at which such a message is given up, as one whose attempts failed.
	senderGone = 24 * time.Hour
)

// postpone lets a live message wait for a process with a Texter or Mailer. It logs the lack once for
// each kind of message, and gives up messages that are a day old.
func (i *Internal) postpone(ctx context.Context, m *Outgoing) error {
	o, outcome := m.object, work.Report{Name: "again", Level: slog.LevelWarn}
	err := i.svc.engine.Update(ctx, m.caller, func(tx *engine.Tx) error {
		if !tx.Now.Before(o.Value.CreatedAt.Add(senderGone)) {
			outcome.Name, outcome.Level = "given_up", slog.LevelError
			return remove(tx, o)
		}
		later := *o // a run that is rolled back leaves the claimed version as it is
		later.Value.Due = api.At(tx.Now.Add(senderWait))
		return messages.Replace(tx, &later)
	})
	if err != nil {
		return err
	}
	work.SetReport(ctx, outcome)
	once, sender := i.svc.noTexter, "Texter"
	if o.Value.Kind == KindEmail {
		once, sender = i.svc.noMailer, "Mailer"
	}
	once.Do(func() {
		i.svc.engine.Log.ErrorContext(ctx, "live messages wait, because no "+sender+" is configured", "message", o.ID)
	})
	return nil
}

// send calls the host's Texter or Mailer. A panic is a failed attempt like any other. Its
// value may quote the number, so send logs the stack only.
func (i *Internal) send(ctx context.Context, caller api.Caller, o *storage.Object[record], attachment *Attachment) error {
	_, err := work.CallHost(ctx, sendTimeout, func(ctx context.Context) (_ struct{}, err error) {
		defer func() {
			if recover() != nil {
				err = errPanicked
				i.svc.engine.Log.ErrorContext(ctx, "the Texter or Mailer panicked", "message", o.ID, "stack", string(debug.Stack()))
			}
		}()
		if o.Value.Kind == KindEmail {
			return struct{}{}, i.email(ctx, caller, &o.Value, attachment)
		}
		return struct{}{}, i.svc.config.Texter.SendSMS(ctx, SMS{ID: o.ID, To: o.Value.To, Text: o.Value.Text})
	})
	return err
}

var errPanicked = errors.New("message: the Texter or Mailer panicked")

// In returns the service for the transaction of a host, in which that engine works.
func (i *Internal) In(e *engine.Engine) *Service {
	in := *i.svc
	in.engine = e
	return &in
}
