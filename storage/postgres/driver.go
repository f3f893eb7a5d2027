package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

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
	lock                                                                                        string
	newestCommit, commitsSince, expectCommit, insertCommit, deleteCommits                       string
	findCommit, touchCommit                                                                     string
	insertAccounts, moveAccounts, insertPostings, insertEntries, insertSequences, moveSequences string
}

func newStatements(schema string) statements {
	s := sqlstore.Quote(schema) + "."
	commits := s + "storage_commits"
	commit := "SELECT number, token, changed, coalesce((SELECT declaration FROM " + s + "storage_kinds WHERE name = '" + generation +
		"')::bigint, 0) FROM " + commits
	return statements{
		lock:         lockWriter(schema),
		newestCommit: commit + " ORDER BY number DESC LIMIT 1",
		// The newest is among them, also where it is older than the one that is asked for.
		commitsSince: commit + " WHERE number >= LEAST($1, (SELECT max(number) FROM " + commits + ")) ORDER BY number DESC LIMIT 200",
		expectCommit: "SELECT " + s + "storage_expect((SELECT count(*) FROM (SELECT token FROM " + commits +
			" ORDER BY number DESC LIMIT 1) AS newest WHERE token = $1), 1)",
		insertCommit:  "INSERT INTO " + commits + " (number, token, changed) VALUES ($1, $2, $3)",
		deleteCommits: "DELETE FROM " + commits + " WHERE number < $1::bigint - 1000 AND at < now() - interval '3 minutes'",
		findCommit:    "SELECT token FROM " + commits + " WHERE number = $1",
		touchCommit:   "UPDATE " + commits + " SET token = token WHERE number = $1",

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
		insertSequences: `INSERT INTO ` + s + `storage_sequences (name, value)
			` + unnest([]string{"text[]", "bigint[]"}),
		moveSequences: expecting(schema, 4, `UPDATE `+s+`storage_sequences AS t SET value = v.value
			FROM (`+unnest([]string{"text[]", "bigint[]", "bigint[]"})+`) AS v(name, value, stored)
			WHERE t.name = v.name AND t.value = v.stored RETURNING 1`),
	}
}

const (
	// roundTrip bounds a round trip of the writer, for which every other update waits:
	// a connection that has died without a word must not stop the process.
	roundTrip = 10 * time.Second
	// lockLimit bounds the wait for other processes where the caller's context does not.
	lockLimit = time.Minute
	// viewLimit bounds a statement of a View: all of them are served by an index, and
	// read a page.
	viewLimit = 20 * time.Second
	// resolveWithin is how long a commit's answer is looked for. Together with the
	// round trip before, it is less than the 30 seconds that httpapi gives a request.
	resolveWithin = 15 * time.Second
)

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

// writeSettings are those of a transaction that holds the lock. transaction_timeout
// bounds it whatever the client does; where the server has none (before PostgreSQL 17),
// the watch of a process that waits for the lock does.
const writeSettings = settings + `,
	CASE WHEN current_setting('server_version_num')::integer >= 170000 THEN set_config('transaction_timeout', '120000', true) END`

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
	conn, err := s.watch.acquire(ctx)
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
	s.limit = viewLimit
	s.renew = func() error {
		noteFailure(s.conn.Conn(), io.EOF)
		s.Close()
		conn, err := d.watch.acquire(ctx)
		if err == nil {
			s.conn, s.db = conn, conn.Conn()
		}
		return err
	}
	return s, nil
}

// Lock implements [sqlstore.Driver].
func (d driver) Lock(ctx context.Context, since sqlstore.Commit) (sqlstore.Session, sqlstore.Log, error) {
	s, err := d.begin(ctx, beginWrite, writeSettings, d.sql.lock)
	if err != nil {
		return nil, sqlstore.Log{}, err
	}
	s.limit = lockLimit
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

// log reads what was committed since a commit. If that is not in the history any more,
// the database has gone back: to a replica that lagged, or by a recovery.
func (d driver) log(ctx context.Context, s *session, since sqlstore.Commit) (log sqlstore.Log, err error) {
	query, args := d.sql.newestCommit, []any(nil)
	if since != (sqlstore.Commit{}) {
		query, args = d.sql.commitsSince, []any{since.Number}
	}
	replaced := false
	err = s.Query(ctx, func(row sqlstore.Row) error {
		var c sqlstore.Commit
		var hashes []byte
		if err := row.Scan(&c.Number, &c.Token, &hashes, &log.Schema); err != nil {
			return err
		}
		if c.Number > log.Newest.Number {
			log.Newest = c
		}
		if c.Number == since.Number {
			log.Known, replaced = c == since, c != since
		} else {
			log.Changed = append(log.Changed, hashes)
		}
		return nil
	}, query, args...)
	if since == log.Newest { // also when there is none
		log.Known = true
	}
	if err == nil && (replaced || log.Newest.Number < since.Number) {
		d.fenced.Add(1)
		d.config.Logger.ErrorContext(ctx, "postgres: the database has gone back to before commits that this process knows of; what they wrote is lost",
			"schema", d.config.Schema, "known", since.Number, "newest", log.Newest.Number)
	}
	return log, err
}

// CommitOnto implements [sqlstore.Driver]. A lock that is not free is waited for by
// Lock, when the batch runs again: after others' commits it would have to anyway.
func (d driver) CommitOnto(base, next sqlstore.Commit, w *sqlstore.Writes) error {
	ctx, cancel := context.WithTimeout(context.Background(), roundTrip)
	s, err := d.begin(ctx, beginWrite, writeSettings, d.sql.lock+" NOWAIT")
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
	err = s.Query(ctx, func(row sqlstore.Row) error { return row.Scan(&newest.Number, &newest.Token, nil, nil) }, d.sql.newestCommit)
	return newest, err
}

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
	asking, err := s.begin(ctx, beginWrite, writeSettings, s.sql.lock)
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
	if err != nil || found && of != c.Token {
		return false, err
	}
	return found, asking.send(ctx, func(b *pgx.Batch) {
		if found {
			// A commit that was given up while it waited for a synchronous standby is
			// seen, and may not be there. A later one waits for all before it.
			b.Queue(s.sql.touchCommit, c.Number)
		} else {
			b.Queue(s.sql.insertCommit, c.Number, c.Token+1, []byte{})
		}
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

// isTransient reports a refusal that is no fault of the statement: the transactions of
// others came in between.
func isTransient(err error) bool {
	switch code(err) {
	// Serialization failure, deadlock, lock_timeout or no lock available, and
	// statement_timeout or an operator's pg_cancel_backend.
	case "40001", "40P01", "55P03", "57014":
		return true
	}
	return false
}

// Fault implements [sqlstore.Driver].
func (driver) Fault(err error) (fault sqlstore.Fault, table string) {
	switch {
	case code(err) == "", isReadOnly(err): // after which the connection is of no use
		return sqlstore.Lost, ""
	case isUnique(err):
		e, _ := errors.AsType[*pgconn.PgError](err)
		return sqlstore.Taken, e.TableName
	case isTransient(err):
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
