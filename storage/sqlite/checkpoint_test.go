package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

func TestLogStaysBoundedUnderConstantWrites(t *testing.T) {
	path := filepath.Join(effort.TempDir(t), "test.db")
	s := openAt(t, path, Config{})
	must.Do(t, s.Define(t.Context(), notes))
	s.checkpointer.interval, s.checkpointer.maxLogPages = 50, 400
	const page, frame = 4096, 4096 + 24

	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				err := s.View(t.Context(), func(tx storage.ReadTx) error {
					_, err := tx.List(notes, storage.Query{Scope: scope, Limit: 5})
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for worker := range 4 {
		writers.Go(func() {
			for i := range 150 {
				r := note(fmt.Sprintf("n%d.%03d", worker, i))
				r.Data = make([]byte, 2*page)
				expect.NoError(t, s.Update(t.Context(), func(tx storage.Tx) error { return tx.Insert(notes, r) }), "Update")
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()

	info := must.Get(os.Stat(path + "-wal"))(t)
	// 600 inserts write some 3,000 pages. The log may exceed its limit by the writes between two
	// checks, and by one batch.
	if got, most := info.Size(), int64(1200*frame); got > most {
		t.Errorf("the log has %d bytes, want at most %d", got, most)
	}
	expect.True(t, s.Stats().Checkpoints != 0, "no checkpoint was made")
	expect.Equal(t, len(ids(t, s)), 600, "records, want 600")
}

// A long View blocks a checkpoint and not a writer.
func TestCheckpointWaitsForViewNotWriter(t *testing.T) {
	s := openNotes(t, Config{})
	s.checkpointer.interval, s.checkpointer.maxLogPages = 10, 20
	insert(t, s, "n0")
	must.Do(t, s.View(t.Context(), func(tx storage.ReadTx) error {
		if _, err := tx.Get(notes, scope, "n0"); err != nil {
			return err
		}
		for i := range 20 {
			insert(t, s, fmt.Sprintf("n1.%02d", i))
		}
		records, err := tx.List(notes, storage.Query{Scope: scope, Limit: 100})
		expect.Equal(t, len(records), 1, "the snapshot has %d records, want 1", len(records))
		return err
	}))
	expect.Equal(t, len(ids(t, s)), 21, "records, want 21")
}
