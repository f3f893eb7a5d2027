package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// TestNetworksAreComplete checks that each list of networks is complete: a declaration that uses two of them as
// values, and a line that names two. So a new network fails the test at each place that needs it.
func TestNetworksAreComplete(t *testing.T) {
	root := must.Get(filepath.Abs("../.."))(t)
	places := 0
	check := func(at string, named []string) {
		if len(named) < 2 {
			return
		}
		places++
		for _, network := range phone.Networks() {
			if !slices.Contains(named, network) {
				t.Errorf("%s has no %s", at, network)
			}
		}
	}
	must.Do(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (d.Name() == "testdata" || d.Name()[0] == '.') {
			return fs.SkipDir
		}
		name := filepath.ToSlash(must.Get(filepath.Rel(root, path))(t))
		code := strings.HasSuffix(name, ".go")
		if strings.HasSuffix(name, "_test.go") || !code && filepath.Ext(name) != ".md" && filepath.Ext(name) != ".yaml" {
			return nil
		}
		text := must.Get(os.ReadFile(path))(t)
		if code {
			files := token.NewFileSet()
			file := must.Get(parser.ParseFile(files, path, text, parser.SkipObjectResolution))(t)
			for _, d := range file.Decls {
				check(name+":"+strconv.Itoa(files.Position(d.Pos()).Line), networksUsed(d))
			}
		}
		if strings.HasPrefix(name, "provider/paystack/") || name == "CHANGELOG.md" { // it has other names, and past ones
			return nil
		}
		for i, line := range strings.Split(string(text), "\n") {
			check(name+":"+strconv.Itoa(i+1), networksNamed(line))
		}
		return nil
	}))
	expect.True(t, places > 20, "%d places that list networks", places)
}

// networksUsed returns the networks that a declaration uses as values: "mtn", or phone.MTN.
func networksUsed(d ast.Decl) (used []string) {
	ast.Inspect(d, func(n ast.Node) bool {
		value := ""
		switch n := n.(type) {
		case *ast.BasicLit:
			value, _ = strconv.Unquote(n.Value)
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && of.Name == "phone" {
				value = strings.ToLower(n.Sel.Name)
			}
		}
		if slices.Contains(phone.Networks(), value) && !slices.Contains(used, value) {
			used = append(used, value)
		}
		return true
	})
	return used
}

var word = regexp.MustCompile(`\w+`)

// networksNamed returns the networks whose codes or names a line has.
func networksNamed(line string) (named []string) {
	for _, w := range word.FindAllString(strings.ToLower(line), -1) {
		if slices.Contains(phone.Networks(), w) && !slices.Contains(named, w) {
			named = append(named, w)
		}
	}
	return named
}
