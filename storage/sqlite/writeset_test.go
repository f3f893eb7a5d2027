package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/internal/effort"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// step is one call of a transaction. It returns the answer as text.
type step func(tx storage.Tx) string

func describeResult(v any, err error) string {
	for _, known := range []error{storage.ErrExists, storage.ErrNotFound, storage.ErrConflict, storage.ErrInsufficient} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return fmt.Sprint(v, err)
}

func describeRecords(records ...storage.Record) string {
	var s strings.Builder
	for _, r := range records {
		fmt.Fprintf(&s, "%s/%d %v %s; ", r.ID, r.Version, r.Columns, r.Data)
	}
	return s.String()
}

// drawRecord draws a note; few have a unique key, many have the same id.
func drawRecord(t *rapid.T) storage.Record {
	r := note(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "id"))
	r.Version = rapid.Int64Range(1, 3).Draw(t, "version")
	r.Data = []byte(rapid.StringN(0, 4, 8).Draw(t, "data"))
	if rapid.IntRange(0, 3).Draw(t, "keyed") == 0 {
		r.Columns[3] = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "reference")
	}
	if rapid.Bool().Draw(t, "due") {
		r.Columns[4] = noon.Add(time.Duration(rapid.IntRange(-2, 2).Draw(t, "at")) * time.Hour)
	}
	return r
}

// drawStep draws a call. Most calls change something. Some of the reads in between flush the
// buffered writes.
func drawStep(t *rapid.T, number int) step {
	kind := rapid.SampledFrom([]string{
		"insert", "insert", "insert", "replace", "replace", "change", "change", "delete", "post", "post", "next",
		"get", "find", "list", "balance", "balances", "entries", "posting", "postings", "claim", "claim in tx", "backlog",
	}).Draw(t, "call")
	r := drawRecord(t)
	accounts := rapid.SampledFrom([][]string{{"cash", "w1"}, {"cash", "w2"}, {"w1", "w2"}, {"w1", "cash"}}).Draw(t, "accounts")
	amount := rapid.Int64Range(1, 3).Draw(t, "amount")
	return func(tx storage.Tx) string {
		switch kind {
		case "insert":
			return describeResult(nil, tx.Insert(notes, r))
		case "replace":
			return describeResult(nil, tx.Replace(notes, r))
		case "change": // with the right version
			now, err := tx.Get(notes, scope, r.ID)
			if err != nil {
				return describeResult(nil, err)
			}
			now.Columns, now.Data = r.Columns, r.Data
			return describeResult(now.Version, tx.Replace(notes, now))
		case "delete":
			return describeResult(nil, tx.Delete(notes, scope, r.ID, r.Version))
		case "post": // two in a row may have the same id
			p := storage.Posting{ID: fmt.Sprintf("p%02d", number/2), Type: "test", Ref: r.ID, At: noon}
			for i, name := range accounts {
				p.Moves = append(p.Moves, storage.Move{Account: name, Guarded: name != "cash", Amount: []int64{-amount, amount}[i]})
			}
			return describeResult(nil, tx.Post(p))
		case "next":
			return describeResult(tx.Next("numbers"))
		case "get":
			got, err := tx.Get(notes, scope, r.ID)
			return describeResult(describeRecords(got), err)
		case "find":
			got, err := tx.Find(notes, "reference", scope, "x")
			return describeResult(describeRecords(got), err)
		case "list":
			got, err := tx.List(notes, storage.Query{Scope: scope, Limit: 9})
			return describeResult(describeRecords(got...), err)
		case "balance":
			return describeResult(tx.Balance(accounts[1]))
		case "balances":
			return describeResult(tx.Balances("", 9))
		case "entries":
			return describeResult(tx.Entries(accounts[0], 0, 9))
		case "posting":
			return describeResult(tx.Posting(fmt.Sprintf("p%02d", number/4)))
		case "postings":
			return describeResult(tx.Postings("", 99))
		case "claim":
			got, err := tx.Claim(notes, storage.Claim{Due: noon, Now: noon, Lease: time.Minute, Limit: 2})
			return describeResult(describeRecords(got...), err)
		case "claim in tx":
			got, err := tx.Claim(notes, storage.Claim{Due: noon, Now: noon, InTx: true, Limit: 2})
			return describeResult(describeRecords(got...), err)
		default:
			return describeResult(tx.Backlog(notes, noon, 9))
		}
	}
}

// storeContents returns everything that a store holds.
func storeContents(t *testing.T, s storage.Store) (all []string) {
	t.Helper()
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
		all = nil
		listed, err := tx.List(notes, storage.Query{Scope: scope, Limit: 99})
		all = append(all, describeResult(describeRecords(listed...), err), describeResult(tx.Postings("", 99)), describeResult(tx.Balances("", 99)))
		for _, name := range []string{"cash", "w1", "w2"} {
			all = append(all, describeResult(tx.Entries(name, 0, 99)))
		}
		all = append(all, describeResult(tx.Next("numbers")))
		return nil
	}))
	return all
}

