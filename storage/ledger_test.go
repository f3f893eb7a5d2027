package storage_test

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/storage"
)

func move(account string, amount int64) storage.Move {
	return storage.Move{Account: account, Amount: amount}
}

func posting(moves ...storage.Move) storage.Posting {
	return storage.Posting{ID: "p", Type: "test", At: noon, Moves: moves}
}

func TestPostingCheck(t *testing.T) {
	const top = math.MaxInt64
	spoilt := func(spoil func(*storage.Posting)) storage.Posting {
		p := posting(move("a", 1), move("b", -1))
		spoil(&p)
		return p
	}
	for _, test := range []struct {
		what string
		p    storage.Posting
		want error
	}{
		{"two legs", posting(move("a", 1), move("b", -1)), nil},
		{"three legs", posting(move("a", 1), move("b", -3), move("c", 2)), nil},
		{"the largest", posting(move("a", top), move("b", -top)), nil},
		{"the largest in parts", posting(move("a", top-1), move("b", 1), move("c", -top)), nil},
		{"no id", spoilt(func(p *storage.Posting) { p.ID = "" }), storage.ErrInvalid},
		{"no type", spoilt(func(p *storage.Posting) { p.Type = "" }), storage.ErrInvalid},
		{"no time", spoilt(func(p *storage.Posting) { p.At = time.Time{} }), storage.ErrInvalid},
		{"no legs", posting(), storage.ErrInvalid},
		{"one leg", posting(move("a", 0)), storage.ErrInvalid},
		{"no account", posting(move("a", 1), move("", -1)), storage.ErrInvalid},
		{"an account twice", posting(move("a", 1), move("a", -1)), storage.ErrInvalid},
		{"an account twice, apart", posting(move("a", 1), move("b", -2), move("a", 1)), storage.ErrInvalid},
		{"a leg of zero", posting(move("a", 1), move("b", -1), move("c", 0)), storage.ErrInvalid},
		{"off balance", posting(move("a", 2), move("b", -1)), storage.ErrInvalid},
		{"the lowest int64", posting(move("a", math.MinInt64), move("b", top), move("c", 1)), storage.ErrInvalid},
		{"a sum that wraps to zero", posting(move("a", top), move("b", top), move("c", 2)), storage.ErrOverflow},
		{"the same below", posting(move("a", -top), move("b", -top), move("c", -2)), storage.ErrOverflow},
		{"more than fits, balanced", posting(move("a", top), move("b", 1), move("c", -top), move("d", -1)), storage.ErrOverflow},
	} {
		want(t, test.what, test.p.Check(), test.want)
	}
}

func TestPostingCheckSorts(t *testing.T) {
	passed := []storage.Move{move("b", 1), move("B", 1), move("a", -2)}
	p := posting(passed...)
	p.At = noon.Add(1999 * time.Microsecond)
	want(t, "Check", p.Check(), nil)
	expect.Same(t, p.Moves, []storage.Move{move("B", 1), move("a", -2), move("b", 1)}, "moves")
	expect.Same(t, passed, []storage.Move{move("b", 1), move("B", 1), move("a", -2)}, "the caller's moves")
	expect.True(t, p.At.Equal(noon.Add(time.Millisecond)), "time: got %v, want it down to the millisecond", p.At)
}

// TestPostingCheckAgreesWithBigInt compares with sums that cannot wrap.
func TestPostingCheckAgreesWithBigInt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		amounts := rapid.SliceOfN(rapid.OneOf(
			rapid.Int64(), rapid.Int64Range(-3, 3), rapid.SampledFrom([]int64{math.MaxInt64, -math.MaxInt64, math.MinInt64}),
		), 2, 5).Draw(rt, "amounts")
		var moves []storage.Move
		var sum, in big.Int
		wrong := false
		for i, amount := range amounts {
			moves = append(moves, move(string(rune('a'+i)), amount))
			sum.Add(&sum, big.NewInt(amount))
			if amount > 0 {
				in.Add(&in, big.NewInt(amount))
			}
			wrong = wrong || amount == 0 || amount == math.MinInt64
		}
		p := posting(moves...)
		fits := !wrong && sum.Sign() == 0 && in.IsInt64()
		err := p.Check()
		if fits != (err == nil) || (err != nil && !errors.Is(err, storage.ErrInvalid) && !errors.Is(err, storage.ErrOverflow)) {
			rt.Fatalf("%v: got error %v, want none: %t", amounts, err, fits)
		}
	})
}

