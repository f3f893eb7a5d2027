package inspector_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/inspector"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/webhook"
)

// A form that another website made changes nothing.
func TestForgedForms(t *testing.T) {
	s := open(t, inspector.Config{})
	other, err := s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Other", Phone: "0302000000"})
	s.check(err)
	good := s.token()
	_, page := s.get(s.address + "/" + other.ID + "/?form=add-money")
	foreign := tokens.FindStringSubmatch(page)[1]

	send := func(token string, headers ...string) *http.Response {
		values := url.Values{"token": {token}, "do": {"create"}, "type": {"static"}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.at("qr-codes"), strings.NewReader(values.Encode()))
		s.check(err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		answer, _ := s.send(r)
		return answer
	}
	// The nonce is random: whatever its first character is, this is another.
	changed := "x" + good[1:]
	if changed == good {
		changed = "y" + good[1:]
	}
	for name, answer := range map[string]*http.Response{
		"no token":                    send(""),
		"a token made up":             send(strings.Repeat("a", len(good))),
		"another merchant's token":    send(foreign),
		"a changed nonce":             send(changed),
		"a cut token":                 send(good[:len(good)-1]),
		"another website":             send(good, "Sec-Fetch-Site", "cross-site"),
		"another port of this host":   send(good, "Sec-Fetch-Site", "same-site"),
		"another origin, old browser": send(good, "Origin", "https://evil.example"),
		"no origin, old browser":      send(good, "Origin", "null"),
	} {
		expect.Equal(t, answer.StatusCode, http.StatusForbidden, "%s: %s", name, answer.Status)
	}
	list, err := s.QRCodes.List(t.Context(), s.Caller, qrcode.ListParams{})
	s.check(err)
	expect.Equal(t, len(list.Data), 0, "%d codes were made", len(list.Data))
	if answer := send(good, "Sec-Fetch-Site", "same-origin"); answer.StatusCode != http.StatusSeeOther {
		t.Errorf("our own form: %s", answer.Status)
	}
}

// A website that points its own name here is not answered.
func TestHosts(t *testing.T) {
	s := open(t, inspector.Config{Hosts: []string{"Pay.Internal"}})
	for host, want := range map[string]int{
		"localhost:8080": 303, "127.0.0.1": 303, "[::1]:80": 303, "192.168.1.7:9000": 303, "pay.internal": 303,
		"evil.example": 421, "127.0.0.1.evil.example:80": 421, "localhost.evil.example": 421, "": 303, // the client fills in ours
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.address+"/", nil)
		s.check(err)
		r.Host = host
		answer, body := s.send(r)
		expect.Equal(t, answer.StatusCode, want, "%q: status", host)
		expect.True(t, want != 421 || !strings.Contains(body, "Adom"), "%q: %s", host, answer.Status)
	}
}

func TestHeaders(t *testing.T) {
	s := open(t, inspector.Config{})
	made := s.everything()
	answer, body := s.get(s.at(""))
	policy := answer.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "form-action 'self'"} {
		expect.True(t, strings.Contains(policy, want), "%q is missing in %q", want, policy)
	}
	if strings.Contains(policy, "unsafe") || answer.Header.Get("Cache-Control") != "no-store" || answer.Header.Get("X-Frame-Options") != "DENY" {
		t.Errorf("headers %v", answer.Header)
	}
	for _, inline := range []string{" style=", "<style", "<script>", " onclick="} {
		expect.True(t, !strings.Contains(body, inline), "the page has %q", inline)
	}
	// An e-mail is shown by a frame that can do nothing.
	answer, body = s.get(s.at("messages/" + made["messages"] + "/mail.html"))
	policy = answer.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "sandbox allow-popups") || strings.Contains(policy, "allow-scripts") || !strings.Contains(policy, "default-src 'none'") ||
		answer.Header.Get("X-Frame-Options") != "SAMEORIGIN" || !strings.Contains(body, "GHS 225.00") {
		t.Errorf("e-mail: %v\n%s", answer.Header, body)
	}
	if page := s.page("messages/" + made["messages"]); !strings.Contains(page, `sandbox="allow-popups allow-popups-to-escape-sandbox"`) {
		t.Error("the frame is not sandboxed")
	}
}

// What people typed is text on every page.
func TestMarkupIsText(t *testing.T) {
	s := open(t, inspector.Config{})
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	ctx := t.Context()
	code, err := s.QRCodes.Create(ctx, s.Caller, qrcode.CreateParams{Name: evil, Description: evil, Reference: evil})
	s.check(err)
	bill, err := s.Invoices.Create(ctx, s.Caller, invoice.CreateParams{AutoFinalize: true, Fields: invoice.Fields{
		Name: new(evil), Email: new("a@example.com"), Lines: []invoice.LineParams{{Description: evil, UnitAmount: new(int64(100))}},
	}})
	s.check(err)
	noted, err := s.Events.Record(ctx, s.Caller, event.RecordParams{Type: "customer.created", Object: map[string]string{"id": evil, "name": evil}})
	s.check(err)
	paid := s.Pay(code.ID, 100)
	for _, path := range []string{
		"", "qr-codes", "qr-codes/" + code.ID, "payments/" + paid.ID, "invoices", "invoices/" + bill.ID, "events", "events/" + noted.ID,
		"events?type=" + url.QueryEscape(evil), "messages?to=" + url.QueryEscape(evil), "payments?qr_code=" + url.QueryEscape(evil), "payments?done=" + url.QueryEscape(evil),
	} {
		if _, body := s.get(s.at(path)); strings.Contains(body, "<script>") || strings.Contains(body, "<img src=x") {
			t.Errorf("%s carries markup", path)
		}
	}
}

