package account_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// sealedBooks makes a ledger with this number of deposits to one merchant.
func sealedBooks(tb testing.TB, deposits int) (store *damaged, svc *payments.Service, merchant string, now *time.Time) {
	tb.Helper()
	store, now = &damaged{Store: memory.New()}, new(time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC))
	svc = must.Get(payments.New(tb.Context(), store, payments.Config{
		Key: make([]byte, 32), Logger: slog.New(slog.DiscardHandler), Clock: func() time.Time { return *now },
	}))(tb)
	m := must.Get(svc.Accounts.CreateMerchant(tb.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(tb)
	book(tb, svc, m.ID, deposits)
	return store, svc, m.ID, now
}

func book(tb testing.TB, svc *payments.Service, to string, deposits int) {
	tb.Helper()
	for i := range deposits {
		must.Do(tb, svc.Accounts.Deposit(tb.Context(), api.Caller{}, account.DepositParams{To: to, Amount: decimal.NewFromInt(1), Source: "bank", Ref: fmt.Sprint("r", i)}))
	}
}

func verifiedWith(tb testing.TB, svc *payments.Service) (sealed int64, problems string) {
	tb.Helper()
	v := must.Get(svc.Accounts.Verify(tb.Context()))(tb)
	return v.Sealed, strings.Join(v.Problems, "; ")
}

// The worker seals new entries in each pass, and Verify accepts the seals.
func TestSeals(t *testing.T) {
	_, svc, merchant, now := sealedBooks(t, 300)
	check := func(want int64) {
		t.Helper()
		if sealed, problems := verifiedWith(t, svc); sealed != want || problems != "" {
			t.Errorf("%d are sealed, want %d; %s", sealed, want, problems)
		}
	}
	check(0)
	expect.Equal(t, must.Get(svc.Accounts.Seal(t.Context()))(t), 600, "sealed")
	check(600)
	for _, more := range []int{1, 83, 1, 44, 128, 129} { // within, up to and past the ends of segments
		book(t, svc, merchant, more)
		*now = now.Add(10 * time.Minute)
		must.Do(t, svc.Drain(t.Context()))
	}
	check(2 * (300 + 1 + 83 + 1 + 44 + 128 + 129))
	expect.Equal(t, must.Get(svc.Accounts.Seal(t.Context()))(t), 0, "more that were sealed")
}

// Verify finds and names an entry that was changed after its seal, even when the books balance.
func TestTamperingIsFound(t *testing.T) {
	store, svc, merchant, _ := sealedBooks(t, 200)
	must.Get(svc.Accounts.Seal(t.Context()))(t)
	book(t, svc, merchant, 5)
	name := ledger.Available(merchant, false).Name
	entry := func(number int64, change func(*storage.Entry)) func([]storage.Entry) []storage.Entry {
		return func(page []storage.Entry) []storage.Entry {
			for i := range page {
				if page[i].Account == name && page[i].Number == number {
					change(&page[i])
				}
			}
			return page
		}
	}
	for what, test := range map[string]struct {
		entries func([]storage.Entry) []storage.Entry
		want    string
	}{
		"a reference":    {entry(7, func(e *storage.Entry) { e.Ref = "mine" }), "entry 7 is not the one"},
		"a type":         {entry(128, func(e *storage.Entry) { e.Type = "payment" }), "entry 128 is not the one"},
		"a time":         {entry(129, func(e *storage.Entry) { e.At = e.At.Add(time.Hour) }), "entry 129 is not the one"},
		"a posting":      {entry(200, func(e *storage.Entry) { e.Posting = "txn_x" }), "entry 200 is not the one"},
		"nothing sealed": {entry(203, func(e *storage.Entry) { e.Ref = "mine" }), ""},
		"two that changed places": {func(page []storage.Entry) []storage.Entry {
			for i := range page {
				if page[i].Account == name && page[i].Number == 50 || page[i].Account == name && page[i].Number == 51 {
					page[i].Ref = fmt.Sprint("r", 100-page[i].Number)
				}
			}
			return page
		}, "entry 50 is not the one"},
	} {
		store.entries = test.entries
		_, problems := verifiedWith(t, svc)
		if (test.want == "") != (problems == "") || !strings.Contains(problems, test.want) || test.want != "" && !strings.Contains(problems, name) {
			t.Errorf("%s was changed: %q, want %q", what, problems, test.want)
		}
	}
	// The newest entries are missing, and the balance agrees with the rest.
	store.entries = func(page []storage.Entry) []storage.Entry {
		return slices.DeleteFunc(page, func(e storage.Entry) bool { return e.Account == name && e.Number > 198 })
	}
	store.balance = func(b *storage.Balance) {
		if b.Account == name {
			b.Entries, b.Amount = 198, 198_00
		}
	}
	if _, problems := verifiedWith(t, svc); !strings.Contains(problems, "account "+name+": 200 entries were sealed, and 198 are there") {
		t.Errorf("the newest are gone: %q", problems)
	}
	store.entries, store.balance = nil, nil

	// The seals themselves: a missing one, one under another server's key, and all of them
	// missing.
	other := must.Get(payments.New(t.Context(), store, payments.Config{Key: []byte(strings.Repeat("k", 32)), Logger: slog.New(slog.DiscardHandler)}))(t)
	if _, problems := verifiedWith(t, other); !strings.Contains(problems, "the seal of entries 1 to 128 is not this server's") {
		t.Errorf("another key: %q", problems)
	}
	store.remove(t, "seals", name+"#000000000001")
	if _, problems := verifiedWith(t, svc); !strings.Contains(problems, "the seal of entries 129 to 200 is missing") {
		t.Errorf("a seal was removed: %q", problems)
	}
}

// The sealer does not renew a seal over changed entries.
func TestChangedEntryIsNotResealed(t *testing.T) {
	store, svc, merchant, _ := sealedBooks(t, 10)
	must.Get(svc.Accounts.Seal(t.Context()))(t)
	book(t, svc, merchant, 3)
	store.entries = func(page []storage.Entry) []storage.Entry {
		for i := range page {
			if page[i].Number == 4 {
				page[i].Ref = "mine"
			}
		}
		return page
	}
	expect.Equal(t, must.Get(svc.Accounts.Seal(t.Context()))(t), 0, "sealed")
	store.entries = nil
	expect.Equal(t, must.Get(svc.Accounts.Seal(t.Context()))(t), 6, "after it was mended: sealed")
}

// remove deletes one of the sealer's records, as an attacker with access to the database could.
func (d *damaged) remove(t *testing.T, kind, id string) {
	t.Helper()
	for _, k := range party.Kinds() {
		if k.Name != kind {
			continue
		}
		must.Do(t, d.Update(t.Context(), func(tx storage.Tx) error {
			r, err := tx.Get(k, storage.Scope{}, id)
			if err != nil {
				return err
			}
			return tx.Delete(k, storage.Scope{}, id, r.Version)
		}))
		return
	}
	t.Fatal(kind)
}

// The sealer does not recreate a missing seal. Otherwise an attacker could delete a seal, change
// the entries, and get a valid seal for them.
func TestMissingSealIsNotRecreated(t *testing.T) {
	for what, gone := range map[string][]string{
		"the seal that is still growing": {"#000000000001"},
		"the seal before it":             {"#000000000000"},
		"both":                           {"#000000000000", "#000000000001"},
	} {
		t.Run(what, func(t *testing.T) {
			store, svc, merchant, _ := sealedBooks(t, 130)
			must.Get(svc.Accounts.Seal(t.Context()))(t)
			name := ledger.Available(merchant, false).Name
			for _, id := range gone {
				store.remove(t, "seals", name+id)
			}
			store.entries = func(page []storage.Entry) []storage.Entry {
				for i := range page {
					if page[i].Account == name && page[i].Number == 129 {
						page[i].Ref = "mine"
					}
				}
				return page
			}
			book(t, svc, merchant, 3)
			for range 2 {
				must.Get(svc.Accounts.Seal(t.Context()))(t)
			}
			if _, problems := verifiedWith(t, svc); !strings.Contains(problems, name) || !strings.Contains(problems, "is missing") {
				t.Errorf("Verify says %q", problems)
			}
		})
	}
}
