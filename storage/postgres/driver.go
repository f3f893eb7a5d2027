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
		Name:        "postgres",
		Schema:      sqlstore.Quote(schema) + ".",
		Parameter:   func(n int) string { return "$" + strconv.Itoa(n) },
		Limit:       func(parameter string) string { return parameter },
		OrderedJoin: "JOIN",
		Greatest:    "greatest",
		Clock:       "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
		ValidText:   isValidText,
		CursorText:  cursorText,
		Remote:      true,
	}
}

// statements are the statements that do not depend on kinds.
type statements struct {
	lock                                                              string
	newestCommit, commitsSince, validate, insertCommit, deleteCommits string
	findCommit, touchCommit, insertDead                               string
	fetchAccounts, fetchSequences                                     string
}

func newStatements(schema string) statements {
	s := sqlstore.Quote(schema) + "."
	commits := s + "storage_commits"
	commit := "SELECT number, token, hashes, coalesce((SELECT declaration FROM " + s + "storage_kinds WHERE name = '" + schemaVersionKey +
		"')::bigint, 0) FROM " + commits
	return statements{
		lock:         lockWriterSQL(schema),
		newestCommit: commit + " ORDER BY number DESC LIMIT 1",
		// The answer begins with the newest commit up to $1: with $1 itself, unless the database has lost it.
		commitsSince: commit + " WHERE number >= coalesce((SELECT max(number) FROM " + commits + " WHERE number <= $1), 0) ORDER BY number DESC LIMIT " + strconv.Itoa(maxLog),
		// It fails unless the database has commit $1, $2, and no later one has changed what the hashes $3 name. It
		// also fails if there are more later ones than commitsSince tells. INTERSECT hashes both sides; a join would
		// compare each with each.
		validate: expect(schema, "0") + " FROM (SELECT count(*) FROM (SELECT WHERE NOT EXISTS (SELECT FROM " + commits +
			" WHERE number = $1 AND token = $2) UNION ALL SELECT FROM " + commits + " WHERE number > $1 AND (hashes IS NULL OR $3::bigint[] IS NULL)" +
			" UNION ALL SELECT FROM (SELECT FROM " + commits + " WHERE number > $1 OFFSET " + strconv.Itoa(maxLog-1) + " LIMIT 1) AS more" +
			" UNION ALL SELECT FROM (SELECT unnest(hashes) FROM " + commits + " WHERE number > $1 INTERSECT SELECT unnest($3::bigint[])) AS changed) AS stale) AS met(n)",
		insertCommit: "INSERT INTO " + commits + " (number, token, hashes) SELECT coalesce(max(number), 0) + 1, $1, $2::bigint[] FROM " + commits +
			" RETURNING number",
		deleteCommits: "DELETE FROM " + commits + " WHERE number < (SELECT max(number) FROM " + commits + ") - 1000 AND at < now() - interval '3 minutes'",
		findCommit:    "SELECT number, dead FROM " + commits + " WHERE token = $1",
		touchCommit:   "UPDATE " + commits + " SET token = token WHERE token = $1",
		insertDead:    "INSERT INTO " + commits + " (number, token, hashes, dead) SELECT coalesce(max(number), 0) + 1, $1, '{}', true FROM " + commits,

		fetchAccounts:  "SELECT name, guarded, balance, entries FROM " + s + "ledger_accounts WHERE name = ANY ($1::text[])",
		fetchSequences: "SELECT name, value FROM " + s + "storage_sequences WHERE name = ANY ($1::text[])",
	}
}

const (
	// roundTripTimeout bounds a round trip of the writer. All other updates wait for it, so a
	// dead connection must not block it for ever.
	roundTripTimeout = 10 * time.Second
	// lockTimeout bounds the wait for the lock where the caller's context does not.
	lockTimeout = time.Minute
	// viewTimeout bounds a statement of a View, which reads one page by an index.
	viewTimeout = 20 * time.Second
	// resolveTimeout bounds the search for the outcome of a commit. With the round trip
	// before, it is shorter than the 30 seconds that httpapi gives a request.
	resolveTimeout = 15 * time.Second
)

// transactionSettings are the settings of every transaction of this package. Those of the
// planner keep prepared plans right whatever the table's statistics were: an index serves
// every statement here. idle_in_transaction_session_timeout frees the lock when a client
// dies in a transaction. A commit is on disk, whatever the host's default is.
const transactionSettings = `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
	set_config('enable_mergejoin', 'off', true), set_config('enable_bitmapscan', 'off', true),
	set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
	set_config('random_page_cost', '1', true),
	set_config('idle_in_transaction_session_timeout', '60000', true),
	CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END`

// writeSettings are the settings of a transaction that holds the lock.
// transaction_timeout bounds it whatever the client does. Before PostgreSQL 17 there is
// no such setting; there the connMonitor of a waiting process ends the transaction.
const writeSettings = transactionSettings + `,
	CASE WHEN current_setting('server_version_num')::integer >= 170000 THEN set_config('transaction_timeout', '120000', true) END`