// Of live mode nothing is seen and nothing is done, whatever the address says.
func TestInspectorShowsNoLiveData(t *testing.T) { onEachStore(t, testNothingLive) }

func testNothingLive(t *testing.T, s *site) {
	made := s.everything()
	ctx, live := t.Context(), api.Caller{Merchant: s.Caller.Merchant, Live: true}
	consumer, err := s.Accounts.CreateConsumer(ctx, api.Caller{Live: true}, account.CreateHolderParams{Name: "Livia Live", Phone: "0249999999", PIN: "4826"})
	s.check(err)
	for _, to := range []string{consumer.ID, live.Merchant} {
		s.check(s.Accounts.Deposit(ctx, api.Caller{Live: true}, account.DepositParams{To: to, Amount: decimal.RequireFromString("777.77"), Source: "bank"}))
	}
	code, err := s.QRCodes.Create(ctx, live, qrcode.CreateParams{Name: "Live till"})
	s.check(err)
	paid, err := s.QRCodes.Pay(ctx, live, code.ID, qrcode.PayParams{Wallet: account.WalletRef{AccountID: consumer.ID}, PIN: "4826", Amount: new(int64(4242))})
	s.check(err)
	bill, err := s.Invoices.Create(ctx, live, invoice.CreateParams{Fields: invoice.Fields{Lines: []invoice.LineParams{{Description: "Live line", UnitAmount: new(int64(100))}}}, AutoFinalize: true})
	s.check(err)
	hook, err := s.Webhooks.Create(ctx, live, webhook.CreateParams{URL: "https://live.example.com/hook", Events: []event.Type{"*"}})
	s.check(err)
	events, err := s.Events.List(ctx, live, event.ListParams{})
	s.check(err)

	for _, path := range paths(made) {
		body := s.page(path)
		for _, secret := range []string{code.ID, paid.ID, bill.ID, hook.ID, consumer.ID, events.Data[0].ID, "Livia", "777.77", "820.19", "live.example.com", `"livemode": true`} {
			expect.True(t, !strings.Contains(body, secret), "%s shows %s", path, secret)
		}
	}
	for _, path := range []string{
		"qr-codes/" + code.ID, "qr-codes/" + code.ID + "/picture.png", "payments/" + paid.ID, "invoices/" + bill.ID,
		"invoices/" + bill.ID + "/invoice.pdf", "webhooks/" + hook.ID, "events/" + events.Data[0].ID,
	} {
		if answer, _ := s.get(s.at(path)); answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
	// A live code is not paid, not even by a consumer of test mode.
	answer, body := s.post("qr-codes/"+code.ID, s.token(), "pay", "wallet", "0241000001", "pin", "1234", "amount", "1")
	expect.True(t, answer.StatusCode != http.StatusSeeOther, "a live code was paid: %s", body)
	for path, form := range map[string]string{"qr-codes/" + code.ID: "delete", "invoices/" + bill.ID: "void", "webhooks/" + hook.ID: "delete"} {
		if answer, _ := s.post(path, s.token(), form); answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s of %s: %s", form, path, answer.Status)
		}
	}
	if _, err := s.QRCodes.Get(ctx, live, code.ID); err != nil {
		t.Error(err)
	}
	if b, err := s.Accounts.Balance(ctx, live); err != nil || b.Available.String() != "820.19" {
		t.Errorf("live balance %v, %v", b, err)
	}
}

