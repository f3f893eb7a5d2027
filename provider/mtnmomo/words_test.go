package mtnmomo_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/mtnmomo"
)

// want is what a reason means: the code and message of a transfer, the message of a charge, and the failure of both.
type want struct {
	code             api.Code
	transfer, charge string
	recheck          bool
	failure          provider.Failure
}

const (
	noTransfer = "MTN could not make the transfer."
	noCharge   = "MTN could not take the payment."
)

var wanted = map[string]want{
	"PAYEE_NOT_FOUND":                {api.InvalidDestination, "The number has no MTN MoMo wallet.", noCharge, false, ""},
	"PAYER_NOT_FOUND":                {mtnmomo.Failed, noTransfer, "The number has no MTN MoMo wallet.", false, ""},
	"PAYEE_NOT_ALLOWED_TO_RECEIVE":   {api.RecipientUnavailable, "The recipient's wallet may not receive this amount.", noCharge, false, ""},
	"NOT_ALLOWED":                    {mtnmomo.Failed, "MTN does not allow this transfer.", "MTN does not allow this payment.", false, ""},
	"NOT_ALLOWED_TARGET_ENVIRONMENT": {mtnmomo.Failed, noTransfer, noCharge, false, ""},
	"INVALID_CALLBACK_URL_HOST":      {mtnmomo.Failed, noTransfer, noCharge, false, ""},
	"INVALID_CURRENCY":               {mtnmomo.Failed, noTransfer, noCharge, false, ""},
	"PAYER_LIMIT_REACHED":            {mtnmomo.Failed, "The operator's limit at MTN is reached.", "The payer's limit is reached.", false, provider.FailureLimit},
	"NOT_ENOUGH_FUNDS":               {api.ProviderBalanceInsufficient, "The operator has too little money at MTN.", "The payer's balance is too low.", false, provider.FailureInsufficientFunds},
	"APPROVAL_REJECTED":              {mtnmomo.Failed, noTransfer, "The payer declined.", false, provider.FailureDeclined},
	"EXPIRED":                        {mtnmomo.Failed, noTransfer, "The payer did not answer in time.", false, provider.FailureTimeout},
	"PAYMENT_NOT_APPROVED":           {mtnmomo.Failed, noTransfer, "The payer did not approve the payment.", false, provider.FailureDeclined},
	"TRANSACTION_CANCELED":           {mtnmomo.Failed, "The transfer was cancelled at MTN.", "The payment was cancelled at MTN.", false, provider.FailureCancelled},
	"COULD_NOT_PERFORM_TRANSACTION":  {mtnmomo.Failed, noTransfer, "The payer did not answer in time.", true, provider.FailureTimeout},
	"INTERNAL_PROCESSING_ERROR":      {mtnmomo.Failed, noTransfer, noCharge, true, ""},
	"SERVICE_UNAVAILABLE":            {mtnmomo.Failed, noTransfer, noCharge, true, ""},
	"RESOURCE_NOT_FOUND":             {mtnmomo.Failed, noTransfer, noCharge, false, ""},
	"RESOURCE_ALREADY_EXIST":         {mtnmomo.Failed, noTransfer, noCharge, false, ""},
}

