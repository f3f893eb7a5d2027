package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

type thing struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

var things = storage.NewCollection("things", []storage.Field[thing]{{
	Column: storage.Column{Name: "due", Type: storage.Time, Null: true},
	Value:  func(*thing) any { return nil },
}}, storage.DueBy("due")).Passthrough(func(t *thing) any { return t })

type bench struct {
	*engine.Engine
	time atomic.Pointer[time.Time] // the worker reads it while a test moves it
}

func (b *bench) now() time.Time { return *b.time.Load() }

func (b *bench) advance(by time.Duration) {
	now := b.now().Add(by)
	b.time.Store(&now)
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := new(bench)
	b.time.Store(new(time.Date(2026, 1, 31, 12, 0, 0, 999_999, time.UTC)))
	store := memory.New()
	must.Do(t, store.Define(t.Context(), append(engine.Kinds(), things.Kind(), chores.Kind())...))
	b.Engine = &engine.Engine{
		Store: store, Clock: b.now, NewID: ids.New(b.now, nil).Make, Sandbox: true,
		Log: slog.New(slog.DiscardHandler),
	}
	b.Runner = &work.Runner{Store: store, Clock: b.now, Log: b.Log, Poll: time.Hour}
	return b
}

// startWorker starts the worker of things, in a bubble of synctest. It returns a function that
// returns the times of the worker's wake-ups so far.
func (b *bench) startWorker(t *testing.T) (wakes func() []time.Time) {
	t.Helper()
	var looked []time.Time
	b.Runner.Add(work.Job{
		Kind: things.Kind(), Timeout: time.Minute, Batch: 1,
		RunOne: func(context.Context, storage.Record) error { return nil },
		BeginInTx: func(_ context.Context, c storage.Claim) (work.Claimed, error) {
			if !c.Live {
				looked = append(looked, time.Now())
			}
			return work.Claimed{}, nil
		},
	})
	b.Runner.Start(t.Context())
	t.Cleanup(func() { must.Do(t, b.Runner.Stop(context.Background())) })
	synctest.Wait()
	return func() []time.Time {
		synctest.Wait()
		return looked[1:] // without the poll at the start
	}
}

// awakeClocks lists the clocks by which something may be due.
func (b *bench) awakeClocks(ctx context.Context) ([]storage.Clock, error) {
	return engine.AwakeClocks(ctx, b.Store, b.Clock)
}

// make creates a thing, and counts the runs of the effect.
func (b *bench) make(t *testing.T, caller api.Caller, name string, made *atomic.Int64, fail error) (*thing, error) {
	op := engine.Operation{Name: "thing.create", Params: map[string]string{"name": name}}
	return engine.Execute(t.Context(), b.Engine, caller, op, func(tx *engine.Tx) (*thing, error) {
		v := thing{ID: tx.NewID("th_"), Name: name}
		if _, err := things.Insert(tx, engine.Scope(caller), v.ID, v); err != nil {
			return nil, err
		}
		tx.WakeAfterCommit(things.Kind())
		if fail != nil {
			return nil, fail
		}
		made.Add(1)
		return &v, nil
	})
}

// count returns the number of a caller's things.
func (b *bench) count(t *testing.T, caller api.Caller) int {
	t.Helper()
	var n int
	must.Do(t, b.Store.View(t.Context(), func(tx storage.ReadTx) error {
		page, err := tx.List(things.Kind(), storage.Query{Scope: engine.Scope(caller), Limit: 1000})
		n = len(page)
		return err
	}))
	return n
}

// A replay is answered without the steps before the transaction, until its key ends.
func TestExecuteWithReplayRunsTheStepsOnce(t *testing.T) {
	b := newBench(t)
	caller := api.Caller{Merchant: "mer_1", IdempotencyKey: "k"}
	op := engine.Operation{Name: "thing.create", Params: map[string]string{"name": "a"}}
	steps := 0
	call := func() *thing {
		t.Helper()
		return must.Get(engine.ExecuteWithReplay(t.Context(), b.Engine, caller, op, func() (*thing, error) {
			steps++
			return engine.Execute(t.Context(), b.Engine, caller, op, func(tx *engine.Tx) (*thing, error) {
				v := thing{ID: tx.NewID("th_"), Name: "a"}
				_, err := things.Insert(tx, engine.Scope(caller), v.ID, v)
				return &v, err
			})
		}))(t)
	}
	first := call()
	b.advance(engine.IdempotencyKeyLife - time.Millisecond)
	again := call()
	expect.Equal(t, *again, *first, "a replay")
	expect.Equal(t, steps, 1, "number of runs")
	b.advance(time.Millisecond)
	next := call()
	expect.True(t, next.ID != first.ID, "after the key's end: %+v after %d runs of the steps", next, steps)
	expect.Equal(t, steps, 2, "after the key's end: number of runs")
}

