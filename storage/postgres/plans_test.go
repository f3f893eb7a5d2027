package postgres_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// rowsVariable sets the number of rows in the tables of TestLargeTablesAreReadByIndex.
const rowsVariable = "PAYMENTS_TEST_ROWS"

// shapes returns one kind for each way in which tables and their indexes differ.
func tableShapes() []*storage.Kind {
	var kinds []*storage.Kind
	seen := map[string]bool{}
	for _, k := range payments.Kinds() {
		shape := fmt.Sprint("due ", k.Due != "")
		for _, key := range k.Keys {
			shape += fmt.Sprintf(", key %t", key.Global)
			for _, name := range key.Columns {
				i := k.Column(name)
				shape += fmt.Sprint(" ", i >= 0 && k.Columns[i].Null)
			}
		}
		for _, c := range k.Columns {
			if c.Indexed {
				shape += fmt.Sprint(", by ", c.Type, c.Null, len(c.OneOf) > 0)
			}
		}
		if !seen[shape] {
			seen[shape] = true
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// rowsBy is the number of merchants that own the rows.
const rowsBy = 40

// filling returns the statement that fills a kind's table with n rows. One in a thousand is due.
func filling(schema string, k *storage.Kind) string {
	names, values := "merchant, live, id, version, data", `'mer_' || i % 40, false, 'id_' || lpad(i::text, 9, '0'), 1, '\x7b7d'`
	inKey := map[string]bool{}
	for _, key := range k.Keys {
		for _, name := range key.Columns {
			inKey[name] = true
		}
	}
	for _, c := range k.Columns {
		value := "'v' || i % 1000"
		switch {
		case c.Name == k.Due:
			value = "CASE WHEN i % 1000 = 0 THEN i::bigint END"
		case len(c.OneOf) > 0:
			value = fmt.Sprintf("(ARRAY['%s'])[1 + i %% %d]", strings.Join(c.OneOf, "', '"), len(c.OneOf))
		case c.Type == storage.Text && inKey[c.Name]:
			value = "'v' || i"
		case c.Type == storage.Int || c.Type == storage.Time:
			value = "i::bigint"
		case c.Type == storage.Bool:
			value = "i % 2 = 0"
		}
		names, values = names+`, "`+c.Name+`"`, values+", "+value
	}
	if k.Ordered {
		names, values = names+", number", values+", i"
	}
	return fmt.Sprintf(`INSERT INTO %s."%s" (%s) SELECT %s FROM generate_series(1, $1::int) AS i`, schema, k.Name, names, values)
}

// Every query of large tables uses an index: no list, claim, backlog, lookup of a key or write
// reads a whole table, by the server's own counts.
//
//	PAYMENTS_TEST_ROWS=1000000 go test ./storage/postgres -run TestLargeTablesAreReadByIndex -timeout 60m
func TestLargeTablesAreReadByIndex(t *testing.T) {
	n := effort.Of(5_000, 20_000)
	if text := os.Getenv(rowsVariable); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1000 {
			t.Fatalf("%s is %q; it is a number from 1000 on", rowsVariable, text)
		}
	}
	ctx, pool, schema, kinds := t.Context(), pgtest.Pool(t, 2), pgtest.Schema(t), tableShapes()
	must.Do(t, postgres.Migrate(ctx, pool, schema, payments.Kinds()...))
	fill := []string{
		"INSERT INTO " + schema + ".ledger_accounts (name, guarded, balance, entries) SELECT 'acct/' || i, true, 100, 1 FROM generate_series(1, $1::int) AS i",
		"INSERT INTO " + schema + ".ledger_postings (id, type, ref, at) SELECT 'txn_' || i, 'x', 'y', 0 FROM generate_series(1, $1::int) AS i",
		"INSERT INTO " + schema + ".ledger_entries (account, number, posting, amount, balance)" +
			" SELECT a.id, 1, 'txn_' || i, 100, 100 FROM generate_series(1, $1::int) AS i JOIN " + schema + ".ledger_accounts AS a ON a.name = 'acct/' || i",
		"INSERT INTO " + schema + ".storage_sequences (name, value) SELECT 'seq/' || i, i FROM generate_series(1, $1::int) AS i",
	}
	for _, k := range kinds {
		fill = append(fill, filling(schema, k))
	}
	for _, text := range fill {
		if _, err := pool.Exec(ctx, text, n); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	must.Get(pool.Exec(ctx, "ANALYZE"))(t)

	before := scanned(t, schema)
	// The server's counts are complete once the counted connections have ended.
	config := pool.Config()
	config.ConnConfig.RuntimeParams["application_name"] = schema
	counted := must.Get(pgxpool.NewWithConfig(ctx, config))(t)
	asked := runAllQueries(t, counted, schema, kinds, n)
	counted.Close()
	for left := 1; left > 0; {
		must.Do(t, pool.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", schema).Scan(&left))
	}
	after := scanned(t, schema)
	used := int64(0)
	for table, is := range after {
		was := before[table]
		used += is.byIndex - was.byIndex
		if is.rows < int64(n)/2 {
			continue // it was not filled
		}
		expect.Equal(t, is.whole, was.whole, "%s was read whole %d times", table, is.whole-was.whole)
		// Each query finds at most ten rows, a scope's rows or all due rows.
		if read := is.fetched - was.fetched; read > int64(n)/4 {
			t.Errorf("%d rows of %s were read by an index, of %d", read, table, n)
		}
	}
	expect.True(t, used >= int64(asked), "%d questions, and indexes were used %d times", asked, used)
	t.Logf("%d kinds with %d rows each, %d questions", len(kinds), n, asked)
}

// scanCounts are the server's counts of a table's scans.
type scanCounts struct{ rows, whole, byIndex, fetched int64 }

// scanned reads the counts on a new connection, which has no older snapshot of them.
func scanned(t *testing.T, schema string) map[string]scanCounts {
	t.Helper()
	conn := must.Get(pgx.Connect(t.Context(), pgtest.URL(t)))(t)
	defer conn.Close(t.Context())
	rows := must.Get(conn.Query(t.Context(), `SELECT s.relname, c.reltuples::bigint, coalesce(seq_scan, 0), coalesce(idx_scan, 0), coalesce(idx_tup_fetch, 0)
		FROM pg_stat_user_tables AS s JOIN pg_class AS c ON c.oid = s.relid WHERE schemaname = $1`, schema))(t)
	all := map[string]scanCounts{}
	var name string
	var s scanCounts
	must.Get(pgx.ForEachRow(rows, []any{&name, &s.rows, &s.whole, &s.byIndex, &s.fetched}, func() error { all[name] = s; return nil }))(t)
	return all
}

// runAllQueries runs every query of a store, in a View and in an Update, and returns their
// number.
func runAllQueries(t *testing.T, pool *pgxpool.Pool, schema string, kinds []*storage.Kind, n int) (asked int) {
	t.Helper()
	s := must.Get(postgres.Open(t.Context(), pool, postgres.Config{Schema: schema, ReadOnlySchema: true}))(t)
	defer func() {
		expect.NoError(t, s.Close(), "Close")
	}()
	must.Do(t, s.Define(t.Context(), payments.Kinds()...))
	ask := func(what string, err error) {
		t.Helper()
		asked++
		expect.True(t, err == nil || errors.Is(err, storage.ErrNotFound), "%s: %v", what, err)
	}
	scope, id, due := storage.Scope{Merchant: fmt.Sprint("mer_", n/2%rowsBy)}, fmt.Sprintf("id_%09d", n/2), time.UnixMilli(int64(n))
	read := func(tx storage.ReadTx) error {
		for _, k := range kinds {
			r, err := tx.Get(k, scope, id)
			if err != nil {
				t.Errorf("%s: the row in the middle: %v", k.Name, err)
				continue
			}
			list := func(q storage.Query) {
				q.Scope, q.Limit = scope, 10
				_, err := tx.List(k, q)
				ask("list "+k.Name, err)
			}
			list(storage.Query{})
			list(storage.Query{After: id})
			list(storage.Query{Before: id})
			for i, c := range k.Columns {
				if c.Indexed && r.Columns[i] != nil {
					list(storage.Query{Where: []storage.Equal{{Column: c.Name, Value: r.Columns[i]}}})
					list(storage.Query{Where: []storage.Equal{{Column: c.Name, Value: r.Columns[i]}}, After: id})
				}
				if c.Type == storage.Time && c.Name != k.Due {
					list(storage.Query{Range: []storage.Range{{Column: c.Name, From: time.UnixMilli(1)}}})
				}
			}
			for _, key := range k.Keys {
				var values []any
				for _, name := range key.Columns {
					if i := k.Column(name); i >= 0 {
						values = append(values, r.Columns[i])
					} else {
						values = append(values, r.ID)
					}
				}
				_, err := tx.Find(k, key.Name, scope, values...)
				ask("find "+k.Name, err)
			}
			if k.Due != "" {
				_, err := tx.Backlog(k, due, 10)
				ask("backlog of "+k.Name, err)
			}
			if k.Due != "" && !k.OneQueue {
				_, err := tx.NextDue(k, scope, 10)
				ask("next due of "+k.Name, err)
			}
		}
		_, err := tx.Balances("acct/5", 10)
		ask("balances", err)
		_, err = tx.Balance("acct/7")
		ask("balance", err)
		_, err = tx.Entries("acct/7", 0, 10)
		ask("entries", err)
		_, err = tx.(storage.EntriesReader).FirstEntries([]string{"acct/7", "acct/8", "acct/9"}, 128)
		ask("first entries", err)
		_, err = tx.Posting("txn_7")
		ask("posting", err)
		_, err = tx.Postings("txn_5", 10)
		ask("postings", err)
		return nil
	}
	write := func(tx storage.Tx) error {
		if err := read(tx); err != nil {
			return err
		}
		for _, k := range kinds {
			page, err := tx.List(k, storage.Query{Scope: scope, Limit: 10})
			ask("list "+k.Name, err)
			if len(page) < 2 {
				t.Errorf("%s: %d rows are listed", k.Name, len(page))
				continue
			}
			ask("replace "+k.Name, tx.Replace(k, page[0]))
			ask("delete "+k.Name, tx.Delete(k, scope, page[1].ID, page[1].Version))
			ask("insert "+k.Name, tx.Insert(k, page[1]))
			if k.Due != "" {
				_, err := tx.Claim(k, storage.Claim{Due: due, Now: due, Lease: time.Minute, Limit: 5})
				ask("claim "+k.Name, err)
				clocks := []storage.Clock{{Scope: scope, Now: due}, {Scope: storage.Scope{Merchant: "mer_1"}, Now: due}}
				for len(clocks) > 0 && !k.OneQueue {
					_, err := tx.Claim(k, storage.Claim{Clocks: clocks, Now: due, Lease: time.Minute, Limit: 5})
					ask("claim by clocks "+k.Name, err)
					clocks = clocks[1:]
				}
			}
		}
		_, err := tx.Next("seq/7")
		ask("next", err)
		ask("post", tx.Post(storage.Posting{ID: "txn_new", Type: "x", Ref: "y", At: due, Moves: []storage.Move{
			{Account: "acct/7", Guarded: true, Amount: -1}, {Account: "acct/8", Guarded: true, Amount: 1},
		}}))
		return nil
	}
	must.Do(t, s.View(t.Context(), read))
	must.Do(t, s.Update(t.Context(), write))
	return asked
}
