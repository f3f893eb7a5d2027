// Package storage defines the database of a payment engine: objects, money, sequences
// and due work, in one serializable transaction.
//
// It owns the contract ([Store], [ReadTx], [Tx]), the description of records ([Kind]) and the typed
// view of them ([Collection]). It knows no business rules and no SQL.
package storage

import (
	"context"
	"errors"
	"time"
)

// The errors of a store. Compare them with errors.Is: backends wrap them with details. No error
// text holds a stored value.
var (
	// ErrNotFound: no such record in that scope.
	ErrNotFound = errors.New("storage: not found")
	// ErrConflict: the record changed since it was read (compare-and-swap).
	ErrConflict = errors.New("storage: changed by another writer")
	// ErrExists: the id or a unique key is taken.
	ErrExists = errors.New("storage: already exists")
	// ErrInsufficient: a posting would take a guarded account below zero.
	ErrInsufficient = errors.New("storage: insufficient balance")
	// ErrOverflow: a balance would leave the range of int64.
	ErrOverflow = errors.New("storage: balance out of range")
	// ErrInvalid: the call itself breaks the contract (an unknown kind, a
	// column of the wrong type, an unbalanced posting). It is a bug of the
	// caller, never the state of the data.
	ErrInvalid = errors.New("storage: invalid call")
	// ErrClosed: the store was closed, or the transaction has ended.
	ErrClosed = errors.New("storage: closed")
	// ErrRetry: another transaction has interfered, and the store cannot rerun the host's
	// transaction. The host must roll it back and begin again.
	ErrRetry = errors.New("storage: run the whole transaction again")
	// ErrUnavailable: the database cannot be reached or takes no writes now, and the store's own
	// retries have failed. Nothing was written, unless the error is also postgres.ErrUnknown. The
	// call may succeed later; repeat it with the same idempotency key.
	ErrUnavailable = errors.New("storage: unavailable")
	// ErrNewer: the database was written by a newer version of the library.
	ErrNewer = errors.New("storage: database is from a newer version")
)

// Scope is the owner of a record: one merchant in one mode. The empty Merchant is the
// operator, who owns merchants, wallets and service ids.
type Scope struct {
	Merchant string
	Live     bool
}

// Store is a database. All methods are safe for concurrent use.
//
// Committed transactions are serializable: they have the effect of running one after another. If
// one Update returned before another began, it comes first. A transaction whose Update returned nil
// survives a crash of the process, and, where the backend writes to disk, of the machine.
//
// The backends are storage/memory, storage/sqlite and storage/postgres. To write another,
// implement Store, and run [storagetest.Run] against it until it passes. The doc comments of
// Store, [ReadTx] and [Tx] are the specification. [Kind.Check], [Posting.Check] and [Apply]
// hold the rules that every backend shares, so that a backend only has to keep rows.
// [Reader] makes reads of one record cheaper, and [EntriesReader] those of many accounts.
//
// [storagetest.Run]: https://pkg.go.dev/github.com/seed-7082ffec/payments/storage/storagetest#Run
type Store interface {
	// Define creates or updates the tables of the given kinds. If it fails, none of the kinds may
	// be used; a backend may keep finished steps of a change. It may be called by several processes
	// at once, and again. The store keeps each declaration in the database and compares it with the
	// next one:
	//
	//   - A kind may gain columns at the end, which are filled by [Kind.Backfill];
	//     unique keys, which fail with ErrExists if records share them; a due column;
	//     values at the end of a OneOf that has some; Indexed; and Ordered. What is
	//     stored keeps its versions and leases. The records from before a kind was
	//     Ordered have the number 0, and stand in the order of their ids.
	//   - A declaration that lacks such an addition, Indexed excepted, is from an
	//     older program: ErrNewer.
	//   - Any other difference is ErrInvalid. Backfill is not compared.
	//
	// Transactions then accept exactly this pointer. They fail with ErrInvalid for a Kind that was
	// not defined through this store, or whose declaration a later Define has replaced.
	Define(ctx context.Context, kinds ...*Kind) error

	// View runs fn on one unchanging snapshot that includes every Update that
	// returned before View was called. It never waits for a writer's fn.
	View(ctx context.Context, fn func(ReadTx) error) error

	// Update runs fn and commits what it wrote, all of it or, when fn returns an error or panics,
	// nothing. fn may run more than once and must have no effect outside tx; it must not call the
	// store again, and must not keep tx. Only the last run counts. For example, a backend may find
	// a taken key only at the commit; it then runs fn again, and the Insert returns ErrExists. Or a
	// backend must first load a record that a method needs. That method and all later ones then
	// fail. The backend loads the record and runs fn again, even if fn ignored the error.
	//
	// When ctx ends before fn has returned, nothing is written and the context's error comes back.
	// After fn has returned, Update waits for the outcome of the commit, even if ctx ends. So an
	// error always means that nothing was written, unless a backend documents a lost answer
	// (postgres.ErrUnknown).
	Update(ctx context.Context, fn func(Tx) error) error

	// Close waits for running transactions and releases the store. Calls that
	// come later fail with ErrClosed. Closing twice is fine.
	Close() error
}

