package httpapi

import (
	"bytes"
	"compress/gzip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payment"
)

func TestDueDatesOnPages(t *testing.T) {
	now := time.Date(2026, 11, 22, 14, 2, 9, 0, time.UTC)
	for days, want := range map[int]string{
		16: "Due 8 December 2026, in 16 days", 2: "Due 24 November 2026, in 2 days", 1: "Due tomorrow, 23 November 2026", 0: "Due today, 22 November 2026",
		-1: "Overdue: was due yesterday, 21 November 2026", -3: "Overdue: was due 3 days ago, 19 November 2026",
	} {
		due := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC).AddDate(0, 0, days)
		text, overdue := dueText(due, now)
		expect.Equal(t, text, want, "%d days", days)
		expect.Equal(t, overdue, days < 0, "%d days: overdue", days)
	}
}

func TestNamesAndNumbersOnPages(t *testing.T) {
	for name, want := range map[string]string{
		"Adom Juice Bar": "AJ", "Kantamanto": "K", "ɛfie Ɔdɔ & Sons": "ƐƆ", "& Sons": "S", "": "", "*": "", "24 Hour Pharmacy": "2H",
	} {
		expect.Equal(t, initials(name), want, "initials of %q", name)
	}
	expect.Equal(t, maskedPhone(nil), "", "no number")
	h := hostedPayment()
	expect.Equal(t, payerNumber(h), "024\u00a0•••\u00a0567", "a number that was erased")
	h.Number = "+233241234567"
	expect.Equal(t, payerNumber(h), "024\u00a0•••\u00a04567", "a number")
}

// An error stands under its field, and says how to mend it.
func TestProblemsNameTheirField(t *testing.T) {
	for entered, want := range map[string]string{
		"0241 23":      "This number is too short. A mobile number has ten digits, like 024\u00a0123\u00a04567.",
		"":             "This number is too short. A mobile number has ten digits, like 024\u00a0123\u00a04567.",
		"024123456789": "This number is too long. A mobile number has ten digits, like 024\u00a0123\u00a04567.",
		"0941234567":   "This is not a mobile number of Ghana. A mobile number has ten digits, like 024\u00a0123\u00a04567.",
		"0231234567":   "The number does not tell its network. Choose the network, or check the number.",
	} {
		v := waysView{Phone: entered}
		v.refuse(api.Errorf(api.InvalidPhoneNumber, "phone_number", "x"))
		expect.Equal(t, v.Problem, want, "%s", entered)
		field := "phone_number"
		if entered == "0231234567" {
			field = "provider"
		}
		expect.Equal(t, v.Field, field, "%s: field", entered)
	}
	v := waysView{Phone: "+233 20 123 4567"}
	v.refuse(api.Errorf(api.TooManyPrompts, "", "x"))
	expect.Equal(t, v.Network, "telecel", "the network of the number")
	v = waysView{Phone: "0201234567", Network: "mtn"}
	v.refuse(api.Errorf(api.TooManyPrompts, "", "x"))
	expect.Equal(t, v.Network, "mtn", "the network that the payer chose")
	v.refuse(api.Errorf(api.WalletNotActive, "wallet", "This wallet is closed."))
	expect.Equal(t, v.Problem+v.Field, "This wallet is closed.wallet", "a text of the service")
	v.refuse(api.Errorf(api.ParameterInvalid, "metadata", "x"))
	expect.Equal(t, v.Field, "", "a parameter without a field")
}

// hostedPayment is a payment that waits for its payer.
func hostedPayment() *payment.Hosted {
	now := time.Date(2026, 11, 22, 14, 2, 9, 0, time.UTC)
	return &payment.Hosted{
		Merchant: account.Merchant{Name: "Adom Juice Bar", Phone: "+233301000000"}, Now: now, Deadline: now.Add(10 * time.Minute),
		Payment: payment.Payment{
			ID: "pay_1", Amount: 23450, Status: payment.Processing, PaymentMethod: payment.FromPhone,
			Provider: new("mtn"), Phone: new("024****567"), Livemode: true, CreatedAt: api.At(now),
		},
	}
}

