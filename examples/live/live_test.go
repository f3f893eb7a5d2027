package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/provider/arkesel/arkeseltest"
	"github.com/seed-7082ffec/payments/provider/mtnmomo/mtnmomotest"
	"github.com/seed-7082ffec/payments/provider/paystack/paystacktest"
	"github.com/seed-7082ffec/payments/provider/smstest"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is the server of this example in front of fakes of its providers, without background work.
type rig struct {
	t        *testing.T
	env      map[string]string
	paystack *paystacktest.Fake
	mtn      *mtnmomotest.Fake
	sms      *smstest.Fake
	app      *app
	log      bytes.Buffer
	now      time.Time
	key      string // of a merchant's live mode
}

const healthToken = "token-of-the-alarms"

// environmentOf is a complete environment: both providers, and Arkesel.
func environmentOf(t *testing.T, ps, mtn, sms http.Handler) map[string]string {
	serve := func(h http.Handler) string {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		return server.URL
	}
	return map[string]string{
		"PAYMENTS_ADDR": "127.0.0.1:0", "PAYMENTS_BASE_URL": "https://pay.example.com", "PAYMENTS_KEY": strings.Repeat("k", 43) + "=",
		"PAYMENTS_DB": filepath.Join(t.TempDir(), "payments.db"), "PAYMENTS_HEALTH_TOKEN": healthToken,
		"PAYSTACK_SECRET_KEY": paystacktest.SecretKey, "PAYSTACK_EMAIL": "pay@example.com", "PAYSTACK_BASE_URL": serve(ps),
		"MTN_BASE_URL": serve(mtn), "MTN_COLLECTION_SUBSCRIPTION": mtnmomotest.CollectionKey, "MTN_COLLECTION_USER": mtnmomotest.APIUser,
		"MTN_COLLECTION_KEY": mtnmomotest.APIKey, "MTN_DISBURSEMENT_SUBSCRIPTION": mtnmomotest.DisbursementKey,
		"MTN_DISBURSEMENT_USER": mtnmomotest.APIUser, "MTN_DISBURSEMENT_KEY": mtnmomotest.APIKey,
		"ARKESEL_API_KEY": arkeseltest.APIKey, "ARKESEL_SENDER": "Volta", "ARKESEL_BASE_URL": serve(sms),
	}
}

func newRig(t *testing.T) *rig {
	r := &rig{
		t: t, paystack: paystacktest.New(1), mtn: mtnmomotest.New(1), sms: arkeseltest.New(1),
		now: time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC),
	}
	r.env = environmentOf(t, r.paystack, r.mtn, r.sms)
	s := must.Get(readSettings(r.get))(t)
	s.clock = func() time.Time { return r.now }
	r.app = must.Get(open(t.Context(), s, slog.New(slog.NewTextHandler(&r.log, nil))))(t)
	t.Cleanup(func() { must.Do(t, r.app.end()) })
	r.mtn.SetReceiver(r.app.routes())
	var out bytes.Buffer
	must.Do(t, makeMerchant(t.Context(), r.app, []string{"-name", "Adom Juice Bar", "-phone", "0301000000"}, &out))
	_, rest, _ := strings.Cut(out.String(), "key ")
	r.key = strings.Fields(rest)[0]
	return r
}

func (r *rig) get(name string) string { return r.env[name] }

// do sends a request with a token, and reads the answer.
func (r *rig) do(method, path, token, body string) (int, map[string]any) {
	r.t.Helper()
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	r.app.routes().ServeHTTP(w, request)
	var fields map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &fields)
	return w.Code, fields
}

// make posts a body for the merchant, and works until nothing is due and no callback waits.
func (r *rig) make(path, body string) map[string]any {
	r.t.Helper()
	status, made := r.do("POST", path, r.key, body)
	must.True(r.t, status == http.StatusOK, "POST %s: %d %v", path, status, made)
	r.work()
	_, is := r.do("GET", path+"/"+made["id"].(string), r.key, "")
	return is
}

