package memory_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	storagetest.Run(t, func(*testing.T) storage.Store { return memory.New() }, storagetest.InMemory())
}

// TestKeysOfAnyBytesStayInScope stores ids that not every database accepts as text. The maps'
// keys consist of ids, and no id may reach into another scope.
func TestKeysOfAnyBytesStayInScope(t *testing.T) {
	kind := &storage.Kind{
		Name:    "things",
		Columns: []storage.Column{{Name: "a", Type: storage.Text}, {Name: "b", Type: storage.Text}},
		Keys:    []storage.Key{{Name: "a_b", Columns: []string{"a", "b"}}},
	}
	store := memory.New()
	must.Do(t, store.Define(t.Context(), kind))
	odd := []string{"\xff\xff\xff", "\xff", "a", "\x01", "\x00\x01", "\x00"} // descending
	scopes := []storage.Scope{{}, {Live: true}, {Merchant: "\x00"}, {Merchant: "\x00\x01"}, {Merchant: "\xff"}}
	must.Do(t, store.Update(t.Context(), func(tx storage.Tx) error {
		for _, scope := range scopes {
			for i, id := range odd {
				r := storage.Record{Scope: scope, ID: id, Columns: []any{id, odd[len(odd)-1-i]}}
				if err := tx.Insert(kind, r); err != nil {
					return fmt.Errorf("insert %q: %w", id, err)
				}
			}
		}
		return nil
	}))
	must.Do(t, store.View(t.Context(), func(tx storage.ReadTx) error {
		for _, scope := range scopes {
			page, err := tx.List(kind, storage.Query{Scope: scope, Limit: 100})
			if err != nil {
				return err
			}
			var got []string
			for _, r := range page {
				got = append(got, r.ID)
			}
			expect.Same(t, got, odd, "list of %+v", scope)
			for i, id := range odd {
				r, err := tx.Find(kind, "a_b", scope, id, odd[len(odd)-1-i])
				expect.NoError(t, err, "find of %q in %+v", id, scope)
				expect.Equal(t, r.ID, id, "find of %q in %+v: ID", id, scope)
				expect.Equal(t, r.Scope, scope, "find of %q in %+v: scope", id, scope)
			}
		}
		return nil
	}))
}

// TestDefineBesideReaders replaces a table while others read it. The race detector watches.
func TestDefineBesideReaders(t *testing.T) {
	kind := func(keys ...storage.Key) *storage.Kind {
		return &storage.Kind{Name: "things", Columns: []storage.Column{{Name: "at", Type: storage.Time}}, Keys: keys}
	}
	store, first := memory.New(), kind()
	must.Do(t, store.Define(t.Context(), first))
	err := store.Update(t.Context(), func(tx storage.Tx) error {
		return tx.Insert(first, storage.Record{ID: "a", Columns: []any{time.Now()}})
	})
	must.Do(t, err)
	reading, defined := make(chan struct{}), make(chan error, 1)
	go func() {
		<-reading
		defined <- store.Define(t.Context(), kind(storage.Key{Name: "at", Columns: []string{"at"}}))
	}()
	err = store.View(t.Context(), func(tx storage.ReadTx) error {
		close(reading)
		for range 100 {
			if _, err := tx.Get(first, storage.Scope{}, "a"); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := <-defined; err != nil {
		t.Error(err)
	}
}

type order struct {
	Customer string `json:"customer"`
	Amount   int64  `json:"amount"` // in pesewas
}

// A collection gives typed values. A transaction writes all its records and postings, or none.
func Example() {
	orders := storage.NewCollection("orders", []storage.Field[order]{
		{Column: storage.Column{Name: "customer", Type: storage.Text}, Value: func(o *order) any { return o.Customer }},
	})
	ctx, shop := context.Background(), storage.Scope{Merchant: "mer_1"}
	store := memory.New()
	defer store.Close()
	if err := store.Define(ctx, orders.Kind()); err != nil {
		fmt.Println(err)
		return
	}

	buy := func(id string, o order) error {
		return store.Update(ctx, func(tx storage.Tx) error {
			if _, err := orders.Insert(tx, shop, id, o); err != nil {
				return err
			}
			return tx.Post(storage.Posting{
				ID: "post_" + id, Type: "order", Ref: id, At: time.Now(),
				Moves: []storage.Move{
					{Account: "customer/" + o.Customer, Guarded: true, Amount: -o.Amount},
					{Account: "shop", Amount: o.Amount},
				},
			})
		})
	}
	fmt.Println(buy("ord_1", order{Customer: "ama", Amount: 5_00}))

	err := store.View(ctx, func(tx storage.ReadTx) error {
		_, err := orders.Get(tx, shop, "ord_1")
		return err
	})
	fmt.Println(err)
	// Output:
	// storage: insufficient balance: account customer/ama
	// storage: not found
}
