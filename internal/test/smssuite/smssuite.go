// Package smssuite has the tests that the clients of all SMS gateways pass.
package smssuite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/provider/smstest"
)

// Gateway is a gateway under test.
type Gateway struct {
	// New returns a client with the sender Volta.
	New  func(secret, baseURL string, h *http.Client) (message.Texter, error)
	Fake func(seed uint64) *smstest.Fake
	// Secret is the one that the fake accepts.
	Secret string
}

// SMS is the message of the tests, and Quote quotes it, as an answer may.
var (
	SMS   = message.SMS{ID: "msg_1", To: "+233241234567", Text: "Your code is 123456 for ₵ 5."}
	Quote = "0241234567 233241234567 Your code is 123456 "
)

// Client returns a client of the gateway that handler is, below a path.
func (g Gateway) Client(t *testing.T, handler http.Handler, path string) message.Texter {
	t.Helper()
	return g.client(t, handler, path, g.Secret)
}

func (g Gateway) client(t *testing.T, handler http.Handler, path, secret string) message.Texter {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return must.Get(g.New(secret, server.URL+path, server.Client()))(t)
}

// Run runs the tests against the gateway's fake.
func (g Gateway) Run(t *testing.T) {
	t.Run("send", g.send)
	t.Run("faults", g.faults)
	t.Run("refusals", g.refusals)
}

func (g Gateway) send(t *testing.T) {
	fake := g.Fake(1)
	must.Do(t, g.Client(t, fake, "/").SendSMS(t.Context(), SMS))
	expect.Same(t, fake.Messages(), []smstest.Message{{Sender: "Volta", To: "233241234567", Text: SMS.Text}}, "messages")
	must.Do(t, g.Client(t, http.StripPrefix("/proxy/v9", fake), "/proxy/v9/").SendSMS(t.Context(), SMS))
	expect.Equal(t, len(fake.Messages()), 2, "messages, also below a path")
}

// A call without success is an error, and what was lost may be sent again.
func (g Gateway) faults(t *testing.T) {
	fake := g.Fake(1)
	c := g.Client(t, fake, "")
	fake.LoseRequest()
	err := c.SendSMS(t.Context(), SMS)
	expect.True(t, err != nil && len(fake.Messages()) == 0, "a lost request: %v, %v", err, fake.Messages())
	fake.LoseAnswer()
	err = c.SendSMS(t.Context(), SMS)
	expect.True(t, err != nil && len(fake.Messages()) == 1, "a lost answer: %v, %v", err, fake.Messages())
	fake.SetFaults(smstest.Faults{LoseRequest: 20, LoseAnswer: 10, FailBefore: 15, FailAfter: 10, Limit: 15})
	for n := range 50 {
		m := message.SMS{To: SMS.To, Text: fmt.Sprint("Message ", n)}
		attempts := 1
		for c.SendSMS(t.Context(), m) != nil {
			attempts++
			must.True(t, attempts < 50, "message %d does not arrive", n)
		}
		arrived := 0
		for _, taken := range fake.Messages() {
			if taken.Text == m.Text {
				arrived++
			}
		}
		expect.True(t, arrived >= 1 && arrived <= attempts, "message %d arrived %d times in %d attempts", n, arrived, attempts)
	}
	expect.Equal(t, fake.Invalid(), 0, "requests of another form")
}

// The fake refuses as the gateway does.
func (g Gateway) refusals(t *testing.T) {
	fake := g.Fake(1)
	c := g.Client(t, fake, "")
	for _, to := range []string{"+2332412345" + smstest.BadNumber, "", "+46733123450", "024"} {
		expect.ErrorIs(t, c.SendSMS(t.Context(), message.SMS{To: to, Text: "Hello."}), message.ErrUndeliverable, "no number %q", to)
	}
	fake.SetCredit(0)
	err := c.SendSMS(t.Context(), SMS)
	expect.True(t, err != nil && strings.Contains(err.Error(), "402"), "no credit: %v", err)
	err = g.client(t, fake, "", "another").SendSMS(t.Context(), SMS)
	expect.True(t, err != nil && strings.Contains(err.Error(), "401"), "another key: %v", err)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expect.ErrorIs(t, c.SendSMS(cancelled, SMS), context.Canceled, "a cancelled context")
	expect.Equal(t, len(fake.Messages())+fake.Invalid(), 0, "messages and requests of another form")
}

// Answer is what an answer of a gateway means.
type Answer struct {
	Status int
	Taken  bool   // or an error
	Never  bool   // the error is message.ErrUndeliverable
	Says   string // is in the error
}

// Answers tests what each answer means. No error quotes the number, the text or the secret.
func (g Gateway) Answers(t *testing.T, answers map[string]Answer) {
	for body, want := range answers {
		c := g.Client(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(want.Status)
			_, _ = io.WriteString(w, body)
		}), "")
		err := c.SendSMS(t.Context(), SMS)
		if want.Taken {
			expect.NoError(t, err, "%d %s", want.Status, body)
			continue
		}
		must.True(t, err != nil, "%d %s is taken", want.Status, body)
		expect.Equal(t, errors.Is(err, message.ErrUndeliverable), want.Never, "%d %s: %v: never", want.Status, body, err)
		expect.True(t, strings.Contains(err.Error(), want.Says), "%d: %v", want.Status, err)
		for _, secret := range []string{"241234567", "code", "123456", g.Secret} {
			expect.True(t, !strings.Contains(err.Error(), secret), "%d: the error tells too much: %v", want.Status, err)
		}
	}
}
