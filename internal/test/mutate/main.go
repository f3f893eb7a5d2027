// Command mutate changes the money paths of the library in small ways, one at a time, and reports the changes that
// no test notices. Each of these is either equivalent, unimportant, or a hole in the tests.
//
//	go run ./internal/test/mutate -budget 30m
//	go run ./internal/test/mutate -packages '^payout$' -list
//	go run ./internal/test/mutate -run 'internal/transfer/fee.go:feeOf:bound:1'
//
// The source stays as it is. All mutants are woven into copies of the files, of which an overlay of the go command
// makes one test program per package. An environment variable selects the mutant that a run of the program has. So
// each program is compiled once. It first runs each of its tests alone, without a mutant, and records the mutants that
// the test reaches. Then each mutant meets only the tests that reach it: those of its own package, and if they pass,
// those of the packages nearest to it.
//
// With a budget it draws mutants at random, evenly over the files of a package. It takes the packages in a random order
// and gives each the same time, but at least three minutes: a small budget reaches a few packages, others for
// each seed.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// options are the flags.
type options struct {
	packages, run string
	list, verbose bool
	budget, slice time.Duration
	seed          int64
	others        int
	parallel      int
}

func main() {
	var o options
	flag.StringVar(&o.packages, "packages", "", "a pattern of packages of the module to mutate; the money paths when empty")
	flag.StringVar(&o.run, "run", "", "a pattern of ids of the mutants to try")
	flag.BoolVar(&o.list, "list", false, "print the mutants, and try none")
	flag.BoolVar(&o.verbose, "v", false, "print which test catches each mutant, too")
	flag.DurationVar(&o.budget, "budget", 0, "how long to go on; until all are tried when 0")
	flag.Int64Var(&o.seed, "seed", time.Now().UnixNano(), "selects the mutants to try within the budget")
	flag.IntVar(&o.others, "others", 3, "how many packages beside a mutant's own may test it")
	flag.IntVar(&o.parallel, "j", runtime.NumCPU(), "how many test programs to run at the same time")
	flag.Parse()
	o.slice = 3 * time.Minute
	if err := mutate(o); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
}

func mutate(o options) error {
	pattern, err := regexp.Compile(o.packages)
	if err != nil {
		return err
	}
	id, err := regexp.Compile(o.run)
	if err != nil {
		return err
	}
	s, err := load([]string{"./..."}, func(short string) bool {
		if o.packages == "" {
			return slices.Contains(moneyPaths, short)
		}
		return pattern.MatchString(short)
	})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	overlay, all, err := s.weave(dir)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m *mutant) bool { return !id.MatchString(m.id) })
	if o.list {
		for _, m := range all {
			fmt.Printf("%s\n\t%s\n", m.id, m)
		}
		fmt.Println(len(all), "mutants")
		return nil
	}
	fmt.Printf("%d mutants, seed %d\n", len(all), o.seed)
	r := &round{source: s, options: o, dir: dir, overlay: overlay, suites: map[*pkg]*suite{}, answers: map[*mutant]string{}, met: map[*mutant]int{}}
	err = r.play(all)
	r.report(all) // also what was found before an error, such as a source that changes meanwhile
	return err
}

// String says what a mutant changes.
func (m *mutant) String() string {
	short := func(text string) string {
		text = strings.Join(strings.Fields(text), " ")
		if runes := []rune(text); len(runes) > 120 {
			return string(runes[:120]) + "…"
		}
		return cmp.Or(text, "nothing")
	}
	return fmt.Sprintf("%s:%d %s: %s → %s", m.file, m.line, m.kind, short(m.before), short(m.after))
}

// round is one run of the command.
type round struct {
	*source
	options
	dir, overlay string
	suites       map[*pkg]*suite
	mu           sync.Mutex
	answers      map[*mutant]string
	met          map[*mutant]int // how many suites have judged it
}

// play tries mutants until all are tried, or the budget is spent.
func (r *round) play(all []*mutant) error {
	random := seeded(r.seed)
	of := map[*pkg][]*mutant{}
	for _, m := range all {
		if m.broken {
			r.answers[m] = broken
		}
		of[m.pkg] = append(of[m.pkg], m)
	}
	packages := slices.DeleteFunc(slices.Clone(r.chosen), func(p *pkg) bool { return len(of[p]) == 0 })
	random.Shuffle(len(packages), func(i, j int) { packages[i], packages[j] = packages[j], packages[i] })
	ctx := context.Background()
	end := time.Now().Add(r.budget)
	if r.budget > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	if err := r.compile(ctx); err != nil {
		return err
	}
	for i, p := range packages {
		within := ctx
		if r.budget > 0 {
			var cancel context.CancelFunc
			within, cancel = context.WithTimeout(ctx, max(r.slice, time.Until(end)/time.Duration(len(packages)-i)))
			defer cancel()
		}
		err := r.playPackage(within, p, draw(random, slices.DeleteFunc(slices.Clone(of[p]), func(m *mutant) bool { return m.broken })))
		r.survivors(of[p])
		if err != nil && within.Err() == nil {
			return err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil
}

// compile compiles the mutated packages, and those that import them, before the first package's time begins.
func (r *round) compile(ctx context.Context) error {
	args := []string{"build", "-overlay", r.overlay}
	for path, p := range r.source.packages {
		if p.Name != "main" && slices.ContainsFunc(r.chosen, func(c *pkg) bool { return c == p || slices.Contains(p.Imports, c.ImportPath) }) {
			args = append(args, path)
		}
	}
	build := exec.CommandContext(ctx, "go", args...)
	build.Dir = r.root
	if out, err := build.CombinedOutput(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the packages with mutants: %w\n%s", err, out)
	}
	return nil
}

func seeded(seed int64) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 0)) }

