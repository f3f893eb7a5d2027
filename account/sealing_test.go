package account_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// distant is a store behind a network: each call of a transaction is a round trip.
type distant struct {
	storage.Store
	trip time.Duration
	// left is the number of calls that succeed before all fail; negative for all.
	left int64
	// single lets a transaction read only one account's entries at a time.
	single bool
	// between, if set, is called before each View.
	between func()

	calls atomic.Int64

	mu      sync.Mutex    // guards left and the fields below
	longest int64         // calls of one View, at most
	locked  time.Duration // the longest Update
}

var errDistant = errors.New("the network is gone")

func (d *distant) call() error {
	d.calls.Add(1)
	if d.trip > 0 {
		time.Sleep(d.trip)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == 0 {
		return errDistant
	}
	d.left--
	return nil
}

func (d *distant) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	if d.between != nil {
		d.between()
	}
	return d.Store.View(ctx, func(tx storage.ReadTx) error {
		tx = &distantTx{ReadTx: tx, by: d}
		if d.single {
			tx = struct{ storage.ReadTx }{tx}
		}
		return fn(tx)
	})
}

func (d *distant) Update(ctx context.Context, fn func(storage.Tx) error) error {
	if err := d.call(); err != nil {
		return err
	}
	return d.Store.Update(ctx, func(tx storage.Tx) error {
		begin := time.Now()
		defer func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.locked = max(d.locked, time.Since(begin))
		}()
		return fn(&distantWriteTx{tx, d})
	})
}

type distantTx struct {
	storage.ReadTx
	by    *distant
	calls int64
}

func (t *distantTx) call() error {
	t.calls++
	t.by.mu.Lock()
	t.by.longest = max(t.by.longest, t.calls)
	t.by.mu.Unlock()
	return t.by.call()
}

func (t *distantTx) Get(k *storage.Kind, s storage.Scope, id string) (storage.Record, error) {
	if err := t.call(); err != nil {
		return storage.Record{}, err
	}
	return t.ReadTx.Get(k, s, id)
}

func (t *distantTx) List(k *storage.Kind, q storage.Query) ([]storage.Record, error) {
	if err := t.call(); err != nil {
		return nil, err
	}
	return t.ReadTx.List(k, q)
}

func (t *distantTx) Balances(after string, limit int) ([]storage.Balance, error) {
	if err := t.call(); err != nil {
		return nil, err
	}
	return t.ReadTx.Balances(after, limit)
}

func (t *distantTx) Entries(account string, before int64, limit int) ([]storage.Entry, error) {
	if err := t.call(); err != nil {
		return nil, err
	}
	return t.ReadTx.Entries(account, before, limit)
}

// FirstEntries is one round trip, as in the SQL stores.
func (t *distantTx) FirstEntries(accounts []string, upTo int64) (all []storage.Entry, err error) {
	if err := t.call(); err != nil {
		return nil, err
	}
	found, err := storage.FirstEntries(t.ReadTx, accounts, upTo)
	for _, account := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[account]...)
	}
	return all, err
}

// distantWriteTx delays each read. It buffers writes until the commit.
type distantWriteTx struct {
	storage.Tx
	by *distant
}

func (t *distantWriteTx) Get(k *storage.Kind, s storage.Scope, id string) (storage.Record, error) {
	if err := t.by.call(); err != nil {
		return storage.Record{}, err
	}
	return t.Tx.Get(k, s, id)
}

func (t *distantWriteTx) Entries(account string, before int64, limit int) ([]storage.Entry, error) {
	if err := t.by.call(); err != nil {
		return nil, err
	}
	return t.Tx.Entries(account, before, limit)
}

// town is the sealer over a ledger of many wallets.
type town struct {
	*party.Service
	store  *distant
	runner *work.Runner
}

