// Package benchbase measures the limit that benchmarks compare with: how long a database
// takes to write the rows of one call in a loop without reads, JSON, checks and rollback.
// A [Call] is one commit on SQLite. A [Life] is several commits, on SQLite or PostgreSQL.
// The package is for tests alone.
package benchbase

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver of the store that is compared with
)

// Call describes the rows of one call. The database already holds the rows of at least
// one such call. The loop writes copies of them with new ids, to the same tables and
// indexes.
type Call struct {
	// Path is the database file.
	Path string
	// Insert names the tables that get a row, one element for each row.
	Insert []string
	// Vary gives a column of a table, such as "payments.qr_code", each value in turn. With no
	// values the column gets the row's id, for columns that must be unique.
	Vary map[string][]string
	// Touch is a table of which each call rewrites the record with one of the IDs, Times
	// times or once. The values of the record stay the same.
	Touch string
	IDs   []string
	Times int
	// Merchant owns the records of Touch; the merchant whose money moves when empty.
	Merchant string
	// Moves says that each call moves money between the merchant and a wallet: with Into
	// from the wallet to the merchant, else from the merchant to the wallet.
	Moves bool
	Into  bool
	// From is the number of the first call, if a loop has run on the file before.
	From int
}

// Run writes n calls, group of them a commit, and returns the nanoseconds that
// each took.
func (c Call) Run(b *testing.B, group, n int) float64 {
	b.Helper()
	w := open(b, c.Path)
	defer w.close()
	var rows []*row
	for _, table := range c.Insert {
		r := w.pattern(table)
		for name, values := range c.Vary {
			if of, column, _ := strings.Cut(name, "."); of == table {
				r.varies, r.turn = r.column(column), values
				r.own = values == nil
			}
		}
		rows = append(rows, r)
	}
	var posting *row
	var merchant *ledgerAccount
	var wallets []*ledgerAccount
	if c.Moves {
		posting = w.pattern("ledger_postings")
		merchant, wallets = w.accounts()
	}
	owner := c.Merchant
	if owner == "" && merchant != nil {
		owner = merchant.owner
	}
	var touch *sql.Stmt
	if c.Touch != "" {
		touch = w.prepare("UPDATE " + c.Touch + " SET version = version + 1, data = data WHERE merchant = ? AND live = 0 AND id = ?")
	}
	account := w.prepare("UPDATE ledger_accounts SET balance = ?, entries = ? WHERE id = ?")
	entry := w.prepare("INSERT INTO ledger_entries (account, number, posting, amount, balance) VALUES (?, ?, ?, ?, ?)")
	begin, commit := w.prepare("BEGIN IMMEDIATE"), w.prepare("COMMIT")
	from, to := int64(-1), int64(1)
	if c.Into {
		from, to = to, from
	}

	move := func(i int) {
		booked := posting.insert(i)
		for side, a := range []*ledgerAccount{merchant, wallets[i%len(wallets)]} {
			amount := []int64{from, to}[side]
			a.entries++
			a.balance += amount
			w.run(account, a.balance, a.entries, a.id)
			w.run(entry, a.id, a.entries, booked, amount, a.balance)
		}
	}

	start := time.Now()
	for i := range n {
		if i%group == 0 {
			w.run(begin)
		}
		for _, r := range rows {
			r.insert(c.From + i)
		}
		for range cmp.Or(c.Times, 1) {
			if touch != nil {
				w.run(touch, owner, c.IDs[i%len(c.IDs)])
			}
		}
		if c.Moves {
			move(c.From + i)
		}
		if i%group == group-1 || i == n-1 {
			w.run(commit)
		}
	}
	return float64(time.Since(start)) / float64(n)
}

// writer is the loop's connection.
type writer struct {
	b    testing.TB
	db   *sql.DB
	conn *sql.Conn
	rows int
}

func open(b testing.TB, path string) *writer {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=2000&_txlock=immediate&_pragma=temp_store(MEMORY)")
	if err != nil {
		b.Fatal(err)
	}
	conn, err := db.Conn(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	return &writer{b: b, db: db, conn: conn}
}

func (w *writer) close() {
	if err := w.conn.Close(); err != nil {
		w.b.Error(err)
	}
	if err := w.db.Close(); err != nil {
		w.b.Error(err)
	}
}

func (w *writer) prepare(query string) *sql.Stmt {
	s, err := w.conn.PrepareContext(context.Background(), query)
	if err != nil {
		w.b.Fatal(err)
	}
	return s
}

func (w *writer) run(s *sql.Stmt, args ...any) {
	if _, err := s.ExecContext(context.Background(), args...); err != nil {
		w.b.Fatal(err)
	}
}

func (w *writer) query(query string) *sql.Rows {
	rows, err := w.conn.QueryContext(context.Background(), query)
	if err != nil {
		w.b.Fatal(err)
	}
	return rows
}

func (w *writer) scan(rows *sql.Rows, into ...any) {
	if err := rows.Scan(into...); err != nil {
		w.b.Fatal(err)
	}
}

type ledgerAccount struct {
	name, owner          string
	id, balance, entries int64
}

// accounts reads the merchant's account and the wallets that money moves with.
func (w *writer) accounts() (merchant *ledgerAccount, wallets []*ledgerAccount) {
	rows := w.query("SELECT id, balance, entries, name FROM ledger_accounts")
	defer rows.Close()
	for rows.Next() {
		var a ledgerAccount
		var name string
		w.scan(rows, &a.id, &a.balance, &a.entries, &name)
		switch parts := strings.Split(name, "/"); {
		case strings.Contains(name, "/wallet/"):
			wallets = append(wallets, &a)
		case len(parts) == 4 && parts[3] == "available":
			a.owner = parts[2]
			merchant = &a
		}
	}
	if err := rows.Err(); err != nil || merchant == nil || len(wallets) == 0 {
		w.b.Fatal("the ledger is no pattern: ", err)
	}
	return merchant, wallets
}

// row is inserted again and again with another id.
type row struct {
	w       *writer
	stmt    *sql.Stmt
	columns []string
	values  []any
	id      int
	prefix  string
	varies  int
	turn    []string
	own     bool // varies with the id
}

// pattern takes the newest row of a table.
func (w *writer) pattern(table string) *row {
	rows := w.query("SELECT * FROM " + table + " ORDER BY id DESC LIMIT 1")
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		w.b.Fatal(err)
	}
	r := &row{w: w, columns: columns, values: make([]any, len(columns))}
	into := make([]any, len(columns))
	for i := range into {
		into[i] = &r.values[i]
	}
	if !rows.Next() {
		w.b.Fatal("no row in ", table)
	}
	w.scan(rows, into...)
	r.id = r.column("id")
	if err := rows.Close(); err != nil {
		w.b.Fatal(err)
	}
	marks := strings.TrimSuffix(strings.Repeat("?,", len(columns)), ",")
	r.stmt = w.prepare("INSERT INTO " + table + " VALUES (" + marks + ")")
	w.rows++
	r.prefix = fmt.Sprintf("z%02d_", w.rows)
	return r
}

func (r *row) column(name string) int {
	i := slices.Index(r.columns, name)
	if i < 0 {
		r.w.b.Fatal("no column ", name)
	}
	return i
}

func (r *row) insert(n int) (id string) {
	id = fmt.Sprintf("%s%020d", r.prefix, n)
	r.values[r.id] = id
	switch {
	case r.own:
		r.values[r.varies] = id
	case r.turn != nil:
		r.values[r.varies] = r.turn[n%len(r.turn)]
	}
	r.w.run(r.stmt, r.values...)
	return id
}
