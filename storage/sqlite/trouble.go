package sqlite

import (
	"fmt"

	code "modernc.org/sqlite/lib"

	"github.com/seed-7082ffec/payments/storage"
)

// unavailable wraps the errors of a full disk, and of a database that another program
// keeps locked, with [storage.ErrUnavailable]. SQLite has written nothing then.
func unavailable(err error) error {
	switch primary(err) {
	case code.SQLITE_FULL, code.SQLITE_BUSY:
		return fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
	}
	return err
}