func newTown(tb testing.TB, wallets int) *town {
	tb.Helper()
	d := &distant{Store: memory.New(), left: -1}
	must.Do(tb, d.Define(tb.Context(), append(engine.Kinds(), party.Kinds()...)...))
	e := &engine.Engine{
		Store: d, Clock: time.Now, NewID: ids.New(time.Now, nil).Make,
		Log: slog.New(slog.DiscardHandler), Runner: new(work.Runner), ServerKeys: [][]byte{make([]byte, 32)},
	}
	inside := party.New(e, party.Config{})
	w := &town{inside, d, &work.Runner{Store: d, Clock: time.Now, Log: e.Log, Poll: time.Second}}
	w.runner.Add(inside.Jobs()[0])
	w.post(tb, 0, wallets)
	must.Do(tb, inside.Prepare(tb.Context()))
	return w
}

var posted atomic.Int64

// post books an entry in each of some wallets.
func (w *town) post(tb testing.TB, from, until int) {
	tb.Helper()
	for ; from < until; from += 1000 {
		must.Do(tb, w.store.Store.Update(tb.Context(), func(tx storage.Tx) error {
			for n := from; n < min(from+1000, until); n++ {
				err := tx.Post(storage.Posting{
					ID: fmt.Sprintf("txn_%012d", posted.Add(1)), Type: "test", At: time.Now(),
					Moves: []storage.Move{
						ledger.Wallet(fmt.Sprintf("acc_%09d", n), false).Move(1),
						ledger.Clearing(fmt.Sprintf("c%d", n/10_000), false).Move(-1),
					},
				})
				if err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

// sealed returns the number of entries that agree with their seals, and the problems that Verify
// found.
func (w *town) sealed(tb testing.TB) (open int64, problems []string) {
	tb.Helper()
	v := must.Get(w.Verify(tb.Context()))(tb)
	return v.Entries - v.Sealed, v.Problems
}

// run does the work that falls due during d, as the worker does that polls every second.
func (w *town) run(tb testing.TB, d time.Duration) {
	tb.Helper()
	for begin := time.Now(); time.Since(begin) < d; time.Sleep(time.Second) {
		must.Do(tb, w.runner.Drain(tb.Context()))
	}
}

// The sealer reaches the last of many accounts, though each round trip takes 2.8 ms. It does not
// start over after each lease, and spends almost nothing on sealed accounts.
func TestLastAccountIsSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const wallets = 30_000
		w := newTown(t, wallets)
		must.Get(w.Seal(t.Context()))(t)
		w.post(t, wallets-1, wallets)
		w.store.trip = 2800 * time.Microsecond
		w.run(t, 10*time.Minute)
		w.store.trip = 0
		if open, problems := w.sealed(t); open != 0 || len(problems) > 0 {
			t.Errorf("%d entries have no seal, %v", open, problems)
		}
	})
}

// wallets is the number of accounts in the tests of large ledgers: a few thousand, or
// PAYMENTS_TEST_ROWS.
func wallets(tb testing.TB) int {
	n, err := strconv.Atoi(os.Getenv("PAYMENTS_TEST_ROWS"))
	if err != nil {
		return 5000
	}
	return n
}

// A pass over sealed accounts takes two reads for a thousand of them. The worker reads new
// accounts together, so it seals a million of them in time. An account with new entries takes a
// few round trips. Only the writes of seals hold the write turn, and never for long.
func TestSealingTakesFewRoundTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := wallets(t)
		w := newTown(t, n)
		w.store.trip = 2800 * time.Microsecond
		measure := func(what string, each float64) {
			t.Helper()
			w.store.locked = 0
			calls, begin := w.store.calls.Load(), time.Now()
			must.Get(w.Seal(t.Context()))(t)
			calls = w.store.calls.Load() - calls
			took := time.Since(begin)
			t.Logf("%s: %d calls for %d accounts, %s, an Update at most %s", what, calls, n, took, w.store.locked)
			million := took * time.Duration(1_000_000/n)
			expect.True(t, million <= account.SealWithin/2 || w.store.single, "%s: a million accounts take %s, want half of the promise at most", what, million)
			most := int64(each*float64(n)) + 50
			expect.True(t, calls <= most, "%s: %d calls for %d accounts, want at most %d", what, calls, n, most)
			expect.True(t, w.store.locked <= 100*time.Millisecond, "%s: an Update took %s", what, w.store.locked)
		}
		measure("all accounts are new", 0.04)
		measure("nothing is new", 0.003)
		w.post(t, 0, n/100)
		measure("one in a hundred has a new entry", 0.03)
		w.post(t, n, 2*n)
		n, w.store.single = 2*n, true
		measure("half of the accounts are new, and entries are read of one at a time", 0.6)
		w.store.trip = 0
		if open, problems := w.sealed(t); open != 0 || len(problems) > 0 {
			t.Errorf("%d entries have no seal, %v", open, problems)
		}
	})
}

