package storagetest_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/race"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/storage/storagetest"
)

// handle is a store whose in-memory database outlives it. Each part that is set replaces a
// correct behaviour with a wrong one.
type handle struct {
	database *memory.Store
	define   func(ctx context.Context, s storage.Store, kinds []*storage.Kind) error
	reads    func(tx readTx) storage.ReadTx
	writes   func(tx writeTx) storage.Tx

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// readTx and writeTx are the transactions of a memory store, so that a mutant can
// replace one method.
type (
	readTx  = storage.ReadTx
	writeTx = storage.Tx
)

func (h *handle) enter() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return storage.ErrClosed
	}
	h.running.Add(1)
	return nil
}

func (h *handle) Define(ctx context.Context, kinds ...*storage.Kind) error {
	if err := h.enter(); err != nil {
		return err
	}
	defer h.running.Done()
	if h.define != nil {
		return h.define(ctx, h.database, kinds)
	}
	return h.database.Define(ctx, kinds...)
}

func (h *handle) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	if err := h.enter(); err != nil {
		return err
	}
	defer h.running.Done()
	return h.database.View(ctx, func(tx storage.ReadTx) error {
		if h.reads != nil {
			tx = h.reads(tx)
		}
		return fn(tx)
	})
}

func (h *handle) Update(ctx context.Context, fn func(storage.Tx) error) error {
	if err := h.enter(); err != nil {
		return err
	}
	defer h.running.Done()
	return h.database.Update(ctx, func(tx storage.Tx) error {
		if h.writes != nil {
			tx = h.writes(tx)
		}
		return fn(tx)
	})
}

func (h *handle) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.running.Wait()
	return nil
}

// run runs the suite; each handle is prepared after it was opened.
func run(t *testing.T, prepare func(h *handle, reopened bool)) {
	var database *memory.Store
	reopen := func(reopened bool) storage.Store {
		h := &handle{database: database}
		prepare(h, reopened)
		return h
	}
	storagetest.Run(t, func(*testing.T) storage.Store {
		database = memory.New()
		return reopen(false)
	}, storagetest.Reopens(func(*testing.T) storage.Store { return reopen(true) }))
}

// A correct store passes, over several handles, too.
func TestSuitePassesCorrectStore(t *testing.T) { run(t, func(*handle, bool) {}) }

// The parts that mutants replace.
type (
	staleReads struct {
		readTx
		kept map[string]storage.Record
	}
	ownSequences struct {
		writeTx
		last map[string]int64
	}
	noLeases      struct{ writeTx }
	noKeys        struct{ writeTx }
	committedScan struct {
		writeTx
		database storage.Store
	}
	testModeScan      struct{ readTx }
	unorderedNames    struct{ readTx }
	sequencesNotSet   struct{ writeTx }
	placesByID        struct{ readTx }
	forgottenPlaces   struct{ readTx }
	givesOwnNumbers   struct{ writeTx }
	pagesWithoutScope struct{ readTx }
)

func (tx staleReads) Get(k *storage.Kind, s storage.Scope, id string) (storage.Record, error) {
	if r, ok := tx.kept[k.Name+id]; ok {
		r.Columns = slices.Clone(r.Columns)
		return r, nil
	}
	r, err := tx.readTx.Get(k, s, id)
	if err == nil {
		tx.kept[k.Name+id] = r
	}
	return r, err
}

func (tx ownSequences) Next(name string) (int64, error) {
	tx.last[name]++
	return tx.last[name], nil
}

func (tx noLeases) Claim(k *storage.Kind, c storage.Claim) ([]storage.Record, error) {
	c.Now = c.Now.Add(time.Hour)
	return tx.writeTx.Claim(k, c)
}

func (tx noKeys) Insert(k *storage.Kind, r storage.Record) error {
	if err := tx.writeTx.Insert(k, r); !errors.Is(err, storage.ErrExists) {
		return err
	}
	return nil
}

