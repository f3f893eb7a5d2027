package hubtel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/internal/conformance"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/provider/hubtel"
	"github.com/seed-7082ffec/payments/provider/hubtel/hubteltest"
	"github.com/seed-7082ffec/payments/provider/smstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var sms = message.SMS{ID: "msg_1", To: "+233241234567", Text: "Your code is 123456 for ₵ 5."}

func client(t *testing.T, handler http.Handler, prefix string) *hubtel.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return must.Get(hubtel.New(hubtel.Config{ClientID: hubteltest.ClientID, ClientSecret: hubteltest.ClientSecret, Sender: "Volta", BaseURL: server.URL + prefix, HTTPClient: server.Client()}))(t)
}

func TestSend(t *testing.T) {
	fake := hubteltest.New(1)
	c := client(t, fake, "/")
	must.Do(t, c.SendSMS(t.Context(), sms))
	expect.Same(t, fake.Messages(), []smstest.Message{{Sender: "Volta", To: "233241234567", Text: sms.Text}}, "messages")
	proxied := client(t, http.StripPrefix("/proxy/v9", fake), "/proxy/v9/")
	must.Do(t, proxied.SendSMS(t.Context(), sms))
	expect.Equal(t, len(fake.Messages()), 2, "messages, also below a path")
}

// A call without success is an error, and what was lost may be sent again.
func TestFaults(t *testing.T) {
	fake := hubteltest.New(1)
	c := client(t, fake, "")
	fake.LoseRequest()
	err := c.SendSMS(t.Context(), sms)
	expect.True(t, err != nil && len(fake.Messages()) == 0, "a lost request: %v, %v", err, fake.Messages())
	fake.LoseAnswer()
	err = c.SendSMS(t.Context(), sms)
	expect.True(t, err != nil && len(fake.Messages()) == 1, "a lost answer: %v, %v", err, fake.Messages())
	fake.SetFaults(smstest.Faults{LoseRequest: 20, LoseAnswer: 10, FailBefore: 15, FailAfter: 10, Limit: 15})
	for n := range 50 {
		m := message.SMS{To: sms.To, Text: fmt.Sprint("Message ", n)}
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

// Each answer has its meaning, and no error quotes the number, the text or the secret.
func TestAnswers(t *testing.T) {
	const quote = "0241234567 233241234567 Your code is 123456 " + hubteltest.ClientSecret
	for body, want := range map[string]struct {
		status int
		taken  bool
		never  bool
		says   string
	}{
		`{"status":0,"messageId":"1","statusDescription":"request submitted successfully"}`: {201, true, false, ""},
		`{"Status":"0","MessageId":"1"}`:                                               {200, true, false, ""},
		`{"message":"ok","responseCode":"0000","data":{"status":"0","messageId":"1"}}`: {200, true, false, ""},
		`{"messageId":"1"}`:            {200, true, false, ""},
		`{"status":0,"data":"ok"}`:     {200, true, false, ""},
		`{"status":0,"data":[]}`:       {200, true, false, ""},
		`{"data":[{"status":0}]}`:      {200, false, false, "200"},
		`{"message":"ok"}`:             {200, false, false, "200"},
		`{"status":2,"messageId":"1"}`: {200, false, false, "200 2"},
		`{"status":"` + quote + `"}`:   {200, false, false, "200"},
		`<html>` + quote:               {200, false, false, "200"},
		``:                             {200, false, false, "200"},
		`{"status":0}`:                 {302, false, false, "302"},
		`{"status":1,"statusDescription":"` + quote + `"}`: {400, false, true, "number"},
		`{"status":3,"statusDescription":"` + quote + `"}`: {400, false, true, "long"},
		`{"status":6,"statusDescription":"` + quote + `"}`: {400, false, true, "text"},
		`{"status":4,"statusDescription":"` + quote + `"}`: {400, false, false, "400 4"},
		`{"status":1,"messageId":"2"}`:                     {500, false, false, "500 1"},
		`{"status":401}`:                                   {401, false, false, "secret"},
		`{"status":12}`:                                    {402, false, false, "credit"},
		`{"status":403}`:                                   {403, false, false, "list"},
		`{"status":429}`:                                   {429, false, false, "many"},
		`{"status":0,"messageId":"3"}`:                     {503, false, false, "503"},
	} {
		c := client(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(want.status)
			_, _ = io.WriteString(w, body)
		}), "")
		err := c.SendSMS(t.Context(), sms)
		if want.taken {
			expect.NoError(t, err, "%d %s", want.status, body)
			continue
		}
		must.True(t, err != nil, "%d %s is taken", want.status, body)
		expect.Equal(t, errors.Is(err, message.ErrUndeliverable), want.never, "%d %s: %v: never", want.status, body, err)
		expect.True(t, strings.Contains(err.Error(), want.says), "%d: %v", want.status, err)
		for _, secret := range []string{"241234567", "code", "123456", hubteltest.ClientSecret} {
			expect.True(t, !strings.Contains(err.Error(), secret), "%d: the error tells too much: %v", want.status, err)
		}
	}
}

// The fake refuses as Hubtel does.
func TestRefusals(t *testing.T) {
	fake := hubteltest.New(1)
	c := client(t, fake, "")
	err := c.SendSMS(t.Context(), message.SMS{To: "+2332412345" + smstest.BadNumber, Text: "Hello."})
	expect.ErrorIs(t, err, message.ErrUndeliverable, "a bad number")
	for _, to := range []string{"", "+46733123450", "024"} {
		expect.ErrorIs(t, c.SendSMS(t.Context(), message.SMS{To: to, Text: "Hello."}), message.ErrUndeliverable, "no number %q", to)
	}
	fake.SetCredit(0)
	err = c.SendSMS(t.Context(), sms)
	expect.True(t, err != nil && strings.Contains(err.Error(), "402"), "no credit: %v", err)
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	other := must.Get(hubtel.New(hubtel.Config{ClientID: hubteltest.ClientID, ClientSecret: "another", Sender: "Volta", BaseURL: server.URL, HTTPClient: server.Client()}))(t)
	err = other.SendSMS(t.Context(), sms)
	expect.True(t, err != nil && strings.Contains(err.Error(), "401"), "another key: %v", err)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expect.ErrorIs(t, c.SendSMS(cancelled, sms), context.Canceled, "a cancelled context")
	expect.Equal(t, len(fake.Messages())+fake.Invalid(), 0, "messages and requests of another form")
}

func TestConfig(t *testing.T) {
	good := hubtel.Config{ClientID: "id", ClientSecret: "very-secret-key", Sender: "Volta"}
	c := must.Get(hubtel.New(good))(t)
	for _, change := range []func(*hubtel.Config){
		func(c *hubtel.Config) { c.ClientID = "" },
		func(c *hubtel.Config) { c.ClientSecret = "" },
		func(c *hubtel.Config) { c.Sender = "" },
		func(c *hubtel.Config) { c.Sender = "Volta wallet" },
		func(c *hubtel.Config) { c.Sender = "Vɔlta" },
	} {
		bad := good
		change(&bad)
		_, err := hubtel.New(bad)
		expect.True(t, err != nil && !strings.Contains(err.Error(), good.ClientSecret), "%v: %v", bad, err)
	}
	conformance.HidesSecrets(t, []string{good.ClientSecret}, good, c)
	expect.True(t, strings.Contains(fmt.Sprint(good), "Volta") && !strings.Contains(fmt.Sprintf("%+v", good), good.ClientSecret), "%v", good)
}
