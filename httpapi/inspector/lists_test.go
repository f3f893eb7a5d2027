package inspector_test

import (
	"encoding/csv"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/httpapi/inspector"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/subscription"
	"github.com/seed-7082ffec/payments/webhook"
)

// linkTo returns the address of the link with that text on a page of the merchant's.
func linkTo(t *testing.T, body, text string) string {
	t.Helper()
	found := regexp.MustCompile(`href="([^"]+)">` + regexp.QuoteMeta(text) + `[ <]`).FindStringSubmatch(body)
	must.True(t, found != nil, "there is no link %q in\n%s", text, body)
	return html.UnescapeString(found[1])
}

// query is the query of an address.
func query(address string) string {
	_, q, _ := strings.Cut(address, "?")
	return q
}

// Tabs, the filter and its chips lead from one choice to the next, and keep the others.
func TestFiltersOfLists(t *testing.T) {
	s := open(t, inspector.Config{})
	s.everything()
	body := s.page("payments?status=failed&payment_method=mobile_money&period=today&day=")
	expect.Equal(t, rows(body), 1, "failed payments from phones today")
	shows(t, body, `aria-current="true">Failed`, "Method: Mobile money", "Period: Today", "MTN says paid, the ledger says failed", ">Today</th>")
	expect.Equal(t, query(linkTo(t, body, "Completed")), "payment_method=mobile_money&period=today&status=completed", "another tab")
	expect.Equal(t, query(linkTo(t, body, "Period: Today")), "payment_method=mobile_money&status=failed", "a chip")
	shows(t, body, `<input type="hidden" name="status" value="failed">`)
	body = s.page("payments?network=service_wallet&status=")
	expect.Equal(t, rows(body), 1, "payments from wallets")
	shows(t, body, "Network: Wallet", "Ama Mensah")
	shows(t, s.page("payments?day=2026-01-31"), "Day: 31 January", "Nothing matches")
	body = s.page("payments?status=cancelled")
	shows(t, body, "Nothing matches", "Show all")
	shows(t, s.page("payments?customer=cus_none"), "Customer: cus_none", "Nothing matches")
}

// The pages of a list lead back and forth, and name none that is not there.
func TestNewerAndOlder(t *testing.T) {
	s := open(t, inspector.Config{})
	code := must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{}))(t)
	const all = 60 // two pages and a part
	for range all {
		s.Pay(code.ID, 1)
	}
	first := s.page("payments")
	expect.True(t, !strings.Contains(first, ">Newer<"), "the first page leads to newer ones")
	second := s.page("payments?" + query(linkTo(t, first, "Older")))
	third := s.page("payments?" + query(linkTo(t, second, "Older")))
	expect.Equal(t, rows(third), all-2*rows(first), "the last page: number of rows")
	expect.True(t, !strings.Contains(third, ">Older<"), "the last page has %d rows", rows(third))
	back := s.page("payments?" + query(linkTo(t, third, "Newer")))
	expect.Equal(t, linkTo(t, back, "Older"), linkTo(t, second, "Older"), "back from the third page")
	top := s.page("payments?" + query(linkTo(t, back, "Newer")))
	expect.Equal(t, rows(top), rows(first), "back to the first page: rows")
	expect.True(t, !strings.Contains(top, ">Newer<"), "back to the first page")
}

