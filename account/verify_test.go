package account_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
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

func (t *damagedTx) Balance(account string) (storage.Balance, error) {
	b, err := t.ReadTx.Balance(account)
	if t.by.balance != nil {
		t.by.balance(&b)
	}
	return b, err
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

// Verify reads all of a ledger with more accounts, entries and postings than one page holds. It
// reports a part of the problems if everything is wrong.
func TestVerifyReadsAllPages(t *testing.T) {
	const wallets, postings = 501, 1203
	var store *damaged
	b := newBench(t, func(s storage.Store) storage.Store {
		store = &damaged{Store: s}
		return store
	})
	err := store.Update(t.Context(), func(tx storage.Tx) error {
		for n := range postings {
			err := tx.Post(storage.Posting{
				ID: fmt.Sprintf("txn_%04d", n), Type: "test", At: time.Now(),
				Moves: []storage.Move{
					ledger.Wallet(fmt.Sprintf("acc_%03d", n%wallets), false).Move(1),
					ledger.Clearing("test", false).Move(-1),
				},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	must.Do(t, err)
	v, err := b.Verify(t.Context())
	must.Do(t, err)
	expect.Equal(t, len(v.Problems), 0, "number of problems")
	expect.Equal(t, v.Accounts, wallets+1, "accounts")
	expect.Equal(t, v.Postings, postings, "postings")
	expect.Equal(t, v.Entries, 2*postings, "entries")

	// It reports its progress, and ends with the counts that it returns.
	var told []account.Verification
	v, err = b.VerifyWithProgress(t.Context(), func(v account.Verification) { told = append(told, v) })
	must.True(t, err == nil && len(told) >= 6, "told %d times, %v", len(told), err)
	for i, is := range told[1:] {
		was := told[i]
		if is.Entries+is.Postings <= was.Entries+was.Postings && is.Accounts <= was.Accounts || is.Entries < was.Entries || is.Accounts < was.Accounts {
			t.Errorf("after %+v it tells %+v", was, is)
		}
	}
	expect.Same(t, told[len(told)-1], *v, "the last time it tells")
	store.booked = func(b *storage.Booked) { b.Entries = nil }
	v, err = b.Verify(t.Context())
	must.Do(t, err)
	expect.Equal(t, len(v.Problems), 100, "number of problems")
	expect.Equal(t, v.Postings, postings, "number of postings")
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
		"a posting off balance": {damaged{booked: func(b *storage.Booked) { b.Entries[0].Amount++ }}, "not zero"},
		"a guarded account below zero": {damaged{
			balance: func(b *storage.Balance) {
				if !wallet(b.Account) {
					b.Guarded = true // the clearing account, which is below zero
				}
			},
		}, "took a guarded account to -600"},
		"money out of nothing": {damaged{
			balance: func(b *storage.Balance) {
				if wallet(b.Account) {
					b.Amount += 7
				}
			},
			entries: func(e []storage.Entry) []storage.Entry {
				for i := range e {
					if wallet(e[i].Account) {
						e[i].Balance += 7
						if e[i].Number == 1 {
							e[i].Amount += 7
						}
					}
				}
				return e
			},
		}, "all balances together are 7 pesewas"},
		"an entry that no posting has": {damaged{booked: func(b *storage.Booked) {
			b.Entries = append(b.Entries, storage.Entry{Amount: 1}, storage.Entry{Amount: -1})
		}}, "the postings have 12 entries, the accounts 6"},
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
				must.Do(t, b.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: c.ID, Amount: decimal.NewFromInt(int64(n + 1)), Source: "test"}))
			}
			damage := test.damage
			damage.Store = store.Store
			*store = damage
			v := must.Get(b.Verify(t.Context()))(t)
			all := strings.Join(v.Problems, "\n")
			expect.True(t, test.want != "" || all == "", "problems %q, want %q among them", all, test.want)
			expect.True(t, strings.Contains(all, test.want), "problems %q, want %q among them", all, test.want)
			if test.want == "" {
				expect.Equal(t, v.Accounts, 2, "accounts")
				expect.Equal(t, v.Postings, 3, "postings")
				expect.Equal(t, v.Entries, 6, "entries")
			}
		})
	}
}
