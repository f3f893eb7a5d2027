package orders_test

import (
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
)

// An order tells what its provider reported against it, before and after a person resolves that.
func TestOrderTellsTheContradiction(t *testing.T) {
	s := open(t, nil, provider.Simulated{})
	charge := must.Get(s.charge("0201230901"))(t)
	get := func() *provider.OrderInfo {
		t.Helper()
		return must.Get(s.Providers.Get(t.Context(), s.caller, charge))(t)
	}
	is := get()
	expect.Equal(t, is.Reported, "", "refused: reported")
	expect.True(t, is.ResolvedAt.IsZero(), "refused: it was resolved at %s", is.ResolvedAt)
	expect.Equal(t, is.Outcome, provider.Refused, "refused: outcome")
	expect.Equal(t, is.Network, "telecel", "refused: network")
	expect.ErrorIs(t, s.Providers.Notify(t.Context(), charge, provider.Result{Outcome: provider.Paid}), provider.ErrContradicted, "paid later")
	list := must.Get(s.Providers.List(t.Context(), s.caller, provider.ListParams{Contradicted: true}))(t).Data
	must.True(t, len(list) == 1, "listed %+v, want one", list)
	expect.Equal(t, list[0], *get(), "the listed order")
	is = get()
	expect.Equal(t, is.Contradiction, "failed, and now paid", "contradicted: contradiction")
	expect.Equal(t, is.Reported, provider.Paid, "contradicted: reported")
	expect.True(t, is.ResolvedAt.IsZero(), "contradicted: it was resolved at %s", is.ResolvedAt)
	must.Do(t, s.Providers.Resolve(t.Context(), charge))
	is = get()
	expect.Equal(t, is.Contradiction, "", "resolved: contradiction")
	expect.Equal(t, is.Reported, provider.Paid, "resolved: reported")
	expect.True(t, is.ResolvedAt.Equal(s.now), "resolved: at %s, want %s", is.ResolvedAt, s.now)

	operator, test, other := api.Caller{Live: true}, s.caller, s.caller
	test.Live, other.Merchant = false, "mer_other"
	expect.Equal(t, must.Get(s.Providers.Get(t.Context(), operator, charge))(t).ID, charge, "the operator's")
	for name, caller := range map[string]api.Caller{"test mode": test, "another merchant": other} {
		testkit.WantCode(t, name, testkit.Err(s.Providers.Get(t.Context(), caller, charge)), api.ResourceMissing)
	}
	testkit.WantCode(t, "no order", testkit.Err(s.Providers.Get(t.Context(), s.caller, "pay_0")), api.ResourceMissing)
}

// A merchant lists only its own orders, and the operator those of all. A flow and contradictions select.
func TestOrdersAreListedForTheirMerchant(t *testing.T) {
	s := open(t, nil, provider.Simulated{})
	first := s.caller
	contradicted := must.Get(s.charge("0201230901"))(t)
	expect.ErrorIs(t, s.Providers.Notify(t.Context(), contradicted, provider.Result{Outcome: provider.Paid}), provider.ErrContradicted, "paid later")
	m := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "N", Phone: "0302000000"}))(t)
	s.caller = api.Caller{Merchant: m.ID, Live: true}
	stuck := must.Get(s.charge("0201230903"))(t)
	s.now = s.now.Add(48 * time.Hour)
	for _, c := range []struct {
		caller api.Caller
		p      provider.ListParams
		want   []string
	}{
		{api.Caller{Live: true}, provider.ListParams{}, []string{contradicted, stuck}},
		{api.Caller{Live: true}, provider.ListParams{Contradicted: true}, []string{contradicted}},
		{api.Caller{Live: true}, provider.ListParams{Flow: provider.Charges}, []string{contradicted, stuck}},
		{api.Caller{Live: true}, provider.ListParams{Flow: provider.Refunds}, nil},
		{api.Caller{}, provider.ListParams{}, nil},
		{first, provider.ListParams{}, []string{contradicted}},
		{first, provider.ListParams{Contradicted: true}, []string{contradicted}},
		{s.caller, provider.ListParams{}, []string{stuck}},
		{s.caller, provider.ListParams{Contradicted: true}, nil},
	} {
		var got []string
		for _, is := range must.Get(s.Providers.List(t.Context(), c.caller, c.p))(t).Data {
			got = append(got, is.ID)
		}
		expect.True(t, slices.Equal(got, c.want), "%+v %+v: listed %v, want %v", c.caller, c.p, got, c.want)
	}
	testkit.WantCode(t, "a page of no size", testkit.Err(s.Providers.List(t.Context(), s.caller, provider.ListParams{Page: api.Page{Limit: -1}})), api.ParameterInvalid)
	testkit.WantCode(t, "an outcome that is none", s.Providers.Notify(t.Context(), stuck, provider.Result{Outcome: "lost"}), api.ParameterInvalid)
	testkit.WantCode(t, "an outcome of live mode by hand", s.Providers.Settle(t.Context(), s.caller, stuck, provider.Result{Outcome: provider.Paid}), api.PermissionDenied)
}

// The network of an order is that of its phone; a bank is none.
func TestOrderTellsTheNetwork(t *testing.T) {
	s := open(t, nil, provider.Simulated{})
	toBank := must.Get(s.Disbursements.Create(t.Context(), s.caller, disbursement.CreateParams{Amount: decimal.New(10, 0), Destination: payout.DestinationParams{
		Type: payout.BankTransfer, BankCode: must.Get(s.Payouts.ListBanks(t.Context(), s.caller))(t).Data[0].Code, AccountNumber: "0011234567890", AccountName: "Yaw Darko",
	}}))(t)
	payment := must.Get(s.charge(telecel))(t)
	back := must.Get(s.Refunds.Create(t.Context(), s.caller, refund.CreateParams{Payment: payment}))(t)
	for _, c := range []struct{ id, network string }{
		{toBank.ID, ""}, {payment, "telecel"}, {must.Get(s.disburse(mtn))(t), "mtn"}, {back.ID, "telecel"},
	} {
		is := must.Get(s.Providers.Get(t.Context(), s.caller, c.id))(t)
		expect.Equal(t, is.Network, c.network, "%s %s", is.Flow, c.id)
	}
}