// An export has all pages of what the filter chooses, one row for each.
func TestExport(t *testing.T) {
	s := open(t, inspector.Config{})
	expect.True(t, !strings.Contains(s.page("payments"), ">Export<"), "an empty list has an export")
	code := must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{Name: "=1+1"}))(t)
	const all = api.MaxLimit + 5
	for range all {
		s.Pay(code.ID, 50)
	}
	exported := func(query string) (*http.Response, [][]string) {
		to := linkTo(t, s.page("payments"+query), "Export")
		answer, body := s.get(s.at(path.Base(to)))
		must.True(t, answer.StatusCode == http.StatusOK, "%s: %s", to, answer.Status)
		return answer, must.Get(csv.NewReader(strings.NewReader(body)).ReadAll())(t)
	}
	answer, lines := exported("")
	expect.Equal(t, answer.Header.Get("Content-Type"), "text/csv; charset=utf-8", "type")
	expect.Equal(t, answer.Header.Get("Content-Disposition"), `attachment; filename="payments.csv"`, "disposition")
	must.True(t, len(lines) == 1+all, "%d lines", len(lines))
	expect.Equal(t, strings.Join(lines[0], ","), "\ufeffID,Payer,Details,Amount,Status,For,Note,Time,Currency,Fee,Net", "head")
	ids := map[string]bool{}
	for _, line := range lines[1:] {
		ids[line[0]] = true
		expect.Equal(t, strings.Join(line[3:6], ","), "0.50,Completed,'=1+1", "a line")
	}
	expect.Equal(t, strings.Join(lines[1][8:], ","), "GHS,0.00,0.50", "currency, fee and net")
	expect.Equal(t, len(ids), all, "payments")
	newest := must.Get(s.Payments.List(t.Context(), s.Caller, payment.ListParams{}))(t).Data[0]
	expect.Equal(t, lines[1][0], newest.ID, "the first line: ID")
	expect.True(t, lines[1][7] == newest.CreatedAt.UTC().Format(time.RFC3339), "the first line: %q", lines[1])
	_, lines = exported("?q=" + newest.ID)
	expect.Equal(t, len(lines), 2, "lines for one id")
	_, lines = exported("?" + query(linkTo(t, s.page("payments"), "Older")))
	expect.Equal(t, len(lines), 1+all, "lines from the second page")

	defer inspector.ExportAtMost(api.MaxLimit)()
	refused, body := s.get(s.at("payments.csv"))
	expect.Equal(t, refused.StatusCode, http.StatusUnprocessableEntity, "status of a long export")
	shows(t, body, "An export has at most 100 rows. Choose a shorter period.")
}

// An export has every other draft if the last one of a page is deleted while it is made.
func TestExportBesideADeletion(t *testing.T) {
	store := faultstore.New(memory.New())
	s := openOn(t, store, inspector.Config{})
	draft := func() { must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{}))(t) }
	for range api.MaxLimit + 1 {
		draft()
	}
	for n, more := 1, true; more; n++ { // before each transaction of the export
		store.BetweenAt(n, func() {
			page := must.Get(s.Invoices.List(t.Context(), s.Caller, invoice.ListParams{Page: api.Page{Limit: api.MaxLimit}}))(t)
			must.Get(s.Invoices.Delete(t.Context(), s.Caller, page.Data[api.MaxLimit-1].ID))(t)
		})
		answer, file := s.get(s.at("invoices.csv"))
		more = store.Heal()
		must.True(t, answer.StatusCode == http.StatusOK && strings.Count(file, "\ninv_") >= api.MaxLimit, "transaction %d: %s, %d lines", n, answer.Status, strings.Count(file, "\n"))
		if more {
			draft()
		}
	}
}

// The timeline of a payment joins what its sources say.
func TestTimelineJoinsItsSources(t *testing.T) { onEachStore(t, testTimeline) }

