package storage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

type part struct {
	ID    string `json:"id,omitempty"`
	Count int    `json:"count,omitempty"`
}

type base struct {
	Title string `json:"title"`
}

type box struct {
	base
	State  string            `json:"state,omitempty"`
	Inner  part              `json:"inner"`
	Maybe  *part             `json:"maybe,omitempty"`
	Parts  []part            `json:"parts,omitempty"`
	ByName map[string]part   `json:"by_name,omitempty"`
	Texts  map[string]string `json:"texts,omitempty"`
	Any    json.RawMessage   `json:"any,omitempty"`
	At     time.Time         `json:"at,omitzero"`
	Next   *box              `json:"next,omitempty"`
	secret string
}

var boxes = storage.NewCollection("boxes", []storage.Field[box]{
	{Column: storage.Column{Name: "state", Type: storage.Text}, Value: func(p *box) any { return p.State }},
})

// replaceAndRead stores a document, has the collection write a value over it, and returns the
// stored document.
func replaceAndRead(t must.T, store storage.Store, id string, stored []byte, change func(*box)) []byte {
	var data []byte
	must.Do(t, store.Update(context.Background(), func(tx storage.Tx) error {
		if err := tx.Insert(boxes.Kind(), storage.Record{Scope: shop, ID: id, Columns: []any{""}, Data: stored}); err != nil {
			return err
		}
		o, err := boxes.Get(tx, shop, id)
		if err != nil {
			return err
		}
		change(&o.Value)
		if err := boxes.Replace(tx, o); err != nil {
			return err
		}
		r, err := tx.Get(boxes.Kind(), shop, id)
		data = r.Data
		return err
	}))
	return data
}

