package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-7082ffec/payments/storage"
)

// Backlog implements [storage.ReadTx].
func (t *readTx) Backlog(k *storage.Kind, due time.Time, limit int) (storage.Backlog, error) {
	b, err := t.table(k)
	if err != nil {
		return storage.Backlog{}, err
	}
	if err := k.CheckBacklog(due, limit); err != nil {
		return storage.Backlog{}, err
	}
	var all storage.Backlog
	err = t.session.query(t.io, func(rows pgx.Rows) error {
		var oldest int64
		if err := rows.Scan(&all.Count, &oldest); err != nil || all.Count == 0 {
			return err
		}
		all.Oldest = time.UnixMilli(oldest).UTC()
		return nil
	}, b.backlog, due.UnixMilli(), limit)
	if err != nil {
		return storage.Backlog{}, t.fail("count", k.Name, err)
	}
	return all, nil
}

// Backlog implements [storage.ReadTx].
func (t *tx) Backlog(k *storage.Kind, due time.Time, limit int) (storage.Backlog, error) {
	if _, err := t.table(k); err != nil {
		return storage.Backlog{}, err
	}
	if err := t.flushKind(k.Name); err != nil {
		return storage.Backlog{}, err
	}
	all, err := t.readTx.Backlog(k, due, limit)
	return all, t.trouble(err)
}