func testTimeline(t *testing.T, s *site) {
	made := s.everything()
	body := s.page("payments/" + made["payments"])
	shows(t, body, "What happened", "Accra time", "Payment begun", "payment.created, succeeded", "Paid with a wallet",
		"GH₵12.50 booked", "Entry txn_", "Webhook answered 200", `<span class="src">127.0.0.1:`, "Receipt sent to the payer", "Merchant informed", "Refund of GH₵2.50 asked for", "GH₵2.50 is back with the payer", "−GH₵2.50 booked", "Refund told to the payer", `">Receipt sent to the payer</a>`)
	expect.Equal(t, strings.Count(body, " answered 200</b>"), 1, "what an endpoint answered alike in a row")
	for _, source := range []string{"Payer", "Wallet", "Ledger", "SMS"} {
		shows(t, body, `<span class="src">`+source+`</span>`)
	}
	caller := s.Caller
	caller.RequestID = "req_1"
	asked := must.Get(s.Payments.Create(t.Context(), caller, payment.CreateParams{Amount: 1_00, MobileMoney: payment.MobileMoney{PhoneNumber: "0241230904"}}))(t)
	shows(t, s.page("payments/"+asked.ID), "<dt>Request</dt><dd><span class=\"id\">req_1</span>")
	shows(t, s.page("payments/"+made["declined"]), "Asked MTN to charge 024 ••• 0910", "The payer declined.", `class="t-bad"`)
	shows(t, s.page("payouts/"+made["payouts"]), "Asked for; amount and fee reserved", "−GH₵151.50 booked", "024 ••• 0903")
	shows(t, s.page("subscriptions/"+made["subscriptions"]), "024 ••• 4568", "The first is made on ")
	shows(t, s.page("refunds/"+made["refunds"]), "GH₵2.50 is back with the payer", "GH₵12.50 from Ama Mensah</a>")
}

// An endpoint that was switched off for its failures says so, and what it would have been told.
func TestSwitchedOffEndpoint(t *testing.T) {
	s := open(t, inspector.Config{})
	must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{Name: "Before"}))(t)
	shows(t, s.page("events"), `badge neutral">Not sent`)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
	t.Cleanup(receiver.Close)
	endpoint := must.Get(s.Webhooks.Create(t.Context(), s.Caller, webhook.CreateParams{URL: receiver.URL, Events: []event.Type{event.QRCodeCreated}}))(t)
	must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{Name: "Till 1"}))(t)
	s.check(s.Drain(t.Context()))
	shows(t, s.page("webhooks"), `badge bad">Switched off`)
	shows(t, s.page("webhooks/"+endpoint.ID), `badge bad">Switched off`, "It did not take its events", "Switch on")
	shows(t, s.page(""), "Needs you", "answered 410, and was switched off")
	must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{Name: "Till 2"}))(t)
	must.Get(s.Accounts.CreateCustomer(t.Context(), s.Caller, account.CreateCustomerParams{Name: "Esi Owusu"}))(t)
	shows(t, s.page("events?type=qr_code.created"), `badge bad">Not sent`)
	expect.True(t, !strings.Contains(s.page("events?type=customer.created"), `badge bad`), "an event for which the endpoint has not asked")
	_, body := s.do("webhooks/"+endpoint.ID, "activate")
	shows(t, body, `badge good">Active`)
	_, body = s.do("webhooks/"+endpoint.ID, "deactivate")
	shows(t, body, `badge neutral">Off`)
	expect.True(t, !strings.Contains(s.page("events"), `badge bad">Not sent`), "what was not sent is bad for good")
}

// An endpoint that does not answer is on the first page, with what waits for it.
func TestEndpointsThatNeedAPerson(t *testing.T) {
	s := open(t, inspector.Config{})
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	t.Cleanup(receiver.Close)
	endpoint := must.Get(s.Webhooks.Create(t.Context(), s.Caller, webhook.CreateParams{URL: receiver.URL, Events: []event.Type{event.QRCodeCreated}}))(t)
	must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{Name: "Till 1"}))(t)
	s.check(s.Drain(t.Context()))
	host := must.Get(url.Parse(receiver.URL))(t).Host
	body := s.page("")
	shows(t, body, "Needs you", host+" answered 500", "1 event waits to be delivered. Next attempt in ", "webhooks/"+endpoint.ID, `<span class="count wait">1</span>`)
	shows(t, s.page("webhooks/"+endpoint.ID), "Retrying", "Till 1 · 1 attempt, answered 500")
	shows(t, s.page("events"), "Retrying")
	for n, want := range map[int]string{1: "1 event waits", 24: "24 events wait", 25: "At least 25 events wait"} { // a full page may not be all
		expect.Equal(t, inspector.Count(n, "event", "waits", "wait"), want, "%d", n)
	}
}

