package paystack_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/paystack"
	"github.com/seed-7082ffec/payments/provider/paystack/paystacktest"
)

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
		expect.True(t, told.last.Outcome == c.outcome && told.last.Amount == c.paid, "%s of %d: %+v", c.resolution, c.pesewas, told.last)
		r, err := client.ChargeStatus(t.Context(), charge)
		want := provider.Paid
		if c.outcome == provider.Reversed {
			want = provider.Reversed
		}
		expect.True(t, err == nil && r.Outcome == want, "%s of %d: the status is %+v, %v", c.resolution, c.pesewas, r, err)
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
		expect.True(t, is == c.want && len(told.ids) <= 1, "%s %+v: %s, want %s", c.event, c.back, is, c.want)
	}
}
