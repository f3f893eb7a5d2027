package paystack_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/paystack"
	"github.com/seed-7082ffec/payments/provider/paystack/paystacktest"
)

// "Fully reversed" may tell of an earlier request for the same refund, whose answer got lost and
// which no list shows yet. Then it ends nothing.
func TestFullyReversedByItself(t *testing.T) {
	client := clientOf(t, stub{
		"GET /transaction/verify/*": succeeds(`{"id":17,"status":"success","amount":435}`), "GET /refund": succeeds(`[]`),
		"POST /refund": rejection("Transaction has been fully reversed"),
	})
	for attempts, want := range map[int]provider.Outcome{1: provider.Refused, 2: "", 4: ""} {
		back := newRefund(newCharge("67"), 435)
		back.Order = later(back.Order, attempts, time.Duration(attempts-1)*time.Hour)
		r, err := client.Refund(t.Context(), back)
		expect.Equal(t, r.Outcome, want, "attempt %d: outcome", attempts)
		expect.True(t, (err != nil) == (want == ""), "attempt %d: %+v, %v", attempts, r, err)
	}
}

// Of several refunds with the same note, the one that was paid counts, then one that is open. Two
// that were paid are for a person to look at.
func TestRefundsWithOneNote(t *testing.T) {
	charge := newCharge("67")
	back, other := newRefund(charge, 100), newRefund(charge, 100)
	for statuses, want := range map[string]provider.Outcome{
		"failed processed":            provider.Paid,
		"failed pending":              provider.InProgress,
		"pending processed failed":    provider.Paid,
		"processed pending":           provider.Paid,
		"failed failed":               provider.Refused,
		"processed failed processed":  "",
		"processed pending processed": "",
	} {
		var rows []string
		for i, status := range strings.Fields(statuses) {
			rows = append(rows, fmt.Sprintf(`{"id":%d,"status":%q,"amount":100,"merchant_note":%q,"transaction":17}`, i+1, status, back.ID))
		}
		rows = append(rows, fmt.Sprintf(`{"id":9,"status":"processed","amount":100,"merchant_note":%q,"transaction":17}`, other.ID))
		one := `{"id":17,"status":"success","amount":435}`
		filtered := clientOf(t, stub{"GET /transaction/verify/*": succeeds(one), "GET /refund": succeeds("[" + strings.Join(rows, ",") + "]")})
		all := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s := stub{"GET /transaction/verify/*": succeeds(one), "GET /refund": succeeds("[" + strings.Join(rows, ",") + "]")}
			if r.URL.Query().Get("transaction") != "" {
				s["GET /refund"] = succeeds(`[]`)
			}
			s.ServeHTTP(w, r)
		}))
		again := back
		again.Order = later(back.Order, 2, time.Hour)
		for name, client := range map[string]*paystack.Client{"the list of the charge": filtered, "the list of all": all} {
			r, err := client.RefundStatus(t.Context(), again)
			expect.Equal(t, r.Outcome, want, "%s in %s: outcome", statuses, name)
			expect.True(t, (err != nil) == (want == ""), "%s in %s: %+v, %v", statuses, name, r, err)
		}

		// A webhook names the charge alone.
		told := &notes{}
		body := `{"event":"refund.processed","data":{"transaction_reference":"` + referenceOf(t, charge.ID) + `"}}`
		status := post(t, filtered.WebhookHandler(told.notify), body, signed(body))
		final := 1 // the other refund
		if want.Final() {
			final++
		}
		expect.Equal(t, len(told.ids), final, "an event with %s: number of ids", statuses)
		expect.True(t, (status == 503) == (want == ""), "an event with %s: %d, %v", statuses, status, told.ids)
	}
}