func (tx committedScan) Scan(k *storage.Kind, after storage.Scope, id string, limit int) (all []storage.Record, err error) {
	err = tx.database.View(context.Background(), func(before storage.ReadTx) error {
		all, err = before.Scan(k, after, id, limit)
		return err
	})
	return all, err
}

func (tx testModeScan) Scan(k *storage.Kind, after storage.Scope, id string, limit int) ([]storage.Record, error) {
	all, err := tx.readTx.Scan(k, after, id, limit)
	return slices.DeleteFunc(all, func(r storage.Record) bool { return r.Scope.Live }), err
}

func (tx pagesWithoutScope) Scan(k *storage.Kind, _ storage.Scope, id string, limit int) ([]storage.Record, error) {
	return tx.readTx.Scan(k, storage.Scope{}, id, limit)
}

func (tx unorderedNames) Sequences(after string, limit int) ([]storage.Sequence, error) {
	all, err := tx.readTx.Sequences(after, limit)
	slices.Reverse(all)
	return all, err
}

func (sequencesNotSet) SetSequence(string, int64) error { return nil }

func (tx placesByID) List(k *storage.Kind, q storage.Query) ([]storage.Record, error) {
	all, err := tx.readTx.List(k, q)
	slices.SortFunc(all, func(a, b storage.Record) int { return strings.Compare(b.ID, a.ID) })
	return all, err
}

func (tx forgottenPlaces) List(k *storage.Kind, q storage.Query) ([]storage.Record, error) {
	q.Number = 0
	return tx.readTx.List(k, q)
}

func (tx givesOwnNumbers) Insert(k *storage.Kind, r storage.Record) error {
	r.Number = 0
	return tx.writeTx.Insert(k, r)
}

// tolerates ignores an error of Define.
func tolerates(of error) func(*handle, bool) {
	return func(h *handle, _ bool) {
		h.define = func(ctx context.Context, s storage.Store, kinds []*storage.Kind) error {
			if err := s.Define(ctx, kinds...); !errors.Is(err, of) {
				return err
			}
			return nil
		}
	}
}

