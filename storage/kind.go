package storage

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind describes the records of one type of object, such as payments. A SQL backend makes a table
// for each kind, with real columns for the promoted columns and real constraints: a new column is
// declared here and nowhere else. Kinds are declared once, as package variables, and never changed.
type Kind struct {
	// Name is the name of the table, in lower-case letters, digits and underscores. The prefixes
	// ledger_, storage_, sqlite_ and pg_ belong to the backends.
	Name string
	// Columns are the promoted columns: only those that a filter, a unique key, a state or a due
	// time needs. Later releases may add columns at the end, never change or remove them.
	Columns []Column
	// Keys are the unique keys in addition to the id, which is unique in its scope.
	Keys []Key
	// Due names the time column by which records are claimed; "" for none. A
	// record whose due time is null is never claimed.
	Due string
	// OneQueue says that all due records of a mode are one queue: no claim of the kind has
	// Clocks, and no caller uses NextDue. A backend then keeps no index for these.
	OneQueue bool
	// Ordered says that lists follow the order in which the records were committed, whatever their ids
	// are: several processes make ids, each by its own clock. The store numbers the records; see
	// [Record.Number].
	Ordered bool

	// Backfill derives the columns from a document written before the newest
	// column existed. [NewCollection] sets it.
	Backfill func(data []byte) ([]any, error)
}

// Column is a promoted column.
type Column struct {
	Name string
	Type Type
	// Null allows the value nil.
	Null bool
	// OneOf lists the allowed values of a text column; empty allows all.
	OneOf []string
	// Indexed asks for an index on scope, column and id, for lists that want one value
	// of it, or, for a time, a range. Null values are left out of the index.
	Indexed bool
}

// Type is the type of a promoted column.
type Type int

// The types of columns, with the Go type that carries each.
const (
	Text Type = iota + 1 // string
	Int                  // int64
	Bool                 // bool
	Time                 // time.Time, to the millisecond
)

// Key is a unique key. Records with a null in one of its columns are outside
// it, as in SQL.
type Key struct {
	Name    string
	Columns []string // promoted columns, or "id"
	// Global makes the key unique over all scopes. Find then ignores the scope.
	Global bool
}

// Column returns the index of a promoted column, or -1.
func (k *Kind) Column(name string) int {
	return slices.IndexFunc(k.Columns, func(c Column) bool { return c.Name == name })
}

// Key returns the unique key of that name, or nil.
func (k *Kind) Key(name string) *Key {
	for i := range k.Keys {
		if k.Keys[i].Name == name {
			return &k.Keys[i]
		}
	}
	return nil
}

// Validate returns an error for a declaration that no backend could follow.
func (k *Kind) Validate() error {
	if !isIdentifier(k.Name) {
		return fmt.Errorf("%w: kind name %q", ErrInvalid, k.Name)
	}
	for _, prefix := range []string{"ledger_", "storage_", "sqlite_", "pg_"} {
		if strings.HasPrefix(k.Name, prefix) {
			return fmt.Errorf("%w: kind %s: names that begin with %s are reserved", ErrInvalid, k.Name, prefix)
		}
	}
	seen := map[string]bool{}
	for _, c := range k.Columns {
		if !isIdentifier(c.Name) || reservedColumns[c.Name] || k.Ordered && c.Name == "number" || seen[c.Name] || c.Type < Text || c.Type > Time {
			return fmt.Errorf("%w: kind %s: column %q", ErrInvalid, k.Name, c.Name)
		}
		if len(c.OneOf) > 0 && c.Type != Text {
			return fmt.Errorf("%w: kind %s: column %s: OneOf is for text", ErrInvalid, k.Name, c.Name)
		}
		for _, v := range c.OneOf {
			if !isIdentifier(v) {
				return fmt.Errorf("%w: kind %s: column %s: value %q", ErrInvalid, k.Name, c.Name, v)
			}
		}
		seen[c.Name] = true
	}
	keys := map[string]bool{}
	for _, key := range k.Keys {
		if !isIdentifier(key.Name) || keys[key.Name] || len(key.Columns) == 0 {
			return fmt.Errorf("%w: kind %s: key %q", ErrInvalid, k.Name, key.Name)
		}
		for _, c := range key.Columns {
			if c != "id" && !seen[c] {
				return fmt.Errorf("%w: kind %s: key %s: no column %q", ErrInvalid, k.Name, key.Name, c)
			}
		}
		keys[key.Name] = true
	}
	if k.Due != "" {
		i := k.Column(k.Due)
		if i < 0 || k.Columns[i].Type != Time || !k.Columns[i].Null {
			return fmt.Errorf("%w: kind %s: due column %q is not a nullable time", ErrInvalid, k.Name, k.Due)
		}
	} else if k.OneQueue {
		return fmt.Errorf("%w: kind %s is one queue without a due column", ErrInvalid, k.Name)
	}
	return nil
}

// Check returns an error for a record that must not be stored under this kind, and rounds
// its times down as [Instant] does. Backends call it before every write.
func (k *Kind) Check(r *Record) error {
	if r.ID == "" {
		return fmt.Errorf("%w: %s without id", ErrInvalid, k.Name)
	}
	if r.Number < 0 || r.Number > 0 && !k.Ordered {
		return fmt.Errorf("%w: %s with number %d", ErrInvalid, k.Name, r.Number)
	}
	if len(r.Columns) != len(k.Columns) {
		return fmt.Errorf("%w: %s has %d columns, want %d", ErrInvalid, k.Name, len(r.Columns), len(k.Columns))
	}
	for i := range k.Columns {
		c := &k.Columns[i]
		if t, ok := r.Columns[i].(time.Time); ok {
			r.Columns[i] = Instant(t)
		}
		if err := c.check(r.Columns[i], c.Null); err != nil {
			return fmt.Errorf("%w: %s.%s: %w", ErrInvalid, k.Name, c.Name, err)
		}
	}
	return nil
}

