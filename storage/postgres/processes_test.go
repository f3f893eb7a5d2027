package postgres_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// The variables with which the test starts itself as another process.
const (
	workerURL    = "PAYMENTS_TEST_WORKER_URL"
	workerSchema = "PAYMENTS_TEST_WORKER_SCHEMA"
)

func TestMain(m *testing.M) {
	if os.Getenv(workerURL) == "" {
		// The parallel tests wait for servers and timeouts, not for processors.
		if err := flag.Set("test.parallel", "8"); err != nil {
			panic(err)
		}
		goleak.VerifyTestMain(m)
		return
	}
	do := work
	if began := os.Getenv(workerHooks); began != "" {
		do = func(url, schema string) error { return deliver(url, schema, began) }
	}
	if err := do(os.Getenv(workerURL), os.Getenv(workerSchema)); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

const (
	accounts  = 8
	tasks     = 60
	leaseTime = 400 * time.Millisecond // the lease of a task
)

// Several processes move money, count and do due work on one database. The test kills and
// replaces each now and then. No acknowledged write is lost, nothing is done twice, and
// another process takes over the work of a killed one.
func TestKilledWritersLoseNothing(t *testing.T) {
	for _, processes := range effort.Of([]int{3}, []int{2, 4}) {
		t.Run(fmt.Sprint(processes), func(t *testing.T) { severalProcesses(t, processes) })
	}
}

func severalProcesses(t *testing.T, processes int) {
	url, schema := pgtest.URL(t), pgtest.Schema(t)
	store := openNotes(t, pgtest.Pool(t, 4), postgres.Config{Schema: schema})
	must.Do(t, store.Update(t.Context(), func(tx storage.Tx) error {
		for i := range accounts {
			p := transfer(fmt.Sprint("begin", i))
			p.Moves = []storage.Move{{Account: accountName(i), Guarded: true, Amount: 20}, {Account: "open/from", Amount: -20}}
			if err := tx.Post(p); err != nil {
				return err
			}
		}
		for i := range tasks {
			task := note(fmt.Sprintf("task_%03d", i))
			task.Columns = []any{int64(0), time.Unix(0, 0)}
			if err := tx.Insert(notes, task); err != nil {
				return err
			}
		}
		counter := note("counter")
		counter.Columns[0] = int64(0)
		return tx.Insert(notes, counter)
	}))

	told := &reports{ids: map[string]bool{}}
	var workers []*worker
	for range processes {
		workers = append(workers, newWorker(t, url, schema, told))
	}
	deadline := time.Now().Add(time.Minute)
	for kills := 0; ; {
		told.await(t, 30) // since the last kill
		if kills < 6 {
			kills++
			i := rand.IntN(processes)
			workers[i].kill(t)
			workers[i] = newWorker(t, url, schema, told)
			continue
		}
		if tasksDone(t, store) == tasks {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d tasks were done", tasksDone(t, store), tasks)
		}
	}
	for _, w := range workers {
		w.end(t)
	}

	must.Do(t, store.View(t.Context(), func(tx storage.ReadTx) error {
		for id := range told.ids {
			if _, err := tx.Get(notes, scope, id); err != nil {
				t.Errorf("%s, which was reported, is lost: %v", id, err)
			}
		}
		written, counter := 0, int64(0)
		for after := ""; ; {
			page, err := tx.List(notes, storage.Query{Scope: scope, Limit: 500, After: after})
			if err != nil {
				return err
			}
			for _, r := range page {
				switch size := r.Columns[0].(int64); {
				case r.ID == "counter":
					counter = size
				case r.ID[:5] == "task_":
					expect.Equal(t, size, 1, "%s was done %d times", r.ID, size)
				default:
					written++
				}
			}
			if len(page) < 500 {
				break
			}
			after = page[len(page)-1].ID
		}
		expect.Equal(t, int64(written), counter, "written")
		expect.True(t, written >= len(told.ids), "%d calls were written, %d counted, %d reported", written, counter, len(told.ids))
		all, err := tx.Balances("", 100)
		if err != nil {
			return err
		}
		var total, entries int64
		for _, b := range all {
			total += b.Amount
			entries += b.Entries
			expect.True(t, !b.Guarded || b.Amount >= 0, "%s is at %d", b.Account, b.Amount)
		}
		expect.Equal(t, total, 0, "balances add up")
		expect.Equal(t, entries, 2*int64(written+accounts), "number of entries")
		return nil
	}))
}

func accountName(i int) string { return fmt.Sprint("guarded/", i) }

func tasksDone(t *testing.T, s storage.Store) (done int) {
	t.Helper()
	must.Do(t, s.View(t.Context(), func(tx storage.ReadTx) error {
		for i := range tasks {
			r, err := tx.Get(notes, scope, fmt.Sprintf("task_%03d", i))
			if err != nil {
				return err
			}
			if r.Columns[0] == any(int64(1)) {
				done++
			}
		}
		return nil
	}))
	return done
}

// work runs a worker until its input ends.
func work(url, schema string) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until it ends, however it does
		cancel()
	}()
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	store, err := postgres.Open(ctx, pool, postgres.Config{Schema: schema})
	if err == nil {
		err = store.Define(ctx, notes)
	}
	if ctx.Err() != nil {
		return nil // its input ended before it began
	}
	if err != nil {
		return err
	}
	var out sync.Mutex
	var all sync.WaitGroup
	failed := make(chan error, 8)
	for c := range 4 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				id := fmt.Sprintf("call_%d_%d_%d", os.Getpid(), c, n)
				err := call(ctx, store, id)
				if errors.Is(err, storage.ErrInsufficient) || ctx.Err() != nil {
					continue
				}
				if err != nil {
					failed <- err
					return
				}
				out.Lock()
				fmt.Println(id)
				out.Unlock()
			}
		})
	}
	all.Go(func() {
		for ctx.Err() == nil {
			if err := task(ctx, store); err != nil && ctx.Err() == nil {
				failed <- err
				return
			}
		}
	})
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// call counts, and moves money: all that must be kept together.
func call(ctx context.Context, s storage.Store, id string) error {
	return s.Update(ctx, func(tx storage.Tx) error {
		counter, err := tx.Get(notes, scope, "counter")
		if err != nil {
			return err
		}
		counter.Columns[0] = counter.Columns[0].(int64) + 1
		if err := tx.Replace(notes, counter); err != nil {
			return err
		}
		from := rand.IntN(accounts)
		p := transfer(id)
		amount := 1 + rand.Int64N(15)
		p.Moves = []storage.Move{
			{Account: accountName(from), Guarded: true, Amount: -amount},
			{Account: accountName((from + 1) % accounts), Guarded: true, Amount: amount},
		}
		if err := tx.Post(p); err != nil {
			return err
		}
		return tx.Insert(notes, note(id))
	})
}

