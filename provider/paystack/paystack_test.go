package paystack_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/test/conformance"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/openapitest"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/chargertest"
	"github.com/seed-7082ffec/payments/provider/paystack"
	"github.com/seed-7082ffec/payments/provider/paystack/paystacktest"
	"github.com/seed-7082ffec/payments/provider/railtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	mtn     = "+2332412345"
	telecel = "+2332012345"
	email   = "payments@example.com"
)

// clientOf returns a client of the Paystack that handler is.
func clientOf(t *testing.T, handler http.Handler) *paystack.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return must.Get(paystack.New(paystack.Config{SecretKey: paystacktest.SecretKey, BaseURL: server.URL + "/", Email: email, HTTPClient: server.Client()}))(t)
}

// fakeAndClient returns a fake, and a client whose every call must have the described form.
func fakeAndClient(t *testing.T, seed uint64) (*paystacktest.Fake, *paystack.Client) {
	t.Helper()
	fake := paystacktest.New(seed)
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	t.Cleanup(func() {
		for _, p := range fake.Problems() {
			t.Error(p)
		}
	})
	transport := openapitest.Transport(t, "testdata/openapi.yaml", server.Client().Transport)
	return fake, must.Get(paystack.New(paystack.Config{
		SecretKey: paystacktest.SecretKey, BaseURL: server.URL + "/", Email: email, HTTPClient: &http.Client{Transport: transport},
	}))(t)
}

var moneyCalls = []string{"POST /transfer", "POST /charge", "POST /charge/submit_otp", "POST /refund"}

func TestRail(t *testing.T) {
	for channel, to := range map[provider.Channel]func(last string) railtest.Destination{
		provider.MobileMoney: func(last string) railtest.Destination {
			return railtest.Destination{Channel: provider.MobileMoney, Network: "mtn", Number: mtn + last}
		},
		provider.BankTransfer: func(last string) railtest.Destination {
			return railtest.Destination{Channel: provider.BankTransfer, Bank: "040100", Number: "10100012345" + last}
		},
	} {
		t.Run(string(channel), func(t *testing.T) {
			railtest.Run(t, func(t *testing.T) railtest.Rig {
				fake, client := fakeAndClient(t, 1)
				return railtest.Rig{
					Rail: client, Paid: to("67"), Refused: to(paystacktest.Fails), Slow: to(paystacktest.Stays), Name: paystacktest.Name,
					Moved: fake.Moved,
					Received: func(id string) (decimal.Decimal, string) {
						amount, number := fake.Received(id)
						return api.FromPesewas(amount).Decimal, number
					},
					LoseRequest: func() { fake.LoseRequest() }, LoseAnswer: func() { fake.LoseAnswer(moneyCalls...) },
				}
			})
		})
	}
}

func TestCharger(t *testing.T) {
	chargertest.Run(t, func(t *testing.T) chargertest.Rig {
		fake, client := fakeAndClient(t, 1)
		payer := func(last string) chargertest.Payer { return chargertest.Payer{Phone: mtn + last, Network: "mtn"} }
		return chargertest.Rig{
			Charger: client, Paid: payer("67"), Refused: payer(paystacktest.Fails), Slow: payer(paystacktest.Stays),
			RefundRefused: payer(paystacktest.RefundFails), RefundSlow: payer(paystacktest.RefundStays),
			NeedsCode: chargertest.Payer{Phone: telecel + paystacktest.AsksCode, Network: "telecel"}, Code: paystacktest.Code,
			Moved: fake.Moved,
			Received: func(id string) decimal.Decimal {
				amount, _ := fake.Received(id)
				return api.FromPesewas(amount).Decimal
			},
			Secrets:     []string{paystacktest.SecretKey},
			LoseRequest: func() { fake.LoseRequest(moneyCalls...) }, LoseAnswer: func() { fake.LoseAnswer(moneyCalls...) },
		}
	})
}

// newTransfer, newCharge and newRefund return orders of GHS 4.35 at their first attempt.
func newTransfer(last string) provider.Transfer {
	return provider.Transfer{
		Order: conformance.NewOrder("po_", 435), Channel: provider.MobileMoney, Network: "mtn", Number: mtn + last, Description: "Wages",
	}
}

