package postgres_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// things have a column of each type, and keys in which few values compete.
var things = &storage.Kind{
	Name: "test_things",
	Columns: []storage.Column{
		{Name: "name", Type: storage.Text, Null: true, Indexed: true},
		{Name: "size", Type: storage.Int},
		{Name: "open", Type: storage.Bool},
		{Name: "made", Type: storage.Time, Indexed: true},
		{Name: "due", Type: storage.Time, Null: true},
		{Name: "token", Type: storage.Text, Null: true},
	},
	Keys: []storage.Key{
		{Name: "name_size", Columns: []string{"name", "size"}},
		{Name: "token", Columns: []string{"token"}, Global: true},
	},
	Due: "due",
}

var seeds = flag.Int("seeds", effort.Of(2, 4), "how many random sequences the differential test plays")

// Every store of this module gives the same answers to the same random calls, in transactions
// that may fail.
func TestAllStoresAnswerAlike(t *testing.T) {
	for seed := range uint64(*seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			file := must.Get(sqlite.Open(t.Context(), filepath.Join(effort.TempDir(t), "differential.db"), sqlite.Config{}))(t)
			defer file.Close()
			reference := memory.New()
			others := map[string]storage.Store{"sqlite": file, "postgres": pgtest.Store(t)}
			for _, s := range []storage.Store{reference, others["sqlite"], others["postgres"]} {
				must.Do(t, s.Define(t.Context(), things))
			}
			for step := range uint64(400) {
				wanted := play(t, reference, seed, step)
				for name, s := range others {
					if diff := cmp.Diff(wanted, play(t, s, seed, step)); diff != "" {
						t.Fatalf("seed %d, step %d: %s answers otherwise (-memory +%s):\n%s", seed, step, name, name, diff)
					}
				}
			}
		})
	}
}

var errUndo = errors.New("undo")

// play makes the calls of one step and returns the answers.
func play(t *testing.T, s storage.Store, seed, step uint64) []any {
	t.Helper()
	var answers []any
	reads := rand.New(rand.NewPCG(seed, step)).IntN(4) == 0
	if reads {
		err := s.View(t.Context(), func(tx storage.ReadTx) error {
			answers = nil
			random := rand.New(rand.NewPCG(seed, step))
			for range 5 {
				answers = append(answers, batchedRead(tx, random)...)
			}
			return nil
		})
		return append(answers, class(err))
	}
	err := s.Update(t.Context(), func(tx storage.Tx) error {
		answers = nil // of the run that counts
		random := rand.New(rand.NewPCG(seed, step))
		random.IntN(4)
		for range 1 + random.IntN(8) {
			if random.IntN(3) == 0 {
				answers = append(answers, batchedRead(tx, random)...)
			} else {
				answers = append(answers, write(tx, random)...)
			}
		}
		if random.IntN(5) == 0 {
			return errUndo
		}
		return nil
	})
	return append(answers, class(err))
}

