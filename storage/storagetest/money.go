package storagetest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/storage"
)

var money = tests{
	"a posting moves money":              postingMoves,
	"wrong postings are refused":         wrongPostings,
	"guarded accounts stay above zero":   guardedAccounts,
	"the guard belongs to the account":   guardMismatch,
	"no balance overflows":               overflow,
	"a posting id is taken once":         postingTaken,
	"a refused posting changes nothing":  refusedPosting,
	"random postings agree with a model": postingsAgreeWithModel,
	"a transaction sees its own money":   ownMoney,
}

// move is a leg on an account, which is guarded by its name.
func move(account string, amount int64) storage.Move {
	return storage.Move{Account: account, Guarded: strings.HasPrefix(account, "guarded/"), Amount: amount}
}

func posting(id string, moves ...storage.Move) storage.Posting {
	return storage.Posting{ID: id, Type: "test", Ref: "ref_" + id, At: noon, Moves: moves}
}

// post books postings, each in an update of its own.
func post(t *testing.T, s storage.Store, postings ...storage.Posting) {
	t.Helper()
	for _, p := range postings {
		update(t, s, func(tx storage.Tx) error { return tx.Post(p) })
	}
}

// postFails checks that a posting is refused, by Post or by the commit.
func postFails(t *testing.T, s storage.Store, what string, p storage.Posting, wanted error) {
	t.Helper()
	want(t, what, s.Update(t.Context(), func(tx storage.Tx) error { return tx.Post(p) }), wanted)
}

// checkLedger checks the invariants of every ledger: it sums to zero, guarded accounts are not
// below zero, entries are numbered without holes and lead to the balance, and every entry is in
// its posting.
func checkLedger(t *testing.T, s storage.Store) {
	t.Helper()
	view(t, s, func(tx storage.ReadTx) error {
		accounts, err := tx.Balances("", 100_000)
		if err != nil {
			return err
		}
		var total big.Int
		legs := map[string]int{} // by posting
		for _, b := range accounts {
			total.Add(&total, big.NewInt(b.Amount))
			if b.Guarded && b.Amount < 0 {
				t.Errorf("guarded account %s is at %d", b.Account, b.Amount)
			}
			one, err := tx.Balance(b.Account)
			if err != nil {
				return err
			}
			equal(t, "Balance and Balances", one, b)
			entries, err := tx.Entries(b.Account, 0, 100_000)
			if err != nil {
				return err
			}
			if int64(len(entries)) != b.Entries {
				t.Errorf("%s has %d entries, want %d", b.Account, len(entries), b.Entries)
			}
			var sum int64
			for i := len(entries) - 1; i >= 0; i-- {
				e := entries[i]
				sum += e.Amount
				if e.Account != b.Account || e.Balance != sum || e.Number != int64(len(entries)-i) {
					t.Errorf("entry %+v of %s, want number %d and balance %d", e, b.Account, len(entries)-i, sum)
				}
				booked, err := tx.Posting(e.Posting)
				if err != nil {
					return err
				}
				if !slices.ContainsFunc(booked.Entries, func(leg storage.Entry) bool { return cmp.Equal(leg, e) }) {
					t.Errorf("entry %+v is not in its posting %+v", e, booked)
				}
				legs[e.Posting]++
			}
			if sum != b.Amount {
				t.Errorf("entries of %s lead to %d, want %d", b.Account, sum, b.Amount)
			}
		}
		if total.Sign() != 0 {
			t.Errorf("all balances sum to %v, want 0", &total)
		}
		postings, err := tx.Postings("", 100_000)
		if err != nil {
			return err
		}
		if len(postings) != len(legs) {
			t.Errorf("%d postings, want %d", len(postings), len(legs))
		}
		for _, p := range postings {
			if len(p.Entries) != legs[p.ID] {
				t.Errorf("posting %s has %d entries, want %d", p.ID, len(p.Entries), legs[p.ID])
			}
		}
		return nil
	})
}

func balances(t *testing.T, s storage.Store) map[string]int64 {
	t.Helper()
	got := map[string]int64{}
	view(t, s, func(tx storage.ReadTx) error {
		all, err := tx.Balances("", 1000)
		for _, b := range all {
			got[b.Account] = b.Amount
		}
		return err
	})
	return got
}