// The overview counts what ended today by the merchant's clock, and draws the days before.
func TestFiguresOfTheOverview(t *testing.T) {
	s := open(t, inspector.Config{})
	expect.True(t, !strings.Contains(s.page(""), "<svg role=\"img\""), "a chart of nothing")
	s.everything()
	shows(t, s.page(""), "Available", "reserved", `aria-label="Collected by day and network: GH₵12.50 in 7 days"`, "Show the figures", "Collected in 30 days", "Payments that succeed",
		`aria-current="true">30 days`, "50%", "nothing before", "?days=90")
	shows(t, s.page("?days=7&by=outcome"), `aria-current="true">7 days`, "Payments in 7 days", `aria-label="Payments by day and outcome, 7 days"`, "?by=network&days=7#daily")
	shows(t, s.page("webhooks"), "How long deliveries took", "95% within ", `aria-label="How long deliveries took, by day, the last 7 days. `, "Within 1 second")
	must.Get(s.MoveClock(t.Context(), s.Caller, payments.ClockParams{By: 48 * time.Hour}))(t)
	shows(t, s.page(""), "Show the figures")
	must.Get(s.MoveClock(t.Context(), s.Caller, payments.ClockParams{By: 7 * 24 * time.Hour}))(t)
	shows(t, s.page("?days=7"), `<span class="down">100% less</span> than before`, "none has ended")
}

// The flow is about all merchants, so a request that may see one alone does not get it.
func TestFlowOfMoneyNeedsAllMerchants(t *testing.T) {
	whole, one := open(t, inspector.Config{}), open(t, inspector.Config{Allow: func(*http.Request, string) bool { return true }})
	whole.everything()
	one.everything()
	shows(t, whole.page(""), "Where the money stands", "all merchants", "Merchants", "Wallets")
	expect.True(t, !strings.Contains(whole.page(""), "<td>Gap</td>"), "the sides differ")
	expect.True(t, !strings.Contains(one.page(""), "Where the money stands"), "the money of others is shown")
}

// An id leads to its object from anywhere, and any other whole value is looked for.
func TestSearch(t *testing.T) {
	s := open(t, inspector.Config{})
	made := s.everything()
	for _, noun := range []string{"payments", "qr-codes", "invoices", "refunds", "customers", "events", "webhooks", "messages", "products", "batches", "consumers", "checkouts", "subscriptions"} {
		answer, _ := s.get(s.at("search?q=" + made[noun]))
		to := must.Get(answer.Location())(t)
		expect.Equal(t, answer.StatusCode, http.StatusSeeOther, "%s: status", noun)
		expect.True(t, strings.HasSuffix(to.Path, noun+"/"+made[noun]), "%s: %s to %s", noun, answer.Status, to)
	}
	shows(t, s.page("search"), "Enter a whole value")
	for q, want := range map[string][]string{
		"Esi": {"Esi Owusu", "Payments", "Customers", "Invoices", "Subscriptions", "Juice every week"}, "esi owusu": {"Two smoothies"}, "Ama": {"Ama Mensah", "Partly refunded"}, "12.50": {"Ama Mensah", "Esi Owusu"},
		"order-7": {"Two smoothies"}, "0907": {"Esi Owusu", "024 ••• 0907"}, "024 123 0910": {"MTN says paid, the ledger says failed"}, "akosua@example.com": {"Messages"},
	} {
		shows(t, s.page("search?q="+url.QueryEscape(q)), want...)
	}
	shows(t, s.page("payments?q=Esi&network=telecel"), "020 ••• 0903", "Network: Telecel", "Search: Esi")
	expect.Equal(t, rows(s.page("payments?q=Esi&network=telecel")), 1, "payments of a name and a network")
	expect.Equal(t, rows(s.page("payments?q="+made["once"])), 1, "payments of a code")
	for q, want := range map[string]int{"esi": 1, "024 123 4568": 1, "esi@example.com": 1, made["customers"]: 1, "Kofi": 0} {
		expect.Equal(t, rows(s.page("subscriptions?q="+url.QueryEscape(q))), want, "subscriptions of %s", q)
	}
	shows(t, s.page("search?q=nothing"), "Nothing matches")
}

