package httpapi_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// browser keeps its cookies, and follows no redirect.
type browser struct{ http.Client }

func newBrowser(t *testing.T) *browser {
	t.Helper()
	b := &browser{}
	b.Jar = must.Get(cookiejar.New(nil))(t)
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return b
}

// load sends a request, and returns the answer with its page, whose no-break spaces are plain.
func (b *browser) load(t *testing.T, method, address string, form url.Values) (*http.Response, string) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode())))(t)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response := must.Get(b.Do(r))(t)
	defer response.Body.Close()
	page := string(must.Get(io.ReadAll(response.Body))(t))
	return response, strings.NewReplacer("\u00a0", " ", "&nbsp;", " ").Replace(page)
}

// pay posts the form of a page for a phone, and returns the answer and where it leads.
func (b *browser) pay(t *testing.T, address, phone string) (response *http.Response, page, follow string) {
	t.Helper()
	response, page = b.load(t, "POST", address, byPhone(t, address, phone))
	if response.StatusCode == http.StatusSeeOther {
		follow = must.Get(must.Get(url.Parse(address))(t).Parse(response.Header.Get("Location")))(t).String()
	}
	return response, page, follow
}

// lacks checks that a page has none of these texts.
func lacks(t *testing.T, what, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		expect.True(t, !strings.Contains(page, text), "%s has %q:\n%s", what, text, page[max(0, strings.Index(page, "<main")):])
	}
}

// The browser that has begun a payment of a code is led to it while it is open. Another browser is not, and learns
// nothing of it.
func TestCodeLeadsToTheOpenRequest(t *testing.T) {
	s := paymentstest.New(t)
	id := newCode(t, s, `{"amount":1500}`)
	address := s.Server.URL + "/pay/" + id
	mine, stranger := newBrowser(t), newBrowser(t)
	response, _, follow := mine.pay(t, address, "0241230903")
	must.True(t, follow != "", "status %d", response.StatusCode)
	cookie := must.Get(http.ParseSetCookie(response.Header.Get("Set-Cookie")))(t)
	expect.Equal(t, cookie.HttpOnly, true, "the cookie: HttpOnly")
	expect.Equal(t, cookie.SameSite, http.SameSiteLaxMode, "the cookie: same site")
	expect.Equal(t, cookie.Path, "/pay/"+id, "the cookie: path")
	expect.True(t, cookie.MaxAge > 0, "the cookie %+v", cookie)
	expect.True(t, len(cookie.Value) > 40, "the cookie %+v", cookie)
	s.Work()
	_, page := mine.load(t, "GET", address, nil)
	holds(t, "the page", page, "A request for GH₵ 15.00 is still on 024 ••• 0903", "Asked at <time", "open until <time", "Accra time. If you have approved it, do not pay again.",
		`class="button primary" href="../payment/pay_`, "Go to the payment", "Use another number",
		"The request on 024 ••• 0903 cannot be taken back. Decline it there first: if both are approved, both are taken.")
	lacks(t, "the page", page, `name="phone"`)
	_, page = stranger.load(t, "GET", address, nil)
	holds(t, "a stranger's page", page, `name="phone"`)
	lacks(t, "a stranger's page", page, "0903", "../payment/", "still on", "first request")
	other := s.Server.URL + "/pay/" + newCode(t, s, `{"amount":1500}`)
	_, page = mine.load(t, "GET", other, nil)
	lacks(t, "another code's page", page, "still on")
	mine.Jar.SetCookies(must.Get(url.Parse(other))(t), []*http.Cookie{{Name: cookie.Name, Value: cookie.Value, Path: "/"}}) // as no browser does
	_, page = mine.load(t, "GET", other, nil)
	lacks(t, "another code's page with the cookie", page, "still on")
	mine.Jar.SetCookies(must.Get(url.Parse(other))(t), []*http.Cookie{{Name: cookie.Name, Path: "/", MaxAge: -1}})

	// Another number: the form says what stands open.
	response, _ = mine.load(t, "POST", follow, url.Values{"action": {"another"}})
	expect.Equal(t, response.StatusCode, http.StatusSeeOther, "status")
	expect.Equal(t, response.Header.Get("Location"), "../pay/"+id, "another number leads")
	_, page = mine.load(t, "GET", address, nil)
	holds(t, "the form", page, "The first request stays open", "024 ••• 0903 can still approve GH₵ 15.00 until <time",
		"Decline it there. If both are approved, both are taken, and Adom Juice Bar has to give one back.", "Go back to the first request", `name="phone"`)
	_, page = stranger.load(t, "GET", address, nil)
	lacks(t, "a stranger's form", page, "first request")

	// The second request is the one to be led to; once it has ended, only the first stands open.
	_, _, second := mine.pay(t, address, "0201230903")
	s.Work()
	_, page = mine.load(t, "GET", address, nil)
	holds(t, "after the second", page, "is still on 020 ••• 0903")
	token := second[strings.LastIndexByte(second, '/')+1:]
	payID, _, _ := strings.Cut(token, "-")
	s.Do("POST", "/v1/test_helpers/payments/"+payID+"/settle", `{"outcome":"failed"}`)
	_, page = mine.load(t, "GET", address, nil)
	holds(t, "after the end of the second", page, "024 ••• 0903 can still approve")

	// After its deadline the first may still be paid.
	s.Advance(11 * time.Minute)
	_, page = mine.load(t, "GET", address, nil)
	lacks(t, "after the deadline", page, "can still approve", "still on")
}

