package payout_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func (s *shop) disburse(ghs string, d payout.DestinationParams) (*payout.Transfer, error) {
	return s.Disbursements.Create(s.t.Context(), s.Caller, disbursement.CreateParams{
		Amount: decimal.RequireFromString(ghs), Destination: d,
	})
}

func momo(number string) payout.DestinationParams {
	return payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: number}
}

func bank(number string) payout.DestinationParams {
	return payout.DestinationParams{Type: payout.BankTransfer, AccountNumber: number, BankCode: "300304"}
}

func TestFeeFollowsAmountAndDestination(t *testing.T) {
	s := open(t, payments.Config{})
	wallet := payout.DestinationParams{Type: payout.ServiceWallet, AccountID: s.Consumer.ID}
	for _, c := range []struct {
		amount string
		to     payout.DestinationParams
		fee    string
	}{
		{"0.01", momo("0241234567"), "0.1"}, // the minimum
		{"10", momo("0241234567"), "0.1"},
		{"10.49", momo("0241234567"), "0.1"}, // 10.49 pesewas
		{"10.50", momo("0241234567"), "0.11"},
		{"19.99", momo("0241234567"), "0.2"},
		{"500.01", momo("0241234567"), "5"},
		{"1", bank("1234567890"), "5"},
		{"1.15", wallet, "0"},
	} {
		made := must.Get(s.disburse(c.amount, c.to))(t)
		if made.Fee.String() != c.fee || !made.Amount.Equal(decimal.RequireFromString(c.amount)) {
			t.Errorf("%s: amount %s, fee %s, want %s", c.amount, made.Amount, made.Fee, c.fee)
		}
	}
	s.Fund(s.Caller.Merchant, 30_000)
	made := must.Get(s.disburse("20000", momo("0241234567")))(t)
	expect.Equal(t, made.Fee.String(), "10", "the fee of 20,000 is %s, want the cap", made.Fee)
	s.Verified()
}

func TestConfigRefused(t *testing.T) {
	negative, half := decimal.NewFromInt(-1), decimal.New(5, -3)
	for name, c := range map[string]payments.Config{
		"a negative fee":           {Fees: &payout.Fees{MobileMoney: payout.Fee{Flat: negative}}},
		"half a pesewa":            {Fees: &payout.Fees{BankTransfer: payout.Fee{Min: half}}},
		"more than all":            {Fees: &payout.Fees{BankTransfer: payout.Fee{Percent: decimal.NewFromInt(101)}}},
		"a negative limit":         {PayoutLimits: payout.Limits{Max: negative}},
		"min above max":            {PayoutLimits: payout.Limits{Min: decimal.NewFromInt(5), Max: decimal.NewFromInt(4)}},
		"a daily limit":            {DisbursementLimits: payout.Limits{Daily: decimal.NewFromInt(9)}},
		"beyond what is an amount": {DisbursementLimits: payout.Limits{Max: decimal.NewFromInt(1_000_000)}},
	} {
		testkit.WantCode(t, name, testkit.Err(payments.New(t.Context(), memory.New(), c)), api.ParameterInvalid)
	}
	pesewa := decimal.New(1, -2)
	s := open(t, payments.Config{DisbursementLimits: payout.Limits{Min: pesewa, Max: pesewa}})
	must.Get(s.disburse("0.01", momo("0241234567")))(t)
	testkit.WantCode(t, "another amount than the only one", testkit.Err(s.disburse("0.02", momo("0241234567"))), api.AmountTooLarge)
}

// A failed payout returns its amount to the limit of its own day, even on the next day. Each day
// starts at zero.
func TestDailyLimit(t *testing.T) {
	s := open(t, payments.Config{PayoutLimits: payout.Limits{Daily: decimal.NewFromInt(100)}})
	code := s.verified()
	open := must.Get(s.pay(code, 60_00, "0241230903"))(t)
	_, refused := s.pay(code, 40_01, "0241234567")
	testkit.WantCode(t, "a pesewa too much", refused, api.DailyLimitExceeded)
	expect.True(t, strings.Contains(fmt.Sprint(refused), "GHS 100.00, of which GHS 40.00 is left today"), "the refusal says %v", refused)
	rest := must.Get(s.pay(code, 40_00, "0241234567"))(t)
	testkit.WantCode(t, "more than all", testkit.Err(s.pay(code, 1_00, "0241234567")), api.DailyLimitExceeded)
	expect.NoError(t, testkit.Err(s.disburse("200", momo("0241234567"))), "a disbursement has no daily limit")
	must.Get(s.Payouts.Cancel(t.Context(), s.Caller, rest.ID))(t)
	testkit.WantCode(t, "after a cancellation", testkit.Err(s.pay(code, 40_00, "0241234567")), "")

	s.Pass(12 * time.Hour)
	code = s.verified()
	testkit.WantCode(t, "tomorrow", testkit.Err(s.pay(code, 90_00, "0241234567")), "")
	must.Do(t, s.Drain(t.Context()))
	must.Do(t, s.Providers.Settle(t.Context(), s.Caller, open.ID, provider.Result{Outcome: provider.Refused}))
	again := s.Providers.Settle(t.Context(), s.Caller, open.ID, provider.Result{Outcome: provider.Paid})
	testkit.WantCode(t, "settled otherwise", again, api.TransferSettled)
	testkit.WantCode(t, "yesterday's failure is yesterday's", testkit.Err(s.pay(code, 11_00, "0241234567")), api.DailyLimitExceeded)
	s.Verified()
}

