package httpapi_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
)

// What a page must not say, or offer, of money that somebody may have.
var (
	nothingTaken = []string{"Nothing was taken", "nothing is taken", "Nothing is taken"}
	paysAgain    = []string{"Try again", "Pay from a wallet", "Still want to pay?", `href="../pay/`}
)

// A page of each final status and decision of staff is true: none says that nothing was taken of money that is kept,
// and none leads to a second payment before the first is back.
func TestPagesOfDecidedPayments(t *testing.T) {
	const amount = "15.00"
	adjust := func(t *testing.T, s *paymentstest.Shop, id, by string) {
		t.Helper()
		_, err := s.Accounts.Adjust(t.Context(), s.Caller, account.AdjustParams{
			Amount: decimal.RequireFromString(by), Reason: "Seen in the portal", Actor: "esi@operator.example", Reference: id,
		})
		must.Do(t, err)
	}
	resolve := func(t *testing.T, s *paymentstest.Shop, id string) {
		t.Helper()
		must.Do(t, s.Providers.Resolve(t.Context(), id))
	}
	notify := func(t *testing.T, s *paymentstest.Shop, id string, r provider.Result) {
		t.Helper()
		_ = s.Providers.Notify(t.Context(), id, r)
	}
	failedThenPaid := func(t *testing.T, s *paymentstest.Shop, id string) { s.Advance(20 * time.Minute) } // of …0910
	type step = func(*testing.T, *paymentstest.Shop, string)
	book := func(t *testing.T, s *paymentstest.Shop, id string) { adjust(t, s, id, amount); resolve(t, s, id) }
	for what, c := range map[string]struct {
		phone string
		steps []step
		says  []string
		pays  bool // again
		kept  bool // somebody has, or may have, the money
	}{
		"failed":               {"0241230901", nil, []string{"Not paid", "Nothing was taken.", "Try again"}, true, false},
		"failed, contradicted": {"0241230910", []step{failedThenPaid}, []string{"It is not clear whether this was paid", "Do not pay again.", "MTN first said that this was not paid, then that it was. Adom Juice Bar is finding out, and an SMS tells you."}, false, true},
		"failed, kept":         {"0241230910", []step{failedThenPaid, resolve}, []string{"Not paid", "Adom Juice Bar found on ", "before you pay again."}, false, true},
		"failed, booked":       {"0241230910", []step{failedThenPaid, book}, []string{"Paid, confirmed by Adom Juice Bar on ", "MTN first said that this was not paid. It was, and Adom Juice Bar has it. <b>Do not pay again.</b>", "An SMS with this was sent to 024 ••• 0910."}, false, true},
		"failed, booked, not resolved": {
			"0241230910",
			[]step{failedThenPaid, func(t *testing.T, s *paymentstest.Shop, id string) { adjust(t, s, id, amount) }},
			[]string{"Paid, confirmed by Adom Juice Bar on "},
			false, true,
		},
		"failed, booked less the fee": {
			"0241230910",
			[]step{failedThenPaid, func(t *testing.T, s *paymentstest.Shop, id string) { adjust(t, s, id, "14.70"); resolve(t, s, id) }},
			[]string{"Paid, confirmed by Adom Juice Bar on "},
			false, true,
		},
		"failed, booked and undone": {
			"0241230910",
			[]step{failedThenPaid, book, func(t *testing.T, s *paymentstest.Shop, id string) { adjust(t, s, id, "-"+amount) }},
			[]string{"Not paid", "before you pay again."},
			false, true,
		},
		"failed, booked, partly given back": {"0241230910", []step{failedThenPaid, book, giveBack(500)}, []string{"Paid, confirmed by Adom Juice Bar on ", "GH₵ 5.00 of it was given back", "Do not pay again."}, false, true},
		"failed, booked, given back":        {"0241230910", []step{failedThenPaid, book, giveBack(1500)}, []string{"Given back by Adom Juice Bar on ", "MTN took this after it had said “not paid”. The money is back on 024 ••• 0910.", "Still want to pay?", "Pay GH₵ 15.00 now", "Taken", ">re_"}, true, false},
		"failed, booked without a contradiction": {
			"0241230901",
			[]step{func(t *testing.T, s *paymentstest.Shop, id string) { adjust(t, s, id, amount) }},
			[]string{"Paid, confirmed by Adom Juice Bar on "},
			false, true,
		},
		"completed": {"0241234567", nil, []string{"Paid", "024 ••• 4567"}, false, true},
		"completed, contradicted": {
			"0241234567",
			[]step{func(t *testing.T, s *paymentstest.Shop, id string) {
				notify(t, s, id, provider.Result{Outcome: provider.Refused})
			}},
			[]string{"Paid"},
			false, true,
		},
		"completed, kept": {"0241234567", []step{func(t *testing.T, s *paymentstest.Shop, id string) {
			notify(t, s, id, provider.Result{Outcome: provider.Refused})
			resolve(t, s, id)
		}}, []string{"Paid"}, false, true},
		"completed, booked as unpaid": {"0241234567", []step{func(t *testing.T, s *paymentstest.Shop, id string) {
			notify(t, s, id, provider.Result{Outcome: provider.Refused})
			adjust(t, s, id, "-"+amount)
			resolve(t, s, id)
		}}, []string{"Not paid, as Adom Juice Bar found out on ", "MTN first said that this was paid. It was not."}, false, true},
		"completed, given back":      {"0241234567", []step{giveBack(1500)}, []string{"Paid, and given back", "The money is back on"}, false, false},
		"completed, on its way back": {"0241230912", []step{giveBack(1500)}, []string{"Paid, and given back", "The money is on its way back to"}, false, true},
		"completed, taken back": {
			"0241234567",
			[]step{func(t *testing.T, s *paymentstest.Shop, id string) {
				notify(t, s, id, provider.Result{Outcome: provider.Reversed})
			}},
			[]string{"Paid, and given back"},
			false, false,
		},
		"cancelled": {"0241230906", []step{cancel}, []string{"Cancelled", "Nothing was taken."}, true, false},
		"cancelled, contradicted": {
			"0241230906",
			[]step{cancel, func(t *testing.T, s *paymentstest.Shop, id string) {
				notify(t, s, id, provider.Result{Outcome: provider.Paid})
			}},
			[]string{"It is not clear whether this was paid", "This was cancelled, and then MTN said that it was paid.", "Do not pay again."},
			false, true,
		},
		"cancelled, kept": {"0241230906", []step{cancel, func(t *testing.T, s *paymentstest.Shop, id string) {
			notify(t, s, id, provider.Result{Outcome: provider.Paid})
			resolve(t, s, id)
		}}, []string{"Not paid", "before you pay again."}, false, true},
		"cancelled, booked": {"0241230906", []step{cancel, func(t *testing.T, s *paymentstest.Shop, id string) {
			notify(t, s, id, provider.Result{Outcome: provider.Paid})
			book(t, s, id)
		}}, []string{"Paid, confirmed by Adom Juice Bar on ", "This was cancelled, but it was paid, and Adom Juice Bar has it. <b>Do not pay again.</b>"}, false, true},
		"cancelled, booked, given back": {"0241230906", []step{cancel, func(t *testing.T, s *paymentstest.Shop, id string) {
			notify(t, s, id, provider.Result{Outcome: provider.Paid})
			book(t, s, id)
		}, giveBack(1500)}, []string{"Given back by Adom Juice Bar on ", "MTN took this after this was cancelled. The money is back on 024 ••• 0906."}, true, false},
		"cancelled, booked, on its way back": {"0241230912", []step{cancel, func(t *testing.T, s *paymentstest.Shop, id string) {
			notify(t, s, id, provider.Result{Outcome: provider.Paid})
			book(t, s, id)
		}, giveBack(1500)}, []string{"Given back by Adom Juice Bar on ", "The money is on its way back to 024 ••• 0912"}, false, true},
		"failed, another amount": {
			"0241230901",
			[]step{func(t *testing.T, s *paymentstest.Shop, id string) {
				notify(t, s, id, provider.Result{Outcome: provider.Paid, Amount: 999})
			}},
			[]string{"It is not clear whether this was paid", "Do not pay again."},
			false, true,
		},
		"not decided, another amount": {"0241230903", []step{func(t *testing.T, s *paymentstest.Shop, id string) {
			notify(t, s, id, provider.Result{Outcome: provider.Paid, Amount: 999})
			s.Advance(20 * time.Minute)
		}}, []string{"It is not clear whether this was paid", "Do not pay again."}, false, true},
	} {
		t.Run(what, func(t *testing.T) {
			s := paymentstest.New(t)
			follow := startPayment(t, s.Server.URL+"/pay/"+newCode(t, s, `{"amount":1500,"name":"Table 4"}`), c.phone)
			if !strings.HasPrefix(what, "cancelled") {
				s.Work()
			}
			id := must.Get(s.Payments.List(t.Context(), s.Caller, payment.ListParams{}))(t).Data[0].ID
			for _, do := range c.steps {
				do(t, s, id)
				s.Work()
			}
			_, page := newBrowser(t).load(t, "GET", follow, nil)
			holds(t, what, page, c.says...)
			if c.kept {
				lacks(t, what, page, nothingTaken...)
			}
			if !c.pays {
				lacks(t, what, page, paysAgain...)
			}
			lacks(t, what, page, "esi@operator.example", "Seen in the portal")
		})
	}
}