func TestApplyMovesMoney(t *testing.T) {
	const top, bottom = math.MaxInt64, math.MinInt64
	at := func(amount int64, guarded bool) storage.Balance {
		return storage.Balance{Account: "a", Guarded: guarded, Amount: amount, Entries: 3}
	}
	guarded := func(amount int64) storage.Move { return storage.Move{Account: "a", Guarded: true, Amount: amount} }
	for _, test := range []struct {
		what string
		now  storage.Balance
		move storage.Move
		sum  int64
		want error
	}{
		{"in", at(5, false), move("a", 2), 7, nil},
		{"out", at(5, false), move("a", -2), 3, nil},
		{"below zero", at(5, false), move("a", -7), -2, nil},
		{"to the highest", at(top-1, false), move("a", 1), top, nil},
		{"to the lowest", at(bottom+1, false), move("a", -1), bottom, nil},
		{"above the highest", at(top, false), move("a", 1), 0, storage.ErrOverflow},
		{"far above", at(top, true), guarded(top), 0, storage.ErrOverflow},
		{"below the lowest", at(bottom, false), move("a", -1), 0, storage.ErrOverflow},
		{"guarded, in", at(0, true), guarded(2), 2, nil},
		{"guarded, to zero", at(5, true), guarded(-5), 0, nil},
		{"guarded, below zero", at(5, true), guarded(-6), 0, storage.ErrInsufficient},
		{"guarded, far below", at(0, true), guarded(-top), 0, storage.ErrInsufficient},
		{"without its guard", at(5, true), move("a", 1), 0, storage.ErrInvalid},
		{"with a guard it never had", at(5, false), guarded(1), 0, storage.ErrInvalid},
	} {
		got, err := storage.Apply(test.now, test.move)
		want(t, test.what, err, test.want)
		if err != nil {
			continue
		}
		wanted := test.now
		wanted.Amount, wanted.Entries = test.sum, 4
		expect.Equal(t, got, wanted, "%s", test.what)
	}

	got, err := storage.Apply(storage.Balance{}, guarded(4))
	want(t, "the first entry", err, nil)
	if wanted := (storage.Balance{Account: "a", Guarded: true, Amount: 4, Entries: 1}); got != wanted {
		t.Errorf("the first entry: got %+v, want %+v", got, wanted)
	}
	_, err = storage.Apply(storage.Balance{Account: "a"}, guarded(-1))
	want(t, "the first entry, below zero", err, storage.ErrInsufficient)
}

// TestApplyAgreesWithBigInt compares with sums that cannot wrap.
func TestApplyAgreesWithBigInt(t *testing.T) {
	edge := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MinInt64 + 1}))
	rapid.Check(t, func(rt *rapid.T) {
		now := storage.Balance{Account: "a", Guarded: rapid.Bool().Draw(rt, "guarded"), Amount: edge.Draw(rt, "balance"), Entries: 1}
		m := storage.Move{Account: "a", Guarded: now.Guarded, Amount: edge.Draw(rt, "amount")}
		sum := new(big.Int).Add(big.NewInt(now.Amount), big.NewInt(m.Amount))
		got, err := storage.Apply(now, m)
		refused := []error{}
		if !sum.IsInt64() {
			refused = append(refused, storage.ErrOverflow)
		}
		if now.Guarded && sum.Sign() < 0 {
			refused = append(refused, storage.ErrInsufficient)
		}
		switch {
		case len(refused) == 0 && (err != nil || got.Amount != sum.Int64() || got.Entries != 2):
			rt.Fatalf("%+v and %+v: got %+v, %v, want %v", now, m, got, err, sum)
		case len(refused) > 0 && !slices.ContainsFunc(refused, func(e error) bool { return errors.Is(err, e) }):
			rt.Fatalf("%+v and %+v: got %+v, %v, want an error", now, m, got, err)
		}
	})
}
