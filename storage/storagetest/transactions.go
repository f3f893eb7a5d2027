package storagetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/storage"
)

var transactions = tests{
	"an error undoes everything": func(t *testing.T, s storage.Store) { rollsBackEverything(t, s, func() error { return errPlanned }) },
	"a panic undoes everything":  func(t *testing.T, s storage.Store) { rollsBackEverything(t, s, func() error { panic(errPlanned) }) },
	"Goexit undoes everything": func(t *testing.T, s storage.Store) {
		rollsBackEverything(t, s, func() error { runtime.Goexit(); return nil })
	},
	"an update reads what it has written": readsOwnWrites,
	"an update sees earlier updates":      seesEarlier,
	"an ignored error leaves no writes":   ignoredError,
	"an error comes after a refusal":      refusalBeforeError,
	"a view is a snapshot":                snapshot,
	"a view waits for no writer":          viewBesideUpdate,
	"a view ends as its function does":    viewEnds,
	"a context that has ended":            endedContext,
	"a context that ends inside":          contextEndsInside,
	"a context that ends in the queue":    contextEndsWaiting,
}

// rollsBackEverything makes every change in an update that then fails, and looks for traces of
// it.
func rollsBackEverything(t *testing.T, s storage.Store, end func() error) {
	insert(t, s, items, with(item(test1, "it_1"), "token", "a"), item(test1, "it_2"))
	insert(t, s, jobs, job(test1, "job", noon))
	post(t, s, posting("p1", move("guarded/a", 10), move("open/b", -10)))

	inGoroutine(func() { // Goexit ends the goroutine
		defer func() {
			if p := recover(); p != nil && p != any(errPlanned) {
				t.Errorf("panic came out as %v", p)
			}
		}()
		err := s.Update(t.Context(), func(tx storage.Tx) error {
			r, err := tx.Get(items, test1, "it_1")
			if err != nil {
				t.Errorf("Get: %v", err)
			}
			want(t, "Replace", tx.Replace(items, with(r, "token", "b")), nil)
			want(t, "Delete", tx.Delete(items, test1, "it_2", 1), nil)
			want(t, "Insert", tx.Insert(items, with(item(test1, "it_3"), "token", "c")), nil)
			want(t, "Post", tx.Post(posting("p2", move("guarded/a", -10), move("guarded/c", 10))), nil)
			_, err = tx.Next("seq")
			want(t, "Next", err, nil)
			_, err = tx.Claim(jobs, storage.Claim{Due: noon, Now: noon, Lease: lease, Limit: 1})
			want(t, "Claim", err, nil)
			return end()
		})
		want(t, "Update", err, errPlanned)
	})

	equal(t, "records", list(t, s, items, storage.Query{Scope: test1, Limit: 9}), []string{"it_2", "it_1"})
	equal(t, "version", get(t, s, items, test1, "it_1").Version, int64(1))
	equal(t, "balances", balances(t, s), map[string]int64{"guarded/a": 10, "open/b": -10})
	equal(t, "sequence", next(t, s, "seq"), int64(1))
	equal(t, "job", get(t, s, jobs, test1, "job").Version, int64(1))
	// The keys and ids taken inside are free again.
	insert(t, s, items, with(item(test1, "it_4"), "token", "b"), with(item(test1, "it_3"), "token", "c"))
	post(t, s, posting("p2", move("guarded/a", -10), move("open/b", 10)))
	view(t, s, func(tx storage.ReadTx) error {
		b, err := tx.Balance("guarded/a")
		equal(t, "entries", b.Entries, int64(2))
		return err
	})
}

