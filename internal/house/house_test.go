package house_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

const module = "github.com/seed-7082ffec/payments"

var shrink = flag.Bool("shrink", false, "delete the lines of testdata that name no breach any more")

// pkg is what go list says of a package.
type pkg struct {
	ImportPath, Name, Dir string
	Imports, GoFiles      []string
}

// short is the package's path in the module; the root's is "payments".
func (p pkg) short() string { return short(p.ImportPath) }

func short(path string) string {
	if path == module {
		return "payments"
	}
	return strings.TrimPrefix(path, module+"/")
}

// own returns the packages of the module that p imports, as short writes them.
func (p pkg) own() (names []string) {
	for _, to := range p.Imports {
		if to == module || strings.HasPrefix(to, module+"/") {
			names = append(names, short(to))
		}
	}
	return names
}

// packages are those of the module.
var packages = sync.OnceValues(func() ([]pkg, error) {
	list := exec.Command("go", "list", "-json=ImportPath,Name,Dir,Imports,GoFiles", module+"/...")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, err
	}
	var all []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

// all returns the packages of the module with code that is no test.
func all(t *testing.T) (own []pkg) {
	t.Helper()
	for _, p := range must.Get(packages())(t) {
		if len(p.GoFiles) > 0 {
			own = append(own, p)
		}
	}
	return own
}

// public reports whether a host may import the package.
func (p pkg) public() bool {
	return p.Name != "main" && !slices.Contains(strings.Split(p.ImportPath, "/"), "internal")
}

// compare fails the test for each breach that the file does not list, and for each line
// of the file that is no breach.
func compare(t *testing.T, file, rule string, breaches []string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	data := must.Get(os.ReadFile(path))(t)
	var listed, stay []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		listed = append(listed, line)
		if slices.Contains(breaches, line) {
			stay = append(stay, line)
		} else if !*shrink {
			t.Errorf("%s is no breach any more: delete its line from %s", line, path)
		}
	}
	for _, b := range breaches {
		expect.True(t, slices.Contains(listed, b), "%s: %s", b, rule)
	}
	if *shrink {
		text := ""
		for _, line := range stay {
			text += line + "\n"
		}
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// longest is how many lines go doc may print of a package.
const longest = 60

// TestDocFitsAScreen checks that go doc prints no more of any public package than a
// reader takes in.
func TestDocFitsAScreen(t *testing.T) {
	own := all(t)
	var mu sync.Mutex
	var wait sync.WaitGroup
	var breaches []string
	slots := make(chan struct{}, 4)
	for _, p := range own {
		if !p.public() {
			continue
		}
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			doc := exec.Command("go", "doc")
			doc.Dir, doc.Env = p.Dir, append(os.Environ(), "GO111MODULE=off") // it looks for no other packages
			out, err := doc.CombinedOutput()
			expect.True(t, err == nil, "go doc %s: %v\n%s", p.ImportPath, err, out)
			if n := bytes.Count(out, []byte("\n")); n > longest {
				mu.Lock()
				defer mu.Unlock()
				breaches = append(breaches, p.short())
				t.Logf("go doc %s prints %d lines", p.short(), n)
			}
		})
	}
	wait.Wait()
	compare(t, "docs.txt", fmt.Sprintf("go doc prints more than %d lines", longest), breaches)
}
