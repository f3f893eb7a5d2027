package paystack_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/conformance"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/paystack"
	"github.com/seed-7082ffec/payments/provider/paystack/paystacktest"
)

// notes are what a webhook handler reports.
type notes struct {
	err  error
	ids  []string
	last provider.Result
}

func (n *notes) notify(_ context.Context, id string, r provider.Result) error {
	n.ids, n.last = append(n.ids, id), r
	return n.err
}

// post sends a body with a signature to a handler and returns the status of the answer.
func post(t *testing.T, handler http.Handler, body, signature string) int {
	t.Helper()
	r := must.Get(paystacktest.Event{Body: []byte(body), Signature: signature}.Request(t.Context(), "/webhooks/paystack"))(t)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Code
}

func signed(body string) string { return paystacktest.Sign([]byte(body), paystacktest.SecretKey) }

// unread is a body that nobody may read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// A request without a signature of the right form is refused before its body is read.
func TestNoBodyIsReadWithoutASignature(t *testing.T) {
	_, client := fakeAndClient(t, 1)
	for _, signature := range []string{"", "x", strings.Repeat("0", 127), strings.Repeat("0", 130), strings.Repeat("g", 128), signed("{}")[:64]} {
		r := httptest.NewRequest(http.MethodPost, "/webhooks/paystack", unread{t})
		r.Header.Set(paystack.SignatureHeader, signature)
		w := httptest.NewRecorder()
		client.WebhookHandler((&notes{}).notify).ServeHTTP(w, r)
		expect.Equal(t, w.Code, http.StatusUnauthorized, "%q", signature)
	}
}

// An event is believed only with its signature, and only as a hint.
func TestWebhook(t *testing.T) {
	fake, client := fakeAndClient(t, 1)
	paid, slow := newTransfer("67"), newTransfer(paystacktest.Stays)
	for _, o := range []provider.Transfer{paid, slow} {
		must.Get(client.Submit(t.Context(), o))(t)
	}
	event := func(name, id, rest string) string {
		return `{"event":"` + name + `","data":{"reference":"` + referenceOf(t, id) + `","status":"success","amount":1` + rest + `}}`
	}
	success := event("transfer.success", paid.ID, `,"domain":"live"`)
	for _, c := range []struct {
		what, body, signature string
		status, told          int
	}{
		{"a success", success, signed(success), 200, 1},
		{"again", success, signed(success), 200, 1},
		{"in upper case", success, strings.ToUpper(signed(success)), 200, 1},
		{"no signature", success, "", 401, 0},
		{"no hex", success, "x", 401, 0},
		{"half a signature", success, signed(success)[:64], 401, 0},
		{"another key", success, paystacktest.Sign([]byte(success), "sk_test_guess"), 401, 0},
		{"a changed body", success + " ", signed(success), 401, 0},
		{"no JSON", "success", signed("success"), 400, 0},
		{"a test event", strings.Replace(success, "live", "test", 1), signed(strings.Replace(success, "live", "test", 1)), 403, 0},
		{"without a mode", event("transfer.success", paid.ID, ""), signed(event("transfer.success", paid.ID, "")), 200, 1},
		{"too early", event("transfer.success", slow.ID, ""), signed(event("transfer.success", slow.ID, "")), 200, 0},
		{"not ours", `{"event":"charge.success","data":{"reference":"T1"}}`, signed(`{"event":"charge.success","data":{"reference":"T1"}}`), 200, 0},
		{"never submitted", event("charge.success", newCharge("").ID, ""), signed(event("charge.success", newCharge("").ID, "x")), 401, 0},
		{"of another kind", `{"event":"subscription.create","data":{"reference":null}}`, signed(`{"event":"subscription.create","data":{"reference":null}}`), 200, 0},
		{"a dispute", `{"event":"charge.dispute.create","data":{"id":1}}`, signed(`{"event":"charge.dispute.create","data":{"id":1}}`), 200, 0},
		{"too long", strings.Repeat(" ", 1<<20), signed(strings.Repeat(" ", 1<<20)), 413, 0},
	} {
		told := &notes{}
		status := post(t, client.WebhookHandler(told.notify), c.body, c.signature)
		expect.Equal(t, status, c.status, "%s: status", c.what)
		expect.Equal(t, len(told.ids), c.told, "%s: number of reports", c.what)
		if c.told > 0 {
			expect.Equal(t, told.ids[0], paid.ID, "%s: first id", c.what)
			expect.Equal(t, told.last.Outcome, provider.Paid, "%s: outcome of the last", c.what)
		}
	}
	for name, id := range map[string]string{"transfer.success": newTransfer("").ID, "charge.success": newCharge("").ID} {
		told, body := &notes{}, event(name, id, "")
		expect.Equal(t, post(t, client.WebhookHandler(told.notify), body, signed(body)), 200, "%s of an order that was never submitted: post", name)
		expect.Equal(t, len(told.ids), 0, "%s of an order that was never submitted: number of ids", name)
	}
	body := event("refund.processed", newCharge("").ID, "")
	expect.Equal(t, post(t, client.WebhookHandler((&notes{}).notify), body, signed(body)), 200, "a refund of an unknown charge")

	// What the library answers.
	for err, want := range map[error]int{
		provider.ErrContradicted: 200, api.Errorf(api.ResourceMissing, "", "No such order."): 200, errors.New("no database"): 503,
	} {
		expect.Equal(t, post(t, client.WebhookHandler((&notes{err: err}).notify), success, signed(success)), want, "%v", err)
	}
	told := &notes{}
	fake.LoseRequest()
	fake.LoseRequest() // net/http repeats a GET
	status := post(t, client.WebhookHandler(told.notify), success, signed(success))
	expect.Equal(t, status, 503, "Paystack does not answer: status")
	expect.Equal(t, len(told.ids), 0, "Paystack does not answer: number of ids")

	w := httptest.NewRecorder()
	client.WebhookHandler(told.notify).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	expect.Equal(t, w.Code, http.StatusMethodNotAllowed, "GET")
	expect.Equal(t, post(t, client.WebhookHandler(told.notify), success, paystacktest.Sign([]byte(success), "")), 401, "signed with an empty key")
}

