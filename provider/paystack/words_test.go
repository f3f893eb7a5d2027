package paystack

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/test/conformance"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/provider"
)

// answering returns a client whose Paystack answers each call by its path; "/x/" stands for what
// follows it, too.
func answering(t *testing.T, answers map[string]string) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, known := answers[r.Method+" "+r.URL.Path]
		if !known {
			body, known = answers[r.Method+" "+r.URL.Path[:strings.LastIndexByte(r.URL.Path, '/')+1]]
		}
		expect.True(t, known, "%s %s is called", r.Method, r.URL.Path)
		if strings.Contains(body, `"status":false`) {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return must.Get(New(Config{SecretKey: "sk_live_1", BaseURL: server.URL, Email: "pay@example.com", HTTPClient: server.Client()}))(t)
}

func success(data string, args ...any) string {
	return `{"status":true,"message":"Done","data":` + fmt.Sprintf(data, args...) + `}`
}

func failure(message string) string { return `{"status":false,"message":"` + message + `"}` }

// orders returns one order of each flow, all of 435 pesewas, with the references of the first two.
func orders() (t provider.Transfer, c provider.Charge, r provider.Refund, transferReference, chargeReference string) {
	t = provider.Transfer{Order: conformance.NewOrder("po_", 435), Channel: provider.MobileMoney, Network: "mtn", Number: "+233241234567"}
	c = provider.Charge{Order: conformance.NewOrder("pay_", 435), Phone: "+233241234567", Network: "mtn"}
	r = provider.Refund{Order: conformance.NewOrder("re_", 435), Charge: c.ID, Phone: c.Phone}
	transferReference, _ = ids.ToBase36(t.ID)
	chargeReference, _ = ids.ToBase36(c.ID)
	return t, c, r, transferReference, chargeReference
}

// with returns the words of a table, and one that Paystack may introduce.
func with(words map[string]provider.Outcome) map[string]provider.Outcome {
	words = maps.Clone(words)
	words["parked"] = provider.InProgress
	return words
}

// Every status of a transfer has the outcome of the table, when it is submitted and later.
func TestTransferWords(t *testing.T) {
	for word, want := range with(transferWords) {
		o, _, _, reference, _ := orders()
		is := success(`{"status":%q,"amount":435,"currency":"GHS","reference":%q,"transfer_code":"TRF_1","fee_charged":100}`, word, reference)
		c := answering(t, map[string]string{
			"POST /transferrecipient": success(`{"recipient_code":"RCP_1"}`), "POST /transfer": is, "GET /transfer/verify/": is,
		})
		submitted, err1 := c.Submit(t.Context(), o)
		later, err2 := c.Status(t.Context(), o)
		expect.NoError(t, err1, "%s", word)
		expect.NoError(t, err2, "%s", word)
		expect.Equal(t, submitted, later, "%s: submitted", word)
		expect.Equal(t, later.Outcome, want, "%s: outcome", word)
		expect.Equal(t, later.Reference, "TRF_1", "%s: reference", word)
		expect.Equal(t, later.Reason.Code != "", want.Final() && want != provider.Paid, "%s: the reason %+v has a code", word, later.Reason)
		expect.True(t, (later.ProviderFee == 100) == (want == provider.Paid), "%s: the fee and the amount of %+v", word, later)
		expect.True(t, (later.Amount == 435) == (want == provider.Paid), "%s: the fee and the amount of %+v", word, later)
	}
}

