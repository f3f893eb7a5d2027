package paystack_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/paystack"
	"github.com/seed-7082ffec/payments/provider/paystack/paystacktest"
)

// classOf returns what the library reads of an error.
func classOf(t *testing.T, err error) provider.Error {
	t.Helper()
	var is *provider.Error
	if !errors.As(err, &is) {
		t.Errorf("%v has no class", err)
		return provider.Error{}
	}
	return *is
}

// A success of another amount, currency or reference ends no order. The error names the other amount.
func TestOtherMoney(t *testing.T) {
	transfer, charge := newTransfer("67"), newCharge("67")
	back := newRefund(charge, 435)
	for what, change := range map[string][2]string{
		"another amount":    {`"amount":435`, `"amount":434`},
		"another currency":  {`"currency":"GHS"`, `"currency":"NGN"`},
		"another reference": {`"reference":"p`, `"reference":"x`},
	} {
		change := strings.NewReplacer(change[0], change[1])
		is := func(id string) reply {
			return succeeds(change.Replace(fmt.Sprintf(`{"id":17,"status":"success","amount":435,"currency":"GHS","reference":%q}`, referenceOf(t, id))))
		}
		client := clientOf(t, stub{
			"POST /transferrecipient": succeeds(`{"recipient_code":"RCP_1"}`), "POST /transfer": is(transfer.ID), "GET /transfer/verify/*": is(transfer.ID),
			"POST /charge": is(charge.ID), "POST /charge/submit_otp": is(charge.ID), "GET /transaction/verify/*": is(charge.ID), "GET /refund": succeeds(`[]`),
		})
		for name, call := range map[string]func() (provider.Result, error){
			"Submit":        func() (provider.Result, error) { return client.Submit(t.Context(), transfer) },
			"Status":        func() (provider.Result, error) { return client.Status(t.Context(), transfer) },
			"Charge":        func() (provider.Result, error) { return client.Charge(t.Context(), charge) },
			"ChargeStatus":  func() (provider.Result, error) { return client.ChargeStatus(t.Context(), charge) },
			"ConfirmCharge": func() (provider.Result, error) { return client.ConfirmCharge(t.Context(), charge, "123456") },
		} {
			result, err := call()
			expect.True(t, err != nil, "%s, %s: %+v", what, name, result)
			expect.Equal(t, result, provider.Result{}, "%s, %s: result", what, name)
			is := classOf(t, err)
			want := provider.Error{Route: paystack.Route, Class: provider.ClassAmountMismatch, Amount: 434}
			switch what {
			case "another currency":
				want.Amount = 0
			case "another reference":
				want = provider.Error{Route: paystack.Route, Class: provider.ClassUnreadable}
			}
			expect.Equal(t, is, want, "%s, %s: the class", what, name)
		}
	}
	client := clientOf(t, stub{
		"GET /transaction/verify/*": succeeds(`{"id":17,"status":"success","amount":435}`),
		"GET /refund":               succeeds(`[{"id":1,"status":"processed","amount":434,"merchant_note":"` + back.ID + `","transaction":17}]`),
	})
	result, err := client.RefundStatus(t.Context(), back)
	expect.True(t, err != nil, "a refund of another amount: %+v", result)
}

// Paystack calls a charge abandoned from its beginning. That ends the charge long after the
// deadline, and the library asks once more.
func TestAbandonedCharge(t *testing.T) {
	client := clientOf(t, stub{
		"GET /transaction/verify/*": succeeds(`{"id":17,"status":"abandoned","amount":435,"currency":"GHS"}`),
		"GET /charge/*":             rejection("Charge not found"),
	})
	for after, want := range map[time.Duration]provider.Outcome{
		0: provider.InProgress, 10 * time.Minute: provider.InProgress, 25 * time.Minute: provider.InProgress, 26 * time.Minute: provider.Refused,
	} {
		o := newCharge("67")
		o.Order = later(o.Order, 3, after)
		r, err := client.ChargeStatus(t.Context(), o)
		expect.NoError(t, err, "after %s", after)
		expect.Equal(t, r.Outcome, want, "after %s: outcome", after)
		expect.True(t, (r.PollAfter > 0) == (want == provider.Refused), "after %s: %+v, %v", after, r, err)
	}
}

