// Package shown takes objects from the store to whoever answers with their JSON, past
// the Go values that nobody would look at.
//
// Two thirds of a list over HTTP were the decoding of 20 documents and the encoding of
// 20 objects, of which hardly one had changed since it was shown last. Sparing it took a
// list from 0.11 to 0.28 of the rate of a bare handler (BenchmarkRead of package
// httpapi); one that nobody had seen lately stayed at 0.12. Where an object is stored as it
// is shown, [AsStored] finds it in the document, seen or not; for the others [Cache]
// remembers what documents look like outside. [Page] is where a page is put together out
// of such pieces. Package engine fills them in, for every noun alike, and package httpapi
// asks for them.
package shown

import (
	"bytes"
	"context"
	"sync"

	"github.com/seed-7082ffec/payments/storage"
)

// Page takes the JSON of an answer. Who reads with the context of [Into] finds it
// there instead of in the value that is returned, which is then empty.
type Page struct {
	bytes.Buffer
}

type key struct{}

// Into returns a context that asks for the JSON of what is read, and for nothing
// else. It is for one read, whose answer is handed on as it is.
func Into(ctx context.Context, p *Page) context.Context { return context.WithValue(ctx, key{}, p) }

// Wanted returns the page that ctx asks to be filled, or nil.
func Wanted(ctx context.Context) *Page {
	p, _ := ctx.Value(key{}).(*Page)
	return p
}

const (
	// maxBytes bounds a cache: some ten thousand objects of the usual size.
	maxBytes = 16 << 20
	// maxEntry is the longest document, with its JSON, that is remembered.
	maxEntry = 256 << 10
	// overhead is what an entry takes beside its texts, roughly.
	overhead = 200
)

// Cache remembers the JSON that documents are shown as. A nil Cache remembers
// nothing. It is safe for concurrent use.
//
// The document itself is the proof: an entry counts only for one that is the same
// byte by byte, so that no write need be told of, be it another process's, one that
// was taken back, or a restored backup's. How a document is shown must therefore
// depend on nothing but the document, its kind and what is fixed while the program
// runs. Comparing costs less than a hundredth of decoding.
//
// There are two generations: what is used moves to the young one, and when that has
// half of the bytes, the old one is dropped.
type Cache struct {
	mu         sync.RWMutex
	young, old map[id]entry
	bytes      int // of the young
}

type id struct {
	kind *storage.Kind
	id   string
}

type entry struct{ document, json []byte }

func (e *entry) size() int { return len(e.document) + len(e.json) + overhead }

// Find returns how the document is shown, or nil. The result must not be changed.
func (c *Cache) Find(k *storage.Kind, r *storage.Record) []byte {
	if c == nil {
		return nil
	}
	at := id{k, r.ID}
	c.mu.RLock()
	e, ok := c.young[at]
	old := false
	if !ok {
		e, old = c.old[at]
	}
	c.mu.RUnlock()
	if !bytes.Equal(e.document, r.Data) {
		return nil
	}
	if old {
		c.keep(at, e)
	}
	return e.json
}

// Keep remembers how the document is shown. Neither may be changed any more.
func (c *Cache) Keep(k *storage.Kind, r *storage.Record, json []byte) {
	if c == nil || len(r.Data) == 0 {
		return
	}
	if e := (entry{r.Data, json}); e.size() <= maxEntry {
		c.keep(id{k, r.ID}, e)
	}
}

func (c *Cache) keep(at id, e entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.young[at]; ok {
		c.bytes -= known.size()
		delete(c.young, at)
	}
	if c.bytes+e.size() > maxBytes/2 {
		c.old, c.young, c.bytes = c.young, nil, 0
	}
	if c.young == nil {
		c.young = make(map[id]entry)
	}
	c.young[at] = e
	c.bytes += e.size()
}