func (r *rig) work() {
	r.t.Helper()
	must.Do(r.t, r.app.svc.Drain(r.t.Context()))
	for _, status := range r.mtn.Deliver() {
		expect.Equal(r.t, status, http.StatusNoContent, "the answer to MTN's callback")
	}
	for _, e := range r.paystack.Callbacks() {
		request := must.Get(e.Request(r.t.Context(), webhookPaystack))(r.t)
		w := httptest.NewRecorder()
		r.app.routes().ServeHTTP(w, request)
		expect.Equal(r.t, w.Code, http.StatusOK, "the answer to Paystack's webhook")
	}
	must.Do(r.t, r.app.svc.Drain(r.t.Context()))
}

// Money comes in from phones and goes out to others, each over the provider of its network.
func TestRealMoney(t *testing.T) {
	r := newRig(t)
	must.Do(t, r.app.paystack.LoadBanks(t.Context()))
	for provider, number := range map[string]string{"mtn": "0241234567", "telecel": "0201234567"} {
		in := r.make("/v1/payments", `{"amount":5000,"phone_number":"`+number+`"}`)
		expect.Equal(t, in["status"], any("completed"), "the payment from %s", provider)
		expect.Equal(t, in["fee"], any(98.0), "the fee of GHS 50.00 from %s: not below Paystack's 1.95%%", provider)
		out := r.make("/v1/disbursements", `{"amount":10,"destination":{"type":"mobile_money","phone_number":"`+number+`"}}`)
		expect.Equal(t, out["status"], any("completed"), "the disbursement to %s", provider)
		for _, of := range []map[string]any{in, out} {
			id := of["id"].(string)
			expect.Equal(t, r.mtn.Moved(id)+r.paystack.Moved(id), 1, "how often money moved for %s", id)
			expect.Equal(t, r.mtn.Moved(id) == 1, provider == "mtn", "whether MTN moved %s", id)
		}
	}
	bank := r.make("/v1/disbursements", `{"amount":10,"destination":{"type":"bank_transfer","bank_code":"040100","account_number":"1010001234567","account_name":"Ama Mensah"}}`)
	expect.Equal(t, bank["status"], any("completed"), "the disbursement to a bank")
	expect.Equal(t, bank["fee"], any(8.0), "the fee of the disbursement to a bank: not below the provider's price")
	expect.True(t, len(r.sms.Messages()) > 0, "no phone got an SMS")
	for _, secret := range []string{"1234567", paystacktest.SecretKey, mtnmomotest.APIKey, mtnmomotest.CollectionKey, arkeseltest.APIKey, r.key} {
		expect.True(t, !strings.Contains(r.log.String(), secret), "the log tells %q", secret)
	}
}

// One provider is enough. MTN alone takes no other network and no bank.
func TestMTNAlone(t *testing.T) {
	r := newRig(t)
	r.app.paystack = nil
	router := r.app.router()
	expect.Equal(t, len(router.Rails)+len(router.Chargers), 2, "providers")
	must.Do(t, router.Validate())
	expect.Equal(t, len(r.app.config().Banks.Banks()), 0, "banks")
	status, _ := r.do("POST", "/webhooks/paystack", "", "{}")
	expect.Equal(t, status, http.StatusNotFound, "a webhook of a provider that is not used")
}

func TestHealth(t *testing.T) {
	r := newRig(t)
	status, _ := r.do("GET", "/health", "guess", "")
	expect.Equal(t, status, http.StatusUnauthorized, "without the token")
	status, health := r.do("GET", "/health", healthToken, "")
	expect.Equal(t, status, http.StatusOK, "with the token")
	var names []string
	balances, _ := health["provider_balances"].([]any)
	for _, b := range balances {
		names = append(names, b.(map[string]any)["provider"].(string))
	}
	expect.Same(t, names, []string{"mtnmomo", "paystack"}, "the providers whose balances are told")
	status, _ = r.do("GET", "/readyz", "", "")
	expect.Equal(t, status, http.StatusOK, "ready")
	r.app.healthToken = ""
	status, _ = r.do("GET", "/health", "", "")
	expect.Equal(t, status, http.StatusNotFound, "health without a token in the settings")
}

