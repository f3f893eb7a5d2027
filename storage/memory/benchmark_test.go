package memory_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

var things = &storage.Kind{
	Name: "things",
	Columns: []storage.Column{
		{Name: "state", Type: storage.Text, OneOf: []string{"new", "old"}, Indexed: true},
		{Name: "reference", Type: storage.Text},
	},
	Keys: []storage.Key{{Name: "reference", Columns: []string{"reference"}}},
}

var mine = storage.Scope{Merchant: "mer_1"}

func thing(i int) storage.Record {
	return storage.Record{
		Scope: mine, ID: fmt.Sprintf("th_%08d", i), Version: 1,
		Columns: []any{"new", fmt.Sprint("ref", i)}, Data: []byte(`{"a":"document","of":"some","length":100}`),
	}
}

const filled = 10_000 // records of each of two scopes

func open(b *testing.B) *memory.Store {
	b.Helper()
	store, ctx := memory.New(), b.Context()
	must.Do(b, store.Define(ctx, things))
	err := store.Update(ctx, func(tx storage.Tx) error {
		for i := range filled {
			r := thing(i)
			if err := tx.Insert(things, r); err != nil {
				return err
			}
			r.Scope.Live = true
			if err := tx.Insert(things, r); err != nil {
				return err
			}
		}
		return nil
	})
	must.Do(b, err)
	return store
}

func BenchmarkGet(b *testing.B) {
	store := open(b)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			id := fmt.Sprintf("th_%08d", i%filled)
			err := store.View(context.Background(), func(tx storage.ReadTx) error {
				_, err := tx.Get(things, mine, id)
				return err
			})
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkList(b *testing.B) {
	store := open(b)
	after := thing(filled / 2).ID
	old := []storage.Equal{{Column: "state", Value: "old"}} // no record has this value, which takes the longest
	for _, test := range []struct {
		name string
		q    storage.Query
	}{
		{"20", storage.Query{Scope: mine, Limit: 20, After: after}},
		{"none-of-5000", storage.Query{Scope: mine, Limit: 20, After: after, Where: old}},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				err := store.View(b.Context(), func(tx storage.ReadTx) error {
					_, err := tx.List(things, test.q)
					return err
				})
				must.Do(b, err)
			}
		})
	}
}

func BenchmarkUpdate(b *testing.B) {
	for _, writes := range []int{1, 10} {
		b.Run(fmt.Sprint("replace-", writes), func(b *testing.B) {
			store := open(b)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				err := store.Update(b.Context(), func(tx storage.Tx) error {
					for w := range writes {
						r, err := tx.Get(things, mine, thing((i*writes+w)%filled).ID)
						if err != nil {
							return err
						}
						if err := tx.Replace(things, r); err != nil {
							return err
						}
					}
					return nil
				})
				must.Do(b, err)
			}
		})
	}
	b.Run("nothing", func(b *testing.B) { // the cost of the transaction itself
		store := open(b)
		b.ReportAllocs()
		for b.Loop() {
			must.Do(b, store.Update(b.Context(), func(storage.Tx) error { return nil }))
		}
	})
}
