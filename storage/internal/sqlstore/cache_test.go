package sqlstore

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/seed-7082ffec/payments/storage"
)

func TestCacheIsBounded(t *testing.T) {
	var c cache
	for i := range 3 * maxCached {
		name := fmt.Sprint(i)
		c.keep(Key{ID: name}, State{Record: storage.Record{Data: []byte("x")}})
		c.makeRoom(1)
		c.keepAccount(name, Account{Balance: storage.Balance{Account: name}})
	}
	for what, g := range map[string]*generation{"young": &c.young, "old": &c.old} {
		if n := len(g.byHash); n > maxCached || n != len(g.records)+len(g.accounts) {
			t.Errorf("%s: %d hashes, %d records, %d accounts", what, n, len(g.records), len(g.accounts))
		}
	}
	big := bytes.Repeat([]byte("x"), maxCachedBytes/4)
	for i := range 20 {
		c.keep(Key{ID: fmt.Sprint("big", i)}, State{Record: storage.Record{Data: big}})
		for what, g := range map[string]*generation{"young": &c.young, "old": &c.old} {
			sum := 0
			for _, s := range g.records {
				sum += len(s.Record.Data)
			}
			if sum != g.bytes || sum > 2*maxCachedBytes {
				t.Fatalf("%s: counts %d bytes, has %d", what, g.bytes, sum)
			}
		}
	}
}

// TestCacheFollowsTheLog forgets what another process changed, and nothing else.
func TestCacheFollowsTheLog(t *testing.T) {
	first, second := Commit{1, 11}, Commit{2, 22}
	changed := Key{Kind: "notes", ID: "changed"}
	var hashes changes
	hashes.add(changed.hash)
	for name, test := range map[string]struct {
		log  Log
		kept int
	}{
		"nothing new":        {Log{Newest: first, Known: true}, 3},
		"one change":         {Log{Newest: second, Known: true, Changed: [][]byte{hashes.bytes()}}, 2},
		"everything changed": {Log{Newest: second, Known: true, Changed: [][]byte{nil}}, 0},
		"another history":    {Log{Newest: second}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var c cache
			c.follow(Log{Newest: first})
			c.keep(changed, State{})
			c.keep(Key{Kind: "notes", ID: "same"}, State{})
			c.keepSequence("same", 1)
			c.follow(test.log)
			if got := len(c.young.byHash); got != test.kept {
				t.Errorf("%d values are kept, want %d", got, test.kept)
			}
			if c.at != test.log.Newest {
				t.Errorf("at %v, want %v", c.at, test.log.Newest)
			}
		})
	}
}