func TestExecuteReplays(t *testing.T) { synctest.Test(t, testExecuteReplays) }

func testExecuteReplays(t *testing.T) {
	b := newBench(t)
	wakes := b.startWorker(t)
	var made atomic.Int64
	var replayed bool
	caller := api.Caller{Merchant: "mer_1", IdempotencyKey: "k", Replayed: &replayed}

	refused := api.Invalid("name", "refused")
	if _, err := b.make(t, caller, "a", &made, refused); !errors.Is(err, refused) || len(wakes()) != 0 {
		t.Errorf("refused: %v, woken %v", err, wakes())
	}
	first, err := b.make(t, caller, "a", &made, nil)
	must.True(t, err == nil && !replayed, "first: %v, replayed %t", err, replayed)
	expect.True(t, len(wakes()) == 1, "woken %v", wakes())
	again, err := b.make(t, caller, "a", &made, errors.New("the limit was used up by the first"))
	must.Do(t, err)
	expect.Equal(t, *again, *first, "again")
	expect.True(t, replayed, "again: %+v, %v, replayed %t", again, err, replayed)
	expect.True(t, len(wakes()) == 1, "a replay woke the worker: %v", wakes())
	testkit.WantCode(t, "another request", testkit.Err(b.make(t, caller, "b", &made, nil)), api.IdempotencyKeyReused)
	// Another merchant, the other mode and no key have nothing to do with it.
	for _, other := range []api.Caller{{Merchant: "mer_2", IdempotencyKey: "k"}, {Merchant: "mer_1", Live: true, IdempotencyKey: "k"}, {Merchant: "mer_1"}} {
		if v, err := b.make(t, other, "a", &made, nil); err != nil || v.ID == first.ID {
			t.Errorf("%+v: %+v, %v", other, v, err)
		}
	}
	expect.Equal(t, b.count(t, api.Caller{Merchant: "mer_1"}), 2, "kept for mer_1")

	replay := func(c api.Caller, name string) (*thing, error) {
		return engine.Replay[thing](t.Context(), b.Engine, c, engine.Operation{Name: "thing.create", Params: map[string]string{"name": name}})
	}
	expect.Equal(t, *must.Get(replay(caller, "a"))(t), *first, "Replay")
	expect.Equal(t, must.Get(replay(api.Caller{Merchant: "mer_1", IdempotencyKey: "new"}, "a"))(t), nil, "the replay of nothing")
	testkit.WantCode(t, "Replay of another request", testkit.Err(replay(caller, "b")), api.IdempotencyKeyReused)

	// An expired key starts anew, even before the job has removed it.
	b.advance(30 * 24 * time.Hour)
	expect.Equal(t, must.Get(b.make(t, caller, "b", &made, nil))(t).Name, "b", "after a month")
	testkit.WantCode(t, "the old request after a month", testkit.Err(b.make(t, caller, "a", &made, nil)), api.IdempotencyKeyReused)
}

