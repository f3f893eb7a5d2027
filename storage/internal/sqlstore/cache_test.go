package sqlstore

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

func TestCacheIsBounded(t *testing.T) {
	var c cache
	for i := range 3 * maxCached {
		name := fmt.Sprint(i)
		c.putRecord(RecordKey{ID: name}, RecordState{Record: storage.Record{Data: []byte("x")}})
		c.makeRoom(1)
		c.store(accountRef(name), Account{Balance: storage.Balance{Account: name}})
	}
	for what, g := range map[string]*generation{"young": &c.young, "old": &c.old} {
		if n := len(g.values); n > maxCached {
			t.Errorf("%s: %d values", what, n)
		}
	}
	big := bytes.Repeat([]byte("x"), maxCachedBytes/4)
	for i := range 20 {
		c.putRecord(RecordKey{ID: fmt.Sprint("big", i)}, RecordState{Record: storage.Record{Data: big}})
		for what, g := range map[string]*generation{"young": &c.young, "old": &c.old} {
			sum := 0
			for _, v := range g.values {
				if s, ok := v.value.(RecordState); ok {
					sum += len(s.Record.Data)
				}
			}
			must.True(t, sum == g.bytes && sum <= 2*maxCachedBytes, "%s: counts %d bytes, has %d", what, g.bytes, sum)
		}
	}
}

// TestCacheFollowsTheLog checks that the cache drops the changes of another process, and nothing
// else.
func TestCacheFollowsTheLog(t *testing.T) {
	first, second := Commit{1, 11}, Commit{2, 22}
	changed := RecordKey{Kind: "notes", ID: "changed"}
	var hashes hashSet
	hashes.add(recordRef(changed))
	for name, test := range map[string]struct {
		log  CommitLog
		kept int
	}{
		"nothing new":        {CommitLog{Newest: first, Found: true}, 3},
		"one change":         {CommitLog{Newest: second, Found: true, Changed: []Hashes{hashes.list()}}, 2},
		"everything changed": {CommitLog{Newest: second, Found: true, Changed: []Hashes{nil}}, 0},
		"another history":    {CommitLog{Newest: second}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var c cache
			c.advance(CommitLog{Newest: first})
			c.putRecord(changed, RecordState{})
			c.putRecord(RecordKey{Kind: "notes", ID: "same"}, RecordState{})
			c.store(sequenceRef("same"), int64(1))
			c.advance(test.log)
			expect.Equal(t, len(c.young.values), test.kept, "values are kept, want %d", test.kept)
			expect.Equal(t, c.commit, test.log.Newest, "at")
		})
	}
}

// A worker writes a due record again. Events that are no longer due and idempotency answers
// are not written again.
func TestCacheHoldsNewRecordsThatWait(t *testing.T) {
	due := storage.Kind{Name: "jobs", Columns: []storage.Column{{Name: "due", Type: storage.Time, Null: true}}, Due: "due"}
	oneQueue, plain := due, storage.Kind{Name: "notes"}
	oneQueue.OneQueue = true
	for name, test := range map[string]struct {
		kind    *storage.Kind
		columns []any
		cached  bool
	}{
		"due":           {&due, []any{time.Now()}, true},
		"done":          {&due, []any{nil}, false},
		"of one queue":  {&oneQueue, []any{time.Now()}, false},
		"without a due": {&plain, nil, true},
	} {
		var c cache
		var written writeSet
		key := RecordKey{Kind: test.kind.Name, ID: "x"}
		table := newTable(&Dialect{Parameter: func(int) string { return "?" }, Limit: func(p string) string { return p }}, test.kind)
		written.putRecord(key, RecordState{Table: table, Record: storage.Record{ID: "x", Version: 1, Columns: test.columns}})
		c.merge(&written)
		if _, cached := c.record(key); cached != test.cached {
			t.Errorf("%s: cached %t", name, cached)
		}
	}
}
