package storagetest

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/seed-7082ffec/payments/storage"
)

var lifecycle = tests{
	"defining again changes nothing":           defineAgain,
	"a column can be added":                    defineColumn,
	"a column that is not known is from later": defineNewer,
	"a wrong kind is refused":                  defineWrong,
	"a closed store does nothing":              closed,
	"Close waits for who is inside":            closeWaits,
}

func defineAgain(t *testing.T, s storage.Store) {
	insert(t, s, items, with(item(test1, "it_1"), "token", "a"))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { want(t, "Define", s.Define(t.Context(), items, jobs), nil) })
	}
	all.Wait()
	equal(t, "version", get(t, s, items, test1, "it_1").Version, int64(1))
}

// grown is a document whose kind gets a second column.
type grown struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

func grownKind(columns int) *storage.Kind {
	fields := []storage.Field[grown]{
		{Column: storage.Column{Name: "name", Type: storage.Text}, Value: func(g *grown) any { return g.Name }},
		{Column: storage.Column{Name: "size", Type: storage.Int, Indexed: true}, Value: func(g *grown) any { return g.Size }},
	}
	options := []func(*storage.Kind){storage.Unique("name", "name")}
	if columns > 1 {
		options = append(options, storage.Unique("name_size", "name", "size"))
	}
	return storage.NewCollection("test_grown", fields[:columns], options...).Kind()
}

func defineColumn(t *testing.T, s storage.Store) {
	small, large := grownKind(1), grownKind(2)
	if err := s.Define(t.Context(), small); err != nil {
		t.Fatalf("Define: %v", err)
	}
	for i, name := range []string{"a", "b"} {
		data, err := json.Marshal(grown{Name: name, Size: int64(i + 7)})
		if err != nil {
			t.Fatal(err)
		}
		insert(t, s, small, storage.Record{Scope: test1, ID: name, Columns: []any{name}, Data: data})
	}
	if err := s.Define(t.Context(), large); err != nil {
		t.Fatalf("Define with one more: %v", err)
	}
	equal(t, "columns", get(t, s, large, test1, "b").Columns, []any{"b", int64(8)})
	equal(t, "filter", list(t, s, large, storage.Query{Scope: test1, Limit: 9, Where: []storage.Equal{{Column: "size", Value: int64(7)}}}), []string{"a"})
	view(t, s, func(tx storage.ReadTx) error {
		r, err := tx.Find(large, "name_size", test1, "a", int64(7))
		equal(t, "Find", r.ID, "a")
		return err
	})
	update(t, s, func(tx storage.Tx) error {
		want(t, "the old key", tx.Insert(large, storage.Record{Scope: test1, ID: "c", Columns: []any{"a", int64(1)}, Data: []byte("{}")}), storage.ErrExists)
		return nil
	})
}

func defineNewer(t *testing.T, s storage.Store) {
	want(t, "Define", s.Define(t.Context(), grownKind(2)), nil)
	want(t, "Define with fewer columns", s.Define(t.Context(), grownKind(1)), storage.ErrNewer)
}

func defineWrong(t *testing.T, s storage.Store) {
	want(t, "a name of two words", s.Define(t.Context(), &storage.Kind{Name: "two words"}), storage.ErrInvalid)
	want(t, "a column of another type", s.Define(t.Context(), &storage.Kind{
		Name: jobs.Name, Columns: []storage.Column{{Name: "due", Type: storage.Int, Null: true}},
	}), storage.ErrInvalid)
}

func closed(t *testing.T, s storage.Store) {
	insert(t, s, items, item(test1, "it_1"))
	want(t, "Close", s.Close(), nil)
	want(t, "Close again", s.Close(), nil)
	want(t, "Update", s.Update(t.Context(), func(storage.Tx) error { t.Error("it runs"); return nil }), storage.ErrClosed)
	want(t, "View", s.View(t.Context(), func(storage.ReadTx) error { t.Error("it runs"); return nil }), storage.ErrClosed)
	want(t, "Define", s.Define(t.Context(), items), storage.ErrClosed)
}

func closeWaits(t *testing.T, s storage.Store) {
	began, proceed, inside := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		inside <- s.Update(t.Context(), func(tx storage.Tx) error {
			select {
			case <-began:
			default:
				close(began)
			}
			<-proceed
			return tx.Insert(items, item(test1, "it_1"))
		})
	}()
	<-began
	closing := make(chan error)
	go func() { closing <- s.Close() }()
	close(proceed)
	want(t, "Close", <-closing, nil)
	want(t, "Update", <-inside, nil)
}
