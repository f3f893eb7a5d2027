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
	"a page may be empty":                 emptyPages,
	"first entries of many accounts":      firstEntries,
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

// checkLedger looks for what must be true of every ledger at any time: it sums to
// zero, guarded accounts are not below it, entries are numbered without holes and
// lead to the balance, and every entry stands in its posting.
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
	checkLedger(t, s)
	// Times are kept as those of records are.
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
	// An account that is back at zero has still been there.
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
	// The account that refuses is the last in order, so that others come before.
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

// refusedPosting ignores that a posting was refused. A backend that validates at
// commit finds out later, and then nothing of the update may be kept.
func refusedPosting(t *testing.T, s storage.Store) {
	post(t, s, posting("p1", move("guarded/z", 5), move("open/a", -5)))
	// The account that refuses is the last in order, so that others come before.
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

func ledgerPages(t *testing.T, s storage.Store) {
	for _, i := range []int{3, 1, 6, 0, 5, 2, 4} {
		post(t, s, posting(fmt.Sprint("p", i), move("open/a", 1), move(fmt.Sprint("open/b", i), -1)))
	}
	view(t, s, func(tx storage.ReadTx) error {
		var accounts, postings []string
		var numbers []int64
		for after, n := "", 0; n < manyPages; n++ {
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
		for after, n := "", 0; n < manyPages; n++ {
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
		for before, n := int64(0), 0; n < manyPages; n++ {
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

		// Cursors need not exist.
		page, err := tx.Balances("open/b2x", 1)
		if err != nil {
			return err
		}
		equal(t, "Balances after nobody", single(t, "Balances", page).Account, "open/b3")
		booked, err := tx.Postings("p2x", 1)
		if err != nil {
			return err
		}
		equal(t, "Postings after none", single(t, "Postings", booked).ID, "p3")
		entries, err := tx.Entries("open/a", 100, 1)
		if err != nil {
			return err
		}
		equal(t, "Entries before none", single(t, "Entries", entries).Number, int64(7))
		return nil
	})
}

// emptyPages asks for pages on which there is nothing.
func emptyPages(t *testing.T, s storage.Store) {
	post(t, s, posting("p1", move("open/a", 1), move("open/b", -1)))
	view(t, s, func(tx storage.ReadTx) error {
		for _, limit := range []int{0, -1} {
			all, err := tx.Balances("", limit)
			want(t, "Balances", err, nil)
			entries, err := tx.Entries("open/a", 0, limit)
			want(t, "Entries", err, nil)
			booked, err := tx.Postings("", limit)
			want(t, "Postings", err, nil)
			equal(t, fmt.Sprint("with limit ", limit), []int{len(all), len(entries), len(booked)}, []int{0, 0, 0})
		}
		all, err := tx.Balances("open/b", 9)
		want(t, "Balances", err, nil)
		entries, err := tx.Entries("open/a", 1, 9)
		want(t, "Entries", err, nil)
		nobody, err := tx.Entries("open/c", 0, 9)
		want(t, "Entries", err, nil)
		booked, err := tx.Postings("p1", 9)
		want(t, "Postings", err, nil)
		equal(t, "beyond the last", []int{len(all), len(entries), len(nobody), len(booked)}, []int{0, 0, 0, 0})
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
		if got := balances(t, s); !maps.Equal(got, model) {
			rt.Fatalf("got balances %v, want %v", got, model)
		}
	})
	checkLedger(t, s)
}

// firstEntries compares what is read of many accounts with what is read of each, also
// where the store reads of one at a time.
func firstEntries(t *testing.T, s storage.Store) {
	var names []string
	for n := range 150 {
		names = append(names, fmt.Sprintf("open/%03d", (n*77)%150), fmt.Sprintf("none/%03d", n))
	}
	update(t, s, func(tx storage.Tx) error {
		for n := range 300 {
			err := tx.Post(posting(fmt.Sprintf("p%03d", n), move(fmt.Sprintf("open/%03d", n*n%150), 1), move("open/all", -1)))
			if err != nil {
				return err
			}
		}
		return nil
	})
	names = append(names, "open/all", "open/all", "")
	read := func(tx storage.ReadTx) error {
		found, err := storage.FirstEntries(tx, names, 3)
		want(t, "FirstEntries", err, nil)
		n := 0
		for _, name := range names {
			entries, err := tx.Entries(name, 4, 3)
			want(t, "Entries", err, nil)
			slices.Reverse(entries)
			if len(entries)+len(found[name]) > 0 {
				equal(t, "the first entries of "+name, found[name], entries)
			}
			n += len(entries)
		}
		if n < 100 {
			t.Errorf("there are %d entries", n)
		}
		none, err := storage.FirstEntries(tx, nil, 3)
		equal(t, "of no account", len(none), 0)
		return err
	}
	view(t, s, read)
	update(t, s, func(tx storage.Tx) error {
		err := tx.Post(posting("own", move("open/new", 1), move("open/all", -1)))
		if err != nil {
			return err
		}
		found, err := storage.FirstEntries(tx, []string{"open/new"}, 3)
		equal(t, "its own", len(found["open/new"]), 1)
		return errors.Join(err, read(tx))
	})
}