// Texts of a provider come out as text.
func TestTextsOfProvidersAreEscaped(t *testing.T) {
	const evil = `"><script>alert(1)</script>`
	h := hostedPayment()
	m := newMerchantView(&h.Merchant, "logo")
	rendered := func(name string, v any) string {
		return string(must.Get(renderPage(200, name, v))(t).body)
	}
	for _, kind := range []payment.ActionType{payment.Approve, payment.EnterCode} {
		h.Payment.NextAction = &payment.NextAction{Type: kind, Message: evil}
		page := rendered("waiting", newWaitingView(h, m, "token", false, ""))
		expect.True(t, !strings.Contains(page, "<script"), "%s: %s", kind, page)
		expect.True(t, strings.Contains(page, "&lt;script&gt;alert(1)"), "%s: %s", kind, page)
	}
	h.Payment.Status, h.Payment.FailureReason = payment.Failed, new(evil)
	page := rendered("outcome", newOutcomeView(h, m, &subject{}, "token"))
	expect.True(t, !strings.Contains(page, "<script"), "failed: %s", page)
	expect.True(t, strings.Contains(page, "&lt;script&gt;alert(1)"), "failed: %s", page)
	expect.True(t, !strings.Contains(page, "Try again"), "another try of what is gone: %s", page)
}

// The page leaves out what it says itself, and shows what a provider says beyond.
func TestTextForThePayer(t *testing.T) {
	h := hostedPayment()
	m := newMerchantView(&h.Merchant, "logo")
	h.Payment.NextAction = &payment.NextAction{Type: payment.Approve, Message: ownApproveMessage}
	expect.Equal(t, newWaitingView(h, m, "token", false, "").Message, "", "the library's own text")
	expect.Equal(t, newWaitingView(h, m, "token", false, "").Help, "Dial *170#, choose My Wallet, then My Approvals.", "where the request is")
	h.Payment.NextAction.Message = "Dial *170#."
	expect.Equal(t, newWaitingView(h, m, "token", false, "").Message, "Dial *170#.", "a provider's")
	expect.Equal(t, newWaitingView(h, m, "token", false, "").Help, "", "where the request is, which the provider says")
	h.Payment.Provider = new("telecel")
	h.Payment.NextAction.Message = "Approve."
	expect.Equal(t, newWaitingView(h, m, "token", false, "").Help, "", "a network without a place for requests")
	h.Payment.Provider = nil
	h.Payment.Phone = nil
	v := newWaitingView(h, m, "token", false, "")
	expect.Equal(t, v.From+"|"+v.Progress, "your network|Waiting for your network. Checked at 14:02:09; checks again every 5 seconds.", "no network")
	h.Deadline = h.Now
	expect.Equal(t, newOutcomeView(h, m, &subject{}, "token").Heading, "Your network has not answered yet", "no network, after the deadline")
}

// A payer's page is small enough for a slow network.
func TestStyleSheetsStaySmall(t *testing.T) {
	var packed bytes.Buffer
	w := must.Get(gzip.NewWriterLevel(&packed, gzip.BestCompression))(t)
	must.Get(w.Write([]byte(pageStyle)))(t)
	must.Do(t, w.Close())
	for name, size := range map[string]struct{ is, most int }{
		"the payers' part": {len(payerStyle), 5800},
		"a payer's page":   {len(pageStyle), 10500}, "a payer's page, packed": {packed.Len(), 3200},
	} {
		t.Logf("%s: %d bytes", name, size.is)
		expect.True(t, size.is <= size.most, "%s has %d bytes of styles, and may have %d", name, size.is, size.most)
	}
}

// Every class that a template gives has a rule, so that a renamed one does not go unnoticed, and
// nothing needs a style outside of the sheet or a script.
func TestTemplatesUseTheSheet(t *testing.T) {
	classes := regexp.MustCompile(`class="([^"]*)"`)
	for _, entry := range must.Get(pageTemplates.ReadDir("pages"))(t) {
		text := string(must.Get(pageTemplates.ReadFile("pages/" + entry.Name()))(t))
		for _, bad := range []string{" style=", "<script", "onclick", "://"} {
			expect.True(t, !strings.Contains(text, bad), "%s holds %q", entry.Name(), bad)
		}
		for _, m := range classes.FindAllStringSubmatch(regexp.MustCompile(`\{\{[^}]*\}\}`).ReplaceAllString(text, " "), -1) {
			for _, class := range strings.Fields(m[1]) {
				expect.True(t, regexp.MustCompile(`\.`+class+`\b`).MatchString(pageStyle), "%s: no rule for the class %s", entry.Name(), class)
			}
		}
	}
}
