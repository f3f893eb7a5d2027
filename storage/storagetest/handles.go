package storagetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-7082ffec/payments/storage"
)

// twoStores are the tests of two stores on one database.
func twoStores(again func(*testing.T) storage.Store) tests {
	return tests{
		"each sees the other's commits":         func(t *testing.T, s storage.Store) { seeEachOther(t, s, again(t)) },
		"an update that only reads is current":  func(t *testing.T, s storage.Store) { readsAreCurrent(t, s, again(t)) },
		"writers on both lose nothing":          func(t *testing.T, s storage.Store) { bothWrite(t, s, again(t)) },
		"both define a kind at once":            func(t *testing.T, s storage.Store) { bothDefine(t, s, again(t)) },
		"a wait for the other can be cancelled": func(t *testing.T, s storage.Store) { waitCancelled(t, s, again(t)) },
		"updates of both have one order":        func(t *testing.T, s storage.Store) { oneOrder(t, s, again(t)) },
		"at most one of two flags is set":       func(t *testing.T, s storage.Store) { oneFlag(t, s, again(t)) },
		"a refusal is current":                  func(t *testing.T, s storage.Store) { refusalsAreCurrent(t, s, again(t)) },
		"postings of both add up":               func(t *testing.T, s storage.Store) { postingsAddUp(t, s, again(t)) },
		"a balance that decides is current":     func(t *testing.T, s storage.Store) { balancesAreCurrent(t, s, again(t)) },
		"a posting before the money is refused": func(t *testing.T, s storage.Store) { refusedBeforeMoney(t, s, again(t)) },
		"a refusal that decides is current":     func(t *testing.T, s storage.Store) { refusalDecides(t, s, again(t)) },
		"a commit takes up the other's":         func(t *testing.T, s storage.Store) { commitTakesUp(t, s, again(t)) },
		"a record is replaced unread":           func(t *testing.T, s storage.Store) { replaceUnread(t, s, again(t)) },
		"one goes on when the other closes": func(t *testing.T, s storage.Store) {
			fillStore(t, s)
			other := again(t)
			want(t, "Close", s.Close(), nil)
			continuesAfterReopen(t, other)
		},
	}
}

// postingsAddUp posts to one account through both stores in turns. Neither need know the balance.
func postingsAddUp(t *testing.T, s, other storage.Store) {
	sum := int64(0)
	for i := range 6 {
		handle := []storage.Store{s, other}[i%2]
		sum += int64(i + 1)
		post(t, handle, pay(fmt.Sprint("psg_", i), int64(i+1)))
		update(t, handle, func(tx storage.Tx) error {
			b, err := tx.Balance("till")
			equal(t, "balance in an Update", b, storage.Balance{Account: "till", Guarded: true, Amount: sum, Entries: int64(i + 1)})
			return err
		})
	}
	checkLedger(t, other)
}

// pay returns a posting to a guarded account.
func pay(id string, amount int64) storage.Posting {
	return posting(id, storage.Move{Account: "till", Guarded: true, Amount: amount}, storage.Move{Account: "world", Amount: -amount})
}

// balancesAreCurrent decides by a balance that the other store has changed meanwhile: by reading it, and by a
// posting that is refused or not.
func balancesAreCurrent(t *testing.T, s, other storage.Store) {
	insert(t, s, items, with(item(test1, "kept"), "size", int64(0)))
	keep := func() {
		update(t, s, func(tx storage.Tx) error {
			b, err := tx.Balance("till")
			if err != nil {
				return err
			}
			r, err := tx.Get(items, test1, "kept")
			if err != nil {
				return err
			}
			return tx.Replace(items, with(r, "size", b.Amount))
		})
	}
	post(t, s, pay("psg_1", 5))
	keep()
	post(t, other, pay("psg_2", 3))
	keep()
	equal(t, "kept", get(t, s, items, test1, "kept").Columns[1], any(int64(8)))

	postFails(t, s, "too much", pay("psg_3", -9), storage.ErrInsufficient)
	post(t, other, pay("psg_4", 1))
	post(t, s, pay("psg_5", -9)) // it would be refused by the balance that s has seen
	postFails(t, other, "what is gone", pay("psg_6", -1), storage.ErrInsufficient)
	post(t, s, pay("psg_7", 4))
	post(t, other, pay("psg_8", -4))
	postFails(t, s, "what the other has taken", pay("psg_9", -4), storage.ErrInsufficient)
	checkLedger(t, s)
}

