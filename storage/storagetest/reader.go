package storagetest

import (
	"context"
	"errors"
	"testing"

	"github.com/seed-7082ffec/payments/storage"
)

// reader checks a store that is a storage.Reader; any other passes.
var reader = tests{
	"as a view": readsAsViews,
	"refusals":  readRefusals,
}

// readsAsViews compares the single reads with views of one read, after each write.
func readsAsViews(t *testing.T, s storage.Store) {
	from, ok := s.(storage.Reader)
	if !ok {
		return
	}
	same := func(what string) {
		t.Helper()
		for _, scope := range []storage.Scope{test1, live1} {
			for _, id := range []string{"a", "b", "\xff", "a\x00"} {
				got, gotErr := from.GetOne(t.Context(), jobs, scope, id)
				var want storage.Record
				wantErr := s.View(t.Context(), func(tx storage.ReadTx) error {
					var err error
					want, err = tx.Get(jobs, scope, id)
					return err
				})
				equal(t, what+": GetOne of "+id, got, want)
				if errors.Is(gotErr, storage.ErrNotFound) != errors.Is(wantErr, storage.ErrNotFound) || (gotErr == nil) != (wantErr == nil) {
					t.Errorf("%s: GetOne of %s: got error %v, want %v", what, id, gotErr, wantErr)
				}
			}
		}
		for _, key := range items.Keys {
			values := make([]any, len(key.Columns))
			for i, column := range key.Columns {
				values[i] = keyed(column)
			}
			got, gotErr := from.FindOne(t.Context(), items, key.Name, test1, values...)
			var want storage.Record
			wantErr := s.View(t.Context(), func(tx storage.ReadTx) error {
				var err error
				want, err = tx.Find(items, key.Name, test1, values...)
				return err
			})
			equal(t, what+": FindOne by "+key.Name, got, want)
			if (gotErr == nil) != (wantErr == nil) {
				t.Errorf("%s: FindOne by %s: got error %v, want %v", what, key.Name, gotErr, wantErr)
			}
		}
	}
	same("empty")
	insert(t, s, jobs, job(test1, "a", noon), job(live1, "a", nil))
	with := item(test1, "keyed")
	for i, c := range items.Columns {
		if v := keyed(c.Name); v != nil && inKey(c.Name) {
			with.Columns[i] = v
		}
	}
	insert(t, s, items, with)
	same("inserted")
	update(t, s, func(tx storage.Tx) error {
		r, err := tx.Get(jobs, test1, "a")
		if err != nil {
			return err
		}
		r.Columns[0] = nil
		return tx.Replace(jobs, r)
	})
	same("replaced")
	update(t, s, func(tx storage.Tx) error { return tx.Delete(items, test1, "keyed", 1) })
	same("deleted")
}

// keyed returns a record's value in a column of a key.
func keyed(column string) any {
	if column == "id" {
		return "keyed"
	}
	switch items.Columns[items.Column(column)].Type {
	case storage.Text:
		return "new"
	case storage.Int:
		return int64(7)
	case storage.Bool:
		return true
	default:
		return noon
	}
}

func inKey(column string) bool {
	for _, k := range items.Keys {
		for _, c := range k.Columns {
			if c == column {
				return true
			}
		}
	}
	return false
}

func readRefusals(t *testing.T, s storage.Store) {
	from, ok := s.(storage.Reader)
	if !ok {
		return
	}
	insert(t, s, jobs, job(test1, "a", nil))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := from.GetOne(ended, jobs, test1, "a")
	want(t, "GetOne with a context that has ended", err, context.Canceled)
	_, err = from.FindOne(t.Context(), items, "nothing", test1, "a")
	want(t, "FindOne by no key", err, storage.ErrInvalid)
	strange := *jobs
	_, err = from.GetOne(t.Context(), &strange, test1, "a")
	want(t, "GetOne of a kind that is not defined", err, storage.ErrInvalid)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	_, err = from.GetOne(t.Context(), jobs, test1, "a")
	want(t, "GetOne of a closed store", err, storage.ErrClosed)
}
