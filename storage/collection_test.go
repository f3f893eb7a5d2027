package storage_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// read ignores the document that an object keeps.
var read = cmpopts.IgnoreUnexported(storage.Object[task]{})

type task struct {
	Name  string    `json:"name"`
	Due   time.Time `json:"due,omitzero"`
	Token string    `json:"token"`
}

var tasks = storage.NewCollection("tasks", []storage.Field[task]{
	{Column: storage.Column{Name: "name", Type: storage.Text}, Value: func(t *task) any { return t.Name }},
	{Column: storage.Column{Name: "token", Type: storage.Text, Null: true}, Value: func(t *task) any {
		if t.Token == "" {
			return nil
		}
		return t.Token
	}},
	{Column: storage.Column{Name: "due", Type: storage.Time, Null: true}, Value: func(t *task) any {
		if t.Due.IsZero() {
			return nil
		}
		return t.Due
	}},
}, storage.Unique("name", "name"), storage.UniqueGlobally("token", "token"), storage.DueBy("due"))

var shop = storage.Scope{Merchant: "mer_1"}

func open(t *testing.T) storage.Store {
	t.Helper()
	store := memory.New()
	t.Cleanup(func() { want(t, "Close", store.Close(), nil) })
	want(t, "Define", store.Define(t.Context(), tasks.Kind()), nil)
	return store
}

// Put inserts a new object and replaces one that was read.
func TestPutInsertsOrReplaces(t *testing.T) {
	store := open(t)
	for version := range int64(3) {
		want(t, "Update", store.Update(t.Context(), func(tx storage.Tx) error {
			o, err := tasks.GetOrNew(tx, shop, "t_1")
			want(t, "GetOrNew", err, nil)
			expect.Equal(t, o.Version, version, "version")
			expect.Equal(t, o.Scope, shop, "scope")
			expect.Equal(t, o.ID, "t_1", "ID")
			o.Value.Name = fmt.Sprint("named ", version)
			want(t, "Put", tasks.Put(tx, o), nil)
			want(t, "Put of an old version", tasks.Put(tx, &storage.Object[task]{Scope: shop, ID: "t_1", Version: version + 9}), storage.ErrConflict)
			want(t, "Put of one that is there", tasks.Put(tx, &storage.Object[task]{Scope: shop, ID: "t_1"}), storage.ErrExists)
			expect.Equal(t, o.Version, version+1, "Put left version")
			return nil
		}), nil)
	}
}

