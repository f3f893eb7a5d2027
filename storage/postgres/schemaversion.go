package postgres

import (
	"context"
	"math/rand/v2"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// schemaVersionKey is the name in storage_kinds, which no kind can have, of the schema
// version. Every change of tables raises it and adds a commit, so that each process
// checks the declarations before it writes again. A process that does not know a
// declaration stops writing.
//
// A release after which an older program must not write, although no declaration changes,
// adds a migration, which may be empty. An example is a release with new personal data in
// a document: an older program would keep that data when it erases a person.
const schemaVersionKey = "storage_generation"

// bumpSchemaVersion raises the schema version, under the writers' lock.
func (m *migration) bumpSchemaVersion() error {
	_, err := m.db.Exec(m.ctx, "INSERT INTO "+sqlstore.Quote(m.schema)+`.storage_kinds AS k (name, declaration) VALUES ($1, '1')
		ON CONFLICT (name) DO UPDATE SET declaration = (k.declaration::bigint + 1)::text`, schemaVersionKey)
	return err
}

// addCommit adds the commit after which other processes check the schema version. In
// [Store.Define] the writer adds it.
func (m *migration) addCommit() error {
	_, err := m.db.Exec(m.ctx, "INSERT INTO "+sqlstore.Quote(m.schema)+`.storage_commits (number, token)
		SELECT coalesce(max(number), 0) + 1, $1 FROM `+sqlstore.Quote(m.schema)+".storage_commits", rand.Int64())
	return err
}

// CheckVersion implements [sqlstore.Session].
func (s *session) CheckVersion(ctx context.Context, kinds []*storage.Kind) error {
	m := &migration{ctx: ctx, db: s.db, schema: s.store.config.Schema}
	applied, err := m.applied()
	if err == nil {
		err = migrations.Check(applied)
	}
	if err != nil {
		return err
	}
	return sqlstore.CheckVersion(m, kinds)
}
