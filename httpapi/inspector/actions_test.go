package inspector_test

import (
	"html"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/httpapi/inspector"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/qrcode"
)

var (
	markup = regexp.MustCompile(`<[^>]*>`)
	spaces = strings.NewReplacer("GH₵\u00a0", "GH₵", "\u00a0", " ")
)

// shows checks the text of a page, and its markup. An amount is written "GH₵12.50".
func shows(t *testing.T, body string, texts ...string) {
	t.Helper()
	body = spaces.Replace(html.UnescapeString(body))
	seen := spaces.Replace(html.UnescapeString(markup.ReplaceAllString(body, "")))
	for _, text := range texts {
		expect.True(t, strings.Contains(body, text) || strings.Contains(seen, text), "%q is missing in\n%s", text, seen)
	}
}

// rows counts the rows of the lists on a page.
func rows(body string) int { return strings.Count(body, `<tr role="row"><td`) }

func TestQRCodeForms(t *testing.T) { onEachStore(t, testQRCodeForms) }

func testQRCodeForms(t *testing.T, s *site) {
	at, body := s.do("qr-codes", "create", "type", "dynamic", "amount", "1,234.50", "name", "Order 7", "usage_limit", "2")
	shows(t, body, "Created.", "Order 7", "GH₵1,234.50", "dynamic")
	page := "qr-codes/" + path.Base(at)
	s.Fund(s.Consumer.ID, 5000)
	at, body = s.do(page, "pay", "wallet", "024 100 0001", "pin", "1234")
	shows(t, body, "Paid.", "GH₵1,234.50 from Ama Mensah", "Approved.", "024****001")
	shows(t, s.page(page), path.Base(at))
	_, body = s.do(page, "deactivate")
	shows(t, body, "Off", "Switch on", "qr_code.updated")
	head, aside, found := strings.Cut(body, "More actions")
	expect.True(t, found, "the head has three actions, and the page's end the rest")
	expect.True(t, strings.Contains(head, ">Switch on<"), "the head has three actions, and the page's end the rest")
	expect.True(t, !strings.Contains(head, ">Delete<"), "the head has three actions, and the page's end the rest")
	expect.True(t, strings.Contains(aside, ">Delete<"), "the head has three actions, and the page's end the rest")
	answer, body := s.post(page, s.token(), "pay", "wallet", s.Consumer.ServiceID, "pin", "1234")
	expect.Equal(t, answer.StatusCode, http.StatusUnprocessableEntity, "paying what is off: %s", answer.Status)
	shows(t, body, "not active", `value="`+s.Consumer.ServiceID+`"`)
	s.do(page, "activate")
	_, body = s.do(page, "delete")
	shows(t, body, "Deleted.", "No QR codes yet")
	if answer, _ := s.get(s.at(page)); answer.StatusCode != http.StatusNotFound {
		t.Errorf("deleted: %s", answer.Status)
	}
}

// What was refused is shown again with what is wrong, but for the PIN.
func TestRefusedForm(t *testing.T) {
	s := open(t, inspector.Config{})
	code, err := s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{})
	s.check(err)
	page := "qr-codes/" + code.ID
	// A word of its own: the digits also happen to stand inside a form's token.
	repeated := regexp.MustCompile(`\b9876\b`)
	for _, c := range []struct{ amount, wallet, pin, want, wrong string }{
		{"12.50", "0241000001", "9876", "The PIN is wrong", "pin"},
		{"12.505", "0241000001", "9876", "Enter the amount in cedis", "amount"},
		{"0", "0241000001", "9876", "Enter the amount in cedis", "amount"},
		{"-1", "0241000001", "9876", "Enter the amount in cedis", "amount"},
		{"1e3", "0241000001", "9876", "Enter the amount in cedis", "amount"},
		{"12.50", "12", "9876", "phone number", "wallet"},
		{"12.50", "", "9876", "wallet", "wallet"},
		{"", "0241000001", "9876", "no fixed amount", "amount"},
	} {
		answer, body := s.post(page, s.token(), "pay", "amount", c.amount, "wallet", c.wallet, "pin", c.pin)
		if answer.StatusCode != http.StatusUnprocessableEntity || repeated.MatchString(body) || strings.Contains(body, `id="live-state"`) {
			t.Errorf("%+v: %s", c, answer.Status)
		}
		shows(t, body, c.want, `role="alert"`)
		if c.amount != "" {
			shows(t, body, `value="`+c.amount+`"`)
		}
		marked := regexp.MustCompile(`name="(\w+)"[^>]* aria-invalid="true" autofocus aria-describedby="pay-\w+-error`).FindStringSubmatch(body)
		must.True(t, marked != nil, "%+v marks nothing: %s", c, body)
		expect.Equal(t, marked[1], c.wrong, "%+v: the field that is marked", c)
	}
}

