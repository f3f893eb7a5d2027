package mtnmomotest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/provider/mtnmomo/mtnmomotest"
)

const (
	reference = "8a9df0d7-a37a-4628-aacc-1b0192cae2aa"
	transfer  = `{"amount":"4.35","currency":"GHS","externalId":"po_1","payee":{"partyIdType":"MSISDN","partyId":"233241234453"},"payerMessage":"Pay","payeeNote":"Pay"}`
)

// caller sends requests as a good client does, but for what a test changes.
type caller struct {
	*mtnmomotest.Fake
	header http.Header
}

func newCaller(t *testing.T) *caller {
	c := &caller{mtnmomotest.New(1), http.Header{
		"Ocp-Apim-Subscription-Key": {mtnmomotest.DisbursementKey}, "X-Target-Environment": {"mtnghana"},
		"X-Reference-Id": {reference}, "Content-Type": {"application/json"},
	}}
	basic := http.Request{Header: c.header}
	basic.SetBasicAuth(mtnmomotest.APIUser, mtnmomotest.APIKey)
	status, _ := c.call(t, "POST", "/disbursement/token/", "")
	expect.Equal(t, status, 200, "token")
	c.header.Set("Authorization", "Bearer disbursement-token-1")
	return c
}

func (c *caller) call(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), method, "https://mtn.example.com"+path, strings.NewReader(body)))(t)
	r.Header = c.header.Clone()
	answer := must.Get(c.Client().Do(r))(t)
	defer answer.Body.Close()
	return answer.StatusCode, string(must.Get(io.ReadAll(answer.Body))(t))
}

// The fake refuses what MTN's pages forbid.
func TestFakeIsStrict(t *testing.T) {
	swap := func(old, new string) string { return strings.Replace(transfer, old, new, 1) }
	for name, c := range map[string]struct {
		header, value, method, path, body string
		want                              int
		code                              string
	}{
		"a transfer":               {want: 202},
		"no subscription key":      {header: "Ocp-Apim-Subscription-Key", want: 401},
		"the other product's key":  {header: "Ocp-Apim-Subscription-Key", value: mtnmomotest.CollectionKey, want: 401},
		"no token":                 {header: "Authorization", want: 401},
		"another environment":      {header: "X-Target-Environment", value: "sandbox", want: 500, code: "NOT_ALLOWED_TARGET_ENVIRONMENT"},
		"a reference of version 1": {header: "X-Reference-Id", value: strings.Replace(reference, "-4628", "-1628", 1), want: 400},
		"a callback without TLS":   {header: "X-Callback-Url", value: "http://x", want: 500, code: "INVALID_CALLBACK_URL_HOST"},
		"a callback elsewhere":     {header: "X-Callback-Url", value: "https://pay.example.com:8443/mtn", want: 500, code: "INVALID_CALLBACK_URL_HOST"},
		"a callback by number":     {header: "X-Callback-Url", value: "https://10.0.0.1/mtn", want: 500, code: "INVALID_CALLBACK_URL_HOST"},
		"a callback to no host":    {header: "X-Callback-Url", value: "https:///mtn", want: 500, code: "INVALID_CALLBACK_URL_HOST"},
		"a callback":               {header: "X-Callback-Url", value: "https://pay.example.com:443/mtn", want: 202},
		"an apostrophe":            {body: swap("Pay", "Ama's"), want: 400},
		"a long note":              {body: swap("Pay", strings.Repeat("a", 129)), want: 400},
		"another currency":         {body: swap("GHS", "EUR"), want: 500, code: "INVALID_CURRENCY"},
		"nothing":                  {body: swap("4.35", "0"), want: 400},
		"three decimals":           {body: swap("4.35", "4.351"), want: 400},
		"a plus":                   {body: swap("2332", "+2332"), want: 400},
		"a payer":                  {body: swap("payee\"", "payer\""), want: 400},
		"an unknown field":         {body: swap("{", `{"x":1,`), want: 400},
		"an unknown path":          {path: "/disbursement/v2_0/transfer", want: 404},
		"an unknown product":       {path: "/remittance/v1_0/transfer", want: 401},
		"a token with a body":      {path: "/disbursement/token/", want: 400},
		"an unknown order":         {method: "GET", path: "/disbursement/v1_0/transfer/" + reference, body: "-", want: 404, code: "RESOURCE_NOT_FOUND"},
	} {
		f := newCaller(t)
		if c.header != "" {
			f.header.Set(c.header, c.value)
		}
		switch c.body {
		case "":
			c.body = transfer
		case "-":
			c.body = ""
		}
		if c.method == "" {
			c.method = "POST"
		}
		if c.path == "" {
			c.path = "/disbursement/v1_0/transfer"
		}
		status, body := f.call(t, c.method, c.path, c.body)
		expect.Equal(t, status, c.want, "%s", name)
		expect.True(t, strings.Contains(body, c.code), "%s: %s, want %s", name, body, c.code)
	}
}

