package storage_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/storage"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// want checks an error by errors.Is; nil wants none.
func want(t *testing.T, what string, got, wanted error) {
	t.Helper()
	expect.True(t, wanted != nil || got == nil, "%s: got error %v, want %v", what, got, wanted)
	expect.True(t, wanted == nil || errors.Is(got, wanted), "%s: got error %v, want %v", what, got, wanted)
}

func everyType() *storage.Kind {
	return &storage.Kind{
		Name: "things",
		Columns: []storage.Column{
			{Name: "name", Type: storage.Text},
			{Name: "size", Type: storage.Int, Null: true},
			{Name: "open", Type: storage.Bool, Null: true},
			{Name: "due", Type: storage.Time, Null: true},
			{Name: "state", Type: storage.Text, Null: true, OneOf: []string{"new", "old"}},
		},
		Keys: []storage.Key{
			{Name: "name_size", Columns: []string{"name", "size"}},
			{Name: "public", Columns: []string{"id"}, Global: true},
			{Name: "due", Columns: []string{"due"}},
		},
		Due: "due",
	}
}

func TestKindValidate(t *testing.T) {
	want(t, "a kind of every type", everyType().Validate(), nil)
	want(t, "a kind of a name alone", (&storage.Kind{Name: "a"}).Validate(), nil)
	want(t, "a long name", (&storage.Kind{Name: strings.Repeat("a", 48)}).Validate(), nil)
	text := func(name string) storage.Column { return storage.Column{Name: name, Type: storage.Text} }
	for what, spoil := range map[string]func(*storage.Kind){
		"no name":                 func(k *storage.Kind) { k.Name = "" },
		"a name of two words":     func(k *storage.Kind) { k.Name = "two words" },
		"a name with a quote":     func(k *storage.Kind) { k.Name = `a"b` },
		"an upper-case name":      func(k *storage.Kind) { k.Name = "Things" },
		"a name with a digit":     func(k *storage.Kind) { k.Name = "1st" },
		"a name too long":         func(k *storage.Kind) { k.Name = strings.Repeat("a", 49) },
		"a name beyond ASCII":     func(k *storage.Kind) { k.Name = "é" },
		"a column without name":   func(k *storage.Kind) { k.Columns = append(k.Columns, text("")) },
		"a column called id":      func(k *storage.Kind) { k.Columns = append(k.Columns, text("id")) },
		"a column called rowid":   func(k *storage.Kind) { k.Columns = append(k.Columns, text("rowid")) },
		"a column called lease":   func(k *storage.Kind) { k.Columns = append(k.Columns, text("lease")) },
		"a column twice":          func(k *storage.Kind) { k.Columns = append(k.Columns, text("name")) },
		"a column without type":   func(k *storage.Kind) { k.Columns[0].Type = 0 },
		"a column of no type":     func(k *storage.Kind) { k.Columns[0].Type = storage.Time + 1 },
		"a number that is one of": func(k *storage.Kind) { k.Columns[1].OneOf = []string{"a"} },
		"one of with a quote":     func(k *storage.Kind) { k.Columns[4].OneOf = []string{"a'b"} },
		"a key without name":      func(k *storage.Kind) { k.Keys[0].Name = "" },
		"a key without columns":   func(k *storage.Kind) { k.Keys[0].Columns = nil },
		"a key over no column":    func(k *storage.Kind) { k.Keys[0].Columns = []string{"nothing"} },
		"a key twice":             func(k *storage.Kind) { k.Keys[1].Name = "name_size" },
		"a due column of text":    func(k *storage.Kind) { k.Due = "name" },
		"a due column of nowhere": func(k *storage.Kind) { k.Due = "nothing" },
		"a due column never null": func(k *storage.Kind) { k.Columns[3].Null = false },
	} {
		k := everyType()
		spoil(k)
		want(t, what, k.Validate(), storage.ErrInvalid)
	}
}