func postingMoves(t *testing.T, s storage.Store) {
	post(t, s,
		posting("p1", move("guarded/b", 70), move("open/out", -100), move("guarded/a", 30)),
		posting("p2", move("guarded/b", -20), move("guarded/a", 20)))
	equal(t, "balances", balances(t, s), map[string]int64{"guarded/a": 50, "guarded/b": 50, "open/out": -100})
	checkLedger(t, s)
	// The store rounds the times of postings like those of records.
	p := posting("p3", move("open/out", -1), move("open/in", 1))
	p.At, p.Ref = noon.Add(1999*time.Microsecond).In(time.FixedZone("", 3600)), ""
	post(t, s, p)
	view(t, s, func(tx storage.ReadTx) error {
		booked, err := tx.Posting("p3")
		if err != nil {
			return err
		}
		for _, e := range booked.Entries {
			equal(t, "time of the entry", e.At, booked.At)
		}
		equal(t, "time", booked.At, noon.Add(time.Millisecond))
		equal(t, "zone", booked.At.Location() == time.UTC, true)
		equal(t, "ref", booked.Ref, "")
		return nil
	})
	entry := func(account string, number, amount, balance int64, posting string) storage.Entry {
		return storage.Entry{
			Account: account, Number: number, Amount: amount, Balance: balance,
			Posting: posting, Type: "test", Ref: "ref_" + posting, At: noon,
		}
	}
	view(t, s, func(tx storage.ReadTx) error {
		b, err := tx.Balance("guarded/b")
		if err != nil {
			return err
		}
		equal(t, "Balance", b, storage.Balance{Account: "guarded/b", Guarded: true, Amount: 50, Entries: 2})
		nobody, err := tx.Balance("guarded/nobody")
		if err != nil {
			return err
		}
		equal(t, "Balance of nobody", []int64{nobody.Amount, nobody.Entries}, []int64{0, 0})
		entries, err := tx.Entries("guarded/b", 0, 10)
		if err != nil {
			return err
		}
		equal(t, "Entries", entries, []storage.Entry{entry("guarded/b", 2, -20, 50, "p2"), entry("guarded/b", 1, 70, 70, "p1")})
		booked, err := tx.Posting("p1")
		if err != nil {
			return err
		}
		equal(t, "Posting", booked, storage.Booked{ID: "p1", Type: "test", Ref: "ref_p1", At: noon, Entries: []storage.Entry{
			entry("guarded/a", 1, 30, 30, "p1"), entry("guarded/b", 1, 70, 70, "p1"), entry("open/out", 1, -100, -100, "p1"),
		}})
		_, err = tx.Posting("p4")
		want(t, "Posting of nothing", err, storage.ErrNotFound)
		return nil
	})
}

func wrongPostings(t *testing.T, s storage.Store) {
	a, b := move("open/a", 5), move("open/b", -5)
	for name, p := range map[string]storage.Posting{
		"off balance":       posting("p", a, move("open/b", -4)),
		"one leg":           posting("p", a),
		"nothing moved":     posting("p", move("open/a", 0), move("open/b", 0)),
		"an account twice":  posting("p", a, move("open/a", -5)),
		"no account":        posting("p", a, move("", -5)),
		"an account thrice": posting("p", a, b, move("open/a", -1), move("open/c", 1)),
		"no legs":           posting("p"),
		"a leg of zero":     posting("p", a, b, move("open/c", 0)),
		"no id":             posting("", a, b),
		"no type":           {ID: "p", At: noon, Moves: []storage.Move{a, b}},
		"no time":           {ID: "p", Type: "test", Moves: []storage.Move{a, b}},
		"the lowest int64":  posting("p", move("open/a", math.MinInt64), move("open/b", math.MaxInt64), move("open/c", 1)),
	} {
		postFails(t, s, name, p, storage.ErrInvalid)
	}
	postFails(t, s, "a sum that wraps below", posting("p",
		move("open/a", -math.MaxInt64), move("open/b", -math.MaxInt64), move("open/c", -2)), storage.ErrOverflow)
	postFails(t, s, "a sum that wraps to zero", posting("p",
		move("open/a", math.MaxInt64), move("open/b", math.MaxInt64), move("open/c", 2)), storage.ErrOverflow)
	equal(t, "balances", balances(t, s), map[string]int64{})
}

