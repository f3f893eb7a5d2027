package benchbase

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgresLife keeps the rows of a commit as arrays, and sends them with it.
type postgresLife struct {
	b       testing.TB
	conn    *pgxpool.Conn
	schema  string
	types   map[string][]uint32 // of the columns, by table
	pending []*arrays           // in the order of their statements
	entries *arrays
	account *arrays
}

// plannerSettings make the server find each row by an index, as the store's own do.
var plannerSettings = []string{
	"SET enable_seqscan = off", "SET enable_hashjoin = off", "SET enable_mergejoin = off", "SET enable_bitmapscan = off",
	"SET plan_cache_mode = force_generic_plan", "SET jit = off",
}

func newPostgresLife(b testing.TB, pool *pgxpool.Pool, schema string) *postgresLife {
	b.Helper()
	conn, err := pool.Acquire(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range plannerSettings {
		if _, err := conn.Exec(context.Background(), s); err != nil {
			b.Fatal(err)
		}
	}
	l := &postgresLife{b: b, conn: conn, schema: schema, types: map[string][]uint32{}}
	l.entries = newArrays("INSERT INTO "+schema+".ledger_entries (account, number, posting, amount, balance) ",
		"", pgtype.Int8OID, pgtype.Int8OID, pgtype.TextOID, pgtype.Int8OID, pgtype.Int8OID)
	l.account = newArrays("UPDATE "+schema+".ledger_accounts AS t SET balance = v.balance, entries = v.entries FROM (",
		") AS v(id, balance, entries) WHERE t.id = v.id", pgtype.Int8OID, pgtype.Int8OID, pgtype.Int8OID)
	return l
}

func (l *postgresLife) newest(table string) (columns []string, values []any) {
	rows, err := l.conn.Query(context.Background(), "SELECT * FROM "+l.schema+"."+table+" ORDER BY id DESC LIMIT 1")
	if err != nil {
		l.b.Fatal(err)
	}
	defer rows.Close()
	if !rows.Next() {
		l.b.Fatal("no row in ", table, ": ", rows.Err())
	}
	var types []uint32
	for _, f := range rows.FieldDescriptions() {
		columns, types = append(columns, f.Name), append(types, f.DataTypeOID)
	}
	l.types[table] = types
	if values, err = rows.Values(); err != nil {
		l.b.Fatal(err)
	}
	return columns, values
}

func (l *postgresLife) accounts() (all []*ledgerAccount) {
	rows, err := l.conn.Query(context.Background(), "SELECT id, name, balance, entries FROM "+l.schema+".ledger_accounts")
	if err != nil {
		l.b.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var a ledgerAccount
		if err := rows.Scan(&a.id, &a.name, &a.balance, &a.entries); err != nil {
			l.b.Fatal(err)
		}
		all = append(all, &a)
	}
	if err := rows.Err(); err != nil {
		l.b.Fatal(err)
	}
	return all
}

// prepare makes the statement that writes all rows of the same place in their lives.
func (l *postgresLife) prepare(r *lifeRow) {
	names := make([]string, len(r.columns))
	for i, name := range r.columns {
		names[i] = pgx.Identifier{name}.Sanitize()
	}
	table := pgx.Identifier{l.schema, r.table}.Sanitize()
	before, after := "INSERT INTO "+table+" ("+strings.Join(names, ", ")+") ", ""
	if r.rewrites {
		var sets []string
		for _, name := range names {
			if !slices.Contains([]string{`"merchant"`, `"live"`, `"id"`}, name) {
				sets = append(sets, name+" = v."+name)
			}
		}
		before = "UPDATE " + table + " AS t SET " + strings.Join(sets, ", ") + " FROM ("
		after = ") AS v(" + strings.Join(names, ", ") + ") WHERE t.merchant = v.merchant AND t.live = v.live AND t.id = v.id"
	}
	r.sql = newArrays(before, after, l.types[r.table]...)
}

func (l *postgresLife) begin() {}

func (l *postgresLife) insert(r *lifeRow) {
	a := r.sql.(*arrays)
	if a.rows == 0 {
		l.pending = append(l.pending, a)
	}
	a.add(l.b, r.values...)
}

func (l *postgresLife) rewrite(r *lifeRow) { l.insert(r) }

func (l *postgresLife) entry(a *ledgerAccount, posting string, amount int64) {
	l.entries.add(l.b, a.id, a.entries, posting, amount, a.balance)
}

func (l *postgresLife) commit(changed []*ledgerAccount) {
	for _, a := range changed {
		l.account.add(l.b, a.id, a.balance, a.entries)
	}
	var q pgx.Batch
	q.Queue("BEGIN")
	for _, a := range append(l.pending, l.account, l.entries) {
		if a.rows > 0 {
			q.Queue(a.sql, a.args()...)
		}
	}
	q.Queue("COMMIT")
	if err := l.conn.SendBatch(context.Background(), &q).Close(); err != nil {
		l.b.Fatal(err)
	}
	for _, a := range append(l.pending, l.account, l.entries) {
		a.clear()
	}
	l.pending = l.pending[:0]
}

func (l *postgresLife) close() {
	_, err := l.conn.Exec(context.Background(), "RESET ALL")
	if err != nil {
		l.b.Error(err)
	}
	l.conn.Release()
}

// arrays are rows as one array for each column, and the statement that takes them.
type arrays struct {
	sql     string
	rows    int
	columns []column
}

// column is an array of one of the types that the store's tables have.
type column interface {
	add(value any) bool
	arg() any
	clear()
}

type columnOf[T any] []*T

func (c *columnOf[T]) add(value any) bool {
	if value == nil {
		*c = append(*c, nil)
		return true
	}
	v, ok := value.(T)
	*c = append(*c, &v)
	return ok
}

func (c *columnOf[T]) arg() any { return []*T(*c) }

func (c *columnOf[T]) clear() { *c = (*c)[:0] }

func newArrays(before, after string, types ...uint32) *arrays {
	a := &arrays{}
	var unnested []string
	for i, oid := range types {
		name := "text[]"
		switch oid {
		case pgtype.Int8OID:
			name = "bigint[]"
			a.columns = append(a.columns, &columnOf[int64]{})
		case pgtype.BoolOID:
			name = "boolean[]"
			a.columns = append(a.columns, &columnOf[bool]{})
		case pgtype.ByteaOID:
			name = "bytea[]"
			a.columns = append(a.columns, &columnOf[[]byte]{})
		default:
			a.columns = append(a.columns, &columnOf[string]{})
		}
		unnested = append(unnested, fmt.Sprintf("unnest($%d::%s)", i+1, name))
	}
	a.sql = before + "SELECT " + strings.Join(unnested, ", ") + after
	return a
}

func (a *arrays) add(b testing.TB, values ...any) {
	a.rows++
	for i, value := range values {
		if !a.columns[i].add(value) {
			b.Fatalf("%T is not of the column's type: %s", value, a.sql)
		}
	}
}

func (a *arrays) args() (args []any) {
	for _, c := range a.columns {
		args = append(args, c.arg())
	}
	return args
}

func (a *arrays) clear() {
	a.rows = 0
	for _, c := range a.columns {
		c.clear()
	}
}
