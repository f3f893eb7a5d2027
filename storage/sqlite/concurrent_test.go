package sqlite

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
	"github.com/seed-7082ffec/payments/storage/memory"
)

var (
	concurrentSeeds = flag.Int("concurrent-seeds", effort.Of(2, 6), "how many random histories the concurrent test plays")
	concurrentFrom  = flag.Int("concurrent-from", 0, "the first seed of the concurrent test")
)

var (
	// tickets compete for few keys, and have due times.
	tickets = &storage.Kind{
		Name: "tickets",
		Columns: []storage.Column{
			{Name: "name", Type: storage.Text, Null: true, Indexed: true},
			{Name: "token", Type: storage.Text, Null: true},
			{Name: "due", Type: storage.Time, Null: true},
		},
		Keys: []storage.Key{{Name: "name", Columns: []string{"name"}}, {Name: "token", Columns: []string{"token"}, Global: true}},
		Due:  "due",
	}
	// blanks have no keys, so a Replace need not read.
	blanks = &storage.Kind{Name: "blanks", Columns: []storage.Column{{Name: "size", Type: storage.Int}}}
)

var (
	errFaultLost      = errors.New("the connection is lost")
	errFaultTransient = errors.New("another transaction interfered")
	errUndone         = errors.New("undone")
	errHostUndone     = errors.New("the host has rolled back")
	errEnded          = errors.New("the function panicked or ended its goroutine")
)

// faultyDriver is SQLite as a server: batches run ahead of commits, and statements fail at random.
type faultyDriver struct {
	driver
	one int // of so many statements one fails; 0 for none
}

// fault returns the error of a statement that fails, and sometimes waits.
func (f faultyDriver) fault() error {
	if rand.IntN(4) == 0 {
		time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
	}
	if f.one == 0 || rand.IntN(f.one) > 0 {
		return nil
	}
	return []error{errFaultLost, errFaultTransient, sqlstore.ErrStale, sqlstore.Retryable{Cause: errFaultLost}}[rand.IntN(4)]
}

func (f faultyDriver) BeginWrite(ctx context.Context, since sqlstore.Commit, fetch *sqlstore.Fetch) (sqlstore.Session, sqlstore.CommitLog, error) {
	if err := f.fault(); err != nil {
		return nil, sqlstore.CommitLog{}, err
	}
	s, log, err := f.driver.BeginWrite(ctx, since, fetch)
	if err != nil {
		return nil, log, err
	}
	for table, keys := range fetch.Records {
		for _, key := range keys {
			err = errors.Join(err, s.Query(ctx, func(row sqlstore.Row) error { return fetch.AddRecord(table, row) },
				"SELECT "+table.Columns()+" FROM "+table.Name+" WHERE merchant = ? AND live = ? AND id = ?", key.Scope.Merchant, key.Scope.Live, key.ID))
		}
	}
	for _, name := range fetch.Accounts {
		err = errors.Join(err, s.Query(ctx, fetch.AddAccount, "SELECT name, guarded, balance, entries FROM ledger_accounts WHERE name = ?", name))
	}
	for _, name := range fetch.Sequences {
		err = errors.Join(err, s.Query(ctx, fetch.AddSequence, "SELECT name, value FROM storage_sequences WHERE name = ?", name))
	}
	if err != nil {
		panic(err)
	}
	return &faultySession{Session: s, driver: f}, log, nil
}

func (f faultyDriver) CommitIfValid(base sqlstore.Commit, token int64, reads sqlstore.Hashes, w *sqlstore.Writes) (sqlstore.CommitLog, error) {
	if err := f.fault(); err != nil {
		return sqlstore.CommitLog{}, err
	}
	log, err := f.driver.CommitIfValid(base, token, reads, w)
	time.Sleep(time.Duration(rand.IntN(500)) * time.Microsecond)
	return log, err
}

func (f faultyDriver) Validate(base sqlstore.Commit, reads sqlstore.Hashes) error {
	if err := f.fault(); err != nil {
		return err
	}
	return f.driver.Validate(base, reads)
}

func (f faultyDriver) Classify(err error) (sqlstore.ErrorClass, string) {
	switch {
	case errors.Is(err, errFaultLost), errors.Is(err, sqlstore.ErrStale):
		return sqlstore.ConnectionLost, ""
	case errors.Is(err, errFaultTransient):
		return sqlstore.Transient, ""
	}
	return f.driver.Classify(err)
}