// pipelineSettings are the settings of a transaction that is one round trip. They end a wait for the lock before
// the client gives the round trip up, which would leave the outcome unknown. A lock_timeout of the host's stays.
const pipelineSettings = writeSettings + `,
	CASE WHEN current_setting('lock_timeout') = '0' THEN set_config('lock_timeout', '8000', true) END`

// maxLog is how many commits one answer tells of at most, the one that the process knows included. A process that
// is further behind clears its cache.
const maxLog = 200

const (
	beginRead  = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	beginWrite = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
)

func lockWriterSQL(schema string) string {
	return "LOCK TABLE " + sqlstore.Quote(schema) + ".storage_writer IN EXCLUSIVE MODE"
}

// begin returns a session on a connection of the pool. The first statement takes the
// queued statements with it.
func (s *Store) begin(ctx context.Context, before ...string) (*session, error) {
	conn, err := s.monitor.acquire(ctx)
	if err != nil {
		return nil, err
	}
	return &session{store: s, conn: conn, db: conn.Conn(), timeout: roundTripTimeout, queued: before}, nil
}

// BeginRead implements [sqlstore.Driver].
func (d driver) BeginRead(ctx context.Context) (sqlstore.Session, error) {
	s, err := d.begin(ctx, beginRead, transactionSettings)
	if err != nil {
		return nil, err
	}
	s.timeout = viewTimeout
	s.reconnect = func() error {
		noteFailure(s.conn.Conn(), io.EOF)
		s.Close()
		conn, err := d.monitor.acquire(ctx)
		if err == nil {
			s.conn, s.db = conn, conn.Conn()
		}
		return err
	}
	return s, nil
}

// BeginWrite implements [sqlstore.Driver]. Under the lock each statement sees the newest
// commit, because the transaction is READ COMMITTED.
func (d driver) BeginWrite(ctx context.Context, since sqlstore.Commit, fetch *sqlstore.Fetch) (sqlstore.Session, sqlstore.CommitLog, error) {
	s, err := d.begin(ctx, beginWrite, writeSettings, d.sql.lock)
	if err != nil {
		return nil, sqlstore.CommitLog{}, err
	}
	began := false
	defer func() {
		if !began { // also when a tracer of the host panics
			s.Close()
		}
	}()
	s.timeout = lockTimeout
	var log sqlstore.CommitLog
	lost := false
	queries := append([]query{d.logQuery(since, &log, &lost)}, d.fetchQueries(fetch)...)
	if err := s.queryAll(ctx, queries); err != nil {
		if ended := ctx.Err(); ended != nil {
			return nil, log, ended
		}
		return nil, log, err
	}
	if since == log.Newest { // also when there is none
		log.Found = true
	}
	if lost || log.Newest.Number < since.Number {
		d.lostHistory.Add(1)
		d.config.Logger.ErrorContext(ctx, "postgres: the database has lost commits that this process knows of",
			"schema", d.config.Schema, "known", since.Number, "newest", log.Newest.Number)
	}
	s.timeout, began = roundTripTimeout, true
	return s, log, nil
}

// logQuery reads the commits after since. lost says that the database has earlier commits and not
// since, or another commit with its number. It has then lost commits: through a failover to a
// replica that lagged, or through a recovery.
func (d driver) logQuery(since sqlstore.Commit, log *sqlstore.CommitLog, lost *bool) query {
	text, args := d.sql.newestCommit, []any(nil)
	if since != (sqlstore.Commit{}) {
		text, args = d.sql.commitsSince, []any{since.Number}
	}
	return query{text, args, func(row sqlstore.Row) error {
		var c sqlstore.Commit
		var hashes sqlstore.Hashes
		if err := row.Scan(&c.Number, &c.Token, &hashes, &log.SchemaVersion); err != nil {
			return err
		}
		if c.Number > log.Newest.Number {
			log.Newest = c
		}
		switch {
		case c == since:
			log.Found = true
		case c.Number <= since.Number:
			*lost = true
		default:
			log.Changed = append(log.Changed, hashes)
		}
		return nil
	}}
}

func (d driver) fetchQueries(f *sqlstore.Fetch) []query {
	var all []query
	for table, keys := range f.Records {
		merchants, lives, ids := make([]string, len(keys)), make([]bool, len(keys)), make([]string, len(keys))
		for i, key := range keys {
			merchants[i], lives[i], ids[i] = key.Scope.Merchant, key.Scope.Live, key.ID
		}
		all = append(all, query{
			"SELECT " + table.Columns() + " FROM (" + unnest([]string{"text[]", "boolean[]", "text[]"}) +
				") AS v(merchant, live, id) JOIN " + table.Name + " USING (merchant, live, id)",
			[]any{merchants, lives, ids},
			func(row sqlstore.Row) error { return f.AddRecord(table, row) },
		})
	}
	if len(f.Accounts) > 0 {
		all = append(all, query{d.sql.fetchAccounts, []any{f.Accounts}, f.AddAccount})
	}
	if len(f.Sequences) > 0 {
		all = append(all, query{d.sql.fetchSequences, []any{f.Sequences}, f.AddSequence})
	}
	return all
}