func TestConcurrentCallsWithOneKey(t *testing.T) {
	b := newBench(t)
	var made atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if _, err := b.make(t, api.Caller{Merchant: "mer_1", IdempotencyKey: "k"}, "a", &made, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	expect.Equal(t, b.count(t, api.Caller{Merchant: "mer_1"}), 1, "kept")
}

func TestInvalidKeysAreRefused(t *testing.T) {
	b := newBench(t)
	var made atomic.Int64
	for _, key := range []string{strings.Repeat("k", 256), "a\nb", "ключ", "\x7f"} {
		if _, err := b.make(t, api.Caller{Merchant: "mer_1", IdempotencyKey: key}, "a", &made, nil); api.CodeOf(err) != api.IdempotencyKeyInvalid {
			t.Errorf("%.10q: got %v", key, err)
		}
	}
	if _, err := b.make(t, api.Caller{Merchant: "mer_1", IdempotencyKey: strings.Repeat("~", 255)}, "a", &made, nil); err != nil {
		t.Errorf("the longest key: %v", err)
	}
}

func TestInsufficientBecomesARefusal(t *testing.T) {
	b := newBench(t)
	err := b.Update(t.Context(), api.Caller{}, func(tx *engine.Tx) error { return fmt.Errorf("wrapped: %w", storage.ErrInsufficient) })
	expect.Equal(t, api.CodeOf(err), api.InsufficientBalance, "code")
	expect.True(t, errors.Is(err, storage.ErrInsufficient), "got %v", err)
}

// The time of a call is the merchant's test clock in test mode, and the real time in live mode.
func TestCallTimeIsTheMerchants(t *testing.T) {
	b := newBench(t)
	ahead := api.Caller{Merchant: "mer_1"}
	must.Get(b.MoveClock(t.Context(), ahead, engine.Operation{Name: "clock.move"}, func(now time.Time) (time.Time, error) { return now.Add(time.Hour), nil }))(t)
	seen := func(c api.Caller) time.Duration {
		var at time.Time
		must.Do(t, b.View(t.Context(), c, func(tx *engine.ReadTx) error {
			at = tx.Now
			return nil
		}))
		return at.Sub(storage.Instant(b.now()))
	}
	for name, want := range map[string]struct {
		caller api.Caller
		ahead  time.Duration
	}{
		"the merchant": {ahead, time.Hour}, "its live mode": {api.Caller{Merchant: "mer_1", Live: true}, 0}, "another": {api.Caller{Merchant: "mer_2"}, 0},
	} {
		expect.Equal(t, seen(want.caller), want.ahead, "%s: ahead by", name)
	}
	clocks, err := b.awakeClocks(t.Context())
	if err != nil || len(clocks) != 1 || clocks[0].Scope != engine.Scope(ahead) || !clocks[0].Now.Equal(storage.Instant(b.now()).Add(time.Hour)) {
		t.Errorf("clocks %+v, %v", clocks, err)
	}
	b.Sandbox = false
	expect.Equal(t, seen(ahead), 0, "the clock outside of a sandbox is ahead by")
}

// The pages of a list connect, in both directions.
func TestListing(t *testing.T) {
	b := newBench(t)
	caller := api.Caller{Merchant: "mer_1"}
	var made atomic.Int64
	var want []string
	for i := range 12 {
		v := must.Get(b.make(t, caller, fmt.Sprint(i), &made, nil))(t)
		want = append([]string{v.ID}, want...)
	}
	listing := engine.Listing[thing, string]{Collection: things, Noun: "thing", URL: "/v1/things", Show: func(v *thing) string { return v.ID }}
	read := func(p api.Page) (*api.List[string], error) {
		return listing.List(t.Context(), b.Engine, storage.Query{Scope: engine.Scope(caller)}, p)
	}
	for _, test := range []struct {
		page api.Page
		want []string
		more bool
	}{
		{api.Page{}, want[:10], true},
		{api.Page{Limit: 12}, want, false},
		{api.Page{Limit: 11}, want[:11], true},
		{api.Page{StartingAfter: want[9]}, want[10:], false},
		{api.Page{StartingAfter: want[11]}, nil, false},
		{api.Page{Limit: 2, EndingBefore: want[4]}, want[2:4], true},
		{api.Page{Limit: 4, EndingBefore: want[4]}, want[:4], false},
		{api.Page{EndingBefore: want[0]}, nil, false},
	} {
		got, err := read(test.page)
		if err != nil || fmt.Sprint(got.Data) != fmt.Sprint(test.want) || got.HasMore != test.more || got.Object != "list" || got.URL != "/v1/things" {
			t.Errorf("%+v: got %+v, %v; want %v, more %t", test.page, got, err, test.want, test.more)
		}
	}
	for _, wrong := range []struct {
		page  api.Page
		code  api.Code
		param string
	}{
		{api.Page{Limit: 101}, api.ParameterInvalid, "limit"},
		{api.Page{Limit: -1}, api.ParameterInvalid, "limit"},
		{api.Page{StartingAfter: want[0], EndingBefore: want[1]}, api.ParameterInvalid, "ending_before"},
		{api.Page{StartingAfter: "th_x"}, api.ResourceMissing, "starting_after"},
		{api.Page{EndingBefore: "th_x"}, api.ResourceMissing, "ending_before"},
	} {
		_, err := read(wrong.page)
		var e *api.Error
		must.True(t, errors.As(err, &e), "%+v: got %v", wrong.page, err)
		expect.Equal(t, e.Code, wrong.code, "%+v: code", wrong.page)
		expect.Equal(t, e.Param, wrong.param, "%+v: param", wrong.page)
	}
	testkit.WantCode(t, "Get of nothing", testkit.Err(engine.Get(t.Context(), b.Engine, caller, things, "th_x", "thing")), api.ResourceMissing)

	// A list goes on from the place of a deleted object, also if the id was given again and deleted again.
	for range 2 {
		must.Do(t, b.Engine.Update(t.Context(), caller, func(tx *engine.Tx) error {
			o, err := engine.OrNil(things.Get(tx, engine.Scope(caller), want[9]))
			if err == nil && o == nil {
				o, err = things.Insert(tx, engine.Scope(caller), want[9], thing{ID: want[9]})
			}
			if err != nil {
				return err
			}
			return engine.Delete(tx, things, o)
		}))
		got := must.Get(read(api.Page{StartingAfter: want[9]}))(t)
		expect.Equal(t, fmt.Sprint(got.Data), fmt.Sprint(want[10:]), "the list after a deleted one")
	}
}

// afterCommit gives a slot of this process work, if one is free.
func afterCommit(tx *engine.Tx, id string, do func(context.Context) error) bool {
	slot := tx.AcquireSlot(things.Kind())
	if slot == nil {
		return false
	}
	slot.Run(id, do)
	return true
}

// A slot starts its work after the commit, and only then. A run that is rolled back, or gives the slot no work,
// frees it.
func TestDispatchBeginsAfterCommit(t *testing.T) {
	b := newBench(t)
	workers := b.Runner
	workers.Add(work.Job{Kind: things.Kind(), Timeout: time.Minute, Batch: 1, MaxPerMerchant: 2, RunOne: func(context.Context, storage.Record) error { return nil }})
	began := make(chan bool, 1)
	hand := func(fail error) (ok bool) {
		err := b.Update(t.Context(), api.Caller{}, func(tx *engine.Tx) error {
			ok = afterCommit(tx, "h_1", func(context.Context) error { began <- true; return nil })
			return fail
		})
		if !errors.Is(err, fail) {
			t.Fatal(err)
		}
		return ok
	}
	expect.True(t, !hand(nil), "a runner that does not run takes work")
	workers.Start(t.Context())
	for range 5 { // there are two slots, and the poll of the runner needs one
		must.True(t, hand(errors.New("refused")), "a run that was undone kept its slot")
	}
	for range 5 {
		must.Do(t, b.Update(t.Context(), api.Caller{}, func(tx *engine.Tx) error {
			expect.True(t, tx.AcquireSlot(things.Kind()) != nil, "a slot without work was kept")
			return nil
		}))
	}
	must.True(t, hand(nil), "there is no room")
	<-began
	must.Do(t, workers.Stop(t.Context()))
	expect.True(t, len(began) == 0, "work of a run that was undone began")
	expect.True(t, !hand(nil), "a stopped runner takes work")
}

// Future work wakes its worker at the earliest of the times that the transaction gave.
func TestDueInWakesAtTheEarliestTime(t *testing.T) { synctest.Test(t, testDueIn) }

func testDueIn(t *testing.T) {
	b := newBench(t)
	wakes, start := b.startWorker(t), time.Now()
	must.Do(t, b.Update(t.Context(), api.Caller{}, func(tx *engine.Tx) error {
		tx.WakeAfter(things.Kind(), time.Minute)
		tx.WakeAfter(things.Kind(), time.Second)
		tx.WakeAfter(things.Kind(), time.Hour)
		return nil
	}))
	time.Sleep(30 * time.Minute)
	must.Do(t, b.Update(t.Context(), api.Caller{}, func(tx *engine.Tx) error {
		tx.WakeAfter(things.Kind(), time.Minute)
		tx.WakeAfterCommit(things.Kind())
		return nil
	}))
	time.Sleep(20 * time.Minute)
	want := []time.Time{start.Add(time.Second), start.Add(30 * time.Minute)}
	at := wakes()
	expect.True(t, slices.EqualFunc(at, want, time.Time.Equal), "woken at %v, want %v", at, want)
}

// A transaction frees its reserved slots, however it ends.
func TestPanicRollsBack(t *testing.T) {
	b := newBench(t)
	undone, done := 0, 0
	run := func(end func() error) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		return b.Update(t.Context(), api.Caller{Merchant: "mer_1"}, func(tx *engine.Tx) error {
			tx.OnRollback(func() { undone++ })
			tx.OnCommit(func() { done++ })
			return end()
		})
	}
	for _, end := range []func() error{func() error { panic("planned") }, func() error { return errors.New("planned") }} {
		before := undone
		if err := run(end); err == nil || undone != before+1 || done != 0 {
			t.Errorf("undone %d times, done %d times, %v", undone-before, done, err)
		}
	}
	before := undone
	if err := run(func() error { return nil }); err != nil || undone != before || done != 1 {
		t.Errorf("committed: undone %d times, done %d times, %v", undone-before, done, err)
	}
}