// faultySession fails for good with its first fault.
type faultySession struct {
	sqlstore.Session
	driver faultyDriver
	failed error
}

func (s *faultySession) fault() error {
	if s.failed == nil {
		s.failed = s.driver.fault()
	}
	return s.failed
}

func (s *faultySession) Query(ctx context.Context, scan func(sqlstore.Row) error, text string, args ...any) error {
	if err := s.fault(); err != nil {
		return err
	}
	return s.Session.Query(ctx, scan, text, args...)
}

func (s *faultySession) Write(ctx context.Context, w *sqlstore.Writes) error {
	if err := s.fault(); err != nil {
		return err
	}
	return s.Session.Write(ctx, w)
}

func (s *faultySession) Commit(next sqlstore.Commit, w *sqlstore.Writes) error {
	if err := s.fault(); err != nil {
		return err
	}
	return s.Session.Commit(next, w)
}

// played is what one call has seen and done.
type played struct {
	seed    uint64
	at      int64 // its number, by the clock
	answers []string
	err     error
	judged  bool // whether the store answers for the answers
	read    bool // a View, which has seen the state after the number
}

// fewScopes returns a scope.
func fewScopes(r *rand.Rand) storage.Scope {
	return storage.Scope{Merchant: "mer_1", Live: r.IntN(4) == 0}
}

func maybe(r *rand.Rand, v any) any {
	if r.IntN(3) == 0 {
		return nil
	}
	return v
}

func randomTicket(r *rand.Rand) storage.Record {
	return storage.Record{
		Scope: fewScopes(r), ID: fmt.Sprint("t", r.IntN(5)), Version: int64(1 + r.IntN(3)),
		Columns: []any{
			maybe(r, fmt.Sprint("n", r.IntN(3))), maybe(r, fmt.Sprint("k", r.IntN(4))), maybe(r, noon.Add(time.Duration(r.IntN(5))*time.Second)),
		},
		Data: []byte(fmt.Sprint("d", r.IntN(100))),
	}
}

func describeResult(v any, err error) string {
	for _, known := range []error{storage.ErrExists, storage.ErrNotFound, storage.ErrConflict, storage.ErrInsufficient} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return fmt.Sprint(v, err)
}

func describeRecords(records ...storage.Record) string {
	var s strings.Builder
	for _, r := range records {
		fmt.Fprintf(&s, "%s/%d %v %s; ", r.ID, r.Version, r.Columns, r.Data)
	}
	return s.String()
}

