package storage_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/storage"
)

func TestColumnValuesOfFields(t *testing.T) {
	type stamp struct{ time.Time }
	type card struct {
		name string
		open bool
		at   time.Time
		due  *stamp
		of   *string
	}
	fields := []storage.Field[card]{
		storage.EnumColumn("name", func(c *card) string { return c.name }, "", "a"),
		storage.BoolColumn("open", func(c *card) bool { return c.open }).Indexed(),
		storage.TimeColumn("at", func(c *card) time.Time { return c.at }),
		storage.NullTimeColumn("due", func(c *card) *stamp { return c.due }),
		storage.NullTextColumn("of", func(c *card) *string { return c.of }),
	}
	for _, f := range fields[:3] {
		fields = append(fields, f.Nullable())
	}
	var columns []storage.Column
	values := make([][]any, 3)
	at, empty, b := time.Unix(1, 0), "", "b"
	for _, f := range fields {
		columns = append(columns, f.Column)
		for i, c := range []card{{}, {due: &stamp{}, of: &empty}, {"a", true, at, &stamp{at}, &b}} {
			values[i] = append(values[i], f.Value(&c))
		}
	}
	if diff := cmp.Diff([]storage.Column{
		{Name: "name", Type: storage.Text, OneOf: []string{"", "a"}},
		{Name: "open", Type: storage.Bool, Indexed: true},
		{Name: "at", Type: storage.Time},
		{Name: "due", Type: storage.Time, Null: true},
		{Name: "of", Type: storage.Text, Null: true},
		{Name: "name", Type: storage.Text, OneOf: []string{"", "a"}, Null: true},
		{Name: "open", Type: storage.Bool, Indexed: true, Null: true},
		{Name: "at", Type: storage.Time, Null: true},
	}, columns); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]any{
		{"", false, time.Time{}, nil, nil, nil, nil, nil},
		{"", false, time.Time{}, time.Time{}, "", nil, nil, nil},
		{"a", true, at, at, "b", "a", true, at},
	}, values); diff != "" {
		t.Error(diff)
	}
}
