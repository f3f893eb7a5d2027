package party

import (
	"fmt"
	"strings"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/lookup"
	"github.com/seed-7082ffec/payments/storage"
)

// nameFields are the columns by which people are found by name.
func nameFields[T any](name func(*T) string) []storage.Field[T] {
	return []storage.Field[T]{
		storage.TextColumn("name", func(v *T) string { return lookup.Name(name(v)) }).Nullable().Indexed(),
		storage.TextColumn("first_name", func(v *T) string { return lookup.FirstName(name(v)) }).Nullable().Indexed(),
	}
}

// named returns the condition that matches the key of a name. A key of several words matches the whole name. A
// key of one word matches the first word.
func named(key string) storage.Equal {
	if strings.Contains(key, " ") {
		return storage.Equal{Column: "name", Value: key}
	}
	return storage.Equal{Column: "first_name", Value: key}
}

// Named returns the ids of the newest customers of the caller and of the newest consumers of the mode
// with a name, at most limit of each. key is a whole name, or its first word, in the form of
// internal/lookup.
func (*Service) Named(tx *engine.ReadTx, key string, limit int) (customerIDs, consumerIDs []string, err error) {
	for _, among := range []struct {
		kind  *storage.Kind
		scope storage.Scope
		ids   *[]string
	}{
		{customers.Kind(), engine.Scope(tx.Caller), &customerIDs},
		{consumers.Kind(), operator(tx.Caller.Live), &consumerIDs},
	} {
		found, err := tx.List(among.kind, storage.Query{Scope: among.scope, Where: []storage.Equal{named(key)}, Limit: limit, Bare: true})
		if err != nil {
			return nil, nil, fmt.Errorf("account: find by name: %w", err)
		}
		for _, r := range found {
			*among.ids = append(*among.ids, r.ID)
		}
	}
	return customerIDs, consumerIDs, nil
}
