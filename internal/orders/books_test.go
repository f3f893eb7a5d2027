package orders_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
)

var operator = api.Caller{Live: true}

// rows reads the lines of a statement: reference, amount, status, fee and type.
func rows(statement []string) provider.RowReader {
	return provider.CSV(strings.NewReader("reference,amount,status,fee,type\n" + strings.Join(statement, "\n")))
}

// A day is closed with the provider's statement: its fees and its settlement are booked, and what lies
// there by the books is what the provider says. A statement that says something else names the orders.
func TestBooksMatchTheProviders(t *testing.T) {
	first := newNamed(0)
	router := twoProviders(first, newNamed(0))
	router.Charger = func(c provider.Charge) string {
		if c.PaymentMethod != "" {
			return "first"
		}
		return byNetwork(c.Network)
	}
	s := open(t, router)
	paidOut, charged, other := must.Get(s.disburse(mtn))(t), must.Get(s.charge(mtn))(t), must.Get(s.charge(telecel))(t)
	back := must.Get(s.Refunds.Create(t.Context(), s.caller, refund.CreateParams{Payment: charged, Amount: new(int64(5_00))}))(t).ID
	v := must.Get(s.Invoices.Create(t.Context(), s.caller, invoice.CreateParams{
		AutoFinalize: true, Fields: invoice.Fields{Lines: []invoice.LineParams{{Description: "x", UnitAmount: new(int64(30_00))}}},
	}))(t)
	must.Get(s.Invoices.Pay(t.Context(), s.caller, v.ID, invoice.PayParams{PaymentMethod: "card"}))(t)
	must.Do(t, s.Drain(t.Context()))
	att := ""
	for id := range first.got {
		if strings.HasPrefix(id, "att_") {
			att = id
		}
	}

	statement := []string{
		paidOut + ",10.00,success,1.00,transfer", charged + ",20.00,success,0.39,charge",
		back + ",5.00,processed,,refund", att + ",30.00,success,0.59,charge",
		"SETTLE-1,12.00,success,0.50,settlement",
	}
	lies := int64(-10_00 - 1_00 + 20_00 - 39 - 5_00 + 30_00 - 59 - 12_00 - 50)
	reconcile := func(book bool) *provider.Reconciliation {
		return must.Get(s.Providers.Reconcile(t.Context(), operator, provider.ReconcileParams{
			Rows: rows(statement), Route: "first", Book: book, Outcomes: map[string]provider.Outcome{"processed": provider.Paid},
		}))(t)
	}
	before := reconcile(false)
	expect.Equal(t, fmt.Sprint(before.Matched, len(before.FeeDiffers), len(before.MissingHere), len(before.MissingThere), len(before.Booked)), "1 3 1 0 0", "what is not booked yet")
	booked := reconcile(true)
	expect.Equal(t, fmt.Sprint(booked.Matched, len(booked.Booked), len(booked.FeeDiffers), len(booked.MissingHere)), "5 4 0 0", "what the statement has booked")
	again := reconcile(true)
	expect.Equal(t, fmt.Sprint(again.Matched, len(again.Booked)), "5 0", "the statement read again")

	expect.Equal(t, s.balance(ledger.ProviderFees(true)), -(1_00 + 39 + 59 + 50), "the operator's cost")
	expect.Equal(t, s.balance(ledger.Bank(true)), -12_00, "the bank")
	words := func(lines ...string) *provider.Position {
		p := provider.PositionParams{Route: "first", Reported: &lies, Rows: rows(lines), Outcomes: map[string]provider.Outcome{"processed": provider.Paid}}
		return must.Get(s.Providers.Position(t.Context(), operator, p))(t)
	}
	is := words(statement...)
	expect.Equal(t, is.Booked, lies, "what lies with the provider")
	expect.Equal(t, fmt.Sprint(is.Difference, len(is.Lines), is.Unexplained), "0 0 0", "differences")

	// The provider lacks the disbursement, has charged another fee, and has an order that is not ours.
	lies += 10_00 + 1_00 - 3_00
	is = words(charged+",20.00,success,3.39,charge", statement[2], statement[3], statement[4])
	expect.Equal(t, is.Difference, 8_00, "the difference")
	expect.Equal(t, is.Unexplained, 0, "what is not explained")
	want := map[string][2]int64{paidOut: {-11_00, 0}, charged: {20_00 - 39, 20_00 - 3_39}}
	expect.Equal(t, len(is.Lines), len(want), "lines")
	for _, l := range is.Lines {
		expect.Equal(t, [2]int64{l.Booked, l.Reported}, want[l.Reference], "the line of %s", l.Reference)
	}
	none := must.Get(s.Providers.Position(t.Context(), operator, provider.PositionParams{Route: "first", Reported: new(int64(0))}))(t)
	expect.True(t, none.Lines == nil, "without a statement: lines %+v", none.Lines)
	expect.Equal(t, none.Difference, -none.Booked, "without a statement: the difference")

	// The statement of one provider knows no order of another.
	foreign := must.Get(s.Providers.Reconcile(t.Context(), operator, provider.ReconcileParams{Rows: rows([]string{other + ",20.00,success,,"}), Route: "first"}))(t)
	expect.Equal(t, len(foreign.RouteDiffers), 1, "rows of another provider's order")
	expect.Equal(t, len(foreign.MissingThere), 4, "orders of the first")
	must.Get(s.Accounts.Verify(t.Context()))(t)
}

