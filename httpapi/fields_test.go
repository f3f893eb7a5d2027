package httpapi

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/must"
)

func parseFields(t *testing.T, text string) *fields {
	t.Helper()
	f := newFields(parseBody([]byte(text)))
	must.Do(t, f.err())
	return f
}

// refused returns code and param of an error.
func refused(err error) string {
	var e *api.Error
	if errors.As(err, &e) {
		return string(e.Code) + " " + e.Param
	}
	return errorText(err)
}

func TestFieldsRead(t *testing.T) {
	f := parseFields(t, `{
		"text": "ɔ", "empty": "", "yes": true, "no": false, "five": 5, "five_point": 5.00, "minus": -7,
		"amount": 1000.0, "ghs": 150.5, "quantity": 2.500000, "percent": 0,
		"time": "2026-01-31T08:15:00.123999+01:00", "date": "2026-01-31",
		"destination": {"phone_number": "0241234567", "deep": {"er": 1}},
		"items": [{"quantity": 1}, {}], "no_items": [], "events": ["a", ""], "no_events": [],
		"metadata": {"a": "b", "n": 1.50, "t": true, "drop": null, "nested": {"x": [1]}}, "nothing": {},
		"null": null, "Text": "other"
	}`)
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"text", f.text("text"), "ɔ"},
		{"empty text", f.optionalText("empty"), new("")},
		{"absent text", f.text("absent"), ""},
		{"optional text, absent", f.optionalText("absent"), (*string)(nil)},
		{"optional text, null", f.optionalText("null"), (*string)(nil)},
		{"true", f.boolean("yes"), true},
		{"optional false", f.optionalBoolean("no"), new(false)},
		{"optional boolean, null", f.optionalBoolean("null"), (*bool)(nil)},
		{"integer", f.integer("five"), int64(5)},
		{"integer with zeros", f.optionalInteger("five_point"), new(int64(5))},
		{"negative integer", f.integer("minus"), int64(-7)},
		{"pesewas", f.pesewas("amount"), int64(1000)},
		{"optional pesewas, null", f.optionalPesewas("null"), (*int64)(nil)},
		{"GHS", f.ghs("ghs").String(), "150.5"},
		{"optional GHS, absent", f.optionalGHS("absent"), (*decimal.Decimal)(nil)},
		{"decimal", f.decimal("quantity", 6).String(), "2.5"},
		{"optional decimal", f.optionalDecimal("percent", 2).String(), "0"},
		{"time", f.time("time"), time.Date(2026, 1, 31, 7, 15, 0, 123_000_000, time.UTC)},
		{"date", f.time("date"), time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)},
		{"optional time, null", f.optionalTime("null"), (*time.Time)(nil)},
		{"object", f.object("destination").text("phone_number"), "0241234567"},
		{"object in object", f.object("destination").object("deep").integer("er"), int64(1)},
		{"absent object", f.object("absent").text("phone_number"), ""},
		{"objects", len(f.objects("items")), 2},
		{"object of array", f.objects("items")[0].integer("quantity"), int64(1)},
		{"no objects", f.objects("no_items") != nil, true},
		{"absent objects", f.objects("absent") == nil, true},
		{"texts", f.texts("events"), []string{"a", ""}},
		{"no texts", f.texts("no_events"), []string{}},
		{"absent texts", f.texts("absent"), []string(nil)},
		{"metadata", f.metadata("metadata"), api.Metadata{
			"a": "b", "n": json.Number("1.50"), "t": true, "drop": nil, "nested": map[string]any{"x": []any{json.Number("1")}},
		}},
		{"empty metadata", f.metadata("nothing"), api.Metadata{}},
		{"absent metadata", f.metadata("absent"), api.Metadata(nil)},
		{"null metadata", f.metadata("null"), api.Metadata(nil)},
		{"has null", f.has("null"), true},
		{"has not", f.has("absent"), false},
		{"null is null", f.null("null"), true},
		{"absent is not null", f.null("absent"), false},
		{"value is not null", f.null("text"), false},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
	if err := f.err(); err != nil {
		t.Errorf("reading valid fields: %v", err)
	}
}

