package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/provider/arkesel/arkeseltest"
	"github.com/seed-7082ffec/payments/provider/hubtel/hubteltest"
	"github.com/seed-7082ffec/payments/provider/mtnmomo/mtnmomotest"
	"github.com/seed-7082ffec/payments/provider/paystack/paystacktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is an account at a fake.
type rig struct {
	t    *testing.T
	args []string
	env  map[string]string
	// answers replace those of the fake, by a part of method and path, such as "POST /transfer".
	answers map[string]answer
	calls   []string
	waited  time.Duration
}

type answer struct {
	status int
	body   string
}

// newRig returns the account of a provider at a fake, whose address is in the variable.
func newRig(t *testing.T, provider string, fake http.Handler, variable string, env map[string]string) *rig {
	r := &rig{t: t, args: []string{"-provider", provider}, env: env, answers: map[string]answer{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		call := request.Method + " " + request.URL.Path
		r.calls = append(r.calls, call)
		for part, a := range r.answers {
			if strings.Contains(call, part) {
				w.WriteHeader(a.status)
				_, _ = io.WriteString(w, a.body)
				return
			}
		}
		fake.ServeHTTP(w, request)
	}))
	t.Cleanup(server.Close)
	r.env[variable] = server.URL
	return r
}

// examine returns what the doctor prints, and its exit code. Its pauses take no time.
func (r *rig) examine(args ...string) (out string, code int) {
	r.t.Helper()
	var b bytes.Buffer
	live := string(must.Get(os.ReadFile("../live/main.go"))(r.t)) // whose environment the doctor examines
	d := must.Get(newDoctor(append(r.args, args...), func(name string) string {
		expect.True(r.t, strings.Contains(live, name), "the doctor reads %s, and the server does not", name)
		return r.env[name]
	}, &b, &b))(r.t)
	now := time.Now()
	r.waited = 0
	d.now = func() time.Time { return now }
	d.sleep = func(_ context.Context, wait time.Duration) {
		now, r.waited = now.Add(wait), r.waited+wait
		must.True(r.t, wait > 0 && r.waited < time.Hour, "the doctor waits for %s, and never ends", r.waited)
	}
	code = d.examine(r.t.Context())
	for _, secret := range append([]string{"1234567", "234567", "Mensah", "MENSAH"}, r.secrets()...) {
		expect.True(r.t, !strings.Contains(b.String(), secret), "it prints %q: %s", secret, b.String())
	}
	return b.String(), code
}

// secrets are the values that are not printed.
func (r *rig) secrets() (all []string) {
	for name, value := range r.env {
		secret := strings.Contains(name, "KEY") || strings.Contains(name, "SECRET") || strings.Contains(name, "SUBSCRIPTION")
		if secret && strings.TrimSpace(value) != "" {
			all = append(all, value)
		}
	}
	return all
}

// posts counts the calls that submit a transfer.
func (r *rig) posts(path string) (n int) {
	for _, call := range r.calls {
		if call == "POST "+path {
			n++
		}
	}
	return n
}

// finds examines, and expects a sentence and the exit code 1.
func (r *rig) finds(what, sentence string, args ...string) string {
	r.t.Helper()
	out, code := r.examine(args...)
	expect.Equal(r.t, code, 1, "%s: code", what)
	expect.True(r.t, strings.Contains(out, "not ok "), "%s: code %d: %s", what, code, out)
	expect.True(r.t, strings.Contains(out, sentence), "%s: code %d: %s", what, code, out)
	return out
}

// passes examines, and expects texts and the exit code 0.
func (r *rig) passes(what string, args []string, texts ...string) string {
	r.t.Helper()
	out, code := r.examine(args...)
	expect.Equal(r.t, code, 0, "%s: code", what)
	expect.True(r.t, !strings.Contains(out, "not ok"), "%s: code %d: %s", what, code, out)
	for _, text := range texts {
		expect.True(r.t, strings.Contains(out, text), "%s: no %q: %s", what, text, out)
	}
	return out
}

func newPaystack(t *testing.T) (*rig, *paystacktest.Fake) {
	fake := paystacktest.New(1)
	return newRig(t, "paystack", fake, "PAYSTACK_BASE_URL", map[string]string{"PAYSTACK_SECRET_KEY": paystacktest.SecretKey}), fake
}

func newMTN(t *testing.T) (*rig, *mtnmomotest.Fake) {
	fake := mtnmomotest.New(1)
	return newRig(t, "mtnmomo", fake, "MTN_BASE_URL", map[string]string{
		"MTN_COLLECTION_SUBSCRIPTION": mtnmomotest.CollectionKey, "MTN_COLLECTION_USER": mtnmomotest.APIUser, "MTN_COLLECTION_KEY": mtnmomotest.APIKey,
		"MTN_DISBURSEMENT_SUBSCRIPTION": mtnmomotest.DisbursementKey, "MTN_DISBURSEMENT_USER": mtnmomotest.APIUser,
		"MTN_DISBURSEMENT_KEY": mtnmomotest.APIKey, "PAYMENTS_BASE_URL": "https://pay.example.com",
	}), fake
}