// Commit hooks wait for the host's commit. They run once, and never for a refused call. Before
// the commit they take no slot of the workers.
func TestCommitHooksWaitForTheHost(t *testing.T) { synctest.Test(t, testCommitHooksWaitForTheHost) }

func testCommitHooksWaitForTheHost(t *testing.T) {
	b := newBench(t)
	wakes := b.startWorker(t)
	caller, done := api.Caller{Merchant: "mer_1"}, 0
	must.Do(t, b.Update(t.Context(), caller, func(tx *engine.Tx) error {
		expect.True(t, afterCommit(tx, "th_0", func(context.Context) error { return nil }), "no place is free; the test wants one")
		return nil
	}))
	before := len(wakes()) // and the slot is free again
	in := b.In(b.Store)
	call := func(id string, fails error) error {
		return in.Update(t.Context(), caller, func(tx *engine.Tx) error {
			if _, err := things.Insert(tx, engine.Scope(caller), id, thing{ID: id}); err != nil {
				return err
			}
			tx.WakeAfterCommit(things.Kind())
			tx.OnCommit(func() { done++ })
			expect.True(t, !afterCommit(tx, id, func(context.Context) error { return nil }), "work was handed over")
			return fails
		})
	}
	refused := errors.New("refused")
	must.Do(t, call("th_1", nil))
	expect.ErrorIs(t, call("th_2", refused), refused, "call")
	expect.Equal(t, len(wakes()), before, "before the host has committed: number of wakes")
	expect.Equal(t, done, 0, "before the host has committed: told")
	for range 2 {
		in.HostCommitted()
		expect.Equal(t, len(wakes()), before+1, "after: number of wakes")
		expect.Equal(t, done, 1, "after: told")
	}
}