// act makes one random call of a transaction and returns its answer.
func act(tx storage.Tx, r *rand.Rand) (string, error) {
	text := func(v any, err error) (string, error) { return describeResult(v, err), err }
	ticket := randomTicket(r)
	current := func() {
		if now, err := tx.Get(tickets, ticket.Scope, ticket.ID); err == nil && r.IntN(8) > 0 {
			ticket.Version = now.Version
		}
	}
	blank := storage.Record{
		Scope: ticket.Scope, ID: fmt.Sprint("b", r.IntN(4)), Version: int64(1 + r.IntN(6)),
		Columns: []any{int64(r.IntN(9))}, Data: []byte("{}"),
	}
	if r.IntN(600) == 0 {
		blank.Data = make([]byte, 5<<20)
	}
	switch r.IntN(29) {
	case 26, 27, 28:
		return text("exchange", exchange(tx, r, ticket.Scope))
	case 0, 1, 2, 3:
		return text("insert", tx.Insert(tickets, ticket))
	case 4, 5, 6, 7:
		current()
		return text("replace", tx.Replace(tickets, ticket))
	case 8, 9:
		current()
		return text("delete", tx.Delete(tickets, ticket.Scope, ticket.ID, ticket.Version))
	case 10:
		current()
		return text("lease", tx.Lease(tickets, ticket.Scope, ticket.ID, ticket.Version, noon.Add(time.Duration(r.IntN(9))*time.Second)))
	case 11, 12:
		c := storage.Claim{Live: ticket.Scope.Live, Due: noon.Add(2 * time.Second), Now: noon.Add(time.Duration(r.IntN(9)) * time.Second), Limit: 99}
		if c.InTx = r.IntN(2) == 0; !c.InTx {
			c.Lease = time.Duration(1+r.IntN(4)) * time.Second
		}
		claimed, err := tx.Claim(tickets, c)
		slices.SortFunc(claimed, func(a, b storage.Record) int { return strings.Compare(a.ID, b.ID) })
		return text("claim "+describeRecords(claimed...), err)
	case 13:
		return text("insert", tx.Insert(blanks, blank))
	case 14, 15:
		return text("replace", tx.Replace(blanks, blank)) // without a read
	case 16:
		return text("delete", tx.Delete(blanks, blank.Scope, blank.ID, blank.Version))
	case 17:
		if r.IntN(3) == 0 {
			return text("set", tx.SetSequence(fmt.Sprint("s", r.IntN(2)), int64(1+r.IntN(5))))
		}
		return text(tx.Next(fmt.Sprint("s", r.IntN(2))))
	case 18, 19, 20:
		p := storage.Posting{ID: fmt.Sprint("p", r.IntN(80)), Type: "test", Ref: "r", At: noon}
		from, to := r.IntN(4), r.IntN(4)
		if from == to {
			from = (to + 1) % 4
		}
		amount := int64(1 + r.IntN(9))
		p.Moves = []storage.Move{
			{Account: fmt.Sprint("a", from), Guarded: from > 0, Amount: -amount}, {Account: fmt.Sprint("a", to), Guarded: to > 0, Amount: amount},
		}
		return text("post", tx.Post(p))
	case 21:
		got, err := tx.Find(tickets, "name", ticket.Scope, fmt.Sprint("n", r.IntN(3)))
		return text("find "+describeRecords(got), err)
	case 22:
		got, err := tx.Find(tickets, "token", ticket.Scope, fmt.Sprint("k", r.IntN(4)))
		return text("find "+describeRecords(got), err)
	case 23:
		got, err := tx.Get(blanks, blank.Scope, blank.ID)
		return text(fmt.Sprint(got.Version, got.Columns, len(got.Data)), err)
	case 24:
		return text(tx.Balance(fmt.Sprint("a", r.IntN(4))))
	}
	return contents(tx)
}

// exchange exchanges the names of two tickets, with updates or with deletes and inserts.
func exchange(tx storage.Tx, r *rand.Rand, of storage.Scope) error {
	first := r.IntN(5)
	a, err := tx.Get(tickets, of, fmt.Sprint("t", first))
	b, otherErr := tx.Get(tickets, of, fmt.Sprint("t", (first+1+r.IntN(4))%5))
	if again := r.IntN(2) == 0; again {
		err = errors.Join(err, otherErr, tx.Delete(tickets, of, a.ID, a.Version), tx.Delete(tickets, of, b.ID, b.Version))
		if err != nil {
			return err
		}
		a.Columns[0], b.Columns[0] = b.Columns[0], a.Columns[0]
		return errors.Join(tx.Insert(tickets, a), tx.Insert(tickets, b))
	}
	if err := errors.Join(err, otherErr); err != nil {
		return err
	}
	name := b.Columns[0]
	b.Columns[0] = nil
	if err := tx.Replace(tickets, b); err != nil {
		return err
	}
	name, a.Columns[0] = a.Columns[0], name
	if err := tx.Replace(tickets, a); err != nil {
		return err
	}
	b.Version, b.Columns[0] = b.Version+1, name
	return tx.Replace(tickets, b)
}

// contents lists what a store holds, in part.
func contents(tx storage.ReadTx) (string, error) {
	var text string
	for _, live := range []bool{false, true} {
		of := storage.Scope{Merchant: "mer_1", Live: live}
		all, err := tx.List(tickets, storage.Query{Scope: of, Limit: 99})
		if err != nil {
			return "", err
		}
		text += describeRecords(all...)
		if all, err = tx.List(blanks, storage.Query{Scope: of, Limit: 99}); err != nil {
			return "", err
		}
		for _, r := range all {
			text += fmt.Sprint(r.ID, r.Version, r.Columns, len(r.Data), "; ")
		}
	}
	for _, get := range []func() (any, error){
		func() (any, error) { return tx.Balances("", 99) },
		func() (any, error) { return tx.Postings("", 99) },
		func() (any, error) { return tx.Entries("a1", 0, 99) },
		func() (any, error) { return tx.Sequences("", 99) },
	} {
		v, err := get()
		if err != nil {
			return "", err
		}
		text += fmt.Sprintln(v)
	}
	return text, nil
}