// An event tells about orders of its own kind only, although a transaction with the reference of a
// payout may exist at Paystack: a stranger who knows the id can open one.
func TestWebhookOfAnotherKind(t *testing.T) {
	asked := 0
	success := `{"id":17,"status":"success","amount":435,"currency":"GHS","transfer_code":"TRF_1"}`
	client := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		stub{
			"GET /transaction/verify/*": succeeds(success), "GET /transfer/verify/*": succeeds(success), "GET /refund": succeeds(`[]`),
			"GET /dispute": succeeds(`[]`),
		}.ServeHTTP(w, r)
	}))
	for _, prefix := range []string{"po_", "pay_", "tu_", "att_", "re_", "inv_"} {
		id := conformance.NewOrder(prefix, 435).ID
		charge := prefix == "pay_" || prefix == "tu_" || prefix == "att_"
		for name, fits := range map[string]bool{
			"transfer.success": prefix == "po_", "transfer.reversed": prefix == "po_", "charge.success": charge, "charge.dispute.create": charge, "refund.processed": charge,
		} {
			asked = 0
			told, body := &notes{}, strings.ReplaceAll(`{"event":"`+name+`","data":{"reference":"X","transaction_reference":"X","transaction":{"reference":"X"}}}`, "X", referenceOf(t, id))
			expect.Equal(t, post(t, client.WebhookHandler(told.notify), body, signed(body)), 200, "%s of %s", name, prefix)
			expect.True(t, asked > 0 == fits, "%s of %s: %d calls", name, prefix, asked)
			expect.Equal(t, len(told.ids) == 1, fits && strings.Count(name, ".") == 1 && !strings.HasPrefix(name, "refund"), "%s of %s reports %v", name,
				prefix, told.ids)
		}
	}
}

