package storagetest

import (
	"context"
	"runtime"
	"testing"

	"github.com/seed-7082ffec/payments/storage"
)

var transactions = tests{
	"an error undoes everything":                 func(t *testing.T, s storage.Store) { undone(t, s, func() error { return errPlanned }) },
	"a panic undoes everything":                  func(t *testing.T, s storage.Store) { undone(t, s, func() error { panic(errPlanned) }) },
	"Goexit undoes everything":                   func(t *testing.T, s storage.Store) { undone(t, s, func() error { runtime.Goexit(); return nil }) },
	"a view is a snapshot that waits for nobody": snapshot,
	"a view fails with its function's error":     viewError,
	"a transaction is over when it is over":      useAfterEnd,
	"a context that has ended does nothing":      endedContext,
	"a context that ends inside writes nothing":  contextEndsInside,
	"a context that ends in the queue":           contextEndsWaiting,
}

// undone does one of everything in an update that ends badly, and looks for
// traces of it.
func undone(t *testing.T, s storage.Store, end func() error) {
	insert(t, s, items, with(item(test1, "it_1"), "token", "a"), item(test1, "it_2"))
	insert(t, s, jobs, job(test1, "job", noon))
	post(t, s, posting("p1", move("guarded/a", 10), move("open/b", -10)))

	finished := make(chan struct{})
	go func() { // Goexit ends the goroutine
		defer close(finished)
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
	}()
	<-finished

	equal(t, "records", list(t, s, items, storage.Query{Scope: test1, Limit: 9}), []string{"it_2", "it_1"})
	equal(t, "version", get(t, s, items, test1, "it_1").Version, int64(1))
	equal(t, "balances", balances(t, s), map[string]int64{"guarded/a": 10, "open/b": -10})
	equal(t, "sequence", next(t, s, "seq"), int64(1))
	equal(t, "job", get(t, s, jobs, test1, "job").Version, int64(1))
	// What was taken inside is free again.
	insert(t, s, items, with(item(test1, "it_4"), "token", "b"), with(item(test1, "it_3"), "token", "c"))
	post(t, s, posting("p2", move("guarded/a", -10), move("open/b", 10)))
	view(t, s, func(tx storage.ReadTx) error {
		b, err := tx.Balance("guarded/a")
		equal(t, "entries", b.Entries, int64(2))
		return err
	})
}

func snapshot(t *testing.T, s storage.Store) {
	insert(t, s, items, item(test1, "it_1"))
	// A view inside of a writer's function would wait for ever if it waited for
	// the writer. It runs in a goroutine of its own, as any reader would.
	read := func(wanted ...string) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			view(t, s, func(tx storage.ReadTx) error {
				page, err := tx.List(items, storage.Query{Scope: test1, Limit: 9})
				equal(t, "seen", ids(page), wanted)
				return err
			})
		}()
		<-done
	}
	update(t, s, func(tx storage.Tx) error {
		if err := tx.Insert(items, item(test1, "it_2")); err != nil {
			return err
		}
		read("it_1")
		return nil
	})
	read("it_2", "it_1")

	view(t, s, func(tx storage.ReadTx) error {
		look := func() []string {
			page, err := tx.List(items, storage.Query{Scope: test1, Limit: 9})
			want(t, "List", err, nil)
			return ids(page)
		}
		before := look()
		done := make(chan struct{})
		go func() {
			defer close(done)
			insert(t, s, items, item(test1, "it_3"))
			post(t, s, posting("p1", move("guarded/a", 1), move("open/b", -1)))
		}()
		<-done
		equal(t, "the same view", look(), before)
		b, err := tx.Balance("guarded/a")
		equal(t, "its balance", b.Amount, int64(0))
		return err
	})
	read("it_3", "it_2", "it_1")
}

func viewError(t *testing.T, s storage.Store) {
	want(t, "View", s.View(t.Context(), func(storage.ReadTx) error { return errPlanned }), errPlanned)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		defer func() { equal(t, "panic", recover() == any(errPlanned), true) }()
		_ = s.View(t.Context(), func(storage.ReadTx) error { panic(errPlanned) })
	}()
	<-finished
	insert(t, s, items, item(test1, "it_1"))
}

func useAfterEnd(t *testing.T, s storage.Store) {
	var kept storage.Tx
	var keptRead storage.ReadTx
	update(t, s, func(tx storage.Tx) error { kept = tx; return tx.Insert(items, item(test1, "it_1")) })
	view(t, s, func(tx storage.ReadTx) error { keptRead = tx; return nil })

	_, err := keptRead.Get(items, test1, "it_1")
	want(t, "Get in a view that is over", err, storage.ErrClosed)
	_, err = kept.Get(items, test1, "it_1")
	want(t, "Get", err, storage.ErrClosed)
	want(t, "Insert", kept.Insert(items, item(test1, "it_2")), storage.ErrClosed)
	want(t, "Post", kept.Post(posting("p", move("open/a", 1), move("open/b", -1))), storage.ErrClosed)
	_, err = kept.Next("seq")
	want(t, "Next", err, storage.ErrClosed)
	absent(t, s, items, test1, "it_2")
}

func endedContext(t *testing.T, s storage.Store) {
	err := s.Update(cancelled(t), func(tx storage.Tx) error { return tx.Insert(items, item(test1, "it_1")) })
	want(t, "Update", err, context.Canceled)
	err = s.View(cancelled(t), func(tx storage.ReadTx) error {
		_, err := tx.Balances("", 1)
		return err
	})
	want(t, "View", err, context.Canceled)
	absent(t, s, items, test1, "it_1")
}

func contextEndsInside(t *testing.T, s storage.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Update(ctx, func(tx storage.Tx) error {
		want(t, "before", tx.Insert(items, item(test1, "it_1")), nil)
		cancel()
		want(t, "Insert", tx.Insert(items, item(test1, "it_2")), context.Canceled)
		_, err := tx.Get(items, test1, "it_1")
		want(t, "Get", err, context.Canceled)
		return nil // though the function does not say so
	})
	want(t, "Update", err, context.Canceled)
	absent(t, s, items, test1, "it_1")

	ctx, cancel = context.WithCancel(t.Context())
	err = s.View(ctx, func(tx storage.ReadTx) error {
		_, err := tx.Balances("", 1)
		want(t, "before", err, nil)
		cancel()
		_, err = tx.Balances("", 1)
		return err
	})
	want(t, "View", err, context.Canceled)
	insert(t, s, items, item(test1, "it_1"))
}

// contextEndsWaiting cancels an update that waits for a writer. It must come back
// though the writer goes on.
func contextEndsWaiting(t *testing.T, s storage.Store) {
	began, proceed, first := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		first <- s.Update(t.Context(), func(tx storage.Tx) error {
			select {
			case <-began:
			default:
				close(began)
			}
			<-proceed
			return tx.Insert(items, item(test1, "it_1"))
		})
	}()
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error)
	go func() {
		second <- s.Update(ctx, func(tx storage.Tx) error { return tx.Insert(items, item(test1, "it_2")) })
	}()
	cancel()
	// A backend with several writers may have run it before it was cancelled.
	waiting := <-second
	close(proceed)
	want(t, "the writer", <-first, nil)
	if waiting != nil {
		want(t, "the one who waited", waiting, context.Canceled)
		absent(t, s, items, test1, "it_2")
	}
	get(t, s, items, test1, "it_1")
}
