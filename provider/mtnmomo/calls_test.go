package mtnmomo_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/openapitest"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/mtnmomo"
	"github.com/seed-7082ffec/payments/provider/mtnmomo/mtnmomotest"
)

// The reference of an order must never change: MTN knows the orders that are under way during an upgrade by it.
func TestReferenceID(t *testing.T) {
	for id, want := range map[string]string{
		"po_0000000000000000000001":  "8a9df0d7-a37a-4628-aacc-1b0192cae2aa",
		"pay_zzzzzzzzzzzzzzzzzzzzzz": "110d53cd-130c-4d14-b1ac-c275734939ed",
	} {
		expect.Equal(t, mtnmomo.ReferenceID(id), want, "%s", id)
	}
}

func TestNote(t *testing.T) {
	for text, want := range map[string]string{
		"": "Payment", "Ama's 2 jars!": "Ama s 2 jars", "  a\t\nb ": "a b", "₵ɛé": "Payment", "INV-2026/7": "INV 2026 7",
		strings.Repeat("a", 200): strings.Repeat("a", 128), strings.Repeat("a", 127) + " b": strings.Repeat("a", 127),
	} {
		expect.Equal(t, mtnmomo.Note(text), want, "%q", text)
	}
}

// Numbers of other networks, banks and charges without a phone never reach MTN.
func TestOnlyMTN(t *testing.T) {
	r := newRig(t, 1)
	for name, change := range map[string]func(*provider.Transfer){
		"telecel":          func(o *provider.Transfer) { o.Network = "telecel" },
		"telecel's prefix": func(o *provider.Transfer) { o.Network, o.Number = "", "+233201234567" },
		"a bank": func(o *provider.Transfer) {
			o.Channel, o.Network, o.Bank, o.Number = provider.BankTransfer, "", "300304", "1234567890123"
		},
		"no plus":     func(o *provider.Transfer) { o.Number = "0241234567" },
		"no digits":   func(o *provider.Transfer) { o.Number = "+23324123456/" },
		"too short":   func(o *provider.Transfer) { o.Number = "+2332412" },
		"no number":   func(o *provider.Transfer) { o.Number = "" },
		"other bytes": func(o *provider.Transfer) { o.Number = "+２３３２４１２３４５６７" },
	} {
		o := r.transfer("567")
		change(&o)
		var refused *provider.Refusal
		err := r.client.Check(t.Context(), o)
		must.True(t, errors.As(err, &refused), "check of %s: %v", name, err)
		expect.Equal(t, refused.Code, api.InvalidDestination, "check of %s: code", name)
		got := must.Get(r.client.Submit(t.Context(), o))(t)
		expect.Equal(t, got.Outcome, provider.Refused, "%s", name)
		expect.Equal(t, got.Reason.Code, api.InvalidDestination, "%s", name)
		_, err = r.client.AccountName(t.Context(), provider.Enquiry{Live: true, Channel: o.Channel, Network: o.Network, Bank: o.Bank, Number: o.Number})
		must.True(t, errors.As(err, &refused), "name of %s: %v", name, err)
		expect.Equal(t, refused.Code, api.InvalidDestination, "name of %s: code", name)
		if o.Channel == provider.MobileMoney {
			charge := provider.Charge{Order: o.Order, Phone: o.Number, Network: o.Network, PaymentMethod: "pm_1"}
			got = must.Get(r.client.Charge(t.Context(), charge))(t)
			expect.Equal(t, got.Outcome, provider.Refused, "charge of %s: outcome", name)
			expect.True(t, got.Reason.Message != "", "charge of %s: %+v", name, got)
		}
	}
	expect.Equal(t, r.Calls(), 0, "calls")
	// A ported number goes by its network, and one without a network by its prefix.
	for network, number := range map[string]string{"mtn": "+233201234567", "": "+233241234567"} {
		o := r.transfer("567")
		o.Network, o.Number = network, number
		got := must.Get(r.client.Submit(t.Context(), o))(t)
		expect.Equal(t, got.Outcome, provider.InProgress, "%s", number)
	}
}