// A success of nothing books nothing: for the library an amount of 0 is one that Paystack did not tell.
func TestWebhookOfNothing(t *testing.T) {
	for _, amount := range []string{`0`, `""`, `"0"`, `0.0`} {
		success := succeeds(`{"id":17,"status":"success","amount":` + amount + `,"currency":"GHS"}`)
		client := clientOf(t, stub{"GET /transaction/verify/*": success, "GET /transfer/verify/*": success})
		for kind, prefix := range map[string]string{"charge": "pay_", "transfer": "po_"} {
			told, body := &notes{}, `{"event":"`+kind+`.success","data":{"reference":"`+referenceOf(t, conformance.NewOrder(prefix, 435).ID)+`"}}`
			status := post(t, client.WebhookHandler(told.notify), body, signed(body))
			expect.Equal(t, status, 503, "a %s of %s: status", kind, amount)
			expect.Equal(t, len(told.ids), 0, "a %s of %s: number of ids", kind, amount)
		}
	}
}

// hangs is a transport that answers nothing until its request ends.
type hangs struct{}

func (hangs) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A webhook ends though Paystack hangs and the host's client has no time-out.
func TestWebhookEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := must.Get(paystack.New(paystack.Config{SecretKey: paystacktest.SecretKey, HTTPClient: &http.Client{Transport: hangs{}}}))(t)
		body := `{"event":"charge.success","data":{"reference":"` + referenceOf(t, newCharge("67").ID) + `"}}`
		ended := make(chan int, 1)
		go func() { ended <- post(t, client.WebhookHandler((&notes{}).notify), body, signed(body)) }()
		select {
		case status := <-ended:
			expect.Equal(t, status, 503, "status")
		case <-time.After(time.Hour):
			t.Error("the webhook has no end")
		}
	})
}

// A key decides which events it takes.
func TestWebhookOfTestKey(t *testing.T) {
	client := must.Get(paystack.New(paystack.Config{SecretKey: "sk_test_1"}))(t)
	for domain, want := range map[string]int{"test": 200, "live": 403} {
		body := `{"event":"charge.success","data":{"reference":"T1","domain":"` + domain + `"}}`
		told := &notes{}
		expect.Equal(t, post(t, client.WebhookHandler(told.notify), body, paystacktest.Sign([]byte(body), "sk_test_1")), want, "a %s event", domain)
	}
}

// A report says in which mode of Paystack the money moved.
func TestWebhookTellsTheMode(t *testing.T) {
	for key, testMode := range map[string]bool{"sk_test_1": true, "sk_live_1": false} {
		id := newTransfer("67").ID
		reference := referenceOf(t, id)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"status":true,"data":{"reference":"` + reference + `","status":"success","amount":1,"currency":"GHS"}}`))
		}))
		client := must.Get(paystack.New(paystack.Config{SecretKey: key, BaseURL: server.URL}))(t)
		told := &notes{}
		body := `{"event":"transfer.success","data":{"reference":"` + reference + `"}}`
		expect.Equal(t, post(t, client.WebhookHandler(told.notify), body, paystacktest.Sign([]byte(body), key)), 200, "status")
		expect.Equal(t, told.last.Outcome, provider.Paid, "outcome with %s", key)
		expect.Equal(t, told.last.TestMode, testMode, "test mode with %s", key)
		server.Close()
	}
}

// The events of the fake report each order that ended, also refunds, whose events name only the
// charge.
func TestEventsOfEachFlow(t *testing.T) {
	fake, client := fakeAndClient(t, 1)
	charge := newCharge("67")
	one, other := newRefund(charge, 100), newRefund(charge, 200)
	_, err1 := client.Submit(t.Context(), newTransfer(paystacktest.Fails))
	_, err2 := client.Charge(t.Context(), charge)
	_, err3 := client.Refund(t.Context(), one)
	_, err4 := client.Refund(t.Context(), other)
	must.Do(t, errors.Join(err1, err2, err3, err4))
	outcomes := map[string]provider.Outcome{}
	handler := client.WebhookHandler(func(_ context.Context, id string, r provider.Result) error {
		outcomes[id] = r.Outcome
		return nil
	})
	for _, e := range fake.Callbacks() {
		expect.Equal(t, post(t, handler, string(e.Body), e.Signature), 200, "%s", e.Body)
	}
	expect.Equal(t, len(outcomes), 4, "number of outcomes")
	expect.True(t, outcomes[charge.ID] == provider.Paid, "%v", outcomes)
	expect.True(t, outcomes[one.ID] == provider.Paid, "%v", outcomes)
	expect.True(t, outcomes[other.ID] == provider.Paid, "%v", outcomes)
}
