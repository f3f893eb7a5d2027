package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/notify/messaging"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// Each short link leads to the page of its object, and wrong ones to a page that says so. Below a prefix
// of the host's they do, too.
func TestShortLinksLeadToPages(t *testing.T) {
	store := memory.New()
	s := paymentstest.NewWithStore(t, store, payments.Config{})
	code := newCode(t, s, `{"name":"Till 1"}`)
	paid := s.AskPhone("0241234567", 1250)
	s.Work()
	sub := s.Subscribe("0241234567", 900)
	e := &engine.Engine{Store: store, Clock: time.Now, BaseURL: s.Server.URL}
	messages := messaging.New(e, messaging.Config{})
	link := func(caller api.Caller, page message.LinkPage, id string) (path string) {
		must.Do(t, e.Update(t.Context(), caller, func(tx *engine.Tx) (err error) {
			path, err = messages.Link(tx, page, id)
			return err
		}))
		return strings.TrimPrefix(path, s.Server.URL)
	}
	get := func(path string) *http.Response {
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, s.Server.URL+path, nil))(t)
		response := must.Get(http.DefaultTransport.RoundTrip(r))(t)
		response.Body.Close()
		return response
	}
	token := must.Get(s.Payments.PageToken(t.Context(), s.Caller, paid.ID))(t)
	bill := must.Get(s.Invoices.Get(t.Context(), s.Caller, *sub.LatestInvoice))(t)
	receipt := link(s.Caller, message.ReceiptPage, paid.ID)
	for path, want := range map[string]string{
		receipt: s.Server.URL + "/payment/" + token,
		link(s.Caller, message.InvoicePage, bill.ID):     bill.HostedURL,
		link(s.Caller, message.SubscriptionPage, sub.ID): *sub.ManageURL,
		link(s.Caller, message.CodePage, code):           s.Server.URL + "/pay/" + code,
	} {
		response := get(path)
		expect.Equal(t, response.StatusCode, http.StatusSeeOther, "%s", path)
		at := must.Get(response.Location())(t)
		expect.Equal(t, at.String(), want, "%s leads to", path)
		expect.Equal(t, response.Header.Get("Referrer-Policy"), "no-referrer", "%s: the policy", path)
		expect.Equal(t, get(at.Path).StatusCode, http.StatusOK, "%s: the page at its end", path)
	}

	// A wallet's payment has no page, and the object may be another merchant's or gone.
	other := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Other"}))(t)
	for name, path := range map[string]string{
		"a payment from a wallet":  link(s.Caller, message.ReceiptPage, s.Pay(code, 500).ID),
		"another merchant's id":    link(api.Caller{Merchant: other.ID}, message.SubscriptionPage, sub.ID),
		"an id that is gone":       link(s.Caller, message.InvoicePage, "inv_gone"),
		"the link of another page": "/i" + strings.TrimPrefix(receipt, "/r"),
		"a wrong link":             "/r/00000000000",
		"no link":                  "/s/" + sub.ID,
	} {
		response := get(path)
		expect.Equal(t, response.StatusCode, http.StatusNotFound, "%s", name)
		expect.Equal(t, response.Header.Get("Location"), "", "%s leads to", name)
	}
}
