package postgres

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

// tableSQL holds the statements that write or fetch many rows of one kind at once.
type tableSQL struct{ insert, replace, remove, lease, fetch string }

var arrayType = map[storage.Type]string{
	storage.Text: "text[]", storage.Int: "bigint[]", storage.Bool: "boolean[]", storage.Time: "bigint[]",
}

// PrepareTable implements [sqlstore.Driver].
func (d driver) PrepareTable(t *sqlstore.Table) {
	schema := d.config.Schema
	names := []string{"merchant", "live", "id", "version"}
	types := []string{"text[]", "boolean[]", "text[]", "bigint[]"}
	sets := []string{"version = v.version"}
	if t.Kind.Due != "" {
		names, types, sets = append(names, "lease"), append(types, "bigint[]"), append(sets, "lease = v.lease")
	}
	for _, c := range t.Kind.Columns {
		names = append(names, sqlstore.Quote(c.Name))
		types = append(types, arrayType[c.Type])
		sets = append(sets, sqlstore.Quote(c.Name)+" = v."+sqlstore.Quote(c.Name))
	}
	names, types = append(names, "data"), append(types, "bytea[]")
	sets = append(sets, "data = v.data")
	const same = " WHERE t.merchant = v.merchant AND t.live = v.live AND t.id = v.id AND t.version = v.stored RETURNING 1"
	own := &tableSQL{insert: "INSERT INTO " + t.Name + " (" + strings.Join(names, ", ") + ") " + unnest(types)}
	names, types = append(names, "stored"), append(types, "bigint[]")
	own.replace = expectRows(schema, len(types)+1, "UPDATE "+t.Name+" AS t SET "+strings.Join(sets, ", ")+
		" FROM ("+unnest(types)+") AS v("+strings.Join(names, ", ")+")"+same)
	key := []string{"text[]", "boolean[]", "text[]", "bigint[]"}
	own.remove = expectRows(schema, 5, "DELETE FROM "+t.Name+" AS t USING ("+unnest(key)+") AS v(merchant, live, id, stored)"+same)
	own.lease = expectRows(schema, 7, "UPDATE "+t.Name+" AS t SET version = v.version, lease = v.lease FROM ("+
		unnest(append(key, "bigint[]", "bigint[]"))+") AS v(merchant, live, id, stored, version, lease)"+same)
	own.fetch = "SELECT " + t.Columns() + " FROM (" + unnest(key[:3]) + ") AS v(merchant, live, id) JOIN " + t.Name + " USING (merchant, live, id)"
	t.DriverSQL = own
}

// unnest returns a query that turns arrays of equal length into rows. The server makes
// each row on demand. "SELECT * FROM unnest($1, $2)" would materialize the arrays first;
// see docs/performance.md.
func unnest(types []string) string {
	var s strings.Builder
	s.WriteString("SELECT ")
	for i, t := range types {
		if i > 0 {
			s.WriteString(", ")
		}
		fmt.Fprintf(&s, "unnest($%d::%s)", i+1, t)
	}
	return s.String()
}

// expectRows makes a statement, which returns a row for each that it changed, fail unless
// the number of rows is that of the last parameter.
func expectRows(schema string, parameter int, statement string) string {
	return fmt.Sprintf("WITH done AS (%s) %s FROM (SELECT count(*) FROM done) AS met(n)",
		statement, expect(schema, fmt.Sprintf("$%d::bigint", parameter)))
}

// expect returns the SELECT list of a statement that fails unless n is the wanted number. Only
// then it calls the function, which fails: a call of PL/pgSQL takes as long as a small statement.
func expect(schema, wanted string) string {
	return "SELECT CASE WHEN n = " + wanted + " THEN NULL ELSE " + sqlstore.Quote(schema) + ".storage_expect(n, " + wanted + ") END"
}

// tableRows are the rows of one table as arrays, by statement.
type tableRows struct{ insert, replace, remove, lease rows }

func newTableRows(t *sqlstore.Table) *tableRows {
	key := []uint32{pgtype.TextOID, pgtype.BoolOID, pgtype.TextOID, pgtype.Int8OID} // merchant, live, id, version
	all := key
	if t.Kind.Due != "" {
		all = append(all, pgtype.Int8OID) // lease
	}
	for _, c := range t.Kind.Columns {
		all = append(all, elementOID[c.Type])
	}
	all = append(all, pgtype.ByteaOID)
	return &tableRows{
		insert: newRows(all...), replace: newRows(append(all, pgtype.Int8OID)...),
		remove: newRows(key...), lease: newRows(append(key, pgtype.Int8OID, pgtype.Int8OID)...),
	}
}

func appendRecord(into rows, w sqlstore.RowWrite) {
	into.add(w.Scope.Merchant, w.Scope.Live, w.ID, w.Record.Version)
	before := 4
	if w.Table.Kind.Due != "" {
		into[before].integer(w.Lease)
		before++
	}
	for i, v := range w.Record.Columns {
		into[before+i].add(sqlstore.Encode(v))
	}
	into[before+len(w.Record.Columns)].bytes(w.Record.Data)
}