func newCharge(last string) provider.Charge {
	o := conformance.NewOrder("pay_", 435)
	return provider.Charge{Order: o, Phone: mtn + last, Network: "mtn", Deadline: o.Now.Add(10 * time.Minute)}
}

func newRefund(of provider.Charge, amount int64) provider.Refund {
	return provider.Refund{Order: conformance.NewOrder("re_", amount), Charge: of.ID, Phone: of.Phone, Network: of.Network, Payment: of.ID}
}

// later returns an order at a later attempt.
func later(o provider.Order, attempts int, after time.Duration) provider.Order {
	o.Attempts, o.Now = attempts, o.SubmittedAt.Add(after)
	return o
}

func referenceOf(t *testing.T, id string) string {
	t.Helper()
	text, ok := ids.ToBase36(id)
	must.True(t, ok, "%s", id)
	return text
}

// stub answers each call by its method and path; "*" stands for a reference.
type stub map[string]reply

type reply struct {
	status int
	body   string
}

func succeeds(data string) reply {
	return reply{http.StatusOK, `{"status":true,"message":"Done","data":` + data + `}`}
}

func rejection(message string) reply {
	return reply{http.StatusBadRequest, `{"status":false,"message":"` + message + `","type":"validation_error","code":"unknown"}`}
}

func (s stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	op := r.Method + " " + r.URL.Path
	a, found := s[op]
	if !found {
		a, found = s[op[:strings.LastIndexByte(op, '/')]+"/*"]
	}
	if !found {
		a = reply{http.StatusTeapot, "no such call"}
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

// calls are the calls of an order, with the calls of Paystack that decide their answers.
func calls(c *paystack.Client) map[string]func(context.Context) (provider.Result, error) {
	charge := newCharge("67")
	return callsOf(c, newTransfer("67"), charge, newRefund(charge, 435))
}

func callsOf(c *paystack.Client, transfer provider.Transfer, charge provider.Charge, back provider.Refund) map[string]func(context.Context) (provider.Result, error) {
	return map[string]func(context.Context) (provider.Result, error){
		"Submit":        func(ctx context.Context) (provider.Result, error) { return c.Submit(ctx, transfer) },
		"Status":        func(ctx context.Context) (provider.Result, error) { return c.Status(ctx, transfer) },
		"Charge":        func(ctx context.Context) (provider.Result, error) { return c.Charge(ctx, charge) },
		"ChargeStatus":  func(ctx context.Context) (provider.Result, error) { return c.ChargeStatus(ctx, charge) },
		"ConfirmCharge": func(ctx context.Context) (provider.Result, error) { return c.ConfirmCharge(ctx, charge, "123456") },
		"Refund":        func(ctx context.Context) (provider.Result, error) { return c.Refund(ctx, back) },
		"RefundStatus":  func(ctx context.Context) (provider.Result, error) { return c.RefundStatus(ctx, back) },
	}
}

// Only an answer that Paystack documents ends an order. After all else the outcome is unknown, and
// no error quotes a number or the key.
func TestUnknownAnswers(t *testing.T) {
	const leak = "0241234567, 024 123 4567, +233241234567, ama@example.com, " + paystacktest.SecretKey
	classes := map[int]provider.Class{
		401: provider.ClassUnauthorized, 403: provider.ClassUnauthorized, 429: provider.ClassThrottled, 504: provider.ClassTimeout,
		500: provider.ClassUnreachable, 502: provider.ClassUnreachable, 400: provider.ClassRefused, 404: provider.ClassRefused, 409: provider.ClassRefused,
	}
	for what, answer := range map[string]reply{
		"nothing":          {200, ``},
		"a page":           {200, `<html>success</html>`},
		"cut off":          {200, `{"status":true,"data":{"status":"success"`},
		"no data":          {200, `{"status":true,"message":"ok"}`},
		"null":             {200, `{"status":true,"data":null}`},
		"another form":     {200, `{"status":true,"data":"success"}`},
		"no status":        {200, `{"status":true,"data":{}}`},
		"not a success":    {200, `{"status":false,"message":"Declined ` + leak + `","data":{"status":"failed"}}`},
		"too long":         {200, `{"status":true,"data":{"status":"success","x":"` + strings.Repeat("x", 5<<20) + `"}}`},
		"an unknown 400":   {400, `{"status":false,"message":"We are sorry, ` + leak + `"}`},
		"a 400 of a proxy": {400, `declined`},
		"a bare 404":       {404, `{}`},
		"another 404":      {404, `{"status":false,"message":"No route for ` + leak + `"}`},
		"a wrong key":      {401, `{"status":false,"message":"Invalid key"}`},
		"forbidden":        {403, `{"status":false,"message":"Declined ` + leak + `"}`},
		"a conflict":       {409, `{"status":false,"message":"Declined"}`},
		"too many calls":   {429, `{"status":false,"message":"Declined"}`},
		"their mistake":    {500, `{"status":false,"message":"Transaction reference not found"}`},
		"a gateway":        {502, `<html>`},
		"a time-out":       {504, ``},
		"a redirect":       {307, ``},
	} {
		client := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(answer.status)
			_, _ = io.WriteString(w, answer.body)
		}))
		for name, call := range calls(client) {
			result, err := call(t.Context())
			if err == nil {
				t.Errorf("%s, %s: answers %+v", what, name, result)
				continue
			}
			want := provider.Error{Route: paystack.Route, Class: cmp.Or(classes[answer.status], provider.ClassUnreadable)}
			expect.Equal(t, classOf(t, err), want, "%s, %s: the class of %v", what, name, err)
			for _, secret := range []string{"1234567", "123 4567", "ama@", paystacktest.SecretKey, "sk_"} {
				expect.True(t, !strings.Contains(err.Error(), secret), "%s, %s: the error tells too much: %v", what, name, err)
			}
		}
	}
}