// A pass ends even though the store fails repeatedly, each time before the pass could finish.
func TestSealPassContinuesAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, 5000)
		for range 100 {
			w.store.left = 300
			_ = w.runner.Drain(t.Context()) // it fails, or has nothing to do
			time.Sleep(time.Minute)
		}
		w.store.left = -1
		if open, problems := w.sealed(t); open != 0 || len(problems) > 0 {
			t.Errorf("%d entries have no seal, %v", open, problems)
		}
	})
}

// The worker seals an account in parts if it has more entries than one transaction can seal.
func TestLargeAccountIsSealedInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, 0)
		for range 5000 {
			w.post(t, 7, 8)
		}
		w.run(t, 10*time.Minute)
		if open, problems := w.sealed(t); open != 0 || len(problems) > 0 {
			t.Errorf("%d entries have no seal, %v", open, problems)
		}
		expect.True(t, w.store.longest <= 200, "a View has %d calls", w.store.longest)
	})
}

// since is the largest possible age of an entry without a seal.
func (w *town) since(t *testing.T) time.Duration {
	t.Helper()
	var age time.Duration
	must.Do(t, w.store.Store.View(t.Context(), func(tx storage.ReadTx) error {
		at, err := w.Unsealed(tx)
		if err == nil && at != nil {
			age = time.Since(at.Time)
		}
		return err
	}))
	return age
}

// Verify reports entries that lack a seal after the deadline. The age of the oldest is known at
// any time.
func TestEntriesWithoutSealAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, 0)
		expect.Equal(t, w.since(t), 0, "the wait of the oldest, with nothing booked")
		w.run(t, time.Hour)
		w.post(t, 0, 3)
		// The worker stops.
		time.Sleep(account.SealWithin + time.Minute)
		if _, problems := w.sealed(t); len(problems) > 0 {
			t.Errorf("too early: %v", problems)
		}
		time.Sleep(time.Millisecond)
		w.post(t, 3, 4) // still within the deadline
		v := must.Get(w.Verify(t.Context()))(t)
		expect.Equal(t, v.Overdue, 6, "overdue")
		must.True(t, len(v.Problems) == 1, "%d are overdue: %q", v.Overdue, v.Problems)
		expect.True(t, strings.Contains(v.Problems[0], "6 entries have no seal"), "%d are overdue: %q", v.Overdue, v.Problems)
		if age := w.since(t); age < account.SealWithin+time.Minute {
			t.Errorf("the oldest has waited %s", age)
		}
		// The worker continues.
		for range 20 {
			w.run(t, time.Minute)
			if age := w.since(t); age > account.SealWithin {
				t.Errorf("the oldest has waited %s", age)
			}
		}
		if open, problems := w.sealed(t); open != 0 || len(problems) > 0 {
			t.Errorf("%d entries have no seal, %v", open, problems)
		}
	})
}

