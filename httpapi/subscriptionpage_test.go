package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

// subscribe subscribes a new member to a plan of GHS 50 a month, and returns id and page.
func subscribe(t *testing.T, s *paymentstest.Shop, more string) (id, page string) {
	t.Helper()
	response, data := s.Do("POST", "/v1/subscriptions", fmt.Sprintf(`{"customer":%q,"plan":%q%s}`, newMember(t, s), newPlan(t, s, ""), more))
	must.True(t, response.StatusCode == 200, "subscribe: %s", data)
	return field(t, data, "id"), field(t, data, "manage_url")
}

// charged subscribes with automatic charges.
const charged = `,"collection_method":"charge_automatically"`

// codeSentTo is the code in the last SMS to a number.
func codeSentTo(t *testing.T, s *paymentstest.Shop, number string) string {
	t.Helper()
	sent := s.Sent(number)
	must.True(t, len(sent) > 0, "no SMS to %s", number)
	code, _, found := strings.Cut(sent[0].Text, " is your code")
	must.True(t, found, "the SMS says %q", sent[0].Text)
	return code
}

func TestSubscriptionPage(t *testing.T) {
	s := paymentstest.New(t)
	giveLogo(t, s)
	id, address := subscribe(t, s, `,"quantity":2`)
	now := time.Now().UTC()
	show := func(what string, texts ...string) string {
		t.Helper()
		_, page := shows(t, what, "GET", address, nil, 200, texts...)
		lacks(t, what, page, "<script", id)
		return page
	}
	page := show("a new one", "<h1>Gold × 2</h1>", "GH₵</span>100.00", "every month", ">Active<", "Next invoice ", "Since", now.Format("2 January 2006"),
		">To pay<", "Pay GH₵&nbsp;100.00", `href="../invoice/`, "INV-", "Cancel the subscription", "Test mode")
	lacks(t, "one whose invoices are sent", page, "Charged phone")
	showsLogo(t, address)
	// The link to the invoice leads to its page.
	_, link, _ := strings.Cut(page, `href="../invoice/`)
	_, bill := browse(t, "GET", s.Server.URL+"/invoice/"+link[:32], nil)
	holds(t, "the invoice", bill, "Gold", now.Format("2 Jan 2006")+" – ", "2 × 50.00")
	s.Do("POST", "/v1/subscriptions/"+id, `{"quantity":1}`)
	show("with credit to come", "<h1>Gold</h1>", "GH₵</span>50.00", "every month", ": GH₵\u00a0100.00") // the unused time is not paid yet

	s.Advance(8 * 24 * time.Hour)
	s.Work()
	show("overdue", ">Payment overdue<", "Pay it to keep the subscription.")
	s.Do("POST", "/v1/subscriptions/"+id+"/pause", nil)
	lacks(t, "paused", show("paused", ">Paused<", "Nothing is charged until Adom Juice Bar resumes it."), "Next invoice")
	s.Do("POST", "/v1/subscriptions/"+id+"/cancel", nil)
	lacks(t, "cancelled", show("cancelled", ">Cancelled<", "It ended on ", "Nothing more is charged."), "Next invoice", "Cancel the subscription")
	for _, path := range []string{"/phone", "/cancel"} {
		for _, method := range []string{"GET", "POST"} {
			response, _ := browse(t, method, address+path, url.Values{})
			expect.Equal(t, response.StatusCode, http.StatusSeeOther, "%s %s of a cancelled one", method, path)
			expect.Equal(t, response.Header.Get("Location"), ".."+address[strings.LastIndex(address, "/"):], "%s %s leads", method, path)
		}
	}

	_, address = subscribe(t, s, charged+`,"trial_period_days":14`)
	show("in a trial", ">Trial<", "The trial is free and ends on ", "First charge ", "024\u00a0•••\u00a0567", "Change", "The first invoice will stand here.")
	for path, status := range map[string]int{"": 404, "/phone": 404, "/cancel": 404, "/logo": 404} {
		shows(t, "unknown", "GET", s.Server.URL+"/subscription/unknown"+path, nil, status, "There is no subscription here.")
	}
	verified(t, s)
}