// After the deadline the library ends a charge that Paystack does not know. A request of just before
// may still arrive for 10 minutes.
func TestUnknownChargeAfterDeadline(t *testing.T) {
	_, client := fakeAndClient(t, 1)
	for after, want := range map[time.Duration]time.Duration{
		-time.Second: 0, 0: 10 * time.Minute, time.Minute: 9 * time.Minute, 10*time.Minute - 1: 1, 10 * time.Minute: 0,
	} {
		o := newCharge("67")
		o.Order = later(o.Order, 2, 10*time.Minute+after)
		r, err := client.ChargeStatus(t.Context(), o)
		expect.NoError(t, err, "after %s", after)
		expect.Equal(t, r.PollAfter, want, "after %s: poll after", after)
		expect.True(t, (r.Outcome == provider.InProgress) == (want > 0), "after %s: %+v, %v", after, r, err)
		expect.True(t, (r.Outcome == provider.NotFound) == (want == 0), "after %s: %+v, %v", after, r, err)
	}
	o := newCharge("67")
	o.Deadline = time.Time{}
	r, err := client.ChargeStatus(t.Context(), o)
	must.Do(t, err)
	expect.Equal(t, r.Outcome, provider.NotFound, "without a deadline: outcome")
}

// A wrong code may be entered again, a charge that waits for none ignores it.
func TestCodes(t *testing.T) {
	fake, client := fakeAndClient(t, 1)
	o := newCharge(paystacktest.AsksCode)
	r, err := client.Charge(t.Context(), o)
	must.Do(t, err)
	expect.Equal(t, r.NeedsCode, true, "NeedsCode")
	expect.True(t, strings.Contains(r.Prompt, "*110#"), "%+v, %v", r, err)
	r, err = client.ConfirmCharge(t.Context(), o, "111111")
	must.Do(t, err)
	expect.Equal(t, r.Outcome, provider.InProgress, "outcome")
	expect.Equal(t, r.NeedsCode, true, "NeedsCode")
	expect.True(t, strings.Contains(r.Prompt, "wrong"), "%+v, %v", r, err)
	r, err = client.ConfirmCharge(t.Context(), o, paystacktest.Code)
	must.Do(t, err)
	expect.Equal(t, r.Outcome, provider.Paid, "outcome")
	expect.Equal(t, fake.Moved(o.ID), 1, "moved")
	slow := newCharge(paystacktest.Stays)
	must.Get(client.Charge(t.Context(), slow))(t)
	r, err = client.ConfirmCharge(t.Context(), slow, paystacktest.Code)
	must.Do(t, err)
	expect.Equal(t, r.Outcome, provider.InProgress, "outcome")
	expect.Equal(t, r.NeedsCode, false, "NeedsCode")
}

// A charge that was refunded for us stays paid. If the money went back otherwise, it is reversed. If
// the list of refunds does not say why, the outcome is unknown.
func TestReversedCharge(t *testing.T) {
	for note, want := range map[string]provider.Outcome{newRefund(newCharge("67"), 435).ID: provider.Paid, "by hand": provider.Reversed} {
		client := clientOf(t, stub{
			"GET /transaction/verify/*": succeeds(`{"id":17,"status":"reversed","amount":435,"currency":"GHS"}`),
			"GET /refund":               succeeds(`[{"id":1,"status":"processed","amount":435,"merchant_note":"` + note + `","transaction":17}]`),
		})
		r, err := client.ChargeStatus(t.Context(), newCharge("67"))
		expect.NoError(t, err, "%s", note)
		expect.Equal(t, r.Outcome, want, "%s: outcome", note)
	}
	ours := newRefund(newCharge("67"), 435).ID
	for _, rows := range []string{
		`[]`, `[{"id":1,"status":"processed","amount":434,"transaction":17}]`, `[{"id":1,"status":"failed","amount":435,"transaction":17}]`,
		`[{"id":1,"status":"failed","amount":435,"merchant_note":"` + ours + `","transaction":17}]`,
		`[{"id":1,"status":"processed","amount":435,"merchant_note":"` + ours + `","transaction":18}]`,
	} {
		client := clientOf(t, stub{
			"GET /transaction/verify/*": succeeds(`{"id":17,"status":"reversed","amount":435,"currency":"GHS"}`), "GET /refund": succeeds(rows),
			"GET /dispute": succeeds(`[]`),
		})
		r, err := client.ChargeStatus(t.Context(), newCharge("67"))
		expect.True(t, err != nil, "%s do not say why: %+v", rows, r)
	}
}

