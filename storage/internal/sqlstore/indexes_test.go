package sqlstore_test

import (
	"slices"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
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

func TestIndexesOfKind(t *testing.T) {
	var got []string
	for _, i := range sqlstore.Indexes(tasks) {
		got = append(got, i.CreateStatement(i.Name, "tasks"))
	}
	want := []string{
		`CREATE UNIQUE INDEX "tasks.key.code" ON tasks ("code") WHERE "code" IS NOT NULL`,
		`CREATE UNIQUE INDEX "tasks.key.status" ON tasks (merchant, live, "status", "id")`,
		`CREATE INDEX "tasks.by.status" ON tasks (merchant, live, "status", id)`,
		`CREATE INDEX "tasks.by.due" ON tasks (merchant, live, "due", id) WHERE "due" IS NOT NULL`,
		`CREATE INDEX "tasks.due.mode" ON tasks (live, "due", id) WHERE "due" IS NOT NULL`,
		`CREATE INDEX "tasks.due.scope" ON tasks (live, merchant, "due", id) WHERE "due" IS NOT NULL`,
	}
	expect.Same(t, got, want, "indexes")
}

// A kind with one queue has one index for due records. Define drops the other one.
func TestIndexesOfOneQueue(t *testing.T) {
	k := storage.Kind{Name: "ends", Columns: []storage.Column{{Name: "due", Type: storage.Time, Null: true}}, Due: "due", OneQueue: true}
	all := sqlstore.Indexes(&k)
	if len(all) != 1 || all[0].Name != "ends.due.mode" || !slices.Contains(sqlstore.ObsoleteIndexes(&k), "ends.due.scope") {
		t.Errorf("indexes %v in place of %v", all, sqlstore.ObsoleteIndexes(&k))
	}
	if slices.Contains(sqlstore.ObsoleteIndexes(tasks), "tasks.due.scope") {
		t.Errorf("a kind with turns loses %v", sqlstore.ObsoleteIndexes(tasks))
	}
}
