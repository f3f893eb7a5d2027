package sqlite_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

var (
	scope = storage.Scope{Merchant: "mer_1", Live: true}
	noon  = time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)
)

var notes = &storage.Kind{
	Name: "notes",
	Columns: []storage.Column{
		{Name: "status", Type: storage.Text, OneOf: []string{"open", "done"}, Indexed: true},
		{Name: "reference", Type: storage.Text, Null: true},
		{Name: "due_at", Type: storage.Time, Null: true},
	},
	Keys: []storage.Key{{Name: "reference", Columns: []string{"reference"}}},
	Due:  "due_at",
}

// open opens a new store that knows a kind.
func open(b *testing.B, path string, kind *storage.Kind) *sqlite.Store {
	s := must.Get(sqlite.Open(b.Context(), path, sqlite.Config{}))(b)
	b.Cleanup(func() { must.Do(b, s.Close()) })
	must.Do(b, s.Define(b.Context(), kind))
	return s
}

// payment writes a note and a posting, which are six rows.
func payment(tx storage.Tx, i int64) error {
	note := storage.Record{Scope: scope, ID: fmt.Sprintf("p%08d", i), Version: 1, Columns: []any{"open", nil, nil}, Data: []byte(`{"text":"note"}`)}
	if err := tx.Insert(notes, note); err != nil {
		return err
	}
	return tx.Post(storage.Posting{
		ID: fmt.Sprintf("pst_%08d", i), Type: "payment", Ref: "pay_1", At: noon,
		Moves: []storage.Move{{Account: "wallet", Guarded: true, Amount: 1}, {Account: "cash", Amount: -1}},
	})
}

// BenchmarkBackup copies a database of 26 MB while 16 callers make payments that wait for the
// disk. It reports the time of an update during the backup, and without one for as long.
func BenchmarkBackup(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "test.db"), notes)
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