// readsOwnWrites calls every method of ReadTx for the transaction's own writes.
func readsOwnWrites(t *testing.T, s storage.Store) {
	insert(t, s, items, item(test1, "it_1"), item(test1, "it_2"))
	insert(t, s, jobs, job(test1, "job", noon))
	post(t, s, posting("p1", move("guarded/a", 10), move("open/b", -10)))
	update(t, s, func(tx storage.Tx) error {
		r, err := tx.Get(items, test1, "it_1")
		if err != nil {
			return err
		}
		if err := tx.Replace(items, with(r, "token", "t")); err != nil {
			return err
		}
		if err := tx.Delete(items, test1, "it_2", 1); err != nil {
			return err
		}
		if err := tx.Insert(items, item(test1, "it_3")); err != nil {
			return err
		}
		if err := tx.Post(posting("p2", move("guarded/a", -4), move("guarded/c", 4))); err != nil {
			return err
		}
		if _, err := tx.Claim(jobs, storage.Claim{Due: noon, Now: noon, Lease: lease, Limit: 1}); err != nil {
			return err
		}

		r, err = tx.Get(items, test1, "it_1")
		want(t, "Get of what was replaced", err, nil)
		equal(t, "version", r.Version, int64(2))
		equal(t, "token", r.Columns[5], any("t"))
		_, err = tx.Get(items, test1, "it_2")
		want(t, "Get of what was deleted", err, storage.ErrNotFound)
		r, err = tx.Find(items, "token", test1, "t")
		want(t, "Find", err, nil)
		equal(t, "found", r.ID, "it_1")
		_, err = tx.Find(items, "public", test1, "it_2")
		want(t, "Find of what was deleted", err, storage.ErrNotFound)
		page, err := tx.List(items, storage.Query{Scope: test1, Limit: 9})
		want(t, "List", err, nil)
		equal(t, "listed", ids(page), []string{"it_3", "it_1"})
		r, err = tx.Get(jobs, test1, "job")
		want(t, "Get of what was claimed", err, nil)
		equal(t, "its version", r.Version, int64(2))

		b, err := tx.Balance("guarded/a")
		want(t, "Balance", err, nil)
		equal(t, "balance", b, storage.Balance{Account: "guarded/a", Guarded: true, Amount: 6, Entries: 2})
		all, err := tx.Balances("", 9)
		want(t, "Balances", err, nil)
		equal(t, "accounts", len(all), 3)
		entries, err := tx.Entries("guarded/a", 0, 1)
		want(t, "Entries", err, nil)
		equal(t, "newest entry's posting", single(t, "Entries", entries).Posting, "p2")
		_, err = tx.Posting("p2")
		want(t, "Posting", err, nil)
		booked, err := tx.Postings("p1", 9)
		want(t, "Postings", err, nil)
		equal(t, "postings", len(booked), 1)

		// The same calls again: the transaction's own state decides.
		want(t, "Replace of the new version", tx.Replace(items, with(item(test1, "it_1"), "name", "x")), storage.ErrConflict)
		want(t, "Delete of what was inserted", tx.Delete(items, test1, "it_3", 1), nil)
		want(t, "Insert in its place", tx.Insert(items, item(test1, "it_3")), nil)
		want(t, "Post of the same id", tx.Post(posting("p2", move("open/b", 1), move("open/d", -1))), storage.ErrExists)
		return nil
	})
	equal(t, "records", list(t, s, items, storage.Query{Scope: test1, Limit: 9}), []string{"it_3", "it_1"})
}

func seesEarlier(t *testing.T, s storage.Store) {
	for n := range 5 {
		update(t, s, func(tx storage.Tx) error {
			page, err := tx.List(items, storage.Query{Scope: test1, Limit: 9})
			if err != nil {
				return err
			}
			equal(t, "in the next update", len(page), n)
			return tx.Insert(items, item(test1, fmt.Sprint("it_", n)))
		})
		equal(t, "in the next view", len(list(t, s, items, storage.Query{Scope: test1, Limit: 9})), n+1)
	}
}

