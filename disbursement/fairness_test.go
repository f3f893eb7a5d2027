package disbursement_test

import (
	"fmt"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// A live batch of one row, and another merchant's batch, wait for a few turns only. A test key
// and a merchant had queued hundreds of rows before.
func TestSmallBatchDoesNotWaitForLargeOnes(t *testing.T) {
	seen := &testkit.Works{Keep: func(w payments.Work) bool {
		return w.Queue == "disbursement_batch_rows" || w.Queue == "disbursements"
	}}
	svc := testkit.New(t, memory.New(), payments.Config{Observer: seen, Live: payments.Providers{Rail: provider.Simulated{}}})
	merchant := func(name string) string {
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: name}))(t)
		for _, live := range []bool{true, false} {
			must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{Live: live}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(10_000), Source: "bank"}))
		}
		return m.ID
	}
	large, small := merchant("Large"), merchant("Small")
	batch := func(caller api.Caller, n int) {
		var p disbursement.CreateBatchParams
		for i := range n {
			p.Rows = append(p.Rows, disbursement.RowParams{CreateParams: disbursement.CreateParams{
				Amount: decimal.NewFromInt(1), Reference: fmt.Sprint("r", i),
				Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: fmt.Sprintf("024%07d", i)},
			}})
		}
		must.Get(svc.Disbursements.CreateBatch(t.Context(), caller, p))(t)
	}
	for range 2 {
		batch(api.Caller{Merchant: large}, 300)
	}
	batch(api.Caller{Merchant: large, Live: true}, 300)
	batch(api.Caller{Merchant: small}, 1)
	batch(api.Caller{Merchant: small, Live: true}, 1)
	must.Do(t, svc.Drain(t.Context()))

	for _, live := range []bool{true, false} {
		before, last, mine := 0, 0, 0
		for _, w := range seen.Ended {
			switch {
			case w.Merchant == small && w.Live == live:
				mine++
				last = before
			case w.Live == live:
				before++
			}
		}
		// Two batches of 16 rows, and the transfers that they made.
		expect.True(t, mine >= 2, "live %t: a row and its transfer are %d of work", live, mine)
		expect.True(t, last <= 5*16, "live %t: a row and its transfer, %d of work, waited for %d of %d of the other merchant's", live, mine, last, before)
	}
	if n := len(seen.Ended); n < 2*902 {
		t.Errorf("%d of work", n)
	}
}
