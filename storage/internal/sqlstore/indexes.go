package sqlstore

import (
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// Quote returns a name as SQL has it. [storage.Kind.Validate] has limited the names of
// kinds and columns to letters, digits and underscores.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Stored returns a column's value as a database keeps it: times are Unix milliseconds.
func Stored(v any) any {
	if at, ok := v.(time.Time); ok {
		return at.UnixMilli()
	}
	return v
}

// Ceiling returns the first instant that is stored and not before t.
func Ceiling(t time.Time) int64 {
	n := t.UnixMilli()
	if time.UnixMilli(n).Before(t) {
		n++
	}
	return n
}

// Index is an index of a kind.
type Index struct {
	// Name begins with the kind's. No kind can have it, because of the dots.
	Name   string
	Unique bool
	// On is what follows the name of the table: the columns, and which rows are in it.
	On string
}

// Indexes returns the indexes that a kind's table has, beside the one of its ids. Rows
// with a null are in none that has the column, so that what is due, or open, is found
// without a long history beside it.
func Indexes(k *storage.Kind) []Index {
	var all []Index
	add := func(name string, unique bool, columns, nullable []string) {
		on := "(" + strings.Join(columns, ", ") + ")"
		if len(nullable) > 0 {
			on += " WHERE " + strings.Join(nullable, " IS NOT NULL AND ") + " IS NOT NULL"
		}
		all = append(all, Index{k.Name + "." + name, unique, on})
	}
	for _, key := range k.Keys {
		var columns, nullable []string
		if !key.Global {
			columns = append(columns, "merchant", "live")
		}
		for _, name := range key.Columns {
			columns = append(columns, Quote(name))
			if i := k.Column(name); i >= 0 && k.Columns[i].Null {
				nullable = append(nullable, Quote(name))
			}
		}
		add("key."+key.Name, true, columns, nullable)
	}
	for _, c := range k.Columns {
		if !c.Indexed {
			continue
		}
		var nullable []string
		if c.Null {
			nullable = append(nullable, Quote(c.Name))
		}
		add("by."+c.Name, false, []string{"merchant", "live", Quote(c.Name), "id"}, nullable)
	}
	if k.Due != "" {
		// In both the mode comes first: the backlog of one is not between the records of
		// the other. The second is for claims by clocks, and to find whose work is due.
		add("due.mode", false, []string{"live", Quote(k.Due), "id"}, []string{Quote(k.Due)})
		add("due.scope", false, []string{"live", "merchant", Quote(k.Due), "id"}, []string{Quote(k.Due)})
	}
	return all
}

// Replaced names the indexes that earlier releases made of a kind's table, and that others
// have taken the place of.
func Replaced(k *storage.Kind) []string { return []string{k.Name + ".due", k.Name + ".due.test"} }

// Create returns the statement that makes an index of a table, under a name.
func (i Index) Create(name, table string) string {
	unique := ""
	if i.Unique {
		unique = "UNIQUE "
	}
	return "CREATE " + unique + "INDEX " + Quote(name) + " ON " + table + " " + i.On
}