// refusedBeforeMoney posts twice in an Update, of which the first posting would take an account below zero that the
// other store has emptied. That the second pays for it does not help.
func refusedBeforeMoney(t *testing.T, s, other storage.Store) {
	both := func(first int64) error {
		return s.Update(t.Context(), func(tx storage.Tx) error {
			if err := tx.Post(pay("psg_first", first)); err != nil {
				return err
			}
			return tx.Post(pay("psg_second", -first))
		})
	}
	post(t, s, pay("psg_in", 5))
	post(t, other, pay("psg_out", -5))
	want(t, "a posting before the money", both(-5), storage.ErrInsufficient)
	want(t, "a posting after the money", both(5), nil)
	checkLedger(t, other)
}

// refusalDecides has an update go on after a posting that is refused, while the other store pays in.
func refusalDecides(t *testing.T, s, other storage.Store) {
	insert(t, s, items, with(item(test1, "refused"), "open", false))
	post(t, s, pay("psg_in", 1))
	post(t, s, pay("psg_out", -1))
	spend := func(id string) any {
		t.Helper()
		update(t, s, func(tx storage.Tx) error {
			refused := tx.Post(pay(id, -1))
			r, err := tx.Get(items, test1, "refused")
			if err != nil {
				return err
			}
			return tx.Replace(items, with(r, "open", errors.Is(refused, storage.ErrInsufficient)))
		})
		return get(t, s, items, test1, "refused").Columns[items.Column("open")]
	}
	equal(t, "refused without money", spend("psg_1"), any(true))
	post(t, other, pay("psg_more", 1))
	equal(t, "refused with money", spend("psg_2"), any(false))
	equal(t, "refused once it is spent", spend("psg_3"), any(true))
}

// commitTakesUp writes through one store what the other has not changed. Its later reads see what the other has.
func commitTakesUp(t *testing.T, s, other storage.Store) {
	for _, id := range []string{"read", "written"} {
		insert(t, s, items, with(item(test1, id), "size", int64(0)))
	}
	set := func(s storage.Store, id string, size int64) {
		t.Helper()
		update(t, s, func(tx storage.Tx) error {
			r, err := tx.Get(items, test1, id)
			if err != nil {
				return err
			}
			return tx.Replace(items, with(r, "size", size))
		})
	}
	for n := range int64(3) {
		set(s, "read", 2*n)
		set(other, "read", 2*n+1)
		set(s, "written", n)
		update(t, s, func(tx storage.Tx) error {
			r, err := tx.Get(items, test1, "read")
			equal(t, "what the other has written", r.Columns[1], any(2*n+1))
			return err
		})
	}
}