// function returns the function of a call. It notes in p what happens in the last run. end ends the
// run; nil commits.
func function(p *played, end func() error) func(storage.Tx) error {
	return func(tx storage.Tx) error {
		r := rand.New(rand.NewPCG(p.seed, 1))
		p.answers, p.judged = nil, false
		at, err := tx.Next("clock")
		if err != nil {
			return err
		}
		p.at = at
		strict := r.IntN(4) == 0
		for range r.IntN(7) {
			answer, err := act(tx, r)
			p.answers = append(p.answers, answer)
			if err != nil && (strict || !isAnswer(err)) {
				p.judged = isAnswer(err)
				return err
			}
		}
		p.judged = true
		if r.IntN(6) == 0 {
			return errUndone
		}
		if end != nil {
			return end()
		}
		return nil
	}
}

// playOne makes one call of a store.
func playOne(t *testing.T, s *Store, seed uint64) *played {
	p := &played{seed: seed}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := rand.New(rand.NewPCG(seed, 2))
	finished := make(chan struct{})
	go func() { // a goroutine of its own, for Goexit
		defer close(finished)
		defer func() { _ = recover() }()
		switch n := r.IntN(24); {
		case n == 0:
			p.err = errEnded
			p.err = s.Update(ctx, function(p, func() error { panic("planned") }))
		case n == 1:
			p.err = errEnded
			p.err = s.Update(ctx, function(p, func() error { runtime.Goexit(); return nil }))
		case n == 2:
			p.err = s.Update(ctx, function(p, func() error { cancel(); return nil }))
		case n == 3:
			time.AfterFunc(time.Duration(r.IntN(3000))*time.Microsecond, cancel)
			p.err = s.Update(ctx, function(p, nil))
		case n < 6:
			p.read = true
			p.err = s.View(ctx, func(tx storage.ReadTx) error {
				text, err := contents(tx)
				all, err2 := tx.Sequences("", 9)
				p.answers, p.judged, p.at = []string{text}, true, 0
				for _, q := range all {
					if q.Name == "clock" {
						p.at = q.Value
					}
				}
				return errors.Join(err, err2)
			})
		case n == 6:
			host, err := s.db.BeginTx(ctx, nil)
			if err != nil {
				p.err = err
				return
			}
			defer func() { _ = host.Rollback() }()
			p.err = s.In(host).Update(ctx, function(p, nil))
			if p.err == nil && r.IntN(3) == 0 {
				p.err = errHostUndone
			}
			if p.err == nil {
				p.err = host.Commit()
			}
		default:
			p.err = s.Update(ctx, function(p, nil))
		}
	}()
	select {
	case <-finished:
	case <-time.After(90 * time.Second):
		all := make([]byte, 1<<20)
		panic(fmt.Sprintf("seed %d hangs:\n%s", seed, all[:runtime.Stack(all, true)]))
	}
	return p
}