func TestCollectionReadsAndWritesObjects(t *testing.T) {
	store := open(t)
	const text = `<b> & "quotes"` // comes back as it was
	want(t, "Update", store.Update(t.Context(), func(tx storage.Tx) error {
		o, err := tasks.Insert(tx, shop, "t_1", task{Name: text, Token: "secret"})
		if err != nil {
			return err
		}
		expect.Equal(t, cmp.Diff(&storage.Object[task]{Scope: shop, ID: "t_1", Version: 1, Value: task{Name: text, Token: "secret"}}, o, read), "", "Insert (-want +got)")
		o.Value.Due = noon
		want(t, "Replace", tasks.Replace(tx, o), nil)
		want(t, "Replace again, with the version that it left", tasks.Replace(tx, o), nil)
		expect.Equal(t, o.Version, 3, "version: got %d, want 3", o.Version)

		stale := *o
		stale.Version = 1
		want(t, "Replace with an old version", tasks.Replace(tx, &stale), storage.ErrConflict)
		expect.Equal(t, stale.Version, 1, "version after a conflict: got %d, want 1", stale.Version)
		want(t, "Delete with an old version", tasks.Delete(tx, &stale), storage.ErrConflict)
		_, err = tasks.Insert(tx, shop, "t_2", task{Name: text})
		want(t, "Insert of a taken key", err, storage.ErrExists)
		return nil
	}), nil)

	wanted := &storage.Object[task]{Scope: shop, ID: "t_1", Version: 3, Value: task{Name: text, Due: noon, Token: "secret"}}
	want(t, "View", store.View(t.Context(), func(tx storage.ReadTx) error {
		for what, find := range map[string]func() (*storage.Object[task], error){
			"Get":           func() (*storage.Object[task], error) { return tasks.Get(tx, shop, "t_1") },
			"Find by name":  func() (*storage.Object[task], error) { return tasks.Find(tx, "name", shop, text) },
			"Find by token": func() (*storage.Object[task], error) { return tasks.Find(tx, "token", storage.Scope{}, "secret") },
			"the one in a list": func() (*storage.Object[task], error) {
				page, _, err := tasks.List(tx, storage.Query{Scope: shop, Limit: 1})
				if err != nil {
					return nil, err
				}
				return page[0], nil
			},
		} {
			got, err := find()
			want(t, what, err, nil)
			expect.Equal(t, cmp.Diff(wanted, got, read), "", "%s (-want +got)", what)
		}
		_, err := tasks.Get(tx, shop, "t_9")
		want(t, "Get of nothing", err, storage.ErrNotFound)
		_, err = tasks.Find(tx, "name", shop, "nothing")
		want(t, "Find of nothing", err, storage.ErrNotFound)
		_, _, err = tasks.List(tx, storage.Query{Scope: shop, Limit: 1, After: "a", Before: "b"})
		want(t, "List with two cursors", err, storage.ErrInvalid)
		return nil
	}), nil)

	want(t, "Update", store.Update(t.Context(), func(tx storage.Tx) error {
		claimed, err := tasks.Claim(tx, storage.Claim{Due: noon, Now: noon, Lease: time.Minute, Limit: 1})
		if err != nil {
			return err
		}
		must.True(t, len(claimed) == 1 && claimed[0].Version == 4, "Claim: got %+v, want one of version 4", claimed)
		want(t, "Delete", tasks.Delete(tx, claimed[0]), nil)
		_, err = tasks.Claim(tx, storage.Claim{})
		want(t, "a wrong Claim", err, storage.ErrInvalid)
		return nil
	}), nil)
}

