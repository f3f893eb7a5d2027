// Package messaging queues and sends SMS and e-mails: it implements [message.Service].
//
// It owns the queue of messages and the short links in them. It does not own their texts and
// recipients, which come from the packages that queue them.
package messaging

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
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/storage"
)

type record struct {
	message.Message
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
	storage.EnumColumn("kind", func(r *record) message.Kind { return r.Kind }, message.KindSMS, message.KindEmail),
	storage.TextColumn("recipient", func(r *record) string { return r.To }).Indexed(),
	storage.NullTimeColumn("due", func(r *record) *api.Time { return &r.Due }),
	storage.TextColumn("person", func(r *record) string { return r.Person }).Nullable().Indexed(),
}, storage.DueBy("due"))

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind { return []*storage.Kind{messages.Kind(), links.Kind()} }

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
	Texter message.Texter
	Mailer message.Mailer
	// TestMailer sends the e-mails of test mode, which List shows all the same.
	TestMailer message.Mailer
	// Retention is how long test mode keeps a message; zero means [message.DefaultRetention].
	Retention time.Duration
}

// Service implements [message.Service].
type Service struct {
	engine             *engine.Engine
	config             Config
	noTexter, noMailer *sync.Once // each logs once that the sender is missing
	attachments        Attachments
}

var _ message.Service = (*Service)(nil)

// New returns the service.
func New(e *engine.Engine, c Config) *Service {
	c.Retention = cmp.Or(c.Retention, message.DefaultRetention)
	return &Service{engine: e, config: c, noTexter: new(sync.Once), noMailer: new(sync.Once)}
}

func (s *Service) CanText(live bool) bool { return !live || s.config.Texter != nil }

// maxName is the length of a name in an SMS, in characters. A gateway bills each 160 characters of a text, and each
// 70 of one with letters such as ɛ.
const maxName = 40

// Name returns a name as an SMS shows it: on one line, and cut if it is long.
func (*Service) Name(name string) string {
	return cut(strings.Join(strings.Fields(name), " "), maxName)
}

// Text queues an SMS in the caller's transaction. person is the id of the customer, consumer or cash
// agent who gets the message or is its subject. It may also be the id of the payment from a phone that
// the message is about, or empty. The erasure of the person, or of the payment's payer, erases the
// message. Without a Texter live mode queues nothing, and a number of another country gets none. A
// caller that needs the message checks CanText first.
func (s *Service) Text(tx *engine.Tx, person, to, text string) error {
	return s.TextAt(tx, person, to, text, tx.Now)
}

// TextAt is Text for an SMS that waits until a time.
func (s *Service) TextAt(tx *engine.Tx, person, to, text string, at time.Time) error {
	if to == "" || phone.IsForeign(to) || !s.CanText(tx.Caller.Live) {
		return nil
	}
	r := record{
		Message: message.Message{
			ID: tx.NewID("msg_"), Object: "message", Kind: message.KindSMS,
			To: to, Text: text, CreatedAt: api.At(tx.Now),
		},
		Person: person,
	}
	return s.queue(tx, r, at)
}

// queue stores a message that is sent at a time. One of test mode that needs no sending is due when the
// worker may delete it.
func (s *Service) queue(tx *engine.Tx, r record, at time.Time) error {
	r.Due = api.At(at)
	if !tx.Caller.Live && !s.sendsInTest(&r) {
		r.Due, r.Sent = api.At(tx.Now.Add(s.config.Retention)), true
	}
	if _, err := messages.Insert(tx, engine.Scope(tx.Caller), r.ID, r); err != nil {
		return fmt.Errorf("message: queue: %w", err)
	}
	tx.WakeAfter(messages.Kind(), at.Sub(tx.Now))
	return nil
}

// sendsInTest reports whether test mode sends a message, through the TestMailer.
func (s *Service) sendsInTest(r *record) bool {
	return r.Kind == message.KindEmail && s.config.TestMailer != nil && !r.Sent
}

func (s *Service) List(ctx context.Context, caller api.Caller, p message.ListParams) (*api.List[message.Message], error) {
	if caller.Live {
		return nil, errTestOnly
	}
	if p.Kind != "" && p.Kind != message.KindSMS && p.Kind != message.KindEmail {
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
	listing := engine.Listing[record, message.Message]{
		Collection: messages, Noun: "message", URL: "/v1/test_helpers/messages",
		Show: func(r *record) message.Message { return r.Message },
	}
	return listing.List(ctx, s.engine, q, p.Page)
}

func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*message.Detail, error) {
	if caller.Live {
		return nil, errTestOnly
	}
	o, err := engine.Get(ctx, s.engine, caller, messages, id, "message")
	if err != nil {
		return nil, err
	}
	return &message.Detail{Message: o.Value.Message, FromName: o.Value.FromName, HTML: o.Value.HTML, Attached: o.Value.Attach}, nil
}

var errTestOnly = api.Errorf(api.PermissionDenied, "", "Messages can be read in test mode only.")