// mutants are stores with one error each, and the test that finds it.
var mutants = map[string]struct {
	prepare func(h *handle, reopened bool)
	fails   string
}{
	"forgets on Close": {func(h *handle, reopened bool) {
		if reopened {
			h.database = memory.New()
		}
	}, "reopening/committed data is there"},
	"begins its sequences again": {func(h *handle, reopened bool) {
		last := map[string]int64{}
		if reopened {
			h.writes = func(tx writeTx) storage.Tx { return ownSequences{tx, last} }
		}
	}, "reopening/again and again"},
	"forgets leases": {func(h *handle, reopened bool) {
		if reopened {
			h.writes = func(tx writeTx) storage.Tx { return noLeases{tx} }
		}
	}, "reopening/committed data is there"},
	"remembers what it read": {func(h *handle, _ bool) {
		kept := map[string]storage.Record{}
		h.reads = func(tx readTx) storage.ReadTx { return staleReads{tx, kept} }
	}, "two stores/each sees the other's commits"},
	"checks keys in one handle": {func(h *handle, reopened bool) {
		if reopened {
			h.writes = func(tx writeTx) storage.Tx { return noKeys{tx} }
		}
	}, "two stores/one goes on when the other closes"},
	"claims in one handle": {func(h *handle, reopened bool) {
		if reopened {
			h.writes = func(tx writeTx) storage.Tx { return noLeases{tx} }
		}
	}, "alternating stores/claims/concurrent claims do not overlap"},
	"scans what was before": {func(h *handle, _ bool) {
		h.writes = func(tx writeTx) storage.Tx { return committedScan{tx, h.database} }
	}, "scans/a scan sees the transaction's own"},
	"scans test mode": {func(h *handle, _ bool) {
		h.reads = func(tx readTx) storage.ReadTx { return testModeScan{tx} }
	}, "scans/every record once, in one order"},
	"pages by id alone": {func(h *handle, _ bool) {
		h.reads = func(tx readTx) storage.ReadTx { return pagesWithoutScope{tx} }
	}, "scans/every record once, in one order"},
	"lists sequences in no order": {func(h *handle, _ bool) {
		h.reads = func(tx readTx) storage.ReadTx { return unorderedNames{tx} }
	}, "scans/sequences page by name"},
	"lists an ordered kind by id": {func(h *handle, _ bool) {
		h.reads = func(tx readTx) storage.ReadTx { return placesByID{tx} }
	}, "order/the order of commits, not that of ids"},
	"reads the place of a cursor from its record": {func(h *handle, _ bool) {
		h.reads = func(tx readTx) storage.ReadTx { return forgottenPlaces{tx} }
	}, "order/a cursor outlives its record"},
	"gives numbers to records that have one": {func(h *handle, _ bool) {
		h.writes = func(tx writeTx) storage.Tx { return givesOwnNumbers{tx} }
	}, "order/a given number is kept"},
	"sets no sequence": {func(h *handle, _ bool) {
		h.writes = func(tx writeTx) storage.Tx { return sequencesNotSet{tx} }
	}, "scans/SetSequence sets the last number"},
	"runs under an older declaration": {tolerates(storage.ErrNewer), "growth/an older declaration is refused"},
	"changes what was declared":       {tolerates(storage.ErrInvalid), "growth/any other change is refused"},
	"lets records share a new key":    {tolerates(storage.ErrExists), "growth/a unique key"},
	"grows by columns alone": {func(h *handle, _ bool) {
		columns := map[string]int{}
		h.define = func(ctx context.Context, s storage.Store, kinds []*storage.Kind) error {
			for _, k := range kinds {
				if n, ok := columns[k.Name]; ok && n == len(k.Columns) {
					continue
				}
				if err := s.Define(ctx, k); err != nil {
					return err
				}
				columns[k.Name] = len(k.Columns)
			}
			return nil
		}
	}, "growth/a value of OneOf"},
	"defines one kind after the other": {func(h *handle, _ bool) {
		h.define = func(ctx context.Context, s storage.Store, kinds []*storage.Kind) error {
			for _, k := range kinds {
				if err := s.Define(ctx, k); err != nil {
					return err
				}
			}
			return nil
		}
	}, "growth/one kind that fails changes no other"},
}

// mutantVariable names the mutant for which a process runs the suite.
const mutantVariable = "PAYMENTS_TEST_MUTANT"

// TestMutant is the process that TestMutants starts. It must fail, because the suite finds the
// mutant.
func TestMutant(t *testing.T) {
	switch name := os.Getenv(mutantVariable); name {
	case "":
		t.Skip("it is run by TestMutants")
	case "says nothing":
		storagetest.Run(t, func(*testing.T) storage.Store { return memory.New() })
	default:
		run(t, mutants[name].prepare)
	}
}

func TestMutants(t *testing.T) {
	if race.Detector {
		t.Skip("it starts many processes, and a mutant is no less wrong there")
	}
	fails := func(name, only string) string {
		only = strings.NewReplacer(" ", "_", "'", ".").Replace(only)
		pattern := "^TestMutant$"
		for part := range strings.SplitSeq(only, "/") {
			pattern += "/^" + part + "$"
		}
		cmd := exec.Command(os.Args[0], "-test.run", pattern)
		cmd.Env = append(os.Environ(), mutantVariable+"="+name)
		out, err := cmd.CombinedOutput()
		expect.True(t, err != nil, "a store that %s passes %s", name, only)
		return string(out)
	}
	for _, name := range slices.Sorted(maps.Keys(mutants)) {
		mutant := mutants[name]
		if out := fails(name, mutant.fails); !strings.Contains(out, "--- FAIL: TestMutant/"+strings.ReplaceAll(mutant.fails, " ", "_")) {
			t.Errorf("a store that %s: %s does not find it:\n%s", name, mutant.fails, out)
		}
	}
	if out := fails("says nothing", "none"); !strings.Contains(out, "Reopens") {
		t.Errorf("a store that says nothing of Close: %s", out)
	}
}
