package sqlstore

import (
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

// Quote returns a quoted SQL name. [storage.Kind.Validate] limits the names of kinds and
// columns to letters, digits and underscores.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Encode returns a column's value as a database stores it: times are Unix milliseconds.
func Encode(v any) any {
	if at, ok := v.(time.Time); ok {
		return at.UnixMilli()
	}
	return v
}

// CeilMillis returns a time in Unix milliseconds, rounded up.
func CeilMillis(t time.Time) int64 {
	n := t.UnixMilli()
	if time.UnixMilli(n).Before(t) {
		n++
	}
	return n
}

// Index is an index of a kind.
type Index struct {
	// Name begins with the kind's name. No kind can have the same name, because of the
	// dots.
	Name   string
	Unique bool
	// Definition is the text after the table's name: the columns and the WHERE condition.
	Definition string
}

// Indexes returns the indexes of a kind's table, besides the one of its ids. An index of
// a nullable column leaves out nulls, so that it finds due or open records without a long
// history beside them.
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
		add(indexedBy(k)+c.Name, false, append([]string{"merchant", "live", Quote(c.Name)}, listOrder(k)...), nullable)
	}
	if k.Ordered {
		add("order", false, append([]string{"merchant", "live"}, listOrder(k)...), nil)
	}
	if k.Due != "" {
		// The mode comes first in both, so that a search in one mode skips the other. The
		// second index serves claims by clocks and NextDue.
		add("due.mode", false, []string{"live", Quote(k.Due), "id"}, []string{Quote(k.Due)})
		if !k.OneQueue {
			add("due.scope", false, []string{"live", "merchant", Quote(k.Due), "id"}, []string{Quote(k.Due)})
		}
	}
	return all
}

// listOrder returns the columns by which the lists of a kind are ordered.
func listOrder(k *storage.Kind) []string {
	if k.Ordered {
		return []string{"number", "id"}
	}
	return []string{"id"}
}

// indexedBy returns what the name of the index of a column begins with, after the kind's name.
func indexedBy(k *storage.Kind) string {
	if k.Ordered {
		return "order."
	}
	return "by."
}

// ObsoleteIndexes returns the indexes that a kind had before it became one queue, or Ordered.
func ObsoleteIndexes(k *storage.Kind) (names []string) {
	if k.OneQueue {
		names = append(names, k.Name+".due.scope")
	}
	for _, c := range k.Columns {
		if k.Ordered && c.Indexed {
			names = append(names, k.Name+".by."+c.Name)
		}
	}
	return names
}

// CreateStatement returns the statement that creates the index of a table under a name.
func (i Index) CreateStatement(name, table string) string {
	unique := ""
	if i.Unique {
		unique = "UNIQUE "
	}
	return "CREATE " + unique + "INDEX " + Quote(name) + " ON " + table + " " + i.Definition
}
