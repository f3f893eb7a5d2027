package life

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// thinServer does the least that a payment server must do for a request that moves money: it finds
// the merchant by the hash of the key, decodes the request, writes in one commit, and answers. It
// checks little, and knows no providers, no limits and no fees.
type thinServer struct {
	address, key string
	keys         map[[sha256.Size]byte]string // to the merchant
	ids          *ids.Source
	waiting      chan *thinCall
	thinTables
}

// thinCall is what one request writes.
type thinCall struct {
	merchant, idempotencyKey  string
	objectID, eventID, postID string
	object, event             []byte
	to                        int // an account; account 0 pays
	amount                    int64
	done                      chan error
}

// thinTables write all calls in one transaction: of each the idempotency key with the answer, the
// object, the event, and a posting with two entries. They write each changed balance once.
type thinTables interface {
	write(calls []*thinCall) error
	count(b testing.TB, query string) int64
}

// errRepeated means that an idempotency key was used before. None of the calls is written.
var errRepeated = errors.New("an idempotency key was used before")

const (
	thinGroup    = 256 // how many calls may share a commit
	thinAccounts = 65  // the merchant's, and 64 that get money
)

// openThin returns a running thin server.
func openThin(b testing.TB, on backend) *thinServer {
	b.Helper()
	s := &thinServer{key: "sk_test_thin", ids: ids.New(time.Now, nil), waiting: make(chan *thinCall, thinGroup)}
	s.keys = map[[sha256.Size]byte]string{sha256.Sum256([]byte(s.key)): s.ids.Make("mer_")}
	s.thinTables = on.thin(b, thinAccounts)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.commit()
	}()
	b.Cleanup(func() {
		close(s.waiting)
		<-ended
	})
	s.address, _ = listen(b, s)
	return s
}

// commit writes what waits, all together, again and again.
func (s *thinServer) commit() {
	var calls []*thinCall
	for call := range s.waiting {
		calls = append(calls[:0], call)
		for more := true; more && len(calls) < thinGroup; {
			select {
			case call, ok := <-s.waiting:
				if more = ok; ok {
					calls = append(calls, call)
				}
			default:
				more = false
			}
		}
		err := s.write(calls)
		for _, call := range calls {
			call.done <- err
		}
	}
}

// thinObject is a disbursement as the library shows it.
type thinObject struct {
	ID                string          `json:"id"`
	Object            string          `json:"object"`
	Amount            json.Number     `json:"amount"`
	Currency          string          `json:"currency"`
	Fee               float64         `json:"fee"`
	Status            string          `json:"status"`
	Destination       thinDestination `json:"destination"`
	Description       string          `json:"description"`
	Reference         string          `json:"reference"`
	Metadata          struct{}        `json:"metadata"`
	ProviderReference *string         `json:"provider_reference"`
	FailureReason     *string         `json:"failure_reason"`
	CreatedAt         time.Time       `json:"created_at"`
	CompletedAt       *time.Time      `json:"completed_at"`
}

type thinDestination struct {
	Type        string `json:"type"`
	PhoneNumber string `json:"phone_number,omitempty"`
	ServiceID   string `json:"service_id,omitempty"`
}

type thinEvent struct {
	ID        string    `json:"id"`
	Object    string    `json:"object"`
	Type      string    `json:"type"`
	CreatedAt time.Time `json:"created_at"`
	Data      struct {
		Object json.RawMessage `json:"object"`
	} `json:"data"`
}

// ServeHTTP implements [http.Handler].
func (s *thinServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	merchant := s.keys[sha256.Sum256([]byte(token))]
	if merchant == "" {
		http.Error(w, "no such key", http.StatusUnauthorized)
		return
	}
	var p struct {
		Amount      json.Number     `json:"amount"`
		Destination thinDestination `json:"destination"`
		Reference   string          `json:"reference"`
	}
	key := r.Header.Get("X-Idempotency-Key")
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&p)
	amount, bad := p.Amount.Float64()
	if err != nil || bad != nil || amount <= 0 || key == "" || p.Destination.Type == "" {
		http.Error(w, "the request is not valid", http.StatusBadRequest)
		return
	}
	now := time.Now().UTC()
	o := thinObject{
		ID: s.ids.Make("po_"), Object: "disbursement", Amount: p.Amount, Currency: "GHS", Status: "pending",
		Destination: p.Destination, Reference: p.Reference, CreatedAt: now,
	}
	e := thinEvent{ID: s.ids.Make("evt_"), Object: "event", Type: "disbursement.pending", CreatedAt: now}
	call := &thinCall{
		merchant: merchant, idempotencyKey: key, objectID: o.ID, eventID: e.ID, postID: s.ids.Make("txn_"),
		amount: int64(amount*100 + 0.5), to: 1, done: make(chan error, 1),
	}
	for _, c := range []byte(p.Destination.PhoneNumber + p.Destination.ServiceID) {
		call.to += int(c)
	}
	call.to = 1 + call.to%(thinAccounts-1)
	if call.object, err = json.Marshal(o); err == nil {
		e.Data.Object = call.object
		call.event, err = json.Marshal(e)
	}
	if err == nil {
		s.waiting <- call
		err = <-call.done
	}
	switch {
	case errors.Is(err, errRepeated):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(call.object)
	}
}

// thinAccount is an account of the ledger, of which the committer keeps the state.
type thinAccount struct {
	balance, entries int64
	changed          bool
}

// thinLedger is the state of all accounts.
type thinLedger []thinAccount

func newThinLedger(accounts int) thinLedger {
	l := make(thinLedger, accounts)
	l[0].balance = 1 << 50
	return l
}

// move adds an entry to an account.
func (l thinLedger) move(account int, amount int64) (number, balance int64) {
	a := &l[account]
	a.entries++
	a.balance += amount
	a.changed = true
	return a.entries, a.balance
}

// takeChanged calls write for each account that has changed since the last call.
func (l thinLedger) takeChanged(write func(account int, a thinAccount)) {
	for i := range l {
		if l[i].changed {
			l[i].changed = false
			write(i, l[i])
		}
	}
}

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