// Each reason is final in a status query that says FAILED, as a string and as an object. As an
// HTTP status of a submission or a status query it leaves the order unknown.
func TestReasons(t *testing.T) {
	expect.Equal(t, len(mtnmomo.Reasons()), len(wanted), "reasons")
	r := newRig(t, 1).overHTTP(t)
	for _, word := range append(mtnmomo.Reasons(), "A_WORD_OF_TOMORROW") {
		w, known := wanted[word]
		if !known {
			w = want{mtnmomo.Failed, noTransfer, noCharge, true, ""}
			expect.Equal(t, word, "A_WORD_OF_TOMORROW", "a reason without a row")
		}
		for _, form := range []string{`"` + word + `"`, `{"code":"` + word + `","message":"x"}`} {
			body := `{"status":"FAILED","reason":` + form + `}`
			r.AnswerNext(200, body)
			got := must.Get(r.client.Status(t.Context(), r.transfer("567")))(t)
			expect.Equal(t, got, provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Code: w.code, Message: w.transfer, Failure: w.failure}}, "%s", body)
			r.AnswerNext(200, body)
			got = must.Get(r.client.ChargeStatus(t.Context(), r.charge("567")))(t)
			charge := provider.Result{Outcome: provider.Refused, Network: "mtn", Reason: provider.Refusal{Message: w.charge, Failure: w.failure}}
			if w.recheck {
				charge.PollAfter = 15 * time.Minute
			}
			expect.Equal(t, got, charge, "%s", body)
		}
		for _, status := range []int{500, 503, 403, 429} {
			r.AnswerNext(status, `{"code":"`+word+`","message":"x"}`)
			result, err := r.client.Submit(t.Context(), r.transfer("567"))
			expect.True(t, err != nil, "%d %s of a submission: %+v, %v", status, word, result, err)
			expect.Equal(t, result, provider.Result{}, "%d %s of a submission: result", status, word)
			r.AnswerNext(status, `{"code":"`+word+`","message":"x"}`)
			result, err = r.client.ChargeStatus(t.Context(), r.charge("567"))
			expect.True(t, err != nil, "%d %s of a status: %+v, %v", status, word, result, err)
			expect.Equal(t, result, provider.Result{}, "%d %s of a status: result", status, word)
		}
	}
}

func TestStatuses(t *testing.T) {
	r := newRig(t, 1).overHTTP(t)
	expect.Equal(t, len(mtnmomo.Statuses()), 3, "statuses")
	for word, want := range map[string]provider.Outcome{
		"PENDING": "in_progress", "SUCCESSFUL": "paid", "FAILED": "refused",
		"ONGOING": "in_progress", "successful": "in_progress", "REVERSED": "in_progress", "CREATED": "in_progress",
	} {
		body := `{"status":"` + word + `","financialTransactionId":363440463}`
		r.AnswerNext(200, body)
		got := must.Get(r.client.Status(t.Context(), r.transfer("567")))(t)
		expect.Equal(t, got.Outcome, want, "%s", body)
		expect.Equal(t, got.Reference, "363440463", "%s", body)
	}
}

// The end of another order ends none, whatever it is.
func TestEndOfAnotherOrder(t *testing.T) {
	r := newRig(t, 1).overHTTP(t)
	for _, word := range []string{"SUCCESSFUL", "FAILED"} {
		o := r.transfer("567")
		r.AnswerNext(200, `{"status":"`+word+`","reason":"PAYEE_NOT_FOUND","externalId":"`+r.order("po_", 435).ID+`"}`)
		got, err := r.client.Status(t.Context(), o)
		expect.True(t, err != nil, "%s of another order: %+v", word, got)
		expect.Equal(t, got, provider.Result{}, "%s of another order", word)
		r.AnswerNext(200, `{"status":"`+word+`","reason":"PAYEE_NOT_FOUND","externalId":"`+o.ID+`"}`)
		expect.True(t, must.Get(r.client.Status(t.Context(), o))(t).Outcome.Final(), "%s of the order", word)
	}
}

