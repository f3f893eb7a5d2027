package arkesel_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/conformance"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/smssuite"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider/arkesel"
	"github.com/seed-7082ffec/payments/provider/arkesel/arkeseltest"
	"github.com/seed-7082ffec/payments/provider/smstest"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var gateway = smssuite.Gateway{
	New: func(key, base string, h *http.Client) (message.Texter, error) {
		return arkesel.New(arkesel.Config{APIKey: key, Sender: "Volta", BaseURL: base, HTTPClient: h})
	},
	Fake: arkeseltest.New, Secret: arkeseltest.APIKey,
}

func TestGateway(t *testing.T) { gateway.Run(t) }

// Each answer has its meaning, and no error quotes the number, the text or the key.
func TestAnswers(t *testing.T) {
	quote := smssuite.Quote + arkeseltest.APIKey
	gateway.Answers(t, map[string]smssuite.Answer{
		`{"status":"success","data":[{"recipient":"233241234567","id":"1"}]}`:   {Status: 200, Taken: true},
		`{"status":"success","message":"SMS request sent successfully!"}`:       {Status: 200, Taken: true},
		`{"status":"Success","data":{}}`:                                        {Status: 201, Taken: true},
		`{"status":"success","data":[{"invalid numbers":["233241234567"]}]}`:    {Status: 200, Never: true, Says: "invalid"},
		`{"status":"success","data":{"invalid numbers":["233241234567"]} }`:     {Status: 200, Never: true, Says: "invalid"},
		`{"status":"success","data":[{"invalid numbers":"233241234567"}]}`:      {Status: 200, Never: true, Says: "invalid"},
		`{"status":"success","data":{"invalid numbers":{"1":"233241234567"}}}`:  {Status: 200, Never: true, Says: "invalid"},
		`{"status":"success","data":[{"invalid numbers":233241234567}]}`:        {Status: 200, Never: true, Says: "invalid"},
		`{"status":"success","data":[]}`:                                        {Status: 200, Never: true, Says: "invalid"},
		`{"status":"success","data":[{"id":"1"},{"invalid numbers":[ ]}]}`:      {Status: 200, Taken: true},
		`{"status":"success","data":[{"id":"1"},{"invalid numbers":""}]}`:       {Status: 200, Taken: true},
		`{"status":"success","data":[{"id":"1"},{"invalid numbers":null}]}`:     {Status: 200, Taken: true},
		`{"status":"success","data":null}`:                                      {Status: 200, Taken: true},
		`{"status":"error","message":"` + quote + `"}`:                          {Status: 200, Says: "200"},
		`<html>success` + quote:                                                 {Status: 200, Says: "200"},
		``:                                                                      {Status: 200, Says: "200"},
		`{"status":"success"}`:                                                  {Status: 302, Says: "302"},
		`{"status":"error","message":"Authentication failed ` + quote + `"}`:    {Status: 401, Says: "key"},
		`{"status":"error","message":"Insufficient balance ` + quote + `"}`:     {Status: 402, Says: "credit"},
		`{"status":"error","message":"Inactive gateway ` + quote + `"}`:         {Status: 403, Says: "registered"},
		`{"status":"error","message":"Validation ` + quote + `"}`:               {Status: 422, Says: "valid"},
		`{"status":"error","message":"Too many ` + quote + `"}`:                 {Status: 429, Says: "many"},
		`{"status":"error","message":"Internal ` + quote + `"}`:                 {Status: 500, Says: "500"},
		`{"status":"success","data":[{"recipient":"233241234567","id":"50x"}]}`: {Status: 503, Says: "503"},
	})
}

// The sandbox is asked for only where it is set.
func TestSandbox(t *testing.T) {
	for _, sandbox := range []bool{false, true} {
		var sent map[string]any
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			expect.NoError(t, json.NewDecoder(r.Body).Decode(&sent), "the request")
			_, _ = io.WriteString(w, `{"status":"success"}`)
		}))
		c := must.Get(arkesel.New(arkesel.Config{APIKey: "k", Sender: "Volta", Sandbox: sandbox, BaseURL: server.URL, HTTPClient: server.Client()}))(t)
		must.Do(t, c.SendSMS(t.Context(), smssuite.SMS))
		server.Close()
		expect.Equal(t, sent["sandbox"] == true, sandbox, "the sandbox of %v", sent)
	}
}

func TestConfig(t *testing.T) {
	good := arkesel.Config{APIKey: "very-secret-key", Sender: "Volta"}
	c := must.Get(arkesel.New(good))(t)
	for _, change := range []func(*arkesel.Config){
		func(c *arkesel.Config) { c.APIKey = "" },
		func(c *arkesel.Config) { c.Sender = "" },
		func(c *arkesel.Config) { c.Sender = "Volta wallet" },
		func(c *arkesel.Config) { c.Sender = "Vɔlta" },
	} {
		bad := good
		change(&bad)
		_, err := arkesel.New(bad)
		expect.True(t, err != nil, "%v passes", bad)
		expect.True(t, !strings.Contains(fmt.Sprint(err), good.APIKey), "%v: the error tells the key: %v", bad, err)
	}
	conformance.HidesSecrets(t, []string{good.APIKey}, good, c)
	expect.True(t, strings.Contains(fmt.Sprint(good), "Volta"), "%v", good)
	expect.True(t, !strings.Contains(fmt.Sprintf("%+v", good), good.APIKey), "%v", good)
}

// Behind the library: a one-time code arrives although two requests fail, twice if its answer gets
// lost, and never at a number that does not exist. The log has neither number nor code.
func TestBehindTheLibrary(t *testing.T) {
	fake := arkeseltest.New(1)
	var log bytes.Buffer
	now := time.Now()
	svc := must.Get(payments.New(t.Context(), memory.New(), payments.Config{
		Live: payments.Providers{Texter: gateway.Client(t, fake, "")}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Clock: func() time.Time { return now }, Serial: true,
	}))(t)
	codes := func(phone string, lose ...func()) []smstest.Message {
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar", Phone: phone}))(t)
		for _, fault := range lose {
			fault()
		}
		before := len(fake.Messages())
		must.Get(svc.Payouts.RequestOTP(t.Context(), api.Caller{Merchant: m.ID, Live: true}, payout.ForPayout))(t)
		for range 12 {
			must.Do(t, svc.Drain(t.Context()))
			now = now.Add(12 * time.Hour)
		}
		return fake.Messages()[before:]
	}
	arrived := codes("0241234567", fake.LoseRequest, fake.LoseRequest)
	must.True(t, len(arrived) == 1, "arrived %+v", arrived)
	code := regexp.MustCompile(`\b[0-9]{6}\b`).FindString(arrived[0].Text)
	expect.Equal(t, arrived[0].Sender, "Volta", "sender of the first")
	expect.Equal(t, arrived[0].To, "233241234567", "to of the first")
	expect.True(t, code != "", "%+v", arrived[0])
	twice := codes("0241234568", fake.LoseAnswer)
	must.True(t, len(twice) == 2, "%+v", twice)
	expect.Equal(t, twice[0], twice[1], "first")
	expect.Equal(t, len(codes("02412345"+smstest.BadNumber)), 0, "messages to no number")
	expect.Equal(t, strings.Count(log.String(), "outcome=given_up attempt=1"), 1, "messages given up in\n%s", log.String())
	for _, secret := range []string{"24123456", "24123450", code, arkeseltest.APIKey} {
		expect.True(t, !strings.Contains(log.String(), secret), "the log tells too much\n%s", log.String())
	}
}
