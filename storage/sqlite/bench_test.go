package sqlite

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage"
)

// fill inserts n notes in few transactions.
func fill(b *testing.B, s *Store, n int) {
	b.Helper()
	for i := 0; i < n; {
		err := s.Update(b.Context(), func(tx storage.Tx) error {
			for range min(1000, n-i) {
				if err := tx.Insert(notes, note(fmt.Sprintf("n%08d", i))); err != nil {
					return err
				}
				i++
			}
			return nil
		})
		must.Do(b, err)
	}
}

func BenchmarkGet(b *testing.B) {
	s := openNotes(b, Config{})
	fill(b, s, 10_000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		err := s.View(b.Context(), func(tx storage.ReadTx) error {
			_, err := tx.Get(notes, scope, fmt.Sprintf("n%08d", i*7919%10_000))
			return err
		})
		must.Do(b, err)
	}
}

func BenchmarkList100(b *testing.B) {
	s := openNotes(b, Config{})
	fill(b, s, 10_000)
	query := storage.Query{Scope: scope, Where: []storage.Equal{{Column: "status", Value: "open"}}, Limit: 100}
	b.ReportAllocs()
	for b.Loop() {
		err := s.View(b.Context(), func(tx storage.ReadTx) error {
			records, err := tx.List(notes, query)
			if len(records) != 100 {
				b.Fatalf("%d records", len(records))
			}
			return err
		})
		must.Do(b, err)
	}
}

// BenchmarkInsert is one Insert in a transaction of many, without its commit.
func BenchmarkInsert(b *testing.B) {
	s := openNotes(b, Config{})
	b.ReportAllocs()
	err := s.Update(b.Context(), func(tx storage.Tx) error {
		for i := 0; b.Loop(); i++ {
			if err := tx.Insert(notes, note(fmt.Sprintf("n%08d", i))); err != nil {
				return err
			}
		}
		return nil
	})
	must.Do(b, err)
}

// payment writes the records of one update in BenchmarkUpdate: a note and a posting, which are
// six rows.
func payment(tx storage.Tx, i int64) error {
	if err := tx.Insert(notes, note(fmt.Sprintf("p%08d", i))); err != nil {
		return err
	}
	return tx.Post(storage.Posting{
		ID: fmt.Sprintf("pst_%08d", i), Type: "payment", Ref: "pay_1", At: noon,
		Moves: []storage.Move{{Account: "wallet", Guarded: true, Amount: 1}, {Account: "cash", Amount: -1}},
	})
}

// BenchmarkUpdate has concurrent callers that each wait for the disk. of-limit compares them with
// a loop over the same writes, with as many updates in a commit. It is the loop's time divided by
// the store's; 1 is perfect. The loop has none of this package's reads, checks and waiting. The
// two take turns, so that other work of the disk slows both.
func BenchmarkUpdate(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			s, limit := openNotes(b, Config{}), newRawLoop(b)
			fill(b, s, 1000)
			before := s.Stats()
			turn := max(500, b.N/50)
			var ours, bare time.Duration
			b.ReportAllocs()
			b.ResetTimer()
			for done := 0; done < b.N; done += turn {
				begun, was := time.Now(), s.Stats()
				updates(b, s, callers, int64(done), int64(min(done+turn, b.N)))
				ours += time.Since(begun)
				b.StopTimer()
				now := s.Stats()
				size := (now.Updates - was.Updates) / max(1, now.Commits-was.Commits)
				bare += limit.run(b, done, min(done+turn, b.N), max(1, int(size)))
				b.StartTimer()
			}
			b.StopTimer()
			now := s.Stats()
			b.ReportMetric(float64(now.Updates-before.Updates)/float64(max(1, now.Commits-before.Commits)), "per-commit")
			b.ReportMetric(bare.Seconds()/ours.Seconds(), "of-limit")
		})
	}
}

