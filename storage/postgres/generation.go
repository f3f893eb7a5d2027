package postgres

import (
	"context"
	"math/rand/v2"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// generation is the name in storage_kinds, which no kind can have, under which the
// number of the schema is kept. Every change of tables raises it, and adds a commit, so
// that each process looks at the declarations before it writes again. A process that
// does not know all of them does not write any more.
//
// A release after which an older program must not write, for a reason that no
// declaration shows, adds a migration, an empty one if need be: such as new members of
// documents that an older program must not keep as they are when it writes them back,
// because they belong to a person whom it erases.
const generation = "storage_generation"

// raise raises the number of the schema, under the lock of the writer.
func (m *migration) raise() error {
	_, err := m.db.Exec(m.ctx, "INSERT INTO "+sqlstore.Quote(m.schema)+`.storage_kinds AS k (name, declaration) VALUES ($1, '1')
		ON CONFLICT (name) DO UPDATE SET declaration = (k.declaration::bigint + 1)::text`, generation)
	return err
}

// announce adds the commit after which other processes look at the number of the
// schema. In [Store.Define] the writer does it.
func (m *migration) announce() error {
	_, err := m.db.Exec(m.ctx, "INSERT INTO "+sqlstore.Quote(m.schema)+`.storage_commits (number, token)
		SELECT coalesce(max(number), 0) + 1, $1 FROM `+sqlstore.Quote(m.schema)+".storage_commits", rand.Int64())
	return err
}

// Known implements [sqlstore.Driver].
func (d driver) Known(ctx context.Context, s sqlstore.Session, kinds []*storage.Kind) error {
	m := &migration{ctx: ctx, schema: d.config.Schema}
	switch s := s.(type) {
	case *session:
		m.db = s.db
	case *hostSession:
		m.db = s.db
	}
	applied, err := m.applied()
	if err == nil {
		err = migrations.Check(applied)
	}
	if err != nil {
		return err
	}
	return sqlstore.Known(m, kinds)
}
