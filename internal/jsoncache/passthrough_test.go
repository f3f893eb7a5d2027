package jsoncache

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	shopspring "github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/plainjson"
)

type place struct {
	Street string  `json:"street"`
	Note   string  `json:"note,omitempty"`
	Floor  *int    `json:"floor,omitempty"`
	Code   *string `json:"code"`
}

// parcel has a field of each kind.
type parcel struct {
	ID       string       `json:"id"`
	Pieces   int64        `json:"pieces"`
	Fragile  bool         `json:"fragile"`
	Price    api.GHS      `json:"price"`
	Weight   *api.Number  `json:"weight"`
	To       place        `json:"to"`
	Via      []place      `json:"via"`
	Tags     []string     `json:"tags"`
	Remark   *string      `json:"remark,omitempty"`
	Gift     bool         `json:"gift,omitempty"`
	Metadata api.Metadata `json:"metadata"`
	SentAt   api.Time     `json:"sent_at"`
	CameAt   *api.Time    `json:"came_at"`
}

type submission struct {
	Attempts int    `json:"attempts,omitempty"`
	Route    string `json:"route"`
}

// record is a stored parcel.
type record struct {
	parcel
	Submission submission `json:"submission"`
	submission
}

// Earlier and later releases store these.
type (
	barePlace struct {
		Street string `json:"street"`
	}
	shortParcel struct {
		ID     string `json:"id"`
		Pieces int64  `json:"pieces"`
	}
	longParcel struct {
		parcel
		Insured *string `json:"insured,omitempty"`
		More    int     `json:"more"`
	}
	turnedParcel struct {
		Pieces int64  `json:"pieces"`
		ID     string `json:"id"`
	}
	oddParcel struct {
		ID       string          `json:"id"`
		Pieces   any             `json:"pieces"`
		Fragile  any             `json:"fragile"`
		Price    json.RawMessage `json:"price"`
		Weight   json.RawMessage `json:"weight"`
		To       barePlace       `json:"to"`
		Via      []any           `json:"via"`
		Tags     any             `json:"tags"`
		Remark   any             `json:"remark"`
		Metadata json.RawMessage `json:"metadata"`
		SentAt   json.RawMessage `json:"sent_at"`
		CameAt   any             `json:"came_at"`
	}
)