// A page shows twelve invoices, and leads to the older ones.
func TestSubscriptionPageOfManyInvoices(t *testing.T) {
	s := paymentstest.New(t)
	_, data := s.Do("POST", "/v1/plans", `{"name":"Day pass","amount":100,"interval":"day"}`)
	_, data = s.Do("POST", "/v1/subscriptions", fmt.Sprintf(`{"customer":%q,"plan":%q,"days_until_due":365}`, newMember(t, s), field(t, data, "id")))
	address := field(t, data, "manage_url")
	s.Advance(13 * 24 * time.Hour)
	s.Work()
	_, page := browse(t, "GET", address, nil)
	expect.Equal(t, strings.Count(page, ">To pay<"), 12, "invoices on the first page")
	lacks(t, "the first page", page, "Newest invoices")
	_, older, found := strings.Cut(page, `?after=`)
	must.True(t, found, "no link to older invoices:\n%s", page)
	_, page = browse(t, "GET", address+"?after="+older[:strings.Index(older, `"`)], nil)
	expect.Equal(t, strings.Count(page, ">To pay<"), 2, "invoices on the second page")
	holds(t, "the second page", page, "Newest invoices", "INV-", "000001")
	lacks(t, "the second page", page, "Older invoices")
	response, _ := browse(t, "GET", address+"?after=inv_1", nil)
	expect.Equal(t, response.StatusCode, 400, "status after an unknown invoice")
}

func TestChangeOfChargedPhone(t *testing.T) {
	s := paymentstest.New(t)
	id, address := subscribe(t, s, charged)
	post := func(form url.Values) (*http.Response, string) {
		t.Helper()
		return browse(t, "POST", address+"/phone", form)
	}
	send := func(number string) url.Values { return url.Values{"action": {"send"}, "phone": {number}} }
	confirm := func(code string) url.Values { return url.Values{"action": {"confirm"}, "code": {code}} }

	shows(t, "the form", "GET", address+"/phone", nil, 200, "<h1>Change the charged phone</h1>", "024\u00a0•••\u00a0567", "New mobile money number", "Send the code")
	for number, text := range map[string]string{
		"": "Enter your mobile money number", "0241 23": "This number is too short.", "0301234567": "This number belongs to no mobile money network.",
	} {
		response, page := post(send(number))
		expect.Equal(t, response.StatusCode, 400, "%q: status", number)
		holds(t, number, page, text, `role="alert"`, `value="`+number+`"`, `aria-invalid="true" aria-describedby="problem"`)
	}
	response, page := post(confirm("123456"))
	expect.Equal(t, response.StatusCode, 400, "status of a code before one was sent")
	holds(t, "a code before one was sent", page, `role="alert"`)

	response, _ = post(send("020 111 2223"))
	expect.Equal(t, response.StatusCode, http.StatusSeeOther, "status")
	expect.Equal(t, response.Header.Get("Location"), "phone", "it leads to")
	shows(t, "the code", "GET", address+"/phone", nil, 200, "<h1>Enter the code</h1>", "020\u00a0•••\u00a0223", "Code from the SMS", "Accra time", "Charge this phone")
	shows(t, "another number", "GET", address+"/phone?another=1", nil, 200, "New mobile money number")
	code := codeSentTo(t, s, "0201112223")
	wrong := "000000"
	if code == wrong {
		wrong = "111111"
	}
	for entered, text := range map[string]string{"12345": "Enter the six digits of the SMS.", wrong: "This code is wrong."} {
		response, page := post(confirm(entered))
		expect.Equal(t, response.StatusCode, 400, "%q: status", entered)
		holds(t, entered, page, text, `role="alert"`, `aria-invalid="true" aria-describedby="problem"`)
	}
	response, _ = post(confirm(code))
	must.True(t, response.StatusCode == http.StatusSeeOther, "status %d", response.StatusCode)
	shows(t, "afterwards", "GET", s.Server.URL+"/subscription/"+strings.TrimPrefix(response.Header.Get("Location"), "../"), nil, 200, `role="status">The phone was changed.`, "020\u00a0•••\u00a0223")
	expect.Equal(t, read(t, s, "/v1/subscriptions/"+id, "phone_number"), "020****223", "the subscription's phone")
}