func TestAllowHidesMerchants(t *testing.T) {
	var mine string
	s := open(t, inspector.Config{Allow: func(_ *http.Request, merchant string) bool { return mine == "" || merchant == mine }})
	other, err := s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Kofi & Sons", Phone: "0302000000"})
	s.check(err)
	if _, body := s.get(s.address + "/"); !strings.Contains(body, "Adom Juice Bar") || !strings.Contains(body, "Kofi &amp; Sons") {
		t.Errorf("both are to be chosen from:\n%s", body)
	}
	mine = s.Caller.Merchant
	answer, _ := s.get(s.address + "/")
	if to, err := answer.Location(); err != nil || to.Path != "/look/"+mine+"/" {
		t.Errorf("the only one is not led to: %v, %v", to, err)
	}
	for _, path := range []string{"/" + other.ID + "/", "/" + other.ID + "/payments", "/mer_unknown/", "/nothing/at/all"} {
		if answer, body := s.get(s.address + path); answer.StatusCode != http.StatusNotFound || strings.Contains(body, "Kofi") {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
}

// A redirect stays on the inspector's host, also as a browser reads it, to whom a
// backslash is a slash.
func TestRedirectsStayOnTheHost(t *testing.T) {
	s := open(t, inspector.Config{})
	look := inspector.New(s.Service, inspector.Config{})
	for _, path := range []string{`/\\evil.example`, `/\evil.example`, "/https:evil.example", "/javascript:alert(1)", "/\tx", "/%2f%2fevil.example", "//evil.example", "/mer_1"} {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
		r.URL.Path = path
		w := httptest.NewRecorder()
		look.ServeHTTP(w, r)
		location := strings.ReplaceAll(w.Header().Get("Location"), `\`, "/")
		to, err := r.URL.Parse(location)
		must.True(t, err == nil, "%q: %d leads to %q, %v", path, w.Code, location, err)
		expect.Equal(t, to.Host, r.URL.Host, "%q: host", path)
		expect.Equal(t, to.Scheme, r.URL.Scheme, "%q: scheme", path)
	}
}

func TestAddresses(t *testing.T) {
	s := open(t, inspector.Config{})
	m := s.Caller.Merchant
	for path, want := range map[string]int{
		"/" + m: 303, "/" + m + "/": 200, "/" + m + "/payments": 200, "/" + m + "/payments/": 404, "/" + m + "/unknown": 404,
		"/" + m + "/payments/pay_unknown": 404, "/" + m + "/payments/x/y": 404, "/assets/none.css": 404, "/" + m + "/payments?after=pay_none": 422,
		"/" + m + "/messages?kind=pigeon": 422, "/" + m + "/events?type=none": 422, "/" + m + "/events?day=2026-01-31": 200, "/" + m + "/events?day=x": 200,
	} {
		if answer, _ := s.get(s.address + path); answer.StatusCode != want {
			t.Errorf("%s: %s, want %d", path, answer.Status, want)
		}
	}
	for method, want := range map[string]int{http.MethodHead: 200, http.MethodPut: 405, http.MethodDelete: 405} {
		r, err := http.NewRequestWithContext(t.Context(), method, s.at("payments"), nil)
		s.check(err)
		if answer, _ := s.send(r); answer.StatusCode != want {
			t.Errorf("%s: %s", method, answer.Status)
		}
	}
	// The address is looked at as it came, whatever mux is in front or not.
	look := inspector.New(s.Service, inspector.Config{})
	for _, path := range []string{"//" + m + "/", "/" + m + "//payments", "/" + m + "/../" + m + "/", "/" + m + "/./payments", "*", ""} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host, r.URL = "localhost", &url.URL{Path: path}
		w := httptest.NewRecorder()
		look.ServeHTTP(w, r)
		expect.Equal(t, w.Code, http.StatusNotFound, "%q", path)
	}
	// At the root of a server, too, the links lead to where the pages are.
	r := httptest.NewRequest(http.MethodGet, "http://localhost/"+m+"/payments/x", nil)
	w := httptest.NewRecorder()
	look.ServeHTTP(w, r)
	if body := w.Body.String(); !strings.Contains(body, `href="../../assets/style.css?`) || !strings.Contains(body, `href="../../`+m+`/payouts"`) {
		t.Errorf("links:\n%s", body)
	}
}

// Where the service is no sandbox there is no inspector.
func TestNoSandbox(t *testing.T) {
	svc := must.Get(payments.New(t.Context(), memory.New(), payments.Config{}))(t)
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Adom", Phone: "0301000000"}))(t)
	look := inspector.New(svc, inspector.Config{})
	for _, path := range []string{"/", "/" + m.ID + "/", "/" + m.ID + "/payments"} {
		w := httptest.NewRecorder()
		look.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
		expect.Equal(t, w.Code, http.StatusNotFound, "%s: status", path)
		expect.True(t, !strings.Contains(w.Body.String(), "Adom"), "%s: %d", path, w.Code)
	}
}

// What a page does not offer any more is not done.
func TestStaleForms(t *testing.T) {
	s := open(t, inspector.Config{})
	token := s.token()
	answer, body := s.post("payouts", token, "unknown")
	expect.Equal(t, answer.StatusCode, http.StatusConflict, "an unknown form: status")
	expect.True(t, strings.Contains(body, "cannot be done any more"), "an unknown form: %s", answer.Status)
	// A transfer that has ended does not offer to be cancelled, nor is it.
	made := s.everything()
	answer, _ = s.post("disbursements/"+made["disbursements"], token, "cancel")
	expect.Equal(t, answer.StatusCode, http.StatusConflict, "cancel: %s", answer.Status)
	sent, err := s.Disbursements.Get(t.Context(), s.Caller, made["disbursements"])
	s.check(err)
	expect.Equal(t, sent.Status, payout.Completed, "status")
}
