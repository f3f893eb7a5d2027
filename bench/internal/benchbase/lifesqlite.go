package benchbase

import (
	"database/sql"
	"strings"
	"testing"
)

// sqliteLife writes each row at once.
type sqliteLife struct {
	*writer
	beginSQL, commitSQL, accountSQL, entrySQL *sql.Stmt
}

func newSQLiteLife(b testing.TB, path string) *sqliteLife {
	w := open(b, path)
	return &sqliteLife{
		writer: w, beginSQL: w.prepare("BEGIN IMMEDIATE"), commitSQL: w.prepare("COMMIT"),
		accountSQL: w.prepare("UPDATE ledger_accounts SET balance = ?, entries = ? WHERE id = ?"),
		entrySQL:   w.prepare("INSERT INTO ledger_entries (account, number, posting, amount, balance) VALUES (?, ?, ?, ?, ?)"),
	}
}

func (l *sqliteLife) newest(table string) (columns []string, values []any) {
	r := l.pattern(table)
	return r.columns, r.values
}

func (l *sqliteLife) accounts() (all []*ledgerAccount) {
	rows := l.query("SELECT id, name, balance, entries FROM ledger_accounts")
	defer rows.Close()
	for rows.Next() {
		var a ledgerAccount
		l.scan(rows, &a.id, &a.name, &a.balance, &a.entries)
		all = append(all, &a)
	}
	if err := rows.Err(); err != nil {
		l.b.Fatal(err)
	}
	return all
}

// sqliteRow is the statement of a row. order says which column each parameter is.
type sqliteRow struct {
	stmt  *sql.Stmt
	order []int
	args  []any
}

func (l *sqliteLife) prepare(r *lifeRow) {
	s := &sqliteRow{}
	if r.rewrites {
		var sets, where []string
		var key []int
		for i, name := range r.columns {
			switch name {
			case "merchant", "live", "id":
				where, key = append(where, `"`+name+`" = ?`), append(key, i)
			default:
				sets, s.order = append(sets, `"`+name+`" = ?`), append(s.order, i)
			}
		}
		s.order = append(s.order, key...)
		s.stmt = l.writer.prepare("UPDATE " + r.table + " SET " + strings.Join(sets, ", ") + " WHERE " + strings.Join(where, " AND "))
	} else {
		for i := range r.columns {
			s.order = append(s.order, i)
		}
		marks := strings.TrimSuffix(strings.Repeat("?,", len(r.columns)), ",")
		s.stmt = l.writer.prepare("INSERT INTO " + r.table + " VALUES (" + marks + ")")
	}
	s.args = make([]any, len(s.order))
	r.sql = s
}

func (l *sqliteLife) begin() { l.run(l.beginSQL) }

func (l *sqliteLife) insert(r *lifeRow) {
	s := r.sql.(*sqliteRow)
	for i, column := range s.order {
		s.args[i] = r.values[column]
	}
	l.run(s.stmt, s.args...)
}

func (l *sqliteLife) rewrite(r *lifeRow) { l.insert(r) }

func (l *sqliteLife) entry(a *ledgerAccount, posting string, amount int64) {
	l.run(l.entrySQL, a.id, a.entries, posting, amount, a.balance)
}

func (l *sqliteLife) commit(changed []*ledgerAccount) {
	for _, a := range changed {
		l.run(l.accountSQL, a.balance, a.entries, a.id)
	}
	l.run(l.commitSQL)
}