// Every status of a charge has the outcome of the table.
func TestChargeWords(t *testing.T) {
	for word, want := range with(chargeWords) {
		_, o, _, _, reference := orders()
		is := success(`{"id":17,"status":%q,"amount":435,"currency":"GHS","reference":%q,"fees":8,"gateway_response":"Declined 0241234567","display_text":"Dial *110#"}`, word, reference)
		c := answering(t, map[string]string{
			"POST /charge": is, "POST /charge/submit_otp": is, "GET /transaction/verify/": is, "GET /charge/": is,
			"GET /refund": success(`[{"id":18,"status":"processed","amount":435,"transaction":17,"merchant_note":"by hand"}]`),
		})
		charged, err1 := c.Charge(t.Context(), o)
		later, err2 := c.ChargeStatus(t.Context(), o)
		confirmed, err3 := c.ConfirmCharge(t.Context(), o, "123456")
		expect.NoError(t, err1, "%s", word)
		expect.NoError(t, err2, "%s", word)
		expect.NoError(t, err3, "%s", word)
		expect.Equal(t, charged, later, "%s: charged", word)
		expect.Equal(t, later, confirmed, "%s: later", word)
		expect.Equal(t, later.Outcome, want, "%s: outcome", word)
		expect.Equal(t, later.Reference, "17", "%s: reference", word)
		expect.Equal(t, later.NeedsCode, word == needsCode, "%s: a code", word)
		expect.Equal(t, later.Prompt == "Dial *110#", want == provider.InProgress, "%s: the prompt %q", word, later.Prompt)
		expect.Equal(t, later.ProviderFee == 8, want == provider.Paid, "%s: the fee %d", word, later.ProviderFee)
		expect.Equal(t, later.PollAfter > 0, word == "failed", "%s: is asked about again", word)
		expect.Equal(t, later.Reason.Message != "", want.Final() && want != provider.Paid, "%s: the reason %+v has a message", word, later.Reason)
		expect.True(t, !strings.Contains(later.Reason.Message, "0241234567"), "%s: the reason %+v", word, later.Reason)
		expect.Equal(t, later.Reason.Failure == provider.FailureDeclined, word == "failed", "%s: the failure is %q, declined", word, later.Reason.Failure)
	}
}

// A failed charge has the code of what the network has said.
func TestFailures(t *testing.T) {
	for said, want := range map[string]provider.Failure{
		"Insufficient Funds": provider.FailureInsufficientFunds, "DECLINED by the payer": provider.FailureDeclined,
		"Transaction amount limit exceeded": provider.FailureLimit, "You have exceeded the time to pay": provider.FailureTimeout,
		"Approved": provider.FailureOther, "": "",
	} {
		_, o, _, _, reference := orders()
		is := success(`{"id":17,"status":"failed","amount":435,"currency":"GHS","reference":%q,"gateway_response":%q}`, reference, said)
		c := answering(t, map[string]string{"GET /transaction/verify/": is, "GET /refund": success(`[]`)})
		got := must.Get(c.ChargeStatus(t.Context(), o))(t)
		expect.Equal(t, got.Reason.Failure, want, "%q", said)
	}
}

// Every status of a refund has the outcome of the table.
func TestRefundWords(t *testing.T) {
	for word, want := range with(refundWords) {
		_, charge, o, _, reference := orders()
		row := fmt.Sprintf(`{"id":18,"status":%q,"amount":"435","currency":"GHS","merchant_note":%q,"transaction":{"id":17}}`, word, o.ID)
		verified := success(`{"id":17,"status":"success","amount":435,"currency":"GHS","reference":%q}`, reference)
		first := answering(t, map[string]string{"GET /transaction/verify/": verified, "GET /refund": success(`[]`), "POST /refund": success("%s", row)})
		later := answering(t, map[string]string{"GET /transaction/verify/": verified, "GET /refund": success("[%s]", row)})
		made, err1 := first.Refund(t.Context(), o)
		again, err2 := later.Refund(t.Context(), o)
		is, err3 := later.RefundStatus(t.Context(), o)
		expect.NoError(t, err1, "%s of %s", word, charge.ID)
		expect.NoError(t, err2, "%s of %s", word, charge.ID)
		expect.NoError(t, err3, "%s of %s", word, charge.ID)
		expect.Equal(t, made, again, "%s of %s: made", word, charge.ID)
		expect.Equal(t, again, is, "%s of %s: again", word, charge.ID)
		expect.Equal(t, is.Outcome, want, "%s of %s: outcome", word, charge.ID)
		expect.Equal(t, is.Reference, "18", "%s of %s: reference", word, charge.ID)
		expect.Equal(t, is.Reason.Message != "", want == provider.Refused, "%s: the reason %+v", word, is.Reason)
	}
}