// A transfer that Paystack takes back after its success is reversed.
func TestReversedTransfer(t *testing.T) {
	fake, client := fakeAndClient(t, 1)
	o := newTransfer("67")
	r, err := client.Submit(t.Context(), o)
	must.Do(t, err)
	expect.Equal(t, r.Outcome, provider.Paid, "outcome")
	fake.SetFaults(paystacktest.Faults{Reverse: 100})
	r, err = client.Status(t.Context(), o)
	must.Do(t, err)
	expect.Equal(t, r.Outcome, provider.Reversed, "outcome")
	expect.True(t, r.Reason.Message != "", "%+v, %v", r, err)
	expect.Equal(t, fake.Moved(o.ID), 0, "moved")
}

// An empty balance of the operator and a transfer that waits for the operator's code.
func TestOperatorsFaults(t *testing.T) {
	fake, client := fakeAndClient(t, 1)
	fake.SetFaults(paystacktest.Faults{EmptyFloat: true})
	r, err := client.Submit(t.Context(), newTransfer("67"))
	must.Do(t, err)
	expect.Equal(t, r.Outcome, provider.Refused, "outcome")
	expect.Equal(t, r.Reason.Code, api.ProviderBalanceInsufficient, "code of the reason")
	fake.SetFaults(paystacktest.Faults{OTP: true})
	r, err = client.Submit(t.Context(), newTransfer("67"))
	must.Do(t, err)
	expect.Equal(t, r.Outcome, provider.InProgress, "outcome")
	expect.Equal(t, r.NeedsCode, false, "NeedsCode")
	r, err = client.Submit(t.Context(), newTransfer(paystacktest.NoAccount))
	must.Do(t, err)
	expect.Equal(t, r.Outcome, provider.Refused, "outcome")
	expect.Equal(t, r.Reason.Code, "invalid_destination", "code of the reason")
}

// refundAfter makes a charge that is paid, and a refund of it whose first answer gets lost.
func refundAfter(t *testing.T, fake *paystacktest.Fake, client provider.Charger, amount int64) provider.Refund {
	t.Helper()
	charge := newCharge("67")
	r, err := client.Charge(t.Context(), charge)
	must.True(t, err == nil && r.Outcome == provider.Paid, "%+v, %v", r, err)
	back := newRefund(charge, amount)
	fake.LoseAnswer("POST /refund")
	_, err = client.(provider.RefundRail).Refund(t.Context(), back)
	must.True(t, err != nil, "the lost answer")
	return back
}

// After a lost answer the refund is looked for, and is made again only after a wait.
func TestLostRefund(t *testing.T) {
	fake, client := fakeAndClient(t, 1)
	// The refund was made: it is found, also by a process that did not make it.
	back := refundAfter(t, fake, client, 400)
	back.Order = later(back.Order, 2, time.Second)
	for range 2 {
		r, err := client.RefundStatus(t.Context(), back)
		must.Do(t, err)
		expect.Equal(t, r.Outcome, provider.Paid, "outcome")
		expect.Equal(t, fake.Moved(back.ID), 1, "moved")
		r, err = client.Refund(t.Context(), back)
		must.Do(t, err)
		expect.Equal(t, r.Outcome, provider.Paid, "outcome")
		expect.Equal(t, fake.Moved(back.ID), 1, "moved")
	}
}

