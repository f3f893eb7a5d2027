package httpapi_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// The specification's two lists of event types.
const (
	eventListA = `payment.created payment.pending payment.completed payment.failed
		subscription.created subscription.updated subscription.canceled subscription.paused subscription.resumed
		subscription.trial_ending subscription.payment_failed
		payout.created payout.pending payout.completed payout.failed
		refund.created refund.completed refund.failed
		checkout.session.completed checkout.session.expired
		plan.created plan.updated plan.deleted`
	eventListB = `payment.created payment.pending payment.processing payment.succeeded payment.failed payment.canceled
		subscription.created subscription.updated subscription.canceled subscription.paused subscription.resumed
		subscription.trial_will_end subscription.payment_succeeded subscription.payment_failed
		payout.created payout.processing payout.completed payout.failed payout.canceled
		refund.created refund.succeeded refund.failed
		checkout.session.completed checkout.session.expired
		customer.created customer.updated customer.deleted`
)

// What many rows begin with. A request is a method, a path and a body. "name = " before it keeps the id
// of the answer's object, which later requests write as $name. $otp is a verified one-time code.
const (
	aPlan         = `plan = POST /v1/plans {"name":"Gold","amount":5000,"interval":"month"}`
	aCustomer     = `customer = POST /v1/customers {"name":"Ama","phone_number":"0241234567"}`
	aSubscription = `sub = POST /v1/subscriptions {"customer":"$customer","plan":"$plan"}`
	aPayment      = `pay = POST /v1/payments {"amount":500,"phone_number":"0241234567"}`
	aSession      = `cs = POST /v1/checkout/sessions {"line_items":[{"description":"Juice","unit_amount":500}],"success_url":"https://shop.example.com/thanks"}`
	aRefund       = `re = POST /v1/refunds {"payment":"$pay"}`
	aPayout       = `po = POST /v1/payouts {"amount":5,"otp_code":"$otp","destination":{"type":"mobile_money","phone_number":"0241234567"}}`
)

// everyEvent are requests from an empty sandbox on, and the events of the two lists that they provoke.
var everyEvent = []struct {
	steps  []string
	events string
}{
	{[]string{aPayment}, "payment.created payment.pending payment.processing payment.succeeded payment.completed"},
	{[]string{`POST /v1/payments {"amount":500,"phone_number":"0241230901"}`}, "payment.failed"},
	{[]string{`pay = POST /v1/payments {"amount":500,"phone_number":"0241230906"}`, `POST /v1/payments/$pay/cancel`}, "payment.canceled"},

	{[]string{aPayout}, "payout.created payout.pending payout.processing payout.completed"},
	{[]string{strings.Replace(aPayout, "0241234567", "0241230901", 1)}, "payout.failed"},
	{[]string{`hold`, aPayout, `POST /v1/payouts/$po/cancel`}, "payout.canceled"},

	{[]string{aPayment, aRefund}, "refund.created refund.succeeded refund.completed"},
	{[]string{`pay = POST /v1/payments {"amount":500,"phone_number":"0241230911"}`, aRefund}, "refund.failed"},

	{[]string{aSession, `POST /v1/test_helpers/checkout/sessions/$cs/pay {"phone_number":"0241234567"}`}, "checkout.session.completed"},
	{[]string{aSession, `POST /v1/checkout/sessions/$cs/expire`}, "checkout.session.expired"},

	{[]string{aCustomer, `POST /v1/customers/$customer {"name":"Esi"}`, `DELETE /v1/customers/$customer`}, "customer.created customer.updated customer.deleted"},
	{[]string{aPlan, `POST /v1/plans/$plan {"name":"Silver"}`, `DELETE /v1/plans/$plan`}, "plan.created plan.updated plan.deleted"},

	{[]string{aPlan, aCustomer, aSubscription, `POST /v1/subscriptions/$sub {"quantity":2}`}, "subscription.created subscription.updated"},
	{
		[]string{aPlan, aCustomer, aSubscription, `POST /v1/subscriptions/$sub/pause`, `POST /v1/subscriptions/$sub/resume`, `POST /v1/subscriptions/$sub/cancel`},
		"subscription.paused subscription.resumed subscription.canceled",
	},
	{
		[]string{
			aPlan, aCustomer, `POST /v1/subscriptions {"customer":"$customer","plan":"$plan","trial_period_days":14}`,
			`POST /v1/test_helpers/clock {"advance":950400}`, // 11 days: 3 before the end
		},
		"subscription.trial_will_end subscription.trial_ending",
	},
	{
		[]string{aPlan, aCustomer, `POST /v1/subscriptions {"customer":"$customer","plan":"$plan","collection_method":"charge_automatically"}`},
		"subscription.payment_succeeded",
	},
	{
		[]string{
			aPlan, aCustomer,
			`POST /v1/subscriptions {"customer":"$customer","plan":"$plan","collection_method":"charge_automatically","phone_number":"0241230901"}`,
		},
		"subscription.payment_failed",
	},
}

var (
	eventStep = regexp.MustCompile(`^(?:(\w+) = )?([A-Z]+) (\S+) ?(.*)$`)
	keptID    = regexp.MustCompile(`\$(\w+)`)
)

// Every event name of the two lists happens in a sandbox, and reaches an endpoint that has asked for it
// under the name that it has asked for.
func TestEveryEventIsProvokedOverHTTP(t *testing.T) {
	oneGoroutine(t)
	wanted := map[string]bool{}
	for _, name := range strings.Fields(eventListA + " " + eventListB) {
		wanted[name] = true
	}
	for _, row := range everyEvent {
		for name := range strings.FieldsSeq(row.events) {
			expect.True(t, wanted[name], "%s is on neither list, or stands twice", name)
			delete(wanted, name)
		}
		t.Run(row.events, func(t *testing.T) { provoke(t, strings.Fields(row.events), row.steps) })
	}
	expect.True(t, len(wanted) == 0, "no requests provoke %v", wanted)
}

func provoke(t *testing.T, names, steps []string) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{WebhookAllow: paymentstest.Loopback()})
	inboxes := make([]*paymentstest.Inbox, len(names))
	for i, name := range names {
		inboxes[i] = s.Inbox(event.Type(name))
	}
	kept, held := map[string]string{}, false
	for _, step := range steps {
		if step == "hold" {
			held = true // the work waits, so that a transfer can still be cancelled
			continue
		}
		if strings.Contains(step, "$otp") {
			kept["otp"] = s.OTP()
		}
		m := eventStep.FindStringSubmatch(keptID.ReplaceAllStringFunc(step, func(id string) string { return kept[id[1:]] }))
		must.True(t, m != nil, "%q is no request", step)
		var body any
		if m[4] != "" {
			body = m[4]
		}
		response, data := s.Do(m[2], m[3], body)
		must.True(t, response.StatusCode == 200, "%s: %d %s", step, response.StatusCode, data)
		kept[m[1]] = field(t, data, "id")
		if !held {
			s.Work()
		}
	}
	for i, name := range names {
		events := inboxes[i].Events()
		must.True(t, len(events) > 0, "%s was not delivered", name)
		expect.Equal(t, events[len(events)-1].Type, event.Type(name), "delivered type")
		expect.Equal(t, read(t, s, "/v1/events?type="+name, "data.0.type"), name, "listed type")
	}
}