// A payer whose request has no outcome at its deadline is told not to pay again, and led to the payment.
func TestCodeLeadsToTheUndecidedRequest(t *testing.T) {
	s := paymentstest.New(t)
	address, mine := s.Server.URL+"/pay/"+newCode(t, s, `{"amount":1500}`), newBrowser(t)
	_, _, follow := mine.pay(t, address, "0241230903")
	s.Work()
	s.Advance(11 * time.Minute)
	_, page := mine.load(t, "GET", address, nil)
	holds(t, "the page", page, "Do not pay again.", "Check the payment", "../payment/"+follow[strings.LastIndexByte(follow, '/')+1:])
	_, page = mine.load(t, "GET", address+"?again=1", nil)
	holds(t, "the form", page, `name="phone"`)
}

// A phone that is asked already gets the refusal alone: a stranger may have typed its number. The browser that has
// begun the request is led to it. Neither is told to take another number.
func TestPhoneThatIsAskedAlready(t *testing.T) {
	s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Live: payments.Providers{Charger: waiting{}}})
	live := s.Caller
	live.Live = true
	address := s.Server.URL + "/pay/" + must.Get(s.QRCodes.Create(t.Context(), live, liveCode()))(t).ID
	mine, stranger := newBrowser(t), newBrowser(t)
	_, _, follow := mine.pay(t, address, "0244000001")
	must.True(t, follow != "", "no payment")
	s.Work()
	const alone = "This number is asked to approve a payment at the moment. Approve or decline it there, then try again."
	response, page, _ := stranger.pay(t, address, "0244000001")
	expect.Equal(t, response.StatusCode, 429, "a stranger: status")
	expect.Equal(t, response.Header.Get("Retry-After"), "60", "a stranger: Retry-After")
	holds(t, "a stranger", page, alone, `aria-invalid="true"`)
	lacks(t, "a stranger", page, "../payment/", "another number", "<time", "still on", "first request", "GH₵ 1.00 until")
	response, page, _ = mine.pay(t, address, "0244000001")
	expect.Equal(t, response.StatusCode, 429, "the payer")
	holds(t, "the payer", page, `role="alert"`, "A request is already open.", "is still on 024 ••• 0001", "Go to the payment")
	lacks(t, "the payer", page, `name="phone"`)

	// Another phone, which somebody else is asked on: the payer's own request stands beside the refusal.
	other := s.Server.URL + "/pay/" + must.Get(s.QRCodes.Create(t.Context(), live, liveCode()))(t).ID
	stranger.pay(t, other, "0244000002")
	s.Work()
	response, page, _ = mine.pay(t, address, "0244000002")
	expect.Equal(t, response.StatusCode, 429, "another phone")
	holds(t, "another phone", page, alone, "The first request stays open", "024 ••• 0001 can still approve")
	lacks(t, "another phone", page, "another number")
	// /v1 says the same.
	_, data := s.Do("POST", "/v1/payments", `{"amount":100,"phone_number":"0241230908"}`)
	holds(t, "/v1", string(data), "too_many_prompts", "at the moment")
}

// waiting is a charger whose payers do not answer.
type waiting struct{ provider.Simulated }

func (waiting) Charge(_ context.Context, _ provider.Charge) (provider.Result, error) {
	return provider.Result{Outcome: provider.InProgress}, nil
}

func (waiting) ChargeStatus(_ context.Context, _ provider.Charge) (provider.Result, error) {
	return provider.Result{Outcome: provider.InProgress}, nil
}

// The pages of a session and of an invoice say, too, what stands open when the payer takes another number.
func TestFormsSayWhatStandsOpen(t *testing.T) {
	s := paymentstest.New(t)
	_, session := newSession(t, s, `{"success_url":"https://shop.example/","line_items":[{"description":"Juice","unit_amount":500}]}`)
	_, data := s.Do("POST", "/v1/invoices", `{"auto_finalize":true,"line_items":[{"description":"Juice","unit_amount":500}]}`)
	for what, address := range map[string]string{"session": session, "invoice": field(t, data, "hosted_invoice_url")} {
		b := newBrowser(t)
		_, _, follow := b.pay(t, address, "0241230903")
		s.Work()
		b.load(t, "POST", follow, url.Values{"action": {"another"}})
		_, page := b.load(t, "GET", address, nil)
		holds(t, what, page, "The first request stays open", "024 ••• 0903 can still approve GH₵ 5.00", `name="phone"`, "With mobile money nothing is taken before you approve.")
		lacks(t, what, page, "Nothing is taken before you approve.")
	}
}

// A wrong code is said to be wrong, in the field, which is empty and has the focus.
func TestWrongCodeIsSaidInItsField(t *testing.T) {
	s := paymentstest.New(t)
	b := newBrowser(t)
	_, _, follow := b.pay(t, s.Server.URL+"/pay/"+newCode(t, s, `{"amount":500}`), "0201230907")
	s.Work()
	_, page := b.load(t, "GET", follow, nil)
	lacks(t, "before", page, "autofocus", `aria-invalid="true"`)
	response, _ := b.load(t, "POST", follow, url.Values{"action": {"confirm"}, "code": {"654321"}})
	wrong := must.Get(must.Get(url.Parse(follow))(t).Parse(response.Header.Get("Location")))(t).String()
	_, page = b.load(t, "GET", wrong, nil)
	holds(t, "after", page, "<b>That code is not right.</b> Look at the newest message on the phone and type its digits again.", `autofocus aria-invalid="true"`)
	lacks(t, "after", page, "654321", "has not answered")
}