func TestFieldsRefuse(t *testing.T) {
	const invalid = "parameter_invalid "
	huge := strings.Repeat("9", 100_000)
	for _, tt := range []struct {
		name, body string
		read       func(*fields)
		want       string
	}{
		{"number for text", `{"name":5}`, func(f *fields) { f.text("name") }, invalid + "name"},
		{"object for text", `{"name":{}}`, func(f *fields) { f.optionalText("name") }, invalid + "name"},
		{"text for boolean", `{"active":"true"}`, func(f *fields) { f.boolean("active") }, invalid + "active"},
		{"number for boolean", `{"active":1}`, func(f *fields) { f.boolean("active") }, invalid + "active"},
		{"text for integer", `{"n":"5"}`, func(f *fields) { f.integer("n") }, invalid + "n"},
		{"fraction for integer", `{"n":5.5}`, func(f *fields) { f.integer("n") }, invalid + "n"},
		{"exponent for integer", `{"n":1e3}`, func(f *fields) { f.integer("n") }, invalid + "n"},
		{"boolean for integer", `{"n":true}`, func(f *fields) { f.integer("n") }, invalid + "n"},
		{"fraction of a pesewa", `{"amount":1000.01}`, func(f *fields) { f.pesewas("amount") }, invalid + "amount"},
		{"exponent of pesewas", `{"amount":1E3}`, func(f *fields) { f.pesewas("amount") }, invalid + "amount"},
		{"text for pesewas", `{"amount":"1000"}`, func(f *fields) { f.pesewas("amount") }, invalid + "amount"},
		{"minus zero pesewas", `{"amount":-0}`, func(f *fields) { f.pesewas("amount") }, invalid + "amount"},
		{"minus zero pesewas with zeros", `{"amount":-0.0}`, func(f *fields) { f.pesewas("amount") }, invalid + "amount"},
		{"16 digits", `{"amount":1000000000000000}`, func(f *fields) { f.pesewas("amount") }, invalid + "amount"},
		{"huge pesewas", `{"amount":` + huge + `}`, func(f *fields) { f.pesewas("amount") }, invalid + "amount"},
		{"huge zeros", `{"amount":1.` + strings.Repeat("0", 100_000) + `1}`, func(f *fields) { f.pesewas("amount") }, invalid + "amount"},
		{"text for GHS", `{"amount":"150"}`, func(f *fields) { f.ghs("amount") }, invalid + "amount"},
		{"exponent of GHS", `{"amount":1e3}`, func(f *fields) { f.ghs("amount") }, invalid + "amount"},
		{"huge exponent of GHS", `{"amount":1e999999999}`, func(f *fields) { f.ghs("amount") }, invalid + "amount"},
		{"three decimals", `{"amount":0.001}`, func(f *fields) { f.ghs("amount") }, invalid + "amount"},
		{"minus zero GHS", `{"amount":-0}`, func(f *fields) { f.ghs("amount") }, invalid + "amount"},
		{"minus zero GHS with zeros", `{"amount":-0.00}`, func(f *fields) { f.optionalGHS("amount") }, invalid + "amount"},
		{"seven decimals", `{"quantity":1.0000001}`, func(f *fields) { f.decimal("quantity", 6) }, invalid + "quantity"},
		{"seven decimals by exponent", `{"quantity":1e-7}`, func(f *fields) { f.decimal("quantity", 6) }, invalid + "quantity"},
		{"huge exponent", `{"quantity":1e999999999}`, func(f *fields) { f.decimal("quantity", 6) }, invalid + "quantity"},
		{"tiny exponent", `{"quantity":1e-999999999}`, func(f *fields) { f.decimal("quantity", 6) }, invalid + "quantity"},
		{"large by exponent", `{"quantity":1e15}`, func(f *fields) { f.decimal("quantity", 6) }, invalid + "quantity"},
		{"minus zero by exponent", `{"quantity":-0e3}`, func(f *fields) { f.decimal("quantity", 6) }, invalid + "quantity"},
		{"minus zero decimal", `{"quantity":-0.0}`, func(f *fields) { f.decimal("quantity", 6) }, invalid + "quantity"},
		{"huge decimal", `{"quantity":` + huge + `}`, func(f *fields) { f.decimal("quantity", 6) }, invalid + "quantity"},
		{"number for time", `{"at":1767225600}`, func(f *fields) { f.time("at") }, invalid + "at"},
		{"no offset", `{"at":"2026-01-31T08:15:00"}`, func(f *fields) { f.time("at") }, invalid + "at"},
		{"no such day", `{"at":"2026-02-30"}`, func(f *fields) { f.time("at") }, invalid + "at"},
		{"empty time", `{"at":""}`, func(f *fields) { f.time("at") }, invalid + "at"},
		{"hour of one digit", `{"at":"2026-01-31T8:15:00Z"}`, func(f *fields) { f.time("at") }, invalid + "at"},
		{"comma in seconds", `{"at":"2026-01-31T08:15:00,5Z"}`, func(f *fields) { f.time("at") }, invalid + "at"},
		{"year 1", `{"at":"0001-01-01T00:00:00Z"}`, func(f *fields) { f.time("at") }, invalid + "at"},
		{"year 10000 in UTC", `{"at":"9999-12-31T23:59:59-01:00"}`, func(f *fields) { f.time("at") }, invalid + "at"},
		{"long time", `{"at":"2026-01-31T08:15:00.` + huge + `Z"}`, func(f *fields) { f.time("at") }, invalid + "at"},
		{"text for object", `{"destination":"x"}`, func(f *fields) { f.object("destination") }, invalid + "destination"},
		{"array for object", `{"destination":[]}`, func(f *fields) { f.object("destination") }, invalid + "destination"},
		{"path in object", `{"destination":{"phone_number":24}}`, func(f *fields) { f.object("destination").text("phone_number") }, invalid + "destination.phone_number"},
		{"object for array", `{"line_items":{}}`, func(f *fields) { f.objects("line_items") }, invalid + "line_items"},
		{"text in array of objects", `{"line_items":[{},"x"]}`, func(f *fields) { f.objects("line_items") }, invalid + "line_items[1]"},
		{"null in array of objects", `{"line_items":[null]}`, func(f *fields) { f.objects("line_items") }, invalid + "line_items[0]"},
		{"path in array", `{"line_items":[{},{},{"quantity":"1"}]}`, func(f *fields) {
			for _, item := range f.objects("line_items") {
				item.decimal("quantity", 6)
			}
		}, invalid + "line_items[2].quantity"},
		{"text for texts", `{"events":"*"}`, func(f *fields) { f.texts("events") }, invalid + "events"},
		{"number in texts", `{"events":["*",1]}`, func(f *fields) { f.texts("events") }, invalid + "events[1]"},
		{"null in texts", `{"events":[null]}`, func(f *fields) { f.texts("events") }, invalid + "events[0]"},
		{"array for metadata", `{"metadata":[]}`, func(f *fields) { f.metadata("metadata") }, invalid + "metadata"},
		{"required, absent", `{}`, func(f *fields) { f.require("amount") }, "parameter_missing amount"},
		{"required, null", `{"a":1,"b":null}`, func(f *fields) { f.require("a", "b") }, "parameter_missing b"},
		{"required in object", `{"destination":{}}`, func(f *fields) { f.object("destination").require("type") }, "parameter_missing destination.type"},
		{"other case of the name", `{"Amount":1}`, func(f *fields) { f.require("amount") }, "parameter_missing amount"},
		{"first error wins", `{"a":1,"b":2,"c":{"d":3}}`, func(f *fields) {
			f.object("c").text("d")
			f.text("a")
			f.require("z")
		}, invalid + "c.d"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := parseFields(t, tt.body)
			tt.read(f)
			if got := refused(f.err()); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if text := errorText(f.err()); len(text) > 300 {
				t.Errorf("the message repeats what was sent: %d characters", len(text))
			}
		})
	}
}

