package sqlite

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	accounts "github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
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
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return steps
}

// slow reports a step that reads a table whole or sorts. What is scanned otherwise is
// what a subquery has found, or a table in the order of its key up to a limit.
func slow(step string) bool {
	return strings.HasPrefix(step, "USE TEMP B-TREE") || strings.HasPrefix(step, "SCAN ") &&
		!strings.HasPrefix(step, "SCAN (subquery") && !strings.HasPrefix(step, "SCAN CONSTANT ROW") &&
		!strings.HasSuffix(step, "-ROW VALUES CLAUSE")
}

// Every statement goes by an index, whatever the kind, and none sorts: so that its
// cost does not grow with the table, even without statistics of it, which nobody makes.
func TestPlans(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plans.db")
	s := openAt(t, path, Config{})
	if err := s.Define(t.Context(), payments.Kinds()...); err != nil {
		t.Fatal(err)
	}
	statements := map[string]string{ // by what it is
		"account": selectAccount, "accounts": selectAccounts, "entries": selectEntries,
		"posting": selectPosting, "postings": selectPostings, "posting exists": existsPosting,
		"update account": updateAccount, "insert account": insertAccount, "insert entries": insertEntries[1],
		"insert postings": insertPostings[1], "newest posting": newestPosting, "sequence": selectSequence, "set sequence": setSequence,
	}
	for k, b := range *s.tables.Load() {
		add := func(what, text string) {
			if text != "" {
				statements[k.Name+": "+what] = text
			}
		}
		add("get", b.get)
		add("exists", b.exists)
		add("insert", b.insert)
		add("insert many", b.inserts[2])
		add("newest", b.newest)
		add("rewrite", b.rewrite)
		add("remove", b.remove)
		add("claim", b.claim)
		add("claim of a scope", b.claimScoped)
		add("lease", b.lease)
		add("backlog", b.backlog)
		for name, text := range b.find {
			add("find "+name, text)
		}
		some := time.UnixMilli(1)
		queries := map[string]storage.Query{"all": {}}
		for _, c := range k.Columns {
			where := []storage.Equal{{Column: c.Name, Value: "x"}}
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
						Where: []storage.Equal{{Column: by.Name, Value: "x"}}, Range: between,
					}
				}
			}
		}
		for name, q := range queries {
			for cursor, of := range map[string][2]string{"": {}, "after": {"x"}, "before": {"", "x"}} {
				for _, bare := range []bool{false, true} {
					q.After, q.Before, q.Bare, q.Limit = of[0], of[1], bare, 1
					text, _ := b.lists.List(q, nil)
					add(fmt.Sprint("list ", name, " ", cursor, " ", bare), text)
				}
			}
		}
	}
	if len(statements) < 500 {
		t.Errorf("only %d statements", len(statements))
	}
	sorts := 0
	for what, text := range statements {
		steps := explain(t, s.writer.conn, text)
		for _, step := range steps {
			switch {
			case step == "USE TEMP B-TREE FOR ORDER BY" && (what == "posting" || strings.Contains(what, "_orders: list") && strings.Contains(what, "between")),
				step == "USE TEMP B-TREE FOR LAST TERM OF ORDER BY" && what == "postings":
				// The accounts of one posting, and the orders of one range of an indexed time,
				// which is a day's: what is sorted does not grow with the table.
				sorts++
				continue
			case step == "SCAN p" && what == "postings": // what the subquery has found
				continue
			}
			if slow(step) {
				t.Errorf("%s\n\t%s\n\t%s", what, text, strings.Join(steps, "\n\t"))
				break
			}
		}
	}
	if sorts < 3 {
		t.Errorf("%d statements sort, where some did: is a plan told differently?", sorts)
	}
}

// A service begins without reading a table whole: neither do the statements that
// Define, New and Start run, nor those of the work that is looked for first.
func TestPlansOfTheStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "start.db")
	config := payments.Config{Logger: slog.New(slog.DiscardHandler)}
	s := openAt(t, path, Config{})
	svc, err := payments.New(t.Context(), s, config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := svc.Accounts.CreateMerchant(t.Context(), accounts.MerchantParams{Name: "M", Phone: "0301000000"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = openAt(t, path, Config{})
	if svc, err = payments.New(t.Context(), s, config); err != nil {
		t.Fatal(err)
	}
	svc.Start(t.Context())
	if err := svc.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := svc.Accounts.Merchants(t.Context(), api.Page{}); err != nil {
		t.Fatal(err)
	}
	if err := svc.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range append(s.readers.idle, s.writer.conn, s.log.conn) {
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
			if slow(step) && !strings.Contains(text, "FROM storage_kinds") && !strings.Contains(text, "FROM sqlite_schema") {
				t.Errorf("%s\n\t%s", text, step)
			}
		}
	}
	if explained < 10 {
		t.Errorf("only %d statements", explained)
	}
}