func TestHolders(t *testing.T) {
	r := newRig(t, 1)
	var refused *provider.Refusal
	expect.NoError(t, r.client.Check(t.Context(), r.transfer("567")), "an active wallet")
	for _, last := range []string{"472", "473"} {
		err := r.client.Check(t.Context(), r.transfer(last))
		must.True(t, errors.As(err, &refused), "%s: %v", last, err)
		expect.Equal(t, refused.Code, api.RecipientUnavailable, "%s: code", last)
	}
	ask := func(last string) (string, error) {
		return r.client.AccountName(t.Context(), provider.Enquiry{Live: true, Channel: provider.MobileMoney, Network: "mtn", Number: "+233241234" + last})
	}
	_, err := ask("473")
	must.True(t, errors.As(err, &refused), "no wallet: %v", err)
	expect.Equal(t, refused.Code, api.InvalidDestination, "no wallet: code")
	over := newRig(t, 1).overHTTP(t)
	r = over
	for body, want := range map[string]string{
		`{"given_name":"Ama","family_name":"Mensah","birthdate":"1990-01-01"}`: "Ama Mensah",
		`{"given_name":" Ama  Serwaa ","family_name":""}`:                      "Ama Serwaa",
		`{"name":"Ama Mensah"}`: "Ama Mensah",
		`{}`:                    "", `{"given_name":" "}`: "", `[]`: "",
	} {
		r.AnswerNext(200, body)
		name, err := ask("567")
		expect.Equal(t, name, want, "%s: name", body)
		expect.True(t, (err == nil) == (want != ""), "%s: %q, %v", body, name, err)
	}
	for _, c := range []struct {
		status int
		body   string
	}{{500, ""}, {404, ""}, {200, "{}"}, {200, ""}, {200, `{"result":"true"}`}, {400, ""}} {
		r.AnswerNext(c.status, c.body)
		err := r.client.Check(t.Context(), r.transfer("567"))
		expect.True(t, err != nil, "check, %d %s: %v", c.status, c.body, err)
		expect.True(t, !errors.As(err, &refused), "check, %d %s: %v", c.status, c.body, err)
	}
}

func TestBalance(t *testing.T) {
	r := newDisbursing(t).overHTTP(t)
	for body, want := range map[string]int64{
		`{"availableBalance":"1000","currency":"GHS"}`: 100_000, `{"availableBalance":"0.05","currency":"GHS"}`: 5,
		`{"availableBalance":12.3456,"currency":"GHS"}`: 1234, `{"availableBalance":"-1","currency":"GHS"}`: -100,
		`{"availableBalance":"1000","currency":"EUR"}`: -1, `{"availableBalance":"1e999999999","currency":"GHS"}`: -1,
		`{"availableBalance":"x","currency":"GHS"}`: -1, `{}`: -1,
	} {
		r.AnswerNext(200, body)
		got, err := r.client.Balance(t.Context(), true)
		expect.True(t, err == nil && got.Available == want || err != nil && want == -1, "%s: %+v, %v", body, got, err)
	}
	r.AnswerNext(404, `{"code":"RESOURCE_NOT_FOUND"}`)
	_, err := r.client.Balance(t.Context(), true)
	var refused *provider.Refusal
	expect.True(t, err != nil, "not found: %v", err)
	expect.True(t, !errors.As(err, &refused), "not found: %v", err)
}

// MTN keeps an account for each product. Transfers are taken from one, and both hold the operator's money.
func TestBalanceOfBothProducts(t *testing.T) {
	r := newRig(t, 1)
	r.SetFloat(300_00)
	_, err1 := r.client.Charge(t.Context(), r.charge("567"))
	_, err2 := r.client.Submit(t.Context(), r.transfer("567"))
	must.Do(t, errors.Join(err1, err2))
	r.Settle()
	one := func(left string) mtnmomo.Config {
		c := r.config
		switch left {
		case "collection":
			c.Disbursement = mtnmomo.Credentials{}
		case "disbursement":
			c.Collection = mtnmomo.Credentials{}
		}
		return c
	}
	for products, want := range map[string][2]int64{
		"both": {300_00 - 435, 300_00}, "collection": {0, 435}, "disbursement": {300_00 - 435, 300_00 - 435},
	} {
		b := must.Get(must.Get(mtnmomo.New(one(products)))(t).Balance(t.Context(), true))(t)
		expect.Equal(t, b.Available, want[0], "%s: available", products)
		expect.Same(t, b.Held, new(want[1]), "%s: held", products)
	}

	r.config.HTTPClient = &http.Client{Transport: noCollection{r.config.HTTPClient.Transport}}
	b := must.Get(must.Get(mtnmomo.New(r.config))(t).Balance(t.Context(), true))(t)
	expect.Equal(t, b.Available, 300_00-435, "without an answer for the collection: available")
	expect.True(t, b.Held == nil, "without an answer for the collection: Held is set")
}

// noCollection is a transport on which the collection product does not answer.
type noCollection struct{ http.RoundTripper }

func (n noCollection) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "/collection/") {
		return nil, errors.New("no answer")
	}
	return n.RoundTripper.RoundTrip(r)
}

