package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/seed-7082ffec/payments/storage"
)

// pagesRead returns how many pages of the database a connection reads while fn runs,
// from its cache or from the file. Unlike a plan, it shows what an index leaves to read.
func pagesRead(t *testing.T, c *conn, fn func()) int {
	t.Helper()
	count := func() (pages int) {
		err := c.sql.Raw(func(raw any) error {
			for _, op := range []sqlite.DBStatusOp{sqlite.DBStatusCacheHit, sqlite.DBStatusCacheMiss} {
				n, _, err := raw.(sqlite.DBStatus).Status(op, false)
				if err != nil {
					return err
				}
				pages += n
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return pages
	}
	before := count()
	fn()
	return count() - before
}

// manyRows is how many rows a test needs to tell a search from a walk: a walk reads a
// page for each, and a search fewer than some hundred.
const (
	manyRows = 20_000
	fewPages = 200
)

// many returns a store with so many records of a kind. The connection that writes
// has all of them in its cache, and reads them from there.
func many(t *testing.T, k *storage.Kind, record func(i int) storage.Record) *Store {
	t.Helper()
	s := openAt(t, filepath.Join(t.TempDir(), "many.db"), Config{})
	if err := s.Define(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	err := s.Update(t.Context(), func(tx storage.Tx) error {
		for i := range manyRows {
			if err := tx.Insert(k, record(i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var live = storage.Scope{Merchant: "mer_live", Live: true}

var expiring = &storage.Kind{
	Name:    "expiring",
	Columns: []storage.Column{{Name: "due", Type: storage.Time, Null: true}},
	Due:     "due",
}

// A clock that runs ahead reads nothing of what is due to others in the meantime,
// of whom live mode has any number.
func TestClaimByClocksReadsFewPages(t *testing.T) {
	s := many(t, expiring, func(i int) storage.Record {
		scope := live
		if i%2 == 0 {
			scope = storage.Scope{Merchant: "mer_test"}
		}
		return storage.Record{Scope: scope, ID: fmt.Sprintf("k%06d", i), Columns: []any{noon.Add(time.Duration(i) * time.Minute)}, Data: []byte("{}")}
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
				if len(found) > 0 {
					t.Errorf("claimed %d", len(found))
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
		if pages == 0 || pages > fewPages {
			t.Errorf("a claim by %d clocks reads %d pages", n, pages)
		}
		t.Logf("%d clocks: %d pages", n, pages)
	}
}