var sendTo567 = []string{"-number", "0241234567", "-send-one-cedi"}

func TestPaystack(t *testing.T) {
	r, fake := newPaystack(t)
	r.passes("without a number", nil, "a live key", "GHS 1000000.00", "2 banks", "Left out: name, one cedi.")
	before := fake.Float()
	r.passes("a number", []string{"-number", "024 123 4567"}, "024****567 belongs to AMA M.", "Left out: one cedi.")
	expect.Equal(t, fake.Float(), before, "the money, without -send-one-cedi")
	r.passes("one cedi", sendTo567, "sending GHS 1.00 to 024****567 as po_", "paid", "fee GHS 1.00", "All is ok.")
	expect.Equal(t, before-fake.Float(), 2_00, "what one cedi costs")
	expect.Same(t, fake.Problems(), []string(nil), "what Paystack finds wrong")
}

// Each failure that Paystack is known for has its own sentence.
func TestPaystackFailures(t *testing.T) {
	refused := func(status int, message string) answer {
		return answer{status, fmt.Sprintf(`{"status":false,"message":%q}`, message)}
	}
	for what, c := range map[string]struct {
		answers  map[string]answer
		key      string
		sentence string
	}{
		"a wrong key":        {key: "sk_live_wrong", sentence: "does not accept the secret key (401)"},
		"a public key":       {key: "pk_live_0", sentence: "is the public key"},
		"no key":             {key: " ", sentence: "Set PAYSTACK_SECRET_KEY"},
		"another text":       {key: "hunter2", sentence: "is no secret key"},
		"a foreign machine":  {answers: map[string]answer{"/": refused(403, "Forbidden")}, sentence: "forbids the call (403)"},
		"an unlisted one":    {answers: map[string]answer{"/": refused(401, "Your IP address is not allowed to make this call")}, sentence: "not whitelisted"},
		"an empty balance":   {answers: map[string]answer{"GET /balance": {200, `{"status":true,"data":[{"currency":"GHS","balance":100}]}`}}, sentence: "GHS 1.00. The float is empty"},
		"a starter business": {answers: map[string]answer{"POST /transfer": refused(400, "You cannot initiate third party payouts as a starter business")}, sentence: "registered businesses"},
		"too many calls":     {answers: map[string]answer{"GET /bank": refused(429, "Too many")}, sentence: "Too many calls (429)"},
		"a broken Paystack":  {answers: map[string]answer{"GET /bank": {502, "<html>"}}, sentence: "trouble of its own"},
		"no names":           {answers: map[string]answer{"GET /bank/resolve": refused(404, "Unknown")}, sentence: "no names of mobile money"},
		"another answer":     {answers: map[string]answer{"GET /bank/resolve": {200, `{}`}}, sentence: "Please report it"},
	} {
		r, fake := newPaystack(t)
		if c.key != "" {
			r.env["PAYSTACK_SECRET_KEY"] = c.key
		}
		for part, a := range c.answers {
			r.answers[part] = a
		}
		before := fake.Float()
		r.finds(what, c.sentence, sendTo567...)
		moved := map[string]bool{"no names": true, "another answer": true}[what]
		expect.Equal(t, fake.Float() == before, !moved, "%s: whether no money has moved", what)
	}
	r, fake := newPaystack(t)
	fake.SetFaults(paystacktest.Faults{OTP: true})
	r.finds("OTP", "waits for a code (OTP)", sendTo567...)
	fake.SetFaults(paystacktest.Faults{EmptyFloat: true})
	r.finds("an empty float", "The float is empty", sendTo567...)
	fake.SetFaults(paystacktest.Faults{})
	r.finds("a refusal", "The provider refused it", "-number", "0241234501", "-send-one-cedi")
	out := r.finds("no account", "does not know this account", "-number", "0241234506", "-send-one-cedi")
	expect.True(t, strings.Contains(out, "No money has moved"), "no account: %s", out)
	server := httptest.NewServer(nil)
	server.Close()
	r.env["PAYSTACK_BASE_URL"] = server.URL
	r.finds("no network", "Paystack does not answer", "-number", "0241234567")
}