// class returns the part of an error that must be equal for all stores.
func class(err error) string {
	for _, known := range []error{
		storage.ErrNotFound, storage.ErrConflict, storage.ErrExists, storage.ErrInsufficient, storage.ErrOverflow, storage.ErrInvalid, errUndo,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if err != nil {
		return "another error: " + err.Error()
	}
	return ""
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func randomScope(random *rand.Rand) storage.Scope {
	return storage.Scope{Merchant: []string{"", "mer_1", "mer_2"}[random.IntN(3)], Live: random.IntN(2) == 0}
}

func randomID(random *rand.Rand) string { return fmt.Sprint("th_", random.IntN(12)) }

func randomAccount(random *rand.Rand) (string, bool) {
	i := random.IntN(6)
	return fmt.Sprint("account/", i), i > 0
}

func randomTime(random *rand.Rand) time.Time {
	return epoch.Add(time.Duration(random.IntN(20)) * time.Second)
}

func orNull(random *rand.Rand, v any) any {
	if random.IntN(3) == 0 {
		return nil
	}
	return v
}

func randomThing(random *rand.Rand) storage.Record {
	return storage.Record{
		Scope: randomScope(random), ID: randomID(random), Version: int64(1 + random.IntN(3)),
		Columns: []any{
			orNull(random, fmt.Sprint("name", random.IntN(3))), int64(random.IntN(3)), random.IntN(2) == 0, randomTime(random),
			orNull(random, randomTime(random)), orNull(random, fmt.Sprint("token", random.IntN(8))),
		},
		Data: []byte{byte(random.IntN(256)), 0, byte(random.IntN(256))},
	}
}

func write(tx storage.Tx, random *rand.Rand) []any {
	switch random.IntN(9) {
	case 8:
		r := randomThing(random)
		if now, err := tx.Get(things, r.Scope, r.ID); err == nil && random.IntN(5) > 0 {
			r.Version = now.Version
		}
		return []any{"lease", class(tx.Lease(things, r.Scope, r.ID, r.Version, randomTime(random)))}
	case 0, 1:
		return []any{"insert", class(tx.Insert(things, randomThing(random)))}
	case 2, 3:
		r := randomThing(random)
		if now, err := tx.Get(things, r.Scope, r.ID); err == nil && random.IntN(5) > 0 {
			r.Version = now.Version
		}
		return []any{"replace", class(tx.Replace(things, r))}
	case 4:
		r := randomThing(random)
		if now, err := tx.Get(things, r.Scope, r.ID); err == nil && random.IntN(5) > 0 {
			r.Version = now.Version
		}
		return []any{"delete", class(tx.Delete(things, r.Scope, r.ID, r.Version))}
	case 5:
		n, err := tx.Next(fmt.Sprint("sequence", random.IntN(2)))
		return []any{"next", n, class(err)}
	case 6:
		c := storage.Claim{Due: randomTime(random), Lease: time.Duration(1+random.IntN(10)) * time.Second, Limit: 100}
		c.Now = c.Due
		if random.IntN(2) == 0 {
			of := randomScope(random)
			c.Live, c.Due, c.Clocks = of.Live, time.Time{}, []storage.Clock{{Scope: of, Now: c.Due}}
		}
		records, err := tx.Claim(things, c)
		// Each store chooses its own order for records that are due at the same time.
		claimed := map[string]storage.Record{}
		for _, r := range records {
			claimed[fmt.Sprint(r.Scope, r.ID)] = r
		}
		return []any{"claim", claimed, class(err)}
	}
	p := storage.Posting{ID: fmt.Sprint("p", random.IntN(60)), Type: "test", Ref: "ref", At: randomTime(random)}
	from, fromGuarded := randomAccount(random)
	to, toGuarded := randomAccount(random)
	amount := int64(1 + random.IntN(50))
	p.Moves = []storage.Move{{Account: from, Guarded: fromGuarded, Amount: -amount}, {Account: to, Guarded: toGuarded, Amount: amount}}
	return []any{"post", class(tx.Post(p))}
}

func batchedRead(tx storage.ReadTx, random *rand.Rand) []any {
	switch random.IntN(9) {
	case 8:
		next, err := tx.NextDue(things, randomScope(random), 1+random.IntN(3))
		return []any{"next due", append([]storage.Due{}, next...), class(err)}
	case 0:
		r, err := tx.Get(things, randomScope(random), randomID(random))
		return []any{"get", r, class(err)}
	case 1:
		r, err := tx.Find(things, "name_size", randomScope(random), fmt.Sprint("name", random.IntN(3)), int64(random.IntN(3)))
		return []any{"find name_size", r, class(err)}
	case 2:
		r, err := tx.Find(things, "token", randomScope(random), fmt.Sprint("token", random.IntN(8)))
		return []any{"find token", r, class(err)}
	case 3:
		q := storage.Query{Scope: randomScope(random), Limit: 1 + random.IntN(5)}
		switch random.IntN(3) {
		case 0:
			q.After = randomID(random)
		case 1:
			q.Before = randomID(random)
		}
		if random.IntN(2) == 0 {
			q.Where = append(q.Where, storage.Equal{Column: "name", Value: orNull(random, fmt.Sprint("name", random.IntN(3)))})
		}
		if random.IntN(3) == 0 {
			q.Where = append(q.Where, storage.Equal{Column: "open", Value: random.IntN(2) == 0})
		}
		if random.IntN(2) == 0 {
			from := randomTime(random)
			q.Range = append(q.Range, storage.Range{Column: "made", From: from, Until: from.Add(8 * time.Second)})
		}
		records, err := tx.List(things, q)
		return []any{"list", len(records), append([]storage.Record{}, records...), class(err)}
	case 4:
		name, _ := randomAccount(random)
		b, err := tx.Balance(name)
		return []any{"balance", b, class(err)}
	case 5:
		name, _ := randomAccount(random)
		entries, err := tx.Entries(name, int64(random.IntN(6)), 1+random.IntN(5))
		return []any{"entries", append([]storage.Entry{}, entries...), class(err)}
	case 6:
		after, _ := randomAccount(random)
		all, err := tx.Balances(after, 3)
		return []any{"balances", append([]storage.Balance{}, all...), class(err)}
	}
	booked, err := tx.Postings(fmt.Sprint("p", random.IntN(60)), 3)
	return []any{"postings", append([]storage.Booked{}, booked...), class(err)}
}