// replaceUnread replaces records that the writing store has not read. The store may assume the
// version, and must notice a wrong one.
func replaceUnread(t *testing.T, s, other storage.Store) {
	plain := &storage.Kind{Name: "plain_items"}
	for _, handle := range []storage.Store{s, other} {
		want(t, "Define", handle.Define(t.Context(), plain), nil)
	}
	record := func(id string, version int64, data string) storage.Record {
		return storage.Record{Scope: test1, ID: id, Version: version, Data: []byte(data)}
	}
	insert(t, s, plain, record("a", 0, `{"n":1}`))
	insert(t, s, plain, record("b", 0, `{"n":1}`))

	update(t, other, func(tx storage.Tx) error {
		want(t, "Replace of the version that is there", tx.Replace(plain, record("a", 1, `{"n":2}`)), nil)
		want(t, "Replace of the next", tx.Replace(plain, record("a", 2, `{"n":3}`)), nil)
		return nil
	})
	equal(t, "what was written", string(get(t, s, plain, test1, "a").Data), `{"n":3}`)

	for what, r := range map[string]storage.Record{
		"an old version": record("a", 1, `{}`), "a version to come": record("b", 2, `{}`), "no version": record("b", 0, `{}`),
	} {
		for _, handle := range []storage.Store{s, other} {
			var refused error
			update(t, handle, func(tx storage.Tx) error {
				refused = tx.Replace(plain, r)
				return nil
			})
			want(t, "Replace of "+what, refused, storage.ErrConflict)
		}
	}
	err := other.Update(t.Context(), func(tx storage.Tx) error { return tx.Replace(plain, record("c", 1, `{}`)) })
	want(t, "Replace of nothing", err, storage.ErrNotFound)
	for id, version := range map[string]int64{"a": 3, "b": 1} {
		equal(t, "version", get(t, other, plain, test1, id).Version, version)
	}
}

// alternating runs the tests of a single store on a pair of them.
func (b *backend) alternating(t *testing.T) {
	turns := &backend{open: func(t *testing.T) storage.Store {
		p := alternatingStores{stores: [2]storage.Store{b.open(t)}, turn: new(atomic.Uint32)}
		p.stores[1] = b.reopen(t)
		_, one := p.stores[0].(storage.Reader)
		_, two := p.stores[1].(storage.Reader)
		if one && two {
			return alternatingReaders{p}
		}
		return p
	}}
	turns.runGroup(t, "alternating stores/objects", objects)
	turns.runGroup(t, "alternating stores/keys", keys)
	turns.runGroup(t, "alternating stores/reader", reader)
	turns.runGroup(t, "alternating stores/lists", lists)
	turns.runGroup(t, "alternating stores/money", money)
	turns.runGroup(t, "alternating stores/ledger pages", ledgerPageTests)
	turns.runGroup(t, "alternating stores/sequences", sequences)
	turns.runGroup(t, "alternating stores/claims", claims)
	turns.runGroup(t, "alternating stores/claims by clock", claimsByClock)
	turns.runGroup(t, "alternating stores/backlog", backlog)
	turns.runGroup(t, "alternating stores/leases", leases)
	turns.runGroup(t, "alternating stores/transactions", transactions)
	turns.runGroup(t, "alternating stores/concurrency", concurrency)
}

// alternatingStores are two stores on one database. Each call goes to the store that did not get
// the last one.
type alternatingStores struct {
	stores [2]storage.Store
	turn   *atomic.Uint32
}

func (p alternatingStores) next() storage.Store { return p.stores[p.turn.Add(1)%2] }

func (p alternatingStores) Define(ctx context.Context, kinds ...*storage.Kind) error {
	if err := p.stores[0].Define(ctx, kinds...); err != nil {
		return err
	}
	return p.stores[1].Define(ctx, kinds...)
}

func (p alternatingStores) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	return p.next().View(ctx, fn)
}

// Update lets the store catch up with the other one before fn runs. Otherwise a run on old cached
// data would not count, but the tests of a single store look at every run.
func (p alternatingStores) Update(ctx context.Context, fn func(storage.Tx) error) error {
	s := p.next()
	err := s.Update(ctx, func(tx storage.Tx) error {
		_, err := tx.Balances("", 1)
		return err
	})
	if err != nil {
		return err
	}
	return s.Update(ctx, fn)
}

func (p alternatingStores) Close() error {
	return errors.Join(p.stores[0].Close(), p.stores[1].Close())
}

// alternatingReaders is a pair whose stores have single reads.
type alternatingReaders struct{ alternatingStores }