// Updates in batches, some of which fail, give the same answers and data as the memory store,
// which buffers nothing.
func TestBufferedWritesAgreeWithMemory(t *testing.T) {
	refused := errors.New("refused")
	rapid.Check(t, func(r *rapid.T) {
		here, there := openNotes(t, Config{}), memory.New()
		must.Do(t, there.Define(t.Context(), notes))
		number := 0
		for range rapid.IntRange(1, 3).Draw(r, "batches") {
			var updates []*update
			var runs []func(tx storage.Tx, answers *[]string) error
			var outcomes []error
			var order []int           // in which the updates ran last
			var got, want [5][]string // answers
			for i := range rapid.IntRange(1, len(got)).Draw(r, "updates") {
				var steps []step
				for range rapid.IntRange(0, 8).Draw(r, "steps") {
					steps = append(steps, drawStep(r, number))
					number++
				}
				outcome := rapid.SampledFrom([]error{nil, nil, nil, refused}).Draw(r, "outcome")
				runs = append(runs, func(tx storage.Tx, answers *[]string) error {
					*answers = nil // those of the last run count
					for _, call := range steps {
						*answers = append(*answers, call(tx))
					}
					return outcome
				})
				outcomes = append(outcomes, outcome)
				updates = append(updates, &update{fn: func(tx storage.Tx) error {
					order = append(slices.DeleteFunc(order, func(other int) bool { return other == i }), i)
					return runs[i](tx, &got[i])
				}})
			}
			runTogether(t, here, updates...)
			for _, i := range order {
				err := there.Update(t.Context(), func(tx storage.Tx) error { return runs[i](tx, &want[i]) })
				if !errors.Is(err, outcomes[i]) {
					t.Fatal(err)
				}
			}
			for i, m := range updates {
				if !errors.Is(m.err, outcomes[i]) {
					r.Fatalf("update %d: %v, want %v", i, m.err, outcomes[i])
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				r.Fatalf("answers (-memory +sqlite):\n%s", diff)
			}
			if diff := cmp.Diff(storeContents(t, there), storeContents(t, here)); diff != "" {
				r.Fatalf("kept (-memory +sqlite):\n%s", diff)
			}
		}
	})
}

// A taken id or key costs one rerun, in which the store looks into that table first.
func TestTakenKeyCostsOneRerun(t *testing.T) {
	s := openNotes(t, Config{})
	insert(t, s, "a")
	keyed := func(id string) storage.Record {
		r := note(id)
		r.Columns[3] = "x"
		return r
	}
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error { return tx.Insert(notes, keyed("b")) }))
	for what, r := range map[string]storage.Record{"id": note("a"), "key": keyed("c")} {
		before := s.Stats()
		err := s.Update(t.Context(), func(tx storage.Tx) error { return tx.Insert(notes, r) })
		expect.ErrorIs(t, err, storage.ErrExists, "a taken %s", what)
		expect.Equal(t, s.Stats().Reruns-before.Reruns, int64(1), "reruns for a taken %s", what)
	}
}

// A batch that skips the check of an id meets the taken id later.
func TestUnverifiedInsertMeetsTakenID(t *testing.T) {
	s := openNotes(t, Config{})
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
		if _, err := tx.Get(notes, scope, "d"); !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		return errors.Join(tx.Insert(notes, note("d")), tx.Insert(notes, note("b")))
	}))
	for _, id := range []string{"b", "d"} {
		if err := s.Update(t.Context(), inserts(id).fn); !errors.Is(err, storage.ErrExists) {
			t.Errorf("%s: %v, want ErrExists", id, err)
		}
	}
}

// A delete frees the unique key, even if a new record with the same id is buffered.
func TestDeleteFreesKeyOfBufferedRecord(t *testing.T) {
	s := openNotes(t, Config{})
	err := s.Update(t.Context(), func(tx storage.Tx) error {
		keyed, other := note("a"), note("b")
		keyed.Columns[3], other.Columns[3] = "x", "x"
		err := errors.Join(tx.Insert(notes, keyed), tx.Delete(notes, scope, "a", 1), tx.Insert(notes, note("a")))
		if _, findErr := tx.Find(notes, "reference", scope, "x"); !errors.Is(findErr, storage.ErrNotFound) {
			t.Errorf("Find: %v, want ErrNotFound", findErr)
		}
		return errors.Join(err, tx.Insert(notes, other))
	})
	if err != nil {
		t.Error(err)
	}
}

// A call inserts a taken id without a check. Another call of the batch deletes that id: it must
// delete the record that was there before, not only the buffered insert.
func TestDeleteAfterUnverifiedInsertOfBatch(t *testing.T) {
	s := openNotes(t, Config{})
	insert(t, s, "taken")
	again := inserts("taken")
	remove := &update{fn: func(tx storage.Tx) error { return tx.Delete(notes, scope, "taken", 1) }}
	runTogether(t, s, again, remove, inserts("other"))
	if !errors.Is(again.err, storage.ErrExists) || remove.err != nil {
		t.Errorf("Insert: %v, want ErrExists; Delete: %v", again.err, remove.err)
	}
	if diff := cmp.Diff([]string{"other"}, ids(t, s)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

// A second, equal declaration of a kind uses the same table.
func TestEqualDeclarationsShareTable(t *testing.T) {
	path := filepath.Join(effort.TempDir(t), "notes.db")
	s := openAt(t, path, Config{})
	first, second := *notes, *notes
	first.Keys, second.Keys = nil, nil
	for _, k := range []*storage.Kind{&first, &second} {
		must.Do(t, s.Define(t.Context(), k))
	}
	must.Do(t, s.Update(t.Context(), func(tx storage.Tx) error {
		if err := tx.Insert(&first, note("a")); err != nil {
			return err
		}
		if _, err := tx.Get(&second, scope, "a"); err != nil {
			return err
		}
		if list, err := tx.List(&second, storage.Query{Scope: scope, Limit: 9}); err != nil || len(list) != 1 {
			t.Errorf("listed %d, %v", len(list), err)
		}
		if err := tx.Insert(&second, note("a")); !errors.Is(err, storage.ErrExists) {
			t.Errorf("a taken id: %v", err)
		}
		return nil
	}))
}