func TestFieldsMessages(t *testing.T) {
	for _, tt := range []struct {
		body string
		read func(*fields)
		want string
	}{
		{`{"n":5.5}`, func(f *fields) { f.integer("n") }, "n must be a whole number, such as 5; what was sent has a fraction."},
		{`{"n":1e3}`, func(f *fields) { f.pesewas("n") }, "n must be a whole number of pesewas, such as 1000; what was sent has an exponent."},
		{`{"n":0.001}`, func(f *fields) { f.ghs("n") }, "n must be a number of GHS with at most two decimals, such as 150 or 150.50; what was sent has more decimals."},
		{`{"n":-0}`, func(f *fields) { f.ghs("n") }, "n must be a number of GHS with at most two decimals, such as 150 or 150.50; what was sent is a negative zero."},
		{`{"n":99999999999999999}`, func(f *fields) { f.decimal("n", 2) }, "n must be a number with at most 2 decimals, such as 2.5; what was sent is out of range."},
		{`{"n":"1"}`, func(f *fields) { f.ghs("n") }, "n must be a number of GHS with at most two decimals, such as 150 or 150.50."},
		{`{"d":{"e":1}}`, func(f *fields) { f.object("d").text("e") }, "d.e must be a string."},
	} {
		f := parseFields(t, tt.body)
		tt.read(f)
		var e *api.Error
		if !errors.As(f.err(), &e) || e.Message != tt.want {
			t.Errorf("%s: got %v, want %s", tt.body, f.err(), tt.want)
		}
	}
}