// A row that disagrees with its order matches nothing, and its fee is not booked.
func TestRowsThatDisagreeBookNothing(t *testing.T) {
	s := open(t, twoProviders(newNamed(39), newNamed(0)))
	paid, other := must.Get(s.charge(mtn))(t), must.Get(s.charge(telecel))(t)
	failed, open := must.Get(s.charge("0241230901"))(t), must.Get(s.charge(slow))(t)
	for _, c := range []struct{ row, differs string }{
		{paid + ",20.01,paid,1.00,charge", "amount"},
		{paid + ",20.00,failed,1.00,charge", "status"},
		{paid + ",20.00,pending,1.00,charge", "status"},
		{failed + ",20.00,paid,1.00,charge", "status"},
		{failed + ",20.00,pending,1.00,charge", "status"},
		{failed + ",20.00,failed,1.00,charge", "fee"},
		{open + ",20.00,paid,1.00,charge", "status"},
		{open + ",20.00,failed,1.00,charge", "status"},
		{open + ",20.00,strange,1.00,charge", "status"},
		{open + ",20.00,pending,1.00,charge", "fee"},
		{paid + ",20.00,paid,-1.00,charge", "fee"},
		{paid + ",20.00,paid,1000000.00,charge", "fee"},
		{other + ",20.00,paid,1.00,charge", "route"},
	} {
		is := must.Get(s.Providers.Reconcile(t.Context(), operator, provider.ReconcileParams{Rows: rows([]string{c.row}), Route: "first", Book: true}))(t)
		got := map[string]int{"amount": len(is.AmountDiffers), "status": len(is.StatusDiffers), "route": len(is.RouteDiffers), "fee": 0}
		if c.differs == "fee" {
			got["fee"] = len(is.FeeDiffers)
		}
		expect.Equal(t, fmt.Sprint(is.Matched, len(is.Booked), got[c.differs], got["amount"]+got["status"]+got["route"]+got["fee"]), "0 0 1 1", "%s: matched, booked, and what differs", c.row)
	}
	expect.Equal(t, s.balance(ledger.ProviderFees(true)), -39, "the operator's cost, as the provider told it with the outcome")
	for fee, cost := range map[string]int64{"999999.99": -999_999_99, "0.00": 0} {
		is := must.Get(s.Providers.Reconcile(t.Context(), operator, provider.ReconcileParams{Rows: rows([]string{paid + ",20.00,paid," + fee + ",charge"}), Route: "first", Book: true}))(t)
		expect.Equal(t, fmt.Sprint(is.Matched, len(is.Booked), s.balance(ledger.ProviderFees(true))), fmt.Sprint(1, 1, cost), "a fee of %s: matched, booked, and the operator's cost", fee)
	}
	blank := must.Get(s.Providers.Reconcile(t.Context(), operator, provider.ReconcileParams{Rows: rows([]string{",1.00,paid,,", ",2.00,paid,,"})}))(t)
	expect.Equal(t, fmt.Sprint(len(blank.MissingHere), len(blank.Repeated)), "2 0", "rows without a reference are not the same row")
	testkit.WantCode(t, "no statement", testkit.Err(s.Providers.Reconcile(t.Context(), operator, provider.ReconcileParams{})), api.ParameterMissing)
}