// An older program keeps the members that a newer one added to a document, at any depth,
// and sets the members that it knows.
func TestReplaceKeepsUnknownMembers(t *testing.T) {
	store := memory.New()
	t.Cleanup(func() { want(t, "Close", store.Close(), nil) })
	want(t, "Define", store.Define(t.Context(), boxes.Kind()), nil)
	for _, test := range []struct {
		name, stored string
		change       func(*box)
		want         string
	}{
		{"nothing unknown", `{"inner":{},"title":"a"}`, func(p *box) { p.Title = "b" }, `{"title":"b","inner":{}}`},
		{"a member", `{"title":"a","new":{"x":[1,2.50]},"inner":{}}`, func(p *box) { p.Title = "b" }, `{"inner":{},"new":{"x":[1,2.50]},"title":"b"}`},
		{"nothing changed", `{"new":1,"title":"a","inner":{"new":2}}`, func(*box) {}, `{"new":1,"title":"a","inner":{"new":2}}`},
		{"a member removed", `{"title":"a","state":"x","inner":{},"new":1}`, func(p *box) { p.State = "" }, `{"inner":{},"new":1,"title":"a"}`},
		{"below", `{"title":"a","inner":{"id":"1","new":1}}`, func(p *box) { p.Inner.ID = "2" }, `{"inner":{"id":"2","new":1},"title":"a"}`},
		{"below a pointer", `{"title":"a","inner":{},"maybe":{"id":"1","new":1}}`, func(p *box) { p.Maybe.ID = "2" }, `{"inner":{},"maybe":{"id":"2","new":1},"title":"a"}`},
		{"with what was below a pointer", `{"title":"a","inner":{},"maybe":{"id":"1","new":1}}`, func(p *box) { p.Maybe = nil }, `{"inner":{},"title":"a"}`},
		{"deep", `{"title":"a","inner":{},"next":{"title":"b","inner":{"new":1}}}`, func(p *box) { p.Next.Title = "c" }, `{"inner":{},"next":{"inner":{"new":1},"title":"c"},"title":"a"}`},
		{
			"in a list that grows", `{"title":"a","inner":{},"parts":[{"count":1,"new":1},{"count":2,"new":2}]}`,
			func(p *box) { p.Parts = append([]part{{Count: 9}}, p.Parts...) },
			`{"inner":{},"parts":[{"count":9},{"count":1,"new":1},{"count":2,"new":2}],"title":"a"}`,
		},
		{
			"in a list, by id", `{"title":"a","inner":{},"parts":[{"id":"1","new":1},{"id":"2","new":2}]}`,
			func(p *box) { p.Parts = []part{{ID: "2", Count: 5}, {ID: "3"}} },
			`{"inner":{},"parts":[{"count":5,"id":"2","new":2},{"id":"3"}],"title":"a"}`,
		},
		{
			"in a map", `{"title":"a","inner":{},"by_name":{"x":{"new":1},"y":{"new":2}}}`,
			func(p *box) { p.ByName["x"] = part{Count: 1}; delete(p.ByName, "y") },
			`{"by_name":{"x":{"count":1,"new":1}},"inner":{},"title":"a"}`,
		},
		{
			"beside data that goes", `{"title":"a","inner":{},"texts":{"x":"1"},"any":{"a":1},"new":1}`,
			func(p *box) { p.Texts = map[string]string{"y": "2"}; p.Any = json.RawMessage(`{"b":2}`) },
			`{"any":{"b":2},"inner":{},"new":1,"texts":{"y":"2"},"title":"a"}`,
		},
		{"letters of another case", `{"Title":"a","STATE":"x","inner":{},"new":1}`, func(p *box) { p.State = "" }, `{"inner":{},"new":1,"title":"a"}`},
		{"escaped names", `{"title":"a","inner":{},"\u006eew\"":1,"st\u0061te":"x"}`, func(p *box) { p.State = "" }, `{"inner":{},"new\"":1,"title":"a"}`},
		{"a name that is no member", `{"title":"a","inner":{},"secret":"s","base":1}`, func(p *box) { p.Title, p.secret = "b", "t" }, `{"base":1,"inner":{},"secret":"s","title":"b"}`},
		{"with spaces", "{ \"title\" : \"a\\\\\" ,\n \"inner\" : { } , \"new\" : [ ] }", func(p *box) { p.Title = "b" }, `{"inner":{},"new":[],"title":"b"}`},
	} {
		if got := replaceAndRead(t, store, test.name, []byte(test.stored), test.change); string(got) != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// Unknown members survive any Replace. The new value alone sets the known ones.
func TestUnknownMembersSurviveAnyReplace(t *testing.T) {
	store := memory.New()
	t.Cleanup(func() { want(t, "Close", store.Close(), nil) })
	want(t, "Define", store.Define(t.Context(), boxes.Kind()), nil)
	text := rapid.SampledFrom([]string{"", "a", `\`, `"`, `{"}`, "₵"})
	leaf := rapid.Custom(func(t *rapid.T) any {
		return rapid.SampledFrom([]any{nil, true, 1.5, "x", []any{map[string]any{"title": `\"`}}, map[string]any{"state": "{"}}).Draw(t, "leaf")
	})
	parts := rapid.Custom(func(t *rapid.T) part {
		return part{ID: text.Draw(t, "id"), Count: rapid.IntRange(0, 2).Draw(t, "count")}
	})
	values := rapid.Custom(func(t *rapid.T) box {
		p := box{
			base: base{text.Draw(t, "title")}, State: text.Draw(t, "state"), Inner: parts.Draw(t, "inner"),
			Maybe: rapid.Ptr(parts, true).Draw(t, "maybe"), Parts: rapid.SliceOfN(parts, 0, 3).Draw(t, "parts"),
			Texts: rapid.MapOfN(text, text, 0, 2).Draw(t, "texts"),
		}
		if rapid.Bool().Draw(t, "at") {
			p.At = noon
		}
		return p
	})
	unknown := rapid.MapOfN(rapid.SampledFrom([]string{"new", `n"w`, `\`, "ʼ", "inners", "stat"}), leaf, 0, 4)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		before, after := values.Draw(t, "before"), values.Draw(t, "after")
		extra, below := unknown.Draw(t, "extra"), unknown.Draw(t, "below")
		add := func(p box) map[string]any {
			all := asMap(t, p)
			for name, v := range extra {
				all[name] = v
			}
			for name, v := range below {
				all["inner"].(map[string]any)[name] = v
			}
			return all
		}
		stored := must.Get(plainjson.Marshal(add(before)))(t)
		n++
		data := replaceAndRead(t, store, fmt.Sprint("p", n), stored, func(p *box) { *p = after })
		var got map[string]any
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if diff := cmp.Diff(add(after), got); diff != "" {
			t.Fatalf("%s replaced (-want +got):\n%s", stored, diff)
		}
	})
}

func asMap(t *rapid.T, v any) (all map[string]any) {
	data, err := plainjson.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	must.Do(t, err)
	return all
}
