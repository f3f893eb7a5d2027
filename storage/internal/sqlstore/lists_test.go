package sqlstore_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/internal/sqlstore"
)

var tasks = &storage.Kind{
	Name: "tasks",
	Columns: []storage.Column{
		{Name: "status", Type: storage.Text, Indexed: true},
		{Name: "due", Type: storage.Time, Null: true, Indexed: true},
		{Name: "code", Type: storage.Text, Null: true},
	},
	Keys: []storage.Key{{Name: "code", Columns: []string{"code"}, Global: true}, {Name: "status", Columns: []string{"status", "id"}}},
	Due:  "due",
}

func TestLists(t *testing.T) {
	numbered := sqlstore.Dialect{
		Parameter: func(n int) string { return "$" + strconv.Itoa(n) },
		Limit:     func(parameter string) string { return parameter },
		Cursor:    func(id string) string { return "at " + id },
	}
	marked := sqlstore.Dialect{
		Parameter: func(int) string { return "?" },
		Limit:     func(parameter string) string { return parameter + " + 0" },
	}
	scope := storage.Scope{Merchant: "mer_1", Live: true}
	noon := time.UnixMilli(1000)
	for _, test := range []struct {
		dialect *sqlstore.Dialect
		query   storage.Query
		text    string
		args    []any
	}{
		{
			&numbered,
			storage.Query{Scope: scope, Limit: 5},
			`SELECT id, data FROM tasks WHERE merchant = $1 AND live = $2 ORDER BY id DESC LIMIT $3`,
			[]any{"mer_1", true, 5},
		},
		{
			&numbered,
			storage.Query{Scope: scope, Limit: 5, After: "x", Where: []storage.Equal{{Column: "status", Value: "open"}, {Column: "code"}}},
			`SELECT id, data FROM tasks WHERE merchant = $1 AND live = $2 AND "status" = $3 AND "code" IS NULL AND id < $4 ORDER BY id DESC LIMIT $5`,
			[]any{"mer_1", true, "open", "at x", 5},
		},
		{
			&marked,
			storage.Query{Scope: scope, Limit: 5, Before: "x", Bare: true, Range: []storage.Range{{Column: "due", From: noon.Add(time.Microsecond), Until: noon}}},
			`SELECT id FROM tasks WHERE merchant = ? AND live = ? AND "due" >= ? AND "due" < ? AND id > ? ORDER BY id LIMIT ? + 0`,
			[]any{"mer_1", true, int64(1001), int64(1000), "x", 5},
		},
		{
			&marked,
			storage.Query{Scope: scope, Limit: 5, Range: []storage.Range{{Column: "due"}}},
			`SELECT id, data FROM tasks WHERE merchant = ? AND live = ? AND "due" IS NOT NULL ORDER BY id DESC LIMIT ? + 0`,
			[]any{"mer_1", true, 5},
		},
	} {
		lists := sqlstore.NewLists(test.dialect, tasks, "tasks", "id, data", "id")
		for _, when := range []string{"written", "remembered"} {
			text, args := lists.List(test.query, nil)
			if text != test.text {
				t.Errorf("%s\n\t%s, want\n\t%s", when, text, test.text)
			}
			if diff := cmp.Diff(test.args, args); diff != "" {
				t.Errorf("%s: arguments of %s (-want +got):\n%s", when, text, diff)
			}
		}
	}
}

// However many shapes there are, each has its own text.
func TestManyShapes(t *testing.T) {
	k := &storage.Kind{Name: "wide"}
	for i := range 200 {
		k.Columns = append(k.Columns, storage.Column{Name: fmt.Sprint("c", i), Type: storage.Text})
	}
	lists := sqlstore.NewLists(&sqlstore.Dialect{
		Parameter: func(int) string { return "?" }, Limit: func(p string) string { return p },
	}, k, "wide", "id", "id")
	for range 2 {
		for i := range k.Columns {
			for j := range 10 {
				text, _ := lists.List(storage.Query{Limit: 1, Where: []storage.Equal{
					{Column: fmt.Sprint("c", i), Value: "x"}, {Column: fmt.Sprint("c", j), Value: "x"},
				}}, nil)
				want := fmt.Sprintf(`SELECT id FROM wide WHERE merchant = ? AND live = ? AND "c%d" = ? AND "c%d" = ? ORDER BY id DESC LIMIT ?`, i, j)
				if text != want {
					t.Fatalf("%s, want %s", text, want)
				}
			}
		}
	}
}

func TestIndexes(t *testing.T) {
	var got []string
	for _, i := range sqlstore.Indexes(tasks) {
		got = append(got, i.Create(i.Name, "tasks"))
	}
	want := []string{
		`CREATE UNIQUE INDEX "tasks.key.code" ON tasks ("code") WHERE "code" IS NOT NULL`,
		`CREATE UNIQUE INDEX "tasks.key.status" ON tasks (merchant, live, "status", "id")`,
		`CREATE INDEX "tasks.by.status" ON tasks (merchant, live, "status", id)`,
		`CREATE INDEX "tasks.by.due" ON tasks (merchant, live, "due", id) WHERE "due" IS NOT NULL`,
		`CREATE INDEX "tasks.due" ON tasks ("due", id) WHERE "due" IS NOT NULL`,
		`CREATE INDEX "tasks.due.test" ON tasks (merchant, "due", id) WHERE NOT live AND "due" IS NOT NULL`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("indexes (-want +got):\n%s", diff)
	}
}