// A refund that is not in the list may be on its way: no second request for 10 minutes. Odd attempts
// wait, since the attempt before may have been a request of another process.
func TestRefundWaits(t *testing.T) {
	posts := 0
	fake, client := fakeAndClient(t, 1)
	charge := newCharge("67")
	_, err := client.Charge(t.Context(), charge)
	must.Do(t, err)
	back := newRefund(charge, 400)
	ask := func(attempts int, after, want time.Duration) {
		t.Helper()
		o := back
		o.Order = later(back.Order, attempts, after)
		fake.LoseRequest("POST /refund")
		r, err := client.RefundStatus(t.Context(), o)
		if want > 0 {
			expect.NoError(t, err, "attempt %d after %s", attempts, after)
			expect.Equal(t, r.Outcome, provider.InProgress, "attempt %d after %s: outcome", attempts, after)
			expect.Equal(t, r.PollAfter, want, "attempt %d after %s: poll after", attempts, after)
		} else {
			expect.NoError(t, err, "attempt %d after %s", attempts, after)
			expect.Equal(t, r.Outcome, provider.NotFound, "attempt %d after %s: outcome", attempts, after)
			posts++
		}
		if want == 0 || after < 10*time.Minute {
			_, err = client.Refund(t.Context(), o)
			expect.True(t, err != nil, "attempt %d after %s: no error", attempts, after)
			expect.Equal(t, strings.Contains(fmt.Sprint(err), "earlier request"), want > 0, "attempt %d after %s: %v: it tells of an earlier request", attempts, after, err)
		}
	}
	ask(1, 0, 0)
	ask(2, 2*time.Second, 10*time.Minute-2*time.Second)
	ask(3, 9*time.Minute, 10*time.Minute)
	ask(4, 9*time.Minute, time.Minute)
	ask(5, 11*time.Minute, 10*time.Minute)
	ask(6, 21*time.Minute, 0) // a second request, which is lost, too
	ask(7, 22*time.Minute, 10*time.Minute)
	ask(8, 32*time.Minute, 0)
	expect.Equal(t, posts, 3, "requests")
	fake.Settle()
	last := back
	last.Order = later(back.Order, 10, 60*time.Minute)
	r, err := client.Refund(t.Context(), last)
	must.Do(t, err)
	expect.Equal(t, r.Outcome, provider.Paid, "outcome")
	expect.Equal(t, fake.Moved(back.ID), 1, "moved")
}

// A refund that Paystack has made is not made again, even if no list shows it.
func TestRefundThatIsNotListed(t *testing.T) {
	charge := newCharge("67")
	back := newRefund(charge, 400)
	s := stub{
		"GET /transaction/verify/*": succeeds(`{"id":17,"status":"success","amount":435}`), "GET /refund": succeeds(`[]`),
		"POST /refund": succeeds(`{"id":18,"status":"pending","amount":400,"transaction":{"id":17}}`),
	}
	client := clientOf(t, s)
	r, err := client.Refund(t.Context(), back)
	must.Do(t, err)
	expect.Equal(t, r.Outcome, provider.InProgress, "outcome")
	expect.Equal(t, r.Reference, "18", "reference")
	for attempts, after := range []time.Duration{0, time.Second, time.Hour, 100 * time.Hour} {
		o := back
		o.Order = later(back.Order, attempts+1, after)
		r, err = client.RefundStatus(t.Context(), o)
		must.Do(t, err)
		expect.Equal(t, r.Outcome, provider.InProgress, "outcome")
		expect.True(t, r.PollAfter > 0, "%+v, %v", r, err)
		r, err = client.Refund(t.Context(), o)
		expect.True(t, err != nil, "%+v", r)
	}
}

// At odd attempts even an error of the list makes the next attempt wait.
func TestRefundWaitsAfterAnError(t *testing.T) {
	client := clientOf(t, http.NotFoundHandler())
	back := newRefund(newCharge("67"), 400)
	for attempts, waits := range []bool{1: false, 2: false, 3: true, 4: false, 5: true} {
		o := back
		o.Order = later(back.Order, attempts, time.Hour)
		r, err := client.RefundStatus(t.Context(), o)
		expect.True(t, (err == nil) == waits, "attempt %d: %+v, %v", attempts, r, err)
		expect.True(t, (r.PollAfter == 10*time.Minute) == waits, "attempt %d: %+v, %v", attempts, r, err)
		expect.True(t, (r.Outcome == provider.InProgress) == waits, "attempt %d: %+v, %v", attempts, r, err)
	}
}