// Only MTN's own word tells the outcome; whatever else comes back leaves it unknown.
func TestAnswers(t *testing.T) {
	long := `{"status":"SUCCESSFUL","payerMessage":"` + strings.Repeat("x", 4<<20) + `"}`
	for _, c := range []struct {
		status       int
		body         string
		submit, asks provider.Outcome // "" for an error
	}{
		{200, `{"status":"SUCCESSFUL"}`, "", "paid"},
		{202, ``, "in_progress", ""},
		{202, `<html>`, "in_progress", ""},
		{200, `{}`, "", ""},
		{200, ``, "", ""},
		{200, `<html>`, "", ""},
		{200, `{"status":"SUCCESSFUL"`, "", ""},
		{200, `{"status":7}`, "", ""},
		{200, long, "", ""},
		{301, ``, "", ""},
		{401, `{"statusCode":401,"message":"Access denied"}`, "", ""},
		{404, `{"code":"RESOURCE_NOT_FOUND"}`, "", "in_progress"},
		{404, `{"statusCode":404,"message":"Resource not found"}`, "", ""}, // a gateway
		{404, ``, "", ""},
		{409, `{"code":"SOMETHING_ELSE"}`, "", ""},
		{409, ``, "", ""},
		{500, ``, "", ""},
		{504, `{"status":"FAILED"}`, "", ""},
	} {
		r := newRig(t, 1).overHTTP(t)
		for call, want := range map[string]provider.Outcome{"submit": c.submit, "status": c.asks} {
			o, do := r.transfer("567"), r.client.Submit
			if call == "status" {
				do = r.client.Status
			}
			for range 2 { // a 401 is asked about twice
				r.AnswerNext(c.status, c.body)
			}
			got, err := do(t.Context(), o)
			name := fmt.Sprintf("%s, %d %.60s", call, c.status, c.body)
			expect.True(t, (err == nil) == (want != ""), "%s: %+v, %v", name, got, err)
			expect.Equal(t, got.Outcome, want, "%s: outcome", name)
			if err != nil {
				r.discreet(t, err.Error(), o.Number)
				is := &provider.Error{}
				want := map[int]provider.Class{
					401: provider.ClassUnauthorized, 404: provider.ClassRefused, 409: provider.ClassRefused, 500: provider.ClassUnreachable, 504: provider.ClassTimeout,
				}[c.status]
				must.True(t, errors.As(err, &is), "%s: the class %+v of %v", name, is, err)
				expect.Equal(t, is.Class, cmp.Or(want, provider.ClassUnreadable), "%s: the class: class", name)
			}
			r.Settle()
		}
	}
}

// discreet checks that a text has no secret and no number.
func (r *rig) discreet(t *testing.T, text, number string) {
	t.Helper()
	for _, secret := range append([]string{strings.TrimPrefix(number, "+233")}, secrets...) {
		expect.True(t, !strings.Contains(text, secret), "a text tells %s: %s", secret, text)
	}
}

// A submission that MTN finds malformed is refused, unless an earlier one may have arrived.
func TestMalformedSubmission(t *testing.T) {
	r := newRig(t, 1)
	first := r.transfer("567")
	r.AnswerNext(400, `{"message":"Bad request"}`)
	got := must.Get(r.client.Submit(t.Context(), first))(t)
	expect.Equal(t, got.Reason, provider.Refusal{Code: mtnmomo.Failed, Message: noTransfer}, "the first attempt")

	charge := r.charge("567")
	r.AnswerNext(400, `{"code":"","message":"x"}`)
	got = must.Get(r.client.Charge(t.Context(), charge))(t)
	expect.Equal(t, got.Reason, provider.Refusal{Message: noCharge}, "a charge")

	second := r.transfer("567")
	second.Attempts = 2
	r.AnswerNext(400, `{"message":"Bad request"}`)
	got, err := r.client.Submit(t.Context(), second)
	expect.True(t, err != nil, "a second attempt at once: %+v", got)
	for after, refused := range map[time.Duration]bool{time.Minute: true, 23 * time.Hour: true, 24 * time.Hour: false} {
		o := second
		o.Order = later(second.Order, after)
		r.AnswerNext(400, `{"message":"Bad request"}`)
		got, err = r.client.Submit(t.Context(), o)
		expect.Equal(t, err == nil && got.Outcome == provider.Refused, refused, "a second attempt after %s: %+v, %v", after, got, err)
	}

	// The first attempt arrived, and its answer was lost.
	known := r.transfer("567")
	r.LoseAnswer()
	_, err = r.client.Submit(t.Context(), known)
	expect.True(t, err != nil, "a lost answer is no error")
	known.Order = later(known.Order, time.Minute)
	r.AnswerNext(400, `{"message":"Bad request"}`)
	got = must.Get(r.client.Submit(t.Context(), known))(t)
	expect.Equal(t, got.Outcome, provider.Paid, "a known order")

	// MTN does not answer what it knows.
	r.AnswerNext(400, `{"message":"Bad request"}`)
	r.AnswerNext(500, "")
	got, err = r.client.Submit(t.Context(), r.transfer("567"))
	expect.True(t, err != nil, "nothing is known: %+v", got)
	r.discreet(t, r.log.String(), first.Number)
}

