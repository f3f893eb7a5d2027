package message_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/notify/messaging"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/storage"
)

// mails is a Mailer that notes what it sends, and fails as often as it is told.
type mails struct {
	mu   sync.Mutex
	sent []message.Email
	fail int
}

func (m *mails) SendEmail(_ context.Context, e message.Email) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail > 0 {
		m.fail--
		return fmt.Errorf("no server for %s", e.To)
	}
	m.sent = append(m.sent, e)
	return nil
}

// over makes the post another service on the same store, as after a restart.
func (p *post) over(store storage.Store, c messaging.Config) {
	p.engine.Store = store
	p.Service = messaging.New(p.engine, c)
	p.runner = &work.Runner{Store: store, Clock: p.engine.Clock, Log: p.engine.Log, Poll: time.Second}
	p.addWorker()
}

func (p *post) email(t *testing.T, caller api.Caller, e message.Email, attach string) {
	t.Helper()
	must.Do(t, p.engine.Update(t.Context(), caller, func(tx *engine.Tx) error { return p.Email(tx, "cus_1", e, attach) }))
}

var receipt = message.Email{
	To: "ama@example.com", FromName: "Adom", Subject: "Receipt", Text: "Paid.", HTML: "<p>Paid.</p>",
}

func TestLiveEmailIsRemovedOnceSent(t *testing.T) {
	p, mailer := newPost(t, nil), &mails{}
	expect.True(t, !p.CanEmail(true), "CanEmail is wrong without a Mailer")
	expect.True(t, p.CanEmail(false), "CanEmail is wrong without a Mailer")
	p.email(t, live, receipt, "")
	expect.Equal(t, p.kept(t, true), 0, "e-mails are queued without a Mailer")
	p.over(p.engine.Store, messaging.Config{Mailer: mailer})
	expect.True(t, p.CanEmail(true), "CanEmail is wrong with a Mailer")

	// The attachment is asked for when the e-mail goes out, and each time anew.
	var asked []string
	missing := errors.New("no such file")
	p.attach = func(_ context.Context, caller api.Caller, name string) (*message.Attachment, error) {
		asked = append(asked, name)
		expect.True(t, caller == live, "asked for %+v", caller)
		if len(asked) == 1 {
			return nil, missing
		}
		return &message.Attachment{Name: name + ".pdf", Type: "application/pdf", Data: []byte("%PDF")}, nil
	}
	p.email(t, live, receipt, "inv_1")
	p.email(t, live, message.Email{Text: "To nobody."}, "")
	expect.Equal(t, len(asked), 0, "an attachment was made before the e-mail was sent")
	p.pass(t, 0)
	expect.Equal(t, len(mailer.sent), 0, "number of sent")
	expect.Equal(t, p.kept(t, true), 1, "kept")
	mailer.fail = 1
	p.pass(t, 5*time.Second)
	p.pass(t, 30*time.Second)
	must.True(t, len(mailer.sent) == 1 && p.kept(t, true) == 0, "sent %+v", mailer.sent)
	got, want := mailer.sent[0], receipt
	want.ID, want.Attachments = got.ID, []message.Attachment{{Name: "inv_1.pdf", Type: "application/pdf", Data: []byte("%PDF")}}
	diff := cmp.Diff(want, got)
	expect.True(t, diff == "", "sent (-want +got)\n%s", diff)
	expect.True(t, got.ID != "", "sent (-want +got)\n%s", diff)
	expect.Same(t, asked, []string{"inv_1", "inv_1", "inv_1"}, "asked")
}

// In test mode an e-mail is listed, and sent only where the host gave a Mailer for
// it: once, and never the live one.
func TestTestEmailIsKeptAndSentOnlyByTestMailer(t *testing.T) {
	p, mailer, other := newPost(t, nil), &mails{fail: 1}, &mails{}
	p.over(p.engine.Store, messaging.Config{Mailer: other})
	p.email(t, test, receipt, "")
	p.pass(t, time.Minute)
	p.over(p.engine.Store, messaging.Config{Mailer: other, TestMailer: mailer})
	p.email(t, test, receipt, "")
	p.queue(t, test, number, "Hello.")
	for _, wait := range []time.Duration{0, 5 * time.Second, time.Hour, 24 * time.Hour} {
		p.pass(t, wait)
	}
	expect.Equal(t, len(mailer.sent), 1, "number of sent")
	expect.Equal(t, len(other.sent), 0, "number of sent")
	expect.Equal(t, mailer.fail, 0, "fail")
	list := must.Get(p.List(t.Context(), test, message.ListParams{Kind: message.KindEmail, To: receipt.To}))(t)
	must.True(t, len(list.Data) == 2, "listed %+v", list)
	expect.Equal(t, list.Data[0].Subject, "Receipt", "listed: subject of the first")
	expect.Equal(t, list.Data[0].ID, mailer.sent[0].ID, "listed: ID of the first")
	p.pass(t, 31*24*time.Hour)
	n := p.kept(t, false)
	expect.True(t, n == 0, "%d are kept after a month, %d were sent", n, len(mailer.sent))
	expect.Equal(t, len(mailer.sent), 1, "number of sent")
}