// A refund that is not listed may be what reversed its charge. Then only a person can tell.
func TestRefundOfAReversedCharge(t *testing.T) {
	client := clientOf(t, stub{
		"GET /transaction/verify/*": succeeds(`{"id":17,"status":"reversed","amount":435}`), "GET /refund": succeeds(`[]`), "GET /dispute": succeeds(`[]`),
		"POST /refund": rejection("Transaction has been fully reversed"),
	})
	back := newRefund(newCharge("67"), 435)
	r, err := client.Refund(t.Context(), back)
	must.Do(t, err)
	expect.Equal(t, r.Outcome, provider.Refused, "the first attempt: outcome")
	back.Order = later(back.Order, 2, time.Hour)
	_, err1 := client.RefundStatus(t.Context(), back)
	_, err2 := client.Refund(t.Context(), back)
	expect.True(t, err1 != nil, "a later attempt: %v, %v", err1, err2)
	expect.True(t, err2 != nil, "a later attempt: %v, %v", err1, err2)
}

// A rejected request proves nothing about an earlier one, so the list is read again before a refund
// is refused.
func TestRejectedRefundIsReadAgain(t *testing.T) {
	charge := newCharge("67")
	back := newRefund(charge, 435)
	for made, want := range map[bool]provider.Outcome{true: provider.Paid, false: provider.Refused} {
		rows := `[]`
		client := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			stub{
				"GET /transaction/verify/*": succeeds(`{"id":17,"status":"success","amount":435}`), "GET /refund": succeeds(rows),
				"POST /refund": rejection("Transaction has been fully reversed"),
			}.ServeHTTP(w, r)
			if r.Method == http.MethodPost && made { // by another process, a moment before
				rows = `[{"id":18,"status":"processed","amount":435,"merchant_note":"` + back.ID + `","transaction":17}]`
			}
		}))
		r, err := client.Refund(t.Context(), back)
		expect.NoError(t, err, "made %t", made)
		expect.Equal(t, r.Outcome, want, "made %t: outcome", made)
	}
}

// After a first request, a refund of the same amount whose note is lost may be the one that was
// asked for. It is not asked for twice, and a person has to look.
func TestRefundWithoutNote(t *testing.T) {
	charge := newCharge("67")
	back := newRefund(charge, 100)
	at := func(after time.Duration) string { return back.SubmittedAt.Add(after).UTC().Format(time.RFC3339) }
	for row, unclear := range map[string]bool{
		`{"id":1,"status":"processed","amount":100,"transaction":17,"createdAt":"` + at(time.Second) + `"}`:               true,
		`{"id":1,"status":"pending","amount":100,"transaction":17,"merchant_note":"by hand"}`:                             true,
		`{"id":1,"status":"processed","amount":100,"transaction":17,"createdAt":"` + at(-time.Hour) + `"}`:                false,
		`{"id":1,"status":"processed","amount":101,"transaction":17,"createdAt":"` + at(time.Second) + `"}`:               false,
		`{"id":1,"status":"failed","amount":100,"transaction":17,"createdAt":"` + at(time.Second) + `"}`:                  false,
		`{"id":1,"status":"processed","amount":100,"transaction":18,"createdAt":"` + at(time.Second) + `"}`:               false,
		`{"id":1,"status":"processed","amount":100,"transaction":17,"merchant_note":"` + newRefund(charge, 100).ID + `"}`: false,
	} {
		client := clientOf(t, stub{
			"GET /transaction/verify/*": succeeds(`{"id":17,"status":"success","amount":435}`), "GET /refund": succeeds("[" + row + "]"),
		})
		first, err := client.RefundStatus(t.Context(), back)
		expect.NoError(t, err, "%s at the first attempt", row)
		expect.Equal(t, first.Outcome, provider.NotFound, "%s at the first attempt: outcome", row)
		again := back
		again.Order = later(back.Order, 2, time.Hour)
		r, err := client.RefundStatus(t.Context(), again)
		expect.True(t, (err != nil) == unclear, "%s: %+v, %v", row, r, err)
		expect.True(t, (r.Outcome == provider.NotFound) != unclear, "%s: %+v, %v", row, r, err)
	}
}

