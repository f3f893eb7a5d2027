package storagetest

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-7082ffec/payments/storage"
)

var lifecycle = tests{
	"defining again changes nothing":       defineAgain,
	"concurrent defines of a kind succeed": defineAtOnce,
	"a lease outlives a new column":        defineBesideLease,
	"records must fit a new column or key": defineUnfitRecords,
	"a wrong kind is refused":              defineWrong,
	"calls after Close fail":               callsAfterClose,
	"Close waits for running transactions": closeWaits,
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

// defineAtOnce has several callers define a new kind at once, as processes deployed together do.
func defineAtOnce(t *testing.T, s storage.Store) {
	kind := grownKind(2)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			want(t, "Define", s.Define(t.Context(), kind), nil)
			want(t, "Update", s.Update(t.Context(), func(tx storage.Tx) error {
				_, err := tx.List(kind, storage.Query{Scope: test1, Limit: 1})
				return err
			}), nil)
		})
	}
	all.Wait()
	want(t, "Define of nothing", s.Define(t.Context()), nil)
}

// defineBesideLease adds a column while a record is leased.
func defineBesideLease(t *testing.T, s storage.Store) {
	insert(t, s, jobs, job(test1, "a", second(0)))
	held := single(t, "claimed", claim(t, s, 0, 0, 9, nil))
	longer := *jobs
	longer.Columns = append([]storage.Column{jobs.Columns[0]}, storage.Column{Name: "note", Type: storage.Text})
	longer.Backfill = func([]byte) ([]any, error) { return []any{second(0), "added"}, nil }
	want(t, "Define", s.Define(t.Context(), &longer), nil)
	update(t, s, func(tx storage.Tx) error {
		c := storage.Claim{Due: second(59), Now: second(59), Lease: lease, Limit: 9}
		got, err := tx.Claim(&longer, c)
		want(t, "Claim", err, nil)
		equal(t, "within the lease", ids(got), []string{})
		c.Now = second(60)
		got, err = tx.Claim(&longer, c)
		equal(t, "after the lease", ids(got), []string{"a"})
		return err
	})
	r := get(t, s, &longer, test1, "a")
	equal(t, "columns", r.Columns, []any{second(0), "added"})
	equal(t, "version", r.Version, held.Version+1)
}

// defineUnfitRecords extends a kind in ways that its records do not fit. Everything stays as it
// was.
func defineUnfitRecords(t *testing.T, s storage.Store) {
	small := grownKind(1)
	want(t, "Define", s.Define(t.Context(), small), nil)
	insert(t, s, small, storage.Record{Scope: test1, ID: "a", Columns: []any{"a"}, Data: []byte(`{"name":"a"}`)})
	unfit := func(backfill func([]byte) ([]any, error)) *storage.Kind {
		k := *grownKind(2)
		k.Backfill = backfill
		return &k
	}
	for what, k := range map[string]*storage.Kind{
		"no Backfill":             unfit(nil),
		"a Backfill that fails":   unfit(func([]byte) ([]any, error) { return nil, errPlanned }),
		"a null":                  unfit(func([]byte) ([]any, error) { return []any{"a", nil}, nil }),
		"a value of another type": unfit(func([]byte) ([]any, error) { return []any{"a", "b"}, nil }),
		"a column missing":        unfit(func([]byte) ([]any, error) { return []any{"a"}, nil }),
	} {
		if err := s.Define(t.Context(), k); err == nil {
			t.Errorf("Define with %s succeeds", what)
		}
		equal(t, "after Define with "+what, get(t, s, small, test1, "a").Columns, []any{"a"})
	}
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

func defineWrong(t *testing.T, s storage.Store) {
	want(t, "a name of two words", s.Define(t.Context(), &storage.Kind{Name: "two words"}), storage.ErrInvalid)
	key := &storage.Kind{Name: "test_wrong", Keys: []storage.Key{{Name: "key", Columns: []string{"nothing"}}}}
	want(t, "a key over no column", s.Define(t.Context(), key), storage.ErrInvalid)
	insert(t, s, jobs, job(test1, "a", noon)) // nothing has changed
	want(t, "a column of another type", s.Define(t.Context(), &storage.Kind{
		Name: jobs.Name, Columns: []storage.Column{{Name: "due", Type: storage.Int, Null: true}},
	}), storage.ErrInvalid)
}

func callsAfterClose(t *testing.T, s storage.Store) {
	insert(t, s, items, item(test1, "it_1"))
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() { want(t, "Close", s.Close(), nil) })
	}
	all.Wait()
	want(t, "Close again", s.Close(), nil)
	want(t, "Update", s.Update(t.Context(), func(storage.Tx) error { t.Error("it runs"); return nil }), storage.ErrClosed)
	want(t, "View", s.View(t.Context(), func(storage.ReadTx) error { t.Error("it runs"); return nil }), storage.ErrClosed)
	want(t, "Define", s.Define(t.Context(), items), storage.ErrClosed)
}

// closeWaits closes during an update and a view, which must be able to finish.
func closeWaits(t *testing.T, s storage.Store) {
	insert(t, s, items, item(test1, "it_1"))
	proceed, closing := make(chan struct{}), make(chan error, 1)
	var began, inside sync.WaitGroup
	var finished atomic.Int32
	began.Add(2)
	var writing, reading sync.Once // functions may run more than once
	inside.Go(func() {
		want(t, "Update", s.Update(t.Context(), func(tx storage.Tx) error {
			writing.Do(began.Done)
			<-proceed
			defer finished.Add(1)
			return tx.Insert(items, item(test1, "it_2"))
		}), nil)
	})
	inside.Go(func() {
		want(t, "View", s.View(t.Context(), func(tx storage.ReadTx) error {
			reading.Do(began.Done)
			<-proceed
			defer finished.Add(1)
			_, err := tx.Get(items, test1, "it_1")
			return err
		}), nil)
	})
	began.Wait()
	go func() { closing <- s.Close() }()
	for range 1000 { // gives a Close that does not wait the time to fail
		runtime.Gosched()
		if len(closing) > 0 {
			t.Error("Close came back while transactions were running")
			break
		}
	}
	close(proceed)
	want(t, "Close", <-closing, nil)
	if n := finished.Load(); n < 2 {
		t.Errorf("%d transactions had finished when Close came back, want 2", n)
	}
	inside.Wait()
}
