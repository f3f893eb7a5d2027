package lifebench

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/seed-7082ffec/payments/internal/must"
)

// thinSchema makes the tables of a thin server, in the words that both databases know.
const thinSchema = `
	CREATE TABLE thin_keys (merchant TEXT NOT NULL, id TEXT NOT NULL, answer BLOB NOT NULL, PRIMARY KEY (merchant, id));
	CREATE TABLE thin_objects (merchant TEXT NOT NULL, id TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (merchant, id));
	CREATE TABLE thin_events (merchant TEXT NOT NULL, id TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (merchant, id));
	CREATE TABLE thin_postings (id TEXT PRIMARY KEY, ref TEXT NOT NULL);
	CREATE TABLE thin_accounts (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL CHECK (balance >= 0), entries BIGINT NOT NULL);
	CREATE TABLE thin_entries (account BIGINT NOT NULL, number BIGINT NOT NULL, posting TEXT NOT NULL, amount BIGINT NOT NULL, balance BIGINT NOT NULL,
		PRIMARY KEY (account, number))`

// thinSQLite runs prepared statements on one connection.
type thinSQLite struct {
	ledger                                      thinLedger
	conn                                        *sql.Conn
	begin, end, undo                            *sql.Stmt
	key, object, event, posting, account, entry *sql.Stmt
}

func openThinSQLite(b testing.TB, accounts int) thinTables {
	b.Helper()
	path := filepath.Join(b.TempDir(), "thin.db")
	db := must.Get(sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=temp_store(MEMORY)"))(b)
	conn := must.Get(db.Conn(context.Background()))(b)
	b.Cleanup(func() {
		must.Do(b, conn.Close())
		must.Do(b, db.Close())
	})
	must.Get(conn.ExecContext(context.Background(), thinSchema))(b)
	prepare := func(query string) *sql.Stmt { return must.Get(conn.PrepareContext(context.Background(), query))(b) }
	t := &thinSQLite{
		ledger: newThinLedger(accounts), conn: conn,
		begin: prepare("BEGIN IMMEDIATE"), end: prepare("COMMIT"), undo: prepare("ROLLBACK"),
		key:     prepare("INSERT INTO thin_keys VALUES (?, ?, ?)"),
		object:  prepare("INSERT INTO thin_objects VALUES (?, ?, ?)"),
		event:   prepare("INSERT INTO thin_events VALUES (?, ?, ?)"),
		posting: prepare("INSERT INTO thin_postings VALUES (?, ?)"),
		account: prepare("UPDATE thin_accounts SET balance = ?, entries = ? WHERE id = ?"),
		entry:   prepare("INSERT INTO thin_entries VALUES (?, ?, ?, ?, ?)"),
	}
	insert := prepare("INSERT INTO thin_accounts VALUES (?, ?, 0)")
	for i, a := range t.ledger {
		must.Get(insert.Exec(i, a.balance))(b)
	}
	return t
}

func (t *thinSQLite) write(calls []*thinCall) (err error) {
	do := func(s *sql.Stmt, args ...any) {
		if err == nil {
			_, err = s.ExecContext(context.Background(), args...)
		}
	}
	do(t.begin)
	for _, c := range calls {
		do(t.key, c.merchant, c.idempotencyKey, c.object)
	}
	if failed, ok := errors.AsType[*sqlite.Error](err); ok && failed.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY {
		_, err = t.undo.ExecContext(context.Background())
		return errors.Join(errRepeated, err)
	}
	for _, c := range calls {
		do(t.object, c.merchant, c.objectID, c.object)
		do(t.event, c.merchant, c.eventID, c.event)
		do(t.posting, c.postID, c.objectID)
		number, balance := t.ledger.move(0, -c.amount)
		do(t.entry, 0, number, c.postID, -c.amount, balance)
		number, balance = t.ledger.move(c.to, c.amount)
		do(t.entry, c.to, number, c.postID, c.amount, balance)
	}
	t.ledger.takeChanged(func(account int, a thinAccount) { do(t.account, a.balance, a.entries, account) })
	do(t.end)
	return err
}

func (t *thinSQLite) count(b testing.TB, query string) (n int64) {
	b.Helper()
	must.Do(b, t.conn.QueryRowContext(b.Context(), query).Scan(&n))
	return n
}
