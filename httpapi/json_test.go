package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

func TestParseJSONAccepts(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       any
	}{
		{"empty object", `{}`, map[string]any{}},
		{"empty array", ` [ ] `, []any{}},
		{"white space", "\t{\r\n\"a\" : [ 1 , 2 ] } \n", map[string]any{"a": []any{json.Number("1"), json.Number("2")}}},
		{"literals", `[true,false,null]`, []any{true, false, nil}},
		{"numbers as written", `[0,-0,1.50,1e3,-2.5E-7,10]`, []any{
			json.Number("0"), json.Number("-0"), json.Number("1.50"), json.Number("1e3"), json.Number("-2.5E-7"), json.Number("10"),
		}},
		{"escapes", `"\"\\\/\b\f\n\r\t\u00e9\u20B5"`, "\"\\/\b\f\n\r\té₵"},
		{"surrogate pair", `"\ud83d\ude00"`, "😀"},
		{"UTF-8", `"ɛ ɔ ŋ 😀 \uFFFD �"`, "ɛ ɔ ŋ 😀 \uFFFD \uFFFD"},
		{"names differ in case", `{"a":1,"A":2}`, map[string]any{"a": json.Number("1"), "A": json.Number("2")}},
		{"empty name", `{"":1}`, map[string]any{"": json.Number("1")}},
		{"depth 16", strings.Repeat("[", 16) + strings.Repeat("]", 16), nested(16)},
		{"depth 16, twice", "[" + strings.Repeat("[", 15) + strings.Repeat("]", 15) + "," + strings.Repeat("[", 15) + strings.Repeat("]", 15) + "]", []any{nested(15), nested(15)}},
		{"400 digits", strings.Repeat("9", 400), json.Number(strings.Repeat("9", 400))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := must.Get(parseJSON([]byte(tt.text)))(t)
			expect.Same(t, v.plain(), tt.want, "value")
		})
	}
}

func nested(depth int) any {
	list := []any{}
	for range depth - 1 {
		list = []any{list}
	}
	return list
}

func TestParseJSONRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", ``, "it ends where a value is expected at byte 0"},
		{"trailing data", `{} {}`, "something follows the end of the value at byte 3"},
		{"trailing comma", `{"a":1,}`, "a name in double quotes is expected at byte 7"},
		{"trailing comma in array", `[1,]`, "a value is expected at byte 3"},
		{"missing comma", `[1 2]`, "a comma or ']' is expected at byte 3"},
		{"missing colon", `{"a" 1}`, "a colon is expected at byte 5"},
		{"missing bracket", `{"a":1`, "a comma or '}' is expected at byte 6"},
		{"mixed brackets", `[1}`, "a comma or ']' is expected at byte 2"},
		{"bare name", `{a:1}`, "a name in double quotes is expected at byte 1"},
		{"single quotes", `{'a':1}`, "a name in double quotes is expected at byte 1"},
		{"comment", `{/**/}`, "a name in double quotes is expected at byte 1"},
		{"duplicate name", `{"a":1,"b":2,"a":3}`, "a name is given twice at byte 13"},
		{"duplicate name, escaped", `{"a":1,"\u0061":3}`, "a name is given twice at byte 7"},
		{"duplicate among many", manyNames(100, `"n7":0`), "a name is given twice at byte 891"},
		{"leading zero", `[01]`, "a number has a leading zero at byte 1"},
		{"negative leading zero", `-01`, "a number has a leading zero at byte 0"},
		{"plus", `+1`, "a value is expected at byte 0"},
		{"no whole part", `.5`, "a value is expected at byte 0"},
		{"no fraction", `1.`, "a digit is expected after the decimal point at byte 2"},
		{"no exponent", `1e+`, "a digit is expected in the exponent at byte 3"},
		{"minus alone", `-`, "a digit is expected at byte 1"},
		{"NaN", `NaN`, "a value is expected at byte 0"},
		{"Infinity", `-Infinity`, "a digit is expected at byte 1"},
		{"hexadecimal", `0x10`, "something follows the end of the value at byte 1"},
		{"cut literal", `tru`, "a value is expected at byte 0"},
		{"long literal", `nullx`, "something follows the end of the value at byte 4"},
		{"upper case literal", `True`, "a value is expected at byte 0"},
		{"byte order mark", "\uFEFF{}", "a byte order mark is not allowed at byte 0"},
		{"no-break space", "\u00a0{}", "a value is expected at byte 0"},
		{"form feed", "\f{}", "a value is expected at byte 0"},
		{"open string", `["abc`, "a string has no end; it begins at byte 1"},
		{"raw NUL", "\"a\x00\"", "NUL is not allowed at byte 2"},
		{"raw NUL outside", "[\x00]", "a value is expected at byte 1"},
		{"raw NUL at the end", "{}\x00", "something follows the end of the value at byte 2"},
		{"escaped NUL", `"a\u0000"`, "NUL is not allowed at byte 2"},
		{"escaped NUL in a name", `{"\u0000":1}`, "NUL is not allowed at byte 2"},
		{"raw line break", "\"a\nb\"", "a control character must be escaped at byte 2"},
		{"unknown escape", `"\x"`, "a backslash begins no escape of JSON's at byte 1"},
		{"cut escape", `"\`, "an escape is cut off at byte 1"},
		{"cut hexadecimal", `"\u12"`, "four hexadecimal digits are expected in the escape at byte 1"},
		{"bad hexadecimal", `"\u12g4"`, "four hexadecimal digits are expected in the escape at byte 1"},
		{"high surrogate alone", `"\ud83d"`, "half of a surrogate pair stands alone at byte 1"},
		{"high surrogate and text", `"\ud83dabc"`, "half of a surrogate pair stands alone at byte 1"},
		{"high surrogate and another escape", `"\ud83d\u0041"`, "half of a surrogate pair stands alone at byte 1"},
		{"high surrogate and half an escape", `"\ud83d\u`, "half of a surrogate pair stands alone at byte 1"},
		{"low surrogate first", `"\ude00\ud83d"`, "half of a surrogate pair stands alone at byte 1"},
		{"invalid UTF-8", "\"a\xff\"", "a string is not valid UTF-8 at byte 2"},
		{"overlong UTF-8", "\"\xc0\xaf\"", "a string is not valid UTF-8 at byte 1"},
		{"surrogate in UTF-8", "\"\xed\xa0\x80\"", "a string is not valid UTF-8 at byte 1"},
		{"invalid UTF-8 in a name", "{\"\xff\":1}", "a string is not valid UTF-8 at byte 2"},
		{"depth 17", strings.Repeat("[", 17) + strings.Repeat("]", 17), "objects and arrays are nested deeper than 16 at byte 16"},
		{"depth 17 of both kinds", strings.Repeat(`{"a":[`, 9), "objects and arrays are nested deeper than 16 at byte 48"},
		{"256 KiB of brackets", strings.Repeat("[", maxBody), "objects and arrays are nested deeper than 16 at byte 16"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parseJSON([]byte(tt.text))
			want := api.Errorf(api.InvalidJSON, "", "The body is not valid JSON: %s.", tt.want)
			expect.Same(t, errorText(err), want.Error(), "error")
		})
	}
}