// quiet is a rail that never decides.
type quiet struct{ err error }

func (q quiet) Submit(context.Context, provider.Transfer) (provider.Result, error) {
	return provider.Result{Outcome: provider.InProgress, Reference: "theirs"}, q.err
}

func (q quiet) Status(context.Context, provider.Transfer) (provider.Result, error) {
	return provider.Result{Outcome: provider.InProgress}, q.err
}

func TestStuckTransferIsListed(t *testing.T) {
	var log bytes.Buffer
	s := open(t, payments.Config{Test: payments.Providers{Rail: quiet{}}, StuckAfter: 30 * time.Minute, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	made := must.Get(s.disburse("5", momo("0241234567")))(t)
	stuck := func() []provider.OrderInfo {
		t.Helper()
		must.Do(t, s.Drain(t.Context()))
		list := must.Get(s.Providers.List(t.Context(), api.Caller{}, provider.ListParams{}))(t)
		return list.Data
	}
	if list := stuck(); len(list) != 0 {
		t.Errorf("at once: %+v", list)
	}
	s.Pass(30 * time.Minute)
	list := stuck()
	if len(list) != 1 || list[0].ID != made.ID || list[0].Merchant != s.Caller.Merchant ||
		list[0].Live || list[0].Attempts != 2 || list[0].SubmittedAt.IsZero() || list[0].Outcome != provider.InProgress || list[0].Amount != 5_00 {
		t.Errorf("got %+v", list)
	}
	s.Pass(time.Hour)
	stuck()
	expect.Equal(t, strings.Count(log.String(), "is stuck"), 1, "how often the log tells of it")
	must.Do(t, s.Providers.Notify(t.Context(), made.ID, provider.Result{Outcome: provider.Paid}))
	if list := stuck(); len(list) != 0 {
		t.Errorf("when paid: %+v", list)
	}
}

func TestCallbacksBookTheOutcomeOnce(t *testing.T) {
	var log bytes.Buffer
	s := open(t, payments.Config{Test: payments.Providers{Rail: quiet{err: errors.New("no answer from 0241234567")}}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	made := must.Get(s.disburse("5", momo("0241234567")))(t)
	must.Do(t, s.Drain(t.Context()))
	notify := func(o provider.Outcome) error {
		return s.Providers.Notify(t.Context(), made.ID, provider.Result{Outcome: o, Reference: "theirs"})
	}
	must.Do(t, notify(provider.InProgress))
	testkit.WantCode(t, "no outcome", notify("lost"), api.ParameterInvalid)
	testkit.WantCode(t, "not found", notify(provider.NotFound), api.ParameterInvalid)
	testkit.WantCode(t, "an unknown id", s.Providers.Notify(t.Context(), "po_0", provider.Result{Outcome: provider.Paid}), api.ResourceMissing)
	must.Do(t, notify(provider.Paid))
	must.Do(t, notify(provider.Paid))
	must.Do(t, notify(provider.InProgress)) // late
	must.Do(t, s.Providers.Notify(t.Context(), made.ID, provider.Result{Outcome: provider.Paid, Amount: 5_00}))
	expect.ErrorIs(t, s.Providers.Notify(t.Context(), made.ID, provider.Result{Outcome: provider.Paid, Amount: 4_99}), provider.ErrContradicted, "less than was booked")
	expect.ErrorIs(t, notify(provider.Refused), provider.ErrContradicted, "the opposite")
	is := must.Get(s.Disbursements.Get(t.Context(), s.Caller, made.ID))(t)
	expect.Equal(t, is.Status, payout.Completed, "status of %+v", is)
	expect.Same(t, is.ProviderReference, new("theirs"), "the provider's reference")
	expect.True(t, is.CompletedAt != nil, "CompletedAt is nil")
	expect.True(t, strings.Contains(log.String(), "contradicts"), "the log says nothing of the contradiction: %s", log.String())
	expect.True(t, !strings.Contains(log.String(), "1234567"), "the log shows the number: %s", log.String())
	balance := must.Get(s.Accounts.Balance(t.Context(), s.Caller))(t)
	expect.Equal(t, balance.Available.String(), "994.9", "available")
	expect.True(t, balance.Reserved.IsZero(), "reserved %s", balance.Reserved)
	s.Verified()
}

// A panic of the rail counts as no answer.
type panicking struct{ quiet }

func (panicking) Submit(context.Context, provider.Transfer) (provider.Result, error) {
	panic("+233241234567")
}

func TestPanickingRailIsRetried(t *testing.T) {
	var log bytes.Buffer
	s := open(t, payments.Config{Test: payments.Providers{Rail: panicking{}}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	made := must.Get(s.disburse("5", momo("0241234567")))(t)
	must.Do(t, s.Drain(t.Context()))
	is := must.Get(s.Disbursements.Get(t.Context(), s.Caller, made.ID))(t)
	expect.Equal(t, is.Status, payout.Processing, "status")
	expect.True(t, !strings.Contains(log.String(), "1234567"), "the log shows the number: %s", log.String())
}

// A statement is compared with the orders of its flow, mode and time. internal/orders tests the rest.
func TestReconcile(t *testing.T) {
	s := open(t, payments.Config{})
	var ids []string
	for _, number := range []string{"0241234567", "0241230901", "0241230903", "0241234567", "0241234567"} {
		made := must.Get(s.disburse("5.50", momo(number)))(t)
		ids = append(ids, made.ID)
		s.Pass(time.Second)
	}
	must.Do(t, s.Drain(t.Context()))
	must.Get(s.disburse("1", momo("0241234567")))(t) // the rail never got this one, so it is in no statement
	const head = "Date,STATUS,Reference,Amount\n"
	statement := head +
		"x,SUCCESS," + ids[0] + ",5.50\n" + // agrees
		"x,failed," + ids[1] + ",5.50\n" + // agrees
		"x,completed," + ids[2] + ",5.50\n" + // still in progress here
		"x,success," + ids[3] + ",5.05\n" + // another amount
		"x,success,po_unknown,7.00\n" +
		"x,success," + ids[0] + ",5.50\n"
	reconcile := func(text string, live bool, until time.Time, flow provider.Flow) (*provider.Reconciliation, error) {
		return s.Providers.Reconcile(t.Context(), api.Caller{Live: live}, provider.ReconcileParams{
			Rows: provider.CSV(strings.NewReader(text)), Until: until, Flows: []provider.Flow{flow},
		})
	}
	report := must.Get(reconcile(statement, false, time.Time{}, provider.Transfers))(t)
	refs := func(list []provider.Difference) string {
		var refs []string
		for _, d := range list {
			if d.Order == nil {
				refs = append(refs, d.Row.Reference)
				continue
			}
			refs = append(refs, d.Order.ID)
			expect.Equal(t, d.Order.Merchant, s.Caller.Merchant, "the merchant of %s", d.Order.ID)
		}
		return strings.Join(refs, " ")
	}
	got := []string{refs(report.MissingHere), refs(report.MissingThere), refs(report.AmountDiffers), refs(report.StatusDiffers)}
	expect.Same(t, got, []string{"po_unknown", ids[4], ids[3], ids[2]}, "the differences")
	expect.Equal(t, fmt.Sprint(report.Matched, len(report.Repeated)), "2 1", "matched and repeated rows")

	for what, c := range map[string]struct {
		live        bool
		until       time.Time
		flow        provider.Flow
		here, there int
	}{
		"live mode":                 {true, time.Time{}, provider.Transfers, 5, 0},
		"before the first transfer": {false, s.Now().Add(-time.Hour), provider.Transfers, 1, 0},
		"a statement about refunds": {false, time.Time{}, provider.Refunds, 5, 0},
	} {
		report := must.Get(reconcile(statement, c.live, c.until, c.flow))(t)
		expect.Equal(t, fmt.Sprint(len(report.MissingHere), len(report.MissingThere)), fmt.Sprint(c.here, c.there), "%s: missing here and there", what)
	}
	// A provider's own bookings, such as its fees, may have no reference.
	report = must.Get(reconcile(head+"x,success,,0.50\nx,success,,0.75\n", true, time.Time{}, provider.Transfers))(t)
	expect.Equal(t, fmt.Sprint(len(report.MissingHere), len(report.Repeated)), "2 0", "rows without a reference, missing here and repeated")
	for name, text := range map[string]string{
		"empty": "", "no amount": "reference,status\n", "not money": head + "x,success,po_1,5.505\n", "ragged": head + "x,success\n",
	} {
		expect.True(t, testkit.Err(reconcile(text, false, time.Time{}, provider.Transfers)) != nil, "%s: no error", name)
	}
}
