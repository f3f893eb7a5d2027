package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/seed-7082ffec/payments/storage"
)

// The migrations, numbered from 1 without holes. A released file is never
// edited. The number of the last one that was applied is the database's
// user_version.
//
//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks the file as ours, in the place that SQLite's header has
// for it: "pays" in ASCII.
const applicationID = 0x70617973

// migrate brings the tables up to date, all of it or nothing.
func migrate(ctx context.Context, c *conn) error {
	names, err := fs.Glob(migrations, "migrations/*.sql") // in ascending order
	if err != nil {
		return err
	}
	if done, err := migrated(c, len(names)); done || err != nil {
		return err
	}
	for {
		if _, err = c.exec("BEGIN IMMEDIATE"); !isBusy(err) {
			break
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
	if err == nil {
		err = apply(c, names)
	}
	if err == nil {
		_, err = c.exec("COMMIT")
	}
	if err != nil {
		return errors.Join(err, c.rollback())
	}
	return nil
}

func apply(c *conn, names []string) error {
	// Another process may have been here since migrated was asked first.
	if done, err := migrated(c, len(names)); done || err != nil {
		return err
	}
	version, err := pragma(c, "user_version")
	if err != nil {
		return err
	}
	for i, name := range names[version:] {
		text, err := fs.ReadFile(migrations, name)
		if err != nil {
			return err
		}
		number := int(version) + i + 1
		if !strings.HasPrefix(name, fmt.Sprintf("migrations/%04d_", number)) {
			return fmt.Errorf("%s is not number %d", name, number)
		}
		if err := c.script(string(text)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return c.script(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(names)))
}

// migrated reports whether nothing is left to apply, and refuses a file that is
// not this program's.
func migrated(c *conn, latest int) (bool, error) {
	application, err := pragma(c, "application_id")
	if err != nil {
		return false, err
	}
	version, err := pragma(c, "user_version")
	if err != nil {
		return false, err
	}
	if application == applicationID {
		if version > int64(latest) {
			return false, fmt.Errorf("%w: its tables are version %d, this program knows %d", storage.ErrNewer, version, latest)
		}
		return version == int64(latest), nil
	}
	var one int64
	used, err := c.one("SELECT 1 FROM sqlite_schema LIMIT 1", nil, &one)
	if err != nil {
		return false, err
	}
	if used || application != 0 || version != 0 {
		return false, fmt.Errorf("%w: the file belongs to another program", storage.ErrInvalid)
	}
	return false, nil
}

func pragma(c *conn, name string) (int64, error) {
	var n int64
	_, err := c.one("PRAGMA "+name, nil, &n)
	return n, err
}