// A call ends with its context, and an id of another form is refused before any call.
func TestNoCall(t *testing.T) {
	client := clientOf(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s is called", r.URL.Path) }))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range calls(client) {
		_, err := call(cancelled)
		expect.True(t, err != nil, "%s with a cancelled context", name)
	}
	odd := provider.Order{ID: "po_1", Live: true, Amount: 435, Attempts: 1}
	transfer, charge := newTransfer("67"), newCharge("67")
	transfer.Order, charge.Order = odd, odd
	for name, call := range callsOf(client, transfer, charge, provider.Refund{Order: odd, Charge: newCharge("").ID}) {
		result, err := call(t.Context())
		expect.True(t, strings.Contains(fmt.Sprint(err), "po_1"), "%s: %+v, %v", name, result, err)
	}
	back := newRefund(newCharge("67"), 435)
	back.ID = newTransfer("67").ID
	result, err := client.Refund(t.Context(), back)
	expect.True(t, err != nil, "a refund with the id of a transfer: %+v", result)
}

// New refuses settings with which no call can work, and quotes none of them.
func TestWrongSettings(t *testing.T) {
	for name, config := range map[string]paystack.Config{
		"no key":              {},
		"the public key":      {SecretKey: "pk_live_quoted"},
		"no address":          {SecretKey: paystacktest.SecretKey, BaseURL: "quoted"},
		"an address in clear": {SecretKey: paystacktest.SecretKey, BaseURL: "http://quoted.example.com"},
	} {
		client, err := paystack.New(config)
		expect.True(t, client == nil, "%s: %v", name, err)
		expect.True(t, err != nil, "%s passes", name)
		expect.True(t, !strings.Contains(fmt.Sprint(err), "quoted"), "%s: the error quotes the setting: %v", name, err)
	}
}

// BaseURL may have a path, as that of a proxy has.
func TestBaseURLWithPath(t *testing.T) {
	fake := paystacktest.New(1)
	server := httptest.NewServer(http.StripPrefix("/proxy/v1", fake))
	t.Cleanup(server.Close)
	for _, base := range []string{"/proxy/v1", "/proxy/v1/"} {
		client := must.Get(paystack.New(paystack.Config{SecretKey: paystacktest.SecretKey, BaseURL: server.URL + base, Email: email, HTTPClient: server.Client()}))(t)
		o := newTransfer("67")
		r, err := client.Submit(t.Context(), o)
		must.True(t, err == nil, "%s: %+v, %v", base, r, err)
		expect.Equal(t, r.Outcome, provider.Paid, "%s: outcome", base)
		expect.Equal(t, r.Amount, 435, "%s: amount", base)
		expect.Equal(t, fake.Moved(o.ID), 1, "%s: moved", base)
	}
}

