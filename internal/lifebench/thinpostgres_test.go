package lifebench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// thinPostgres sends each transaction as one batch over one connection.
type thinPostgres struct {
	ledger thinLedger
	conn   *pgx.Conn
}

func openThinPostgres(b testing.TB, accounts int) thinTables {
	b.Helper()
	ctx := context.Background()
	url, schema := pgtest.URL(b), pgtest.Schema(b)
	conn := must.Get(pgx.Connect(ctx, url))(b)
	b.Cleanup(func() { must.Do(b, conn.Close(ctx)) })
	t := &thinPostgres{ledger: newThinLedger(accounts), conn: conn}
	for _, statement := range append([]string{"CREATE SCHEMA " + schema, "SET search_path = " + schema},
		strings.Split(strings.ReplaceAll(thinSchema, "BLOB", "BYTEA"), ";")...) {
		must.Get(conn.Exec(ctx, statement))(b)
	}
	for i, a := range t.ledger {
		must.Get(conn.Exec(ctx, "INSERT INTO thin_accounts VALUES ($1, $2, 0)", i, a.balance))(b)
	}
	return t
}

const (
	thinKeysSQL     = "INSERT INTO thin_keys SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::bytea[])"
	thinObjectsSQL  = "INSERT INTO thin_objects SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::bytea[])"
	thinEventsSQL   = "INSERT INTO thin_events SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::bytea[])"
	thinPostingsSQL = "INSERT INTO thin_postings SELECT unnest($1::text[]), unnest($2::text[])"
	thinAccountsSQL = "UPDATE thin_accounts AS t SET balance = v.balance, entries = v.entries" +
		" FROM (SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::bigint[])) AS v(id, balance, entries) WHERE t.id = v.id"
	thinEntriesSQL = "INSERT INTO thin_entries SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::text[]), unnest($4::bigint[]), unnest($5::bigint[])"
)

// uniqueViolation is PostgreSQL's code for a key that exists.
const uniqueViolation = "23505"

func (t *thinPostgres) write(calls []*thinCall) error {
	before := slices.Clone(t.ledger)
	var merchants, keys, objectIDs, eventIDs, postIDs, entryPosts []string
	var objects, events [][]byte
	var accounts, numbers, amounts, balances, changed, newBalances, newEntries []int64
	for _, c := range calls {
		merchants, keys = append(merchants, c.merchant), append(keys, c.idempotencyKey)
		objectIDs, objects = append(objectIDs, c.objectID), append(objects, c.object)
		eventIDs, events = append(eventIDs, c.eventID), append(events, c.event)
		postIDs = append(postIDs, c.postID)
		for account, amount := range map[int]int64{0: -c.amount, c.to: c.amount} {
			number, balance := t.ledger.move(account, amount)
			accounts, numbers, entryPosts = append(accounts, int64(account)), append(numbers, number), append(entryPosts, c.postID)
			amounts, balances = append(amounts, amount), append(balances, balance)
		}
	}
	t.ledger.takeChanged(func(account int, a thinAccount) {
		changed, newBalances, newEntries = append(changed, int64(account)), append(newBalances, a.balance), append(newEntries, a.entries)
	})
	var q pgx.Batch
	q.Queue("BEGIN")
	q.Queue(thinKeysSQL, merchants, keys, objects)
	q.Queue(thinObjectsSQL, merchants, objectIDs, objects)
	q.Queue(thinEventsSQL, merchants, eventIDs, events)
	q.Queue(thinPostingsSQL, postIDs, objectIDs)
	q.Queue(thinAccountsSQL, changed, newBalances, newEntries)
	q.Queue(thinEntriesSQL, accounts, numbers, entryPosts, amounts, balances)
	q.Queue("COMMIT")
	err := t.conn.SendBatch(context.Background(), &q).Close()
	if err != nil {
		t.ledger = before
	}
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok && failed.Code == uniqueViolation {
		_, err = t.conn.Exec(context.Background(), "ROLLBACK")
		return errors.Join(errRepeated, err)
	}
	return err
}

func (t *thinPostgres) count(b testing.TB, query string) (n int64) {
	b.Helper()
	must.Do(b, t.conn.QueryRow(b.Context(), query).Scan(&n))
	return n
}