// Retention returns the rule that removes old messages of test mode. A message is also removed at its
// due time. The rule removes messages that were queued when payments.Config.MessageRetention was
// longer.
func (*Service) Retention(keep time.Duration) retention.Rule {
	return retention.NewRule(messages, keep, func(r *record) (api.Time, bool) { return r.CreatedAt, r.Sent })
}

// outgoing is a queued message that a worker has claimed.
type outgoing struct {
	object *storage.Object[record]
	caller api.Caller
	sends  bool // whether there is a sender for it, and something left to send
}

// open returns the message of a claimed record.
func (s *Service) open(r storage.Record) (*outgoing, error) {
	o, err := messages.Decode(r)
	if err != nil {
		return nil, err
	}
	m := &outgoing{object: o, caller: api.Caller{Merchant: o.Scope.Merchant, Live: o.Scope.Live}}
	switch {
	case !m.caller.Live:
		m.sends = s.sendsInTest(&o.Value)
	case o.Value.Kind == message.KindEmail:
		m.sends = s.config.Mailer != nil
	default:
		m.sends = s.config.Texter != nil
	}
	return m, nil
}

// document returns the id of the invoice or refund whose PDF to attach; empty for none.
func (m *outgoing) document() string {
	if !m.sends {
		return ""
	}
	return m.object.Value.Attach
}

// deliver sends the message, with the attachment of its document, and writes the outcome. If failed is
// not nil, the attachment could not be made. deliver then sends nothing and retries later.
func (s *Service) deliver(ctx context.Context, m *outgoing, attachment *message.Attachment, failed error) error {
	o, caller := m.object, m.caller
	if !m.sends && caller.Live {
		return s.postpone(ctx, m)
	}
	if !m.sends {
		work.SetReport(ctx, work.Report{Name: "forgotten", Level: slog.LevelDebug})
		return s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
			until := o.Value.CreatedAt.Add(s.config.Retention)
			if !until.After(tx.Now) {
				return remove(tx, o)
			}
			kept := *o // the host has lengthened the retention, or has removed the TestMailer
			kept.Value.Sent, kept.Value.Due = true, api.At(until)
			return messages.Replace(tx, &kept)
		})
	}
	if failed == nil {
		failed = s.send(ctx, caller, o, attachment)
	}
	o.Value.Attempts++
	outcome := work.Report{Name: "sent", Attempt: o.Value.Attempts}
	defer func() { work.SetReport(ctx, outcome) }()
	if wait, more := retrySchedule.After(o.Value.Attempts); failed != nil && more && !errors.Is(failed, message.ErrUndeliverable) {
		// The error may quote the number; the log must not.
		outcome.Name, outcome.Level, outcome.Err = "again", slog.LevelWarn, failed
		return s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
			again := *o // a run that is rolled back leaves the claimed version as it is
			again.Value.Due = api.At(tx.Now.Add(wait))
			return messages.Replace(tx, &again)
		})
	}
	if failed != nil {
		outcome.Name, outcome.Level, outcome.Err = "given_up", slog.LevelError, failed
	}
	if !caller.Live {
		return s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
			kept := *o // as above
			kept.Value.Sent, kept.Value.Due = true, api.At(tx.Now.Add(s.config.Retention))
			return messages.Replace(tx, &kept)
		})
	}
	return s.engine.Update(ctx, caller, func(tx *engine.Tx) error { return remove(tx, o) })
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
func (s *Service) postpone(ctx context.Context, m *outgoing) error {
	o, outcome := m.object, work.Report{Name: "again", Level: slog.LevelWarn}
	err := s.engine.Update(ctx, m.caller, func(tx *engine.Tx) error {
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
	once, sender := s.noTexter, "Texter"
	if o.Value.Kind == message.KindEmail {
		once, sender = s.noMailer, "Mailer"
	}
	once.Do(func() {
		s.engine.Log.ErrorContext(ctx, "live messages wait, because no "+sender+" is configured", "message", o.ID)
	})
	return nil
}

// send calls the host's Texter or Mailer. A panic is a failed attempt like any other. Its
// value may quote the number, so send logs the stack only.
func (s *Service) send(ctx context.Context, caller api.Caller, o *storage.Object[record], attachment *message.Attachment) error {
	_, err := work.CallHost(ctx, sendTimeout, func(ctx context.Context) (_ struct{}, err error) {
		defer func() {
			if recover() != nil {
				err = errPanicked
				s.engine.Log.ErrorContext(ctx, "the Texter or Mailer panicked", "message", o.ID, "stack", string(debug.Stack()))
			}
		}()
		if o.Value.Kind == message.KindEmail {
			return struct{}{}, s.email(ctx, caller, &o.Value, attachment)
		}
		return struct{}{}, s.config.Texter.SendSMS(ctx, message.SMS{ID: o.ID, To: o.Value.To, Text: o.Value.Text})
	})
	return err
}

var errPanicked = errors.New("message: the Texter or Mailer panicked")

// In returns a copy of the service that works in e, the engine of a host's transaction.
func (s *Service) In(e *engine.Engine) *Service {
	in := *s
	in.engine = e
	return &in
}
