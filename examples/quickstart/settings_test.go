package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// cells are the names in the first column of a row.
var cells = regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|")

// TestSettingsAreDocumented checks that the tables of the guide have each field of both
// configurations, and no other.
func TestSettingsAreDocumented(t *testing.T) {
	page := must.Get(os.ReadFile(filepath.Join(root, "docs", "guide", "mount.md")))(t)
	for heading, file := range map[string]string{"payments.Config": "config.go", "httpapi.Config": "httpapi/config.go"} {
		_, table, ok := strings.Cut(string(page), "\n### "+heading+"\n")
		must.True(t, ok, "no section %s", heading)
		table, _, _ = strings.Cut(table, "\n#")
		var told []string
		for _, m := range cells.FindAllStringSubmatch(table, -1) {
			for _, quoted := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(m[1], -1) {
				told = append(told, quoted[1])
			}
		}
		fields := configFields(t, file)
		for _, name := range fields {
			expect.True(t, slices.Contains(told, name), "the table of %s lacks %s", heading, name)
		}
		for _, name := range told {
			expect.True(t, slices.Contains(fields, name), "the table of %s has %s, which is no field", heading, name)
		}
	}
}

// configFields returns the exported fields of the type Config in a file.
func configFields(t *testing.T, path string) (names []string) {
	t.Helper()
	file := must.Get(parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(path)), nil, parser.SkipObjectResolution))(t)
	ast.Inspect(file, func(n ast.Node) bool {
		declared, ok := n.(*ast.TypeSpec)
		if !ok || declared.Name.Name != "Config" {
			return true
		}
		for _, field := range declared.Type.(*ast.StructType).Fields.List {
			for _, name := range field.Names {
				if name.IsExported() {
					names = append(names, name.Name)
				}
			}
		}
		return false
	})
	must.True(t, len(names) >= 5, "%s: found %d fields only", path, len(names))
	return names
}