// ignoredError ignores errors of methods and continues. A failed method must change nothing, and
// must not keep the rest from being stored.
func ignoredError(t *testing.T, s storage.Store) {
	insert(t, s, items, with(item(test1, "it_1"), "token", "a"), with(item(test1, "it_2"), "token", "b"))
	post(t, s, posting("p1", move("guarded/a", 5), move("open/b", -5)))
	updateLastRun(t, s, func(t *findings, tx storage.Tx) error {
		r, err := tx.Get(items, test1, "it_2")
		if err != nil {
			return err
		}
		want(t, "Insert of a taken id", tx.Insert(items, with(item(test1, "it_2"), "token", "z")), storage.ErrExists)
		want(t, "Insert of a taken key", tx.Insert(items, with(item(test1, "it_3"), "token", "a")), storage.ErrExists)
		want(t, "Replace with a taken key", tx.Replace(items, with(with(r, "name", "x"), "token", "a")), storage.ErrExists)
		old := with(r, "name", "x")
		old.Version = 9
		want(t, "Replace of another version", tx.Replace(items, old), storage.ErrConflict)
		want(t, "Delete of another version", tx.Delete(items, test1, "it_1", 9), storage.ErrConflict)
		want(t, "Delete of nothing", tx.Delete(items, test1, "it_9", 1), storage.ErrNotFound)
		want(t, "Insert of what is wrong", tx.Insert(items, with(item(test1, "it_5"), "state", "odd")), storage.ErrInvalid)
		want(t, "Post of a taken id", tx.Post(posting("p1", move("open/c", 1), move("open/b", -1))), storage.ErrExists)
		want(t, "Post off balance", tx.Post(posting("p2", move("open/c", 1), move("open/b", -2))), storage.ErrInvalid)
		_, err = tx.Find(items, "token", test1, "z")
		want(t, "Find of what was refused", err, storage.ErrNotFound)

		want(t, "Replace", tx.Replace(items, with(r, "token", "c")), nil)
		want(t, "Insert", tx.Insert(items, with(item(test1, "it_4"), "token", "b")), nil)
		return tx.Post(posting("p2", move("guarded/a", -5), move("open/b", 5)))
	})
	equal(t, "records", list(t, s, items, storage.Query{Scope: test1, Limit: 9}), []string{"it_4", "it_2", "it_1"})
	equal(t, "the one replaced", get(t, s, items, test1, "it_2").Columns, with(item(test1, ""), "token", "c").Columns)
	equal(t, "its version", get(t, s, items, test1, "it_2").Version, int64(2))
	equal(t, "the one never replaced", get(t, s, items, test1, "it_1").Version, int64(1))
	equal(t, "balances", balances(t, s), map[string]int64{"guarded/a": 0, "open/b": 0})
	checkLedger(t, s)
}

// refusalBeforeError makes a write that must be refused, and then an error of its own. The caller
// must learn of the refusal: whether a payment was made before, not that the money for a second
// one is short. A backend that finds out at the commit has no commit here.
func refusalBeforeError(t *testing.T, s storage.Store) {
	plain := &storage.Kind{Name: "plain_items"} // without a key, so that a backend need not read it
	want(t, "Define", s.Define(t.Context(), plain), nil)
	insert(t, s, items, with(item(test1, "it_1"), "token", "a"), item(test1, "it_2"))
	insert(t, s, plain, storage.Record{Scope: test1, ID: "plain", Data: []byte("{}")})
	post(t, s, posting("p1", move("guarded/a", 5), move("open/b", -5)))
	changed := with(item(test1, "it_2"), "token", "a")
	changed.Version = 1
	for what, test := range map[string]struct {
		write  func(storage.Tx) error
		wanted error
	}{
		"Insert of a taken id":     {func(tx storage.Tx) error { return tx.Insert(items, item(test1, "it_1")) }, storage.ErrExists},
		"Insert of a taken key":    {func(tx storage.Tx) error { return tx.Insert(items, with(item(test1, "it_3"), "token", "a")) }, storage.ErrExists},
		"Replace with a taken key": {func(tx storage.Tx) error { return tx.Replace(items, changed) }, storage.ErrExists},
		"Replace of a version to come": {func(tx storage.Tx) error {
			return tx.Replace(plain, storage.Record{Scope: test1, ID: "plain", Version: 2})
		}, storage.ErrConflict},
		"Post of a taken id": {func(tx storage.Tx) error { return tx.Post(posting("p1", move("guarded/a", -1), move("open/b", 1))) }, storage.ErrExists},
	} {
		for then, fail := range map[string]func(storage.Tx) error{
			"an error of the function": func(storage.Tx) error { return errPlanned },
			"a Post of too much": func(tx storage.Tx) error {
				return tx.Post(posting("p2", move("guarded/a", -6), move("open/b", 6)))
			},
		} {
			err := s.Update(t.Context(), func(tx storage.Tx) error {
				if err := test.write(tx); err != nil {
					return err
				}
				return fail(tx)
			})
			want(t, what+", then "+then, err, test.wanted)
		}
	}
	equal(t, "records", list(t, s, items, storage.Query{Scope: test1, Limit: 9}), []string{"it_2", "it_1"})
	equal(t, "balances", balances(t, s), map[string]int64{"guarded/a": 5, "open/b": -5})
}

