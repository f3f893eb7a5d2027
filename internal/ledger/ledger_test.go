package ledger_test

import (
	"testing"

	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/storage"
)

// The names are in every ledger ever written. A changed name would separate an account from its
// entries.
func TestNames(t *testing.T) {
	for _, test := range []struct {
		got  ledger.Account
		want ledger.Account
	}{
		{ledger.Available("mer_1", true), ledger.Account{Name: "live/merchant/mer_1/available", Guarded: true}},
		{ledger.Available("mer_1", false), ledger.Account{Name: "test/merchant/mer_1/available", Guarded: true}},
		{ledger.Reserved("mer_1", true), ledger.Account{Name: "live/merchant/mer_1/reserved", Guarded: true}},
		{ledger.Wallet("acc_1", true), ledger.Account{Name: "live/wallet/acc_1", Guarded: true}},
		{ledger.Wallet("acc_1", false), ledger.Account{Name: "test/wallet/acc_1", Guarded: true}},
		{ledger.Float("cag_1", false), ledger.Account{Name: "test/float/cag_1", Guarded: true}},
		{ledger.Excess(true), ledger.Account{Name: "live/operator/excess", Guarded: true}},
		{ledger.Clearing("bank", true), ledger.Account{Name: "live/clearing/bank"}},
	} {
		expect.Same(t, test.got, test.want, "%s", test.want.Name)
	}
}

func TestMove(t *testing.T) {
	want := storage.Move{Account: "live/wallet/acc_1", Guarded: true, Amount: -150}
	expect.Equal(t, ledger.Wallet("acc_1", true).Move(-150), want, "Move")
	expect.True(t, !ledger.Clearing("bank", true).Move(1).Guarded, "a clearing account is guarded")
}
