package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

// pagesRead returns the number of database pages that a connection reads during fn, from its
// cache or from the file. Unlike a plan, it shows the cost of the rows that an index does not
// exclude.
func pagesRead(t *testing.T, c *conn, fn func()) int {
	t.Helper()
	count := func() (pages int) {
		must.Do(t, c.sql.Raw(func(raw any) error {
			for _, op := range []sqlite.DBStatusOp{sqlite.DBStatusCacheHit, sqlite.DBStatusCacheMiss} {
				n, _, err := raw.(sqlite.DBStatus).Status(op, false)
				if err != nil {
					return err
				}
				pages += n
			}
			return nil
		}))
		return pages
	}
	before := count()
	fn()
	return count() - before
}

// manyRows is large enough to distinguish an index search from a scan: all rows take some 3000
// pages.
const (
	manyRows = 20_000
	fewPages = 200
)

// openWithRecords returns a store with manyRows records of a kind. The writing connection has all
// of them in its cache.
func openWithRecords(t *testing.T, k *storage.Kind, record func(i int) storage.Record) *Store {
	t.Helper()
	s := openAt(t, filepath.Join(effort.TempDir(t), "many.db"), Config{})
	must.Do(t, s.Define(t.Context(), k))
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
		for i := range manyRows {
			if err := tx.Insert(k, record(i)); err != nil {
				return err
			}
		}
		return nil
	}))
	return s
}

// document has the size of a typical document.
var document = bytes.Repeat([]byte("x"), 500)

var live = storage.Scope{Merchant: "mer_live", Live: true}

var expiring = &storage.Kind{
	Name:    "expiring",
	Columns: []storage.Column{{Name: "due", Type: storage.Time, Null: true}},
	Due:     "due",
}

