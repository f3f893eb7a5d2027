package chart_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/internal/chart"
	"github.com/seed-7082ffec/payments/storage"
)

// The names stand in every ledger that was ever written: changing one would cut
// its account off from its entries.
func TestNames(t *testing.T) {
	for _, test := range []struct {
		got  chart.Account
		want chart.Account
	}{
		{chart.Available("mer_1", true), chart.Account{Name: "live/merchant/mer_1/available", Guarded: true}},
		{chart.Available("mer_1", false), chart.Account{Name: "test/merchant/mer_1/available", Guarded: true}},
		{chart.Reserved("mer_1", true), chart.Account{Name: "live/merchant/mer_1/reserved", Guarded: true}},
		{chart.Wallet("acc_1", true), chart.Account{Name: "live/wallet/acc_1", Guarded: true}},
		{chart.Wallet("acc_1", false), chart.Account{Name: "test/wallet/acc_1", Guarded: true}},
		{chart.Float("cag_1", false), chart.Account{Name: "test/float/cag_1", Guarded: true}},
		{chart.Clearing("bank", true), chart.Account{Name: "live/clearing/bank"}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.want.Name, diff)
		}
	}
}

func TestMove(t *testing.T) {
	want := storage.Move{Account: "live/wallet/acc_1", Guarded: true, Amount: -150}
	if got := chart.Wallet("acc_1", true).Move(-150); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if chart.Clearing("bank", true).Move(1).Guarded {
		t.Error("a clearing account is guarded")
	}
}
