package retention_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

type note struct {
	At   time.Time `json:"at"`
	Open bool      `json:"open,omitempty"`
	Text string    `json:"text,omitempty"`
}

var notes = storage.NewCollection[note]("notes", nil)

// desk is a store of notes with a worker that removes the old ones.
type desk struct {
	*faultstore.Store
	engine *engine.Engine
	runner *work.Runner
	now    time.Time

	scans, removed, most int // reads of the source; removed in the Update under way, and at most
}

func newDesk(t *testing.T, keep time.Duration, edit ...func(*retention.Rule)) *desk {
	t.Helper()
	d := &desk{Store: faultstore.New(memory.New()), now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
	must.Do(t, d.Define(t.Context(), append(engine.Kinds(), append(retention.Kinds(), notes.Kind())...)...))
	clock := func() time.Time { return d.now }
	d.engine = &engine.Engine{
		Store: d, Clock: clock, NewID: ids.New(clock, nil).Make, Sandbox: true,
		Log: slog.New(slog.DiscardHandler), Runner: new(work.Runner),
	}
	rule := retention.Rule{
		Kind: notes.Kind(), Keep: keep,
		Created: func(r storage.Record) (time.Time, bool, error) {
			o, err := notes.Decode(r)
			if err != nil {
				return time.Time{}, false, err
			}
			return o.Value.At, !o.Value.Open, nil
		},
		Remove: func(tx *engine.Tx, r storage.Record) (int, error) {
			d.removed++
			return 1, tx.Delete(notes.Kind(), r.Scope, r.ID, r.Version)
		},
	}
	for _, fn := range edit {
		fn(&rule)
	}
	kept := must.Get(retention.New(t.Context(), d.engine, rule))(t)
	d.runner = &work.Runner{Store: d, Clock: clock, Log: d.engine.Log, Poll: time.Second}
	d.runner.Add(kept.Job())
	return d
}

func (d *desk) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	return d.Store.View(ctx, func(tx storage.ReadTx) error { return fn(&deskTx{tx, d}) })
}

type deskTx struct {
	storage.ReadTx
	*desk
}

func (t *deskTx) Scan(k *storage.Kind, after storage.Scope, id string, limit int) ([]storage.Record, error) {
	t.scans++
	return t.ReadTx.Scan(k, after, id, limit)
}

func (d *desk) Update(ctx context.Context, fn func(storage.Tx) error) error {
	d.removed = 0
	defer func() { d.most = max(d.most, d.removed) }()
	return d.Store.Update(ctx, fn)
}

// put writes notes of some merchants.
func (d *desk) put(t *testing.T, merchants, each int, n note) {
	t.Helper()
	for m := range merchants {
		must.Do(t, d.Store.Store.Update(t.Context(), func(tx storage.Tx) error {
			for range each {
				n.At = d.now
				if _, err := notes.Insert(tx, storage.Scope{Merchant: fmt.Sprintf("m%04d", m), Live: m%2 == 0}, d.engine.NewID("n_"), n); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

func (d *desk) left(t *testing.T) (n int) {
	t.Helper()
	must.Do(t, d.Store.Store.View(t.Context(), func(tx storage.ReadTx) error {
		all, err := tx.Scan(notes.Kind(), storage.Scope{}, "", 1_000_000)
		n = len(all)
		return err
	}))
	return n
}

func (d *desk) pass(t *testing.T, by time.Duration) {
	t.Helper()
	d.now = d.now.Add(by)
	must.Do(t, d.runner.Drain(t.Context()))
}

// Many old records go in small transactions. One read in each scope shows that nothing is old,
// whatever the number of records.
func TestOldRecordsGoInSmallTransactions(t *testing.T) {
	d := newDesk(t, 10*time.Hour)
	d.put(t, 40, 250, note{})
	d.put(t, 40, 3, note{Open: true})
	d.pass(t, 9*time.Hour)
	d.put(t, 40, 300, note{})
	expect.Equal(t, d.left(t), 40*553, "are left before their time")
	d.pass(t, 2*time.Hour)
	expect.Equal(t, d.left(t), 40*303, "are left, want the young and the open")
	expect.True(t, d.most >= 100 && d.most <= 200, "an Update removes %d", d.most)

	d = newDesk(t, 10*time.Hour)
	d.put(t, 200, 50, note{})
	d.scans = 0
	d.pass(t, 2*time.Hour)
	expect.True(t, d.scans <= 210, "%d reads of 200 scopes in which nothing is old", d.scans)
	// Large records go in transactions of fewer records.
	d = newDesk(t, time.Hour)
	d.put(t, 1, 100, note{Text: string(make([]byte, 10_000))})
	d.pass(t, 3*time.Hour)
	n := d.left(t)
	expect.True(t, n == 0, "%d are left, an Update removes %d", n, d.most)
	expect.True(t, d.most <= 20, "%d are left, an Update removes %d", n, d.most)
}

// A pass continues and ends after a failure of any call of the store.
func TestPassContinuesAfterFailures(t *testing.T) {
	d := newDesk(t, time.Hour)
	d.put(t, 6, 250, note{})
	d.now = d.now.Add(2 * time.Hour)
	for k := 1; d.left(t) > 0; k++ {
		must.True(t, k <= 2000, "%d are left", d.left(t))
		d.FailAt(1 + k*37%900)
		_ = d.runner.Drain(t.Context()) // it fails, or has nothing to do
		d.Heal()
		d.now = d.now.Add(2 * time.Minute)
	}
}

// A record that cannot be read stays, and blocks no others.
func TestUnreadableRecordStays(t *testing.T) {
	d := newDesk(t, time.Hour)
	d.put(t, 1, 1, note{})
	must.Do(t, d.Store.Store.Update(t.Context(), func(tx storage.Tx) error {
		return tx.Insert(notes.Kind(), storage.Record{Scope: storage.Scope{Merchant: "m0000", Live: true}, ID: d.engine.NewID("n_"), Data: []byte(`[]`)})
	}))
	d.put(t, 1, 1, note{})
	d.pass(t, 3*time.Hour)
	expect.Equal(t, d.left(t), 1, "are left")
}

// A rule whose records stay visits each of them once, and changes all that it may.
func TestStayingRecordsAreVisitedOnce(t *testing.T) {
	looked, changed := 0, 0
	d := newDesk(t, time.Hour, func(r *retention.Rule) {
		created := r.Created
		r.Stays = true
		r.Created = func(r storage.Record) (time.Time, bool, error) { looked++; return created(r) }
		r.Remove = func(tx *engine.Tx, r storage.Record) (int, error) {
			o, err := notes.Get(tx, r.Scope, r.ID)
			if err != nil {
				return 0, err
			}
			changed++
			o.Value.Text = ""
			return 1, notes.Replace(tx, o)
		}
	})
	d.put(t, 3, 250, note{Text: "secret"})
	d.put(t, 3, 1, note{Text: "kept", Open: true})
	d.pass(t, 2*time.Hour)
	expect.Equal(t, changed, 750, "changed")
	expect.Equal(t, d.left(t), 753, "left")
	looked = 0
	d.pass(t, 2*time.Hour)
	expect.Equal(t, looked, 0, "looked at %d again", looked)
	d.put(t, 1, 1, note{Text: "secret"})
	d.pass(t, 2*time.Hour)
	expect.Equal(t, looked, 1, "looked")
	expect.Equal(t, changed, 751, "changed")
}
