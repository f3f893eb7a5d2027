package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// driver is PostgreSQL for [sqlstore.Store].
type driver struct{ *Store }

func (s *Store) driver() sqlstore.Driver { return driver{s} }

func dialect(schema string) *sqlstore.Dialect {
	return &sqlstore.Dialect{
		Name:      "postgres",
		Schema:    sqlstore.Quote(schema) + ".",
		Parameter: func(n int) string { return "$" + strconv.Itoa(n) },
		Limit:     func(parameter string) string { return parameter },
		Straight:  "JOIN",
		Storable:  isText,
		Cursor:    cursor,
		Logs:      true,
	}
}

// statements are those that do not depend on kinds.
type statements struct {
	lock                                                                      string
	newestCommit, commitsSince, expectCommit, insertCommit, deleteCommits     string
	findCommit                                                                string
	insertAccounts, moveAccounts, insertPostings, insertEntries, setSequences string
}

func newStatements(schema string) statements {
	s := sqlstore.Quote(schema) + "."
	commits := s + "storage_commits"
	return statements{
		lock:         lockWriter(schema),
		newestCommit: "SELECT number, token, changed FROM " + commits + " ORDER BY number DESC LIMIT 1",
		commitsSince: "SELECT number, token, changed FROM " + commits + " WHERE number >= $1 ORDER BY number DESC LIMIT 200",
		expectCommit: "SELECT " + s + "storage_expect((SELECT count(*) FROM (SELECT token FROM " + commits +
			" ORDER BY number DESC LIMIT 1) AS newest WHERE token = $1), 1)",
		insertCommit:  "INSERT INTO " + commits + " (number, token, changed) VALUES ($1, $2, $3)",
		deleteCommits: "DELETE FROM " + commits + " WHERE number < $1::bigint - 1000 AND at < now() - interval '3 minutes'",
		findCommit:    "SELECT token FROM " + commits + " WHERE number = $1",

		insertAccounts: `INSERT INTO ` + s + `ledger_accounts (name, guarded, balance, entries)
			` + unnest([]string{"text[]", "boolean[]", "bigint[]", "bigint[]"}),
		moveAccounts: expecting(schema, 5, `UPDATE `+s+`ledger_accounts AS t SET balance = v.balance, entries = v.entries
			FROM (`+unnest([]string{"text[]", "bigint[]", "bigint[]", "bigint[]"})+`) AS v(name, balance, entries, stored)
			WHERE t.name = v.name AND t.entries = v.stored RETURNING 1`),
		insertPostings: `INSERT INTO ` + s + `ledger_postings (id, type, ref, at)
			` + unnest([]string{"text[]", "text[]", "text[]", "bigint[]"}),
		insertEntries: `INSERT INTO ` + s + `ledger_entries (account, number, posting, amount, balance)
			SELECT a.id, v.number, v.posting, v.amount, v.balance
			FROM (` + unnest([]string{"text[]", "bigint[]", "text[]", "bigint[]", "bigint[]"}) + `) AS v(account, number, posting, amount, balance)
			JOIN ` + s + `ledger_accounts a ON a.name = v.account`,
		setSequences: `INSERT INTO ` + s + `storage_sequences (name, value)
			` + unnest([]string{"text[]", "bigint[]"}) + `
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
	}
}

// roundTrip bounds a round trip of the writer, for which every other update waits: a
// connection that has died without a word must not stop the process.
const roundTrip = 30 * time.Second

// settings are those of every transaction of this package. The planner's keep the
// plans of prepared statements right whatever was known of a table when they were
// made: every statement here has an index that serves it, however far apart the
// rows that it finds are stored. A client that died in a
// transaction must not keep the lock; and a commit is on disk, whatever the
// host's default is.
const settings = `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
	set_config('enable_mergejoin', 'off', true), set_config('enable_bitmapscan', 'off', true),
	set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
	set_config('random_page_cost', '1', true),
	set_config('idle_in_transaction_session_timeout', '60000', true),
	CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END`

const (
	beginRead  = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	beginWrite = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
)

func lockWriter(schema string) string {
	return "LOCK TABLE " + sqlstore.Quote(schema) + ".storage_writer IN EXCLUSIVE MODE"
}

// begin returns a session on a connection of the pool. before are the statements that
// go out with the first one.
func (s *Store) begin(ctx context.Context, before ...string) (*session, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return &session{store: s, conn: conn, db: conn.Conn(), limit: roundTrip, before: before}, nil
}

// Snapshot implements [sqlstore.Driver].
func (d driver) Snapshot(ctx context.Context) (sqlstore.Session, error) {
	s, err := d.begin(ctx, beginRead, settings)
	if err != nil {
		return nil, err
	}
	s.limit = 0 // the caller's context bounds it
	return s, nil
}

// Lock implements [sqlstore.Driver].
func (d driver) Lock(ctx context.Context, since sqlstore.Commit) (sqlstore.Session, sqlstore.Log, error) {
	s, err := d.begin(ctx, beginWrite, settings, d.sql.lock)
	if err != nil {
		return nil, sqlstore.Log{}, err
	}
	s.limit = 0 // which is not for the wait
	log, err := d.log(ctx, s, since)
	if err != nil {
		s.Close()
		if ended := ctx.Err(); ended != nil {
			return nil, log, ended
		}
		return nil, log, err
	}
	s.limit = roundTrip
	return s, log, nil
}

// log reads what was committed since a commit.
func (d driver) log(ctx context.Context, s *session, since sqlstore.Commit) (log sqlstore.Log, err error) {
	query, args := d.sql.newestCommit, []any(nil)
	if since != (sqlstore.Commit{}) {
		query, args = d.sql.commitsSince, []any{since.Number}
	}
	err = s.Query(ctx, func(row sqlstore.Row) error {
		var c sqlstore.Commit
		var hashes []byte
		if err := row.Scan(&c.Number, &c.Token, &hashes); err != nil {
			return err
		}
		if c.Number > log.Newest.Number {
			log.Newest = c
		}
		if c.Number == since.Number {
			log.Known = c == since
		} else {
			log.Changed = append(log.Changed, hashes)
		}
		return nil
	}, query, args...)
	if since == log.Newest { // also when there is none
		log.Known = true
	}
	return log, err
}

// CommitOnto implements [sqlstore.Driver]. A lock that is not free is waited for by
// Lock, when the batch runs again: after others' commits it would have to anyway.
func (d driver) CommitOnto(base, next sqlstore.Commit, w *sqlstore.Writes) error {
	ctx, cancel := context.WithTimeout(context.Background(), roundTrip)
	s, err := d.begin(ctx, beginWrite, settings, d.sql.lock+" NOWAIT")
	cancel()
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer s.Close()
	return s.commit(&base, next, w)
}

// Newest implements [sqlstore.Driver].
func (d driver) Newest() (newest sqlstore.Commit, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), roundTrip)
	defer cancel()
	s, err := d.begin(ctx)
	if err != nil {
		return newest, fmt.Errorf("begin: %w", err)
	}
	defer s.Close()
	err = s.Query(ctx, func(row sqlstore.Row) error { return row.Scan(&newest.Number, &newest.Token, nil) }, d.sql.newestCommit)
	return newest, err
}

// resolveWithin is how long a commit's answer is looked for.
const resolveWithin = time.Minute

// resolve finds out whether a commit happened whose answer was lost: nil if it
// did, [sqlstore.Dropped] if not, which is final.
func (s *Store) resolve(c sqlstore.Commit, cause error) error {
	ctx, cancel := context.WithTimeout(context.Background(), resolveWithin)
	defer cancel()
	for n := 1; ; n++ {
		happened, err := s.happened(ctx, c)
		switch {
		case err == nil && happened:
			s.resolved.Add(1)
			return nil
		case err == nil:
			s.resolved.Add(1)
			return sqlstore.Dropped{Cause: cause}
		}
		if sqlstore.Pause(ctx, min(n, 50)) != nil {
			return sqlstore.Final{Cause: fmt.Errorf("%w: %w", ErrUnknown, errors.Join(cause, err))}
		}
	}
}

// happened looks for a commit, under the lock. One that is not there may still be on
// its way to a server that has not read it yet, so its number is given away: then it
// fails whenever it arrives. If the answer to that is lost, too, whoever asks again
// finds one or the other.
func (s *Store) happened(ctx context.Context, c sqlstore.Commit) (bool, error) {
	asking, err := s.begin(ctx, beginWrite, settings, s.sql.lock)
	if err != nil {
		return false, err
	}
	defer asking.Close()
	var of int64
	found := false
	err = asking.Query(ctx, func(row sqlstore.Row) error {
		found = true
		return row.Scan(&of)
	}, s.sql.findCommit, c.Number)
	if found || err != nil {
		return of == c.Token, err
	}
	return false, asking.send(ctx, func(b *pgx.Batch) {
		b.Queue(s.sql.insertCommit, c.Number, c.Token+1, []byte{})
		b.Queue("COMMIT")
	})
}

// code returns PostgreSQL's code of an error by which the server has refused a
// statement, and undone the transaction, or "".
func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && (e.SeverityUnlocalized == "ERROR" || e.SeverityUnlocalized == "" && e.Severity == "ERROR") {
		return e.Code
	}
	return ""
}

func isUnique(err error) bool { return code(err) == "23505" }

// Fault implements [sqlstore.Driver].
func (driver) Fault(err error) (fault sqlstore.Fault, table string) {
	switch code(err) {
	case "": // trouble of the connection or the server, after which it is of no use
		return sqlstore.Lost, ""
	case "23505":
		e, _ := errors.AsType[*pgconn.PgError](err)
		return sqlstore.Taken, e.TableName
	case "40001", "40P01", "55P03": // serialization failure, deadlock, lock not available
		return sqlstore.Transient, ""
	}
	return sqlstore.Refused, ""
}

// checkIsolation refuses a transaction that would not see what was committed
// while it waited for the lock.
func checkIsolation(ctx context.Context, db querier) error {
	var level string
	if err := db.QueryRow(ctx, "SELECT current_setting('transaction_isolation')").Scan(&level); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	if level != "read committed" {
		return fmt.Errorf("%w: postgres: the transaction is %s; begin it as READ COMMITTED", storage.ErrInvalid, level)
	}
	return nil
}

// giveBack ends a connection's transaction, if there is one, and gives it back. The
// pool closes one whose transaction is still open.
func giveBack(conn *pgxpool.Conn) {
	if c := conn.Conn(); !c.IsClosed() && c.PgConn().TxStatus() != 'I' {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_, _ = c.Exec(ctx, "ROLLBACK") // the pool sees whether it worked
		cancel()
	}
	conn.Release()
}
