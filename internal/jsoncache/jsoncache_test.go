package jsoncache

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/seed-7082ffec/payments/storage"
)

var notes = &storage.Kind{Name: "notes"}

func note(id, document string) *storage.Record {
	return &storage.Record{ID: id, Version: 1, Data: []byte(document)}
}

func TestCacheKnowsOnlyEqualDocuments(t *testing.T) {
	var c Cache
	c.Put(notes, note("n_1", `{"text":"a"}`), []byte(`"a"`))
	if got := c.Get(notes, note("n_1", `{"text":"a"}`)); string(got) != `"a"` {
		t.Errorf("the same document: %s", got)
	}
	for what, r := range map[string]*storage.Record{
		"another text of the same version": note("n_1", `{"text":"b"}`),
		"a longer one":                     note("n_1", `{"text":"a"} `),
		"none":                             note("n_1", ""),
		"another record":                   note("n_2", `{"text":"a"}`),
	} {
		if got := c.Get(notes, r); got != nil {
			t.Errorf("%s: %s", what, got)
		}
	}
	if got := c.Get(&storage.Kind{Name: "notes"}, note("n_1", `{"text":"a"}`)); got != nil {
		t.Errorf("another kind: %s", got)
	}
	c.Put(notes, note("n_1", `{"text":"b"}`), []byte(`"b"`))
	if got := c.Get(notes, note("n_1", `{"text":"b"}`)); string(got) != `"b"` {
		t.Errorf("changed: %s", got)
	}

	var none *Cache
	none.Put(notes, note("n_1", "x"), []byte("x"))
	if got := none.Get(notes, note("n_1", "x")); got != nil {
		t.Errorf("a nil cache returns %s", got)
	}
}

// The cache keeps used entries and stays within its bound.
func TestCacheKeepsUsedEntriesWithinBound(t *testing.T) {
	var c Cache
	long := bytes.Repeat([]byte("a"), 10_000)
	name := func(i int) string { return fmt.Sprintf("n_%d", i) }
	for i := range 5_000 {
		r := &storage.Record{ID: name(i), Data: long}
		c.Put(notes, r, long)
		if c.Get(notes, &storage.Record{ID: name(0), Data: long}) == nil {
			t.Fatalf("forgot a used entry after %d", i)
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
	if c.Get(notes, &storage.Record{ID: name(1), Data: long}) != nil {
		t.Error("remembers an entry that was never read")
	}
	if c.Get(notes, &storage.Record{ID: name(4_999), Data: long}) == nil {
		t.Error("forgot the last one")
	}
	huge := &storage.Record{ID: "huge", Data: make([]byte, maxEntry)}
	if c.Put(notes, huge, long); c.Get(notes, huge) != nil {
		t.Error("remembers a document above maxEntry")
	}
}

func TestCacheServesConcurrentReaders(t *testing.T) {
	var c Cache
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 2_000 {
				text := fmt.Sprint(i%50, (i+worker)%3)
				r := note(fmt.Sprint(i%50), text)
				if got := c.Get(notes, r); got != nil && string(got) != "json "+text {
					t.Errorf("%s has the JSON %s", text, got)
				} else if got == nil {
					c.Put(notes, r, []byte("json "+text))
				}
			}
		})
	}
	all.Wait()
}

// Documents that grow count towards the bound as new ones do.
func TestCacheBoundsGrowingDocuments(t *testing.T) {
	var c Cache
	for _, length := range []int{100, 4_000} {
		for i := range 5_000 {
			c.Put(notes, &storage.Record{ID: fmt.Sprint(i), Data: make([]byte, length)}, make([]byte, length))
			if c.bytes > maxBytes/2 {
				t.Fatalf("%d bytes after %d of %d", c.bytes, i, length)
			}
		}
	}
}
