package benchbase

import (
	"fmt"
	"strings"
	"testing"
)

// Fill gives the tables of a database as many rows as n calls leave, older than those
// that it has: of each table in Insert the newest row that differs, with another id in its
// columns and its document; a posting and two entries for each if Moves is set, of
// accounts that nothing else moves. It waits for the disk at the end alone.
func (c Call) Fill(b *testing.B, n int) {
	b.Helper()
	w := open(b, c.Path)
	defer w.close()
	// In pieces, so that the log is copied in between.
	const piece = 20_000
	w.run(w.prepare("PRAGMA synchronous = OFF"))
	w.run(w.prepare("PRAGMA cache_size = -262144"))
	w.run(w.prepare("PRAGMA foreign_keys = OFF"))
	times := map[string]int{}
	for _, table := range c.Insert {
		times[table]++
	}
	var texts []string
	for table, rows := range times {
		for i := range rows {
			r := w.pattern(table)
			_ = r.stmt.Close()
			values := make([]string, len(r.columns))
			for j, name := range r.columns {
				values[j] = "o." + name
			}
			// As ids are made, with a beginning that is before every one of today.
			made := func(column string, n int) string {
				return fmt.Sprintf("substr(o.%s, 1, 4) || printf('0%d%%017d', i)", column, n)
			}
			values[r.id] = made("id", i)
			if table == "idempotency_keys" { // as clients make them, in no order
				values[r.id] = "lower(hex(randomblob(16)))"
			}
			if table == "webhook_deliveries" { // most are done
				due := r.column("due")
				values[due] = fmt.Sprintf("CASE WHEN i %% 1000 = 0 THEN %s END", values[due])
			}
			data := "replace(CAST(o.data AS TEXT), o.id, " + values[r.id] + ")"
			if table == "webhook_deliveries" { // of an event of its own
				event := r.column("event")
				values[event] = made("event", 0)
				data = "replace(" + data + ", o.event, " + values[event] + ")"
			}
			values[r.column("data")] = "CAST(" + data + " AS BLOB)"
			// The newest two differ where two are written at once.
			texts = append(texts, fmt.Sprintf("INSERT INTO %s SELECT %s FROM numbers, (SELECT * FROM %s ORDER BY id DESC LIMIT 1 OFFSET %d) o",
				table, strings.Join(values, ", "), table, i))
		}
	}
	if c.Moves {
		for i := range 2 {
			texts = append(texts, fmt.Sprintf("INSERT INTO ledger_entries SELECT -1 - %d, i, printf('txn_0%%018d', i), 1, i FROM numbers", i))
		}
		texts = append(texts, "INSERT INTO ledger_postings SELECT printf('txn_0%018d', i), 'test', 'test', 0 FROM numbers")
	}
	// The pattern is found anew for each piece, and stays the newest.
	begin, commit := w.prepare("BEGIN IMMEDIATE"), w.prepare("COMMIT")
	for from := 0; from < n; from += piece {
		w.run(begin)
		for _, text := range texts {
			w.run(w.prepare(fmt.Sprintf("WITH RECURSIVE numbers(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < %d) %s", from+1, min(n, from+piece)+1, text)))
		}
		w.run(commit)
	}
	// Now it does, once: else what comes next waits for all of this.
	for _, text := range []string{
		"PRAGMA wal_autocheckpoint = 0", "UPDATE storage_kinds SET declaration = declaration",
		"PRAGMA synchronous = FULL", "PRAGMA wal_checkpoint(TRUNCATE)",
	} {
		w.run(w.prepare(text))
	}
}