// The page of an invoice or of a session says of a payment whose money somebody has, or may have, what the payment's
// own page says, in place of a form, until the money is back.
func TestPagesOfWhatADecidedPaymentPays(t *testing.T) {
	for what, open := range map[string]func(*paymentstest.Shop) string{
		"invoice": func(s *paymentstest.Shop) string {
			v := must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{AutoFinalize: true, Fields: invoice.Fields{
				Lines: []invoice.LineParams{{Description: "Juice", UnitAmount: new(int64(1500))}},
			}}))(t)
			return v.HostedURL
		},
		"session": func(s *paymentstest.Shop) string {
			_, address := newSession(t, s, `{"success_url":"https://shop.example/","line_items":[{"description":"Juice","unit_amount":1500}]}`)
			return address
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := paymentstest.New(t)
			address := open(s)
			id := func() string {
				return must.Get(s.Payments.List(t.Context(), s.Caller, payment.ListParams{}))(t).Data[0].ID
			}
			startPayment(t, address, "0241230901")
			s.Work()
			shows(t, "after a failure", "GET", address, nil, 200, "Mobile money number")
			follow := startPayment(t, address, "0241230910")
			s.Work()
			says := func(text string) {
				t.Helper()
				for _, query := range []string{"", "?again=1"} {
					_, page := shows(t, text+query, "GET", address+query, nil, 200, text, "Do not pay again.", "See the payment", follow[strings.LastIndex(follow, "/"):])
					lacks(t, text+query, page, paysAgain...)
					lacks(t, text+query, page, append(nothingTaken, "Mobile money number")...)
				}
			}
			shows(t, "after another failure", "GET", address, nil, 200, "Mobile money number")
			s.Advance(20 * time.Minute)
			says("It is not clear whether this was paid")
			must.Get(s.Accounts.Adjust(t.Context(), s.Caller, account.AdjustParams{Amount: decimal.NewFromInt(15), Reason: "Seen", Actor: "esi", Reference: id()}))(t)
			must.Do(t, s.Providers.Resolve(t.Context(), id()))
			says("Paid, confirmed by Adom Juice Bar on ")
			giveBack(1500)(t, s, id())
			s.Work()
			shows(t, "given back", "GET", address, nil, 200, "Mobile money number")
		})
	}
}