// A form that is posted twice acts once, and one that is posted again with
// something else is refused.
func TestFormPostedTwice(t *testing.T) {
	s := open(t, inspector.Config{})
	token := s.token()
	var first string
	for range 3 {
		answer, _ := s.post("qr-codes", token, "create", "name", "Till 1")
		to := answer.Header.Get("Location")
		expect.Equal(t, answer.StatusCode, http.StatusSeeOther, "status")
		expect.True(t, first == "" || to == first, "%s to %s", answer.Status, to)
		first = to
	}
	answer, body := s.post("qr-codes", token, "create", "name", "Till 2")
	expect.Equal(t, answer.StatusCode, http.StatusUnprocessableEntity, "with another name: %s", answer.Status)
	shows(t, body, "This form was sent before", `value="Till 2"`)
	list, err := s.QRCodes.List(t.Context(), s.Caller, qrcode.ListParams{})
	s.check(err)
	expect.Equal(t, len(list.Data), 1, "%d codes", len(list.Data))

	// However many click at once; and what was refused may be corrected.
	token = s.token()
	if answer, _ := s.post("", token, "add-money", "amount", "0"); answer.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("no money: %s", answer.Status)
	}
	var clicks sync.WaitGroup
	for range 8 {
		clicks.Go(func() { s.post("", token, "add-money", "amount", "5") })
	}
	clicks.Wait()
	shows(t, s.page(""), "GH₵1,005.00")

	token = s.token()
	clock := func() time.Time {
		now, err := s.Now(t.Context(), s.Caller)
		s.check(err)
		return now.Time
	}
	before := clock()
	for range 8 {
		clicks.Go(func() {
			s.post("consumers", token, "consumer", "name", "Esi Boateng", "phone_number", "0249998877", "pin", "1234", "balance", "7")
		})
		clicks.Go(func() { s.post("clock", token, "move-clock", "unit", "days", "advance", "40") })
	}
	clicks.Wait()
	if moved := clock().Sub(before); moved < 39*24*time.Hour || moved > 41*24*time.Hour {
		t.Errorf("the clock moved by %s", moved)
	}
	people, err := s.Accounts.ListConsumers(t.Context(), api.Caller{}, api.Page{Limit: 100})
	s.check(err)
	n := 0
	for _, c := range people.Data {
		if c.Name == "Esi Boateng" {
			n++
			balance, err := s.Accounts.WalletBalance(t.Context(), api.Caller{}, c.ID)
			must.Do(t, err)
			expect.Equal(t, balance.String(), "7", "a consumer: balance")
		}
	}
	expect.Equal(t, n, 1, "%d consumers", n)
}

func TestTransferForms(t *testing.T) { onEachStore(t, testTransferForms) }