// An order is kept by its reference, decided once, and its money moves once.
func TestFakeKeepsOrders(t *testing.T) {
	f := newCaller(t)
	f.SetFloat(1000)
	path := "/disbursement/v1_0/transfer"
	status, _ := f.call(t, "POST", path, transfer)
	expect.Equal(t, status, 202, "the first")
	status, body := f.call(t, "POST", path, transfer)
	expect.Equal(t, status, 409, "the second: status")
	expect.True(t, strings.Contains(body, "RESOURCE_ALREADY_EXIST"), "the second: %d %s", status, body)
	f.Settle()
	_, body = f.call(t, "GET", path+"/"+reference, "")
	expect.True(t, strings.Contains(body, `"PENDING"`), "it is decided: %s", body)
	for range 2 {
		f.Decide("po_1", "SUCCESSFUL", "")
	}
	_, body = f.call(t, "GET", path+"/"+reference, "")
	expect.True(t, strings.Contains(body, `"SUCCESSFUL"`), "it is not decided: %s", body)
	expect.Equal(t, f.Moved("po_1"), 1, "moved")
	expect.Equal(t, f.Float(), 565, "float")
	f.Forget("po_1")
	status, _ = f.call(t, "GET", path+"/"+reference, "")
	expect.Equal(t, status, 404, "forgotten")
}

// Callbacks wait for a receiver, whatever the externalId is.
func TestFakeWithoutAReceiver(t *testing.T) {
	f := newCaller(t)
	f.SetFaults(mtnmomotest.Faults{ForgedCallback: 100})
	f.header.Set("X-Callback-Url", "https://pay.example.com/mtn")
	status, _ := f.call(t, "POST", "/disbursement/v1_0/transfer", strings.NewReplacer("po_1", "a", "453", "567").Replace(transfer))
	expect.Equal(t, status, 202, "the transfer")
	expect.Equal(t, len(f.Deliver()), 0, "delivered")
	waiting := f.Callbacks()
	expect.True(t, len(waiting) > 0, "none waits")
}

// The same seed gives the same faults.
func TestFaultsAreSeeded(t *testing.T) {
	run := func() (answers []int) {
		f := newCaller(t)
		f.SetFaults(mtnmomotest.Faults{LostRequest: 20, LostAnswer: 20, TooMany: 20, Hidden: 50})
		for range 30 {
			r := must.Get(http.NewRequestWithContext(t.Context(), "POST", "https://mtn.example.com/disbursement/v1_0/transfer", strings.NewReader(transfer)))(t)
			r.Header = f.header
			answer, err := f.Client().Do(r)
			if err != nil {
				answers = append(answers, 0)
				continue
			}
			answer.Body.Close()
			answers = append(answers, answer.StatusCode)
		}
		return answers
	}
	expect.Same(t, run(), run(), "answers")
}
