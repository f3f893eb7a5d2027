// Command mutation takes the guards of the library out, one at a time, and reports for
// which of them a test fails. A guard whose loss no test notices is a hole in the tests.
//
//	go run ./internal/mutation
//	go run ./internal/mutation -only 'ledger|otp' -v
//
// The source stays as it is: each guard is changed in an overlay of the go command. Every
// row of the table names the guard, the text to find once in a file, what replaces it, and
// the tests of which one must then fail. A test of this package checks in every build that
// each text is still found.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// guard is one row of the table.
type guard struct {
	// what it guards, in a few words that begin with its area.
	what string
	// file is its path in the module.
	file string
	// find stands in the file once. replace takes its place, and must compile. Where it is
	// empty, find is an if or a case, whose condition then never holds.
	find, replace string
	// test is a package, and run a pattern of its tests.
	test, run string
}

// mutate returns the file's text without the guard.
func (g guard) mutate(text string) (string, error) {
	if n := strings.Count(text, g.find); n != 1 {
		return "", fmt.Errorf("%s has %d times %q, want once", g.file, n, g.find)
	}
	replace := g.replace
	if replace == "" {
		var err error
		if replace, err = never(g.find); err != nil {
			return "", err
		}
	}
	return strings.Replace(text, g.find, replace, 1), nil
}

// never returns an if or a case whose condition never holds.
func never(find string) (string, error) {
	for begin, end := range map[string]string{"if ": " {", "case ": ":"} {
		rest, ok := strings.CutPrefix(find, begin)
		condition, tail, ends := strings.Cut(rest, end)
		if !ok || !ends {
			continue
		}
		before := ""
		if i := strings.LastIndex(condition, "; "); i >= 0 {
			before, condition = condition[:i+2], condition[i+2:]
		}
		return begin + before + "false && (" + condition + ")" + end + tail, nil
	}
	return "", fmt.Errorf("%q is no if and no case, and has no replacement", find)
}

// The answers of a run.
const (
	caught   = "caught"
	missed   = "NOT CAUGHT"
	broken   = "does not compile"
	noTest   = "no test runs"
	notFound = "text not found"
)

func main() {
	only := flag.String("only", "", "a pattern of the guards to take out; all when empty")
	baseline := flag.Bool("baseline", false, "first run each test with every guard in place")
	parallel := flag.Int("j", 1, "how many guards to take out at the same time")
	timeout := flag.Duration("timeout", 10*time.Minute, "of one run; a test that hangs has noticed")
	verbose := flag.Bool("v", false, "show what the failing tests print")
	flag.Parse()
	pattern, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	root, err := moduleRoot()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var chosen []guard
	for _, g := range guards {
		if pattern.MatchString(g.what) {
			chosen = append(chosen, g)
		}
	}
	ok := true
	if *baseline {
		for _, g := range firstOfEach(chosen) {
			if answer, out := run(root, g, "", *timeout); answer != missed {
				fmt.Printf("%s -run '%s' fails with every guard in place\n%s", g.test, g.run, out)
				ok = false
			}
		}
		if !ok {
			os.Exit(1)
		}
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	counts := map[string]int{}
	slots := make(chan struct{}, max(1, *parallel))
	for _, g := range chosen {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			start := time.Now()
			answer, out := try(root, g, *timeout)
			mu.Lock()
			defer mu.Unlock()
			counts[answer]++
			fmt.Printf("%-16s %6.1fs  %s (%s)\n", answer, time.Since(start).Seconds(), g.what, g.file)
			if *verbose || answer == broken || answer == notFound {
				fmt.Println(out)
			}
			ok = ok && answer == caught
		})
	}
	all.Wait()
	fmt.Println(counts)
	if !ok {
		os.Exit(1)
	}
}

// firstOfEach returns one guard for each list of tests.
func firstOfEach(all []guard) (first []guard) {
	seen := map[[2]string]bool{}
	for _, g := range all {
		if tests := [2]string{g.test, g.run}; !seen[tests] {
			seen[tests] = true
			first = append(first, g)
		}
	}
	return first
}

// moduleRoot returns the directory of go.mod.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	file := strings.TrimSpace(string(out))
	if file == "" || file == os.DevNull {
		return "", errors.New("mutation: run it inside the module")
	}
	return filepath.Dir(file), nil
}

// try takes a guard out and runs its tests.
func try(root string, g guard, timeout time.Duration) (answer, out string) {
	path := filepath.Join(root, filepath.FromSlash(g.file))
	text, err := os.ReadFile(path)
	if err != nil {
		return notFound, err.Error()
	}
	mutated, err := g.mutate(string(text))
	if err != nil {
		return notFound, err.Error()
	}
	dir, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return broken, err.Error()
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "mutated.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: file}})
	if err == nil {
		err = os.WriteFile(file, []byte(mutated), 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600)
	}
	if err != nil {
		return broken, err.Error()
	}
	return run(root, g, filepath.Join(dir, "overlay.json"), timeout)
}

// run runs the tests of a guard over an overlay.
func run(root string, g guard, overlay string, timeout time.Duration) (answer, out string) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout+time.Minute) // for the compiler
	defer cancel()
	args := []string{"test", "-count=1", "-vet=off", "-failfast", "-timeout", timeout.String(), "-run", g.run}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	test := exec.CommandContext(ctx, "go", append(args, g.test)...)
	test.Dir = root
	var text bytes.Buffer
	test.Stdout, test.Stderr = &text, &text
	err := test.Run()
	out = text.String()
	switch {
	case strings.Contains(out, "[no tests to run]"):
		return noTest, out
	case err == nil:
		return missed, out
	case strings.Contains(out, "[build failed]"), strings.Contains(out, "[setup failed]"):
		return broken, out
	}
	return caught, out
}