func testTransferForms(t *testing.T, s *site) {
	_, body := s.do("", "add-money", "amount", "500")
	shows(t, body, "The money is there.", "GH₵1,500.00")
	shows(t, s.page("ledger"), "GH₵500.00", "GH₵1,500.00")

	s.do("payouts", "request-otp")
	code := s.lastCode()
	shows(t, s.page("messages?kind=sms"), code)
	answer, body := s.post("payouts", s.token(), "create", "amount", "10", "type", "mobile_money", "number", "0241234567", "otp_code", code)
	expect.Equal(t, answer.StatusCode, http.StatusUnprocessableEntity, "not verified: %s", answer.Status)
	shows(t, body, "one-time code")
	s.do("payouts", "verify-otp", "code", code)
	at, body := s.do("payouts", "create", "amount", "10", "type", "bank_transfer", "number", "1234560903", "bank_code", "300304", "otp_code", code)
	shows(t, body, "GH₵10.00 to ", "pending", "GH₵5.00", "Cancel")
	_, body = s.do("payouts/"+path.Base(at), "cancel")
	shows(t, body, "Cancelled.", "payout.canceled")

	for form, want := range map[string]string{"succeed": "completed", "fail": "No such street"} {
		at, _ = s.do("disbursements", "create", "amount", "20", "type", "mobile_money", "number", "0241230903", "reference", "salary")
		page := "disbursements/" + path.Base(at)
		s.check(s.Drain(t.Context()))
		shows(t, s.page(page), "processing", "disbursement.processing")
		_, body = s.do(page, form, "failure_reason", "No such street")
		shows(t, body, want, "disbursement.created", "disbursement.pending")
		if form == "succeed" {
			_, body = s.do(page, "reverse", "failure_reason", "No such street")
			shows(t, body, "reversed: No such street", "Arrived", "Reference")
		}
	}
	at, body = s.do("disbursements", "create", "amount", "1.5", "type", "service_wallet", "number", strings.ToLower(s.Consumer.ServiceID))
	shows(t, body, "GH₵1.50 to Ama M.", "completed", s.Consumer.ServiceID)
	shows(t, s.page("disbursements?status=completed"), path.Base(at))
	if body := s.page("disbursements?status=cancelled"); rows(body) > 0 {
		t.Error("the filter shows all")
	}

	// A consumer shows a code, which is paid.
	answer, body = s.post("consumers", s.token(), "show", "account_id", s.Consumer.ID, "type", "dynamic", "amount", "7.25")
	must.True(t, answer.StatusCode == http.StatusOK, "show: %s\n%s", answer.Status, body)
	payload := regexp.MustCompile(`<dt>Payload</dt><dd><span class="id">([^<]+)</span>`).FindStringSubmatch(body)
	picture := regexp.MustCompile(`src="\.\./[^/]+/(consumers/[^"]+)"`).FindStringSubmatch(body)
	must.True(t, payload != nil && picture != nil, "no payload or picture:\n%s", body)
	if answer, data := s.get(s.at(picture[1])); answer.Header.Get("Content-Type") != "image/png" || !strings.HasPrefix(data, "\x89PNG") {
		t.Errorf("picture: %s", answer.Status)
	}
	_, body = s.do("disbursements", "scan", "qr_payload", html.UnescapeString(payload[1]))
	shows(t, body, "GH₵7.25 to Ama M.", "completed")
}

func TestInvoiceForms(t *testing.T) { onEachStore(t, testInvoiceForms) }