func (p alternatingReaders) GetOne(ctx context.Context, k *storage.Kind, s storage.Scope, id string) (storage.Record, error) {
	return p.next().(storage.Reader).GetOne(ctx, k, s, id)
}

func (p alternatingReaders) FindOne(ctx context.Context, k *storage.Kind, key string, s storage.Scope, values ...any) (storage.Record, error) {
	return p.next().(storage.Reader).FindOne(ctx, k, key, s, values...)
}

// seeEachOther has the stores write in turns. After each write it compares all reads of both, so
// that cached reads would show.
func seeEachOther(t *testing.T, first, second storage.Store) {
	both := []storage.Store{first, second}
	same := func(what string) {
		t.Helper()
		var seen [][]any
		for _, s := range both {
			var inView, inUpdate []any
			view(t, s, func(tx storage.ReadTx) error { inView = readAll(t, tx); return nil })
			updateLastRun(t, s, func(t *findings, tx storage.Tx) error { inUpdate = readAll(t, tx); return nil })
			seen = append(seen, inView, inUpdate)
			one, err := storage.GetOne(t.Context(), s, items, test1, "it_1")
			if err != nil && !errors.Is(err, storage.ErrNotFound) {
				t.Errorf("GetOne: %v", err)
			}
			var got storage.Record
			view(t, s, func(tx storage.ReadTx) error { got, _ = tx.Get(items, test1, "it_1"); return nil })
			equal(t, what+": GetOne", one, got)
		}
		for _, other := range seen[1:] {
			equal(t, what+": views and updates of both", other, seen[0])
		}
	}
	same("empty")
	fillStore(t, first)
	same("filled")
	for n := range 4 {
		writes, reads := both[n%2], both[1-n%2]
		update(t, writes, func(tx storage.Tx) error {
			r, err := tx.Get(items, test1, "it_1")
			if err != nil {
				return err
			}
			if err := tx.Replace(items, with(with(r, "size", int64(n)), "token", string(rune('c'+n%2)))); err != nil {
				return err
			}
			if err := tx.Post(posting(fmt.Sprint("turn", n), move("guarded/a", -1), move("open/b", 1))); err != nil {
				return err
			}
			return tx.Insert(items, item(test1, fmt.Sprint("it_", 3+n)))
		})
		equal(t, "size", get(t, reads, items, test1, "it_1").Columns[1], any(int64(n)))
		equal(t, "sequence", next(t, writes, "seq"), int64(n+2))
		same(fmt.Sprint("turn ", n))
	}
	update(t, second, func(tx storage.Tx) error { return tx.Delete(items, live1, "li_1", 1) })
	same("deleted")
	insert(t, first, items, with(item(test2, "it_9"), "token", "b")) // the token is free now
	same("inserted")
}

// readsAreCurrent reads in updates that write nothing. A store may answer them from its memory,
// and must notice that the other one has committed.
func readsAreCurrent(t *testing.T, first, second storage.Store) {
	insert(t, first, items, with(item(test1, "it_1"), "size", int64(0)))
	for n := range int64(3) {
		for range 20 { // after a commit of the other one, a store may be careful for a while
			var r storage.Record
			update(t, first, func(tx storage.Tx) (err error) {
				r, err = tx.Get(items, test1, "it_1")
				return err
			})
			equal(t, "size", r.Columns[1], any(n))
		}
		update(t, second, func(tx storage.Tx) error {
			r, err := tx.Get(items, test1, "it_1")
			if err != nil {
				return err
			}
			return tx.Replace(items, with(r, "size", n+1))
		})
	}
}