// A submission that MTN refuses for the settings, and a 400 that is not MTN's own, end no order: the
// order waits until the operator has repaired the settings.
func TestRefusedSubmissionWaits(t *testing.T) {
	for body, waits := range map[string]bool{
		`{"code":"NOT_ALLOWED_TARGET_ENVIRONMENT"}`: true, `{"code":"INVALID_CALLBACK_URL_HOST"}`: true, `{"code":"INVALID_CURRENCY","message":"x"}`: true,
		``: true, `<html>Bad Request</html>`: true, `"no"`: true, `{"code":"PAYEE_NOT_FOUND"}`: false, `{}`: false,
	} {
		for name, submit := range map[string]func(*rig) (provider.Result, error){
			"a transfer": func(r *rig) (provider.Result, error) { return r.client.Submit(t.Context(), r.transfer("567")) },
			"a charge":   func(r *rig) (provider.Result, error) { return r.client.Charge(t.Context(), r.charge("567")) },
			"a refund": func(r *rig) (provider.Result, error) {
				return r.client.Refund(t.Context(), provider.Refund{Order: r.order("re_", 435), Charge: r.charge("567").ID})
			},
		} {
			r := newRig(t, 1).overHTTP(t)
			r.AnswerNext(400, body)
			got, err := submit(r)
			expect.True(t, (err != nil) == waits, "%s, %s: %+v, %v", name, body, got, err)
			expect.True(t, (got.Outcome == provider.Refused) != waits, "%s, %s: %+v, %v", name, body, got, err)
			expect.True(t, strings.Contains(r.log.String(), "level=ERROR"), "%s, %s: the log %s", name, body, r.log)
			expect.Equal(t, strings.Contains(r.log.String(), "partner portal"), waits, "%s, %s: contains", name, body)
		}
	}
}

// MTN may answer "not found" shortly after it has taken an order, and when it has forgotten one.
func TestNotFound(t *testing.T) {
	r := newRig(t, 1)
	o := r.transfer("567")
	for _, c := range []struct {
		after time.Duration
		want  provider.Outcome
		poll  time.Duration
	}{
		{-time.Hour, "in_progress", 30 * time.Second},
		{0, "in_progress", 30 * time.Second},
		{20 * time.Second, "in_progress", 10 * time.Second},
		{30 * time.Second, "not_found", 0},
		{24*time.Hour - 1, "not_found", 0},
		{24 * time.Hour, "in_progress", 0},
		{24 * 365 * time.Hour, "in_progress", 0},
	} {
		asked := o
		asked.Order = later(o.Order, c.after)
		got := must.Get(r.client.Status(t.Context(), asked))(t)
		expect.Equal(t, got, provider.Result{Outcome: c.want, PollAfter: c.poll}, "after %s", c.after)
	}
	expect.Equal(t, strings.Count(r.log.String(), "level=ERROR"), 1, "log lines of the forgotten order: %s", r.log)
	expect.True(t, strings.Contains(r.log.String(), o.ID), "the log does not name the order: %s", r.log)
}

// After the deadline the library ends a charge that MTN does not know. So the client is not sure
// before a submission just before the deadline must be visible.
func TestNotFoundAfterDeadline(t *testing.T) {
	r := newRig(t, 1)
	for after, want := range map[time.Duration]provider.Outcome{
		-time.Second: "not_found", 0: "in_progress", 59 * time.Second: "in_progress", time.Minute: "not_found", time.Hour: "not_found",
	} {
		c := r.charge("567")
		c.Deadline = c.Now.Add(10 * time.Minute)
		c.Order = later(c.Order, 10*time.Minute+after)
		got := must.Get(r.client.ChargeStatus(t.Context(), c))(t)
		expect.Equal(t, got.Outcome, want, "%s after", after)
		if want == provider.InProgress {
			expect.Equal(t, got.PollAfter, time.Minute-after, "%s after", after)
		}
	}
}

