package shown

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/seed-7082ffec/payments/storage"
)

var notes = &storage.Kind{Name: "notes"}

func record(id, document string) *storage.Record {
	return &storage.Record{ID: id, Version: 1, Data: []byte(document)}
}

func TestOnlyTheSameDocumentIsKnown(t *testing.T) {
	var c Cache
	c.Keep(notes, record("n_1", `{"text":"a"}`), []byte(`"a"`))
	if got := c.Find(notes, record("n_1", `{"text":"a"}`)); string(got) != `"a"` {
		t.Errorf("the same document: %s", got)
	}
	for what, r := range map[string]*storage.Record{
		"another text of the same version": record("n_1", `{"text":"b"}`),
		"a longer one":                     record("n_1", `{"text":"a"} `),
		"none":                             record("n_1", ""),
		"another record":                   record("n_2", `{"text":"a"}`),
	} {
		if got := c.Find(notes, r); got != nil {
			t.Errorf("%s: %s", what, got)
		}
	}
	if got := c.Find(&storage.Kind{Name: "notes"}, record("n_1", `{"text":"a"}`)); got != nil {
		t.Errorf("another kind: %s", got)
	}
	c.Keep(notes, record("n_1", `{"text":"b"}`), []byte(`"b"`))
	if got := c.Find(notes, record("n_1", `{"text":"b"}`)); string(got) != `"b"` {
		t.Errorf("changed: %s", got)
	}

	var none *Cache
	none.Keep(notes, record("n_1", "x"), []byte("x"))
	if got := none.Find(notes, record("n_1", "x")); got != nil {
		t.Errorf("no cache knows %s", got)
	}
}

// What is used stays, and all together stays within the bound.
func TestTheCacheIsBounded(t *testing.T) {
	var c Cache
	long := bytes.Repeat([]byte("a"), 10_000)
	name := func(i int) string { return fmt.Sprintf("n_%d", i) }
	for i := range 5_000 {
		r := &storage.Record{ID: name(i), Data: long}
		c.Keep(notes, r, long)
		if c.Find(notes, &storage.Record{ID: name(0), Data: long}) == nil {
			t.Fatalf("forgot what is used, after %d", i)
		}
		size := 0
		for _, entries := range []map[id]entry{c.young, c.old} {
			for _, e := range entries {
				size += e.size()
			}
		}
		if size > maxBytes {
			t.Fatalf("%d bytes after %d", size, i)
		}
	}
	if c.Find(notes, &storage.Record{ID: name(1), Data: long}) != nil {
		t.Error("remembers what nobody used")
	}
	if c.Find(notes, &storage.Record{ID: name(4_999), Data: long}) == nil {
		t.Error("forgot the last one")
	}
	huge := &storage.Record{ID: "huge", Data: make([]byte, maxEntry)}
	if c.Keep(notes, huge, long); c.Find(notes, huge) != nil {
		t.Error("remembers what is too long")
	}
}

func TestManyReaders(t *testing.T) {
	var c Cache
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 2_000 {
				text := fmt.Sprint(i%50, (i+worker)%3)
				r := record(fmt.Sprint(i%50), text)
				if got := c.Find(notes, r); got != nil && string(got) != "shown "+text {
					t.Errorf("%s is shown as %s", text, got)
				} else if got == nil {
					c.Keep(notes, r, []byte("shown "+text))
				}
			}
		})
	}
	all.Wait()
}

// Documents that grow are bounded as new ones are.
func TestDocumentsThatGrow(t *testing.T) {
	var c Cache
	for _, length := range []int{100, 4_000} {
		for i := range 5_000 {
			c.Keep(notes, &storage.Record{ID: fmt.Sprint(i), Data: make([]byte, length)}, make([]byte, length))
			if c.bytes > maxBytes/2 {
				t.Fatalf("%d bytes after %d of %d", c.bytes, i, length)
			}
		}
	}
}