// CheckKey returns the unique key of that name. It checks the values against the key's
// columns, and rounds times as Check does.
func (k *Kind) CheckKey(name string, values []any) (*Key, error) {
	key := k.Key(name)
	if key == nil || len(values) != len(key.Columns) {
		return nil, fmt.Errorf("%w: %s has no unique key %q of %d columns", ErrInvalid, k.Name, name, len(values))
	}
	for i, column := range key.Columns {
		c := Column{Name: "id", Type: Text}
		if column != "id" {
			c = k.Columns[k.Column(column)]
		}
		if t, ok := values[i].(time.Time); ok {
			values[i] = Instant(t)
		}
		if err := c.check(values[i], false); err != nil {
			return nil, fmt.Errorf("%w: %s.%s: %w", ErrInvalid, k.Name, c.Name, err)
		}
	}
	return key, nil
}

// CheckQuery returns an error for a query that the kind cannot answer.
func (k *Kind) CheckQuery(q Query) error {
	if q.Limit < 1 {
		return fmt.Errorf("%w: list of %s without limit", ErrInvalid, k.Name)
	}
	if q.Bytes < 0 {
		return fmt.Errorf("%w: list of %s of %d bytes", ErrInvalid, k.Name, q.Bytes)
	}
	if q.After != "" && q.Before != "" {
		return fmt.Errorf("%w: list of %s with two cursors", ErrInvalid, k.Name)
	}
	if q.Number != 0 && (!k.Ordered || q.After+q.Before == "") {
		return fmt.Errorf("%w: list of %s with the number of a cursor, without a cursor or an order", ErrInvalid, k.Name)
	}
	for _, e := range q.Where {
		i := k.Column(e.Column)
		if i < 0 {
			return fmt.Errorf("%w: %s has no column %q", ErrInvalid, k.Name, e.Column)
		}
		if err := k.Columns[i].check(e.Value, true); err != nil && e.Value != nil {
			// A value outside OneOf is no mistake of the caller: it matches nothing.
			if _, text := e.Value.(string); !text || k.Columns[i].Type != Text {
				return fmt.Errorf("%w: %s.%s: %w", ErrInvalid, k.Name, e.Column, err)
			}
		}
	}
	for _, r := range q.Range {
		if i := k.Column(r.Column); i < 0 || k.Columns[i].Type != Time {
			return fmt.Errorf("%w: %s has no time column %q", ErrInvalid, k.Name, r.Column)
		}
	}
	return nil
}

// CheckClaim returns an error for a claim that the kind cannot answer.
func (k *Kind) CheckClaim(c Claim) error {
	if k.Due == "" || c.Limit < 1 || c.Lease < 0 || c.InTx == (c.Lease > 0) || c.Due.IsZero() == (len(c.Clocks) == 0) || c.Now.IsZero() {
		return fmt.Errorf("%w: claim of %s needs a due column, either Due or Clocks, Now, Limit, and either Lease or InTx", ErrInvalid, k.Name)
	}
	if k.OneQueue && len(c.Clocks) > 0 {
		return fmt.Errorf("%w: claim of %s by clocks, though it is one queue", ErrInvalid, k.Name)
	}
	seen := map[Scope]bool{}
	for _, clock := range c.Clocks {
		if clock.Scope.Live != c.Live || clock.Now.IsZero() || clock.Limit < 0 || seen[clock.Scope] {
			return fmt.Errorf("%w: claim of %s: each clock needs a time, no negative limit, and a scope of the claim's mode that is its own", ErrInvalid, k.Name)
		}
		seen[clock.Scope] = true
	}
	return nil
}

// CheckBacklog returns an error for a count of due records that the kind cannot answer.
func (k *Kind) CheckBacklog(due time.Time, limit int) error {
	if k.Due == "" || limit < 1 || due.IsZero() {
		return fmt.Errorf("%w: backlog of %s needs a due column, a due time and a limit", ErrInvalid, k.Name)
	}
	return nil
}

// CheckNextDue returns an error for a query of due times that the kind cannot answer.
func (k *Kind) CheckNextDue(limit int) error {
	if k.Due == "" || k.OneQueue || limit < 1 {
		return fmt.Errorf("%w: the next due times of %s need a due column, no single queue, and a limit", ErrInvalid, k.Name)
	}
	return nil
}

// CheckLease returns an error for a lease that a record of the kind cannot have.
func (k *Kind) CheckLease(until time.Time) error {
	if k.Due == "" || until.IsZero() {
		return fmt.Errorf("%w: a lease of %s needs a due column and a time", ErrInvalid, k.Name)
	}
	return nil
}

func (c *Column) check(v any, null bool) error {
	switch v := v.(type) {
	case nil:
		if !null {
			return fmt.Errorf("null")
		}
		return nil
	case string:
		if c.Type != Text {
			return fmt.Errorf("text in a column of another type")
		}
		if len(c.OneOf) > 0 && !slices.Contains(c.OneOf, v) {
			return fmt.Errorf("a text that is not one of %v", c.OneOf)
		}
		return nil
	case int64:
		if c.Type == Int {
			return nil
		}
	case bool:
		if c.Type == Bool {
			return nil
		}
	case time.Time:
		if c.Type == Time {
			return nil
		}
	}
	return fmt.Errorf("%T in a column of another type", v)
}

// reservedColumns are the columns that backends give to every record.
var reservedColumns = map[string]bool{
	"id": true, "merchant": true, "live": true, "version": true,
	"data": true, "lease": true, "rowid": true, "oid": true,
}

func isIdentifier(s string) bool {
	if s == "" || len(s) > 48 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && c != '_' && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}