// A 409 says that MTN has the order. The answer is then what MTN says of it.
func TestDuplicate(t *testing.T) {
	r := newRig(t, 1)
	for last, want := range map[string]provider.Outcome{"567": "paid", "457": "refused", "453": "in_progress"} {
		o := r.transfer(last)
		r.LoseAnswer()
		_, err := r.client.Submit(t.Context(), o)
		expect.True(t, err != nil, "a lost answer is no error")
		got := must.Get(r.client.Submit(t.Context(), o))(t)
		expect.Equal(t, got.Outcome, want, "%s", last)
	}
	r.AnswerNext(409, `{"code":"RESOURCE_ALREADY_EXIST"}`)
	got, err := r.client.Submit(t.Context(), r.transfer("567")) // which then is not found
	expect.NoError(t, err, "a duplicate that is not found")
	expect.Equal(t, got.Outcome, provider.InProgress, "a duplicate that is not found")
	r.AnswerNext(409, `{"code":"RESOURCE_ALREADY_EXIST"}`)
	r.AnswerNext(503, "")
	got, err = r.client.Submit(t.Context(), r.transfer("567"))
	expect.True(t, err != nil, "a duplicate without a state: %+v", got)
}

// An empty float is the operator's lack, and has the code for it.
func TestEmptyFloat(t *testing.T) {
	r := newRig(t, 1)
	r.SetFloat(100)
	o := r.transfer("567")
	must.Get(r.client.Submit(t.Context(), o))(t)
	got := must.Get(r.client.Status(t.Context(), o))(t)
	expect.Equal(t, got.Reason.Text(), "provider_balance_insufficient: The operator has too little money at MTN.", "reason")
	balance := must.Get(r.client.Balance(t.Context(), true))(t)
	expect.Equal(t, balance.Available, 100, "balance")
	r.discreet(t, r.log.String(), o.Number)
}

// A setting that MTN refuses is logged for the operator, whatever the order.
func TestRefusedSettings(t *testing.T) {
	for _, word := range mtnmomo.Reasons() {
		r := newRig(t, 1).overHTTP(t)
		r.AnswerNext(200, `{"status":"FAILED","reason":"`+word+`"}`)
		must.Get(r.client.ChargeStatus(t.Context(), r.charge("567")))(t)
		mine := word == "INVALID_CURRENCY" || word == "NOT_ALLOWED_TARGET_ENVIRONMENT" || word == "INVALID_CALLBACK_URL_HOST"
		expect.Equal(t, strings.Contains(r.log.String(), "level=ERROR"), mine, "%s is logged", word)
	}
}

// A success is of the order's amount, currency and id, as far as MTN tells them. An order by its id
// alone, as of a callback, gets the amount that MTN reports.
func TestOtherMoney(t *testing.T) {
	r := newRig(t, 1).overHTTP(t)
	transfer, charge := r.transfer("567"), r.charge("567")
	for form, want := range map[string]int64{
		`"amount":"4.35","currency":"GHS","externalId":"ID"`: 435,
		`"amount":4.35`:                      435,
		`"amount":"4.350"`:                   435,
		`"currency":"GHS"`:                   0,
		`"amount":"4.34","currency":"GHS"`:   -1,
		`"amount":"43500","currency":"GHS"`:  -1,
		`"amount":"4.351"`:                   -1,
		`"amount":"a lot"`:                   -1,
		`"amount":"4.35","currency":"EUR"`:   -1,
		`"amount":"4.35","externalId":"po_"`: -1,
	} {
		for id, ask := range map[string]func() (provider.Result, error){
			transfer.ID: func() (provider.Result, error) { return r.client.Status(t.Context(), transfer) },
			charge.ID:   func() (provider.Result, error) { return r.client.ChargeStatus(t.Context(), charge) },
		} {
			r.AnswerNext(200, `{"status":"SUCCESSFUL",`+strings.ReplaceAll(form, "ID", id)+`}`)
			got, err := ask()
			if want < 0 {
				expect.True(t, err != nil, "%s: %+v, %v", form, got, err)
				expect.Equal(t, got.Outcome, "", "%s: outcome", form)
				is := &provider.Error{}
				must.True(t, errors.As(err, &is), "%s: %v has no class", form, err)
				expect.Equal(t, is.Route, mtnmomo.Route, "%s: route", form)
				mismatch := map[string]int64{`"amount":"4.34","currency":"GHS"`: 434, `"amount":"43500","currency":"GHS"`: 43500_00, `"amount":"4.35","currency":"EUR"`: 0}
				amount, other := mismatch[form]
				expect.Equal(t, is.Amount, amount, "%s: the class: amount", form)
				expect.True(t, (is.Class == provider.ClassAmountMismatch) == other, "%s: the class %+v", form, is)
				expect.True(t, (is.Class == provider.ClassUnreadable) == !other, "%s: the class %+v", form, is)
			} else {
				expect.NoError(t, err, "%s", form)
				expect.Equal(t, got.Outcome, provider.Paid, "%s: outcome", form)
				expect.Equal(t, got.Amount, want, "%s: amount", form)
			}
		}
	}
	charge.Amount = 0
	r.AnswerNext(200, `{"status":"SUCCESSFUL","amount":"1.00","currency":"GHS"}`)
	got, err := r.client.ChargeStatus(t.Context(), charge)
	must.Do(t, err)
	expect.Equal(t, got.Outcome, provider.Paid, "without an amount of the order: outcome")
	expect.Equal(t, got.Amount, 100, "without an amount of the order: amount")
}