func guardedAccounts(t *testing.T, s storage.Store) {
	postFails(t, s, "out of nothing", posting("p1", move("guarded/a", -1), move("open/b", 1)), storage.ErrInsufficient)
	post(t, s, posting("p2", move("guarded/a", 10), move("open/b", -10)))
	postFails(t, s, "one too many", posting("p3", move("guarded/a", -11), move("open/b", 11)), storage.ErrInsufficient)
	post(t, s, posting("p4", move("guarded/a", -10), move("open/b", 10)))
	postFails(t, s, "out of an empty one", posting("p5", move("guarded/a", -1), move("open/b", 1)), storage.ErrInsufficient)
	equal(t, "balances", balances(t, s), map[string]int64{"guarded/a": 0, "open/b": 0})
	postFails(t, s, "one of several", posting("p6", move("guarded/a", 5), move("guarded/b", -6), move("open/b", 1)), storage.ErrInsufficient)
	post(t, s, posting("p7", move("open/b", 10), move("open/c", -10)))
	equal(t, "balances of the open", balances(t, s), map[string]int64{"guarded/a": 0, "open/b": 10, "open/c": -10})
	checkLedger(t, s)
}

func guardMismatch(t *testing.T, s storage.Store) {
	post(t, s, posting("p1", move("guarded/a", 10), move("open/b", -10)))
	unguarded := storage.Move{Account: "guarded/a", Amount: -20}
	postFails(t, s, "without its guard", posting("p2", unguarded, move("open/b", 20)), storage.ErrInvalid)
	guarded := storage.Move{Account: "open/b", Guarded: true, Amount: 20}
	postFails(t, s, "with a guard it never had", posting("p3", guarded, move("open/c", -20)), storage.ErrInvalid)
	equal(t, "balances", balances(t, s), map[string]int64{"guarded/a": 10, "open/b": -10})
	// An account with a zero balance still exists.
	post(t, s, posting("p4", move("guarded/a", -10), move("open/b", 10)))
	unguarded.Amount = 1
	postFails(t, s, "without its guard, at zero", posting("p5", unguarded, move("open/b", -1)), storage.ErrInvalid)
}

func overflow(t *testing.T, s storage.Store) {
	post(t, s, posting("p1", move("guarded/a", math.MaxInt64), move("open/b", -math.MaxInt64)))
	postFails(t, s, "above", posting("p2", move("guarded/a", 1), move("open/c", -1)), storage.ErrOverflow)
	post(t, s, posting("p3", move("open/b", -1), move("open/c", 1))) // to the lowest int64
	postFails(t, s, "below", posting("p4", move("open/b", -1), move("open/c", 1)), storage.ErrOverflow)
	equal(t, "balances", balances(t, s), map[string]int64{"guarded/a": math.MaxInt64, "open/b": math.MinInt64, "open/c": 1})
	// The refusing account is the last in order, so that others come before.
	postFails(t, s, "after others", posting("p5", move("a", -1), move("guarded/a", 1)), storage.ErrOverflow)
	equal(t, "accounts", len(balances(t, s)), 3)
	post(t, s, posting("p6", move("guarded/a", -math.MaxInt64), move("open/b", math.MaxInt64)))
	checkLedger(t, s)
}

func postingTaken(t *testing.T, s storage.Store) {
	post(t, s, posting("p1", move("open/a", 1), move("open/b", -1)))
	postFails(t, s, "the same id", posting("p1", move("open/c", 1), move("open/d", -1)), storage.ErrExists)
	update(t, s, func(tx storage.Tx) error {
		want(t, "Post", tx.Post(posting("p2", move("open/a", 1), move("open/b", -1))), nil)
		want(t, "Post of the same", tx.Post(posting("p2", move("open/a", 1), move("open/b", -1))), storage.ErrExists)
		return nil
	})
	equal(t, "balances", balances(t, s), map[string]int64{"open/a": 2, "open/b": -2})
	checkLedger(t, s)
}

