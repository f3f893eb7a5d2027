package engine_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/test/expect"
)

// The first call runs alone. The calls that arrive meanwhile run together, in limited groups.
func TestBatcherJoinsConcurrentCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs [][]int
		g := engine.NewBatcher(4, 1, func(members []int) error {
			runs = append(runs, slices.Clone(members))
			time.Sleep(time.Second) // of the bubble's clock
			return nil
		})
		var all sync.WaitGroup
		do := func(i int) { all.Go(func() { _ = g.Do(i) }) }
		do(0)
		synctest.Wait()
		for i := range 6 {
			do(i + 1)
		}
		all.Wait()
		var sizes []int
		seen := map[int]int{}
		for _, members := range runs {
			sizes = append(sizes, len(members))
			for _, m := range members {
				seen[m]++
			}
		}
		slices.Sort(sizes)
		expect.True(t, slices.Equal(sizes, []int{1, 2, 4}), "runs of %v, members %v", sizes, seen)
		expect.Equal(t, len(seen), 7, "members: number")
	})
}

// At most maxConcurrent runs are under way at once.
func TestBatcherRunsBatchesConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := 0, 0
		g := engine.NewBatcher(4, 3, func([]int) error {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Second) // of the bubble's clock
			mu.Lock()
			running--
			mu.Unlock()
			return nil
		})
		start := time.Now()
		var all sync.WaitGroup
		for i := range 15 {
			all.Go(func() { _ = g.Do(i) })
			synctest.Wait()
		}
		all.Wait()
		// Three calls run alone, and then three groups of four.
		took := time.Since(start)
		expect.Equal(t, most, 3, "most")
		expect.Equal(t, took, 2*time.Second, "took")
	})
}

// No call fails or panics because of another.
func TestBatcherIsolatesFailures(t *testing.T) {
	var mu sync.Mutex
	done := map[int]int{}
	g := engine.NewBatcher(16, 1, func(members []int) error {
		for _, m := range members {
			switch m % 10 {
			case 3:
				return fmt.Errorf("%d fails", m)
			case 7:
				panic(m)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for _, m := range members {
			done[m]++
		}
		return nil
	})
	var all sync.WaitGroup
	errs := make([]error, 500)
	for i := range errs {
		all.Go(func() { errs[i] = g.Do(i) })
	}
	all.Wait()
	for i, err := range errs {
		bad := i%10 == 3 || i%10 == 7
		expect.Equal(t, bad, err != nil, "%d: bad", i)
		expect.True(t, bad || done[i] == 1, "%d: done %d times, %v", i, done[i], err)
		expect.True(t, !bad || done[i] == 0, "%d: done %d times, %v", i, done[i], err)
	}
	expect.Equal(t, fmt.Sprint(errs[13]), "13 fails", "another's error")
	expect.NoError(t, g.Do(1), "Do")
}