// task claims a task and does it, if the worker is not killed in between.
func task(ctx context.Context, s storage.Store) error {
	now := time.Now()
	var claimed []storage.Record
	err := s.Update(ctx, func(tx storage.Tx) error {
		var err error
		claimed, err = tx.Claim(notes, storage.Claim{Due: now, Now: now, Lease: leaseTime, Limit: 2})
		return err
	})
	if err != nil {
		return err
	}
	for _, r := range claimed {
		err := s.Update(ctx, func(tx storage.Tx) error {
			done := r // fn may run again
			done.Columns = []any{r.Columns[0].(int64) + 1, nil}
			return tx.Replace(notes, done)
		})
		if err != nil && !errors.Is(err, storage.ErrConflict) { // the lease ran out
			return err
		}
	}
	return nil
}

// reports are the calls that processes report as done.
type reports struct {
	mu    sync.Mutex
	ids   map[string]bool
	lines []string // each as often as it was reported
}

func (r *reports) add(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids[id] = true
	r.lines = append(r.lines, id)
}

func (r *reports) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ids)
}

// await waits for this many further reports.
func (r *reports) await(t *testing.T, more int) {
	t.Helper()
	until, wanted := time.Now().Add(time.Minute), r.count()+more
	for r.count() < wanted {
		must.True(t, !time.Now().After(until), "the processes do nothing")
		time.Sleep(time.Millisecond) // other processes have no fake time
	}
}

type worker struct {
	cmd   *exec.Cmd
	input io.Closer
	read  chan struct{}
}

func newWorker(t *testing.T, url, schema string, told *reports) *worker {
	t.Helper()
	w := &worker{cmd: exec.Command(os.Args[0]), read: make(chan struct{})}
	w.cmd.Env = append(os.Environ(), workerURL+"="+url, workerSchema+"="+schema)
	w.cmd.Stderr = os.Stderr
	w.input = must.Get(w.cmd.StdinPipe())(t)
	out := must.Get(w.cmd.StdoutPipe())(t)
	must.Do(t, w.cmd.Start())
	go func() {
		defer close(w.read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			told.add(lines.Text())
		}
	}()
	return w
}

func (w *worker) kill(t *testing.T) {
	t.Helper()
	expect.NoError(t, w.cmd.Process.Kill(), "Kill")
	<-w.read
	_ = w.cmd.Wait() // it says that the process was killed
}

func (w *worker) end(t *testing.T) {
	t.Helper()
	expect.NoError(t, w.input.Close(), "Close")
	<-w.read
	expect.NoError(t, w.cmd.Wait(), "a worker ended with")
}