// ReadTx reads one consistent state, and, inside Update, what the transaction
// itself has written. It is for one goroutine.
//
// The caller owns results and arguments, and may change both after the call. A cancelled
// context makes every method fail with the context's error.
//
// Ids, names and texts are UTF-8 without NUL characters. A store that cannot keep a text refuses to
// write it with [ErrInvalid], and finds nothing for it. A document may be any bytes.
type ReadTx interface {
	// Get returns the record with that id, or ErrNotFound.
	Get(k *Kind, s Scope, id string) (Record, error)

	// Find returns the record that has these values in the named unique key, or
	// ErrNotFound. For a key that is [Key.Global] the scope is ignored.
	Find(k *Kind, key string, s Scope, values ...any) (Record, error)

	// List returns at most q.Limit records of one scope, newest first, that is by descending id,
	// compared bytewise. Those of an Ordered kind come by descending number, and those with the same
	// one by id. The record of a cursor need not exist; see [Query.Number]. A condition on a column
	// without an index may read every record of the scope. List must return soon after its context
	// ends, even then.
	List(k *Kind, q Query) ([]Record, error)

	// Balance returns an account's balance and number of entries; the zero Balance
	// for an account that was never posted to.
	Balance(account string) (Balance, error)

	// Balances returns at most limit accounts with a name after the given one, in ascending
	// bytewise order. Balances, Entries and Postings return nothing for a limit below 1.
	Balances(after string, limit int) ([]Balance, error)

	// Entries returns at most limit entries of one account with a number below
	// before (0 for the newest), by descending number.
	Entries(account string, before int64, limit int) ([]Entry, error)

	// Posting returns a posting with its entries as booked, or ErrNotFound.
	Posting(id string) (Booked, error)

	// Postings returns at most limit postings with an id after the given one, in
	// ascending bytewise order.
	Postings(after string, limit int) ([]Booked, error)

	// Backlog counts the due records of a kind over all scopes, also those with a lease. It stops
	// at limit, which is at least 1. It must read only an index, and at most limit rows.
	Backlog(k *Kind, due time.Time, limit int) (Backlog, error)

	// NextDue returns the earliest due time of each scope of one mode. Leased records count. Scopes
	// come in ascending bytewise order of their merchant, beginning with from. Scopes without due
	// records are left out. NextDue returns at most limit scopes; limit is at least 1. It must read
	// only an index, and only a few entries for each scope.
	NextDue(k *Kind, from Scope, limit int) ([]Due, error)

	// Scan returns at most limit records, at least 1, of all scopes after the given scope and id. They
	// come in ascending bytewise order of merchants. For one merchant, those of test mode come first.
	// Those of one mode come in ascending bytewise order of ids. A zero scope and id begin at the first
	// record. There need not be a record with that scope and id.
	Scan(k *Kind, after Scope, id string, limit int) ([]Record, error)

	// Sequences returns at most limit sequences, at least 1, with a name after the
	// given one, in ascending bytewise order.
	Sequences(after string, limit int) ([]Sequence, error)
}

// Sequence is a named sequence and the last number that it gave.
type Sequence struct {
	Name  string
	Value int64
}

// Tx reads and writes. A method that returns an error has changed nothing, and
// the transaction may go on.
type Tx interface {
	ReadTx

	// Insert adds a record, whose Version is ignored and starts at 1. A taken id
	// or unique key is ErrExists. A record of an Ordered kind gets the next number, unless it comes
	// with one; see [Record.Number].
	Insert(k *Kind, r Record) error

	// Replace writes r over the record of the same scope and id if that still
	// has r.Version, which it raises by one; else ErrConflict, or ErrNotFound
	// when there is none. It ends a lease held on the record.
	Replace(k *Kind, r Record) error

	// Delete removes the record if it still has that version; else ErrConflict,
	// or ErrNotFound when there is none.
	Delete(k *Kind, s Scope, id string, version int64) error

	// Post books a balanced posting: it adds each amount to its account, refuses
	// with ErrInsufficient what would take a guarded account below zero, and
	// keeps the entries for good. A taken posting id is ErrExists. Accounts come
	// into being with their first entry. A backend that validates at commit may
	// return ErrInsufficient from Update instead.
	Post(p Posting) error

	// Next returns the next number of a named sequence, beginning with 1. A
	// rolled back transaction gives its numbers back, so that a sequence has no
	// holes.
	Next(sequence string) (int64, error)

	// SetSequence sets the last number of a sequence. value may be less than the current one.
	SetSequence(name string, value int64) error

	// Claim takes over at most c.Limit records whose due time has come and that have no running lease,
	// those due longest first. Each gets a lease that ends at c.Now + c.Lease, and a higher Version,
	// which is the fencing token. Once a lease has run out and another worker has claimed the record, a
	// write with the older version is ErrConflict. With c.InTx it only selects: the records keep their
	// Version, and get no lease.
	Claim(k *Kind, c Claim) ([]Record, error)

	// Lease keeps a record from being claimed until a time, if it still has that version; else
	// ErrConflict, or ErrNotFound when there is none. It replaces any earlier lease and keeps the
	// Version. With it a worker extends the lease of a claimed record, or leases a record that it
	// has just written.
	Lease(k *Kind, s Scope, id string, version int64, until time.Time) error
}