// A cedi is submitted once, whatever happens. One that stays undecided can be asked about later.
func TestUndecidedCedi(t *testing.T) {
	r, fake := newPaystack(t)
	out := r.finds("it stays pending", "The order is still under way", "-number", "0241234502", "-send-one-cedi")
	expect.Equal(t, r.posts("/transfer"), 1, "submissions")
	expect.True(t, r.waited >= 2*time.Minute, "after %s: %s", r.waited, out)
	expect.True(t, strings.Contains(out, "do not send another one now"), "after %s: %s", r.waited, out)
	_, id, _ := strings.Cut(out, "-order ")
	id, _, _ = strings.Cut(id, ",")
	expect.Equal(t, strings.Count(out, id), 2, "the id %s is not printed before the submission: %s", id, out)
	fake.Settle()
	r.passes("asked later", []string{"-order", id}, "paid")
	r.finds("an order of nobody", "is not known to the provider", "-order", "po_0000000000000000000000", "-wait", "10s")
	r.finds("no id", "-order is not the id", "-order", "po_1")
	expect.Equal(t, r.posts("/transfer"), 1, "submissions after the questions")

	r, fake = newPaystack(t)
	fake.LoseAnswer("POST /transfer")
	r.passes("a lost answer", sendTo567, "paid")
	fake.LoseRequest("POST /transfer")
	r.finds("a lost request", "is not known to the provider", sendTo567...)
	expect.Equal(t, r.posts("/transfer"), 2, "submissions of two cedis")
}

func TestMTN(t *testing.T) {
	r, fake := newMTN(t)
	before := fake.Float()
	r.passes("without a number", nil, "of Collections are set", "target environment mtnghana", "pay.example.com", "GHS 10000000.00", "Left out: name, one cedi.")
	r.passes("one cedi", sendTo567, "024****567 belongs to Ama M.", "paid", "All is ok.")
	expect.Equal(t, before-fake.Float(), 1_00, "what one cedi costs")
	delete(r.env, "PAYMENTS_BASE_URL")
	r.passes("without callbacks", nil, "Left out: callback host, name, one cedi.")
}

// Each failure that MTN is known for has its own sentence.
func TestMTNFailures(t *testing.T) {
	word := func(status int, code string) answer { return answer{status, fmt.Sprintf(`{"code":%q}`, code)} }
	for what, c := range map[string]struct {
		env      map[string]string
		answers  map[string]answer
		number   string
		sentence string
	}{
		"no keys":               {env: map[string]string{"MTN_COLLECTION_USER": "", "MTN_COLLECTION_KEY": ""}, sentence: "Set MTN_COLLECTION_USER, MTN_COLLECTION_KEY"},
		"a wrong key":           {env: map[string]string{"MTN_COLLECTION_KEY": "wrong-key"}, sentence: "no token for Collections (401)"},
		"another product's key": {env: map[string]string{"MTN_DISBURSEMENT_SUBSCRIPTION": mtnmomotest.CollectionKey}, sentence: "no token for Disbursements (401)"},
		"an unused product":     {answers: map[string]answer{"GET /disbursement/v1_0": {401, ""}}, sentence: "gave a token and then does not accept it"},
		"another environment":   {env: map[string]string{"MTN_TARGET_ENVIRONMENT": "mtnuganda"}, sentence: "NOT_ALLOWED_TARGET_ENVIRONMENT"},
		"an unlisted machine":   {answers: map[string]answer{"POST /disbursement/v1_0/transfer": {403, ""}}, sentence: "403: it is not whitelisted"},
		"a callback by http":    {env: map[string]string{"PAYMENTS_BASE_URL": "http://pay.example.com"}, sentence: "only https on port 443"},
		"a callback port":       {env: map[string]string{"PAYMENTS_BASE_URL": "https://pay.example.com:8443/"}, sentence: "only https on port 443"},
		"a callback host":       {answers: map[string]answer{"POST /disbursement/v1_0/transfer": word(500, "INVALID_CALLBACK_URL_HOST")}, sentence: "INVALID_CALLBACK_URL_HOST"},
		"the same, later":       {number: "0241234460", sentence: "INVALID_CALLBACK_URL_HOST"},
		"a currency":            {number: "0241234461", sentence: "INVALID_CURRENCY"},
		"no money":              {number: "0241234455", sentence: "less than GHS 1.00"},
		"a limit":               {number: "0241234456", sentence: "limit of your disbursement account"},
		"an empty float":        {answers: map[string]answer{"/account/balance": {200, `{"availableBalance":"0.50","currency":"GHS"}`}}, sentence: "GHS 0.50. The float is empty"},
		"a number without":      {number: "0241234473", sentence: "does not know this account"},
		"another network":       {number: "0201234567", sentence: "does not know this account"},
		"a refusal":             {number: "0241234458", sentence: "The provider refused it"},
		"too many calls":        {answers: map[string]answer{"/account/balance": {429, ""}}, sentence: "Too many calls (429)"},
		"a broken MTN":          {answers: map[string]answer{"/account/balance": {503, ""}}, sentence: "trouble of its own"},
		"another host":          {answers: map[string]answer{"/account/balance": {404, "<html>"}}, sentence: "does not know the call (404)"},
	} {
		r, fake := newMTN(t)
		for name, value := range c.env {
			r.env[name] = value
		}
		r.answers = c.answers
		number := c.number
		if number == "" {
			number = "0241234567"
		}
		before := fake.Float()
		r.finds(what, c.sentence, "-number", number, "-send-one-cedi")
		expect.Equal(t, fake.Float(), before, "%s: the money", what)
		expect.True(t, r.posts("/disbursement/v1_0/transfer") <= 1, "%s: submitted twice", what)
	}
}

