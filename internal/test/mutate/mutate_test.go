package main

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// Each of the money paths and faces is a package, and each package that makes postings is one of them.
func TestMoneyPaths(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	for _, path := range slices.Concat(moneyPaths, slices.Collect(maps.Keys(faces)), slices.Concat(slices.Collect(maps.Values(faces))...)) {
		files := must.Get(filepath.Glob(filepath.Join(root, path, "*.go")))(t)
		expect.True(t, len(files) > 0, "%s of moneyPaths or faces is no package", path)
	}
	must.Do(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		short := filepath.ToSlash(must.Get(filepath.Rel(root, filepath.Dir(path)))(t))
		text := must.Get(os.ReadFile(path))(t)
		if bytes.Contains(text, []byte("storage.Posting{")) && !strings.HasPrefix(short, "storage/") && !strings.HasPrefix(short, "internal/test/") {
			expect.True(t, slices.Contains(moneyPaths, short), "%s makes postings, and is not in moneyPaths", short)
		}
		return nil
	}))
}

// till returns the package in testdata with its mutants, and an overlay of them.
func till(t *testing.T) (r *round, all []*mutant) {
	t.Helper()
	s := must.Get(load([]string{"./testdata/till", "./testdata/shop"}, func(short string) bool { return filepath.Base(short) == "till" }))(t)
	dir := t.TempDir()
	overlay, all, err := s.weave(dir)
	must.Do(t, err)
	return &round{
		source: s, options: options{parallel: 2, others: 3, slice: time.Minute}, dir: dir, overlay: overlay,
		suites: map[*pkg]*suite{}, answers: map[*mutant]string{}, met: map[*mutant]int{},
	}, all
}

// Each kind of mutant is made, and judged by the tests that reach it. A text of an error, a comparison of an error
// with nil, and the choice of the larger one have no mutant.
func TestMutants(t *testing.T) {
	r, all := till(t)
	before := must.Get(os.ReadFile("testdata/till/till.go"))(t)
	must.Do(t, r.play(all))
	got := map[string]string{}
	for _, m := range all {
		got[m.id[len("internal/test/mutate/testdata/till/till.go:"):]+" "+m.before+" → "+m.after] = r.answers[m]
	}
	want := map[string]string{
		"Till.Put:bound:1 n > Max → n >= Max":                                                 caught,
		"Till.Put:check:1 n > Max → false":                                                    caught,
		"Till.Put:number:1 Max → (Max + 1)":                                                   caught,
		"Till.Put:check:2 t.Closed || !now.Before(ends) → false":                              caught,
		"Till.Put:connective:1 t.Closed || !now.Before(ends) → t.Closed && !now.Before(ends)": caught,
		"Till.Put:negation:1 !now.Before(ends) → now.Before(ends)":                            caught,
		"Till.Put:bound:2 now.Before(ends) → !now.After(ends)":                                caught,
		`Till.Put:call:2 write(tx, "held", t.Held+n) → nil`:                                   caught,
		"Till.Put:arithmetic:2 t.Held+n → t.Held - n":                                         caught,
		"Till.Put:call:1 count(tx) → ":                                                        caught,
		"Till.Put:arithmetic:1 t.Held += n → t.Held -= n":                                     caught,
		"write:check:1 tx == nil → false":                                                     survived,
		`count:arithmetic:1 tx.Rows["puts"]++ → tx.Rows["puts"]--`:                            caught,
		"Fee:connective:1 n == 0 && !free → n == 0 || !free":                                  caught,
		"Fee:equality:1 n == 0 → n != 0":                                                      caught,
		"Fee:number:1 0 → 1":                                                                  survived,
		"Fee:negation:1 !free → free":                                                         notCovered,
		"Fee:arithmetic:1 n * 2 → n / 2":                                                      caught,
		"Fee:number:2 2 → 3":                                                                  caught,
		"Untested:bound:1 n < 0 → n <= 0":                                                     notCovered,
		"Untested:number:1 0 → 1":                                                             notCovered,
	}
	for id, answer := range want {
		expect.True(t, got[id] == answer, "%s: %q, want %q", id, got[id], answer)
	}
	for id := range maps.Keys(got) {
		expect.True(t, want[id] != "", "%s is made, and should not be", id)
	}
	expect.True(t, string(before) == string(must.Get(os.ReadFile("testdata/till/till.go"))(t)), "the source has changed")
	for p, s := range r.suites {
		if p == r.chosen[0] {
			expect.Equal(t, len(s.tests), 2, "tests that judge")
			expect.Equal(t, s.left, 1, "tests that do not judge, for one fails always")
		}
	}
}