// A claim by a clock that runs ahead reads no records of other scopes, even if many are due
// there.
func TestClaimByClocksReadsFewPages(t *testing.T) {
	s := openWithRecords(t, expiring, func(i int) storage.Record {
		scope := live
		if i%2 == 0 {
			scope = storage.Scope{Merchant: "mer_test"}
		}
		return storage.Record{Scope: scope, ID: fmt.Sprintf("k%06d", i), Columns: []any{noon.Add(time.Duration(i) * time.Minute)}, Data: document}
	})
	ahead := noon.AddDate(0, 1, 0)
	for _, n := range []int{1, 20} {
		all := clocks(n)
		for i := range all {
			all[i].Now = ahead
		}
		pages := pagesRead(t, s.writer.conn, func() {
			err := s.Update(t.Context(), func(tx storage.Tx) error {
				found, err := tx.Claim(expiring, storage.Claim{Clocks: all, Now: noon, Lease: time.Minute, Limit: 100})
				expect.True(t, len(found) == 0, "claimed %d", len(found))
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
		expect.True(t, pages != 0, "a claim by %d clocks reads no pages", n)
		expect.True(t, pages <= fewPages, "a claim by %d clocks reads %d pages", n, pages)
		t.Logf("%d clocks: %d pages", n, pages)
	}
}

var made = &storage.Kind{
	Name: "made",
	Columns: []storage.Column{
		{Name: "status", Type: storage.Text, OneOf: []string{"done", "failed"}, Indexed: true},
		{Name: "customer", Type: storage.Text, Null: true, Indexed: true},
		{Name: "created", Type: storage.Time, Indexed: true},
		{Name: "note", Type: storage.Text},
	},
}

func madeID(i int) string { return fmt.Sprintf("m%06d", i) }

// manyMade returns a store with records that were made a second apart, in the order of their ids.
// Nearly all are done. One in a hundred belongs to one customer.
func manyMade(t *testing.T) *Store {
	return openWithRecords(t, made, func(i int) storage.Record {
		columns := []any{"done", nil, noon.Add(time.Duration(i) * time.Second), fmt.Sprint(i % 7)}
		if i == 9 {
			columns[0] = "failed"
		}
		if i%100 == 5 {
			columns[1] = "cus_1"
		}
		return storage.Record{Scope: live, ID: madeID(i), Columns: columns, Data: document}
	})
}

// A list reads only the rows of its page or its range, and no newer or older records.
func TestListsReadFewPages(t *testing.T) {
	s := manyMade(t)
	at := func(i int) time.Time { return noon.Add(time.Duration(i) * time.Second) }
	is := func(column string, v any) storage.Equal { return storage.Equal{Column: column, Value: v} }
	between := func(from, until int) []storage.Range {
		return []storage.Range{{Column: "created", From: at(from), Until: at(until)}}
	}
	for name, test := range map[string]struct {
		query storage.Query
		want  []int
	}{
		"long ago":              {storage.Query{Range: between(100, 103)}, []int{102, 101, 100}},
		"long ago, many":        {storage.Query{Range: between(100, 600)}, []int{599, 598, 597, 596, 595}},
		"half":                  {storage.Query{Range: between(0, manyRows/50)}, []int{399, 398, 397, 396, 395}},
		"lately":                {storage.Query{Range: between(manyRows-2, manyRows)}, []int{19999, 19998}},
		"since long":            {storage.Query{Range: []storage.Range{{Column: "created", From: at(5)}}}, []int{19999, 19998, 19997, 19996, 19995}},
		"at the beginning":      {storage.Query{Range: []storage.Range{{Column: "created", Until: at(2)}}}, []int{1, 0}},
		"never":                 {storage.Query{Range: between(-5, 0)}, nil},
		"after":                 {storage.Query{Range: between(100, 600), After: madeID(102)}, []int{101, 100}},
		"after what came later": {storage.Query{Range: between(100, 103), After: madeID(19000)}, []int{102, 101, 100}},
		"before":                {storage.Query{Range: between(100, 600), Before: madeID(300)}, []int{305, 304, 303, 302, 301}},
		"before, at the end":    {storage.Query{Range: between(19000, 19002), Before: madeID(3)}, []int{19001, 19000}},
		"failed":                {storage.Query{Where: []storage.Equal{is("status", "failed")}}, []int{9}},
		"failed between":        {storage.Query{Where: []storage.Equal{is("status", "failed")}, Range: between(0, 15000)}, []int{9}},
		"done between":          {storage.Query{Where: []storage.Equal{is("status", "done")}, Range: between(8, 11)}, []int{10, 8}},
		"a customer's failed":   {storage.Query{Where: []storage.Equal{is("status", "failed"), is("customer", "cus_1")}}, nil},
		"a customer's done":     {storage.Query{Where: []storage.Equal{is("status", "done"), is("customer", "cus_1")}, Range: between(0, 300)}, []int{205, 105, 5}},
		"by note":               {storage.Query{Where: []storage.Equal{is("note", "3")}}, []int{19995, 19988, 19981, 19974, 19967}},
		"by note, long ago":     {storage.Query{Where: []storage.Equal{is("note", "3")}, Range: between(0, 12)}, []int{10, 3}},
		"of no customer's":      {storage.Query{Where: []storage.Equal{is("customer", nil)}, Range: between(4, 7)}, []int{6, 4}},
	} {
		test.query.Scope, test.query.Limit = live, 5
		var got []storage.Record
		pages := pagesRead(t, s.writer.conn, func() {
			err := s.Update(t.Context(), func(tx storage.Tx) (err error) {
				got, err = tx.List(made, test.query)
				return err
			})
			expect.NoError(t, err, "%s", name)
		})
		var ids, want []string
		for _, r := range got {
			ids = append(ids, r.ID)
		}
		for _, i := range test.want {
			want = append(want, madeID(i))
		}
		expect.True(t, slices.Equal(ids, want), "%s: got %v, want %v", name, ids, want)
		if pages == 0 || pages > 10*fewPages { // of 40,000, where all is walked through
			t.Errorf("%s: %d pages are read", name, pages)
		}
	}
}

// countingContext is a context that ends after a number of checks.
type countingContext struct {
	context.Context
	left int
}

func (e *countingContext) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return e.Context.Err()
}

// A list that finds nothing in many records ends soon after its context, and does not
// affect the other calls of the batch.
func TestListsEndWithTheirContext(t *testing.T) {
	s := manyMade(t)
	q := storage.Query{Scope: live, Where: []storage.Equal{{Column: "note", Value: "none"}}, Limit: 5}
	var whole int
	for _, ends := range []bool{false, true} {
		ctx := &countingContext{t.Context(), 1_000_000}
		beside := make(chan error, 1)
		pages := pagesRead(t, s.writer.conn, func() {
			err := s.Update(ctx, func(tx storage.Tx) error {
				go func() {
					beside <- s.Update(t.Context(), func(tx storage.Tx) error {
						return tx.Insert(made, storage.Record{Scope: scope, ID: fmt.Sprint("beside ", ends), Columns: []any{"done", nil, noon, ""}})
					})
				}()
				if err := tx.Insert(made, storage.Record{Scope: scope, ID: fmt.Sprint("own ", ends), Columns: []any{"done", nil, noon, ""}}); err != nil {
					return err
				}
				if ends {
					ctx.left = 5
				}
				_, err := tx.List(made, q)
				return err
			})
			expect.Equal(t, errors.Is(err, context.Canceled), ends, "ends %t: got %v", ends, err)
			expect.NoError(t, <-beside, "ends %t: beside it", ends)
		})
		if !ends {
			whole = pages
		} else if pages > whole/2 {
			t.Errorf("%d pages are read, of %d", pages, whole)
		}
		t.Logf("ends %t: %d pages", ends, pages)
	}
	err := s.View(&countingContext{t.Context(), 8}, func(tx storage.ReadTx) error { _, err := tx.List(made, q); return err })
	expect.True(t, errors.Is(err, context.Canceled), "a View: %v", err)
	var left []string
	err = s.View(t.Context(), func(tx storage.ReadTx) error {
		page, err := tx.List(made, storage.Query{Scope: scope, Limit: 9})
		for _, r := range page {
			left = append(left, r.ID)
		}
		return err
	})
	if want := []string{"own false", "beside true", "beside false"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("what is left is %v, %v, want %v", left, err, want)
	}
}