// An e-mail of test mode that the host has no Mailer for any more is listed as any other.
func TestTestEmailOutlivesItsMailer(t *testing.T) {
	p := newPost(t, nil)
	p.over(p.engine.Store, messaging.Config{TestMailer: &mails{fail: 1}})
	p.email(t, test, receipt, "")
	p.pass(t, 0)
	p.over(p.engine.Store, messaging.Config{})
	p.pass(t, 5*time.Second)
	expect.Equal(t, p.kept(t, false), 1, "messages are kept")
	p.pass(t, 30*24*time.Hour-5*time.Second-time.Millisecond)
	expect.Equal(t, p.kept(t, false), 1, "messages are kept for a month")
	p.pass(t, time.Millisecond)
	expect.Equal(t, p.kept(t, false), 0, "messages are kept after a month")
}

// Erase deletes all messages to and about the person in that merchant's mode, however many,
// and none about another person at the same address.
func TestEraseRemovesMessagesOfOnePerson(t *testing.T) {
	p := newPost(t, &phones{})
	for range api.MaxLimit + 1 {
		p.queue(t, test, number, "Hello.")
	}
	err := p.engine.Update(t.Context(), test, func(tx *engine.Tx) error { return p.Text(tx, "cus_2", number, "To another.") })
	must.Do(t, err)
	p.queue(t, live, number, "Live.")
	p.queue(t, api.Caller{Merchant: "mer_2"}, number, "Of another.")
	p.email(t, test, receipt, "")
	store := faultstore.New(p.engine.Store)
	p.engine.Store = store
	store.Each(t, "Erase", func() error { return p.Erase(t.Context(), test, "cus_1") })
	list, err := p.List(t.Context(), test, message.ListParams{Page: api.Page{Limit: 100}})
	must.Do(t, err)
	must.True(t, len(list.Data) == 1, "kept %+v, %v", list, err)
	expect.Equal(t, list.Data[0].Text, "To another.", "kept: text of the first")
	expect.Equal(t, p.kept(t, true), 1, "live messages are kept")
	others, err := p.List(t.Context(), api.Caller{Merchant: "mer_2"}, message.ListParams{})
	must.Do(t, err)
	expect.Equal(t, len(others.Data), 1, "kept of another merchant: number")
}

// An attempt whose outcome is rolled back and written again counts once, and the next follows
// the schedule.
func TestRerunCountsOneAttempt(t *testing.T) {
	texter, mailer := &phones{fail: 2}, &mails{fail: 2}
	p := newPost(t, nil)
	p.over(faultstore.Undone(p.engine.Store), messaging.Config{Texter: texter, TestMailer: mailer})
	p.queue(t, live, number, "Hello.")
	p.email(t, test, receipt, "")
	for i, wait := range []time.Duration{0, 5 * time.Second, 30 * time.Second} {
		p.pass(t, max(0, wait-time.Millisecond))
		if i > 0 && (len(texter.sent) > 0 || len(mailer.sent) > 0 || texter.fail != 2-i || mailer.fail != 2-i) {
			t.Errorf("%d and %d failures are left before try %d", texter.fail, mailer.fail, i+1)
		}
		p.pass(t, min(wait, time.Millisecond))
	}
	p.pass(t, time.Hour)
	expect.Equal(t, len(texter.sent), 1, "number of sent")
	expect.Equal(t, len(mailer.sent), 1, "number of sent")
	expect.Equal(t, p.kept(t, true), 0, "kept")
}

// When any operation of the store fails, the call returns the error. A queued message stays
// until it is sent.
func TestStoreFailuresLoseNoMessage(t *testing.T) {
	texter := &phones{}
	p := newPost(t, nil)
	store := faultstore.New(p.engine.Store)
	p.over(store, messaging.Config{Texter: texter})
	queue := func() error {
		return p.engine.Update(t.Context(), live, func(tx *engine.Tx) error { return p.Text(tx, "", number, "Hello.") })
	}
	store.Each(t, "TextTx", queue)
	store.Each(t, "List", func() error { return testkit.Err(p.List(t.Context(), test, message.ListParams{})) })
	expect.Equal(t, p.kept(t, true), 1, "messages are queued")
	for k := 1; p.kept(t, true) > 0; k++ {
		store.FailAt(k)
		p.now = p.now.Add(time.Hour) // past every lease and wait
		err := p.runner.Drain(t.Context())
		hit := store.Heal()
		if left := p.kept(t, true); left == 0 && len(texter.sent) == 0 || !hit && left > 0 || err != nil && !errors.Is(err, faultstore.Err) {
			t.Fatalf("operation %d failed: %v; %d are kept, %d were sent", k, err, left, len(texter.sent))
		}
	}
}
