package sqlite_test

import (
	"context"
	"log"
	"path/filepath"
	"time"

	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// A program makes a backup each hour, beside its own work. The directory is on
// another disk, or is copied to another machine.
func ExampleStore_Backup() {
	backups := func(ctx context.Context, store *sqlite.Store, directory string) {
		hour := time.NewTicker(time.Hour)
		defer hour.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-hour.C:
				name := now.UTC().Format("payments-20060102-150405.db")
				if err := store.Backup(ctx, filepath.Join(directory, name), nil); err != nil {
					log.Printf("backup: %v", err)
				}
			}
		}
	}
	_ = backups
}