// bothWrite has each store count, spend, number and claim while the other does the same.
func bothWrite(t *testing.T, first, second storage.Store) {
	const callers, each = 3, 10
	insert(t, first, items, with(item(test1, "it_1"), "size", int64(0)))
	post(t, first, posting("begin", move("guarded/a", callers*each), move("open/b", -callers*each)))
	var work []storage.Record
	for n := range 2 * callers * each {
		work = append(work, job(test1, fmt.Sprintf("job_%03d", n), noon))
	}
	insert(t, first, jobs, work...)
	var mu sync.Mutex
	numbers, claimed, spent := map[int64]int{}, map[string]int{}, 0
	var all sync.WaitGroup
	for h, s := range []storage.Store{first, second} {
		for c := range callers {
			all.Go(func() {
				for n := range each {
					var number int64
					var got []storage.Record
					err := s.Update(t.Context(), func(tx storage.Tx) error {
						r, err := tx.Get(items, test1, "it_1")
						if err != nil {
							return err
						}
						if number, err = tx.Next("seq"); err != nil {
							return err
						}
						if got, err = tx.Claim(jobs, storage.Claim{Due: noon, Now: noon, Lease: lease, Limit: 1}); err != nil {
							return err
						}
						return tx.Replace(items, with(r, "size", r.Columns[1].(int64)+1))
					})
					want(t, "Update", err, nil)
					// There is enough for half of them.
					bought := s.Update(t.Context(), func(tx storage.Tx) error {
						return tx.Post(posting(fmt.Sprintf("p_%d_%d_%d", h, c, n), move("guarded/a", -1), move("open/b", 1)))
					})
					if bought != nil {
						want(t, "Post", bought, storage.ErrInsufficient)
					}
					mu.Lock()
					numbers[number]++
					for _, r := range got {
						claimed[r.ID]++
					}
					if bought == nil {
						spent++
					}
					mu.Unlock()
				}
			})
		}
	}
	all.Wait()
	const wanted = 2 * callers * each
	for _, s := range []storage.Store{first, second} {
		r := get(t, s, items, test1, "it_1")
		equal(t, "count and version", []any{r.Columns[1], r.Version}, []any{int64(wanted), int64(wanted + 1)})
		equal(t, "balances", balances(t, s), map[string]int64{"guarded/a": 0, "open/b": 0})
		checkLedger(t, s)
	}
	equal(t, "spent", spent, callers*each)
	equal(t, "claimed, each once", len(claimed), wanted)
	for n := int64(1); n <= wanted; n++ {
		equal(t, fmt.Sprint("how often number ", n, " was given"), numbers[n], 1)
	}
}

func bothDefine(t *testing.T, first, second storage.Store) {
	var all sync.WaitGroup
	for i, s := range []storage.Store{first, second} {
		all.Go(func() {
			kind := grownKind(2)
			want(t, "Define", s.Define(t.Context(), kind), nil)
			want(t, "Update", s.Update(t.Context(), func(tx storage.Tx) error {
				name := fmt.Sprint("by ", i)
				return tx.Insert(kind, storage.Record{Scope: test1, ID: name, Columns: []any{name, int64(i)}, Data: []byte("{}")})
			}), nil)
		})
	}
	all.Wait()
	kind := grownKind(2)
	want(t, "Define", first.Define(t.Context(), kind), nil)
	equal(t, "records", list(t, first, kind, storage.Query{Scope: test1, Limit: 9}), []string{"by 1", "by 0"})
}

// waitCancelled cancels an update that may wait for one of the other store.
func waitCancelled(t *testing.T, first, second storage.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var waited error
	update(t, first, func(tx storage.Tx) error {
		done := make(chan struct{})
		go func() {
			defer close(done)
			waited = second.Update(ctx, func(tx storage.Tx) error {
				if err := tx.Insert(items, item(test1, "it_1")); err != nil {
					return err
				}
				cancel() // where the stores do not wait for each other
				return nil
			})
		}()
		cancel()
		<-done
		return tx.Insert(items, item(test1, "it_2"))
	})
	want(t, "Update", waited, context.Canceled)
	equal(t, "records", list(t, second, items, storage.Query{Scope: test1, Limit: 9}), []string{"it_2"})
}
