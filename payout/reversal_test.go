package payout_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
)

// entries returns the types and amounts of a transfer's entries on the statement, oldest first.
func (s *shop) entries(id string) (lines []string) {
	s.t.Helper()
	list := must.Get(s.Accounts.ListEntries(s.t.Context(), s.Caller, account.ListEntriesParams{Source: id}))(s.t)
	for i := len(list.Data) - 1; i >= 0; i-- {
		lines = append(lines, fmt.Sprintf("%s %s", list.Data[i].Type, list.Data[i].Amount))
	}
	return lines
}

// events returns the events of a transfer, oldest first.
func (s *shop) events(id string) (kinds []string) {
	s.t.Helper()
	for _, e := range transferEvents(s.t, s.Service, s.Caller) {
		if e.id == id {
			kinds = append(kinds, e.kind)
		}
	}
	return kinds
}

// A transfer that the rail paid and took back has failed, and the merchant gets amount and fee back,
// once.
func TestReversedTransferComesBack(t *testing.T) {
	for object, make := range map[string]func(*shop) *payout.Transfer{
		"payout":       func(s *shop) *payout.Transfer { return must.Get(s.pay(s.verified(), 60_00, "0241234567"))(s.t) },
		"disbursement": func(s *shop) *payout.Transfer { return must.Get(s.disburse("60", momo("0241234567")))(s.t) },
	} {
		t.Run(object, func(t *testing.T) {
			var log bytes.Buffer
			s := open(t, payments.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			made := make(s)
			must.Do(t, s.Drain(t.Context()))
			paid := s.get(made.ID)
			expect.True(t, paid.CompletedAt != nil, "paid: CompletedAt is nil: %+v", paid)
			expect.Equal(t, s.available(), "939.4", "paid: available")
			statement := func(word string) int {
				rows := provider.CSV(strings.NewReader("reference,amount,status\n" + made.ID + ",60," + word + "\n"))
				return must.Get(s.Providers.Reconcile(t.Context(), api.Caller{}, provider.ReconcileParams{Rows: rows}))(t).Matched
			}
			expect.Equal(t, statement("Success"), 1, "paid, and paid in the statement: matched")
			expect.Equal(t, statement("Reversed"), 0, "paid, but reversed in the statement: matched")

			back := provider.Result{Outcome: provider.Reversed, Reason: provider.Refusal{Code: api.InvalidDestination, Message: "The wallet was closed."}}
			for range 2 {
				must.Do(t, s.Providers.Notify(t.Context(), made.ID, back))
			}
			is := s.get(made.ID)
			expect.Equal(t, is.Status, payout.Failed, "reversed: status")
			expect.True(t, is.CompletedAt == nil, "reversed: CompletedAt is set: %+v", is)
			expect.Equal(t, *is.FailureReason, "reversed: The wallet was closed.", "why")
			expect.Equal(t, *is.ProviderReference, *paid.ProviderReference, "the provider's reference")
			expect.Equal(t, s.available(), "1000", "available")
			expect.Same(t, s.entries(made.ID), []string{object + " -60.6", object + "_reversed 60.6"}, "the statement")
			expect.Same(t, s.events(made.ID), []string{"created", "pending", "processing", "completed", "failed"}, "events")
			expect.Equal(t, statement("Success"), 0, "reversed, but paid in the statement: matched")
			expect.Equal(t, statement("Reversed"), 1, "reversed, and reversed in the statement: matched")
			expect.Equal(t, statement("failed"), 1, "reversed, and failed in the statement: matched")
			expect.Equal(t, strings.Count(log.String(), "took a transfer back"), 1, "how often the reversal is in the log %s", log.String())
			expect.True(t, !strings.Contains(log.String(), "1234567"), "the log shows the number: %s", log.String())
			must.Do(t, s.Providers.Notify(t.Context(), made.ID, provider.Result{Outcome: provider.Refused}))
			expect.ErrorIs(t, s.Providers.Notify(t.Context(), made.ID, provider.Result{Outcome: provider.Paid}), provider.ErrContradicted, "paid again")
			listed := must.Get(s.Providers.List(t.Context(), api.Caller{}, provider.ListParams{}))(t).Data
			must.True(t, len(listed) == 1, "listed: %+v", listed)
			expect.Equal(t, listed[0].Outcome, provider.Reversed, "listed: outcome")
			expect.Equal(t, listed[0].Contradiction, "failed, and now paid", "listed: contradiction")
			s.Verified()
		})
	}
}

// get returns a payout or disbursement.
func (s *shop) get(id string) *payout.Transfer {
	s.t.Helper()
	is, err := s.Payouts.Get(s.t.Context(), s.Caller, id)
	if api.CodeOf(err) == api.ResourceMissing {
		is, err = s.Disbursements.Get(s.t.Context(), s.Caller, id)
	}
	must.Do(s.t, err)
	return is
}

func (s *shop) available() string {
	s.t.Helper()
	return must.Get(s.Accounts.Balance(s.t.Context(), s.Caller))(s.t).Available.String()
}

// A reversed payout no longer counts for the limit of its day.
func TestReversedPayoutReturnsToDailyLimit(t *testing.T) {
	s := open(t, payments.Config{PayoutLimits: payout.Limits{Daily: decimal.NewFromInt(100)}})
	code := s.verified()
	made := must.Get(s.pay(code, 60_00, "0241234567"))(t)
	must.Do(t, s.Drain(t.Context()))
	testkit.WantCode(t, "too much", testkit.Err(s.pay(code, 60_00, "0241234567")), api.DailyLimitExceeded)
	must.Do(t, s.Providers.Settle(t.Context(), s.Caller, made.ID, provider.Result{Outcome: provider.Reversed}))
	expect.Equal(t, *s.get(made.ID).FailureReason, "reversed: The provider took the money back.", "why")
	testkit.WantCode(t, "after the reversal", testkit.Err(s.pay(code, 60_00, "0241234567")), "")
	s.Verified()
}

// A transfer that came back before the library heard that it was paid releases its reserve.
func TestReversalBeforeTheEnd(t *testing.T) {
	s := open(t, payments.Config{Test: payments.Providers{Rail: quiet{}}})
	made := must.Get(s.disburse("60", momo("0241234567")))(t)
	must.Do(t, s.Providers.Notify(t.Context(), made.ID, provider.Result{Outcome: provider.Reversed}))
	is := s.get(made.ID)
	expect.Equal(t, is.Status, payout.Failed, "status of %+v", is)
	must.True(t, is.FailureReason != nil, "no failure reason: %+v", is)
	expect.True(t, strings.HasPrefix(*is.FailureReason, "reversed: "), "failure reason %q", *is.FailureReason)
	expect.Same(t, s.entries(made.ID), []string{"disbursement -60.6", "disbursement_released 60.6"}, "the statement")
	expect.ErrorIs(t, s.Providers.Notify(t.Context(), made.ID, provider.Result{Outcome: provider.Paid}), provider.ErrContradicted, "paid later")
	s.Verified()
}

// A provider that took back another amount than the transfer's books nothing back, before or after the
// end: a person finds out where the money is.
func TestReversalOfAnotherAmountBooksNothing(t *testing.T) {
	s := open(t, payments.Config{Test: payments.Providers{Rail: quiet{}}})
	part := provider.Result{Outcome: provider.Reversed, Amount: 20_00}
	listed := func() string {
		t.Helper()
		list := must.Get(s.Providers.List(t.Context(), api.Caller{}, provider.ListParams{}))(t).Data
		must.True(t, len(list) == 1, "listed: %+v", list)
		must.Do(t, s.Providers.Resolve(t.Context(), list[0].ID))
		return string(list[0].Outcome+list[0].Reported) + ": " + list[0].Contradiction
	}
	made := must.Get(s.disburse("60", momo("0241234567")))(t)
	must.Do(t, s.Providers.Notify(t.Context(), made.ID, part))
	expect.Equal(t, s.get(made.ID).Status, payout.Processing, "on its way: status")
	expect.Equal(t, s.available(), "939.4", "on its way: available")
	expect.Equal(t, listed(), "in_progress: the provider reports 2000 pesewas reversed, and not 6000", "on its way")

	must.Do(t, s.Providers.Notify(t.Context(), made.ID, provider.Result{Outcome: provider.Paid, Amount: 60_00}))
	expect.ErrorIs(t, s.Providers.Notify(t.Context(), made.ID, part), provider.ErrContradicted, "paid")
	expect.Equal(t, s.get(made.ID).Status, payout.Completed, "paid: status")
	expect.Equal(t, s.available(), "939.4", "paid: available")
	expect.Equal(t, listed(), "paid: completed, and now reversed: 2000 pesewas of 6000", "paid")

	must.Do(t, s.Providers.Notify(t.Context(), made.ID, provider.Result{Outcome: provider.Reversed, Amount: 60_00}))
	expect.Equal(t, s.get(made.ID).Status, payout.Failed, "reversed: status")
	expect.Equal(t, s.available(), "1000", "reversed: available")
	s.Verified()
}

// A transfer within the service has no provider that could take it back.
func TestTransferToWalletIsNotReversed(t *testing.T) {
	s := open(t, payments.Config{})
	made := must.Get(s.disburse("60", payout.DestinationParams{Type: payout.ServiceWallet, AccountID: s.Consumer.ID}))(t)
	reversed := provider.Result{Outcome: provider.Reversed}
	testkit.WantCode(t, "settled", s.Providers.Settle(t.Context(), s.Caller, made.ID, reversed), api.TransferSettled)
	testkit.WantCode(t, "reported", s.Providers.Notify(t.Context(), made.ID, reversed), api.ResourceMissing)
	expect.Equal(t, s.get(made.ID).Status, payout.Completed, "status")
	expect.Equal(t, s.available(), "940", "available")
	s.Verified()
}

// The rail's own fee of a reversed transfer stays with the operator's costs.
func TestReversalKeepsProviderFee(t *testing.T) {
	s := open(t, payments.Config{Test: payments.Providers{Rail: quiet{}}})
	made := must.Get(s.disburse("60", momo("0241234567")))(t)
	must.Do(t, s.Providers.Notify(t.Context(), made.ID, provider.Result{Outcome: provider.Paid, ProviderFee: 100}))
	must.Do(t, s.Providers.Notify(t.Context(), made.ID, provider.Result{Outcome: provider.Reversed}))
	rows := func() provider.RowReader {
		return provider.CSV(strings.NewReader("reference,amount,status,fee\n" + made.ID + ",60,reversed,1\n"))
	}
	report := must.Get(s.Providers.Reconcile(t.Context(), api.Caller{}, provider.ReconcileParams{Rows: rows()}))(t)
	expect.Equal(t, report.Matched, 1, "reconciled: matched")
	expect.Equal(t, len(report.FeeDiffers), 0, "reconciled: orders of another fee in %+v", report)
	position := must.Get(s.Providers.Position(t.Context(), api.Caller{}, provider.PositionParams{Rows: rows(), Reported: new(int64(-100))}))(t)
	expect.Equal(t, position.Booked, -100, "the position: booked")
	expect.Equal(t, position.Difference, 0, "the position: difference")
	expect.Equal(t, len(position.Lines), 0, "the position: lines of %+v", position)
	s.Verified()
}
