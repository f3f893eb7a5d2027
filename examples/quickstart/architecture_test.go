package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

var (
	// steps are rows that name a file and a function of it.
	steps = regexp.MustCompile("(?m)^\\| \\d+ \\| `([^`]+)` \\| `([^`]+)` \\|")
	paths = regexp.MustCompile("`([a-z0-9]+(?:/[a-z0-9]+)+(?:\\.[a-z]+)?)`")
)

// TestArchitecture checks that every file, folder and function that the page of the
// architecture names exists. Package internal/house draws the packages there.
func TestArchitecture(t *testing.T) {
	page := must.Get(os.ReadFile(filepath.Join(root, "docs", "architecture.md")))(t)
	found := steps.FindAllStringSubmatch(string(page), -1)
	expect.True(t, len(found) >= 12, "found %d steps only", len(found))
	for _, m := range found {
		if !declares(t, m[1], m[2]) {
			t.Errorf("%s has no function %s", m[1], m[2])
		}
	}
	expect.True(t, !declares(t, "disbursement/disbursement.go", "Service.Vanish"), "a function that does not exist passes")
	for _, m := range paths.FindAllStringSubmatch(string(page), -1) {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil {
			t.Error(err)
		}
	}
}

// declares reports whether a file declares a function, which is "Name" or "Type.Name".
func declares(t *testing.T, path, name string) bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(path)), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return false
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		own := f.Name.Name
		if f.Recv != nil {
			of := f.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			if generic, ok := of.(*ast.IndexExpr); ok {
				of = generic.X
			}
			if x, ok := of.(*ast.Ident); ok {
				own = x.Name + "." + own
			}
		}
		if own == name {
			return true
		}
	}
	return false
}
