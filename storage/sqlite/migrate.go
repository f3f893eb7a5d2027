package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// user_version of the database is the number of the last applied migration.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

var migrations = sqlstore.ReadMigrations(migrationFiles)

// applicationID marks the file as the library's, in SQLite's header: "pays" in ASCII.
const applicationID = 0x70617973

// migrate applies all missing migrations, or none. With mustExist it refuses a file without any.
func migrate(ctx context.Context, c *conn, mustExist bool) error {
	// The marks are read in one transaction: another process may make the file between two reads.
	_, err := c.exec("BEGIN")
	if err != nil {
		return err
	}
	done, err := isMigrated(c, mustExist)
	if err = errors.Join(err, c.rollback()); done || err != nil {
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
		err = applyMigrations(c, mustExist)
	}
	if err == nil {
		_, err = c.exec("COMMIT")
	}
	if err != nil {
		return errors.Join(err, c.rollback())
	}
	return nil
}

func applyMigrations(c *conn, mustExist bool) error {
	// Another process may have migrated since the first check.
	if done, err := isMigrated(c, mustExist); done || err != nil {
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

// isMigrated reports whether no migration is missing, and refuses another program's file. With mustExist it
// also refuses a file without any migration.
func isMigrated(c *conn, mustExist bool) (bool, error) {
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
	used, err := c.queryRow("SELECT 1 FROM sqlite_schema LIMIT 1", nil, &one)
	if err != nil {
		return false, err
	}
	if used || application != 0 || version != 0 {
		return false, fmt.Errorf("%w: the file belongs to another program", storage.ErrInvalid)
	}
	if mustExist {
		return false, fmt.Errorf("%w: the file must have a database of this library, and has none", storage.ErrInvalid)
	}
	return false, nil
}

func pragma(c *conn, name string) (int64, error) {
	var n int64
	_, err := c.queryRow("PRAGMA "+name, nil, &n)
	return n, err
}
