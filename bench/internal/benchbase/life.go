package benchbase

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Life describes the rows of a call and of the work that follows it, commit by commit.
// The database already holds the rows of at least one such life, which has ended. The loop
// writes copies of them with new ids.
type Life struct {
	Commits []Commit
	// From is the number of the first life, if a loop has run on the database before.
	From int
}

// Commit describes what one commit of a life writes.
type Commit struct {
	// Insert names the tables that get a row, one element for each row.
	Insert []string
	// Rewrite names the tables of which the row that an earlier commit inserted is rewritten.
	Rewrite []string
	// Set gives values to columns of these rows, such as "disbursements.due". All other columns have
	// the values of the table's newest row.
	Set map[string]any
	// Moves are the entries of a posting.
	Moves []Move
}

// Move is one entry of a posting.
type Move struct {
	// Account is the end of the account's name, such as "/reserved".
	Account string
	Amount  int64
}

// OwnID as a value of [Commit.Set] is the id of the row, for columns that must be unique.
var OwnID any = ownID{}

type ownID struct{}

// SQLite writes n lives to the database file at path. It writes group of them in each commit:
// their first commits together, then their second commits together. It returns the nanoseconds
// that each life took.
func (l Life) SQLite(b testing.TB, path string, group, n int) float64 {
	b.Helper()
	return l.run(b, newSQLiteLife(b, path), group, n)
}

// Postgres does the same in a schema of a PostgreSQL database. It sends each commit as one
// batch, with one statement for each table.
func (l Life) Postgres(b testing.TB, pool *pgxpool.Pool, schema string, group, n int) float64 {
	b.Helper()
	return l.run(b, newPostgresLife(b, pool, schema), group, n)
}

// lifeWriter writes the rows of lives to a database. It may keep them until commit.
type lifeWriter interface {
	// newest returns the newest row of a table.
	newest(table string) (columns []string, values []any)
	accounts() []*ledgerAccount
	// prepare is called once for each row.
	prepare(r *lifeRow)
	begin()
	insert(r *lifeRow)
	rewrite(r *lifeRow)
	// entry writes an entry; the account already has its new balance and number of entries.
	entry(a *ledgerAccount, posting string, amount int64)
	// commit also writes the accounts that have changed.
	commit(changed []*ledgerAccount)
	close()
}

// lifeRow is written again and again under another id.
type lifeRow struct {
	table   string
	columns []string
	values  []any
	id      int
	own     []int // columns that have the id, too
	// slot tells the rows of one life apart.
	slot     int
	rewrites bool
	sql      any // the writer's own
}

func (r *lifeRow) setID(life int) string {
	id := fmt.Sprintf("z%018d_%02d", life, r.slot)
	r.values[r.id] = id
	for _, i := range r.own {
		r.values[i] = id
	}
	return id
}

// lifeCommit is a Commit, ready to be written.
type lifeCommit struct {
	rows     []*lifeRow
	posting  *lifeRow
	accounts []*ledgerAccount
	amounts  []int64
	changed  []*ledgerAccount // the accounts, each once
}

func (l Life) run(b testing.TB, w lifeWriter, group, n int) float64 {
	b.Helper()
	defer w.close()
	var commits []*lifeCommit
	accounts := w.accounts()
	slots := 0
	inserted := map[string]int{} // by table, the slot of its first row
	row := func(table string, set map[string]any) *lifeRow {
		r := &lifeRow{table: table, slot: slots}
		slots++
		r.columns, r.values = w.newest(table)
		if r.id = slices.Index(r.columns, "id"); r.id < 0 {
			b.Fatal("no id in ", table)
		}
		for name, value := range set {
			of, column, _ := strings.Cut(name, ".")
			if of != table {
				continue
			}
			switch i := slices.Index(r.columns, column); {
			case i < 0:
				b.Fatal("no column ", name)
			case value == OwnID:
				r.own = append(r.own, i)
			default:
				r.values[i] = value
			}
		}
		return r
	}
	for _, c := range l.Commits {
		ready := &lifeCommit{}
		for _, table := range c.Insert {
			r := row(table, c.Set)
			if _, ok := inserted[table]; !ok {
				inserted[table] = r.slot
			}
			ready.rows = append(ready.rows, r)
		}
		for _, table := range c.Rewrite {
			r := row(table, c.Set)
			slot, ok := inserted[table]
			if !ok {
				b.Fatal("no earlier commit inserts into ", table)
			}
			r.slot, r.rewrites = slot, true
			ready.rows = append(ready.rows, r)
		}
		if len(c.Moves) > 0 {
			ready.posting = row("ledger_postings", nil)
		}
		for _, m := range c.Moves {
			i := slices.IndexFunc(accounts, func(a *ledgerAccount) bool { return strings.HasSuffix(a.name, m.Account) })
			if i < 0 {
				b.Fatal("no account ", m.Account)
			}
			ready.accounts, ready.amounts = append(ready.accounts, accounts[i]), append(ready.amounts, m.Amount)
			if !slices.Contains(ready.changed, accounts[i]) {
				ready.changed = append(ready.changed, accounts[i])
			}
		}
		commits = append(commits, ready)
	}
	for _, c := range commits {
		for _, r := range c.rows {
			w.prepare(r)
		}
		if c.posting != nil {
			w.prepare(c.posting)
		}
	}

	start := time.Now()
	for first := 0; first < n; first += group {
		for _, c := range commits {
			w.begin()
			for i := first; i < min(first+group, n); i++ {
				c.write(w, l.From+i)
			}
			w.commit(c.changed)
		}
	}
	return float64(time.Since(start)) / float64(n)
}

func (c *lifeCommit) write(w lifeWriter, life int) {
	for _, r := range c.rows {
		r.setID(life)
		if r.rewrites {
			w.rewrite(r)
		} else {
			w.insert(r)
		}
	}
	if c.posting == nil {
		return
	}
	booked := c.posting.setID(life)
	w.insert(c.posting)
	for i, a := range c.accounts {
		a.entries++
		a.balance += c.amounts[i]
		w.entry(a, booked, c.amounts[i])
	}
}
