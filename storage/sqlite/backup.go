package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"modernc.org/sqlite"

	"github.com/seed-7082ffec/payments/storage"
)

const (
	backupStepPages = 256  // pages copied between two pauses
	backupSyncPages = 1024 // pages copied between two syncs
)

// Backup copies the open database to a new file, which only its owner can read. The copy
// is the database at one moment after the call: it holds every update that was
// acknowledged before the call, and each update whole or not at all. [Open] opens it like
// any database. Point path at another disk or copy the file away afterwards: a backup
// beside the database is lost with it.
//
// Updates and Views go on meanwhile. The write-ahead log grows by what they write, and
// restarts after the backup. Several backups may run at once.
//
// progress, if not nil, is called in the caller's goroutine about every MB with What
// "pages" and the number of copied pages, of 4096 bytes each.
//
// Backup writes to a temporary file beside path, syncs it to disk, and then renames it. A
// file that exists at path is [storage.ErrExists] and stays as it is. When Backup fails
// or ctx ends, it leaves no file, and the call may be repeated. After a crash, delete the
// files that end in ".partial".
func (s *Store) Backup(ctx context.Context, path string, progress func(storage.Progress)) error {
	file, err := resolvePath(path)
	if err != nil {
		return err
	}
	if err := s.store.Enter(); err != nil {
		return err
	}
	defer s.store.Leave()
	if progress == nil {
		progress = func(storage.Progress) {}
	}
	if err := s.backup(ctx, file, progress); err != nil {
		return fmt.Errorf("sqlite: backup: %w", err)
	}
	return nil
}

func (s *Store) backup(ctx context.Context, file string, progress func(storage.Progress)) error {
	if err := checkAbsent(file); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.partial")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name()) // fails after success
	err = s.copyPages(ctx, out, progress)
	if err == nil {
		err = out.Sync()
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := renameNew(out.Name(), file); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(file))
}

// copyPages copies one snapshot of the database.
func (s *Store) copyPages(ctx context.Context, out *os.File, progress func(storage.Progress)) (err error) {
	c, err := connect(ctx, s.db, readerRole)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	// Without a transaction SQLite would restart the copy after each commit of another
	// connection. The first read takes the snapshot.
	var version int64
	if _, err := c.exec("BEGIN"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.rollback()) }()
	s.checkpointer.backups.Add(1)
	defer s.checkpointer.backups.Add(-1)
	if _, err := c.queryRow("PRAGMA schema_version", nil, &version); err != nil {
		return err
	}
	return c.sql.Raw(func(raw any) error {
		source, ok := raw.(interface {
			NewBackup(string) (*sqlite.Backup, error)
		})
		if !ok {
			return errors.ErrUnsupported
		}
		// Backup syncs the file itself, and the file is useless before it is complete.
		b, err := source.NewBackup(fileURI(out.Name()) + "?_journal_mode=OFF&_synchronous=OFF")
		if err != nil {
			return err
		}
		return errors.Join(copyInSteps(ctx, b, out, progress), b.Finish())
	})
}

// copyInSteps copies the pages in steps. The pauses leave the processor to commits. The
// syncs leave them the disk: one sync of a whole database would delay them.
func copyInSteps(ctx context.Context, b *sqlite.Backup, out *os.File, progress func(storage.Progress)) error {
	for synced := 0; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		more, err := b.Step(backupStepPages)
		if err != nil {
			return err
		}
		done := b.PageCount() - b.Remaining()
		progress(storage.Progress{What: "pages", Done: int64(done)})
		if !more {
			return nil
		}
		if done-synced >= backupSyncPages {
			if err := out.Sync(); err != nil {
				return err
			}
			synced = done
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func checkAbsent(file string) error {
	_, err := os.Lstat(file)
	if err == nil {
		return fmt.Errorf("%w: %s; a backup overwrites no file", storage.ErrExists, file)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// renameNew renames a file, unless a file of the new name exists.
func renameNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		return nil // the caller removes the first name
	}
	if err := checkAbsent(to); err != nil {
		return err
	}
	return os.Rename(from, to) // a file system without hard links
}

// syncDirectory makes the names in a directory durable.
func syncDirectory(directory string) error {
	if runtime.GOOS == "windows" {
		return nil // Windows cannot sync a directory, and NTFS logs names
	}
	d, err := os.Open(directory)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