// A position is of a time: what came later does not count.
func TestPositionOfADay(t *testing.T) {
	s := open(t, twoProviders(newNamed(0), newNamed(0)))
	must.Get(s.charge(mtn))(t)
	s.now = s.now.Add(24 * time.Hour)
	midnight := s.now.Truncate(24 * time.Hour)
	late := must.Get(s.charge(mtn))(t)
	is := must.Get(s.Providers.Position(t.Context(), operator, provider.PositionParams{Route: "first", Until: midnight}))(t)
	expect.Equal(t, is.Booked, 20_00, "at midnight")
	is = must.Get(s.Providers.Position(t.Context(), operator, provider.PositionParams{Route: "first", From: midnight, Rows: rows(nil)}))(t)
	expect.Equal(t, is.Booked, 40_00, "now")
	expect.Equal(t, len(is.Lines), 1, "lines of the second day")
	expect.Equal(t, is.Lines[0], provider.PositionLine{Reference: late, Booked: 20_00}, "the line of the second day")

	testkit.WantCode(t, "a merchant", testkit.Err(s.Providers.Position(t.Context(), s.caller, provider.PositionParams{})), api.PermissionDenied)
	testkit.WantCode(t, "a time of test mode", testkit.Err(s.Providers.Position(t.Context(), api.Caller{}, provider.PositionParams{Until: midnight})), api.ParameterInvalid)
}

// A settlement is recorded once, and its money goes from the provider to the bank, or back.
func TestRecordSettlement(t *testing.T) {
	s := open(t, twoProviders(newNamed(0), newNamed(0)))
	record := func(p provider.SettlementParams) (*provider.Settlement, error) {
		return s.Providers.RecordSettlement(t.Context(), operator, p)
	}
	paid := provider.SettlementParams{Route: "first", Reference: "S1", Amount: 100_00, Fee: 50}
	recorded := must.Get(record(paid))(t)
	again := must.Get(record(paid))(t)
	expect.Equal(t, *again, *recorded, "recorded again")
	must.Get(record(provider.SettlementParams{Route: "second", Reference: "S1", Amount: -70_00}))(t)
	must.Get(record(provider.SettlementParams{Reference: "S1", Amount: 1}))(t)
	must.Get(record(provider.SettlementParams{Reference: "S2", Amount: -2}))(t)
	for account, want := range map[ledger.Account]int64{
		ledger.Provider("first", true): 100_50, ledger.Provider("second", true): -70_00, ledger.ProviderFees(true): -50,
		ledger.Bank(true): -100_00 + 70_00 - 1 + 2, ledger.Clearing("charges", true): 1, ledger.Clearing("rail", true): -2,
	} {
		expect.Equal(t, s.balance(account), want, "%s", account.Name)
	}
	is := must.Get(s.Providers.Position(t.Context(), operator, provider.PositionParams{}))(t)
	expect.Equal(t, is.Booked, 1, "what lies with the provider without a name")

	const most = 1_000_000_000_000_00
	must.Get(record(provider.SettlementParams{Route: "first", Reference: "S4", Amount: most, Fee: most}))(t)
	must.Get(record(provider.SettlementParams{Route: "first", Reference: "S5", Amount: -most}))(t)
	for what, p := range map[string]provider.SettlementParams{
		"another amount":     {Route: "first", Reference: "S1", Amount: 100_01, Fee: 50},
		"no amount":          {Route: "first", Reference: "S3"},
		"a fee below 0":      {Route: "first", Reference: "S3", Amount: 1, Fee: -1},
		"a wrong name":       {Route: "First", Reference: "S3", Amount: 1},
		"an amount too high": {Route: "first", Reference: "S3", Amount: most + 1},
		"an amount too low":  {Route: "first", Reference: "S3", Amount: -most - 1},
		"a fee too high":     {Route: "first", Reference: "S3", Amount: 1, Fee: most + 1},
		"a long reference":   {Route: "first", Reference: strings.Repeat("S", api.MaxReference+1), Amount: 1},
	} {
		testkit.WantCode(t, what, testkit.Err(record(p)), api.ParameterInvalid)
	}
	testkit.WantCode(t, "no reference", testkit.Err(record(provider.SettlementParams{Route: "first", Amount: 1})), api.ParameterMissing)
	testkit.WantCode(t, "a merchant", testkit.Err(s.Providers.RecordSettlement(t.Context(), s.caller, paid)), api.PermissionDenied)
	must.Get(s.Accounts.Verify(t.Context()))(t)
}