// A list goes on until a page has no new row: a page may be shorter than asked for, or come again.
func TestRefundsInPages(t *testing.T) {
	charge := newCharge("67")
	back := newRefund(charge, 100)
	ours := `{"id":3,"status":"processed","amount":100,"merchant_note":"` + back.ID + `","transaction":17}`
	for name, pages := range map[string][]string{
		"short pages":       {`{"id":1,"status":"failed","transaction":17}`, `{"id":2,"status":"failed","transaction":17}`, ours, ``},
		"overlapping pages": {`{"id":1,"status":"failed","transaction":17}`, `{"id":1,"status":"failed","transaction":17},` + ours, ours},
	} {
		client := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/refund" {
				stub{"GET /transaction/verify/*": succeeds(`{"id":17,"status":"success","amount":435}`)}.ServeHTTP(w, r)
				return
			}
			page := 0
			_, err := fmt.Sscan(r.URL.Query().Get("page"), &page)
			must.True(t, err == nil && page <= len(pages), "%s: page %d", name, page)
			_, _ = io.WriteString(w, `{"status":true,"data":[`+pages[page-1]+`]}`)
		}))
		r, err := client.RefundStatus(t.Context(), back)
		expect.NoError(t, err, "%s", name)
		expect.Equal(t, r.Outcome, provider.Paid, "%s: outcome", name)
		expect.Equal(t, r.Reference, "3", "%s: reference", name)
	}
	for _, rows := range []string{`null`, `[{"status":"processed","amount":100,"transaction":17}]`} {
		client := clientOf(t, stub{"GET /transaction/verify/*": succeeds(`{"id":17,"status":"success","amount":435}`), "GET /refund": succeeds(rows)})
		r, err := client.RefundStatus(t.Context(), back)
		expect.True(t, err != nil, "the list %s: %+v", rows, r)
	}
}

func TestReference(t *testing.T) {
	const id = "po_0000000000000000000Abc"
	reference, ok := paystack.Reference(id)
	expect.True(t, ok, "the reference of an order: %q", reference)
	expect.True(t, reference != id, "the reference of an order: %q", reference)
	back, ok := paystack.OrderID(reference)
	expect.True(t, ok, "the order of a reference: %q", back)
	expect.Equal(t, back, id, "the order of a reference: back")
	for _, other := range []string{"", "T123456789", id, reference + "0"} {
		_, ok := paystack.OrderID(other)
		expect.True(t, !ok, "%q is no reference of the library", other)
	}
	_, ok = paystack.Reference("T123456789")
	expect.True(t, !ok, "a text that is no id has a reference")
}

// deliver posts the events of a fake, each of which must be answered with 200, and returns what the handler
// reports.
func deliver(t *testing.T, fake *paystacktest.Fake, client *paystack.Client) *notes {
	t.Helper()
	told := &notes{}
	handler := client.WebhookHandler(told.notify)
	for _, e := range fake.Callbacks() {
		expect.Equal(t, post(t, handler, string(e.Body), e.Signature), 200, "%s", e.Body)
	}
	return told
}

// A dispute reverses its charge when it ends for the payer, and not before. Of one about a part, the
// library hears that less was paid.
func TestDisputes(t *testing.T) {
	for _, c := range []struct {
		resolution string
		pesewas    int64
		outcome    provider.Outcome // that the events report; none if empty
		paid       int64            // with the outcome
	}{
		{paystacktest.MerchantAccepted, 435, provider.Reversed, 0},
		{paystacktest.AutoAccepted, 435, provider.Reversed, 0},
		{paystacktest.AutoAccepted, 200, provider.Paid, 235},
		{paystacktest.Declined, 435, "", 0},
		{"a new word", 0, "", 0},
	} {
		fake, client := fakeAndClient(t, 1)
		charge := newCharge("67")
		must.Get(client.Charge(t.Context(), charge))(t)
		fake.Callbacks()
		must.True(t, fake.Dispute(charge.ID, c.pesewas), "%s: no dispute", c.resolution)
		expect.Equal(t, len(deliver(t, fake, client).ids), 0, "%s: reports about an open dispute", c.resolution)
		if c.resolution == "a new word" {
			continue
		}
		fake.ResolveDispute(charge.ID, c.resolution)
		told := deliver(t, fake, client)
		expect.Equal(t, fmt.Sprint(told.ids), map[bool]string{true: "[]", false: "[" + charge.ID + "]"}[c.outcome == ""], "%s: reports", c.resolution)
		expect.Equal(t, told.last.Outcome, c.outcome, "%s of %d: outcome of the last", c.resolution, c.pesewas)
		expect.Equal(t, told.last.Amount, c.paid, "%s of %d: amount of the last", c.resolution, c.pesewas)
		r, err := client.ChargeStatus(t.Context(), charge)
		want := provider.Paid
		if c.outcome == provider.Reversed {
			want = provider.Reversed
		}
		expect.NoError(t, err, "%s of %d", c.resolution, c.pesewas)
		expect.Equal(t, r.Outcome, want, "%s of %d: the status: outcome", c.resolution, c.pesewas)
	}
}

// back is what Paystack says of a charge of 435 pesewas.
type back struct {
	status, refunds, disputes string
}