// Credit for a plan that was changed stands on the page of the invoice as a negative line, and in its
// document.
func TestInvoicePageOfCredit(t *testing.T) {
	s := paymentstest.New(t)
	id, address := subscribe(t, s, charged)
	s.Work()
	s.Advance(10 * 24 * time.Hour)
	_, data := s.Do("POST", "/v1/plans", `{"name":"Platinum","amount":40000,"interval":"year"}`)
	response, data := s.Do("POST", "/v1/subscriptions/"+id, `{"plan":"`+field(t, data, "id")+`"}`)
	must.True(t, response.StatusCode == 200, "%s", data)
	_, data = s.Do("GET", "/v1/invoices/"+field(t, data, "latest_invoice"), nil)
	credit, total := field(t, data, "lines.data.0.amount"), field(t, data, "total")
	must.True(t, strings.HasPrefix(credit, "-") && field(t, data, "lines.data.0.period") == "", "the first line: %s", data)
	var left, sum int
	fmt.Sscan(credit, &left)
	fmt.Sscan(total, &sum)
	expect.Equal(t, sum, 400_00+left, "total")
	shows(t, "the invoice", "GET", field(t, data, "hosted_invoice_url"), nil, 200, "Unused time on Gold", fmt.Sprintf("<td>−%d.%02d</td>", -left/100, -left%100), "Platinum", "400.00")
	response, pdf := browse(t, "GET", field(t, data, "invoice_pdf"), nil)
	expect.True(t, response.StatusCode == 200 && strings.HasPrefix(pdf, "%PDF-"), "the document has status %d", response.StatusCode)
	shows(t, "the subscription", "GET", address, nil, 200, "<h1>Platinum</h1>", "GH₵</span>400.00", "every year")
}

// Five wrong entries of a code are refused alike, and then the right one, too.
func TestWrongCodesOfChargedPhoneRunOut(t *testing.T) {
	s := paymentstest.New(t)
	_, address := subscribe(t, s, charged)
	browse(t, "POST", address+"/phone", url.Values{"action": {"send"}, "phone": {"0201112223"}})
	code, wrong := codeSentTo(t, s, "0201112223"), "000000"
	if code == wrong {
		wrong = "111111"
	}
	for range 5 {
		shows(t, "a wrong code", "POST", address+"/phone", url.Values{"action": {"confirm"}, "code": {wrong}}, 400)
	}
	shows(t, "too many", "POST", address+"/phone", url.Values{"action": {"confirm"}, "code": {code}}, 429, "Too many wrong codes were entered.", `role="alert"`)
}

func TestCancelFromPage(t *testing.T) {
	s := paymentstest.New(t)
	for name, test := range map[string]struct {
		more, path, says, state string
		event                   string
	}{
		"active":   {"", "", "the end of the current period", ">Ends soon<", "updated"},
		"trialing": {`,"trial_period_days":14`, "", "The trial goes on until", ">Ends soon<", "updated"},
		"paused":   {"", "/pause", "ends at once", ">Cancelled<", "canceled"},
	} {
		id, address := subscribe(t, s, test.more)
		if test.path != "" {
			s.Do("POST", "/v1/subscriptions/"+id+test.path, nil)
		}
		shows(t, name, "GET", address+"/cancel", nil, 200, "<h1>Cancel Gold?</h1>", test.says, "Keep the subscription")
		for range 2 { // sent twice, it cancels once
			response, _ := browse(t, "POST", address+"/cancel", url.Values{})
			expect.Equal(t, response.StatusCode, http.StatusSeeOther, "%s: status", name)
		}
		_, page := shows(t, name, "GET", address+"?done=cancel", nil, 200, test.state, `role="status">The subscription w`)
		lacks(t, name, page, "Cancel the subscription")
		_, data := s.Do("GET", "/v1/events?limit=100&type=subscription."+test.event, nil)
		expect.Equal(t, strings.Count(string(data), `"id":"`+id+`"`), 1, "%s: events subscription.%s", name, test.event)
	}
}
