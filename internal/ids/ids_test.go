package ids

import (
	"bytes"
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

func TestIDsAscend(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	s := New(func() time.Time { return now }, nil)
	var made []string
	for i := range 1000 {
		switch i % 100 {
		case 30:
			now = now.Add(time.Millisecond)
		case 60:
			now = now.Add(-time.Hour) // the clock steps back
		}
		made = append(made, s.Make("qr_"))
	}
	expect.True(t, slices.IsSorted(made), "ids do not ascend")
	expect.Equal(t, len(slices.Compact(slices.Clone(made))), len(made), "different ids")
	for _, id := range made {
		must.True(t, strings.HasPrefix(id, "qr_") && len(id) == 3+Length && IsBase62(id[3:]), "id %q", id)
	}
}

func TestTheCounterOverflowsIntoTheNextMillisecond(t *testing.T) {
	s := New(func() time.Time { return time.UnixMilli(5) }, nil)
	s.Make("")
	s.count = maxCount - 1
	made := []string{s.Make(""), s.Make(""), s.Make("")}
	expect.True(t, slices.IsSorted(made), "made %v at %d", made, s.last)
	expect.Equal(t, s.last, 6, "last")
}

func TestFollowing(t *testing.T) {
	const random = "abcdefghijk"
	for _, test := range []struct{ id, last, want string }{
		{"x_00000001000" + random, "", "x_00000001000" + random},
		{"x_00000001000" + random, "x_00000000zzz00000000000", "x_00000001000" + random},
		{"x_00000001000" + random, "x_0000000500000000000000", "x_00000005001" + random},
		{"x_00000001000" + random, "x_00000001000zzzzzzzzzzz", "x_00000001001" + random},
		{"x_00000001000" + random, "x_0000000AZzz00000000000", "x_0000000Aa00" + random},
		{"x_00000001000" + random, "x_0000000Azzz00000000000", "x_0000000B000" + random},
		{"x_1", "x_2", "x_1"}, // a host's own
		{"x_00000001000" + random, "x_2", "x_00000001000" + random}, // after a host's own
		{"x_00000001000" + random, "x_0000000-000" + random, "x_00000001000" + random},
	} {
		expect.Equal(t, Following(test.id, test.last), test.want, "%s after %q", test.id, test.last)
	}
}

func TestIDsOfManyGoroutinesDiffer(t *testing.T) {
	s := New(time.Now, nil)
	var mu sync.Mutex
	seen := map[string]bool{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 500 {
				id := s.Make("x_")
				mu.Lock()
				expect.True(t, !seen[id], "%s twice", id)
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
}

// An id is greater than every id whose call has returned, in any goroutine and after any change
// of the clock.
func TestIDsAscendOverGoroutines(t *testing.T) {
	var ticks atomic.Int64
	s := New(func() time.Time { return time.UnixMilli(1_800_000_000_000 + ticks.Add(1)%7) }, nil)
	var newest atomic.Pointer[string] // an id whose call has returned
	first := s.Make("x_")
	newest.Store(&first)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 500 {
				before := *newest.Load()
				id := s.Make("x_")
				expect.True(t, id > before, "%s was made after %s", id, before)
				newest.Store(&id)
			}
		})
	}
	all.Wait()
}

// The parts of an id are where the package comment says.
func TestLayout(t *testing.T) {
	s := New(func() time.Time { return time.UnixMilli(62) }, bytes.NewReader(make([]byte, 1024)))
	for _, want := range []string{"qr_" + "00000010" + "000" + "00000000000", "qr_" + "00000010" + "001" + "00000000000"} {
		expect.Equal(t, s.Make("qr_"), want, "Make")
	}
	if got := s.Make(""); len(got) != Length {
		t.Errorf("without prefix: %s", got)
	}
}

// Bytes below 248 each give one character, the same number of bytes for each. Higher bytes give
// none, since they would favour some characters.
func TestRandomCharactersAreEquallyLikely(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	text := Secret(bytes.NewReader(every), 248)
	for _, c := range alphabet {
		expect.Equal(t, strings.Count(text, string(c)), 4, "how often %c stands there", c)
	}
	only := bytes.Repeat([]byte{255}, 32) // all of the first read is drawn again
	expect.Equal(t, Secret(bytes.NewReader(append(only, every[:32]...)), 3), "012", "Secret")
}