func TestCollectionList(t *testing.T) {
	store := open(t)
	want(t, "Update", store.Update(t.Context(), func(tx storage.Tx) error {
		for i := range 5 {
			if _, err := tasks.Insert(tx, shop, fmt.Sprint("t_", i), task{Name: fmt.Sprint(i)}); err != nil {
				return err
			}
		}
		return nil
	}), nil)
	var two int // the bytes of two documents
	want(t, "View", store.View(t.Context(), func(tx storage.ReadTx) error {
		r, err := tx.Get(tasks.Kind(), shop, "t_0")
		two = 2 * len(r.Data)
		return err
	}), nil)
	for _, test := range []struct {
		q    storage.Query
		want []string
		more bool
	}{
		{storage.Query{Limit: 4}, []string{"t_4", "t_3", "t_2", "t_1"}, true},
		{storage.Query{Limit: 5}, []string{"t_4", "t_3", "t_2", "t_1", "t_0"}, false},
		{storage.Query{Limit: 6}, []string{"t_4", "t_3", "t_2", "t_1", "t_0"}, false},
		{storage.Query{Limit: 2, After: "t_3"}, []string{"t_2", "t_1"}, true},
		{storage.Query{Limit: 2, After: "t_2"}, []string{"t_1", "t_0"}, false},
		{storage.Query{Limit: 2, After: "t_0"}, []string{}, false},
		// Backwards the page is the one beside the cursor, and more is newer.
		{storage.Query{Limit: 2, Before: "t_1"}, []string{"t_3", "t_2"}, true},
		{storage.Query{Limit: 2, Before: "t_2"}, []string{"t_4", "t_3"}, false},
		{storage.Query{Limit: 1, Before: "t_2"}, []string{"t_3"}, true},
		{storage.Query{Limit: 5, Bytes: two}, []string{"t_4", "t_3"}, true},
		{storage.Query{Limit: 2, Bytes: two}, []string{"t_4", "t_3"}, true},
		{storage.Query{Limit: 5, Bytes: two, After: "t_2"}, []string{"t_1", "t_0"}, false},
		{storage.Query{Limit: 5, Bytes: 1}, []string{"t_4"}, true},
		{storage.Query{Limit: 5, Bytes: 1, After: "t_1"}, []string{"t_0"}, false},
		{storage.Query{Limit: 5, Bytes: two, Before: "t_1"}, []string{"t_3", "t_2"}, true},
		{storage.Query{Limit: 5, Bytes: 1, Before: "t_3"}, []string{"t_4"}, false},
	} {
		test.q.Scope = shop
		want(t, "View", store.View(t.Context(), func(tx storage.ReadTx) error {
			page, more, err := tasks.List(tx, test.q)
			if err != nil {
				return err
			}
			got := []string{}
			for _, o := range page {
				got = append(got, o.ID)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || more != test.more {
				t.Errorf("%+v: more is %t, want %t; page (-want +got):\n%s", test.q, more, test.more, diff)
			}
			return nil
		}), nil)
	}
}

func TestBackfillDerivesColumns(t *testing.T) {
	columns, err := tasks.Kind().Backfill([]byte(`{"name":"a","due":"2026-01-31T12:00:00Z"}`))
	want(t, "Backfill", err, nil)
	expect.Same(t, columns, []any{"a", nil, noon}, "columns")
	if _, err := tasks.Kind().Backfill([]byte(`{"name":`)); err == nil {
		t.Error("Backfill of half a document succeeds")
	}
	if _, err := tasks.Decode(storage.Record{Data: []byte(`[]`)}); err == nil {
		t.Error("Decode of another document succeeds")
	}
}

func TestInsertFailsForValueWithoutJSON(t *testing.T) {
	channels := storage.NewCollection[chan int]("channels", nil)
	store := memory.New()
	want(t, "Define", store.Define(t.Context(), channels.Kind()), nil)
	want(t, "Update", store.Update(t.Context(), func(tx storage.Tx) error {
		if _, err := channels.Insert(tx, shop, "a", nil); err == nil {
			t.Error("Insert of a channel succeeds")
		}
		if err := channels.Replace(tx, &storage.Object[chan int]{ID: "a"}); err == nil || errors.Is(err, storage.ErrNotFound) {
			t.Errorf("Replace by a channel: got error %v", err)
		}
		return nil
	}), nil)
}

func TestNewCollectionPanicsForInvalidName(t *testing.T) {
	defer func() {
		err, _ := recover().(error)
		want(t, "panic", err, storage.ErrInvalid)
	}()
	storage.NewCollection[task]("two words", nil)
	t.Error("a kind of two words is accepted")
}

// Verbatim stores the field as it is, and does not change the value.
func TestVerbatimFieldIsStoredUnchanged(t *testing.T) {
	type inner struct {
		Title string          `json:"title"`
		Doc   json.RawMessage `json:"doc,omitempty"`
	}
	type outer struct {
		inner
		Other json.RawMessage `json:"other"`
		Note  string          `json:"note"`
	}
	wraps := storage.NewCollection("wraps", []storage.Field[outer]{}).Verbatim(func(o *outer) *json.RawMessage { return &o.Doc })
	for _, v := range []outer{
		{inner{"a", json.RawMessage(`{"b":[1,"\u0041"]}`)}, json.RawMessage(`"\u0041"`), `"\u0041"`},
		{inner{"<a>", json.RawMessage(`"\u0041"`)}, json.RawMessage(`[]`), ""},
		{inner{"", nil}, json.RawMessage(`{}`), "₵"},
	} {
		doc, err := plainjson.Marshal(&v)
		must.Do(t, err)
		before := string(v.Doc)
		store := memory.New()
		want(t, "Define", store.Define(t.Context(), wraps.Kind()), nil)
		err = store.Update(t.Context(), func(tx storage.Tx) error {
			if _, err := wraps.Insert(tx, storage.Scope{}, "w", v); err != nil {
				return err
			}
			r, err := tx.Get(wraps.Kind(), storage.Scope{}, "w")
			expect.Equal(t, string(r.Data), string(doc), "kept %s, want %s", r.Data, doc)
			return err
		})
		want(t, "Update", err, nil)
		expect.Equal(t, string(v.Doc), before, "changed to %s", v.Doc)
	}
}
