package benchbase

import "testing"

// Rewriter writes the rows of a table anew, one after the other, as what became of
// due work is written down: a new version and document, and no due time.
type Rewriter struct {
	*writer
	update, begin, commit func()
	next                  int
	ids                   []string
}

// Rewrite returns a writer of the rows of a table of due work in the database file at
// path. All of them are due before it begins.
func Rewrite(b *testing.B, path, table string) *Rewriter {
	b.Helper()
	w := open(b, path)
	r := &Rewriter{writer: w}
	w.run(w.prepare("UPDATE " + table + " SET due = 1"))
	rows := w.query("SELECT id FROM " + table)
	defer rows.Close()
	for rows.Next() {
		var id string
		w.scan(rows, &id)
		r.ids = append(r.ids, id)
	}
	if err := rows.Err(); err != nil || len(r.ids) == 0 {
		b.Fatal("no rows: ", err)
	}
	var merchant string
	var data []byte
	if err := w.conn.QueryRowContext(b.Context(), "SELECT merchant, data FROM "+table+" LIMIT 1").Scan(&merchant, &data); err != nil {
		b.Fatal(err)
	}
	update := w.prepare("UPDATE " + table + " SET version = version + 1, due = NULL, lease = 0, data = ? WHERE merchant = ? AND live = 0 AND id = ?")
	begin, commit := w.prepare("BEGIN IMMEDIATE"), w.prepare("COMMIT")
	r.begin, r.commit = func() { w.run(begin) }, func() { w.run(commit) }
	r.update = func() {
		w.run(update, data, merchant, r.ids[r.next%len(r.ids)])
		r.next++
	}
	return r
}

// Write writes so many rows in one commit.
func (r *Rewriter) Write(rows int) {
	r.begin()
	for range rows {
		r.update()
	}
	r.commit()
}

// Close ends it.
func (r *Rewriter) Close() { r.close() }