// A client of the sandbox takes orders of test mode only, and any other takes live orders only.
func TestModes(t *testing.T) {
	r := newRig(t, 1)
	sandbox := r.config
	sandbox.TargetEnvironment, sandbox.Currency = "sandbox", "EUR"
	for name, client := range map[string]*mtnmomo.Client{"live": r.client, "sandbox": must.Get(mtnmomo.New(sandbox))(t)} {
		transfer, charge := r.transfer("567"), r.charge("567")
		transfer.Live, charge.Live = name != "live", name != "live"
		back := provider.Refund{Order: r.order("re_", 100), Charge: charge.ID}
		back.Live = name != "live"
		for call, err := range map[string]error{
			"Submit":       testkit.Err(client.Submit(t.Context(), transfer)),
			"Status":       testkit.Err(client.Status(t.Context(), transfer)),
			"Check":        client.Check(t.Context(), transfer),
			"AccountName":  testkit.Err(client.AccountName(t.Context(), provider.Enquiry{Live: transfer.Live, Channel: transfer.Channel, Network: "mtn", Number: transfer.Number})),
			"Charge":       testkit.Err(client.Charge(t.Context(), charge)),
			"ChargeStatus": testkit.Err(client.ChargeStatus(t.Context(), charge)),
			"Refund":       testkit.Err(client.Refund(t.Context(), back)),
			"RefundStatus": testkit.Err(client.RefundStatus(t.Context(), back)),
		} {
			var refused *provider.Refusal
			expect.True(t, strings.Contains(fmt.Sprint(err), "TargetEnvironment"), "%s of the %s client: %v", call, name, err)
			expect.True(t, !errors.As(err, &refused), "%s of the %s client: %v", call, name, err)
		}
	}
	expect.Equal(t, r.Calls(), 0, "calls")
}

// Forged callbacks about an order that failed do not fill the log.
func TestAlertsComeOnce(t *testing.T) {
	r, clock := withClock(t, newRig(t, 1))
	o, other := r.transfer("461"), r.transfer("461")
	h := r.client.WebhookHandler(new(notified).notify)
	for _, o := range []provider.Transfer{o, other} {
		must.Get(r.client.Submit(t.Context(), o))(t)
		for range 5 {
			clock.move(time.Second)
			expect.Equal(t, call(h, "PUT", `{"externalId":"`+o.ID+`"}`), 204, "the callback")
			must.Get(r.client.Status(t.Context(), o))(t)
		}
	}
	expect.Equal(t, strings.Count(r.log.String(), "level=ERROR"), 2, "log lines: %s", r.log)
}

// Where MTN takes a success back, the adapter reports it. The library lists a contradiction.
func TestReversal(t *testing.T) {
	r := newRig(t, 1)
	o := r.transfer("567")
	must.Get(r.client.Submit(t.Context(), o))(t)
	r.Reverse(o.ID)
	got := must.Get(r.client.Status(t.Context(), o))(t)
	expect.Equal(t, got.Outcome, provider.Refused, "outcome")
	expect.Equal(t, len(r.Ledger()), 2, "entries")
}
