package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

var (
	goCommand = regexp.MustCompile("`[^`]*\\bgo (test|run) [^`]+`")
	module    = regexp.MustCompile(`-C (\S+)`)
	packages  = regexp.MustCompile(`\s\.(?:/[\w/]+)?`)
	patterns  = regexp.MustCompile(`-(?:run|bench|fuzz) ('[^']*'|\S+)`)
	functions = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)
)

// TestCommands checks that the commands of the pages name packages that exist, and tests
// that these have.
func TestCommands(t *testing.T) {
	n := 0
	for _, page := range pages(t) {
		text := must.Get(os.ReadFile(page))(t)
		for _, command := range goCommand.FindAllString(string(text), -1) {
			n++
			expect.NoError(t, runnable(command), "%s: %s", page, command)
		}
	}
	expect.True(t, n >= 20, "found %d commands only", n)
	for _, wrong := range []string{"`go run ./vanished`", "`go test ./account -run TestVanished`", "`go test -C bench . -bench Vanished`"} {
		expect.True(t, runnable(wrong) != nil, "%s passes", wrong)
	}
}

// runnable returns an error if a command names a package or a test that does not exist.
func runnable(command string) error {
	names, below := "", ""
	if m := module.FindStringSubmatch(command); m != nil {
		below = m[1]
	}
	for _, dir := range packages.FindAllString(command, -1) {
		files, err := filepath.Glob(filepath.Join(root, below, filepath.FromSlash(strings.TrimSpace(dir)), "*.go"))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("%s has no Go file", dir)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				continue
			}
			code, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			for _, m := range functions.FindAllStringSubmatch(string(code), -1) {
				names += m[1] + "\n"
			}
		}
	}
	for _, m := range patterns.FindAllStringSubmatch(strings.ReplaceAll(command, `\|`, "|"), -1) {
		for pattern := range strings.SplitSeq(strings.Trim(m[1], "'`"), "|") {
			name, _, _ := strings.Cut(pattern, "/")
			if name == "^$" {
				continue
			}
			found, err := regexp.Compile("(?m)" + name)
			if err != nil {
				return err
			}
			if !found.MatchString(names) {
				return fmt.Errorf("no test matches %s", pattern)
			}
		}
	}
	return nil
}