func TestKindCheck(t *testing.T) {
	k := everyType()
	for _, test := range []struct {
		what    string
		columns []any
		want    error
	}{
		{"a value for each", []any{"a", int64(1), true, noon, "old"}, nil},
		{"nulls", []any{"", nil, nil, nil, nil}, nil},
		{"null where none may be", []any{nil, nil, nil, nil, nil}, storage.ErrInvalid},
		{"too few", []any{"a", nil, nil, nil}, storage.ErrInvalid},
		{"too many", []any{"a", nil, nil, nil, nil, nil}, storage.ErrInvalid},
		{"none", nil, storage.ErrInvalid},
		{"an int", []any{"a", 1, nil, nil, nil}, storage.ErrInvalid},
		{"text for a number", []any{"a", "1", nil, nil, nil}, storage.ErrInvalid},
		{"a number for text", []any{int64(1), nil, nil, nil, nil}, storage.ErrInvalid},
		{"a number for a bool", []any{"a", nil, int64(1), nil, nil}, storage.ErrInvalid},
		{"a bool for a time", []any{"a", nil, nil, true, nil}, storage.ErrInvalid},
		{"a time for text", []any{noon, nil, nil, nil, nil}, storage.ErrInvalid},
		{"bytes for text", []any{[]byte("a"), nil, nil, nil, nil}, storage.ErrInvalid},
		{"not one of", []any{"a", nil, nil, nil, "odd"}, storage.ErrInvalid},
		{"empty, not one of", []any{"a", nil, nil, nil, ""}, storage.ErrInvalid},
	} {
		want(t, test.what, k.Check(&storage.Record{ID: "a", Columns: test.columns}), test.want)
	}
	want(t, "no id", k.Check(&storage.Record{Columns: []any{"a", nil, nil, nil, nil}}), storage.ErrInvalid)

	r := storage.Record{ID: "a", Columns: []any{"a", nil, nil, noon.Add(1999 * time.Microsecond).In(time.FixedZone("", 60)), nil}}
	want(t, "a time to be rounded", k.Check(&r), nil)
	if got := r.Columns[3].(time.Time); !got.Equal(noon.Add(time.Millisecond)) || got.Location() != time.UTC {
		t.Errorf("time: got %v, want it down to the millisecond in UTC", got)
	}
}

func TestKindCheckKey(t *testing.T) {
	k := everyType()
	for _, test := range []struct {
		what, key string
		values    []any
		want      error
	}{
		{"a key", "name_size", []any{"a", int64(1)}, nil},
		{"by id", "public", []any{"a"}, nil},
		{"no such key", "nothing", []any{"a"}, storage.ErrInvalid},
		{"a column is no key", "name", []any{"a"}, storage.ErrInvalid},
		{"too few values", "name_size", []any{"a"}, storage.ErrInvalid},
		{"too many values", "public", []any{"a", "b"}, storage.ErrInvalid},
		{"null, though the column may be", "name_size", []any{"a", nil}, storage.ErrInvalid},
		{"another type", "name_size", []any{"a", "1"}, storage.ErrInvalid},
		{"an id of another type", "public", []any{int64(1)}, storage.ErrInvalid},
	} {
		got, err := k.CheckKey(test.key, test.values)
		want(t, test.what, err, test.want)
		expect.True(t, err != nil || got == k.Key(test.key), "%s: got key %v", test.what, got)
	}
	values := []any{noon.Add(1)}
	_, err := k.CheckKey("due", values)
	want(t, "a time to be rounded", err, nil)
	expect.Same(t, values, []any{noon}, "values")
}

func TestKindCheckQuery(t *testing.T) {
	k := everyType()
	where := func(column string, v any) storage.Query {
		return storage.Query{Limit: 1, Where: []storage.Equal{{Column: column, Value: v}}}
	}
	in := func(column string) storage.Query {
		return storage.Query{Limit: 1, Range: []storage.Range{{Column: column}}}
	}
	for _, test := range []struct {
		what string
		q    storage.Query
		want error
	}{
		{"a limit", storage.Query{Limit: 1}, nil},
		{"after", storage.Query{Limit: 1, After: "a"}, nil},
		{"before", storage.Query{Limit: 1, Before: "a"}, nil},
		{"text", where("name", "a"), nil},
		{"a number", where("size", int64(1)), nil},
		{"a bool", where("open", false), nil},
		{"a time", where("due", noon), nil},
		{"null", where("size", nil), nil},
		{"null where none may be", where("name", nil), nil},
		{"what is not one of", where("state", "odd"), nil},
		{"a range", in("due"), nil},
		{"no limit", storage.Query{}, storage.ErrInvalid},
		{"a negative limit", storage.Query{Limit: -1}, storage.ErrInvalid},
		{"two cursors", storage.Query{Limit: 1, After: "a", Before: "b"}, storage.ErrInvalid},
		{"no column", where("nothing", "a"), storage.ErrInvalid},
		{"the id", where("id", "a"), storage.ErrInvalid},
		{"an int", where("size", 1), storage.ErrInvalid},
		{"text for a number", where("size", "1"), storage.ErrInvalid},
		{"a number for one of", where("state", int64(1)), storage.ErrInvalid},
		{"a range over text", in("name"), storage.ErrInvalid},
		{"a range over nothing", in("nothing"), storage.ErrInvalid},
	} {
		want(t, test.what, k.CheckQuery(test.q), test.want)
	}
}

