package message_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/notify/messaging"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

const number = "+233241234567"

// phones is a Texter that notes what it sends, and fails as often as it is told.
type phones struct {
	mu   sync.Mutex
	sent []string
	fail int
	with error // why it fails; nil for an error that quotes the number
}

func (p *phones) SendSMS(_ context.Context, m message.SMS) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail > 0 {
		p.fail--
		if p.with != nil {
			return p.with
		}
		return fmt.Errorf("no network for %s", m.To)
	}
	p.sent = append(p.sent, m.To+" "+m.Text)
	return nil
}

type post struct {
	attach func(ctx context.Context, caller api.Caller, document string) (*message.Attachment, error)

	*messaging.Service
	engine *engine.Engine
	runner *work.Runner
	now    time.Time
	log    bytes.Buffer
}

func newPost(t *testing.T, texter message.Texter) *post {
	t.Helper()
	p := &post{now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
	store := memory.New()
	must.Do(t, store.Define(t.Context(), append(engine.Kinds(), messaging.Kinds()...)...))
	clock := func() time.Time { return p.now }
	log := slog.New(slog.NewTextHandler(&p.log, nil))
	p.engine = &engine.Engine{Store: store, Clock: clock, NewID: ids.New(clock, nil).Make, Log: log, Runner: new(work.Runner)}
	p.Service = messaging.New(p.engine, messaging.Config{Texter: texter})
	p.runner = &work.Runner{Store: store, Clock: clock, Log: log, Poll: time.Second}
	p.addWorker()
	return p
}

// addWorker adds the worker that sends messages.
func (p *post) addWorker() {
	if err := p.SetAttachments(p); err != nil {
		panic(err)
	}
	p.runner.Add(p.Jobs()...)
}

// Attachment makes the documents of e-mails, by attach.
func (p *post) Attachment(ctx context.Context, caller api.Caller, document string) (*message.Attachment, error) {
	return p.attach(ctx, caller, document)
}

func (p *post) queue(t *testing.T, caller api.Caller, to, text string) {
	t.Helper()
	must.Do(t, p.engine.Update(t.Context(), caller, func(tx *engine.Tx) error { return p.Text(tx, "cus_1", to, text) }))
}

// pass lets time pass and does what is due.
func (p *post) pass(t *testing.T, by time.Duration) {
	t.Helper()
	p.now = p.now.Add(by)
	must.Do(t, p.runner.Drain(t.Context()))
}

// kept counts the messages of a mode in the store.
func (p *post) kept(t *testing.T, live bool) int {
	t.Helper()
	var n int
	must.Do(t, p.engine.Store.View(t.Context(), func(tx storage.ReadTx) error {
		page, err := tx.List(messaging.Kinds()[0], storage.Query{Scope: storage.Scope{Merchant: "mer_1", Live: live}, Limit: 100})
		n = len(page)
		return err
	}))
	return n
}

var (
	live = api.Caller{Merchant: "mer_1", Live: true}
	test = api.Caller{Merchant: "mer_1"}
)

func TestLiveMessageIsRemovedOnceSent(t *testing.T) {
	texter := &phones{}
	p := newPost(t, texter)
	p.queue(t, live, number, "Your code is 123456.")
	p.queue(t, live, "", "To nobody.")
	p.pass(t, 0)
	expect.Same(t, texter.sent, []string{number + " Your code is 123456."}, "sent")
	expect.Equal(t, p.kept(t, true), 0, "messages are kept after they were sent")
	testkit.WantCode(t, "live messages are listed", testkit.Err(p.List(t.Context(), live, message.ListParams{})), api.PermissionDenied)
}

// A message that can never be delivered is tried once.
func TestUndeliverableMessageIsDropped(t *testing.T) {
	texter := &phones{fail: 100, with: fmt.Errorf("gateway: no such number: %w", message.ErrUndeliverable)}
	p := newPost(t, texter)
	p.queue(t, live, number, "Hello.")
	p.pass(t, 0)
	p.pass(t, 48*time.Hour)
	expect.Equal(t, texter.fail, 99, "fail")
	expect.Equal(t, p.kept(t, true), 0, "kept")
	log := p.log.String()
	expect.True(t, strings.Contains(log, "outcome=given_up attempt=1"), "the log says\n%s", log)
}

func TestFailedMessageIsRetriedThenDropped(t *testing.T) {
	schedule := []time.Duration{
		5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 3 * time.Hour, 8 * time.Hour, 12 * time.Hour,
	}
	texter := &phones{fail: 100}
	p := newPost(t, texter)
	p.queue(t, live, number, "Hello.")
	p.pass(t, 0)
	for i, wait := range schedule {
		p.pass(t, wait-time.Millisecond)
		expect.Equal(t, 100-texter.fail, i+1, "tries a moment before try %d", i+2)
		p.pass(t, time.Millisecond)
		expect.Equal(t, 100-texter.fail, i+2, "tries, want %d", i+2)
	}
	expect.Equal(t, p.kept(t, true), 0, "messages are kept after they were given up")
	p.pass(t, 48*time.Hour)
	expect.Equal(t, 100-texter.fail, len(schedule)+1, "tries in all")
	log := p.log.String()
	expect.True(t, strings.Contains(log, "outcome=given_up attempt=9"), "the log says\n%s", log)
	expect.True(t, !strings.Contains(log, "241234567"), "the log says\n%s", log)
	expect.True(t, !strings.Contains(log, "Hello"), "the log says\n%s", log)
	texter.fail = 1
	p.queue(t, live, number, "Again.")
	p.pass(t, 0)
	p.pass(t, 5*time.Second)
	expect.Equal(t, len(texter.sent), 1, "sent %q after one failure", texter.sent)
}

func TestLiveModeWithoutTexterQueuesNothing(t *testing.T) {
	p := newPost(t, nil)
	expect.True(t, !p.CanText(true), "CanText is wrong")
	expect.True(t, p.CanText(false), "CanText is wrong")
	p.queue(t, live, number, "Hello.")
	expect.Equal(t, p.kept(t, true), 0, "messages are queued without a Texter")
}

func TestTestMessageIsKeptForAMonth(t *testing.T) {
	texter := &phones{}
	p := newPost(t, texter)
	p.queue(t, test, number, "First.")
	p.queue(t, test, "+233201112223", "Second.")
	p.pass(t, 30*24*time.Hour-time.Millisecond)
	list, err := p.List(t.Context(), test, message.ListParams{})
	must.Do(t, err)
	must.True(t, len(list.Data) == 2, "list %+v, %v", list, err)
	expect.Equal(t, list.Data[0].Text, "Second.", "list: text of the first")
	for to, want := range map[string]int{"024 123 4567": 1, number: 1, "0249999999": 0, "somebody@example.com": 0} {
		list, err := p.List(t.Context(), test, message.ListParams{To: to, Kind: message.KindSMS})
		must.True(t, err == nil, "to %s: %+v, %v", to, list, err)
		expect.Equal(t, len(list.Data), want, "to %s: number", to)
	}
	expect.Equal(t, len(must.Get(p.List(t.Context(), test, message.ListParams{Kind: message.KindEmail}))(t).Data), 0, "e-mails")
	testkit.WantCode(t, "pigeons", testkit.Err(p.List(t.Context(), test, message.ListParams{Kind: "pigeon"})), api.ParameterInvalid)
	p.pass(t, time.Millisecond)
	n := p.kept(t, false)
	expect.True(t, n == 0, "%d are kept after a month, %d were sent", n, len(texter.sent))
	expect.Equal(t, len(texter.sent), 0, "number of sent")
}

// A message belongs to its transaction.
func TestRolledBackMessageIsNotSent(t *testing.T) {
	texter := &phones{}
	p := newPost(t, texter)
	planned := errors.New("planned")
	err := p.engine.Update(t.Context(), live, func(tx *engine.Tx) error {
		if err := p.Text(tx, "", number, "Hello."); err != nil {
			return err
		}
		return planned
	})
	p.pass(t, time.Hour)
	expect.True(t, errors.Is(err, planned), "got %v, sent %q", err, texter.sent)
	expect.Equal(t, len(texter.sent), 0, "number of sent")
}

// explosive is a Texter that panics with the number, as often as it is told.
type explosive struct{ left int }

func (e *explosive) SendSMS(_ context.Context, m message.SMS) error {
	if e.left--; e.left >= 0 {
		panic("no route to " + m.To)
	}
	return nil
}

// The worker retries a Texter that panics by the same schedule. The value of the panic does
// not reach the log.
func TestPanickingTexterIsRetried(t *testing.T) {
	texter := &explosive{left: 2}
	p := newPost(t, texter)
	p.queue(t, live, number, "Hello.")
	for _, wait := range []time.Duration{0, 5 * time.Second, 30 * time.Second} {
		expect.Equal(t, p.kept(t, true), 1, "messages are kept before the try after %s", wait)
		p.pass(t, wait)
	}
	n := p.kept(t, true)
	expect.Equal(t, n, 0, "number of messages")
	expect.Equal(t, texter.left, -1, "left")
	log := p.log.String()
	expect.True(t, strings.Contains(log, "outcome=again"), "the log says\n%s", log)
	expect.True(t, !strings.Contains(log, "241234567"), "the log says\n%s", log)
}

// A live message waits for a process that has a sender for it, and is given up after a day. The log
// says once that messages wait.
func TestLiveMessagesWaitForTexter(t *testing.T) {
	texter := &phones{}
	p := newPost(t, texter)
	configure := func(c messaging.Config) {
		p.Service = messaging.New(p.engine, c)
		p.runner = &work.Runner{Store: p.engine.Store, Clock: p.engine.Clock, Log: p.engine.Log, Poll: time.Second}
		p.addWorker()
	}
	p.queue(t, live, number, "Hello.")
	p.queue(t, live, number, "Hello again.")
	configure(messaging.Config{})
	p.pass(t, 0)
	p.pass(t, 15*time.Minute)
	expect.Equal(t, p.kept(t, true), 2, "messages are kept")
	expect.Equal(t, strings.Count(p.log.String(), "no Texter is configured"), 1, "log lines:\n%s", &p.log)
	configure(messaging.Config{Texter: texter})
	p.pass(t, 15*time.Minute-time.Millisecond)
	expect.Equal(t, len(texter.sent), 0, "messages are sent before their time")
	p.pass(t, time.Millisecond)
	expect.Equal(t, len(texter.sent), 2, "number of sent")
	expect.Equal(t, p.kept(t, true), 0, "kept")

	p.queue(t, live, number, "Your code is 123456.")
	must.Do(t, p.engine.Update(t.Context(), live, func(tx *engine.Tx) error {
		mailer := messaging.New(p.engine, messaging.Config{Mailer: &mails{}})
		return mailer.Email(tx, "", message.Email{To: "ama@example.com", Text: "Hello."}, "")
	}))
	configure(messaging.Config{})
	for range 95 {
		p.pass(t, 15*time.Minute)
	}
	expect.Equal(t, p.kept(t, true), 2, "messages are kept for a day")
	p.pass(t, 15*time.Minute)
	expect.Equal(t, p.kept(t, true), 0, "messages are kept after a day")
	log := p.log.String()
	expect.True(t, strings.Count(log, "outcome=given_up") == 2, "the log says\n%s", log)
	expect.True(t, strings.Contains(log, "no Mailer is configured"), "the log says\n%s", log)
	expect.True(t, !strings.Contains(log, "241234567"), "the log says\n%s", log)
}

func TestGetShowsWholeMessage(t *testing.T) {
	p := newPost(t, nil)
	caller := api.Caller{Merchant: "mer_1"}
	e := message.Email{To: "ama@example.com", FromName: "Adom", Subject: "Invoice", Text: "GHS 5", HTML: "<p>GHS 5</p>"}
	err := p.engine.Update(t.Context(), caller, func(tx *engine.Tx) error { return p.Email(tx, "", e, "inv_1") })
	must.Do(t, err)
	list, err := p.List(t.Context(), caller, message.ListParams{})
	must.True(t, err == nil && len(list.Data) == 1, "%+v, %v", list, err)
	read := must.Get(p.Get(t.Context(), caller, list.Data[0].ID))(t)
	want := message.Detail{Message: list.Data[0], FromName: "Adom", HTML: "<p>GHS 5</p>", Attached: "inv_1"}
	expect.Equal(t, *read, want, "got %+v", read)
	for name, c := range map[string]struct {
		caller api.Caller
		id     string
		code   api.Code
	}{
		"another merchant": {api.Caller{Merchant: "mer_2"}, read.ID, api.ResourceMissing},
		"live mode":        {api.Caller{Merchant: "mer_1", Live: true}, read.ID, api.PermissionDenied},
		"no such":          {caller, "msg_none", api.ResourceMissing},
	} {
		testkit.WantCode(t, name, testkit.Err(p.Get(t.Context(), c.caller, c.id)), c.code)
	}
}