// What MTN is told: the number without a plus, both notes, the amount with two decimals.
func TestWhatMTNReceives(t *testing.T) {
	r := newRig(t, 1)
	o := r.transfer("567")
	o.Amount = 1_999_99
	must.Get(r.client.Submit(t.Context(), o))(t)
	amount, number, notes := r.Received(o.ID)
	expect.Equal(t, amount, 1_999_99, "amount")
	expect.Equal(t, number, "233241234567", "number")
	expect.Equal(t, notes, [2]string{"Ama s pay", "Ama s pay"}, "notes")
	expect.Equal(t, r.Callbacks()[0].URL, "https://pay.example.com/callbacks/mtn", "callback")

	c := r.charge("453")
	got := must.Get(r.client.Charge(t.Context(), c))(t)
	expect.Equal(t, got.Outcome, provider.InProgress, "charge: outcome")
	expect.True(t, got.Prompt != "", "charge: %+v", got)
	expect.Equal(t, got.NeedsCode, false, "charge: NeedsCode")
	expect.Equal(t, got.Network, "mtn", "charge: network")
}

// A redirect is no answer, and the keys go nowhere else.
func TestRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	r := newRig(t, 1)
	r.config.BaseURL, r.config.HTTPClient = server.URL, server.Client()
	_, err := must.Get(mtnmomo.New(r.config))(t).Balance(t.Context(), true)
	expect.True(t, err != nil, "a redirect is no error")
	expect.True(t, r.config.HTTPClient.CheckRedirect == nil, "the host's client was changed")
}

// failing is a transport whose error quotes everything.
type failing struct{ err error }

func (f failing) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.err != nil {
		return nil, f.err
	}
	return nil, errors.New("malformed answer for " + r.URL.String() + " " + r.Header.Get("Ocp-Apim-Subscription-Key"))
}

// Errors of the connection say what broke, and quote neither address nor answer.
func TestErrorsAreDiscreet(t *testing.T) {
	for name, c := range map[string]struct{ given, want error }{
		"anything":  {nil, nil},
		"cancelled": {context.Canceled, context.Canceled},
		"too late":  {&url.Error{Err: context.DeadlineExceeded}, context.DeadlineExceeded},
		"cut":       {io.ErrUnexpectedEOF, io.ErrUnexpectedEOF},
		"a dial":    {&net.OpError{Op: "dial", Err: net.ErrClosed}, net.ErrClosed},
	} {
		r := newRig(t, 1)
		_, err := r.client.Balance(t.Context(), true) // a token
		expect.NoError(t, err, "balance")
		switching := &switched{r.config.HTTPClient.Transport, failing{c.given}}
		r.config.HTTPClient = &http.Client{Transport: switching}
		err = must.Get(mtnmomo.New(r.config))(t).Check(t.Context(), r.transfer("567"))
		expect.True(t, err != nil, "%s: %v", name, err)
		expect.True(t, c.want == nil || errors.Is(err, c.want), "%s: %v", name, err)
		r.discreet(t, err.Error(), "+233241234567")
	}
}

// switched is a transport that has other calls than those for tokens fail.
type switched struct{ tokens, others http.RoundTripper }

func (s *switched) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/token/") {
		return s.tokens.RoundTrip(r)
	}
	return s.others.RoundTrip(r)
}

func TestProvision(t *testing.T) {
	r := newRig(t, 1)
	made := must.Get(mtnmomo.Provision(t.Context(), mtnmomo.ProvisionParams{
		SubscriptionKey: mtnmomotest.DisbursementKey, CallbackHost: "pay.example.com", HTTPClient: r.config.HTTPClient,
	}))(t)
	r.config.Disbursement = made
	must.Get(must.Get(mtnmomo.New(r.config))(t).Balance(t.Context(), true))(t)
	_, err := mtnmomo.Provision(t.Context(), mtnmomo.ProvisionParams{BaseURL: "https://mtn.example.com", SubscriptionKey: "wrong", HTTPClient: r.config.HTTPClient})
	expect.True(t, err != nil, "a wrong key passes")
	for _, body := range []string{"", "{}"} {
		_, err = mtnmomo.Provision(t.Context(), mtnmomo.ProvisionParams{HTTPClient: &http.Client{Transport: created(body)}})
		expect.True(t, err != nil, "%q passes", body)
	}
}

// created is a transport that answers 201.
type created string

func (c created) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusCreated, Body: io.NopCloser(strings.NewReader(string(c)))}, nil
}