func TestKindCheckClaim(t *testing.T) {
	at := time.Unix(1, 0)
	k := everyType()
	want(t, "a claim", k.CheckClaim(storage.Claim{Due: at, Now: at, Lease: 1, Limit: 1}), nil)
	clocks := []storage.Clock{{Scope: storage.Scope{Merchant: "a"}, Now: at}, {Now: at, Limit: 1}}
	want(t, "by clocks", k.CheckClaim(storage.Claim{Clocks: clocks, Now: at, Lease: 1, Limit: 1}), nil)
	want(t, "by clocks and a due time", k.CheckClaim(storage.Claim{Clocks: clocks, Due: at, Now: at, Lease: 1, Limit: 1}), storage.ErrInvalid)
	for what, wrong := range map[string]storage.Clock{
		"a second clock": clocks[0], "a clock of live mode": {Scope: storage.Scope{Live: true}, Now: at}, "a clock without time": {Scope: storage.Scope{Merchant: "b"}},
		"a clock with a negative limit": {Scope: storage.Scope{Merchant: "b"}, Now: at, Limit: -1},
	} {
		c := storage.Claim{Clocks: append(clocks, wrong), Now: at, Lease: 1, Limit: 1}
		want(t, what, k.CheckClaim(c), storage.ErrInvalid)
	}
	live := []storage.Clock{{Scope: storage.Scope{Live: true}, Now: at}}
	want(t, "by clocks of live mode", k.CheckClaim(storage.Claim{Live: true, Clocks: live, Now: at, Lease: 1, Limit: 1}), nil)
	want(t, "by clocks of test mode in live mode", k.CheckClaim(storage.Claim{Live: true, Clocks: clocks, Now: at, Lease: 1, Limit: 1}), storage.ErrInvalid)
	want(t, "no due time", k.CheckClaim(storage.Claim{Now: at, Lease: 1, Limit: 1}), storage.ErrInvalid)
	want(t, "no time", k.CheckClaim(storage.Claim{Due: at, Lease: 1, Limit: 1}), storage.ErrInvalid)
	want(t, "no limit", k.CheckClaim(storage.Claim{Due: at, Now: at, Lease: 1}), storage.ErrInvalid)
	want(t, "no lease", k.CheckClaim(storage.Claim{Due: at, Now: at, Limit: 1}), storage.ErrInvalid)
	want(t, "no lease, done at once", k.CheckClaim(storage.Claim{Due: at, Now: at, InTx: true, Limit: 1}), nil)
	want(t, "a lease, and done at once", k.CheckClaim(storage.Claim{Due: at, Now: at, Lease: 1, InTx: true, Limit: 1}), storage.ErrInvalid)
	want(t, "a negative lease, done at once", k.CheckClaim(storage.Claim{Due: at, Now: at, Lease: -1, InTx: true, Limit: 1}), storage.ErrInvalid)
	want(t, "a negative lease", k.CheckClaim(storage.Claim{Due: at, Now: at, Lease: -1, Limit: 1}), storage.ErrInvalid)
	k.OneQueue = true
	want(t, "of one queue", k.CheckClaim(storage.Claim{Due: at, Now: at, Lease: 1, Limit: 1}), nil)
	want(t, "of one queue by clocks", k.CheckClaim(storage.Claim{Clocks: clocks, Now: at, Lease: 1, Limit: 1}), storage.ErrInvalid)
	want(t, "the next due times of one queue", k.CheckNextDue(1), storage.ErrInvalid)
	k.Due = ""
	want(t, "one queue without a due column", k.Validate(), storage.ErrInvalid)
	want(t, "no due column", k.CheckClaim(storage.Claim{Due: at, Now: at, Lease: 1, Limit: 1}), storage.ErrInvalid)
}

func TestInstantRoundsDown(t *testing.T) {
	for _, test := range []struct{ in, want time.Time }{
		{noon, noon},
		{noon.Add(999_999), noon},
		{noon.Add(-1), noon.Add(-time.Millisecond)},
		{noon.In(time.FixedZone("", 3600)), noon},
		{time.Time{}, time.Time{}},
		{time.Unix(0, -1), time.UnixMilli(-1)}, // down, also before 1970
	} {
		if got := storage.Instant(test.in); !got.Equal(test.want) || got.Location() != time.UTC {
			t.Errorf("Instant(%v): got %v, want %v in UTC", test.in, got, test.want)
		}
	}
}
