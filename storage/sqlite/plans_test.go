package sqlite

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	accounts "github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

// explain returns the steps of the plan of a statement.
func explain(t *testing.T, c *conn, query string) []string {
	t.Helper()
	rows, err := c.query("EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "?"))...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		must.Do(t, rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	must.Do(t, rows.Err())
	return steps
}

var errRefused = errors.New("refused")

// preparedStatements returns the statements that a transaction prepares on the writing connection,
// where none is prepared before. The connection is the test's only inside the transaction.
func preparedStatements(t *testing.T, s *Store, ask func(storage.Tx) error) (texts []string) {
	t.Helper()
	err := s.Update(t.Context(), func(tx storage.Tx) error {
		prepared := s.writer.conn.statements
		for text, statement := range prepared {
			must.Do(t, statement.Close())
			delete(prepared, text)
		}
		err := ask(tx)
		texts = texts[:0]
		for text := range prepared {
			switch verb, _, _ := strings.Cut(text, " "); verb {
			case "SELECT", "WITH", "INSERT", "UPDATE", "DELETE":
				texts = append(texts, text)
			}
		}
		return errors.Join(err, errRefused)
	})
	must.True(t, errors.Is(err, errRefused), "%v", err)
	return texts
}

// sample returns a possible value of a column.
func sample(k *storage.Kind, column string) any {
	if column == "id" {
		return "x"
	}
	switch k.Columns[k.Column(column)].Type {
	case storage.Int:
		return int64(1)
	case storage.Bool:
		return true
	case storage.Time:
		return noon
	}
	return "x"
}

// isFullScan reports a step that reads a table whole or sorts. Other scans read the rows of a
// subquery, or a table in the order of its key up to a limit.
func isFullScan(step string) bool {
	return strings.HasPrefix(step, "USE TEMP B-TREE") || strings.HasPrefix(step, "SCAN ") &&
		!strings.HasPrefix(step, "SCAN (subquery") && !strings.Contains(step, "CONSTANT ROW") &&
		!strings.HasSuffix(step, "-ROW VALUES CLAUSE")
}

// Every statement uses an index and none sorts, so its cost does not grow with the table. The
// tables have no statistics.
func TestStatementsReadByIndexWithoutSort(t *testing.T) {
	path := filepath.Join(effort.TempDir(t), "plans.db")
	s := openAt(t, path, Config{})
	must.Do(t, s.Define(t.Context(), payments.Kinds()...))
	statements := map[string]string{} // by what it is
	asked := func(what string, ask func(storage.Tx) error) {
		t.Helper()
		texts := preparedStatements(t, s, ask)
		expect.True(t, len(texts) != 0, "%s asks nothing", what)
		for i, text := range texts {
			statements[fmt.Sprint(what, " ", i)] = text
		}
	}
	asked("account", func(tx storage.Tx) error { _, err := tx.Balance("x"); return err })
	asked("accounts", func(tx storage.Tx) error { _, err := tx.Balances("x", 1); return err })
	asked("first entries", func(tx storage.Tx) error {
		_, err := tx.(storage.EntriesReader).FirstEntries([]string{"x", "y", "z"}, 128)
		return err
	})
	asked("entries", func(tx storage.Tx) error { _, err := tx.Entries("x", 0, 1); return err })
	asked("posting", func(tx storage.Tx) error { _, err := tx.Posting("x"); return err })
	asked("postings", func(tx storage.Tx) error { _, err := tx.Postings("x", 1); return err })
	asked("sequence", func(tx storage.Tx) error { _, err := tx.Next("x"); return errors.Join(err, errRefused) })
	asked("book", func(tx storage.Tx) error {
		var errs []error
		for _, id := range []string{"p1", "p2"} { // the second one changes rows
			p := storage.Posting{ID: id, Type: "test", At: noon, Moves: []storage.Move{{Account: "x", Amount: 1}, {Account: "y", Amount: -1}}}
			posted := tx.Post(p)
			_, next := tx.Next("x")
			_, flushed := tx.Sequences("", 1)
			errs = append(errs, posted, next, flushed)
		}
		return errors.Join(errs...)
	})
	for _, k := range payments.Kinds() {
		table := must.Get(s.store.Table(k))(t)
		statements[k.Name+": insert"] = table.Insert.SQL.(*multiInsert)[2]
		statements[k.Name+": replace"], statements[k.Name+": remove"] = table.Replace.SQL.(string), table.Remove.SQL.(string)
		if k.Due != "" {
			statements[k.Name+": lease"] = table.Lease.SQL.(string)
		}
		asked(k.Name+": get", func(tx storage.Tx) error { _, err := tx.Get(k, scope, "x"); return err })
		asked(k.Name+": scan", func(tx storage.Tx) error {
			_, err := tx.Scan(k, scope, "x", 1)
			return err
		})
		for _, key := range k.Keys {
			asked(k.Name+": find "+key.Name, func(tx storage.Tx) error {
				values := make([]any, len(key.Columns))
				for i, name := range key.Columns {
					values[i] = sample(k, name)
				}
				_, err := tx.Find(k, key.Name, scope, values...)
				return err
			})
		}
		if k.Due != "" {
			claim := storage.Claim{Due: noon, Now: noon, Lease: time.Minute, Limit: 1}
			asked(k.Name+": claim", func(tx storage.Tx) error { _, err := tx.Claim(k, claim); return err })
			asked(k.Name+": backlog", func(tx storage.Tx) error { _, err := tx.Backlog(k, noon, 1); return err })
		}
		if k.Due != "" && !k.OneQueue {
			claim := storage.Claim{Clocks: clocks(1), Now: noon, Lease: time.Minute, Limit: 1}
			asked(k.Name+": claim by a clock", func(tx storage.Tx) error { _, err := tx.Claim(k, claim); return err })
			claim.Clocks = clocks(2)
			asked(k.Name+": claim by clocks", func(tx storage.Tx) error { _, err := tx.Claim(k, claim); return err })
			asked(k.Name+": next due", func(tx storage.Tx) error { _, err := tx.NextDue(k, scope, 1); return err })
		}
		some := time.UnixMilli(1)
		queries := map[string]storage.Query{"all": {}}
		for _, c := range k.Columns {
			where := []storage.Equal{{Column: c.Name, Value: sample(k, c.Name)}}
			if c.Indexed {
				queries["by "+c.Name] = storage.Query{Where: where}
			}
			if c.Type != storage.Time {
				continue
			}
			between := []storage.Range{{Column: c.Name, From: some, Until: some}}
			queries["between "+c.Name] = storage.Query{Range: between}
			for _, by := range k.Columns {
				if by.Indexed {
					queries["by "+by.Name+" between "+c.Name] = storage.Query{
						Where: []storage.Equal{{Column: by.Name, Value: sample(k, by.Name)}}, Range: between,
					}
				}
			}
		}
		for name, q := range queries {
			for cursor, of := range map[string][2]string{"": {}, "after": {"x"}, "before": {"", "x"}} {
				for _, bare := range []bool{false, true} {
					q.After, q.Before, q.Bare, q.Limit, q.Scope = of[0], of[1], bare, 1, scope
					asked(fmt.Sprint(k.Name, ": list ", name, " ", cursor, " ", bare), func(tx storage.Tx) error {
						_, err := tx.List(k, q)
						return err
					})
				}
			}
		}
	}
	expect.True(t, len(statements) >= 500, "only %d statements", len(statements))
	sorts := 0
	used := map[string]string{ // of some statements
		": find ": ".key.", ": backlog": "COVERING INDEX", ": next due": "COVERING INDEX",
		": claim 0": ".due.mode (live=? AND ", ": claim by a clock": ".due.scope (live=? AND merchant=? AND ",
		": claim by clocks": ".due.scope (live=? AND merchant=?", ": list by status after": ".by.status (merchant=? AND live=? AND status=? AND id<?)",
		"entries 0": "PRIMARY KEY (account=? AND number<?)", "posting 0": "sqlite_autoindex_ledger_entries_2",
	}
	for what, text := range statements {
		steps := explain(t, s.writer.conn, text)
		for part, index := range used {
			if plan := strings.Join(steps, "\n\t"); strings.Contains(what, part) && !strings.Contains(plan, index) {
				t.Errorf("%s\n\t%s\nis planned without %s\n\t%s", what, text, index, plan)
			}
		}
		for _, step := range steps {
			switch {
			case step == "USE TEMP B-TREE FOR LAST TERM OF ORDER BY" && strings.HasPrefix(what, "posting"):
				// The accounts of one posting: what is sorted does not grow with the table.
				sorts++
				continue
			case step == "SCAN p" && strings.HasPrefix(what, "posting"), step == "SCAN found": // by the subquery
				continue
			}
			if isFullScan(step) {
				t.Errorf("%s\n\t%s\n\t%s", what, text, strings.Join(steps, "\n\t"))
				break
			}
		}
	}
	expect.True(t, sorts >= 2, "%d statements sort, where some did: is a plan told differently?", sorts)
}

// A service starts without reading a whole table. That covers the statements of Define, New and
// Start, and those of the first polls.
func TestStartReadsNoTableWhole(t *testing.T) {
	path := filepath.Join(effort.TempDir(t), "start.db")
	config := payments.Config{Logger: slog.New(slog.DiscardHandler)}
	s := openAt(t, path, Config{})
	svc := must.Get(payments.New(t.Context(), s, config))(t)
	must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, accounts.CreateMerchantParams{Name: "M", Phone: "0301000000"}))(t)
	must.Do(t, s.Close())

	s = openAt(t, path, Config{})
	svc = must.Get(payments.New(t.Context(), s, config))(t)
	svc.Start(t.Context())
	must.Do(t, svc.Drain(t.Context()))
	must.Get(svc.Accounts.ListMerchants(t.Context(), api.Caller{}, api.Page{}))(t)
	must.Do(t, svc.Stop(t.Context()))
	seen := map[string]bool{}
	for _, c := range append(s.readers.idle, s.writer.conn, s.checkpointer.conn) {
		for text := range c.statements {
			seen[text] = true
		}
	}
	explained := 0
	for text := range seen {
		verb, _, _ := strings.Cut(text, " ")
		switch verb {
		case "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "PRAGMA":
			continue
		}
		explained++
		for _, step := range explain(t, s.writer.conn, text) {
			expect.True(t, !isFullScan(step) || strings.Contains(text, "FROM storage_kinds") || strings.Contains(text, "FROM sqlite_schema"), "%s\n\t%s", text, step)
		}
	}
	expect.True(t, explained >= 10, "only %d statements", explained)
}
