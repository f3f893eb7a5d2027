package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// The number of the last migration that was applied is the database's user_version.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

var migrations = sqlstore.ReadMigrations(migrationFiles)

// applicationID marks the file as ours, in the place that SQLite's header has
// for it: "pays" in ASCII.
const applicationID = 0x70617973

// migrate brings the tables up to date, all of it or nothing.
func migrate(ctx context.Context, c *conn) error {
	if done, err := migrated(c); done || err != nil {
		return err
	}
	var err error
	for {
		if _, err = c.exec("BEGIN IMMEDIATE"); !isBusy(err) {
			break
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
	if err == nil {
		err = apply(c)
	}
	if err == nil {
		_, err = c.exec("COMMIT")
	}
	if err != nil {
		return errors.Join(err, c.rollback())
	}
	return nil
}

func apply(c *conn) error {
	// Another process may have been here since migrated was asked first.
	if done, err := migrated(c); done || err != nil {
		return err
	}
	version, err := pragma(c, "user_version")
	if err != nil {
		return err
	}
	err = migrations.Apply(int(version), func(_ int, _, text string) error { return c.script(text) })
	if err != nil {
		return err
	}
	return c.script(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, migrations.Len()))
}

// migrated reports whether nothing is left to apply, and refuses a file that is
// not this program's.
func migrated(c *conn) (bool, error) {
	application, err := pragma(c, "application_id")
	if err != nil {
		return false, err
	}
	version, err := pragma(c, "user_version")
	if err != nil {
		return false, err
	}
	if application == applicationID {
		return version == int64(migrations.Len()), migrations.Check(int(version))
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