// viewBesideUpdate reads while a writer's function runs. The writer waits for the reader, so a
// reader that waits for the writer would deadlock.
func viewBesideUpdate(t *testing.T, s storage.Store) {
	insert(t, s, items, item(test1, "it_1"))
	update(t, s, func(tx storage.Tx) error {
		if err := tx.Insert(items, item(test1, "it_2")); err != nil {
			return err
		}
		if err := tx.Post(posting("p1", move("guarded/a", 1), move("open/b", -1))); err != nil {
			return err
		}
		inGoroutine(func() {
			equal(t, "records beside the writer", list(t, s, items, storage.Query{Scope: test1, Limit: 9}), []string{"it_1"})
			equal(t, "balances beside the writer", balances(t, s), map[string]int64{})
		})
		return nil
	})
	equal(t, "records afterwards", list(t, s, items, storage.Query{Scope: test1, Limit: 9}), []string{"it_2", "it_1"})
}

// snapshot makes every change during a view, between its reads. Before and after, each method
// must give the same answer.
func snapshot(t *testing.T, s storage.Store) {
	insert(t, s, items, with(item(test1, "it_1"), "token", "a"), with(item(test1, "it_2"), "token", "b"))
	post(t, s, posting("p1", move("guarded/a", 5), move("open/b", -5)))
	view(t, s, func(tx storage.ReadTx) error {
		look := func() []any {
			var seen []any
			add := func(v any, err error) {
				if err != nil {
					v = errors.Is(err, storage.ErrNotFound)
				}
				seen = append(seen, v)
			}
			for _, id := range []string{"it_1", "it_2", "it_3"} {
				r, err := tx.Get(items, test1, id)
				add(r, err)
			}
			for _, token := range []string{"a", "b", "c"} {
				r, err := tx.Find(items, "token", test1, token)
				add(r, err)
			}
			page, err := tx.List(items, storage.Query{Scope: test1, Limit: 9})
			add(page, err)
			b, err := tx.Balance("guarded/a")
			add(b, err)
			all, err := tx.Balances("", 9)
			add(all, err)
			entries, err := tx.Entries("guarded/a", 0, 9)
			add(entries, err)
			booked, err := tx.Posting("p2")
			add(booked, err)
			postings, err := tx.Postings("", 9)
			add(postings, err)
			return seen
		}
		before := look()
		inGoroutine(func() {
			insert(t, s, items, with(item(test1, "it_3"), "token", "c"))
			post(t, s, posting("p2", move("guarded/a", 1), move("open/c", -1)))
			update(t, s, func(tx storage.Tx) error {
				r := with(item(test1, "it_1"), "token", "d")
				r.Version = 1
				if err := tx.Replace(items, r); err != nil {
					return err
				}
				return tx.Delete(items, test1, "it_2", 1)
			})
		})
		equal(t, "the same view", look(), before)
		return nil
	})
	equal(t, "the next view", list(t, s, items, storage.Query{Scope: test1, Limit: 9}), []string{"it_3", "it_1"})
}