var (
	plainTexts = rapid.StringMatching(`[a-zA-Z0-9 .+-]{0,12}`)
	allTexts   = rapid.OneOf(rapid.SampledFrom([]string{"", "Ɛsi Ɔkɔ ₵", "<b>&amp;", "a\nb", `"\`, "\u2028", "é\u2029", "\u007f", "😀", "\xff"}), rapid.String())
	numbers    = rapid.Custom(func(t *rapid.T) shopspring.Decimal {
		return shopspring.New(rapid.Int64Range(-1_000_000, 1_000_000).Draw(t, "digits"), rapid.Int32Range(-6, 3).Draw(t, "exponent"))
	})
	times = rapid.Custom(func(t *rapid.T) api.Time {
		return api.At(time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "ms")))
	})
	plainValues = rapid.OneOf(
		rapid.Map(plainTexts, func(s string) any { return s }), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(numbers, func(d shopspring.Decimal) any { return json.Number(d.String()) }),
	)
	oddValues = rapid.SampledFrom([]any{nil, json.Number("1e3"), json.Number("1.50"), json.Number("-0"), []any{"nested"}})
	parcels   = rapid.OneOf(parcelsOf(plainTexts, plainValues), parcelsOf(rapid.OneOf(plainTexts, allTexts), rapid.OneOf(plainValues, oddValues)))
)

func placesOf(texts *rapid.Generator[string]) *rapid.Generator[place] {
	return rapid.Custom(func(t *rapid.T) place {
		return place{
			Street: texts.Draw(t, "street"), Note: texts.Draw(t, "note"),
			Floor: rapid.Ptr(rapid.IntRange(-1, 99), true).Draw(t, "floor"), Code: rapid.Ptr(texts, true).Draw(t, "code"),
		}
	})
}

func parcelsOf(texts *rapid.Generator[string], values *rapid.Generator[any]) *rapid.Generator[parcel] {
	places := placesOf(texts)
	return rapid.Custom(func(t *rapid.T) parcel {
		p := parcel{
			ID: texts.Draw(t, "id"), Pieces: rapid.Int64().Draw(t, "pieces"), Fragile: rapid.Bool().Draw(t, "fragile"),
			Price: api.GHS{Decimal: numbers.Draw(t, "price")}, To: places.Draw(t, "to"),
			Remark: rapid.Ptr(texts, true).Draw(t, "remark"), Gift: rapid.Bool().Draw(t, "gift"),
			SentAt: times.Draw(t, "sent"), CameAt: rapid.Ptr(times, true).Draw(t, "came"),
			Metadata: rapid.MapOfN(texts, values, 0, 4).Draw(t, "metadata"),
		}
		if rapid.Bool().Draw(t, "weighed") {
			p.Weight = &api.Number{Decimal: numbers.Draw(t, "weight")}
		}
		if rapid.Bool().Draw(t, "detour") {
			p.Via = rapid.SliceOfN(places, 0, 2).Draw(t, "via")
			p.Tags = rapid.SliceOfN(texts, 0, 3).Draw(t, "tags")
		}
		return p
	})
}

// For documents of this and other releases, Passthrough returns what decoding and encoding
// return, byte by byte.
func TestPassthroughEqualsEncoding(t *testing.T) {
	seen := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := parcels.Draw(t, "parcel")
		raw := func(name string, of ...string) json.RawMessage {
			return json.RawMessage(rapid.SampledFrom(of).Draw(t, name))
		}
		stored := rapid.SampledFrom([]any{
			record{parcel: p, submission: submission{Attempts: 1}},
			p,
			longParcel{parcel: p},
			shortParcel{p.ID, p.Pieces},
			turnedParcel{p.Pieces, p.ID},
			oddParcel{
				ID: p.ID, Pieces: oddValues.Draw(t, "odd pieces"), Fragile: oddValues.Draw(t, "odd fragile"),
				Price:  raw("odd price", "1.50", "-0", "0.0", "-0.10", "7", "1234567890123456789012345678901234"),
				Weight: raw("odd weight", "null", "1.0", "2.25"), To: barePlace{p.To.Street}, Tags: p.Tags, Remark: p.Remark,
				Metadata: raw("odd metadata", "{}", `{"b":1,"a":2}`, `{"a":null}`, `{"a":{}}`, "null", `{"a":"1","a":"2"}`),
				SentAt:   raw("odd time", `"2026-01-31T08:15:00Z"`, `"2026-01-31T08:15:00.000Z"`, `"2026-01-31T09:15:00.000+01:00"`, "null"),
			},
		}).Draw(t, "release")
		document, err := plainjson.Marshal(stored)
		if err != nil {
			t.Skip(err) // a number that is none
		}
		got := Passthrough[record, parcel](document)
		seen[got != nil]++
		if got == nil {
			return
		}
		var r record
		if err := json.Unmarshal(document, &r); err != nil {
			t.Fatalf("%s: %v", document, err)
		}
		want := must.Get(plainjson.Marshal(r.parcel))(t)
		if string(got)+"}" != string(want) {
			t.Fatalf("got  %s}\nwant %s", got, want)
		}
	})
	if !t.Failed() && (seen[true] == 0 || seen[false] == 0) {
		t.Errorf("taken: %v; the test saw only one outcome", seen)
	}
}

// Ordinary documents need no decoding.
func TestPassthroughTakesOrdinaryDocuments(t *testing.T) {
	remark, weight := "für Ɛsi, 2 & more", api.Number{Decimal: shopspring.RequireFromString("0.25")}
	p := parcel{
		ID: "po_1", Pieces: math.MaxInt32, Price: api.Pesewas(15050), Remark: &remark, Weight: &weight, Gift: true,
		Metadata: api.Metadata{"a": "1", "a b": true, "ab": json.Number("2.5")}, SentAt: api.At(time.Now()), CameAt: api.AtOrNil(time.Now()),
		Via: []place{{Street: "x"}, {}}, Tags: []string{"ɔ", ""},
	}
	for _, p := range []parcel{p, {}, {Price: api.Pesewas(-5), Pieces: -1}, {Price: api.Pesewas(1), Tags: []string{}}} {
		document := must.Get(plainjson.Marshal(record{parcel: p}))(t)
		if Passthrough[record, parcel](document) == nil {
			t.Errorf("Passthrough refuses %s", document)
		}
	}
}

// Passthrough takes a document only in the form in which the encoder writes it.
func TestPassthroughRefusesOtherEncodings(t *testing.T) {
	const document = `{"id":"a","pieces":1,"fragile":false,"price":1.5,"weight":0.25,"to":{"street":"s","code":null},` +
		`"via":[{"street":"s","note":"n","floor":1,"code":"c"}],"tags":["t"],"remark":"r","gift":true,` +
		`"metadata":{"a":"1","b":2},"sent_at":"2026-01-31T08:15:00.000Z","came_at":null}`
	taken := func(document string) bool { return Passthrough[parcel, parcel]([]byte(document)) != nil }
	replaced := func(old, with string) string {
		t.Helper()
		if strings.Count(document, old) != 1 {
			t.Fatalf("the document holds %s %d times", old, strings.Count(document, old))
		}
		return strings.Replace(document, old, with, 1)
	}
	for _, same := range [][2]string{
		{`"came_at":null}`, `"came_at":null,"later":1}`},
		{`"came_at":null`, `"came_at":"2024-02-29T23:59:59.999Z"`},
		{`"remark":"r",`, ""},
		{`["t"]`, "null"},
		{`["t"]`, "[]"},
		{`["t"]`, `["t","₵"]`},
		{`0.25`, "null"},
		{`1.5,`, "-0.05,"},
		{`"pieces":1`, `"pieces":-999999999999999999`},
		{`"b":2`, `"b":false`},
		{`"b":2`, `"b":-1.50`},
		{`"r"`, `""`},
		{`"b":2`, `"a ":"1","b":2`},
	} {
		if !taken(replaced(same[0], same[1])) {
			t.Errorf("%s: Passthrough refuses it", same[1])
		}
	}
	for _, other := range [][2]string{
		{`"id":"a"`, `"id":"a\n"`},
		{`"id":"a"`, `"id":"\u0061"`},
		{`"id":"a"`, "\"id\":\"a\u2028\""},
		{`"id":"a"`, "\"id\":\"\u2029\""},
		{`"id":"a"`, "\"id\":\"\xff\""},
		{`"id":"a"`, "\"id\":\"\x01\""},
		{`"id":"a"`, `"id":null`},
		{`"id":"a"`, `"ID":"a"`},
		{`"id":"a"`, `"id" :"a"`},
		{`"id":"a","pieces":1`, `"pieces":1,"id":"a"`},
		{`"pieces":1,`, ""},
		{`"pieces":1`, `"pieces":1.0`},
		{`"pieces":1`, `"pieces":1e3`},
		{`"pieces":1`, `"pieces":01`},
		{`"pieces":1`, `"pieces":-0`},
		{`"pieces":1`, `"pieces":"1"`},
		{`"pieces":1`, `"pieces":12345678901234567890`},
		{`"fragile":false`, `"fragile":null`},
		{`1.5,`, "1.50,"},
		{`1.5,`, "1.0,"},
		{`1.5,`, "1.,"},
		{`1.5,`, ".5,"},
		{`1.5,`, "01.5,"},
		{`1.5,`, "-0,"},
		{`1.5,`, "15e-1,"},
		{`1.5,`, "null,"},
		{`1.5,`, strings.Repeat("1", 33) + ","},
		{`"s","code":null`, `"s","note":"","code":null`},
		{`"s","code":null`, `"s","floor":null,"code":null`},
		{`"r"`, "null"},
		{`"s","code":null`, `"s","code":null,"later":1`},
		{`"s","code":null`, `"s"`},
		{`"gift":true`, `"gift":false`},
		{`["t"]`, `["t",]`},
		{`["t"]`, `["t" ]`},
		{`["t"]`, `[null]`},
		{`"a":"1","b":2`, `"b":2,"a":"1"`},
		{`"a":"1","b":2`, `"a":"1","a":"1"`},
		{`"a":"1","b":2`, `"a ":"1","a":"1"`},
		{`"b":2`, `"b":null`},
		{`"b":2`, `"b":1e3`},
		{`"b":2`, `"b":{}`},
		{`{"a":"1","b":2}`, `null`},
		{`"2026-01-31T08:15:00.000Z"`, `"2026-01-31T08:15:00Z"`},
		{`"2026-01-31T08:15:00.000Z"`, `"2026-02-29T08:15:00.000Z"`},
		{`"2026-01-31T08:15:00.000Z"`, `"1900-02-29T08:15:00.000Z"`},
		{`"2026-01-31T08:15:00.000Z"`, `"2026-04-31T08:15:00.000Z"`},
		{`"2026-01-31T08:15:00.000Z"`, `"2026-13-01T08:15:00.000Z"`},
		{`"2026-01-31T08:15:00.000Z"`, `"2026-01-00T08:15:00.000Z"`},
		{`"2026-01-31T08:15:00.000Z"`, `"2026-01-31T24:15:00.000Z"`},
		{`"2026-01-31T08:15:00.000Z"`, `"2026-01-31T08:60:00.000Z"`},
		{`"2026-01-31T08:15:00.000Z"`, `"2026-01-31T08:15:60.000Z"`},
		{`"2026-01-31T08:15:00.000Z"`, `null`},
		{`"came_at":null}`, `"came_at":null }`},
		{`{"id"`, `[{"id"`},
	} {
		if taken(replaced(other[0], other[1])) {
			t.Errorf("%s: Passthrough takes it", other[1])
		}
	}
	for n := range len(document) {
		if taken(document[:n]) {
			t.Errorf("cut off after %d bytes: Passthrough takes it", n)
		}
	}
}

// Passthrough refuses types for which encoding/json does more than copy fields.
func TestPassthroughRefusesUnusualTypes(t *testing.T) {
	type hidden struct {
		parcel
		ID string `json:"ID"` // the decoder ignores case
	}
	type tagged struct {
		parcel `json:"parcel"`
	}
	type pointed struct{ *parcel }
	type second struct {
		Route string `json:"route"`
		parcel
	}
	type quoted struct {
		N int64 `json:"n,string"`
	}
	type loose struct {
		V any `json:"v"`
	}
	type bytes struct {
		B []byte `json:"b"`
	}
	type real struct {
		F float64 `json:"f"`
	}
	type table struct {
		M map[string]string `json:"m"`
	}
	type own struct {
		T time.Time `json:"t"`
	}
	type unusual struct {
		N string `json:"é"`
	}
	type zero struct {
		N int `json:"n,omitzero"`
	}
	for _, p := range [][2]any{
		{hidden{}, parcel{}},
		{tagged{}, parcel{}},
		{pointed{}, parcel{}},
		{second{}, parcel{}},
		{parcel{}, place{}},
		{quoted{}, quoted{}},
		{loose{}, loose{}},
		{bytes{}, bytes{}},
		{real{}, real{}},
		{table{}, table{}},
		{own{}, own{}},
		{unusual{}, unusual{}},
		{zero{}, zero{}},
		{"", ""},
	} {
		key := pair{reflect.TypeOf(p[0]), reflect.TypeOf(p[1])}
		if scannerOf(key) != nil {
			t.Errorf("Passthrough takes a %T for a %T", p[0], p[1])
		}
	}
}

// Bytes that Passthrough takes decode to an object, which encodes to the same bytes.
func FuzzPassthrough(f *testing.F) {
	whole := must.Get(plainjson.Marshal(parcel{Via: []place{{}}, Tags: []string{"a"}, Metadata: api.Metadata{"a": 1, "b": "c"}}))(f)
	f.Add(whole)
	f.Add([]byte(`{"street":"a","code":null}`))
	f.Add([]byte(`{"id":"é","pieces":-0,`))
	check := func(t *testing.T, got []byte, into any) {
		if got == nil {
			return
		}
		shown := fmt.Sprintf("%s}", got)
		if err := json.Unmarshal([]byte(shown), into); err != nil {
			t.Fatalf("%s: %v", shown, err)
		}
		if again, err := plainjson.Marshal(into); err != nil || string(again) != shown {
			t.Fatalf("%s\n%s\n%v", shown, again, err)
		}
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		check(t, Passthrough[parcel, parcel](document), new(parcel))
		check(t, Passthrough[place, place](document), new(place))
	})
}