func TestSMS(t *testing.T) {
	fake := arkeseltest.New(1)
	r := newRig(t, "arkesel", fake, "ARKESEL_BASE_URL", map[string]string{"ARKESEL_API_KEY": arkeseltest.APIKey, "ARKESEL_SENDER": "Volta"})
	number, send := []string{"-number", "0241234567"}, []string{"-number", "0241234567", "-send-sms"}
	r.passes("Arkesel without a number", nil, "the sender is Volta", "Left out: key.")
	r.passes("Arkesel's sandbox", number, "sends nothing", "Left out: SMS.")
	expect.Equal(t, len(fake.Messages()), 0, "messages without -send-sms")
	r.passes("Arkesel", send, "whether it has come to 024****567", "All is ok.")
	expect.Equal(t, len(fake.Messages()), 1, "messages with -send-sms")
	fake.SetCredit(0)
	r.finds("no credit", "too little credit", send...)
	fake.SetCredit(9)
	r.finds("no number", "finds the number invalid", "-number", "0241234506", "-send-sms")
	r.answers["/"] = answer{403, ""}
	r.finds("no sender", "not registered yet", send...)
	r.answers = nil
	r.env["ARKESEL_API_KEY"] = "wrong-key"
	r.finds("a wrong key", "does not accept the key (401)", number...)
	r.env["ARKESEL_SENDER"] = "Volta of Accra"
	r.finds("a long sender", "at most 11 characters")

	fake = hubteltest.New(1)
	r = newRig(t, "hubtel", fake, "HUBTEL_BASE_URL", map[string]string{
		"HUBTEL_ID": hubteltest.ClientID, "HUBTEL_SECRET": hubteltest.ClientSecret, "HUBTEL_SENDER": "Volta",
	})
	r.passes("Hubtel without an SMS", number, "Left out: SMS.")
	expect.Equal(t, len(fake.Messages()), 0, "messages without -send-sms")
	r.passes("Hubtel", send, "All is ok.")
	fake.SetCredit(0)
	r.finds("no credit", "too little credit", send...)
	fake.SetCredit(9)
	r.finds("no number", "finds the number invalid", "-number", "0241234506", "-send-sms")
	r.answers["/"] = answer{403, ""}
	r.finds("no address", "not on its list", send...)
	r.answers = nil
	r.env["HUBTEL_SECRET"] = "wrong-secret"
	r.finds("a wrong key", "does not accept the keys (401)", send...)
	delete(r.env, "HUBTEL_ID")
	r.finds("no keys", "Set HUBTEL_ID in the environment", send...)
}

// A wrong call ends with 2 before anything is asked.
func TestUsage(t *testing.T) {
	for _, wrong := range [][]string{
		nil,
		{"-provider", "flutterwave"},
		{"-provider", "paystack", "now"},
		{"-vanish"},
		{"-provider", "paystack", "-send-one-cedi"},
		{"-provider", "arkesel", "-send-sms"},
		{"-provider", "paystack", "-number", "02412345999"},
		{"-provider", "paystack", "-number", "0301234999"},
		{"-provider", "paystack", "-number", "0241234567", "-network", "vodafone"},
		{"-provider", "paystack", "-number", "0241234567", "-send-one-cedi", "-order", "po_1"},
	} {
		var out, complaints bytes.Buffer
		code := run(t.Context(), wrong, func(string) string { return "" }, &out, &complaints)
		expect.Equal(t, code, 2, "%q: code", wrong)
		expect.Equal(t, out.Len(), 0, "%q: out", wrong)
		expect.True(t, complaints.Len() > 0, "%q: code %d: %s", wrong, code, complaints.String())
		expect.True(t, !strings.Contains(complaints.String(), "999"), "%q prints the number", wrong)
	}
	var out bytes.Buffer
	expect.Equal(t, run(t.Context(), []string{"-h"}, func(string) string { return "" }, &out, &out), 0, "help")
	expect.Equal(t, run(t.Context(), []string{"-provider", "paystack"}, func(string) string { return "" }, &out, &out), 1, "no settings")
}