// What looks like an id may be a reference, and payouts and disbursements share a prefix.
func TestSearchOfIDs(t *testing.T) {
	s := open(t, inspector.Config{})
	made := s.everything()
	for _, noun := range []string{"payouts", "disbursements", "plans", "coupons"} {
		answer, _ := s.get(s.at("search?q=" + made[noun]))
		expect.True(t, strings.HasSuffix(answer.Header.Get("Location"), noun+"/"+made[noun]), "%s: %s to %s", noun, answer.Status, answer.Header.Get("Location"))
	}
	must.Get(s.Payments.Create(t.Context(), s.Caller, payment.CreateParams{Amount: 1_00, Reference: "inv_0042", MobileMoney: payment.MobileMoney{PhoneNumber: "0241230001"}}))(t)
	for _, list := range []string{"search", "payments"} {
		expect.Equal(t, rows(s.page(list+"?q=inv_0042")), 1, "%s by a reference that begins as an id does", list)
	}
	shows(t, s.page("search?q=plan"), "Nothing matches")
}

// A name may have digits in it.
func TestSearchOfNamesWithDigits(t *testing.T) {
	s := open(t, inspector.Config{})
	c := must.Get(s.Accounts.CreateCustomer(t.Context(), s.Caller, account.CreateCustomerParams{Name: "Kantamanto Stall 24"}))(t)
	must.Get(s.Payments.Create(t.Context(), s.Caller, payment.CreateParams{Amount: 1_00, Customer: c.ID, MobileMoney: payment.MobileMoney{PhoneNumber: "0241230001"}}))(t)
	for _, list := range []string{"customers", "payments"} {
		expect.Equal(t, rows(s.page(list+"?q=kantamanto+stall+24")), 1, "%s of a name with digits", list)
	}
}

// A search that cannot find anything says so, and does not show everything.
func TestSearchWithoutSense(t *testing.T) {
	s := open(t, inspector.Config{})
	s.everything()
	for _, list := range []string{"plans", "refunds"} {
		expect.True(t, rows(s.page(list)) > 0, "%s are empty", list)
		body := s.page(list + "?q=Gold")
		expect.Equal(t, rows(body), 0, "%s with Gold", list)
		shows(t, body, "Search: Gold", "Nothing matches")
	}
}

// The period counts for those who are searched for, too.
func TestSearchInAPeriod(t *testing.T) {
	s := open(t, inspector.Config{})
	make := func() {
		must.Get(s.Accounts.CreateCustomer(t.Context(), s.Caller, account.CreateCustomerParams{Name: "Esi Owusu"}))(t)
	}
	make()
	s.Advance(72 * time.Hour)
	make()
	expect.Equal(t, rows(s.page("customers?q=Esi")), 2, "customers of a name")
	expect.Equal(t, rows(s.page("customers?q=Esi&period=today")), 1, "customers of a name, made today")
}

// What customers are found for is on as many pages as it takes, and in the export.
func TestObjectsOfCustomersByPages(t *testing.T) {
	s := open(t, inspector.Config{})
	const people, each = 3, 40
	for range people {
		c := must.Get(s.Accounts.CreateCustomer(t.Context(), s.Caller, account.CreateCustomerParams{Name: "Esi Owusu"}))(t)
		for range each {
			must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{Fields: invoice.Fields{Customer: &c.ID}}))(t)
		}
	}
	var pages []string
	seen := map[string]bool{}
	body := s.page("invoices?q=Esi")
	for {
		pages = append(pages, body)
		for _, number := range regexp.MustCompile(`INV-[0-9]+-[0-9]+`).FindAllString(body, -1) {
			seen[number] = true
		}
		if !strings.Contains(body, ">Older<") {
			break
		}
		body = s.page("invoices?" + query(linkTo(t, body, "Older")))
	}
	expect.Equal(t, len(seen), people*each, "number of invoices")
	expect.Equal(t, len(pages), 5, "number of pages")
	for i := len(pages) - 2; i >= 0; i-- {
		body = s.page("invoices?" + query(linkTo(t, body, "Newer")))
		expect.Equal(t, rows(body), rows(pages[i]), "rows of page %d on the way back", i)
		expect.True(t, strings.Contains(body, ">Newer<") == (i > 0), "page %d leads to newer ones", i)
	}
	_, file := s.get(s.at("invoices.csv?q=Esi"))
	expect.Equal(t, strings.Count(file, "\n"), 1+people*each, "lines of the export")
}

