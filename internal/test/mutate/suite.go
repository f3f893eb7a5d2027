package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// suite is the test program of a package, with all mutants woven in.
type suite struct {
	pkg     *pkg
	dir     string
	program string
	tests   []*test // the fastest first
	left    int     // tests that fail without a mutant, or take too long
}

// test is one test of a suite.
type test struct {
	name    string
	took    time.Duration
	reaches map[int]bool // the mutants, by their numbers
}

// The longest a test may take alone, and those of a suite together for one mutant.
const (
	longestTest  = 20 * time.Second
	longestJudge = time.Minute
	quick        = 2 * time.Second // tests that run before all others
)

// newSuite compiles the test program of a package, and runs each test alone to learn which mutants it reaches.
func newSuite(ctx context.Context, p *pkg, overlay, dir string, parallel int) (*suite, error) {
	s := &suite{pkg: p, dir: dir, program: filepath.Join(dir, strings.ReplaceAll(p.ImportPath, "/", "_")+".test")}
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", s.program, p.ImportPath)
	build.Dir = p.Dir
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the tests of %s with mutants: %w\n%s", p.ImportPath, err, out)
	}
	out, err := s.run(ctx, longestTest, nil, "-test.list", "^(Test|Fuzz|Example)")
	if err != nil {
		return nil, fmt.Errorf("the list of tests of %s: %w\n%s", p.ImportPath, err, out)
	}
	var mu sync.Mutex
	var wait sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for _, name := range strings.Fields(string(out)) {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			t, ok := s.trace(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			if ok {
				s.tests = append(s.tests, t)
			} else {
				s.left++
			}
		})
	}
	wait.Wait()
	slices.SortFunc(s.tests, func(a, b *test) int { return int(a.took - b.took) })
	return s, ctx.Err()
}

// trace runs one test without a mutant.
func (s *suite) trace(ctx context.Context, name string) (t *test, ok bool) {
	file := filepath.Join(s.dir, s.pkg.Name+"_"+name+".trace")
	defer os.Remove(file)
	t = &test{name: name, reaches: map[int]bool{}}
	start := time.Now()
	if _, err := s.run(ctx, longestTest, []string{traceVariable + "=" + file}, "-test.run", "^"+name+"$"); err != nil {
		return t, false
	}
	t.took = time.Since(start)
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return t, false
	}
	for line := range strings.Lines(string(data)) {
		if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			t.reaches[n] = true
		}
	}
	return t, true
}

// The answers of a mutant.
const (
	caught     = "caught"
	hung       = "timeout" // no test answered in time, which a person would notice
	survived   = "NOT CAUGHT"
	notCovered = "not covered"
	unfinished = "unfinished" // no test of its package caught it, and the time was over before others could
	broken     = "does not compile"
)

// judge runs the tests that reach a mutant: first the quick ones together, then the others.
func (s *suite) judge(ctx context.Context, m *mutant) (answer string, by []string) {
	var names []string
	var took, total time.Duration
	flush := func() string {
		if len(names) == 0 {
			return survived
		}
		limit := 5*took + 20*time.Second
		out, err := s.run(ctx, limit, []string{activeVariable + "=" + strconv.Itoa(m.number)}, "-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$")
		by, names, took = failed(out, names), nil, 0
		switch {
		case err == nil:
			return survived
		case errors.Is(err, context.DeadlineExceeded), bytes.Contains(out, []byte("panic: test timed out")):
			return hung
		}
		return caught
	}
	covered := false
	for _, t := range s.tests {
		if !t.reaches[m.number] || covered && total+t.took > longestJudge {
			continue
		}
		if len(names) > 0 && took+t.took > quick {
			if answer := flush(); answer != survived {
				return answer, by
			}
		}
		covered = true
		names, took, total = append(names, t.name), took+t.took, total+t.took
	}
	if !covered {
		return notCovered, nil
	}
	return flush(), by
}

// failed returns the first test that the output names as failed, or all that ran.
func failed(out []byte, all []string) []string {
	_, rest, found := bytes.Cut(out, []byte("--- FAIL: "))
	if !found {
		return all
	}
	return []string{strings.Fields(string(rest))[0]}
}

// run runs the test program as go test does, in the package's directory.
func (s *suite) run(ctx context.Context, limit time.Duration, env []string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit+5*time.Second)
	defer cancel()
	args = append(args, "-test.timeout", limit.String())
	program := exec.CommandContext(ctx, s.program, args...)
	if runtime.GOOS != "windows" { // a mutant may fill the memory
		program = exec.CommandContext(ctx, "sh", append([]string{"-c", `ulimit -v 8000000; exec "$0" "$@"`, s.program}, args...)...)
	}
	program.Dir, program.Env = s.pkg.Dir, append(os.Environ(), env...)
	program.WaitDelay = 5 * time.Second // for programs that the tests started
	var out bytes.Buffer
	program.Stdout, program.Stderr = &out, &out
	err := program.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return out.Bytes(), err
}
