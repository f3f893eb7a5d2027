package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/storage"
)

// fill makes the rows. It rebuilds a table's indexes after the inserts, with one sort, so that
// five million rows of each kind take minutes and not hours.
func (g *grown) fill(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "SET maintenance_work_mem = '512MB'"); err != nil {
		return err
	}
	for _, name := range []string{"disbursements", "events", "idempotency_keys", "webhook_deliveries"} {
		if err := fillTable(ctx, conn.Conn(), schema, name, filling(schema, g.kind(name)), g.rows, g.merchants); err != nil {
			return err
		}
	}
	// The ledger's rows belong to the merchants' accounts, before their existing rows.
	for name, text := range map[string]string{
		"ledger_postings": "INSERT INTO %[1]s.ledger_postings (id, type, ref, at) SELECT 'txn_' || lpad(i::text, 9, '0'), 'x', 'y', 0 FROM generate_series(1, $1::int) AS i",
		"ledger_entries": "INSERT INTO %[1]s.ledger_entries (account, number, posting, amount, balance)" +
			" SELECT a.id, 1000 + i / 20, 'txn_' || lpad(i::text, 9, '0'), 1, 1 FROM generate_series(1, $1::int) AS i" +
			" JOIN (SELECT id, row_number() OVER (ORDER BY id) AS n FROM %[1]s.ledger_accounts) AS a ON a.n = 1 + i %% 20",
	} {
		if err := fillTable(ctx, conn.Conn(), schema, name, fmt.Sprintf(text, schema), g.rows); err != nil {
			return err
		}
	}
	if _, err := conn.Exec(ctx, "UPDATE "+schema+".ledger_accounts SET entries = 1000 + $1::bigint / 20 + 1", g.rows); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "VACUUM (ANALYZE)")
	return err
}

// filling returns the statement that fills a kind's table with $1 rows of the merchants $2. One in
// a thousand is due.
func filling(schema string, k *storage.Kind) string {
	names, values := "merchant, live, id, version, data", `($2::text[])[1 + i % 40], false, 'id_' || lpad(i::text, 9, '0'), 1, '\x7b7d'`
	for _, c := range k.Columns {
		value := "'type' || i % 8" // of events
		switch {
		case c.Name == k.Due:
			value = "CASE WHEN i % 1000 = 0 THEN i::bigint END"
		case len(c.OneOf) > 0:
			value = fmt.Sprintf("(ARRAY['%s'])[1 + i %% %d]", strings.Join(c.OneOf, "', '"), len(c.OneOf))
		case c.Type == storage.Text && slices.ContainsFunc(k.Keys, func(key storage.Key) bool { return slices.Contains(key.Columns, c.Name) }):
			value = "'v' || i"
		case c.Type == storage.Int || c.Type == storage.Time:
			value = "i::bigint"
		case c.Type == storage.Bool:
			value = "i % 2 = 0"
		}
		names, values = names+`, "`+c.Name+`"`, values+", "+value
	}
	return fmt.Sprintf(`INSERT INTO %s."%s" (%s) SELECT %s FROM generate_series(1, $1::int) AS i`, schema, k.Name, names, values)
}

// fillTable runs an insert into a table without its indexes and triggers, and restores them
// afterwards.
func fillTable(ctx context.Context, conn *pgx.Conn, schema, table, insert string, args ...any) error {
	name := schema + "." + table
	// Constraints first: each takes its index with it.
	rows, err := conn.Query(ctx, `SELECT 'ALTER TABLE ' || $1::text || ' DROP CONSTRAINT ' || quote_ident(conname),
			'ALTER TABLE ' || $1 || ' ADD CONSTRAINT ' || quote_ident(conname) || ' ' || pg_get_constraintdef(oid)
			FROM pg_constraint WHERE conrelid = $1::regclass AND contype IN ('p', 'u')
		UNION ALL SELECT 'DROP INDEX ' || i.indexrelid::regclass, pg_get_indexdef(i.indexrelid) FROM pg_index AS i
			WHERE i.indrelid = $1::regclass AND NOT EXISTS (SELECT FROM pg_constraint AS c WHERE c.conindid = i.indexrelid)`, name)
	if err != nil {
		return err
	}
	type index struct{ Drop, Create string }
	indexes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[index])
	if err != nil {
		return err
	}
	do := []string{"ALTER TABLE " + name + " DISABLE TRIGGER USER"}
	for _, i := range indexes {
		do = append(do, i.Drop)
	}
	do = append(do, "")
	for _, i := range indexes {
		do = append(do, i.Create)
	}
	for _, statement := range append(do, "ALTER TABLE "+name+" ENABLE TRIGGER USER") {
		if statement == "" {
			_, err = conn.Exec(ctx, insert, args...)
		} else {
			_, err = conn.Exec(ctx, statement)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}