// The list of a charge's refunds begins a day before the charge, in case Paystack does not filter it.
func TestRefundsAreListedSinceTheCharge(t *testing.T) {
	for created, want := range map[string]string{`"2026-11-02T10:00:00.000Z"`: "2026-11-01T10:00:00Z", `null`: "", `"yesterday"`: ""} {
		asked := false
		client := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/refund" {
				asked = true
				expect.Equal(t, r.URL.Query().Get("from"), want, "%s: from", created)
				expect.Equal(t, r.URL.Query().Get("transaction"), "17", "%s: transaction", created)
			}
			stub{
				"GET /transaction/verify/*": succeeds(`{"id":17,"status":"success","amount":435,"created_at":` + created + `}`), "GET /refund": succeeds(`[]`),
			}.ServeHTTP(w, r)
		}))
		_, err := client.RefundStatus(t.Context(), newRefund(newCharge("67"), 435))
		expect.NoError(t, err, "%s", created)
		expect.True(t, asked, "%s: %v", created, err)
	}
}

// If Paystack does not accept the payer's e-mail address, the operator's takes its place.
func TestRejectedEmail(t *testing.T) {
	fake, client := fakeAndClient(t, 1)
	for _, address := range []string{"", "ama@example.com", "ama"} {
		o := newCharge("67")
		o.Email = address
		r, err := client.Charge(t.Context(), o)
		expect.NoError(t, err, "%q", address)
		expect.Equal(t, r.Outcome, provider.Paid, "%q: outcome", address)
		expect.Equal(t, fake.Moved(o.ID), 1, "%q: times that money moved", address)
	}
	for operators, payers := range map[string]string{"": "ama", "pay": "ama", "volta": "volta"} {
		config := paystack.Config{SecretKey: paystacktest.SecretKey, Email: operators, HTTPClient: &http.Client{Transport: direct{fake}}}
		o := newCharge("67")
		o.Email = payers
		r, err := must.Get(paystack.New(config))(t).Charge(t.Context(), o)
		expect.True(t, err != nil, "%q and %q: %+v, %v", payers, operators, r, err)
		expect.Equal(t, r.Outcome, "", "%q and %q: outcome", payers, operators)
		expect.Equal(t, fake.Moved(o.ID), 0, "%q and %q: moved", payers, operators)
	}
}

// A test key takes no live order, and another key none of test mode. Neither makes a call.
func TestModes(t *testing.T) {
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls++ }))
	t.Cleanup(server.Close)
	for key, live := range map[string]bool{"sk_test_1": true, "sk_live_1": false, "sk_1": false} {
		client := must.Get(paystack.New(paystack.Config{SecretKey: key, BaseURL: server.URL, Email: email, HTTPClient: server.Client()}))(t)
		transfer, charge := newTransfer("67"), newCharge("67")
		transfer.Live, charge.Live = live, live
		back := newRefund(charge, 435)
		back.Live = live
		for name, call := range callsOf(client, transfer, charge, back) {
			_, err := call(t.Context())
			expect.True(t, strings.Contains(fmt.Sprint(err), "SecretKey"), "%s with %s: %v", name, key, err)
		}
		_, err := client.AccountName(t.Context(), provider.Enquiry{Live: live, Channel: provider.MobileMoney, Network: "mtn", Number: mtn + "67"})
		_, refused := err.(*provider.Refusal)
		expect.True(t, err != nil, "a name with %s: %v", key, err)
		expect.True(t, !refused, "a name with %s: %v", key, err)
	}
	expect.Equal(t, calls, 0, "calls")
}

// A refund of a charge that Paystack does not know, or that is not paid yet, waits.
func TestRefundOfAnOpenCharge(t *testing.T) {
	fake, client := fakeAndClient(t, 1)
	charge := newCharge(paystacktest.Stays)
	back := newRefund(charge, 400)
	for range 2 {
		_, err1 := client.Refund(t.Context(), back)
		_, err2 := client.RefundStatus(t.Context(), back)
		expect.True(t, err1 != nil, "%v, %v", err1, err2)
		expect.True(t, err2 != nil, "%v, %v", err1, err2)
		expect.Equal(t, fake.Moved(back.ID), 0, "moved")
		must.Get(client.Charge(t.Context(), charge))(t)
	}
}