func testInvoiceForms(t *testing.T, s *site) {
	line := []string{"description", "Catering", "quantity", "1.5", "unit_amount", "100", "tax_percent", "20"}
	create := func(more ...string) string {
		t.Helper()
		at, _ := s.do("invoices", "create", append(append([]string{"customer_name", "Akosua", "customer_email", "akosua@example.com"}, line...), more...)...)
		return "invoices/" + path.Base(at)
	}
	page := create()
	shows(t, s.page(page), "draft", "1.5 × 100.00", "Tax 20%", "180.00")
	if answer, _ := s.get(s.at(page + "/invoice.pdf")); answer.StatusCode != http.StatusOK {
		t.Errorf("a draft's document: %s", answer.Status)
	}
	_, body := s.do(page, "add-line", "description", "Service", "unit_amount", "20")
	shows(t, body, "200.00", "invoice.updated")
	_, body = s.do(page, "finalize")
	shows(t, body, "invoice.finalized", s.BaseURL()+"/invoice/")
	_, body = s.do(page, "send")
	shows(t, body, "The customer is told.", "invoice.sent")
	_, body = s.do(page, "pay")
	shows(t, body, "paid", "invoice.paid", "payments/pay_")
	if answer, data := s.get(s.at(page + "/invoice.pdf")); answer.Header.Get("Content-Type") != "application/pdf" || !strings.HasPrefix(data, "%PDF-") {
		t.Errorf("document: %s", answer.Status)
	}

	_, body = s.do(create(), "delete")
	shows(t, body, "Deleted.")
	page = create("auto_finalize", "yes")
	_, body = s.do(page, "uncollectible")
	shows(t, body, "invoice.marked_uncollectible")
	_, body = s.do(page, "void")
	shows(t, body, "invoice.voided")
	page = create("auto_finalize", "yes")
	_, body = s.do(page, "scan", "wallet", s.Consumer.ID, "pin", "1234")
	shows(t, body, "invoice.paid")

	if body := s.page("invoices?status=paid"); rows(body) != 2 {
		t.Errorf("paid invoices:\n%s", body)
	}
	for _, wrong := range [][]string{{"quantity", "1e9"}, {"quantity", "x"}, {"tax_percent", "101"}, {"unit_amount", ""}, {"customer_email", "x"}} {
		answer, body := s.post("invoices", s.token(), "create", append(line[:len(line):len(line)], wrong...)...)
		if answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, `name="`+wrong[0]+`"`) || !strings.Contains(body, "aria-invalid") {
			t.Errorf("%v: %s", wrong, answer.Status)
		}
	}
}

func TestWebhookForms(t *testing.T) { onEachStore(t, testWebhookForms) }

func testWebhookForms(t *testing.T, s *site) {
	made := s.everything()
	event := "events/" + made["events"]
	shows(t, s.page(event), "Delivered", "200 in ", `{"received":true}`)
	s.do(event, "resend")
	s.check(s.Drain(t.Context()))
	expect.Equal(t, strings.Count(s.page(event), "Delivery to "), 2, "deliveries after it was sent again")

	page := "webhooks/" + made["webhooks"]
	shows(t, s.page(page), "payment.succeeded", "Delivered")
	answer, body := s.post(page, s.token(), "ping")
	expect.Equal(t, answer.StatusCode, http.StatusOK, "ping: %s", answer.Status)
	shows(t, body, "Ping", "200 in ")
	answer, body = s.post(page, s.token(), "rotate")
	secret := regexp.MustCompile(`whsec_[0-9A-Za-z+/=&#;]+`).FindString(body)
	expect.Equal(t, answer.StatusCode, http.StatusOK, "rotate: status")
	expect.True(t, secret != "", "rotate: %s", answer.Status)
	expect.True(t, !strings.Contains(s.page(page), "whsec_"), "the secret is shown again")
	_, body = s.do(page, "deactivate")
	shows(t, body, "Off", "Switch on")
	s.do(page, "activate")
	s.do(page, "delete")
	if answer, _ := s.get(s.at(page)); answer.StatusCode != http.StatusNotFound {
		t.Errorf("deleted: %s", answer.Status)
	}

	token := s.token()
	for i, want := range []string{"whsec_", "cannot be shown again"} {
		answer, body := s.post("webhooks", token, "create", "url", "http://127.0.0.1:9/x", "events", "payment.succeeded, payout.failed")
		expect.Equal(t, answer.StatusCode, http.StatusOK, "create %d: %s", i, answer.Status)
		shows(t, body, want)
	}
	for _, wrong := range []string{"", "payment.eaten"} {
		if answer, _ := s.post("webhooks", s.token(), "create", "url", "http://127.0.0.1:9/x", "events", wrong); answer.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("events %q: %s", wrong, answer.Status)
		}
	}
}

