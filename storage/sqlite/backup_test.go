package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

// inspectBackup opens a backup as a store and returns the number of payments that
// it holds. Every payment must be there whole, and every balance must be the sum
// of its entries.
func inspectBackup(t *testing.T, path string) int64 {
	t.Helper()
	s := openAt(t, path, Config{})
	must.Do(t, s.Define(t.Context(), notes))
	var checked string
	if _, err := s.writer.conn.queryRow("PRAGMA integrity_check", nil, &checked); err != nil || checked != "ok" {
		t.Errorf("integrity_check of the backup: %s, %v", checked, err)
	}
	var payments int64
	must.Do(t, s.View(t.Context(), func(tx storage.ReadTx) error {
		made := map[string]bool{}
		records, err := tx.List(notes, storage.Query{Scope: scope, Limit: 100_000})
		if err != nil {
			return err
		}
		for _, r := range records {
			if number, ok := strings.CutPrefix(r.ID, "p"); ok {
				made[number] = true
			}
		}
		payments = int64(len(made))
		sums := map[string]int64{}
		for after := ""; ; {
			batch, err := tx.Postings(after, 500)
			if err != nil {
				return err
			}
			if len(batch) == 0 {
				break
			}
			for _, p := range batch {
				number := strings.TrimPrefix(p.ID, "pst_")
				expect.True(t, made[number], "posting %s is in the backup without its note", p.ID)
				delete(made, number)
				for _, e := range p.Entries {
					sums[e.Account] += e.Amount
				}
			}
			after = batch[len(batch)-1].ID
		}
		expect.True(t, len(made) == 0, "%d notes are in the backup without their postings", len(made))
		balances, err := tx.Balances("", 10)
		if err != nil {
			return err
		}
		for _, b := range balances {
			if b.Amount != sums[b.Account] {
				t.Errorf("%s has the balance %d, and its entries add up to %d", b.Account, b.Amount, sums[b.Account])
			}
		}
		expect.Equal(t, len(balances), len(sums), "%d balances, entries of %d accounts", len(balances), len(sums))
		return nil
	}))
	postPayment(t, s, 90_000_000, 1) // the copy continues the numbering
	return payments
}

// payment writes a note and a posting, which are six rows.
func payment(tx storage.Tx, i int64) error {
	if err := tx.Insert(notes, note(fmt.Sprintf("p%08d", i))); err != nil {
		return err
	}
	return tx.Post(storage.Posting{
		ID: fmt.Sprintf("pst_%08d", i), Type: "payment", Ref: "pay_1", At: noon,
		Moves: []storage.Move{{Account: "wallet", Guarded: true, Amount: 1}, {Account: "cash", Amount: -1}},
	})
}

// postPayment makes n payments, with numbers from the given one on, in one update.
func postPayment(t *testing.T, s *Store, number, n int64) {
	err := s.Update(t.Context(), func(tx storage.Tx) error {
		for i := range n {
			if err := payment(tx, number+i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// openLarge opens a store with so many pages that a backup takes several steps, and
// with 20 payments.
func openLarge(t *testing.T) *Store {
	t.Helper()
	s := openNotes(t, Config{})
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
		for i := range 3 * backupStepPages {
			n := note(fmt.Sprint("n", i))
			n.Data = []byte(`"` + strings.Repeat("x", 4000) + `"`)
			if err := tx.Insert(notes, n); err != nil {
				return err
			}
		}
		return nil
	}))
	postPayment(t, s, 0, 20)
	return s
}

// TestBackupBesideWriters takes backups while updates are made, one of them in
// each pause between two steps of the copy.
func TestBackupBesideWriters(t *testing.T) {
	s := openLarge(t)
	made := int64(20)
	for i := range 3 {
		path := filepath.Join(effort.TempDir(t), "backup.db")
		before, steps, last := made, 0, int64(0)
		ctx, cancel := context.WithCancel(t.Context())
		err := s.Backup(ctx, path, func(p storage.Progress) {
			expect.Equal(t, p.What, "pages", "progress: what")
			expect.True(t, p.Done > last, "progress %+v after %d", p, last)
			last = p.Done
			if steps++; steps == 100 {
				cancel() // it starts over after each update
			}
			postPayment(t, s, made, 1)
			made++
		})
		cancel()
		must.Do(t, err)
		must.True(t, steps >= 2, "the backup had %d steps, want several", steps)
		onlyFile(t, filepath.Dir(path), "backup.db")
		if got := inspectBackup(t, path); got != before {
			t.Errorf("backup %d holds %d payments, want the %d that were made before it", i, got, before)
		}
		info := must.Get(os.Stat(path))(t)
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("mode is %o, want 600", got)
		}
	}
}

// TestBackupHoldsWhatWasAcknowledged has writers without a pause.
func TestBackupHoldsWhatWasAcknowledged(t *testing.T) {
	s := openLarge(t)
	const before = 20
	var mu sync.Mutex
	begun, acknowledged := int64(before), int64(before)
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				mu.Lock()
				number := begun
				begun++
				mu.Unlock()
				postPayment(t, s, number, 1)
				mu.Lock()
				acknowledged++
				mu.Unlock()
			}
		})
	}
	path := effort.TempDir(t)
	var least, most []int64
	for i := range 3 {
		postPayment(t, s, int64(1_000_000+i), 1) // so that there is something
		mu.Lock()
		least = append(least, acknowledged+int64(i)+1)
		mu.Unlock()
		expect.NoError(t, s.Backup(t.Context(), filepath.Join(path, fmt.Sprint(i)), nil), "Backup")
		mu.Lock()
		most = append(most, begun+int64(i)+1)
		mu.Unlock()
	}
	close(stop)
	writers.Wait()
	for i := range 3 {
		if got := inspectBackup(t, filepath.Join(path, fmt.Sprint(i))); got < least[i] || got > most[i] {
			t.Errorf("backup %d holds %d payments; %d were acknowledged before it and %d begun when it ended", i, got, least[i], most[i])
		}
	}
}

