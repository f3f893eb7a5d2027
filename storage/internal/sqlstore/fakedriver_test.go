package sqlstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seed-7082ffec/payments/storage"
)

// tallies is the kind of the records that a fakeDriver keeps.
var tallies = &storage.Kind{Name: "tallies", Columns: []storage.Column{{Name: "size", Type: storage.Int}}}

var tallyScope = storage.Scope{Merchant: "mer_1"}

// fakeDriver is a database in memory. It keeps tallies, and finds them by id. A test can hold
// its commits, and let them fail.
type fakeDriver struct {
	// beforeCommit, if not nil, runs before the n-th commit of a batch that has no session, counted
	// from 1. Its error fails the commit.
	beforeCommit func(n int) error
	beforeLock   func() // if not nil, runs before each batch that takes the lock

	mu       sync.Mutex
	rows     map[string]storage.Record
	newest   Commit
	attempts int      // commits of batches without a session
	changed  []Hashes // by commits, from the second on

	locks, queries atomic.Int64
}

// errInterfered is of class Transient.
var errInterfered = errors.New("another transaction interfered")

// newFakeStore returns a store over a database that has tallies of size 0.
func newFakeStore(ids ...string) (*Store, *fakeDriver) {
	d := &fakeDriver{rows: map[string]storage.Record{}, newest: Commit{Number: 1, Token: 1}}
	for _, id := range ids {
		d.rows[id] = storage.Record{Scope: tallyScope, ID: id, Version: 1, Columns: []any{int64(0)}, Data: []byte("{}")}
	}
	s := New(d, &Dialect{
		Name: "fake", Parameter: func(int) string { return "?" }, Limit: func(p string) string { return p },
		OrderedJoin: "JOIN", Remote: true,
	}, 10)
	s.Register([]*storage.Kind{tallies})
	return s, d
}

func (d *fakeDriver) BeginRead(context.Context) (Session, error) { return fakeSession{d}, nil }

func (d *fakeDriver) BeginWrite(_ context.Context, since Commit, fetch *Fetch) (Session, CommitLog, error) {
	if d.beforeLock != nil {
		d.beforeLock()
	}
	d.mu.Lock()
	for table, keys := range fetch.Records {
		for _, key := range keys {
			if r, ok := d.rows[key.ID]; ok {
				if err := fetch.AddRecord(table, fakeRow{r, true}); err != nil {
					return nil, CommitLog{}, err
				}
			}
		}
	}
	log := CommitLog{Newest: d.newest, Found: since.Number > 0}
	if log.Found {
		log.Changed = d.changed[since.Number-1:]
	}
	d.mu.Unlock()
	d.locks.Add(1)
	return fakeSession{d}, log, nil
}

func (d *fakeDriver) CommitIfValid(base Commit, token int64, reads Hashes, w *Writes) (CommitLog, error) {
	d.mu.Lock()
	d.attempts++
	n := d.attempts
	d.mu.Unlock()
	if d.beforeCommit != nil {
		if err := d.beforeCommit(n); err != nil {
			return CommitLog{}, err
		}
	}
	if err := d.Validate(base, reads); err != nil {
		return CommitLog{}, err
	}
	d.mu.Lock()
	log := CommitLog{Newest: Commit{d.newest.Number + 1, token}, Found: true, Changed: slices.Clone(d.changed[base.Number-1:])}
	d.mu.Unlock()
	return log, fakeSession{d}.Commit(log.Newest, w)
}

func (d *fakeDriver) Validate(base Commit, reads Hashes) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	set := hashSet{everything: reads == nil, hashes: map[int64]bool{}}
	for _, h := range reads {
		set.hashes[h] = true
	}
	if set.changedBy(CommitLog{Found: true, Changed: d.changed[base.Number-1:]}) {
		return ErrStale
	}
	return nil
}

func (d *fakeDriver) Classify(error) (ErrorClass, string) { return Transient, "" }

func (d *fakeDriver) Prepare(*Statement) {}

func (d *fakeDriver) Define(context.Context, Session, []*storage.Kind) (bool, error) {
	return false, nil
}

// fakeSession is a session that writes only with its commit.
type fakeSession struct{ *fakeDriver }

// Query answers the query of Get.
func (s fakeSession) Query(_ context.Context, scan func(Row) error, text string, args ...any) error {
	if !strings.HasSuffix(text, "WHERE merchant = ? AND live = ? AND id = ?") {
		return errors.ErrUnsupported
	}
	s.queries.Add(1)
	s.mu.Lock()
	r, ok := s.rows[args[2].(string)]
	s.mu.Unlock()
	if !ok {
		return nil
	}
	return scan(fakeRow{r, false})
}

func (s fakeSession) Write(context.Context, *Writes) error { return errors.ErrUnsupported }
func (s fakeSession) Close()                               {}

func (s fakeSession) CheckVersion(context.Context, []*storage.Kind) error { return nil }

func (s fakeSession) Commit(next Commit, w *Writes) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rows := range w.Statements {
		for i := range rows.Count {
			if row := rows.Append(nil, i); s.rows[row[5].(string)].Version != row[6] {
				return errInterfered
			}
		}
	}
	for _, rows := range w.Statements {
		for i := range rows.Count { // version, size, data, and then the key: merchant, live, id, version
			row := rows.Append(nil, i)
			r := s.rows[row[5].(string)]
			r.Version, r.Columns, r.Data = row[0].(int64), []any{row[1]}, row[2].([]byte)
			s.rows[r.ID] = r
		}
	}
	s.newest, s.changed = next, append(s.changed, w.Hashes)
	return nil
}

type fakeRow struct {
	storage.Record
	scoped bool // whether the row has the scope
}

func (r fakeRow) Scan(...any) error { return errors.ErrUnsupported }

func (r fakeRow) Values() ([]any, error) {
	v := append(append([]any{r.ID, r.Version}, r.Columns...), r.Data)
	if r.scoped {
		v = append(v, r.Scope.Merchant, r.Scope.Live)
	}
	return v, nil
}