// Query selects records of one scope. Conditions are joined by "and".
type Query struct {
	Scope Scope
	Where []Equal
	Range []Range
	// After and Before are ids: After lists what is older than that id, Before
	// the page directly newer than it. At most one of them is set.
	After, Before string
	// Number, unless it is 0, is the number of the record of an Ordered kind that After or Before names.
	// Without it the store reads the number from that record. If there is none, the cursor is taken for
	// an id from before the kind was Ordered: it stands before all records with a number.
	Number int64
	// Limit is the largest number of records wanted, at least 1.
	Limit int
	// Bytes, if above 0, ends the list after the record that brings the documents above that many bytes.
	// Within Limit, the list has at least two records if so many exist. [Collection.List] drops that
	// last record again, and reports that there is more. A page with Before keeps the records nearest to
	// the cursor, as with Limit.
	Bytes int
	// Bare says that the caller does not use the Columns of the records. A store may then
	// leave them out.
	Bare bool
}

// IsFull reports whether a list is complete with that many records, whose documents have
// that many bytes together.
func (q *Query) IsFull(records, bytes int) bool {
	return records >= q.Limit || q.Bytes > 0 && records > 1 && bytes > q.Bytes
}

// Equal is the condition that a column has a value. A nil value matches null, and a
// time is compared as [Instant] rounds it. A text that is not one of the column's OneOf matches
// nothing.
type Equal struct {
	Column string
	Value  any
}

// Range is the condition that a time column lies in the half-open interval
// [From, Until). A zero time leaves that end open; null is in no range.
type Range struct {
	Column      string
	From, Until time.Time
}

// Claim selects due work of one mode. It does not read work of the other mode.
type Claim struct {
	// Live is the mode. Records of the operator that belong to no mode have a Scope in which Live
	// is false, so a claim of test mode gets them.
	Live bool
	// Due is the time up to which records of all scopes of the mode are due, inclusive.
	// It is zero if Clocks are given.
	Due time.Time
	// Clocks, if there are any, limit the claim to their scopes, each of which has its
	// own time in place of Due. Each scope is of the mode, and has one clock. Records come
	// scope by scope in the order of Clocks, those of one in the order of their due times.
	Clocks []Clock
	// Now is the real time, which decides whether a lease has ended, even if a test clock runs
	// ahead.
	Now time.Time
	// Lease is how long the records stay with this worker.
	Lease time.Duration
	// InTx means that the caller does the work in this transaction and needs no lease. No other
	// transaction writes meanwhile.
	InTx bool
	// Limit is the largest number of records wanted, at least 1.
	Limit int
}

// Clock is the time in one scope.
type Clock struct {
	Scope Scope
	Now   time.Time
	// Limit is the largest number of records wanted of the scope; 0 for no limit but that
	// of the claim.
	Limit int
}

// Due is the earliest due time of a scope.
type Due struct {
	Scope Scope
	At    time.Time
}

// Backlog is due work that has not been done.
type Backlog struct {
	// Count is how many records are due, at most the limit that was given.
	Count int
	// Oldest is the longest past due time; zero when nothing is due.
	Oldest time.Time
}

// Record is one stored object: a document and the columns promoted from it.
type Record struct {
	Scope Scope
	ID    string
	// Version counts the writes, claims included, beginning with 1.
	Version int64
	// Columns are the values of Kind.Columns in their order: string, int64,
	// bool, time.Time (kept to the millisecond) or nil.
	Columns []any
	// Data is the document.
	Data []byte
	// Number is the place of a record of an Ordered kind in lists; 0 for other kinds. The number of a
	// record that is committed later is greater. No number is given twice, also not after the record was
	// deleted. An Update may still see 0 in records that were inserted a moment ago.
	//
	// Insert keeps a number above 0, which must not have been given in the scope before: so [Copy] keeps
	// the places. Later records get greater numbers. Replace ignores the number.
	Number int64
}

// Instant returns t as a store keeps it: in UTC, rounded down to the millisecond, without a
// monotonic reading.
func Instant(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
