package storagetest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/storage"
)

var money = tests{
	"a posting moves money":               postingMoves,
	"wrong postings are refused":          wrongPostings,
	"guarded accounts stay above zero":    guardedAccounts,
	"the guard belongs to the account":    guardMismatch,
	"no balance overflows":                overflow,
	"a posting id is taken once":          postingTaken,
	"a refused posting changes nothing":   refusedPosting,
	"balances, entries and postings page": ledgerPages,
	"random postings agree with a model":  postingsAgreeWithModel,
	"a transaction sees its own money":    ownMoney,
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

// postFails checks that a posting is refused, be it by Post or by the commit.
func postFails(t *testing.T, s storage.Store, what string, p storage.Posting, wanted error) {
	t.Helper()
	want(t, what, s.Update(t.Context(), func(tx storage.Tx) error { return tx.Post(p) }), wanted)
}

// balances returns all accounts' amounts.
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
		_, err = tx.Posting("p3")
		want(t, "Posting of nothing", err, storage.ErrNotFound)
		return nil
	})
}

func wrongPostings(t *testing.T, s storage.Store) {
	a, b := move("open/a", 5), move("open/b", -5)
	for name, p := range map[string]storage.Posting{
		"off balance":      posting("p", a, move("open/b", -4)),
		"one leg":          posting("p", a),
		"nothing moved":    posting("p", move("open/a", 0), move("open/b", 0)),
		"an account twice": posting("p", a, move("open/a", -5)),
		"no account":       posting("p", a, move("", -5)),
		"no id":            posting("", a, b),
		"the lowest int64": posting("p", move("open/a", math.MinInt64), move("open/b", math.MaxInt64), move("open/c", 1)),
	} {
		postFails(t, s, name, p, storage.ErrInvalid)
	}
	postFails(t, s, "a sum that wraps to zero", posting("p",
		move("open/a", math.MaxInt64), move("open/b", math.MaxInt64), move("open/c", 2)), storage.ErrOverflow)
	equal(t, "balances", balances(t, s), map[string]int64{})
}

func guardedAccounts(t *testing.T, s storage.Store) {
	postFails(t, s, "out of nothing", posting("p1", move("guarded/a", -1), move("open/b", 1)), storage.ErrInsufficient)
	post(t, s, posting("p2", move("guarded/a", 10), move("open/b", -10)))
	postFails(t, s, "one too many", posting("p3", move("guarded/a", -11), move("open/b", 11)), storage.ErrInsufficient)
	post(t, s, posting("p4", move("guarded/a", -10), move("open/b", 10)))
	equal(t, "balances", balances(t, s), map[string]int64{"guarded/a": 0, "open/b": 0})
}

func guardMismatch(t *testing.T, s storage.Store) {
	post(t, s, posting("p1", move("guarded/a", 10), move("open/b", -10)))
	unguarded := storage.Move{Account: "guarded/a", Amount: -20}
	postFails(t, s, "without its guard", posting("p2", unguarded, move("open/b", 20)), storage.ErrInvalid)
	equal(t, "balance", balances(t, s)["guarded/a"], int64(10))
}

func overflow(t *testing.T, s storage.Store) {
	post(t, s, posting("p1", move("guarded/a", math.MaxInt64), move("open/b", -math.MaxInt64)))
	postFails(t, s, "above", posting("p2", move("guarded/a", 1), move("open/c", -1)), storage.ErrOverflow)
	post(t, s, posting("p3", move("open/b", -1), move("open/c", 1))) // to the lowest int64
	postFails(t, s, "below", posting("p4", move("open/b", -1), move("open/c", 1)), storage.ErrOverflow)
	equal(t, "balances", balances(t, s), map[string]int64{"guarded/a": math.MaxInt64, "open/b": math.MinInt64, "open/c": 1})
}

func postingTaken(t *testing.T, s storage.Store) {
	post(t, s, posting("p1", move("open/a", 1), move("open/b", -1)))
	postFails(t, s, "the same id", posting("p1", move("open/c", 1), move("open/d", -1)), storage.ErrExists)
	equal(t, "balances", balances(t, s), map[string]int64{"open/a": 1, "open/b": -1})
}

func refusedPosting(t *testing.T, s storage.Store) {
	post(t, s, posting("p1", move("guarded/z", 5), move("open/a", -5)))
	// The account that refuses is the last in order, so that others come before.
	refused := s.Update(t.Context(), func(tx storage.Tx) error {
		want(t, "Post", tx.Post(posting("p2", move("guarded/b", 6), move("guarded/z", -6))), storage.ErrInsufficient)
		return tx.Insert(items, item(test1, "it_1"))
	})
	if refused != nil && !errors.Is(refused, storage.ErrInsufficient) {
		t.Errorf("Update: %v", refused)
	}
	equal(t, "balances", balances(t, s), map[string]int64{"guarded/z": 5, "open/a": -5})
	view(t, s, func(tx storage.ReadTx) error {
		_, err := tx.Posting("p2")
		want(t, "Posting", err, storage.ErrNotFound)
		return nil
	})
	post(t, s, posting("p2", move("guarded/b", 5), move("guarded/z", -5)))
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
		equal(t, "Entries", entries[0].Balance, int64(4))
		booked, err := tx.Posting("p1")
		equal(t, "Posting", len(booked.Entries), 2)
		return err
	})
}

func ledgerPages(t *testing.T, s storage.Store) {
	for i := range 7 {
		post(t, s, posting(fmt.Sprint("p", i), move("open/a", 1), move(fmt.Sprint("open/b", i), -1)))
	}
	view(t, s, func(tx storage.ReadTx) error {
		var accounts, postings []string
		var numbers []int64
		for after := ""; ; {
			page, err := tx.Balances(after, 3)
			if err != nil {
				return err
			}
			for _, b := range page {
				accounts = append(accounts, b.Account)
				after = b.Account
			}
			if len(page) < 3 {
				break
			}
		}
		for after := ""; ; {
			page, err := tx.Postings(after, 3)
			if err != nil {
				return err
			}
			for _, p := range page {
				equal(t, "entries of "+p.ID, len(p.Entries), 2)
				postings = append(postings, p.ID)
				after = p.ID
			}
			if len(page) < 3 {
				break
			}
		}
		for before := int64(0); ; {
			page, err := tx.Entries("open/a", before, 3)
			if err != nil {
				return err
			}
			for _, e := range page {
				numbers = append(numbers, e.Number)
				before = e.Number
			}
			if len(page) < 3 {
				break
			}
		}
		equal(t, "Balances", accounts, []string{"open/a", "open/b0", "open/b1", "open/b2", "open/b3", "open/b4", "open/b5", "open/b6"})
		equal(t, "Postings", postings, []string{"p0", "p1", "p2", "p3", "p4", "p5", "p6"})
		equal(t, "Entries", numbers, []int64{7, 6, 5, 4, 3, 2, 1})
		return nil
	})
}

// postingsAgreeWithModel books random movements and keeps the balances beside.
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
		// All of a round are booked in one update; one that the model refuses makes
		// the whole round fail.
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
		maps.DeleteFunc(model, func(a string, _ int64) bool { return !slices.Contains(accounts, a) })
	})
	got := balances(t, s)
	var total int64
	for _, a := range accounts {
		if got[a] != model[a] {
			t.Errorf("%s: got %d, want %d", a, got[a], model[a])
		}
		total += got[a]
	}
	equal(t, "total", total, int64(0))
}