func viewEnds(t *testing.T, s storage.Store) {
	want(t, "View", s.View(t.Context(), func(storage.ReadTx) error { return errPlanned }), errPlanned)
	for range 10 { // more often than a backend may have connections
		inGoroutine(func() {
			defer func() {
				if p := recover(); p != any(errPlanned) {
					t.Errorf("panic came out as %v", p)
				}
			}()
			_ = s.View(t.Context(), func(storage.ReadTx) error { panic(errPlanned) })
		})
		inGoroutine(func() {
			_ = s.View(t.Context(), func(storage.ReadTx) error { runtime.Goexit(); return nil })
			t.Error("View came back from runtime.Goexit")
		})
	}
	insert(t, s, items, item(test1, "it_1"))
	equal(t, "afterwards", list(t, s, items, storage.Query{Scope: test1, Limit: 9}), []string{"it_1"})
}

func endedContext(t *testing.T, s storage.Store) {
	expired, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for _, test := range []struct {
		ctx  context.Context
		want error
	}{
		{cancelled(t), context.Canceled},
		{expired, context.DeadlineExceeded},
	} {
		for range 10 { // the writer's slot is free, and must not be taken by chance
			err := s.Update(test.ctx, func(storage.Tx) error { t.Error("the update runs"); return nil })
			want(t, "Update", err, test.want)
		}
		err := s.View(test.ctx, func(tx storage.ReadTx) error {
			_, err := tx.Balances("", 1)
			return err
		})
		want(t, "View", err, test.want)
		want(t, "Define", s.Define(test.ctx, grownKind(1)), test.want)
	}
	insert(t, s, items, item(test1, "it_1")) // the store works on
}

func contextEndsInside(t *testing.T, s storage.Store) {
	for _, returned := range []error{nil, errPlanned} {
		ctx, cancel := context.WithCancel(t.Context())
		err := s.Update(ctx, func(tx storage.Tx) error {
			want(t, "before", tx.Insert(items, item(test1, "it_1")), nil)
			cancel()
			return returned // the function does not report it
		})
		want(t, "Update", err, context.Canceled)
		wantAbsent(t, s, items, test1, "it_1")
	}
	insert(t, s, items, item(test1, "it_1"))
}

// watched is a context that reports when a goroutine waits for its end.
type watched struct {
	context.Context
	once  *sync.Once
	asked chan struct{}
}

func (w watched) Done() <-chan struct{} {
	w.once.Do(func() { close(w.asked) })
	return w.Context.Done()
}

// contextEndsWaiting cancels calls that wait for a writer. They must return although the writer
// continues, and leave nothing.
func contextEndsWaiting(t *testing.T, s storage.Store) {
	began, proceed, first := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		first <- s.Update(t.Context(), func(tx storage.Tx) error {
			once.Do(func() { close(began) })
			<-proceed
			return tx.Insert(items, item(test1, "it_1"))
		})
	}()
	<-began
	waits := func(call func(context.Context) error) error {
		parent, cancel := context.WithCancel(t.Context())
		defer cancel()
		ctx := watched{parent, new(sync.Once), make(chan struct{})}
		came := make(chan error, 1)
		go func() { came <- call(ctx) }()
		select {
		case <-ctx.asked:
			cancel()
			return <-came
		case err := <-came: // it did not have to wait
			return err
		}
	}
	updated := waits(func(ctx context.Context) error {
		return s.Update(ctx, func(tx storage.Tx) error { return tx.Insert(items, item(test1, "it_2")) })
	})
	defined := waits(func(ctx context.Context) error { return s.Define(ctx, items, jobs) })
	close(proceed)
	want(t, "the writer", <-first, nil)
	wanted := []string{"it_2", "it_1"} // a backend with several writers may be quick
	if updated != nil {
		want(t, "Update", updated, context.Canceled)
		wanted = wanted[1:]
	}
	if defined != nil {
		want(t, "Define", defined, context.Canceled)
	}
	equal(t, "records", list(t, s, items, storage.Query{Scope: test1, Limit: 9}), wanted)
	insert(t, s, items, item(test1, "it_3")) // no call waits for ever
}
