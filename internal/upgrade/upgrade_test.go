package upgrade_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/internal/upgrade"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// things stand for the records of any kind. Their column follows from the document.
var things = &storage.Kind{
	Name: "things", Columns: []storage.Column{{Name: "size", Type: storage.Text, Null: true}},
	Backfill: func(data []byte) ([]any, error) {
		var d struct{ Size *string }
		if err := json.Unmarshal(data, &d); err != nil || d.Size == nil {
			return []any{nil}, err
		}
		return []any{*d.Size}, nil
	},
}

// kinds are things, what the passes read before they begin, and what is without records.
func kinds() []*storage.Kind {
	all := append(upgrade.Kinds(), things)
	for _, name := range []string{"rail_orders", "refund_orders", "charge_orders", "payments", "payouts", "disbursements", "invoices", "subscriptions", "events", "webhook_subscriptions", "webhook_endpoints"} {
		all = append(all, &storage.Kind{Name: name})
	}
	return all
}

// passOver makes renaming a member of things the only pass to Version 1.
func passOver(t *testing.T) { t.Cleanup(upgrade.PassOver(things.Name, "big", "size")) }

const records = 2*upgrade.Page + 1 // of two pages, and a third that is not full

var scopes = []storage.Scope{{Merchant: "mer_1"}, {Merchant: "mer_1", Live: true}, {Merchant: "mer_2"}}

// fill writes things of the earlier form.
func fill(t *testing.T, store storage.Store, all []*storage.Kind) {
	t.Helper()
	must.Do(t, store.Define(t.Context(), all...))
	must.Do(t, store.Update(t.Context(), func(tx storage.Tx) error {
		for n := range records {
			r := storage.Record{Scope: scopes[n%len(scopes)], ID: fmt.Sprintf("th_%04d", n), Columns: []any{nil}, Data: fmt.Appendf(nil, `{"_":"x.1.2","id":"%04[1]d","big":"%04[1]d"}`, n)}
			if err := tx.Insert(things, r); err != nil {
				return err
			}
		}
		return nil
	}))
}

// check reads the things, which must have the present form, each changed once.
func check(t *testing.T, store storage.Store) {
	t.Helper()
	must.Do(t, store.View(t.Context(), func(tx storage.ReadTx) error {
		all, err := tx.Scan(things, storage.Scope{}, "", records+1)
		expect.Equal(t, len(all), records, "things")
		for _, r := range all {
			var n string
			_, err := fmt.Sscanf(r.ID, "th_%s", &n)
			must.Do(t, err)
			expect.Equal(t, string(r.Data), fmt.Sprintf(`{"id":"%[1]s","size":"%[1]s"}`, n), "%s", r.ID)
			expect.Same(t, r.Columns, []any{n}, "columns of %s", r.ID)
			expect.Equal(t, r.Version, int64(2), "version of %s", r.ID)
		}
		return err
	}))
}

// The pass changes each record once, over every store, and a second start changes nothing.
func TestRecordsGetThePresentForm(t *testing.T) {
	passOver(t)
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		all := kinds()
		fill(t, store, all)
		must.Do(t, upgrade.Run(t.Context(), store, all))
		check(t, store)
		must.Do(t, upgrade.Run(t.Context(), store, all))
		check(t, store)
	})
}

// The pass goes on where a fault, or the death of its process, has stopped it.
func TestPassGoesOnAfterEachFault(t *testing.T) {
	passOver(t)
	faults := faultstore.New(memory.New())
	all := kinds()
	fill(t, faults, all)
	faults.Each(t, "Run", func() error { return upgrade.Run(t.Context(), faults, all) })
	check(t, faults)
	for n := 1; ; n++ { // the answer to the n-th commit is lost
		faults := faultstore.New(memory.New())
		fill(t, faults, all)
		faults.LoseAt(n)
		err := upgrade.Run(t.Context(), faults, all)
		if !faults.Heal() {
			expect.True(t, n > 3, "%d commits", n)
			return
		}
		expect.ErrorIs(t, err, faultstore.Err, "Run")
		must.Do(t, upgrade.Run(t.Context(), faults, all))
		check(t, faults)
	}
}

// Processes that start at once share the pass.
func TestProcessesStartAtOnce(t *testing.T) {
	passOver(t)
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		all := kinds()
		fill(t, store, all)
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				if err := upgrade.Run(context.WithoutCancel(t.Context()), store, all); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		check(t, store)
	})
	for n := 1; ; n++ { // a whole pass of another process comes between two transactions
		faults := faultstore.New(memory.New())
		all := kinds()
		fill(t, faults, all)
		var err error
		faults.BetweenAt(n, func() { err = upgrade.Run(t.Context(), faults.Store, all) })
		must.Do(t, upgrade.Run(t.Context(), faults, all))
		must.Do(t, err)
		check(t, faults)
		if !faults.Heal() {
			expect.True(t, n > 3, "%d transactions", n)
			return
		}
	}
}

// A new database gets the version and no table of a former kind.
func TestNewStoreRunsNoPass(t *testing.T) {
	passOver(t)
	store := memory.New()
	all := kinds()
	must.Do(t, store.Define(t.Context(), all...))
	must.Do(t, upgrade.Run(t.Context(), store, all))
	must.Do(t, store.View(t.Context(), func(tx storage.ReadTx) error {
		_, err := tx.Scan(upgrade.Former()[0], storage.Scope{}, "", 1)
		expect.ErrorIs(t, err, storage.ErrInvalid, "a former kind")
		version, err := upgrade.VersionOf(tx)
		expect.Equal(t, version, upgrade.Version, "version")
		return err
	}))
	// Records written from now on have the present form.
	must.Do(t, store.Update(t.Context(), func(tx storage.Tx) error {
		return tx.Insert(things, storage.Record{ID: "th_1", Columns: []any{nil}, Data: []byte(`{"big":"1"}`)})
	}))
	must.Do(t, upgrade.Run(t.Context(), store, all))
	must.Do(t, store.View(t.Context(), func(tx storage.ReadTx) error {
		r, err := tx.Get(things, storage.Scope{}, "th_1")
		expect.Equal(t, string(r.Data), `{"big":"1"}`, "a record written since")
		return err
	}))
}

func TestNewerAndOlderDatabasesAreRefused(t *testing.T) {
	store := memory.New()
	all := kinds()
	must.Do(t, store.Define(t.Context(), all...))
	must.Do(t, store.Update(t.Context(), func(tx storage.Tx) error {
		return upgrade.SetVersion(tx, upgrade.Version+1)
	}))
	expect.ErrorIs(t, upgrade.Run(t.Context(), store, all), storage.ErrNewer, "a newer database")

	store = memory.New()
	must.Do(t, store.Define(t.Context(), all...))
	payments := all[slices.IndexFunc(all, func(k *storage.Kind) bool { return k.Name == "payments" })]
	must.Do(t, store.Update(t.Context(), func(tx storage.Tx) error {
		return tx.Insert(payments, storage.Record{ID: "pay_1", Data: []byte(`{"asked":1}`)})
	}))
	expect.ErrorIs(t, upgrade.Run(t.Context(), store, all), upgrade.ErrOlder, "a database before the daily totals")
	must.Do(t, store.View(t.Context(), func(tx storage.ReadTx) error {
		r, err := tx.Get(payments, storage.Scope{}, "pay_1")
		expect.Equal(t, string(r.Data), `{"asked":1}`, "the payment")
		return err
	}))
}