// A merchant who deleted an endpoint, or switched it off, is not asked to look after it.
func TestEndpointsThatNobodyWants(t *testing.T) {
	s := open(t, inspector.Config{})
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	t.Cleanup(receiver.Close)
	var endpoints []string
	for range 2 {
		endpoints = append(endpoints, must.Get(s.Webhooks.Create(t.Context(), s.Caller, webhook.CreateParams{URL: receiver.URL, Events: []event.Type{event.QRCodeCreated}}))(t).ID)
	}
	must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{Name: "Till 1"}))(t)
	s.Work()
	shows(t, s.page(""), "Needs you", `Webhooks <span class="count wait">2</span>`)
	must.Get(s.Webhooks.Delete(t.Context(), s.Caller, endpoints[0]))(t)
	must.Get(s.Webhooks.Update(t.Context(), s.Caller, endpoints[1], webhook.UpdateParams{Active: new(false)}))(t)
	body := s.page("")
	expect.True(t, !strings.Contains(body, "Needs you"), "an endpoint without a use needs a person:\n%s", body)
	expect.True(t, !strings.Contains(body, "class=\"count"), "an endpoint without a use needs a person:\n%s", body)
}

// Events tell names with letters of Ghana, and the amounts that the lists have.
func TestWhatEventsAreAbout(t *testing.T) {
	s := open(t, inspector.Config{})
	made := s.everything()
	newest := func(kind event.Type) string {
		return s.page("events/" + must.Get(s.Events.List(t.Context(), s.Caller, event.ListParams{Type: kind}))(t).Data[0].ID)
	}
	must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{Name: "ɔkraman Ɛdwom"}))(t)
	shows(t, newest(event.QRCodeCreated), `<p class="soft">Ɔkraman Ɛdwom, today`)
	must.Get(s.Subscriptions.Create(t.Context(), s.Caller, subscription.CreateParams{Customer: made["customers"], Plan: made["plans"], Quantity: new(int64(3))}))(t)
	shows(t, s.page("subscriptions"), "GH₵135.00")
	shows(t, newest(event.SubscriptionCreated), "GH₵135.00")
	must.Get(s.Checkout.Expire(t.Context(), s.Caller, made["checkouts"]))(t)
	shows(t, newest(event.CheckoutSessionExpired), "GH₵25.00")
}

// An event that no endpoint wants is not "sent again".
func TestResendToNobody(t *testing.T) {
	s := open(t, inspector.Config{})
	must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{Name: "Till 1"}))(t)
	e := must.Get(s.Events.List(t.Context(), s.Caller, event.ListParams{}))(t).Data[0]
	answer, body := s.post("events/"+e.ID, s.token(), "resend")
	expect.Equal(t, answer.StatusCode, http.StatusUnprocessableEntity, "status, to %s", answer.Header.Get("Location"))
	shows(t, body, "No active endpoint takes events of this type, so nothing was sent.")
}

// What was deleted is named, and no link leads to the page that it had.
func TestNoLinkToWhatIsGone(t *testing.T) {
	s := open(t, inspector.Config{})
	code := must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{Name: "Till 1"}))(t)
	paid := s.Pay(code.ID, 100)
	made := must.Get(s.Events.List(t.Context(), s.Caller, event.ListParams{Type: event.QRCodeCreated}))(t).Data[0].ID
	for _, page := range []string{"payments/" + paid.ID, "events/" + made} {
		shows(t, s.page(page), "/qr-codes/"+code.ID+`">Till 1</a>`)
	}
	must.Get(s.QRCodes.Delete(t.Context(), s.Caller, code.ID))(t)
	for _, page := range []string{"payments/" + paid.ID, "events/" + made} {
		body := s.page(page)
		expect.True(t, strings.Contains(body, code.ID), "%s leads to what is gone", page)
		expect.True(t, !strings.Contains(body, "/qr-codes/"+code.ID), "%s leads to what is gone", page)
	}
}