// The description refuses what Paystack's document does not have.
func TestDescription(t *testing.T) {
	const transfer = `{"source":"balance","amount":435,"recipient":"RCP_1","reference":"po-00000000000000000000000001"}`
	for name, c := range map[string]struct {
		method, path, body string
		header             http.Header
		want               bool
	}{
		"a transfer":            {"POST", "/transfer", transfer, nil, true},
		"an amount as text":     {"POST", "/transfer", strings.Replace(transfer, "435", `"435"`, 1), nil, false},
		"an upper-case letter":  {"POST", "/transfer", strings.Replace(transfer, "po-0", "po-A", 1), nil, false},
		"another field":         {"POST", "/transfer", strings.Replace(transfer, "source", "from", 1), nil, false},
		"another path":          {"POST", "/transfers", transfer, nil, false},
		"another content type":  {"POST", "/transfer", transfer, http.Header{"Content-Type": {"text/plain"}}, false},
		"no key":                {"POST", "/transfer", transfer, http.Header{"Authorization": {""}}, false},
		"a key of another form": {"POST", "/transfer", transfer, http.Header{"Authorization": {paystacktest.SecretKey}}, false},
		"an unlisted parameter": {"GET", "/refund?charge=1", "", nil, false},
		"a parameter's type":    {"GET", "/refund?transaction=x", "", nil, false},
		"a list":                {"GET", "/refund?transaction=1&from=2026-11-01T10:00:00Z&perPage=100&page=1", "", nil, true},
		"a body where none is":  {"GET", "/balance", "{}", nil, false},
	} {
		r := must.Get(http.NewRequestWithContext(t.Context(), c.method, "https://api.paystack.co"+c.path, strings.NewReader(c.body)))(t)
		r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + paystacktest.SecretKey}}
		maps.Copy(r.Header, c.header)
		expect.Equal(t, openapitest.Passes(t, "testdata/openapi.yaml", direct{paystacktest.New(1)}, r), c.want, "%s passes", name)
	}
}

// No print of the configuration or the client shows the key.
func TestKeyIsNotPrinted(t *testing.T) {
	config := paystack.Config{SecretKey: "sk_live_very_secret", Email: email}
	conformance.HidesSecrets(t, []string{config.SecretKey}, config, must.Get(paystack.New(config))(t))
}

// A destination that Paystack cannot pay is refused without a call.
func TestDestinations(t *testing.T) {
	client := clientOf(t, http.NotFoundHandler())
	for _, change := range []func(*provider.Transfer){
		func(o *provider.Transfer) { o.Network = "glo" },
		func(o *provider.Transfer) { o.Network = "" },
		func(o *provider.Transfer) { o.Number = "" },
		func(o *provider.Transfer) { o.Channel = provider.BankTransfer },
	} {
		o := newTransfer("67")
		change(&o)
		result, err := client.Submit(t.Context(), o)
		must.Do(t, err)
		expect.Equal(t, result.Outcome, provider.Refused, "outcome")
		expect.Equal(t, result.Reason.Code, api.InvalidDestination, "code of the reason")
	}
	for _, o := range []provider.Charge{{Order: newCharge("").Order, PaymentMethod: "pm_1"}, {Order: newCharge("").Order, Phone: mtn + "67", Network: "glo"}} {
		result, err := client.Charge(t.Context(), o)
		must.Do(t, err)
		expect.Equal(t, result.Outcome, provider.Refused, "outcome")
		expect.True(t, result.Reason.Message != "", "%+v, %v", result, err)
	}
}

