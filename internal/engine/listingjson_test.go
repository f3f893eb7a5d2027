package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

// encoded returns what encoding/json makes of v.
func encoded(t *rapid.T, v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	must.Do(t, e.Encode(v))
	return b.String()
}

// GetJSON and ListJSON write, byte by byte, what encoding/json makes of Get and List, after
// every insert, change, delete and insert under a deleted id.
func TestListingJSONEqualsEncodedValues(t *testing.T) {
	b := newBench(t)
	type outside struct {
		ID       string       `json:"id"`
		Text     string       `json:"text"`
		Metadata api.Metadata `json:"metadata"`
		Amount   api.GHS      `json:"amount"`
		At       *api.Time    `json:"at"`
	}
	listing := engine.Listing[thing, outside]{
		Collection: things, Noun: "thing",
		Show: func(v *thing) outside {
			return outside{
				ID: v.ID, Text: v.Name, Metadata: api.Metadata{v.Name: v.Name},
				Amount: api.FromPesewas(int64(len(v.Name))), At: api.AtOrNil(b.now()),
			}
		},
	}
	passthrough := engine.Listing[thing, thing]{
		Collection: things, Noun: "thing", Show: func(v *thing) thing { return *v },
	}
	texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "<b> & 'ɛ' ₵", "\u2028\u2029\x00\"\\", "a\nb"}))
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		caller := api.Caller{Merchant: fmt.Sprintf("mer_%d", run)}
		scope := engine.Scope(caller)
		listing.URL = rapid.SampledFrom([]string{"", "/v1/things", "/v1/things/<\"ɛ>/parts"}).Draw(t, "url")
		write := func(fn func(tx storage.Tx) error) { must.Do(t, b.Store.Update(t.Context(), fn)) }
		ids := rapid.IntRange(0, 4)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				v := thing{ID: fmt.Sprintf("th_%d", ids.Draw(t, "id")), Name: texts.Draw(t, "name")}
				write(func(tx storage.Tx) error {
					o, err := things.Get(tx, scope, v.ID)
					if err != nil {
						_, err := things.Insert(tx, scope, v.ID, v)
						return err
					}
					o.Value = v
					return things.Replace(tx, o)
				})
			},
			"delete": func(t *rapid.T) {
				id := fmt.Sprintf("th_%d", ids.Draw(t, "id"))
				write(func(tx storage.Tx) error {
					if o, err := things.Get(tx, scope, id); err == nil {
						return things.Delete(tx, o)
					}
					return nil
				})
			},
			"": func(t *rapid.T) {
				var got bytes.Buffer
				for _, p := range []api.Page{{}, {Limit: 2}, {Limit: 2, StartingAfter: "th_3"}, {EndingBefore: "th_1"}} {
					want, wrong := listing.List(t.Context(), b.Engine, storage.Query{Scope: scope}, p)
					got.Reset()
					err := listing.ListJSON(t.Context(), b.Engine, storage.Query{Scope: scope}, p, &got)
					must.True(t, fmt.Sprint(err) == fmt.Sprint(wrong), "list %+v: %v, and as values %v", p, err, wrong)
					must.True(t, err != nil || got.String() == encoded(t, want), "list %+v: got %s, want %s", p, &got, encoded(t, want))
				}
				want := must.Get(passthrough.List(t.Context(), b.Engine, storage.Query{Scope: scope}, api.Page{}))(t)
				got.Reset()
				if err := passthrough.ListJSON(t.Context(), b.Engine, storage.Query{Scope: scope}, api.Page{}, &got); err != nil || got.String() != encoded(t, want) {
					t.Fatalf("passthrough: got %s, %v, want %s", &got, err, encoded(t, want))
				}
				for i := range 5 {
					id := fmt.Sprintf("th_%d", i)
					want, wrong := listing.Get(t.Context(), b.Engine, caller, id)
					got.Reset()
					err := listing.GetJSON(t.Context(), b.Engine, caller, id, &got)
					must.True(t, fmt.Sprint(err) == fmt.Sprint(wrong), "get %s: %v, and as a value %v", id, err, wrong)
					must.True(t, err != nil || got.String() == encoded(t, want), "get %s: got %s, want %s", id, &got, encoded(t, want))
				}
			},
		})
	})
}