// refusedPosting ignores the refusal of a posting. A backend that validates at commit finds out
// later, and must then keep nothing of the update.
func refusedPosting(t *testing.T, s storage.Store) {
	post(t, s, posting("p1", move("guarded/z", 5), move("open/a", -5)))
	// The refusing account is the last in order, so that others come before.
	var posted error
	err := s.Update(t.Context(), func(tx storage.Tx) error {
		if posted = tx.Post(posting("p2", move("guarded/b", 6), move("guarded/z", -6))); posted != nil {
			b, err := tx.Balance("guarded/z")
			want(t, "Balance", err, nil)
			equal(t, "balance inside", []int64{b.Amount, b.Entries}, []int64{5, 1})
			_, err = tx.Posting("p2")
			want(t, "Posting inside", err, storage.ErrNotFound)
		}
		return tx.Insert(items, item(test1, "it_1"))
	})
	if posted != nil {
		want(t, "Post", posted, storage.ErrInsufficient)
		want(t, "Update after Post was refused", err, nil)
		get(t, s, items, test1, "it_1")
	} else {
		want(t, "Update", err, storage.ErrInsufficient)
		wantAbsent(t, s, items, test1, "it_1")
	}
	equal(t, "balances", balances(t, s), map[string]int64{"guarded/z": 5, "open/a": -5})
	view(t, s, func(tx storage.ReadTx) error {
		_, err := tx.Posting("p2")
		want(t, "Posting", err, storage.ErrNotFound)
		return nil
	})
	post(t, s, posting("p2", move("guarded/b", 5), move("guarded/z", -5)))
	checkLedger(t, s)
}

func ownMoney(t *testing.T, s storage.Store) {
	update(t, s, func(tx storage.Tx) error {
		for i := range 3 {
			if err := tx.Post(posting(fmt.Sprint("p", i), move("guarded/a", 2), move("open/b", -2))); err != nil {
				return err
			}
		}
		b, err := tx.Balance("guarded/a")
		if err != nil {
			return err
		}
		equal(t, "Balance", []int64{b.Amount, b.Entries}, []int64{6, 3})
		entries, err := tx.Entries("guarded/a", 3, 1)
		if err != nil {
			return err
		}
		equal(t, "Entries", single(t, "Entries", entries).Balance, int64(4))
		booked, err := tx.Posting("p1")
		equal(t, "Posting", len(booked.Entries), 2)
		return err
	})
}

// postingsAgreeWithModel books random movements and keeps the balances in a model.
func postingsAgreeWithModel(t *testing.T, s storage.Store) {
	model := map[string]int64{}
	accounts := []string{"guarded/a", "guarded/b", "guarded/c", "open/x", "open/y"}
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		var postings []storage.Posting
		for range rapid.IntRange(1, 5).Draw(rt, "postings") {
			chosen := rapid.Permutation(accounts).Draw(rt, "accounts")[:rapid.IntRange(2, 4).Draw(rt, "legs")]
			var moves []storage.Move
			var sum int64
			for _, a := range chosen[1:] {
				amount := rapid.Int64Range(-50, 50).Filter(func(v int64) bool { return v != 0 }).Draw(rt, "amount")
				moves = append(moves, move(a, amount))
				sum += amount
			}
			if sum == 0 {
				continue
			}
			n++
			postings = append(postings, posting(fmt.Sprintf("p%06d", n), append(moves, move(chosen[0], -sum))...))
		}
		// One update books all postings of a round. If the model refuses one, the whole round
		// fails.
		next := maps.Clone(model)
		fits := true
		for _, p := range postings {
			for _, m := range p.Moves {
				if next[m.Account] += m.Amount; m.Guarded && next[m.Account] < 0 {
					fits = false
				}
			}
			if !fits {
				break
			}
		}
		err := s.Update(t.Context(), func(tx storage.Tx) error {
			for _, p := range postings {
				if err := tx.Post(p); err != nil {
					return err
				}
			}
			return nil
		})
		if fits != (err == nil) || (err != nil && !errors.Is(err, storage.ErrInsufficient)) {
			rt.Fatalf("got error %v, the model says it fits: %t", err, fits)
		}
		if fits {
			model = next
		}
		if got := balances(t, s); !maps.Equal(got, model) {
			rt.Fatalf("got balances %v, want %v", got, model)
		}
	})
	checkLedger(t, s)
}