// A mutant that does not compile is marked, and the others are made without it.
func TestBrokenMutants(t *testing.T) {
	r, all := till(t)
	i := slices.IndexFunc(all, func(m *mutant) bool { return m.kind == equality })
	all[i].after = `"a text"`
	_, _, err := r.weave(r.dir)
	must.Do(t, err)
	for j, m := range all {
		expect.True(t, m.broken == (j == i), "%s is broken: %v", m.id, m.broken)
	}
	must.Do(t, r.play(all[i:i+1]))
	expect.True(t, r.answers[all[i]] == broken, "%s is %q", all[i].id, r.answers[all[i]])
}

// A mutant that other packages' tests have not met in time is neither caught nor missed.
func TestUnfinishedMutants(t *testing.T) {
	r, all := till(t)
	own := must.Get(r.suite(t.Context(), r.chosen[0]))(t)
	ended, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	r.judge(t.Context(), own, all)
	must.Do(t, r.playPackage(ended, r.chosen[0], all))
	for _, m := range all {
		want := caught
		if r.answers[m] != caught {
			want = unfinished
		}
		expect.True(t, r.answers[m] == want, "%s is %q", m.id, r.answers[m])
	}
	expect.True(t, slices.Contains(slices.Collect(maps.Values(r.answers)), unfinished), "no mutant is unfinished")
}

// Nothing is tried once the budget is spent.
func TestBudgetEnds(t *testing.T) {
	r, all := till(t)
	r.budget = time.Nanosecond
	must.Do(t, r.play(all))
	expect.True(t, len(r.answers) == 0, "%d mutants are tried without time", len(r.answers))
}

// The same seed draws the same mutants, and files take turns.
func TestDraw(t *testing.T) {
	var all []*mutant
	for range 10 {
		all = append(all, &mutant{file: "a"})
	}
	all = append(all, &mutant{file: "b"}, &mutant{file: "c"})
	first, again := draw(seeded(1), all), draw(seeded(1), all)
	expect.True(t, slices.Equal(first, again), "one seed draws in two orders, %d and %d", len(first), len(again))
	expect.Equal(t, len(first), len(all), "mutants that are drawn")
	expect.True(t, !slices.Equal(first, draw(seeded(2), all)), "two seeds draw the same")
	files := map[string]bool{}
	for _, m := range first[:3] {
		files[m.file] = true
	}
	expect.True(t, len(files) == 3, "the first three are of %d files", len(files))
}

// The tests of a package itself judge first, then those of its faces, then those of packages that import it, of which
// the money paths come first.
func TestNearestTestsJudgeFirst(t *testing.T) {
	tests := []string{"x_test.go"}
	own := &pkg{ImportPath: "m/internal/transfer", short: "internal/transfer", TestGoFiles: tests}
	s := source{packages: map[string]*pkg{
		"own":          own,
		"api":          {short: "api", TestGoFiles: tests},
		"admin":        {short: "admin", XTestImports: []string{own.ImportPath}, XTestGoFiles: tests},
		"account":      {short: "account", Imports: []string{own.ImportPath}, XTestGoFiles: tests},
		"disbursement": {short: "disbursement", XTestGoFiles: tests},
		"untested":     {short: "untested", Imports: []string{own.ImportPath}},
	}}
	var got []string
	for _, p := range s.testsOf(own) {
		got = append(got, p.short)
	}
	expect.True(t, slices.Equal(got, []string{"internal/transfer", "disbursement", "account", "admin"}), "the tests of %v judge", got)
}
