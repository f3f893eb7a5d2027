package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

var (
	// steps are rows that name a file and a function of it.
	steps   = regexp.MustCompile("(?m)^\\| \\d+ \\| `([^`]+)` \\| `([^`]+)` \\|")
	paths   = regexp.MustCompile("`([a-z0-9]+(?:/[a-z0-9]+)+(?:\\.[a-z]+)?)`")
	drawing = regexp.MustCompile(`(?s)\n## The packages\n\n` + "```\n(.*?)```")
	drawn   = regexp.MustCompile(`^[a-z]+(?:/[a-z]+)*$`)
)

// TestArchitecture checks that every file, folder and function that the page of the
// architecture names exists, and that its picture has every package of the library.
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
	picture := drawing.FindStringSubmatch(string(page))
	must.True(t, picture != nil, "there is no picture of the packages")
	row := map[string]int{} // of each package, counted from the top
	for n, line := range strings.Split(picture[1], "\n") {
		for cell := range strings.SplitSeq(line, "   ") {
			if cell = strings.TrimSpace(cell); drawn.MatchString(cell) {
				row[cell] = n + 1
			}
		}
	}
	for path := range row {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(path))); err != nil && path != "payments" {
			t.Errorf("the picture has %s, which does not exist", path)
		}
	}
	for from, imports := range libraryImports(t) {
		if row[from] == 0 {
			t.Errorf("the picture lacks %s", from)
			continue
		}
		for _, to := range imports {
			expect.True(t, row[to] >= row[from], "the picture has %s above %s, which imports it", to, from)
		}
	}
}

// libraryImports returns the packages of this module that a host builds, and those that
// each of them imports.
func libraryImports(t *testing.T) map[string][]string {
	t.Helper()
	command := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{join .Imports \" \"}}",
		".", "./httpapi/inspector", "./httpapi/reference", "./provider/arkesel", "./provider/hubtel", "./provider/mtnmomo", "./provider/paystack", "./provider/smtp", "./storage/memory", "./storage/postgres", "./storage/sqlite")
	command.Dir = root
	out := must.Get(command.Output())(t)
	all := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		var own []string
		for path := range strings.FieldsSeq(line) {
			switch short, ok := strings.CutPrefix(path, library+"/"); {
			case ok:
				own = append(own, short)
			case path == library:
				own = append(own, "payments")
			case len(own) == 0:
				own = append(own, "") // a package of another module
			}
		}
		if own[0] != "" {
			all[own[0]] = own[1:]
		}
	}
	expect.True(t, len(all) >= 30, "found %d packages only", len(all))
	return all
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
