package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// card returns the kind of cards as a release declares it.
func card(change ...func(*storage.Kind)) *storage.Kind {
	k := &storage.Kind{
		Name:    "cards",
		Columns: []storage.Column{{Name: "label", Type: storage.Text}, {Name: "state", Type: storage.Text, OneOf: []string{"new", "used"}}},
	}
	k.Backfill = func(data []byte) ([]any, error) { return []any{string(data), "new", nil}[:len(k.Columns)], nil }
	for _, c := range change {
		c(k)
	}
	return k
}

func withColumn(k *storage.Kind) {
	k.Columns = append(k.Columns, storage.Column{Name: "note", Type: storage.Text, Null: true})
}

func withKey(k *storage.Kind) { k.Keys = []storage.Key{{Name: "label", Columns: []string{"label"}}} }

func withValue(k *storage.Kind) { k.Columns[1].OneOf = []string{"new", "used", "lost"} }

func insertCard(tx storage.Tx, k *storage.Kind, id string) error {
	values, _ := k.Backfill([]byte(id))
	return tx.Insert(k, storage.Record{Scope: scope, ID: id, Columns: values, Data: []byte(id)})
}

// A running program stops writing once a newer one has declared more than it knows, and
// goes on reading. After a change that it knows it goes on writing.
func TestOlderProgramCannotWrite(t *testing.T) {
	pool := pgtest.Pool(t, 8)
	for name, test := range map[string]struct {
		newer   *storage.Kind
		refused bool
	}{
		"nothing":           {card(), false},
		"another kind":      {things, false},
		"a column":          {card(withColumn), true},
		"a key":             {card(withKey), true},
		"a value of OneOf":  {card(withValue), true},
		"another migration": {nil, true},
	} {
		for _, by := range []string{"Define", "Migrate", "MigrateTx"} {
			t.Run(name+"/"+by, func(t *testing.T) {
				schema, known := pgtest.Schema(t), card()
				old := must.Get(postgres.Open(t.Context(), pool, postgres.Config{Schema: schema}))(t)
				insert := func(id string) error {
					return old.Update(t.Context(), func(tx storage.Tx) error { return insertCard(tx, known, id) })
				}
				must.Do(t, errors.Join(old.Define(t.Context(), known), insert("c1"), insert("c2")))
				tx := must.Get(pool.Begin(t.Context()))(t)
				var err error
				switch {
				case test.newer == nil: // as the last statements of Migrate
					_, err = tx.Exec(t.Context(), fmt.Sprintf(`
						INSERT INTO %[1]q.storage_migrations (number, name) SELECT 90 + n, 'later' FROM generate_series(1, 9) n;
						INSERT INTO %[1]q.storage_kinds VALUES ('storage_generation', 99)
							ON CONFLICT (name) DO UPDATE SET declaration = excluded.declaration;
						INSERT INTO %[1]q.storage_commits (number, token) SELECT max(number) + 1, 1 FROM %[1]q.storage_commits`, schema))
				case by == "MigrateTx":
					err = postgres.MigrateTx(t.Context(), tx, schema, test.newer)
				}
				must.Do(t, errors.Join(err, tx.Commit(t.Context())))
				switch {
				case test.newer == nil:
				case by == "Migrate":
					err = postgres.Migrate(t.Context(), pool, schema, test.newer)
				case by == "Define":
					newer, e := postgres.Open(t.Context(), pool, postgres.Config{Schema: schema})
					if err = e; err == nil {
						err = newer.Define(t.Context(), test.newer)
						if e := newer.Update(t.Context(), func(tx storage.Tx) error { _, err := tx.Next("newer"); return err }); e != nil {
							t.Error("the newer one:", e)
						}
					}
				}
				must.Do(t, err)
				wanted, count := error(nil), 4
				if test.refused {
					wanted, count = storage.ErrNewer, 2
				}
				for _, id := range []string{"c3", "c4"} {
					if err := insert(id); !errors.Is(err, wanted) {
						t.Errorf("Insert: %v, want %v", err, wanted)
					}
				}
				number := func(tx storage.Tx) error { _, err := tx.Next("number"); return err }
				if err := old.Update(t.Context(), number); !errors.Is(err, wanted) {
					t.Errorf("another write: %v, want %v", err, wanted)
				}
				tx = must.Get(pool.Begin(t.Context()))(t)
				if err := old.In(tx).Update(t.Context(), number); !errors.Is(err, wanted) {
					t.Errorf("Update in the host's transaction: %v, want %v", err, wanted)
				}
				must.Do(t, tx.Rollback(t.Context()))
				err = old.View(t.Context(), func(tx storage.ReadTx) error {
					page, err := tx.List(known, storage.Query{Scope: scope, Limit: 10})
					expect.Same(t, len(page), count, "cards")
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// An older program writes while a table changes. The rows that it wrote after the backfill get
// the new columns, too. A long read delays the change, but no writes or other reads.
func TestTableChangesOnline(t *testing.T) {
	pool, schema, known := pgtest.Pool(t, 8), pgtest.Schema(t), card()
	old := must.Get(postgres.Open(t.Context(), pool, postgres.Config{Schema: schema}))(t)
	insert := func(id string) error {
		return old.Update(t.Context(), func(tx storage.Tx) error { return insertCard(tx, known, id) })
	}
	must.Do(t, errors.Join(old.Define(t.Context(), known), insert("c1")))
	// The read keeps the table from changing.
	reading := must.Get(pool.Begin(t.Context()))(t)
	must.Get(reading.Exec(t.Context(), fmt.Sprintf("SELECT FROM %q.cards", schema)))(t)
	grown := card(withValue, withKey, func(k *storage.Kind) {
		k.Columns = append(k.Columns, storage.Column{Name: "copy", Type: storage.Text})
		k.Backfill = func(data []byte) ([]any, error) { return []any{string(data), "new", string(data)}, nil }
	})
	var filled sync.Once
	newer := must.Get(postgres.Open(t.Context(), pool, postgres.Config{Schema: schema, MigrationProgress: func(p storage.Progress) {
		if p.Done == 0 { // the columns are there, and about to be filled
			if err := insert("c2"); err != nil {
				t.Error("while the table grows:", err)
			}
			return
		}
		filled.Do(func() {
			err := old.Update(t.Context(), func(tx storage.Tx) error {
				r, err := tx.Get(known, scope, "c1")
				if err == nil {
					r.Data = []byte("changed")
					err = tx.Replace(known, r)
				}
				return err
			})
			if err := errors.Join(err, insert("c3")); err != nil {
				t.Error("when it is filled:", err)
			}
		})
	}}))(t)
	done := make(chan error, 1)
	go func() { done <- newer.Define(t.Context(), grown) }()
	for n := range 3 { // beside the read, and the change that waits for it
		expect.NoError(t, insert(fmt.Sprint("b", n)), "insert")
	}
	select {
	case err := <-done:
		t.Fatal("the table has changed under a read:", err)
	default:
	}
	must.Do(t, reading.Commit(t.Context()))
	must.Do(t, <-done)
	expect.ErrorIs(t, insert("c4"), storage.ErrNewer, "afterwards")
	err := newer.View(t.Context(), func(tx storage.ReadTx) error {
		all, err := tx.List(grown, storage.Query{Scope: scope, Limit: 10})
		expect.Equal(t, len(all), 6, "%d cards", len(all))
		for _, r := range all {
			if r.Columns[2] != string(r.Data) {
				t.Errorf("%s has %v, want %s", r.ID, r.Columns[2], r.Data)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	expect.NoError(t, postgres.Validate(t.Context(), pool, schema, grown), "Validate")
	var left int
	err = pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE nspname = $1 AND relname LIKE '%.noted%'`, schema).Scan(&left)
	must.Do(t, err)
	expect.Equal(t, left, 0, "number of tables")
	if _, err := pool.Exec(t.Context(), fmt.Sprintf("UPDATE %q.cards SET copy = NULL", schema)); err == nil {
		t.Error("the column can be null")
	}
}
