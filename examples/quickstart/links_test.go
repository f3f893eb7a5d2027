package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// root is the root of the repository.
var root = filepath.Join("..", "..")

// pages returns the Markdown pages of the repository: those of the root, of docs and of examples.
func pages(t *testing.T) []string {
	t.Helper()
	all := must.Get(filepath.Glob(filepath.Join(root, "*.md")))(t)
	must.Do(t, filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".md") {
			all = append(all, path)
		}
		return err
	}))
	return append(all, filepath.Join(root, "examples", "README.md"))
}

var (
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"`)
	anyFence = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```")
	headings = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// TestLinks checks that each relative link of a page leads to a file of the repository,
// and its fragment to a heading.
func TestLinks(t *testing.T) {
	n := 0
	for _, page := range pages(t) {
		text := must.Get(os.ReadFile(page))(t)
		for _, m := range links.FindAllStringSubmatch(anyFence.ReplaceAllString(string(text), ""), -1) {
			target := m[1] + m[2]
			if strings.Contains(target, "://") {
				continue
			}
			n++
			expect.NoError(t, follow(page, target), "%s", page)
		}
	}
	expect.True(t, n >= 50, "found %d links only", n)
	readme := filepath.Join(root, "README.md")
	for _, broken := range []string{"docs/vanished.md", "docs/proof.md#vanished", "#vanished"} {
		expect.True(t, follow(readme, broken) != nil, "the link %s passes", broken)
	}
}

// follow returns an error if a relative link of a page leads nowhere.
func follow(page, target string) error {
	file, fragment, _ := strings.Cut(target, "#")
	path := page
	if file != "" {
		path = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("link %s: %w", target, err)
	}
	if fragment == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, m := range headings.FindAllStringSubmatch(anyFence.ReplaceAllString(string(text), ""), -1) {
		if slug(m[1]) == fragment {
			return nil
		}
	}
	return fmt.Errorf("link %s: no such heading", target)
}

// slug is the fragment by which a heading is reached.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', r >= 'a' && r <= 'z', r >= '0' && r <= '9', r > 127:
			return r
		}
		return -1
	}, strings.ToLower(heading))
}
