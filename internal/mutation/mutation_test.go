package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

// The table follows the code: each text is in its file, once, and the file without the
// guard is still Go. Whether a test fails then, the command tells.
func TestGuardsAreFound(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range guards {
		expect.True(t, !seen[g.what], "two guards are named %q", g.what)
		seen[g.what] = true
		text, err := os.ReadFile(filepath.Join("..", "..", g.file))
		if err != nil {
			t.Errorf("%s: %v", g.what, err)
			continue
		}
		mutated, err := g.mutate(string(text))
		if err != nil {
			t.Errorf("%s: %v", g.what, err)
			continue
		}
		expect.True(t, mutated != string(text), "%s: nothing is taken out", g.what)
		if _, err := parser.ParseFile(token.NewFileSet(), g.file, mutated, 0); err != nil {
			t.Errorf("%s: %v", g.what, err)
		}
	}
	expect.Told(t, filepath.Join("..", "..", "docs", "proof.md"), len(guards), "guards")
}

// The tests that a guard names exist.
func TestTestsAreFound(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	names := map[string][]string{}
	for _, g := range guards {
		if _, ok := names[g.test]; !ok {
			names[g.test] = nil
			files := must.Get(filepath.Glob(filepath.Join("..", "..", g.test, "*_test.go")))(t)
			for _, file := range files {
				text := must.Get(os.ReadFile(file))(t)
				for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
					names[g.test] = append(names[g.test], found[1])
				}
			}
		}
		top, _, _ := strings.Cut(g.run, "/")
		pattern, err := regexp.Compile(top)
		if err != nil {
			t.Errorf("%s: %v", g.what, err)
			continue
		}
		found := false
		for _, name := range names[g.test] {
			found = found || pattern.MatchString(name)
		}
		expect.True(t, found, "%s: no test of %s is named %s", g.what, g.test, g.run)
	}
}

// A guard that is not there, or there twice, is reported and not guessed.
func TestMutateFindsOnce(t *testing.T) {
	g := guard{file: "f.go", find: "a > b", replace: "false"}
	for text, want := range map[string]string{"if a > b {": "if false {", "": "", "a > b, a > b": ""} {
		got, err := g.mutate(text)
		expect.True(t, got == want && (err == nil) == (want != ""), "%q: %q, %v", text, got, err)
	}
}