func TestBanksNamesAndBalance(t *testing.T) {
	fake, client := fakeAndClient(t, 1)
	_, known := client.Bank("040100")
	expect.True(t, client.Banks() == nil, "banks before they are loaded")
	expect.True(t, !known, "banks before they are loaded")
	must.Do(t, client.LoadBanks(t.Context()))
	gcb, known := client.Bank("040100")
	expect.True(t, known, "%+v", gcb)
	expect.Equal(t, gcb, provider.Bank{Object: "bank", Code: "040100", Name: "GCB Bank", Currency: "GHS", Active: true}, "gcb")
	_, momo := client.Bank("MTN")
	old, known := client.Bank("999999")
	expect.Equal(t, len(client.Banks()), 3, "number of banks")
	expect.True(t, !momo, "%+v", client.Banks())
	expect.True(t, known, "%+v", client.Banks())
	expect.Equal(t, old.Active, false, "Active")
	fake.LoseRequest()
	fake.LoseRequest() // net/http repeats a GET
	expect.True(t, client.LoadBanks(t.Context()) != nil, "the directory after an error")
	expect.Equal(t, len(client.Banks()), 3, "the directory after an error: number of banks")

	_, err := client.AccountName(t.Context(), provider.Enquiry{Live: true, Channel: provider.MobileMoney, Network: "mtn", Number: mtn + paystacktest.NoAccount})
	refusal, ok := err.(*provider.Refusal)
	must.True(t, ok, "no account: %v", err)
	expect.Equal(t, refusal.Code, api.InvalidDestination, "no account: code")
	_, err = client.AccountName(t.Context(), provider.Enquiry{Live: true, Channel: provider.MobileMoney, Network: "glo", Number: mtn + "67"})
	_, ok = err.(*provider.Refusal)
	expect.True(t, ok, "no network: %v", err)
	balance, err := client.Balance(t.Context(), true)
	must.Do(t, err)
	expect.Equal(t, balance.Available, fake.Float(), "available")
	_, err = clientOf(t, stub{"GET /balance": succeeds(`[]`)}).Balance(t.Context(), true)
	expect.True(t, err != nil, "no balance in GHS")
	for _, rows := range []string{`[]`, `null`} {
		expect.True(t, clientOf(t, stub{"GET /bank": succeeds(rows)}).LoadBanks(t.Context()) != nil, "no banks: %s", rows)
	}
}

// Only banks of Ghana are banks. One that is deleted, or not active, stays in the list and takes nothing.
func TestBankRows(t *testing.T) {
	for row, want := range map[string]string{
		`"code":"1","currency":"GHS","type":"ghipps","active":true,"is_deleted":null`:  "active",
		`"code":"1","currency":"GHS","type":"ghipss","active":true,"is_deleted":false`: "active",
		`"code":1,"type":null`: "active",
		`"code":"1","currency":"GHS","type":"ghipss","active":false`:                  "not active",
		`"code":"1","currency":"GHS","type":"ghipss","active":true,"is_deleted":true`: "not active",
		`"code":"1","currency":"NGN","type":"nuban","active":true`:                    "none",
		`"code":"1","currency":"GHS","type":"mobile_money","active":true`:             "none",
		`"code":"1","currency":"GHS","type":"mobile_money_business","active":true`:    "none",
		`"code":"","currency":"GHS","type":"ghipss","active":true`:                    "none",
	} {
		client := clientOf(t, stub{"GET /bank": succeeds(`[{"name":"Other","code":"2","currency":"GHS","type":"ghipss"},{"name":"Bank",` + row + `}]`)})
		must.Do(t, client.LoadBanks(t.Context()))
		bank, known := client.Bank("1")
		got := "none"
		switch {
		case known && bank.Active:
			got = "active"
		case known:
			got = "not active"
		}
		expect.Equal(t, got, want, "%s", row)
		expect.True(t, len(client.Banks()) <= 2, "%s: %s, want %s, of %+v", row, got, want, client.Banks())
	}
}

// A list of several pages is read to its end. A page may be shorter than asked for.
func TestBanksInPages(t *testing.T) {
	client := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		row := func(code string) string {
			return `{"name":"Bank","code":"` + code + `","currency":"GHS","type":"ghipps"}`
		}
		rows := []string{row("x"), row("x")}
		if page, _ := strconv.Atoi(r.URL.Query().Get("page")); page <= 2 {
			rows = nil
			for i := range 50 {
				rows = append(rows, row(strconv.Itoa(50*page+i)))
			}
		}
		_, _ = io.WriteString(w, `{"status":true,"data":[`+strings.Join(rows, ",")+`]}`)
	}))
	must.Do(t, client.LoadBanks(t.Context()))
	expect.Equal(t, len(client.Banks()), 101, "banks")
}