// cancel cancels a payment that was not sent.
func cancel(t *testing.T, s *paymentstest.Shop, id string) {
	t.Helper()
	must.Get(s.Payments.Cancel(t.Context(), s.Caller, id))(t)
}

// giveBack refunds so much of a payment.
func giveBack(pesewas int64) func(*testing.T, *paymentstest.Shop, string) {
	return func(t *testing.T, s *paymentstest.Shop, id string) {
		t.Helper()
		must.Get(s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Payment: id, Amount: &pesewas}))(t)
	}
}

// A payment that staff have booked as paid is told to payer and merchant once, in one plain SMS each, and so is its
// money when it goes back.
func TestDecisionsAreTold(t *testing.T) {
	s := paymentstest.New(t)
	startPayment(t, s.Server.URL+"/pay/"+newCode(t, s, `{"amount":1500}`), "0241230910")
	s.Work()
	s.Advance(20 * time.Minute)
	id := must.Get(s.Payments.List(t.Context(), s.Caller, payment.ListParams{}))(t).Data[0].ID
	merchant := must.Get(s.Accounts.GetMerchant(t.Context(), s.Caller, s.Caller.Merchant))(t)
	adjust := func(by string) {
		t.Helper()
		_, err := s.Accounts.Adjust(t.Context(), s.Caller, account.AdjustParams{Amount: decimal.RequireFromString(by), Reason: "Seen", Actor: "esi", Reference: id})
		must.Do(t, err)
		s.Work()
	}
	texts := func(to string) (all []string) {
		for _, m := range s.Sent(to) {
			all = append(all, m.Text)
		}
		return all
	}
	before := len(texts(merchant.Phone))
	adjust("15")
	adjust("-15")
	adjust("15")
	must.Do(t, s.Providers.Resolve(t.Context(), id))
	payer := texts("+233241230910")
	must.True(t, len(payer) == 1, "the payer got %q", payer)
	expect.True(t, regexp.MustCompile(`^Adom Juice Bar confirms: your GHS 15\.00 of \d+ \w{3}, \d\d:\d\d is paid\. Do not pay again\. Receipt: https?://\S+/r/\w{11}$`).MatchString(payer[0]), "the payer got %q", payer[0])
	told := texts(merchant.Phone)
	must.True(t, len(told) == before+1, "the merchant got %q", told)
	wants := regexp.MustCompile(`^GHS 15\.00 of \d+ \w{3}, \d\d:\d\d from 024\*\*\*\*910 was unclear\. It is now booked as paid to Adom Juice Bar\. See: https?://\S+/r/\w{11}$`)
	expect.True(t, wants.MatchString(told[0]) || wants.MatchString(told[len(told)-1]), "the merchant got %q", told)

	linked := must.Get(s.Messages.FindLink(t.Context(), message.ReceiptPage, payer[0][len(payer[0])-11:]))(t)
	expect.Equal(t, linked.ID, id, "the link leads to")

	giveBack(1500)(t, s, id)
	s.Work()
	payer = texts("+233241230910")
	must.True(t, len(payer) == 2, "the payer got %q", payer)
	back := regexp.MustCompile(`^Adom Juice Bar gives back your GHS 15\.00 of \d+ \w{3}, \d\d:\d\d to 024\*\*\*\*910\. See: https?://\S+/r/\w{11}$`)
	expect.True(t, back.MatchString(payer[0]) || back.MatchString(payer[1]), "the payer got %q", payer)
	for _, text := range append(payer, told...) {
		expect.True(t, len([]rune(text)) <= 160, "%d characters: %s", len([]rune(text)), text)
	}
	// The ledger agrees.
	verified(t, s)
}