// The description of the API finds requests that are not as described.
func TestContractFindsBreaches(t *testing.T) {
	basic := map[string]string{"Authorization": "Basic dTpr"}
	for name, c := range map[string]struct {
		method, path, body string
		header             map[string]string
		want               bool
	}{
		"a token":             {"POST", "/collection/token/", "", basic, true},
		"a token with a body": {"POST", "/collection/token/", "{}", basic, false},
		"a token by a token":  {"POST", "/collection/token/", "", nil, false},
		"no token":            {"POST", "/disbursement/v1_0/transfer", goodTransfer, basic, false},
		"no subscription key": {"POST", "/disbursement/v1_0/transfer", goodTransfer, map[string]string{"Ocp-Apim-Subscription-Key": ""}, false},
		"another path":        {"GET", "/collection/v2_0/requesttopay", "", nil, false},
		"no reference":        {"POST", "/disbursement/v1_0/transfer", goodTransfer, map[string]string{"X-Reference-Id": ""}, false},
		"a good transfer":     {"POST", "/disbursement/v1_0/transfer", goodTransfer, nil, true},
		"an apostrophe":       {"POST", "/disbursement/v1_0/transfer", strings.Replace(goodTransfer, "Pay", "Ama's", 1), nil, false},
		"a plus":              {"POST", "/disbursement/v1_0/transfer", strings.Replace(goodTransfer, "2332", "+2332", 1), nil, false},
		"no payee":            {"POST", "/disbursement/v1_0/transfer", strings.Replace(goodTransfer, "payee\"", "payer\"", 1), nil, false},
		"three decimals":      {"POST", "/disbursement/v1_0/transfer", strings.Replace(goodTransfer, "4.35", "4.351", 1), nil, false},
		"an amount as number": {"POST", "/disbursement/v1_0/transfer", strings.Replace(goodTransfer, `"4.35"`, "4.35", 1), nil, false},
	} {
		request := must.Get(http.NewRequestWithContext(t.Context(), c.method, "https://mtn.example.com"+c.path, strings.NewReader(c.body)))(t)
		request.Header.Set("X-Reference-Id", mtnmomo.ReferenceID("po_1"))
		request.Header.Set("X-Target-Environment", "mtnghana")
		request.Header.Set("Authorization", "Bearer token")
		request.Header.Set("Ocp-Apim-Subscription-Key", "key")
		request.Header.Set("Content-Type", "application/json")
		for k, v := range c.header {
			request.Header.Set(k, v)
		}
		expect.Equal(t, openapitest.Passes(t, "testdata/openapi.yaml", mtnmomotest.New(1).Client().Transport, request), c.want, "%s passes", name)
	}
}

const goodTransfer = `{"amount":"4.35","currency":"GHS","externalId":"po_1","payee":{"partyIdType":"MSISDN","partyId":"233241234567"},"payerMessage":"Pay","payeeNote":"Pay"}`

// MTN allows ten status queries a second. Orders beyond wait, the more of them the longer.
func TestStatusQueriesAreLimited(t *testing.T) {
	r, clock := withClock(t, newRig(t, 1))
	r.config.StatusQueries = 0
	r.client = must.Get(mtnmomo.New(r.config))(t)
	o, charge := r.transfer("567"), r.charge("567")
	_, err1 := r.client.Submit(t.Context(), o)
	_, err2 := r.client.Charge(t.Context(), charge)
	must.Do(t, err1)
	must.Do(t, err2)
	for second := range 2 {
		before := r.Calls()
		for n := range 25 {
			got, err := r.client.Status(t.Context(), o)
			wait := time.Duration(n/10) * time.Second
			want := provider.Paid
			if wait > 0 {
				want = provider.InProgress
			}
			expect.NoError(t, err, "query %d", n+1)
			expect.Equal(t, got.Outcome, want, "query %d: outcome", n+1)
			expect.Equal(t, got.PollAfter, wait, "query %d: poll after", n+1)
		}
		got, err := r.client.ChargeStatus(t.Context(), charge)
		must.Do(t, err)
		expect.Equal(t, got.Outcome, provider.InProgress, "a charge: outcome")
		expect.True(t, got.Prompt != "", "a charge: %+v, %v", got, err)
		expect.Equal(t, got.PollAfter, 2*time.Second, "a charge: poll after")
		r.AnswerNext(409, `{"code":"RESOURCE_ALREADY_EXIST"}`)
		got, err = r.client.Submit(t.Context(), o)
		must.Do(t, err)
		expect.Equal(t, got.Outcome, provider.InProgress, "a duplicate: outcome")
		expect.Equal(t, r.Calls()-before, 11, "calls of second %d", second+1)
		clock.move(time.Second)
	}
}