// A balance that was changed by hand is named, and the command fails.
func TestVerify(t *testing.T) {
	r := newRig(t)
	r.make("/v1/payments", `{"amount":5000,"phone_number":"0241234567"}`)
	var out bytes.Buffer
	must.Do(t, verify(t.Context(), r.app, nil, &out))
	expect.True(t, strings.Contains(out.String(), "entries agree"), "a good ledger: %s", out.String())
	db := must.Get(sql.Open("sqlite", "file:"+r.env["PAYMENTS_DB"]+"?_busy_timeout=2000"))(t)
	defer db.Close()
	must.Get(db.ExecContext(t.Context(), "UPDATE ledger_accounts SET balance = balance + 100 WHERE guarded"))(t)
	err := verify(t.Context(), r.app, nil, &out)
	expect.True(t, err != nil, "a changed balance: %v: %s", err, out.String())
	expect.True(t, strings.Contains(out.String(), "/available: entry"), "a changed balance: %v: %s", err, out.String())
}

// After the first start a missing, empty or foreign file is no new installation.
func TestLostDatabase(t *testing.T) {
	env := environmentOf(t, nil, nil, nil)
	path := env["PAYMENTS_DB"]
	start := func() error {
		merchant := []string{"merchant", "-name", "Adom Juice Bar", "-phone", "0301000000"}
		return run(t.Context(), merchant, func(name string) string { return env[name] }, io.Discard)
	}
	must.Do(t, start())
	must.Do(t, start())
	for what, content := range map[string][]byte{"empty": {}, "foreign": []byte("a list of the milk")} {
		must.Do(t, os.WriteFile(path, content, 0o600))
		err := start()
		must.True(t, err != nil, "%s: no error", what)
		expect.True(t, strings.Contains(err.Error(), path+".made"), "%s: %v", what, err)
		expect.True(t, bytes.Equal(must.Get(os.ReadFile(path))(t), content), "%s: it was written", what)
	}
	must.Do(t, os.Remove(path))
	expect.True(t, errors.Is(start(), os.ErrNotExist), "a missing file is no error")
	must.Do(t, os.Remove(path+".made"))
	expect.NoError(t, start(), "a new start")
}

// The URL of a PostgreSQL database takes the place of the path of a file.
func TestPostgreSQL(t *testing.T) {
	address, schema := pgtest.URL(t), pgtest.Schema(t)
	env := environmentOf(t, nil, nil, nil)
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	env["PAYMENTS_DB"] = address + separator + "search_path=" + schema
	for range 2 { // the second process finds what the first has made
		var out bytes.Buffer
		merchant := []string{"merchant", "-name", "Adom Juice Bar", "-phone", "0301000000"}
		must.Do(t, run(t.Context(), merchant, func(name string) string { return env[name] }, &out))
		expect.True(t, strings.Contains(out.String(), "sk_live_"), "no key: %s", out.String())
	}
}