// What a statement leaves open, or gets wrong, is neither booked nor guessed, and stops no other row.
func TestOddStatements(t *testing.T) {
	s := open(t, twoProviders(newNamed(39), newNamed(0)))
	charged, paidOut := must.Get(s.charge(mtn))(t), must.Get(s.disburse(mtn))(t)
	lies := int64(20_00 - 39 - 10_00 - 39)

	odd := []string{
		"S1,5.00,pending,,settlement", "S2,5.00,failed,,settlement", "S3,0.00,paid,,settlement", ",5.00,paid,,settlement",
		"S4,5.00,paid,-0.50,settlement", "S5,5.00,paid,0.10,settlement", charged + ",20.00,paid,,", paidOut + ",10.00,paid,0.39,",
	}
	params := provider.ReconcileParams{Rows: rows(odd), Route: "first", Book: true}
	report := must.Get(s.Providers.Reconcile(t.Context(), operator, params))(t)
	expect.Equal(t, fmt.Sprint(len(report.StatusDiffers), len(report.AmountDiffers), len(report.Booked), report.Matched), "2 3 1 3", "what is odd, booked and right")
	expect.Equal(t, s.balance(ledger.Bank(true)), -5_00, "the bank")
	lies -= 5_10

	position := func(p provider.PositionParams, lines ...string) *provider.Position {
		p.Route, p.Rows = "first", rows(lines)
		return must.Get(s.Providers.Position(t.Context(), operator, p))(t)
	}
	all := []string{charged + ",20.00,paid,,", paidOut + ",10.00,paid,,", "S5,5.00,paid,,settlement", "S1,5.00,pending,,settlement"}
	is := position(provider.PositionParams{Reported: &lies}, all...)
	expect.Equal(t, fmt.Sprint(is.Difference, len(is.Lines), is.Unexplained), "0 0 0", "a statement without fees")
	is = position(provider.PositionParams{}, charged+",20.00,paid,,")
	expect.Equal(t, fmt.Sprint(is.Reported == nil, len(is.Lines), is.Unexplained), "true 2 0", "a provider that tells no balance")
	more := lies + 50_00
	is = position(provider.PositionParams{Reported: &more}, append(all, "DASHBOARD-1,50.00,paid,,charge")...)
	expect.Equal(t, fmt.Sprint(is.Difference, len(is.Lines), is.Unexplained), "5000 1 0", "a charge that is not the library's")
	is = position(provider.PositionParams{Reported: &more}, append(all, "DASHBOARD-2,50.00,paid,,")...)
	expect.Equal(t, fmt.Sprint(is.Difference, len(is.Lines), is.Lines[0].Unknown, is.Unexplained), "5000 1 true 5000", "a row that does not tell what it is")
	expect.Equal(t, is.Lines[0].Reported, 50_00, "what such a row reports")
	less := lies - 40
	is = position(provider.PositionParams{Reported: &less}, append(all, "DASHBOARD-3,50.00,failed,0.40,transfer")...)
	expect.Equal(t, fmt.Sprint(is.Difference, len(is.Lines), is.Unexplained), "-40 1 0", "a fee of a transfer that failed")
	is = position(provider.PositionParams{Reported: &lies}, append(all, "DASHBOARD-4,50.00,reversed,,transfer")...)
	expect.Equal(t, fmt.Sprint(is.Difference, len(is.Lines), is.Unexplained), "0 0 0", "a transfer of another program that was taken back")

	midnight := s.now.Add(24 * time.Hour).Truncate(24 * time.Hour)
	s.now = midnight.Add(time.Hour)
	must.Do(t, s.Providers.Notify(t.Context(), paidOut, provider.Result{Outcome: provider.Reversed}))
	reversed := []string{all[0], paidOut + ",10.00,reversed,,", all[2]}
	is = position(provider.PositionParams{Reported: &lies, Until: midnight}, reversed...)
	expect.Equal(t, fmt.Sprint(is.Difference, len(is.Lines), is.Unexplained), "0 0 0", "the day of a transfer that was taken back later")
	lies += 10_00
	is = position(provider.PositionParams{Reported: &lies, From: midnight}, reversed[1])
	expect.Equal(t, fmt.Sprint(is.Difference, len(is.Lines), is.Unexplained), "0 0 0", "the day on which it was taken back")
	is = position(provider.PositionParams{Reported: &lies, From: midnight}, paidOut+",10.00,paid,,")
	expect.Equal(t, fmt.Sprint(is.Difference, len(is.Lines), is.Unexplained), "0 1 2039", "a statement that still says it was paid")

	testkit.WantCode(t, "a merchant that books", testkit.Err(s.Providers.Reconcile(t.Context(), s.caller, params)), api.PermissionDenied)
	params.Route = ""
	testkit.WantCode(t, "nobody's statement", testkit.Err(s.Providers.Reconcile(t.Context(), operator, params)), api.ParameterInvalid)
}