// write changes one of the sealer's records in the database.
func (w *town) write(t *testing.T, kind, id, data string) {
	t.Helper()
	for _, k := range party.Kinds() {
		if k.Name != kind {
			continue
		}
		must.Do(t, w.store.Store.Update(t.Context(), func(tx storage.Tx) error {
			r, err := tx.Get(k, storage.Scope{}, id)
			if err != nil {
				return err
			}
			r.Data = []byte(data)
			return tx.Replace(k, r)
		}))
		return
	}
	t.Fatal(kind)
}

// A record that the sealer cannot have written blocks the sealing of one account only. The age of
// that account's entries is reported.
func TestDamagedSealBlocksNoOtherAccount(t *testing.T) {
	name := ledger.Wallet("acc_000000001", false).Name
	for what, test := range map[string]struct{ kind, id, data, want string }{
		"a seal that cannot be read": {"seals", name + "#000000000000", `[]`, "the seal " + name + "#000000000000 cannot be read"},
		"a head that cannot be read": {"sealed_accounts", name, `[]`, "the record of how far it is sealed cannot be read"},
		"a head that counts too few": {"sealed_accounts", name, `{"entries":0}`, "2 entries have no seal"},
		"a seal without marks":       {"seals", name + "#000000000000", `{}`, "entry 1 is not the one that was sealed"},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTown(t, 3)
				w.run(t, 10*time.Minute)
				w.write(t, test.kind, test.id, test.data)
				w.post(t, 0, 3)
				w.run(t, time.Hour)
				open, problems := w.sealed(t)
				expect.True(t, open >= 1 && open <= 2, "%d have no seal, %q", open, problems)
				expect.True(t, strings.Contains(strings.Join(problems, "; "), test.want), "%d have no seal, %q", open, problems)
				age := w.since(t)
				expect.True(t, age >= 50*time.Minute, "the oldest has waited %s", age)
			})
		})
	}
}

// Verify finds no problem in a sound ledger while others write, and none of its Views lasts long.
func TestVerifyReadsBesideTraffic(t *testing.T) {
	w := newTown(t, 3000)
	must.Get(w.Seal(t.Context()))(t)
	for range 1500 {
		w.post(t, 3000, 3001)
	}
	n := 0
	w.store.longest, w.store.between = 0, func() {
		n += 7
		w.post(t, n%3000, n%3000+5)
		w.post(t, 3000+n, 3001+n)
		w.post(t, 3000, 3001)
		if n%3 == 0 {
			w.store.between = func() {} // Seal reads as well
			expect.NoError(t, testkit.Err(w.Seal(t.Context())), "Seal")
		}
	}
	traffic := w.store.between
	v, err := w.VerifyWithProgress(t.Context(), func(account.Verification) { w.store.between = traffic })
	must.Do(t, err)
	expect.Equal(t, len(v.Problems), 0, "number of problems")
	expect.True(t, v.Accounts >= 3002, "%+v, %v", v, err)
	expect.True(t, v.Sealed >= 6000, "%+v, %v", v, err)
	expect.True(t, w.store.longest <= 250, "a View has %d calls", w.store.longest)
}

// Workers and hosts that seal concurrently, during bookings, leave a sound chain.
func TestConcurrentSealersKeepOneChain(t *testing.T) {
	w := newTown(t, 300)
	e := &engine.Engine{Store: w.store.Store, Clock: time.Now, Log: slog.New(slog.DiscardHandler), ServerKeys: [][]byte{make([]byte, 32)}}
	plain := party.New(e, party.Config{})
	must.Do(t, plain.Prepare(t.Context()))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				expect.NoError(t, testkit.Err(plain.Seal(t.Context())), "Seal")
			}
		})
	}
	for range 40 {
		w.post(t, 0, 300)
	}
	all.Wait()
	must.Get(w.Seal(t.Context()))(t)
	if open, problems := w.sealed(t); open != 0 || len(problems) > 0 {
		t.Errorf("%d entries have no seal, %v", open, problems)
	}
}