// Each wrong variable is named, and no value of one is quoted.
func TestSettings(t *testing.T) {
	complete := environmentOf(t, nil, nil, nil)
	for what, c := range map[string]struct {
		change map[string]string
		want   string // empty: no problem
	}{
		"complete":              {nil, ""},
		"no mail login":         {map[string]string{"SMTP_SERVER": "mail.example.com:587", "SMTP_FROM": "pay@example.com"}, ""},
		"a first try":           {map[string]string{"PAYMENTS_BASE_URL": "http://127.0.0.1:8080"}, ""},
		"no base URL":           {map[string]string{"PAYMENTS_BASE_URL": ""}, "PAYMENTS_BASE_URL"},
		"http":                  {map[string]string{"PAYMENTS_BASE_URL": "http://secret.example.com"}, "PAYMENTS_BASE_URL"},
		"a path":                {map[string]string{"PAYMENTS_BASE_URL": "https://example.com/secret"}, "PAYMENTS_BASE_URL"},
		"a short key":           {map[string]string{"PAYMENTS_KEY": "c2VjcmV0"}, "PAYMENTS_KEY"},
		"another database":      {map[string]string{"PAYMENTS_DB": "mysql://pay:secret@db/pay"}, "PAYMENTS_DB"},
		"a mistyped database":   {map[string]string{"PAYMENTS_DB": "postgres:/pay:secret@db/pay"}, "PAYMENTS_DB"},
		"words of libpq":        {map[string]string{"PAYMENTS_DB": "host=db user=pay password=secret"}, "PAYMENTS_DB"},
		"a proxy":               {map[string]string{"PAYMENTS_TRUSTED_PROXIES": "10.0.0.0/8,secret"}, "PAYMENTS_TRUSTED_PROXIES"},
		"a test key":            {map[string]string{"PAYSTACK_SECRET_KEY": "sk_test_secret"}, "PAYSTACK_SECRET_KEY is a test key"},
		"a public key":          {map[string]string{"PAYSTACK_SECRET_KEY": "pk_live_secret"}, "PAYSTACK_SECRET_KEY must begin"},
		"no e-mail":             {map[string]string{"PAYSTACK_EMAIL": " "}, "set PAYSTACK_EMAIL"},
		"half of MTN":           {map[string]string{"MTN_DISBURSEMENT_USER": "", "MTN_DISBURSEMENT_KEY": ""}, "set MTN_DISBURSEMENT_USER, MTN_DISBURSEMENT_KEY"},
		"the sandbox":           {map[string]string{"MTN_TARGET_ENVIRONMENT": "sandbox"}, "MTN_TARGET_ENVIRONMENT"},
		"two gateways":          {map[string]string{"HUBTEL_ID": "i", "HUBTEL_SECRET": "secret", "HUBTEL_SENDER": "Volta"}, "HUBTEL_ID"},
		"a long sender":         {map[string]string{"ARKESEL_SENDER": "Volta of Accra"}, "ARKESEL_SENDER"},
		"a mail server":         {map[string]string{"SMTP_SERVER": "mail.example.com", "SMTP_FROM": "pay@example.com"}, "SMTP_SERVER"},
		"a login without words": {map[string]string{"SMTP_USERNAME": "ama"}, "SMTP_PASSWORD"},
		"no provider": {map[string]string{
			"PAYSTACK_SECRET_KEY": "", "PAYSTACK_EMAIL": "", "MTN_COLLECTION_SUBSCRIPTION": "", "MTN_COLLECTION_USER": "", "MTN_COLLECTION_KEY": "",
			"MTN_DISBURSEMENT_SUBSCRIPTION": "", "MTN_DISBURSEMENT_USER": "", "MTN_DISBURSEMENT_KEY": "",
		}, "no provider"},
	} {
		env := maps.Clone(complete)
		maps.Copy(env, c.change)
		_, err := readSettings(func(name string) string { return env[name] })
		switch {
		case c.want == "":
			expect.NoError(t, err, "%s", what)
		case err == nil:
			t.Errorf("%s: no error", what)
		default:
			expect.True(t, strings.Contains(err.Error(), c.want), "%s: %v", what, err)
			expect.True(t, !strings.Contains(err.Error(), "\n"), "%s: %v", what, err)
			expect.True(t, !strings.Contains(err.Error(), "secret"), "%s: the error quotes the value: %v", what, err)
		}
	}
}

// The guide's table has every variable.
func TestVariablesAreDocumented(t *testing.T) {
	page := string(must.Get(os.ReadFile(filepath.Join("..", "..", "docs", "guide", "golive.md")))(t))
	env, n := environmentOf(t, nil, nil, nil), 0
	_, err := readSettings(func(name string) string {
		n++
		expect.True(t, strings.Contains(page, "`"+name+"`"), "docs/guide/golive.md lacks %s", name)
		return env[name]
	})
	must.Do(t, err)
	expect.True(t, n > 20, "%d variables were read: %v", n, err)
}

// The server starts, answers over HTTP, and stops when its context ends.
func TestServe(t *testing.T) {
	env := environmentOf(t, paystacktest.New(1), mtnmomotest.New(1), arkeseltest.New(1))
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, nil, func(name string) string { return env[name] }, write)
		write.CloseWithError(io.EOF)
		ended <- err
	}()
	line := make([]byte, 200)
	n, _ := read.Read(line)
	_, address, _ := strings.Cut(strings.TrimSpace(string(line[:n])), " on ")
	request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/readyz", nil))(t)
	answer, err := http.DefaultClient.Do(request)
	if err == nil {
		expect.Equal(t, answer.StatusCode, http.StatusOK, "ready")
		answer.Body.Close()
	}
	expect.NoError(t, err, "ask %q", address)
	http.DefaultClient.CloseIdleConnections()
	cancel()
	expect.NoError(t, <-ended, "the end")
	err = run(t.Context(), []string{"vanish"}, func(name string) string { return env[name] }, io.Discard)
	must.True(t, err != nil, "an unknown command: no error")
	expect.True(t, strings.Contains(err.Error(), "vanish"), "an unknown command: %v", err)
}