// TestWriterDoesNotWaitForBackups checks that a backup delays the restart of a long log, and
// never the writer.
func TestWriterDoesNotWaitForBackups(t *testing.T) {
	s := openLarge(t)
	s.checkpointer.interval, s.checkpointer.maxLogPages = 1, 1
	s.checkpointer.inBackground.Store(true) // stands for a checkpoint in a goroutine
	next := int64(20)
	checkpoints := func() int64 {
		before := s.Stats().Checkpoints
		postPayment(t, s, next, 1)
		next++
		return s.Stats().Checkpoints - before
	}
	must.Do(t, s.Backup(t.Context(), filepath.Join(effort.TempDir(t), "backup.db"), func(storage.Progress) {
		if got := checkpoints(); got != 0 {
			t.Errorf("the writer made %d checkpoints beside a backup", got)
		}
	}))
	if got := checkpoints(); got != 1 {
		t.Errorf("the writer made %d checkpoints after the backup, want 1", got)
	}
	s.checkpointer.inBackground.Store(false)
}

func TestCancelledBackupLeavesNothing(t *testing.T) {
	s := openLarge(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	directory := effort.TempDir(t)
	expect.ErrorIs(t, s.Backup(ended, filepath.Join(directory, "backup.db"), nil), context.Canceled, "with an ended context")
	onlyFile(t, directory, "")
	ctx, cancel := context.WithCancel(t.Context())
	steps := 0
	err := s.Backup(ctx, filepath.Join(directory, "backup.db"), func(storage.Progress) {
		steps++
		cancel()
	})
	expect.True(t, errors.Is(err, context.Canceled), "cancelled in the first of %d steps: %v", steps, err)
	expect.Equal(t, steps, 1, "cancelled in the first: number of steps")
	onlyFile(t, directory, "")
	expect.NoError(t, s.Backup(t.Context(), filepath.Join(directory, "backup.db"), nil), "repeated")
	if got := inspectBackup(t, filepath.Join(directory, "backup.db")); got != 20 {
		t.Errorf("the repeated backup holds %d payments, want 20", got)
	}
}

func TestBackupRefusesUnusablePaths(t *testing.T) {
	s := openNotes(t, Config{})
	directory := effort.TempDir(t)
	taken := filepath.Join(directory, "taken.db")
	must.Do(t, os.WriteFile(taken, []byte("precious"), 0o600))
	err := s.Backup(t.Context(), taken, nil)
	expect.True(t, errors.Is(err, storage.ErrExists), "onto a file: %v, want ErrExists that names it", err)
	expect.True(t, strings.Contains(err.Error(), taken), "onto a file: %v, want ErrExists that names it", err)
	if kept, err := os.ReadFile(taken); err != nil || string(kept) != "precious" {
		t.Errorf("the file holds %q now, %v", kept, err)
	}
	// A file that appears during the backup stays, too.
	late := filepath.Join(directory, "late.db")
	err = s.Backup(t.Context(), late, func(storage.Progress) {
		expect.NoError(t, os.WriteFile(late, []byte("late"), 0o600), "WriteFile")
	})
	expect.True(t, errors.Is(err, storage.ErrExists), "onto a file that came meanwhile: %v, want ErrExists", err)
	if kept, err := os.ReadFile(late); err != nil || string(kept) != "late" {
		t.Errorf("the file that came meanwhile holds %q now, %v", kept, err)
	}
	onlyFile(t, directory, "late.db taken.db")
	expect.ErrorIs(t, s.Backup(t.Context(), filepath.Join(directory, "none", "x.db"), nil), os.ErrNotExist, "into a missing directory")
	expect.ErrorIs(t, s.Backup(t.Context(), ":memory:", nil), storage.ErrInvalid, "into memory")
	must.Do(t, s.Close())
	expect.ErrorIs(t, s.Backup(t.Context(), filepath.Join(directory, "closed.db"), nil), storage.ErrClosed, "after Close")
}

// onlyFile checks the names in a directory, in ascending order.
func onlyFile(t *testing.T, directory, want string) {
	t.Helper()
	entries := must.Get(os.ReadDir(directory))(t)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	expect.Equal(t, strings.Join(names, " "), want, "the directory holds")
}