// There is no stream of all merchants, so their page does not say that it lost one.
func TestMerchantsAreNotFollowed(t *testing.T) {
	s := open(t, inspector.Config{})
	must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Kofi's Kenkey"}))(t)
	_, body := s.get(s.address + "/")
	shows(t, body, "Kofi's Kenkey")
	expect.True(t, !strings.Contains(body, "live.js"), "the page asks for a stream:\n%s", body)
	expect.True(t, !strings.Contains(body, "live-state"), "the page asks for a stream:\n%s", body)
}

// A consumer whose data was erased is still a link with a text, and shows no code.
func TestErasedConsumer(t *testing.T) {
	s := open(t, inspector.Config{})
	gone := s.NewConsumer("Kofi Boateng", "0240001111", 10)
	code := must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{Name: "Till 1"}))(t)
	must.Get(s.QRCodes.Pay(t.Context(), s.Caller, code.ID, qrcode.PayParams{Wallet: account.WalletRef{AccountID: gone.ID}, PIN: s.PIN, Amount: new(int64(10_00))}))(t)
	must.Do(t, s.EraseConsumer(t.Context(), api.Caller{}, gone.ID))
	shows(t, s.page("consumers"), gone.ID+`">A consumer</a>`)
	shows(t, s.page("consumers/"+gone.ID), "<h1>A consumer ", "<title>A consumer ")
	expect.True(t, !strings.Contains(s.page("consumers?form=show"), gone.ID), "a closed account shows a code")
}

// What failed or was cancelled is back, and no page says that it went out.
func TestMoneyThatIsBack(t *testing.T) {
	s := open(t, inspector.Config{})
	sent := must.Get(s.Disbursements.Create(t.Context(), s.Caller, disbursement.CreateParams{
		Amount: decimal.NewFromInt(7), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241230001"},
	}))(t)
	s.Work()
	shows(t, s.page("disbursements/"+sent.ID), "To the recipientGH₵7.00", "From the balance−GH₵7.10")
	s.Settle(sent.ID, provider.Result{Outcome: provider.Reversed})
	shows(t, s.page("disbursements/"+sent.ID), "Asked forGH₵7.00", "From the balanceGH₵0.00")
	rows := must.Get(disbursement.ReadRows(strings.NewReader("amount,type,phone_number\n5,mobile_money,0241230901\n")))(t)
	batch := must.Get(s.Disbursements.CreateBatch(t.Context(), s.Caller, disbursement.CreateBatchParams{Rows: rows}))(t)
	s.Work()
	shows(t, s.page("batches/"+batch.ID), "Failed", "From the balance at first−GH₵5.10")
	paid := s.AskPhone("0241230911", 12_50)
	s.Work()
	back := s.Refund(paid.ID, 0)
	s.Work()
	shows(t, s.page("refunds/"+back.ID), "Failed", "Asked forGH₵12.50")
}

// A spreadsheet has numbers as the API writes them.
func TestNumbersInExports(t *testing.T) {
	s := open(t, inspector.Config{})
	s.AskPhone("0241230001", 1_00)
	must.Get(s.Disbursements.Create(t.Context(), s.Caller, disbursement.CreateParams{
		Amount: decimal.NewFromInt(7), Destination: payout.DestinationParams{Type: payout.BankTransfer, AccountNumber: "1234567890", BankCode: "300304", AccountName: "Esi"},
	}))(t)
	_, file := s.get(s.at("payments.csv"))
	shows(t, file, ",024****001,MTN,1.00,")
	_, file = s.get(s.at("disbursements.csv"))
	shows(t, file, ",Esi,****7890 · ")
}
