package plainjson_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

func TestMarshal(t *testing.T) {
	for _, test := range []struct {
		value any
		want  string
	}{
		{"<b> & 'ɛ' ₵", `"<b> & 'ɛ' ₵"`},
		{map[string]any{"b": 1, "a": "<"}, `{"a":"<","b":1}`},
		{json.RawMessage(" { \"a\" : \"<\" }\n"), `{"a":"<"}`},
		{json.Number("1.10"), `1.10`},
		{"line\nbreak\n", `"line\nbreak\n"`},
		{nil, `null`},
	} {
		got, err := plainjson.Marshal(test.value)
		expect.NoError(t, err, "%v", test.value)
		expect.True(t, string(got) == test.want, "%v: got %s, %v; want %s", test.value, got, err, test.want)
	}
	for _, wrong := range []any{make(chan int), json.RawMessage(`{"a"`)} {
		if got, err := plainjson.Marshal(wrong); err == nil {
			t.Errorf("%v: got %s", wrong, got)
		}
	}
}

// Any text reads back as people wrote it.
func TestTextSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "texts")
		data := must.Get(plainjson.Marshal(want))(t)
		var got map[string]string
		must.Do(t, json.Unmarshal(data, &got))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// The content of the hole comes out unchanged, whatever surrounds it.
func TestMarshalAround(t *testing.T) {
	type outer struct {
		Before string          `json:"before"`
		Inner  json.RawMessage `json:"inner"`
		After  []any           `json:"after"`
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{string(plainjson.Hole), `\u0041`, `"`, `\`, `A`}))
		inner := must.Get(plainjson.Marshal(rapid.MapOf(text, text).Draw(t, "inner")))(t)
		v := outer{text.Draw(t, "before"), inner, []any{text.Draw(t, "after")}}
		want := must.Get(plainjson.Marshal(&v))(t)
		v.Inner = plainjson.Hole
		got, found, err := plainjson.MarshalAround(&v, inner)
		must.Do(t, err)
		expect.True(t, found, "got %s, %t, %v; want %s", got, found, err, want)
		expect.True(t, string(got) == string(want), "got %s, %t, %v; want %s", got, found, err, want)
	})
	for name, v := range map[string]any{
		"none": outer{}, "two": outer{Inner: plainjson.Hole, After: []any{plainjson.Hole}},
	} {
		if got, found, err := plainjson.MarshalAround(v, []byte("1")); got != nil || found || err != nil {
			t.Errorf("%s: got %s, %t, %v", name, got, found, err)
		}
	}
	if got, found, err := plainjson.MarshalAround(make(chan int), nil); err == nil {
		t.Errorf("a channel: got %s, %t", got, found)
	}
}