func (t *tableRows) queue(b *pgx.Batch, w *sqlstore.TableWrites) {
	own := w.Table.DriverSQL.(*tableSQL)
	for _, row := range w.Remove {
		t.remove.add(row.Scope.Merchant, row.Scope.Live, row.ID, row.StoredVersion)
	}
	for _, row := range w.Replace {
		appendRecord(t.replace, row)
		t.replace[len(t.replace)-1].integer(row.StoredVersion)
	}
	for _, row := range w.Lease {
		t.lease.add(row.Scope.Merchant, row.Scope.Live, row.ID, row.StoredVersion, row.Record.Version, row.Lease)
	}
	for _, row := range w.Insert {
		appendRecord(t.insert, row)
	}
	if n := t.remove.len(); n > 0 {
		b.Queue(own.remove, t.remove.args(n)...)
	}
	if n := t.replace.len(); n > 0 {
		b.Queue(own.replace, t.replace.args(n)...)
	}
	if n := t.lease.len(); n > 0 {
		b.Queue(own.lease, t.lease.args(n)...)
	}
	if t.insert.len() > 0 {
		b.Queue(own.insert, t.insert.args()...)
	}
}

// encoder encodes buffered writes as arrays. It is reused for its memory.
type encoder struct {
	tables                         map[*sqlstore.Table]*tableRows
	used                           []*tableRows
	newAccounts, changedAccounts   rows // of accounts
	postings, entries              rows
	newSequences, changedSequences rows
}

func newEncoder() *encoder {
	const text, number = pgtype.TextOID, pgtype.Int8OID
	return &encoder{
		tables:           map[*sqlstore.Table]*tableRows{},
		newAccounts:      newRows(text, pgtype.BoolOID, number, number),
		changedAccounts:  newRows(text, number, number, number),
		postings:         newRows(text, text, text, number),
		entries:          newRows(text, number, text, number, number),
		newSequences:     newRows(text, number),
		changedSequences: newRows(text, number, number),
	}
}

// withEncoder calls use with an encoder that no other call uses.
func (s *Store) withEncoder(use func(*encoder) error) error {
	e := s.spareEncoder.Swap(nil)
	if e == nil {
		e = newEncoder()
	}
	defer func() {
		e.clear()
		s.spareEncoder.Store(e)
	}()
	return use(e)
}

func (e *encoder) clear() {
	for _, t := range e.used {
		t.insert.clear()
		t.replace.clear()
		t.remove.clear()
		t.lease.clear()
	}
	e.used = e.used[:0]
	for _, r := range []rows{e.newAccounts, e.changedAccounts, e.postings, e.entries, e.newSequences, e.changedSequences} {
		r.clear()
	}
}

// queue adds the statements that write, one for all rows of a table.
func (e *encoder) queue(b *pgx.Batch, w *sqlstore.Writes, sql *statements) {
	for _, t := range w.Tables {
		rows := e.tables[t.Table]
		if rows == nil {
			rows = newTableRows(t.Table)
			e.tables[t.Table] = rows
		}
		e.used = append(e.used, rows)
		rows.queue(b, t)
	}
	for _, a := range w.Accounts {
		if a.StoredEntries == 0 {
			e.newAccounts.add(a.Account, a.Guarded, a.Amount, a.Entries)
		} else {
			e.changedAccounts.add(a.Account, a.Amount, a.Entries, a.StoredEntries)
		}
	}
	if n := e.changedAccounts.len(); n > 0 {
		b.Queue(sql.updateAccounts, e.changedAccounts.args(n)...)
	}
	if e.newAccounts.len() > 0 {
		b.Queue(sql.insertAccounts, e.newAccounts.args()...)
	}
	if len(w.Postings) > 0 {
		for i := range w.Postings {
			p := &w.Postings[i]
			e.postings.add(p.ID, p.Type, p.Ref, p.At.UnixMilli())
		}
		for i := range w.Entries {
			entry := &w.Entries[i]
			e.entries.add(entry.Account, entry.Number, entry.Posting, entry.Amount, entry.Balance)
		}
		b.Queue(sql.insertPostings, e.postings.args()...)
		b.Queue(sql.insertEntries, e.entries.args()...)
	}
	for _, q := range w.Sequences {
		if q.StoredValue == 0 {
			e.newSequences.add(q.Name, q.Value)
		} else {
			e.changedSequences.add(q.Name, q.Value, q.StoredValue)
		}
	}
	if n := e.changedSequences.len(); n > 0 {
		b.Queue(sql.updateSequences, e.changedSequences.args(n)...)
	}
	if e.newSequences.len() > 0 {
		b.Queue(sql.insertSequences, e.newSequences.args()...)
	}
}
