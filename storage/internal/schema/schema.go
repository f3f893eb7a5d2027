// Package schema encodes the declaration of a kind, and decides whether a changed
// declaration may replace a stored one.
package schema

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/seed-7082ffec/payments/storage"
)

// Declaration is the declaration of a kind as storage_kinds stores it, as JSON.
type Declaration struct {
	Columns []column `json:"columns"`
	Keys    []key    `json:"keys,omitempty"`
	Due     string   `json:"due,omitempty"`
	Ordered bool     `json:"ordered,omitempty"`
}

type column struct {
	Name  string       `json:"name"`
	Type  storage.Type `json:"type"`
	Null  bool         `json:"null,omitempty"`
	OneOf []string     `json:"one_of,omitempty"`
}

type key struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
	Global  bool     `json:"global,omitempty"`
}

// Of returns the declaration of a kind.
func Of(k *storage.Kind) Declaration {
	d := Declaration{Due: k.Due, Ordered: k.Ordered}
	for _, c := range k.Columns {
		d.Columns = append(d.Columns, column{Name: c.Name, Type: c.Type, Null: c.Null, OneOf: c.OneOf})
	}
	for _, unique := range k.Keys {
		d.Keys = append(d.Keys, key(unique))
	}
	return d
}

// Compare reports whether the table must change from the declaration kept to the wanted
// one. It returns an error if that is not allowed.
func Compare(kept, wanted Declaration) (changed bool, err error) {
	for i, was := range kept.Columns {
		if i >= len(wanted.Columns) {
			return false, fmt.Errorf("%w: column %s is not known here", storage.ErrNewer, was.Name)
		}
		is := wanted.Columns[i]
		if was.Name != is.Name || was.Type != is.Type || was.Null != is.Null {
			return false, fmt.Errorf("%w: column %d is %s in the database and %s in the program",
				storage.ErrInvalid, i+1, was, is)
		}
		switch was, is := was.OneOf, is.OneOf; {
		case slices.Equal(was, is):
		case len(was) > 0 && len(is) > len(was) && slices.Equal(was, is[:len(was)]):
			changed = true
		case len(is) > 0 && len(was) > len(is) && slices.Equal(is, was[:len(is)]):
			return false, fmt.Errorf("%w: column %s may hold %v, which is not known here",
				storage.ErrNewer, wanted.Columns[i].Name, was[len(is):])
		default:
			return false, fmt.Errorf("%w: column %s is one of %v in the database and of %v in the program",
				storage.ErrInvalid, wanted.Columns[i].Name, was, is)
		}
	}
	for _, was := range kept.Keys {
		i := slices.IndexFunc(wanted.Keys, func(is key) bool { return is.Name == was.Name })
		if i < 0 {
			return false, fmt.Errorf("%w: key %s is not known here", storage.ErrNewer, was.Name)
		}
		if is := wanted.Keys[i]; is.Global != was.Global || !slices.Equal(is.Columns, was.Columns) {
			return false, fmt.Errorf("%w: key %s is of %v (global: %t) in the database and of %v (global: %t) in the program",
				storage.ErrInvalid, was.Name, was.Columns, was.Global, is.Columns, is.Global)
		}
	}
	switch {
	case kept.Due == wanted.Due:
	case kept.Due == "":
		changed = true
	case wanted.Due == "":
		return false, fmt.Errorf("%w: due column %s is not known here", storage.ErrNewer, kept.Due)
	default:
		return false, fmt.Errorf("%w: the due column is %s in the database and %s in the program",
			storage.ErrInvalid, kept.Due, wanted.Due)
	}
	if kept.Ordered && !wanted.Ordered {
		return false, fmt.Errorf("%w: the order of commits is not known here", storage.ErrNewer)
	}
	return changed || len(wanted.Columns) > len(kept.Columns) || wanted.Ordered != kept.Ordered, nil
}

// Same reports whether two kinds are declared alike.
func Same(a, b *storage.Kind) bool {
	if a == b {
		return true
	}
	x, y := *a, *b
	x.Backfill, y.Backfill = nil, nil // functions do not compare
	return reflect.DeepEqual(x, y)
}

// String describes a column in an error.
func (c column) String() string {
	s := c.Name + " (" + typeName[c.Type]
	if c.Null {
		s += " or null"
	}
	return s + ")"
}

var typeName = map[storage.Type]string{
	storage.Text: "text", storage.Int: "int", storage.Bool: "bool", storage.Time: "time",
}

// Backfill sets a record's columns from its document. Its error contains no value,
// because a value may be personal data.
func Backfill(k *storage.Kind, r *storage.Record) error {
	if k.Backfill == nil {
		return fmt.Errorf("%w: kind %s has new columns and no Backfill", storage.ErrInvalid, k.Name)
	}
	var err error
	if r.Columns, err = k.Backfill(r.Data); err == nil {
		err = k.Check(r)
	}
	if err != nil {
		return fmt.Errorf("backfill: %w", err)
	}
	return nil
}