// Every row of the table of rejections has its meaning, wherever it comes. A rejection ends an order
// only if the row says so and Paystack does not know the reference.
func TestRejections(t *testing.T) {
	for _, row := range rejections {
		for _, part := range row.parts {
			message := "Sorry. " + strings.ToUpper(part[:1]) + part[1:] + ", 0241234567."
			transfer, charge, back, transferReference, chargeReference := orders()
			refuses := map[string]string{
				"POST /transferrecipient": success(`{"recipient_code":"RCP_1"}`), "POST /transfer": failure(message), "GET /transfer/verify/": failure("Transfer not found"),
				"POST /charge": failure(message), "POST /charge/submit_otp": failure(message), "GET /transaction/verify/": failure("Transaction reference not found"),
				"GET /bank/resolve": failure(message),
			}
			unknown := answering(t, refuses)
			refuses["POST /transferrecipient"] = failure(message)
			noRecipient := answering(t, refuses)
			known := maps.Clone(refuses)
			known["GET /transfer/verify/"] = success(`{"status":"success","amount":435,"currency":"GHS","reference":%q}`, transferReference)
			known["GET /transaction/verify/"] = success(`{"id":17,"status":"success","amount":435,"currency":"GHS","reference":%q}`, chargeReference)
			known["GET /refund"], known["POST /refund"] = success(`[]`), failure(message)
			seen := answering(t, known)
			check := func(on, what string, call func() (provider.Result, error)) {
				t.Helper()
				r, err := call()
				if ends := row.meaning == refused || row.meaning == wentBack; ends && (row.on == "" || row.on == on) {
					expect.NoError(t, err, "%s, %s", part, what)
					expect.Equal(t, r.Outcome, provider.Refused, "%s, %s: outcome", part, what)
					expect.Equal(t, r.Reason, row.reason, "%s, %s: reason", part, what)
					expect.True(t, r.Reason != (provider.Refusal{}), "%s, %s: %+v, %v", part, what, r, err)
				} else {
					expect.True(t, err != nil, "%s, %s: no error with %+v", part, what, r)
					expect.True(t, !strings.Contains(fmt.Sprint(err), "0241234567"), "%s, %s: the error tells the number: %v", part, what, err)
				}
			}
			check("POST /transfer", "Submit", func() (provider.Result, error) { return unknown.Submit(t.Context(), transfer) })
			check("POST /transfer", "Submit without a recipient", func() (provider.Result, error) { return noRecipient.Submit(t.Context(), transfer) })
			check("POST /charge", "Charge", func() (provider.Result, error) { return unknown.Charge(t.Context(), charge) })
			check("POST /refund", "Refund", func() (provider.Result, error) { return seen.Refund(t.Context(), back) })
			for _, call := range []func() (provider.Result, error){
				func() (provider.Result, error) { return seen.Submit(t.Context(), transfer) },
				func() (provider.Result, error) { return seen.Charge(t.Context(), charge) },
				func() (provider.Result, error) { return seen.ConfirmCharge(t.Context(), charge, "1") },
			} {
				r, err := call()
				expect.NoError(t, err, "%s, of an order that is paid", part)
				expect.Equal(t, r.Outcome, provider.Paid, "%s, of an order that is paid: outcome", part)
			}
			r, err := unknown.ConfirmCharge(t.Context(), charge, "1")
			expect.True(t, err != nil, "%s, a code for an unknown charge: %+v", part, r)
			name, err := unknown.AccountName(t.Context(), provider.Enquiry{Live: true, Network: "mtn", Number: "+233241234567"})
			_, refusal := err.(*provider.Refusal)
			expect.Equal(t, name, "", "%s, a name: name", part)
			expect.True(t, err != nil, "%s, a name: %v", part, err)
			expect.Equal(t, refusal, row.meaning == refused && row.on == "", "%s, a name: refusal", part)

			// A lost request may arrive after the refusal of a later one.
			transfer.Attempts, transfer.Now = 2, transfer.SubmittedAt.Add(settled-time.Second)
			charge.Attempts, charge.Now = 2, charge.SubmittedAt.Add(settled-time.Second)
			_, err1 := unknown.Submit(t.Context(), transfer)
			_, err2 := unknown.Charge(t.Context(), charge)
			expect.True(t, err1 != nil, "%s, soon after an earlier request: %v, %v", part, err1, err2)
			expect.True(t, err2 != nil, "%s, soon after an earlier request: %v, %v", part, err1, err2)
			transfer.Now, charge.Now = transfer.SubmittedAt.Add(settled), charge.SubmittedAt.Add(settled)
			check("POST /transfer", "Submit, later", func() (provider.Result, error) { return unknown.Submit(t.Context(), transfer) })
			check("POST /charge", "Charge, later", func() (provider.Result, error) { return unknown.Charge(t.Context(), charge) })
		}
	}
}