// manyNames is an object of n names, and one more.
func manyNames(n int, last string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		fmt.Fprintf(&b, `"n%d":12,`, i)
	}
	return b.String() + last + "}"
}

func errorText(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}

func TestParseBody(t *testing.T) {
	for _, empty := range []string{"", " \r\n\t", "{}"} {
		v, err := parseBody([]byte(empty))
		must.Do(t, err)
		expect.Equal(t, v.kind, jsonObject, "kind")
		expect.Equal(t, len(v.members), 0, "number of members")
	}
	for _, other := range []string{`[]`, `"text"`, `1`, `null`, `true`} {
		if _, err := parseBody([]byte(other)); api.CodeOf(err) != api.ParameterInvalid {
			t.Errorf("parseBody(%s): %v, want parameter_invalid", other, err)
		}
	}
	if _, err := parseBody([]byte(`{`)); api.CodeOf(err) != api.InvalidJSON {
		t.Errorf("parseBody of half an object: %v, want invalid_json", err)
	}
}

// hostile are texts that a careless parser takes long for, by their length.
var hostile = map[string]func(n int) string{
	"names":     func(n int) string { return manyNames(n, `"last":0`) },
	"digits":    func(n int) string { return strings.Repeat("9", n) },
	"escapes":   func(n int) string { return `"` + strings.Repeat(`\n`, n) + `"` },
	"elements":  func(n int) string { return "[" + strings.Repeat("1,", n) + "1]" },
	"open text": func(n int) string { return `"` + strings.Repeat("a", n) },
}

// TestParseJSONAllocatesInProportion compares a text with one that is eight times
// as long.
func TestParseJSONAllocatesInProportion(t *testing.T) {
	for name, text := range hostile {
		allocations := func(n int) float64 {
			data := []byte(text(n))
			return testing.AllocsPerRun(3, func() { _, _ = parseJSON(data) })
		}
		short, long := allocations(2_000), allocations(16_000)
		expect.True(t, long <= 10*short+50, "%s: %.0f allocations for 8 times the text that took %.0f", name, long, short)
	}
}

func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{
		`{}`, ``, ` `, `[]`, `null`, `{"amount":150.5,"destination":{"type":"mobile_money","phone_number":"0241234567"}}`,
		`{"a":1,"a":2}`, `{"a":1,"A":2}`, `{"a":[{"b":[[[]]]}]}`, `"\ud83d\ude00"`, `"\ud83d"`, `"\u0000"`, "\"\xff\"", "\uFEFF{}",
		`[0,-0,0.0,1e5,1E+5,-1.25e-3]`, `[01,+1,.5,1.]`, `{} {}`, `["\"\\\/\b\f\n\r\t"]`, strings.Repeat("[", 17), `{"metadata":{"a":null,"b":true}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseJSON(data)
		if err != nil {
			if code := api.CodeOf(err); code != api.InvalidJSON {
				t.Fatalf("refused with %q: %v", code, err)
			}
			must.True(t, utf8.ValidString(err.Error()), "the message is not UTF-8: %q", err)
			return
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatalf("accepted what encoding/json refuses: %v", err)
		}
		if diff := cmp.Diff(want, got.plain()); diff != "" {
			t.Fatalf("another meaning than encoding/json (-want +got)\n%s", diff)
		}
		must.True(t, json.Valid(data) && utf8.Valid(data) && bytes.IndexByte(data, 0) < 0, "accepted what is not valid")
	})
}
