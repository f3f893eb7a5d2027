package house_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"sync"
	"testing"

	"github.com/seed-7082ffec/payments/internal/expect"
)

// longest is how many lines go doc may print of a package.
const longest = 60

// TestDocFitsAScreen checks that go doc prints no more of any public package than a
// reader takes in.
func TestDocFitsAScreen(t *testing.T) {
	own, _ := all(t)
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
			out, err := exec.Command("go", "doc", p.ImportPath).CombinedOutput()
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