// Every text of the table says that Paystack has never seen the order.
func TestNotFoundWords(t *testing.T) {
	for _, row := range rejections {
		if row.meaning != notFound {
			continue
		}
		for _, part := range row.parts {
			transfer, charge, _, _, _ := orders()
			client := answering(t, map[string]string{"GET /transfer/verify/": failure(part), "GET /transaction/verify/": failure(part)})
			sent, err1 := client.Status(t.Context(), transfer)
			taken, err2 := client.ChargeStatus(t.Context(), charge)
			expect.NoError(t, err1, "%s", part)
			expect.NoError(t, err2, "%s", part)
			expect.Equal(t, sent.Outcome, provider.NotFound, "%s: outcome", part)
			expect.Equal(t, taken.Outcome, provider.NotFound, "%s: outcome", part)
		}
	}
}

// A fee, a code or a message of an odd form does not hide the answer. An amount that is no whole number
// of pesewas does.
func TestOddNumbers(t *testing.T) {
	for _, c := range []struct {
		amount, fee string
		want        int64 // the fee; -1 for an error
	}{
		{"435", "8", 8},
		{"435", `"8"`, 8},
		{"435", "100.0", 100},
		{"435", "8.5", 0},
		{"435", `"free"`, 0},
		{"435", "{}", 0},
		{"435", "null", 0},
		{"435.00", "8", 8},
		{`"435"`, "8", 8},
		{"435.5", "8", -1},
		{`"GHS 4.35"`, "8", -1},
		{"4.35e2", "8", -1},
		{".0", "8", -1},
		{"{}", "8", -1},
	} {
		transfer, charge, _, transferReference, chargeReference := orders()
		client := answering(t, map[string]string{
			"GET /transfer/verify/":    `{"status":true,"code":7,"message":["x"],"data":` + fmt.Sprintf(`{"status":"success","amount":%s,"currency":"GHS","reference":%q,"fee_charged":%s}}`, c.amount, transferReference, c.fee),
			"GET /transaction/verify/": success(`{"id":17,"status":"success","amount":%s,"currency":"GHS","reference":%q,"fees":%s}`, c.amount, chargeReference, c.fee),
		})
		paid, err1 := client.Status(t.Context(), transfer)
		taken, err2 := client.ChargeStatus(t.Context(), charge)
		if c.want < 0 {
			expect.True(t, err1 != nil, "%s: %+v, %+v", c.amount, paid, taken)
			expect.True(t, err2 != nil, "%s: %+v, %+v", c.amount, paid, taken)
			continue
		}
		expect.NoError(t, err1, "%+v", c)
		expect.Equal(t, paid.Outcome, provider.Paid, "%+v: outcome", c)
		expect.Equal(t, paid.ProviderFee, c.want, "%+v: provider fee", c)
		expect.Equal(t, paid.Amount, 435, "%+v: amount", c)
		expect.NoError(t, err2, "%+v", c)
		expect.Equal(t, taken.Outcome, provider.Paid, "%+v: outcome", c)
		expect.Equal(t, taken.ProviderFee, c.want, "%+v: provider fee", c)
	}
	transfer, _, _, _, _ := orders()
	client := answering(t, map[string]string{
		"POST /transferrecipient": `{"status":false,"message":"Account number is invalid","code":400}`, "GET /transfer/verify/": failure("Transfer not found"),
	})
	r, err := client.Submit(t.Context(), transfer)
	must.Do(t, err)
	expect.Equal(t, r.Outcome, provider.Refused, "a code as a number: outcome")
}

// No text of Paystack's brings a number, an address or a key into an error.
func TestMask(t *testing.T) {
	for text, want := range map[string]string{
		"to 0241234567 failed": "to … failed", "to +233 24 123 4567": "to …", "024/123/4567": "…", "024,123,4567.": "….", "024\u00a0123\u00a04567": "…", "(024)_123_4567": "(…",
		"024*123*4567 and ama@example.com": "… and …", "0241234567@example.com": "…", "Key sk_live_1": "Key …", "Limit is GHS 100, code 45": "Limit is GHS 100, code 45",
	} {
		expect.Equal(t, mask(text), want, "%s", text)
	}
}