func (b back) client(t *testing.T) *paystack.Client {
	return clientOf(t, stub{
		"GET /transaction/verify/*": succeeds(`{"id":17,"status":"` + b.status + `","amount":435,"currency":"GHS"}`),
		"GET /refund":               succeeds("[" + b.refunds + "]"), "GET /dispute": succeeds("[" + b.disputes + "]"),
	})
}

// What refunds of the library do not explain went back otherwise. All of it reverses the charge, a part
// of it is reported as an amount. What nothing explains is asked about again.
func TestMoneyThatWentBack(t *testing.T) {
	charge := newCharge("67")
	ours := newRefund(charge, 435).ID
	refund := func(pesewas int, note string) string {
		return fmt.Sprintf(`{"id":%d,"status":"processed","amount":%d,"merchant_note":%q,"transaction":17}`, pesewas, pesewas, note)
	}
	open := func(pesewas int, note string) string {
		return strings.Replace(refund(pesewas, note), "processed", "processing", 1)
	}
	dispute := func(pesewas string, resolution string) string {
		return `{"id":7,"status":"resolved","resolution":` + resolution + `,"refund_amount":` + pesewas + `,"transaction":{"id":17}}`
	}
	lost := `"auto-accepted"`
	for _, c := range []struct {
		event string
		back
		want string // the outcome, and an amount that is not 0; 503 if the event is to come again
	}{
		{"refund", back{"reversed", refund(435, "by hand"), ""}, "reversed"},
		{"refund", back{"reversed", refund(435, ours), ""}, ""},
		{"refund", back{"reversed", refund(200, ours) + "," + refund(235, "by hand"), ""}, "reversed"},
		{"refund", back{"success", refund(200, "by hand"), ""}, "paid 235"},
		{"refund", back{"success", refund(200, ours), ""}, ""},
		{"refund", back{"success", refund(200, ours) + "," + refund(100, "by hand"), ""}, "paid 335"},
		{"refund", back{"success", open(435, "by hand"), ""}, ""},
		{"refund", back{"reversed", open(435, "by hand"), ""}, "reversed"},
		{"refund", back{"success", open(200, ours) + "," + refund(235, "by hand"), ""}, "paid 200"},
		{"refund", back{"reversed", "", ""}, "503"},
		{"refund", back{"reversed", "", dispute("435", lost)}, "reversed"},
		{"refund", back{"reversed", refund(200, ours), dispute("235", lost)}, "reversed"},
		{"refund", back{"reversed", refund(200, ours), dispute("200", lost)}, "503"},
		{"refund", back{"reversed", "", dispute("null", lost)}, "503"},
		{"refund", back{"pending", refund(200, "by hand"), ""}, ""},
		{"charge.dispute", back{"success", "", dispute("435", lost)}, "reversed"},
		{"charge.dispute", back{"success", refund(200, ours), dispute("235", lost)}, "reversed"},
		{"charge.dispute", back{"success", refund(235, "of the dispute"), dispute("235", lost)}, "paid 200"},
		{"charge.dispute", back{"success", "", dispute("435", `"declined"`)}, ""},
		{"charge.dispute", back{"success", "", dispute("435", "null")}, ""},
		{"charge.dispute", back{"success", "", dispute("435", `"a new word"`)}, ""},
		{"charge.dispute", back{"success", "", strings.Replace(dispute("435", lost), "17", "18", 1)}, ""},
	} {
		told := &notes{}
		body := strings.ReplaceAll(`{"event":"`+c.event+`.resolve","data":{"transaction_reference":"X","transaction":{"reference":"X"}}}`, "X", referenceOf(t, charge.ID))
		if c.event != "refund" {
			body = strings.Replace(body, `"transaction_reference":"`+referenceOf(t, charge.ID)+`"`, `"transaction_reference":null`, 1)
		}
		handler := c.client(t).WebhookHandler(func(ctx context.Context, id string, r provider.Result) error {
			if id != charge.ID {
				return nil // a refund of ours
			}
			return told.notify(ctx, id, r)
		})
		status := post(t, handler, body, signed(body))
		is := string(told.last.Outcome)
		if told.last.Amount != 0 {
			is += fmt.Sprint(" ", told.last.Amount)
		}
		if status != 200 {
			is += fmt.Sprint(status)
		}
		expect.Equal(t, is, c.want, "%s %+v", c.event, c.back)
		expect.True(t, len(told.ids) <= 1, "%s %+v: %s, want %s", c.event, c.back, is, c.want)
	}
}