// CommitIfValid implements [sqlstore.Driver]. The server holds the lock for its own work alone: the transaction
// is one round trip.
func (d driver) CommitIfValid(base sqlstore.Commit, token int64, reads sqlstore.Hashes, w *sqlstore.Writes) (log sqlstore.CommitLog, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), roundTripTimeout)
	s, err := d.begin(ctx, beginWrite, pipelineSettings, d.sql.lock)
	cancel()
	if err != nil {
		return log, fmt.Errorf("begin: %w", err)
	}
	defer s.Close()
	lost := false
	number, answered, err := s.commit(token, w, d.logQuery(base, &log, &lost), query{text: d.sql.validate, args: []any{base.Number, base.Token, []int64(reads)}})
	if err != nil {
		return log, err
	}
	log.Newest, log.Found = sqlstore.Commit{Number: number, Token: token}, log.Found && answered
	return log, nil
}

// Validate implements [sqlstore.Driver].
func (d driver) Validate(base sqlstore.Commit, reads sqlstore.Hashes) error {
	ctx, cancel := context.WithTimeout(context.Background(), roundTripTimeout)
	defer cancel()
	s, err := d.begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer s.Close()
	return s.Query(ctx, func(sqlstore.Row) error { return nil }, d.sql.validate, base.Number, base.Token, []int64(reads))
}

// resolve finds out whether a commit happened whose answer was lost, and returns its number. If it did not, the
// error is [sqlstore.Retryable]: it never will.
func (s *Store) resolve(token int64, cause error) (number int64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	for n := 1; ; n++ {
		number, err := s.committed(ctx, token)
		switch {
		case err == nil && number > 0:
			s.resolved.Add(1)
			return number, nil
		case err == nil:
			s.resolved.Add(1)
			return 0, sqlstore.Retryable{Cause: cause}
		}
		if sqlstore.Pause(ctx, min(n, 50)) != nil {
			return 0, sqlstore.Final{Cause: fmt.Errorf("%w: %w", ErrUnknown, errors.Join(cause, err))}
		}
	}
}

// committed returns the number of a commit, or 0 if it did not happen. It holds the lock. A missing commit may
// still be on its way to the server, so committed gives its token away: the commit then fails when it arrives. If
// it arrives when that row was removed, it fails because the commit that it is based on was removed before.
func (s *Store) committed(ctx context.Context, token int64) (number int64, err error) {
	asking, err := s.begin(ctx, beginWrite, writeSettings, s.sql.lock)
	if err != nil {
		return 0, err
	}
	defer asking.Close()
	found, dead := false, false
	err = asking.Query(ctx, func(row sqlstore.Row) error {
		found = true
		return row.Scan(&number, &dead)
	}, s.sql.findCommit, token)
	if err != nil || dead {
		return 0, err
	}
	return number, asking.send(ctx, func(b *pgx.Batch) {
		if found {
			// A commit that was cancelled while it waited for a synchronous standby is
			// visible here, and the standby may lack it. This commit waits for both.
			b.Queue(s.sql.touchCommit, token)
		} else {
			b.Queue(s.sql.insertDead, token)
		}
		b.Queue("COMMIT")
	})
}

// errorCode returns PostgreSQL's code of an error with which the server rejected a
// statement and failed the transaction, or "".
func errorCode(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && (e.SeverityUnlocalized == "ERROR" || e.SeverityUnlocalized == "" && e.Severity == "ERROR") {
		return e.Code
	}
	return ""
}

func isUnique(err error) bool { return errorCode(err) == "23505" }

// isTransient reports an error that other transactions caused, not the statement.
func isTransient(err error) bool {
	switch errorCode(err) {
	// Serialization failure, deadlock, lock_timeout or no lock available, and
	// statement_timeout or an operator's pg_cancel_backend.
	case "40001", "40P01", "55P03", "57014":
		return true
	}
	return false
}

// Classify implements [sqlstore.Driver].
func (driver) Classify(err error) (class sqlstore.ErrorClass, table string) {
	switch {
	case errorCode(err) == "", isReadOnly(err): // the connection is unusable afterwards
		return sqlstore.ConnectionLost, ""
	case isUnique(err):
		e, _ := errors.AsType[*pgconn.PgError](err)
		return sqlstore.UniqueViolation, e.TableName
	case isTransient(err):
		return sqlstore.Transient, ""
	}
	return sqlstore.Rejected, ""
}

// checkIsolation refuses a transaction that would not see what was committed while it
// waited for the lock.
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
