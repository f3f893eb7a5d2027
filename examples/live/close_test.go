package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/mtnmomo/mtnmomotest"
	"github.com/seed-7082ffec/payments/provider/paystack/paystacktest"
)

// trade moves money over both providers, and returns the payment from a phone of Telecel. What the
// operator had with the providers before is recorded.
func (r *rig) trade() (paid string) {
	for route, pesewas := range map[string]int64{"paystack": r.paystack.Float(), "mtnmomo": r.mtn.Float()} {
		must.Get(r.app.svc.Providers.RecordSettlement(r.t.Context(), api.Caller{Live: true}, provider.SettlementParams{
			Route: route, Reference: "OPENING", Amount: -pesewas,
		}))(r.t)
	}
	for _, network := range []string{"024", "020"} {
		paid = r.make("/v1/payments", `{"amount":5000,"phone_number":"`+network+`1234567"}`)["id"].(string)
		back := r.make("/v1/payments", `{"amount":700,"phone_number":"`+network+`1234568"}`)["id"].(string)
		refunded := r.make("/v1/refunds", `{"payment":"`+back+`"}`)
		expect.Equal(r.t, refunded["status"], any("succeeded"), "the refund")
		for _, last := range []string{"567", "457"} { // MTN knows no wallet of the last
			r.make("/v1/disbursements", `{"amount":10,"destination":{"type":"mobile_money","phone_number":"`+network+`1234`+last+`"}}`)
		}
	}
	return paid
}

// close closes the day with a statement.
func (r *rig) close(route, statement string, args ...string) (out string, err error) {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "statement.csv")
	must.Do(r.t, os.WriteFile(path, []byte(statement), 0o600))
	var b bytes.Buffer
	err = closeDay(r.t.Context(), r.app, append([]string{"-provider", route, "-statement", path}, args...), &b)
	return b.String(), err
}

// mtnStatement is what MTN has moved, and the opening.
func (r *rig) mtnStatement() string {
	statement := "reference,amount,status\n"
	for _, e := range r.mtn.Ledger() {
		amount := e.Amount
		if e.Kind != mtnmomotest.Charge {
			amount = -amount
		}
		statement += fmt.Sprintf("%s,%d.%02d,SUCCESSFUL\n", e.ID, amount/100, amount%100)
	}
	return statement
}

func TestCloseDay(t *testing.T) {
	r := newRig(t)
	paid := r.trade()
	// The disbursement account pays, and the collection account is paid.
	held := r.mtn.Float() + 50_00 + 7_00
	balance := fmt.Sprintf("%d.%02d", held/100, held%100)
	for range 2 { // a day may be closed again
		out, err := r.close("paystack", r.paystack.Statement())
		expect.NoError(t, err, "Paystack's day: %s", out)
		expect.True(t, strings.Contains(out, "a difference of GHS 0.00"), "Paystack's day: %s", out)
		expect.True(t, strings.HasSuffix(out, "The day is closed.\n"), "Paystack's day: %s", out)
		out, err = r.close("mtnmomo", r.mtnStatement(), "-balance", balance)
		expect.NoError(t, err, "MTN's day: %s", out)
		expect.True(t, strings.Contains(out, "a difference of GHS 0.00"), "MTN's day: %s", out)
	}

	statement := r.paystack.Statement()
	for what, c := range map[string]struct{ statement, names string }{
		"another amount": {strings.Replace(statement, ",50.00,", ",45.00,", 1), paid + " has another amount"},
		"a lost row":     {without(statement, ",50.00,"), paid + " is in the books and not in the statement"},
		"a foreign row":  {statement + "po_0000000000000000000000,3.00,success,1.00,transfer\n", "po_0000000000000000000000 is in the statement and not in the books"},
		"a foreign charge that went back": {
			statement + "pay_0000000000000000000000,50.00,reversed,0.98,charge\n", "pay_0000000000000000000000 is in the statement and not in the books; statement: GHS 50.00 success",
		},
		"a doubled row":  {statement + strings.SplitAfter(statement, "\n")[1], "is in the statement twice"},
		"no reference":   {statement + ",3.00,success,0.00,transfer\n", "A row without a reference is in the statement and not in the books; statement: GHS 3.00 success"},
		"another status": {strings.Replace(statement, ",50.00,success", ",50.00,failed", 1), paid + " has another outcome"},
	} {
		out, err := r.close("paystack", c.statement)
		expect.True(t, err != nil, "%s: %v: %s", what, err, out)
		expect.True(t, strings.Contains(out, c.names), "%s: %v: %s", what, err, out)
		expect.True(t, !strings.Contains(out, "is closed"), "%s: %v: %s", what, err, out)
	}
	out, err := r.close("mtnmomo", r.mtnStatement())
	must.Do(t, err)
	expect.True(t, strings.Contains(out, "a difference of GHS 0.00"), "MTN tells the balances of both accounts: %v: %s", err, out)
	out, err = r.close("mtnmomo", r.mtnStatement(), "-balance", "1.00")
	expect.True(t, err != nil, "another balance: %v: %s", err, out)
	expect.True(t, strings.Contains(out, "The provider says GHS 1.00"), "another balance: %v: %s", err, out)
}