// Many callers of two stores on one file make random calls at once, of which some fail, panic or end early,
// while the database fails now and then. All answers and the data are those of some serial order in the memory
// store: each call takes its place from a sequence.
func TestConcurrentCallsAgreeWithMemory(t *testing.T) {
	for _, mode := range []struct {
		name   string
		remote bool // whether batches run ahead of commits
		faults int  // of so many statements one fails; 0 for none
		stores int
	}{
		{"one store", false, 0, 1},
		{"two stores", false, 0, 2},
		{"ahead of commits", true, 0, 1},
		{"two stores ahead of commits", true, 0, 2},
		{"ahead of commits, with faults", true, 25, 1},
		{"two stores ahead of commits, with faults", true, 40, 2},
		{"two stores, with faults", false, 25, 2},
	} {
		t.Run(mode.name, func(t *testing.T) {
			for seed := *concurrentFrom; seed < *concurrentFrom+*concurrentSeeds; seed++ {
				path := filepath.Join(effort.TempDir(t), "test.db")
				var stores []*Store
				for range mode.stores {
					s := openAt(t, path, Config{})
					must.Do(t, s.Define(t.Context(), tickets, blanks))
					d := dialect
					d.Remote = mode.remote
					s.store = sqlstore.New(faultyDriver{driver: driver{s}, one: mode.faults}, &d, 5)
					s.store.Register([]*storage.Kind{tickets, blanks})
					stores = append(stores, s)
				}
				var mu sync.Mutex
				var all []*played
				var callers sync.WaitGroup
				for i := range 8 {
					callers.Go(func() {
						for j := range 12 {
							p := playOne(t, stores[i%len(stores)], uint64(seed)<<20|uint64(i)<<10|uint64(j))
							mu.Lock()
							all = append(all, p)
							mu.Unlock()
						}
					})
				}
				callers.Wait()
				judge(t, seed, stores[0], all)
				for _, s := range stores {
					must.Do(t, s.Close())
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// judge plays the calls again in the memory store, in the order of their places.
func judge(t *testing.T, seed int, s *Store, all []*played) {
	t.Helper()
	reference := memory.New()
	must.Do(t, reference.Define(t.Context(), tickets, blanks))
	var written []*played
	at := map[int64][]*played{}
	for _, p := range all {
		switch {
		case p.read:
			at[p.at] = append(at[p.at], p)
		case p.err == nil:
			written = append(written, p)
		case errors.Is(p.err, errEnded), errors.Is(p.err, storage.ErrUnavailable), errors.Is(p.err, storage.ErrRetry),
			errors.Is(p.err, context.Canceled), isBusy(p.err): // nothing is written, whatever the function has seen
		case p.judged && (p.err == errUndone || p.err == errHostUndone || isAnswer(p.err)):
			at[p.at-1] = append(at[p.at-1], p)
		default:
			t.Errorf("seed %d: call %x: %v", seed, p.seed, p.err)
		}
	}
	slices.SortFunc(written, func(a, b *played) int { return int(a.at - b.at) })
	look := func(n int64) {
		for _, p := range at[n] {
			if p.err != nil && p.read {
				continue
			}
			want := &played{seed: p.seed}
			if p.read {
				must.Do(t, reference.View(t.Context(), func(tx storage.ReadTx) error {
					text, err := contents(tx)
					want.answers = []string{text}
					return err
				}))
			} else {
				_ = reference.Update(t.Context(), func(tx storage.Tx) error {
					want.err = function(want, nil)(tx)
					return errUndone
				})
				if p.err == errHostUndone {
					p.err = nil
				}
				if wanted, got := describeResult("", want.err), describeResult("", p.err); got != wanted {
					t.Errorf("seed %d: call %x fails with %q, want %q", seed, p.seed, got, wanted)
				}
			}
			if diff := cmp.Diff(want.answers, p.answers); diff != "" {
				t.Errorf("seed %d: failed call %x (%v) after %d (-memory +sqlite):\n%s", seed, p.seed, p.err, n, diff)
			}
		}
	}
	look(0)
	for i, p := range written {
		if p.at != int64(i+1) {
			t.Errorf("seed %d: call %x has place %d, want %d", seed, p.seed, p.at, i+1)
			return
		}
		want := &played{seed: p.seed}
		err := reference.Update(t.Context(), function(want, nil))
		if diff := cmp.Diff(want.answers, p.answers); diff != "" || err != nil {
			t.Errorf("seed %d: call %x at %d: %v (-memory +sqlite):\n%s", seed, p.seed, p.at, err, diff)
			return
		}
		look(p.at)
	}
	var got, want string
	for of, text := range map[storage.Store]*string{reference: &want, openAt(t, s.path, Config{}): &got} {
		must.Do(t, of.Define(t.Context(), tickets, blanks))
		must.Do(t, of.Update(t.Context(), func(tx storage.Tx) (err error) {
			if *text, err = contents(tx); err != nil {
				return err
			}
			for now := range 14 { // the leases
				for _, live := range []bool{false, true} {
					claimed, err := tx.Claim(tickets, storage.Claim{Live: live, Due: noon.Add(time.Minute), Now: noon.Add(time.Duration(now) * time.Second), InTx: true, Limit: 99})
					if err != nil {
						return err
					}
					slices.SortFunc(claimed, func(a, b storage.Record) int { return strings.Compare(a.ID, b.ID) })
					*text += fmt.Sprintln(now, describeRecords(claimed...))
				}
			}
			return nil
		}))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("seed %d: kept (-memory +sqlite):\n%s", seed, diff)
	}
	t.Logf("seed %d: %d calls, %d written", seed, len(all), len(written))
}

// isAnswer reports an error that tells something about the data.
func isAnswer(err error) bool {
	for _, e := range []error{storage.ErrExists, storage.ErrNotFound, storage.ErrConflict, storage.ErrInsufficient} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