// What is too long to be an amount stands for one that is above every limit, and keeps
// its sign. A decimal may have an exponent.
func TestNumbersAtTheEdge(t *testing.T) {
	for _, literal := range []string{"9999999999999999", strings.Repeat("9", 100_000), strings.Repeat("9", 30) + ".55"} {
		for sign, want := range map[string]decimal.Decimal{"": overLimit, "-": overLimit.Neg()} {
			f := parseFields(t, `{"amount":`+sign+literal+`}`)
			if got := f.ghs("amount"); f.err() != nil || !got.Equal(want) {
				t.Errorf("%s and %d characters: %s, %v", sign, len(literal), got, f.err())
			}
		}
	}
	for literal, want := range map[string]string{
		"1e-06": "0.000001", "1E-6": "0.000001", "1.50e-5": "0.000015", "1e1": "10", "2.5e+02": "250", "-1e-3": "-0.001", "0e0": "0", "1e-000006": "0.000001",
	} {
		f := parseFields(t, `{"quantity":`+literal+`}`)
		if got := f.decimal("quantity", 6); f.err() != nil || got.String() != want {
			t.Errorf("%s is read as %s, %v; want %s", literal, got, f.err(), want)
		}
	}
}

// FuzzAmounts checks that no literal is read as another amount than decimal
// arithmetic says, however it is written.
func FuzzAmounts(f *testing.F) {
	for _, seed := range []string{"0", "-0", "1", "1000.0", "150.5", "0.01", "0.001", "1e3", "99999999999999999999", "-5.25", "1.000000", "1e-06", "2.5E+2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		v, err := parseJSON([]byte(literal))
		if err != nil || v.kind != jsonNumber || len(v.text) > 100 {
			return
		}
		if got, err := parseDecimal(v.text, 6); err == nil && (!decimal.RequireFromString(v.text).Equal(got) || got.Exponent() < -6) {
			t.Errorf("parseDecimal(%s) = %s", v.text, got)
		}
		if strings.ContainsAny(v.text, "eE") {
			return
		}
		want := decimal.RequireFromString(v.text)
		if got, err := parseInteger(v.text); err == nil && !want.Equal(decimal.NewFromInt(got)) {
			t.Errorf("parseWhole(%s) = %d", v.text, got)
		}
		if got, err := parseGHS(v.text); err == nil && (!want.Equal(got) || got.Exponent() < -2) {
			if !got.Abs().Equal(overLimit) || want.Abs().LessThan(overLimit) || want.Sign() != got.Sign() {
				t.Errorf("parseGHS(%s) = %s", v.text, got)
			}
		}
	})
}