func TestSandboxForms(t *testing.T) { onEachStore(t, testSandboxForms) }

func testSandboxForms(t *testing.T, s *site) {
	shows(t, s.page("clock"), "0903", "Stays in progress", "0907", "Asks for a code")
	shows(t, s.page("consumers"), "Ama Mensah", "GH₵1,000.00")
	_, body := s.do("consumers", "consumer", "name", "Yaa Asantewaa", "phone_number", "0209000009", "pin", "4321", "balance", "50")
	shows(t, body, "Yaa Asantewaa", "GH₵50.00")
	code, err := s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{})
	s.check(err)
	_, body = s.do("qr-codes/"+code.ID, "pay", "wallet", "0209000009", "pin", "4321", "amount", "12.50")
	shows(t, body, "GH₵12.50 from Yaa Asantewaa")

	before, err := s.Now(t.Context(), s.Caller)
	s.check(err)
	_, err = s.Disbursements.Create(t.Context(), s.Caller, disbursement.CreateParams{
		Amount: decimal.NewFromInt(1), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241230904"},
	})
	s.check(err)
	s.check(s.Drain(t.Context()))
	shows(t, s.page("disbursements"), "processing")
	s.do("clock", "move-clock", "advance", "2", "unit", "days")
	shows(t, s.page("disbursements"), "completed")
	after, err := s.Now(t.Context(), s.Caller)
	s.check(err)
	if moved := after.Sub(before.Time); moved < 48*time.Hour || moved > 49*time.Hour {
		t.Errorf("the clock moved by %s", moved)
	}
	shows(t, s.page("clock"), after.UTC().Format("Monday 2 January 2006"))
	for _, wrong := range [][2]string{{"-1", "days"}, {"40000", "days"}, {"9223372036854775807", "seconds"}, {"1", "years"}, {"", "days"}, {"x", "days"}} {
		if answer, _ := s.post("clock", s.token(), "move-clock", "advance", wrong[0], "unit", wrong[1]); answer.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%v: %s", wrong, answer.Status)
		}
	}
}

// A list of several pages is read to its end, with its filter.
func TestPages(t *testing.T) { onEachStore(t, testPages) }

func testPages(t *testing.T, s *site) {
	code, err := s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{})
	s.check(err)
	const all = 30 // more than a page
	for range all {
		s.Pay(code.ID, 1)
	}
	older := regexp.MustCompile(`href="[^"?]+(\?[^"]+)">Older</a>`)
	for page, per := range map[string]int{"payments?qr_code=" + code.ID: 1, "ledger": 1, "events?type=payment.succeeded": 1, "messages?to=0301000000": 1} {
		seen, pages := 0, 0
		next := page
		for next != "" {
			body := s.page(next)
			seen += rows(body) * per
			pages++
			found := older.FindStringSubmatch(body)
			if next = ""; found != nil {
				name, _, _ := strings.Cut(page, "?")
				next = name + strings.ReplaceAll(found[1], "&amp;", "&")
			}
		}
		want := all
		if page == "ledger" {
			want++ // the money to begin with
		}
		expect.Equal(t, seen, want, "%s: number of rows", page)
		expect.Equal(t, pages, 2, "%s: number of pages", page)
	}
	today := time.Now().UTC()
	for day, want := range map[time.Time]bool{today: true, today.AddDate(0, 0, -2): false} {
		q := url.Values{"day": {day.Format(time.DateOnly)}, "status": {"completed"}}
		expect.Equal(t, rows(s.page("payments?"+q.Encode())) > 0, want, "%s", day)
	}
}
