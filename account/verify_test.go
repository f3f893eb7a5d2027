package account_test

import (
	"context"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/storage"
)

// damaged is a store whose ledger reads differently from what was written.
type damaged struct {
	storage.Store
	balance func(*storage.Balance)
	entries func([]storage.Entry) []storage.Entry
	booked  func(*storage.Booked)
}

type damagedTx struct {
	storage.ReadTx
	by *damaged
}

func (d *damaged) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	return d.Store.View(ctx, func(tx storage.ReadTx) error { return fn(&damagedTx{tx, d}) })
}

func (t *damagedTx) Balances(after string, limit int) ([]storage.Balance, error) {
	page, err := t.ReadTx.Balances(after, limit)
	if t.by.balance != nil {
		for i := range page {
			t.by.balance(&page[i])
		}
	}
	return page, err
}

func (t *damagedTx) Entries(account string, before int64, limit int) ([]storage.Entry, error) {
	page, err := t.ReadTx.Entries(account, before, limit)
	if t.by.entries != nil {
		page = t.by.entries(page)
	}
	return page, err
}

func (t *damagedTx) Postings(after string, limit int) ([]storage.Booked, error) {
	page, err := t.ReadTx.Postings(after, limit)
	if t.by.booked != nil {
		for i := range page {
			t.by.booked(&page[i])
		}
	}
	return page, err
}

func TestVerifyFindsDamage(t *testing.T) {
	wallet := func(name string) bool { return strings.Contains(name, "/wallet/") }
	for name, test := range map[string]struct {
		damage damaged
		want   string
	}{
		"none": {damaged{}, ""},
		"a changed balance": {damaged{balance: func(b *storage.Balance) {
			if wallet(b.Account) {
				b.Amount++
			}
		}}, "leaves"},
		"a changed amount": {damaged{entries: func(e []storage.Entry) []storage.Entry {
			for i := range e {
				if wallet(e[i].Account) && e[i].Number == 2 {
					e[i].Amount++
				}
			}
			return e
		}}, "leaves"},
		"a first entry out of nothing": {damaged{entries: func(e []storage.Entry) []storage.Entry {
			for i := range e {
				if wallet(e[i].Account) && e[i].Number == 1 {
					e[i].Amount--
				}
			}
			return e
		}}, "begins with 1"},
		"a removed entry": {damaged{entries: func(e []storage.Entry) []storage.Entry {
			if len(e) > 1 && wallet(e[0].Account) {
				return append(e[:1], e[2:]...)
			}
			return e
		}}, "is missing"},
		"no entries": {damaged{entries: func(e []storage.Entry) []storage.Entry { return nil }}, "are missing"},
		"an entry too many": {damaged{balance: func(b *storage.Balance) {
			if wallet(b.Account) {
				b.Entries--
				b.Amount -= 300
			}
		}}, "but counts"},
		"a posting off balance":    {damaged{booked: func(b *storage.Booked) { b.Entries[0].Amount++ }}, "not zero"},
		"a posting with one entry": {damaged{booked: func(b *storage.Booked) { b.Entries = b.Entries[:1] }}, "1 entries add up"},
	} {
		t.Run(name, func(t *testing.T) {
			var store *damaged
			b := newBench(t, func(s storage.Store) storage.Store {
				store = &damaged{Store: s}
				return store
			})
			c := b.consumer(t, "0241000001")
			for n := range 3 {
				if err := b.Deposit(t.Context(), account.Deposit{To: c.ID, Amount: decimal.NewFromInt(int64(n + 1)), Source: "test"}); err != nil {
					t.Fatal(err)
				}
			}
			damage := test.damage
			damage.Store = store.Store
			*store = damage
			v, err := b.Verify(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(v.Problems, "\n")
			if test.want == "" && all != "" || !strings.Contains(all, test.want) {
				t.Errorf("problems %q, want %q among them", all, test.want)
			}
			if test.want == "" && (v.Accounts != 2 || v.Postings != 3 || v.Entries != 6) {
				t.Errorf("counted %+v", v)
			}
		})
	}
}