// updates makes the payments with the numbers in [from, until).
func updates(b *testing.B, s *Store, callers int, from, until int64) {
	var next atomic.Int64
	next.Store(from)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < until; i = next.Add(1) - 1 {
				err := s.Update(b.Context(), func(tx storage.Tx) error { return payment(tx, i) })
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// account is a row of ledger_accounts.
type account struct{ id, balance, entries int64 }

// rawLoop makes the writes of updates with statements alone.
type rawLoop struct {
	conn         *conn
	insertNote   string
	wallet, cash account
}

func newRawLoop(b *testing.B) *rawLoop {
	b.Helper()
	s := openAt(b, filepath.Join(b.TempDir(), "bare.db"), Config{})
	must.Do(b, s.Define(b.Context(), notes))
	fill(b, s, 1000)
	must.Do(b, s.Update(b.Context(), func(tx storage.Tx) error { return payment(tx, 99_999_999) }))
	table, err := s.store.Table(notes)
	must.Do(b, err)
	w := &rawLoop{conn: s.writer.conn, insertNote: table.DriverSQL.(*tableSQL).insert[0]}
	must.Do(b, w.conn.script("PRAGMA wal_autocheckpoint = 1000"))
	for name, a := range map[string]*account{"wallet": &w.wallet, "cash": &w.cash} {
		must.Get(w.conn.queryRow("SELECT id, balance, entries FROM ledger_accounts WHERE name = ?", []any{name}, &a.id, &a.balance, &a.entries))(b)
	}
	return w
}

func (w *rawLoop) run(b *testing.B, from, until, size int) time.Duration {
	exec := func(query string, args ...any) {
		must.Get(w.conn.exec(query, args...))(b)
	}
	data := note("n00000000").Data
	begun := time.Now()
	for i := from; i < until; i++ {
		if (i-from)%size == 0 {
			exec("BEGIN IMMEDIATE")
		}
		posting := fmt.Sprintf("pst_%08d", i)
		exec(w.insertNote, scope.Merchant, scope.Live, fmt.Sprintf("p%08d", i), int64(1), int64(0),
			"open", int64(7), true, nil, nil, data)
		exec(insertPostingsSQL[0], posting, "payment", "pay_1", noon.UnixMilli())
		for _, a := range []*account{&w.wallet, &w.cash} {
			amount := int64(1)
			if a == &w.cash {
				amount = -1
			}
			a.balance += amount
			a.entries++
			exec(updateAccountSQL, a.balance, a.entries, a.id, a.entries-1)
			exec(insertEntriesSQL[0], a.id, a.entries, posting, amount, a.balance)
		}
		if (i-from)%size == size-1 || i == until-1 {
			exec("COMMIT")
		}
	}
	return time.Since(begun)
}

// BenchmarkBackup copies a database of 26 MB while 16 callers make payments that wait for the
// disk. It reports the time of an update during the backup, and without one for as long.
func BenchmarkBackup(b *testing.B) {
	s := openNotes(b, Config{})
	made := int64(0)
	for ; made < 100_000; made += 5000 {
		err := s.Update(b.Context(), func(tx storage.Tx) error {
			for i := range int64(5000) {
				if err := payment(tx, made+i); err != nil {
					return err
				}
			}
			return nil
		})
		must.Do(b, err)
	}
	var next atomic.Int64
	next.Store(made)
	// beside makes updates until fn returns, and returns their times.
	beside := func(fn func()) []time.Duration {
		var mu sync.Mutex
		var times []time.Duration
		var done atomic.Bool
		var callers sync.WaitGroup
		for range 16 {
			callers.Go(func() {
				for !done.Load() {
					begun := time.Now()
					if err := s.Update(b.Context(), func(tx storage.Tx) error { return payment(tx, next.Add(1)) }); err != nil {
						b.Error(err)
						return
					}
					mu.Lock()
					times = append(times, time.Since(begun))
					mu.Unlock()
				}
			})
		}
		fn()
		done.Store(true)
		callers.Wait()
		return times
	}
	var alone, during []time.Duration
	directory := b.TempDir()
	b.ResetTimer()
	for i := range b.N {
		begun := time.Now()
		during = append(during, beside(func() {
			if err := s.Backup(b.Context(), filepath.Join(directory, fmt.Sprint(i)), nil); err != nil {
				b.Error(err)
			}
		})...)
		took := time.Since(begun)
		b.StopTimer()
		alone = append(alone, beside(func() { time.Sleep(took) })...)
		b.StartTimer()
	}
	b.StopTimer()
	for name, times := range map[string][]time.Duration{"alone": alone, "beside": during} {
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-median-"+name)
		b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "ms-p99-"+name)
	}
}