// draw puts mutants in a random order, in which the files take turns.
func draw(random *rand.Rand, all []*mutant) (order []*mutant) {
	of := map[string][]*mutant{}
	var files []string
	for _, i := range random.Perm(len(all)) {
		m := all[i]
		if of[m.file] == nil {
			files = append(files, m.file)
		}
		of[m.file] = append(of[m.file], m)
	}
	for len(order) < len(all) {
		for _, file := range files {
			if rest := of[file]; len(rest) > 0 {
				order, of[file] = append(order, rest[0]), rest[1:]
			}
		}
	}
	return order
}

// playPackage tries the mutants of a package: all of them with its own tests, then the ones that are left with those
// of others. Within a budget the others get half of it. A mutant that not all of them have met by then is unfinished.
func (r *round) playPackage(ctx context.Context, p *pkg, mutants []*mutant) error {
	near := r.testsOf(p)
	near = near[:min(len(near), 1+r.others)]
	own := ctx
	if end, ok := ctx.Deadline(); ok && len(near) > 1 {
		var cancel context.CancelFunc
		own, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	for i, tests := range near {
		within := ctx
		if i == 0 && tests == p {
			within = own
		}
		s, err := r.suite(within, tests)
		if err == nil {
			r.judge(within, s, mutants)
		} else if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		var left []*mutant
		for _, m := range mutants {
			switch {
			case r.met[m] <= i && r.answers[m] != "" && i > 0:
				r.answers[m] = unfinished
			case r.met[m] > i && r.answers[m] != caught && r.answers[m] != hung:
				left = append(left, m)
			}
		}
		mutants = left
	}
	return nil
}

// suite returns the test program of a package, which is made once.
func (r *round) suite(ctx context.Context, p *pkg) (*suite, error) {
	if s := r.suites[p]; s != nil {
		return s, nil
	}
	start := time.Now()
	s, err := newSuite(ctx, p, r.overlay, r.dir, max(1, r.parallel))
	if err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	fmt.Printf("tests of %s: %d, without %d that fail or take long; %.0f s\n", p.short, len(s.tests), s.left, time.Since(start).Seconds())
	r.suites[p] = s
	return s, nil
}

// judge tries mutants with the tests of a suite until the context ends.
func (r *round) judge(ctx context.Context, s *suite, mutants []*mutant) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, max(1, r.parallel))
	for _, m := range mutants {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wait.Go(func() {
			defer func() { <-slots }()
			answer, by := s.judge(ctx, m)
			r.mu.Lock()
			defer r.mu.Unlock()
			if ctx.Err() != nil {
				return
			}
			r.met[m]++
			if answer == notCovered && r.answers[m] != "" {
				return
			}
			r.answers[m] = answer
			if r.verbose && (answer == caught || answer == hung) {
				fmt.Printf("%-12s %s by %s of %s\n", answer, m.id, strings.Join(by, ", "), s.pkg.short)
			}
		})
	}
	wait.Wait()
}

// survivors prints the mutants that no test notices.
func (r *round) survivors(all []*mutant) {
	for _, answer := range []string{broken, notCovered, survived} {
		for _, m := range all {
			if r.answers[m] == answer {
				fmt.Printf("%s: %s\n\t%s\n", answer, m, m.id)
			}
		}
	}
}

// report prints how many mutants of each package had which answer.
func (r *round) report(all []*mutant) {
	columns := []string{caught, hung, survived, notCovered, unfinished, broken}
	fmt.Printf("\n%-20s %8s %8s", "package", "mutants", "tried")
	for _, c := range columns {
		fmt.Printf(" %*s", max(len(c), 8), c)
	}
	fmt.Println()
	line := func(name string, of func(*mutant) bool) {
		counts := map[string]int{}
		total := 0
		for _, m := range all {
			if of(m) {
				total++
				counts[r.answers[m]]++
			}
		}
		fmt.Printf("%-20s %8d %8d", name, total, total-counts[""])
		for _, c := range columns {
			fmt.Printf(" %*d", max(len(c), 8), counts[c])
		}
		fmt.Println()
	}
	for _, p := range r.chosen {
		line(p.short, func(m *mutant) bool { return m.pkg == p })
	}
	line("all", func(*mutant) bool { return true })
}
