package pin

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

func TestHashMatchesItsPINOnly(t *testing.T) {
	h := NewHasher()
	hash := must.Get(h.Hash(t.Context(), "1234"))(t)
	expect.True(t, strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$"), "hash %q", hash)
	other, err := h.Hash(t.Context(), "1234")
	must.Do(t, err)
	expect.True(t, other != hash, "two hashes of one PIN are the same, or %v", err)
	for pin, want := range map[string]bool{"1234": true, "1235": false, "": false, "12345": false} {
		expect.Equal(t, must.Get(h.Matches(t.Context(), hash, pin))(t), want, "%q", pin)
	}
	for _, damaged := range []string{
		"1234", "$argon2i$v=19$m=8,t=1,p=1$AAAA$AAAA", "$argon2id$v=1$m=8,t=1,p=1$AAAA$AAAA",
		"$argon2id$v=19$m=x$AAAA$AAAA", "$argon2id$v=19$m=8,t=1,p=1$*$AAAA", "$argon2id$v=19$m=8,t=1,p=1$AAAA$",
	} {
		if _, err := h.Matches(t.Context(), damaged, "1234"); err == nil {
			t.Errorf("%q is taken for a hash", damaged)
		}
	}
}

// A stolen hash does not reveal its PIN without the key.
func TestHashesNeedTheirKey(t *testing.T) {
	plain, old, now := NewHasher(), NewHasher([]byte("old")), NewHasher([]byte("new"), []byte("old"))
	hash := map[*Hasher]string{}
	for _, h := range []*Hasher{plain, old, now} {
		var err error
		hash[h], err = h.Hash(t.Context(), "1234")
		must.Do(t, err)
	}
	for _, test := range []struct {
		name  string
		h     *Hasher
		hash  string
		err   error
		stale bool
	}{
		{"without a key", plain, hash[plain], nil, false},
		{"a hash from before keys", old, hash[plain], nil, true},
		{"the same key", old, hash[old], nil, false},
		{"the key before", now, hash[old], nil, true},
		{"a hash from before keys, after a rotation", now, hash[plain], nil, true},
		{"the new key", now, hash[now], nil, false},
		{"a key to come", old, hash[now], ErrUnknownKey, true},
		{"no key", plain, hash[old], ErrUnknownKey, false},
	} {
		expect.ErrorIs(t, test.h.Check(test.hash), test.err, "%s: Check says", test.name)
		expect.Equal(t, test.h.Stale(test.hash), test.stale, "%s: stale", test.name)
		for pin, want := range map[string]bool{"1234": test.err == nil, "1235": false} {
			if got, err := test.h.Matches(t.Context(), test.hash, pin); got != want || !errors.Is(err, test.err) {
				t.Errorf("%s: %q matches: %t, %v", test.name, pin, got, err)
			}
		}
		// The thief knows the algorithm, and has everything except the key.
		stripped := strings.Replace(test.hash, ",keyid="+keyID(test.hash), "", 1)
		expect.Equal(t, must.Get(plain.Matches(t.Context(), stripped, "1234"))(t), (test.hash == hash[plain]), "%s: without its key the hash matches", test.name)
	}
	if got, err := now.Matches(t.Context(), "", "1234"); got || err != nil {
		t.Errorf("no hash: %t, %v", got, err)
	}
}

func keyID(hash string) string {
	p, err := parse(hash)
	if err != nil {
		return ""
	}
	return p.keyID
}

func TestHashingStopsWithTheContext(t *testing.T) {
	h := &Hasher{slots: make(chan struct{}, 1)}
	h.slots <- struct{}{} // all slots are busy
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Hash(ctx, "1234"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestGuardGivesOneTurnAtATime(t *testing.T) {
	var g Guard
	var all sync.WaitGroup
	holders := map[string]int{}
	for i := range 40 {
		name := []string{"a", "b"}[i%2]
		all.Go(func() {
			giveBack, err := g.Lock(t.Context(), name)
			if err != nil {
				t.Error(err)
				return
			}
			defer giveBack()
			if name == "a" { // the turn of a orders the accesses
				holders[name]++
			}
		})
	}
	all.Wait()
	expect.Equal(t, holders["a"], 20, "number of holders")
	expect.Equal(t, len(g.turns), 0, "number of turns")
}

func TestGuardStopsWaitingWithTheContext(t *testing.T) {
	var g Guard
	giveBack := must.Get(g.Lock(t.Context(), "a"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Lock(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	giveBack()
	giveBack = must.Get(g.Lock(t.Context(), "a"))(t)
	giveBack()
	expect.Equal(t, len(g.turns), 0, "%d turns left", len(g.turns))
}