func TestBase62(t *testing.T) {
	for n, want := range map[int64]string{0: "0000", 1: "0001", 61: "000z", 62: "0010", 62*62*62*62 - 1: "zzzz"} {
		expect.Equal(t, Base62(n, 4), want, "%d", n)
	}
}

func TestSecretsUseEveryCharacter(t *testing.T) {
	text := Secret(rand.Reader, 20_000)
	must.True(t, len(text) == 20_000 && IsBase62(text), "%d characters, or others", len(text))
	for _, c := range alphabet {
		if n := strings.Count(text, string(c)); n < 200 || n > 450 { // 323 are expected; six sigma are 108
			t.Errorf("%c stands %d times", c, n)
		}
	}
	for _, bad := range []string{"a_", "a-", "ä", " "} {
		expect.True(t, !IsBase62(bad), "%q passes", bad)
	}
}

// A derived id depends only on its origin and name, and sorts by the origin's time. If the origin
// is not an id, the derived one has no time.
func TestDerived(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	source := New(func() time.Time { return now }, nil)
	one := source.Make("evt_")
	other := source.Make("evt_")
	seen := map[string]bool{}
	for _, from := range []string{one, other, "evt", "evt_1", ""} {
		for _, name := range []string{"", "a", "b"} {
			got := Derived("wd_", from, name)
			expect.Equal(t, got, Derived("wd_", from, name), "from %q and %q", from, name)
			expect.Equal(t, len(got), len("wd_")+Length, "from %q and %q: length", from, name)
			expect.True(t, !seen[got], "from %q and %q: %s", from, name, got)
			seen[got] = true
		}
	}
	if a, b := Derived("wd_", one, "b"), Derived("wd_", other, "a"); a[:14] != "wd_"+one[4:15] || a >= b {
		t.Errorf("from %s and %s follow %s and %s", one, other, a, b)
	}
}

// Every id has one text in base 36, without upper case, and the text leads back to the id.
func TestBase36(t *testing.T) {
	source := New(time.Now, nil)
	all := []string{"po_" + strings.Repeat("0", Length), "pay_" + strings.Repeat("z", Length), "att_0000000000000000000001"}
	for range 500 {
		all = append(all, source.Make("po_"), source.Make("re_"))
	}
	seen := map[string]bool{}
	for _, id := range all {
		text, ok := ToBase36(id)
		must.True(t, ok, "%s is refused", id)
		prefix, _, _ := strings.Cut(id, "_")
		expect.Equal(t, text, strings.ToLower(text), "%s: text", id)
		expect.Equal(t, len(text), len(prefix)+1+base36Chars, "%s: length", id)
		expect.True(t, !seen[text], "%s becomes %s", id, text)
		seen[text] = true
		back, ok := FromBase36(text)
		expect.True(t, ok, "%s becomes %s, then %s", id, text, back)
		expect.Equal(t, back, id, "back")
	}
	last, _ := ToBase36("po_" + strings.Repeat("z", Length))
	for _, bad := range []string{
		"", "po", "po_", "po_1", "po_000000000000000000000-", "po_00000000000000000000000", "PO_0000000000000000000000",
		"_0000000000000000000000", "po-0000000000000000000000", "longprefix_0000000000000000000000",
	} {
		_, ok := ToBase36(bad)
		expect.True(t, !ok, "%q passes", bad)
	}
	for _, bad := range []string{
		"", "po", "po-", "po-1", "po_" + strings.Repeat("0", 26), "po-" + strings.Repeat("z", 26), "po-+" + strings.Repeat("0", 25),
		"po--" + strings.Repeat("0", 25), "-" + strings.Repeat("0", 26), strings.ToUpper(last), "po-" + strings.ToUpper(last[3:]), last + "0",
	} {
		id, ok := FromBase36(bad)
		expect.True(t, !ok, "%q passes as %s", bad, id)
	}
}