func TestFilters(t *testing.T) {
	from := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	var where []storage.Equal
	where = engine.Where(where, "type", "")
	where = engine.Where(where, "status", "open")
	expect.Same(t, where, []storage.Equal{{Column: "status", Value: "open"}}, "the filter")
	type status string
	q := engine.Query(api.Caller{Merchant: "mer_1", Live: true}, struct {
		api.Page
		Status         status    `param:"status"`
		Customer, Plan string    `param:"customer,id"`
		Active         *bool     `param:"active"`
		Due            api.Times `param:"due"`
		Created        api.Times `param:"created"`
		Paid           api.Times `param:"paid"`
	}{Page: api.Page{Limit: 3}, Status: "open", Customer: "cus_1", Active: new(false), Created: api.Times{From: from}, Paid: api.Times{Until: from}})
	expect.Same(t, q, storage.Query{
		Scope: storage.Scope{Merchant: "mer_1", Live: true},
		Where: []storage.Equal{{Column: "status", Value: "open"}, {Column: "customer", Value: "cus_1"}, {Column: "active", Value: false}},
		Range: []storage.Range{{Column: "created", From: from}, {Column: "paid", Until: from}},
	}, "the query")
}

// A list in memory comes in pages, from either end, in its order.
func TestSliceOfPages(t *testing.T) {
	page := func(p api.Page) (*api.List[string], error) {
		return engine.SliceOf("/v1/letters", "letter", strings.Split("abcde", ""), func(s *string) string { return *s }, p)
	}
	for name, test := range map[string]struct {
		p    api.Page
		want string
		more bool
	}{
		"all":                   {api.Page{}, "abcde", false},
		"the first":             {api.Page{Limit: 2}, "ab", true},
		"the next":              {api.Page{Limit: 2, StartingAfter: "b"}, "cd", true},
		"the last":              {api.Page{Limit: 2, StartingAfter: "d"}, "e", false},
		"after the last":        {api.Page{StartingAfter: "e"}, "", false},
		"before the fourth":     {api.Page{Limit: 2, EndingBefore: "d"}, "bc", true},
		"all before the fourth": {api.Page{Limit: 3, EndingBefore: "d"}, "abc", false},
		"before the first":      {api.Page{EndingBefore: "a"}, "", false},
	} {
		got, err := page(test.p)
		must.True(t, err == nil, "%s: %+v, %v", name, got, err)
		expect.True(t, strings.Join(got.Data, "") == test.want, "%s: %+v, %v", name, got, err)
		expect.Equal(t, got.HasMore, test.more, "%s: has more", name)
		expect.Equal(t, got.URL, "/v1/letters", "%s: URL", name)
	}
	for name, p := range map[string]api.Page{"after": {StartingAfter: "x"}, "before": {EndingBefore: "x"}} {
		testkit.WantCode(t, name+" an unknown one", testkit.Err(page(p)), api.ResourceMissing)
	}
}