// A charge that Paystack took back has the same word in the statement as one that was refunded. The
// books have it taken back, too, and the day closes.
func TestCloseDayWithLostDispute(t *testing.T) {
	r := newRig(t)
	paid := r.trade()
	expect.True(t, r.paystack.Dispute(paid, 50_00), "the dispute is opened")
	r.paystack.ResolveDispute(paid, paystacktest.AutoAccepted)
	r.work()
	order := must.Get(r.app.svc.Providers.Get(t.Context(), api.Caller{Live: true}, paid))(t)
	expect.Equal(t, order.Outcome, provider.Reversed, "what is booked")
	out, err := r.close("paystack", r.paystack.Statement())
	must.Do(t, err)
	expect.True(t, strings.Contains(out, "a difference of GHS 0.00"), "the day: %v: %s", err, out)
}

// The next morning fees of yesterday are booked, which changes neither day's result.
func TestCloseYesterday(t *testing.T) {
	r := newRig(t)
	r.trade()
	// Paystack told the fee of each order at once; that of a refund comes with the statement.
	statement := strings.Replace(r.paystack.Statement(), "processed,0.00", "processed,0.25", 1)
	held := r.paystack.Float() - 25
	balance := fmt.Sprintf("%d.%02d", held/100, held%100)
	r.now = r.now.Add(24 * time.Hour)
	for range 2 {
		out, err := r.close("paystack", statement, "-day", "2026-11-23", "-balance", balance)
		expect.NoError(t, err, "yesterday: %s", out)
		expect.True(t, strings.Contains(out, "a difference of GHS -0.25. Not explained by bookings of another day: GHS 0.00"), "yesterday: %s", out)
	}
	out, err := r.close("paystack", "reference,amount,status\n", "-balance", balance)
	expect.NoError(t, err, "today: %s", out)
	for _, wrong := range [][]string{{"-day", "2026-11-25"}, {"-day", "yesterday"}, {"-balance", "1.005"}, {"-balance", "much"}} {
		_, err := r.close("paystack", statement, wrong...)
		must.True(t, err != nil, "%v: no error", wrong)
		expect.True(t, strings.HasPrefix(err.Error(), wrong[0]), "%v: %v", wrong, err)
	}
	_, err = r.close("hubtel", statement)
	must.True(t, err != nil, "an unknown provider: no error")
	expect.True(t, strings.Contains(err.Error(), "-provider"), "an unknown provider: %v", err)
}

// without leaves out the lines that have a part.
func without(text, part string) (rest string) {
	for line := range strings.Lines(text) {
		if !strings.Contains(line, part) {
			rest += line
		}
	}
	return rest
}
