package httpapi

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// decodeText decodes a body as a handler does.
func decodeText[P any](t *testing.T, text string) (P, error) {
	t.Helper()
	v, err := parseBody([]byte(text))
	must.Do(t, err)
	var p P
	err = decodeObject(v.members, paramsOf(reflect.TypeFor[P]()), nil, reflect.ValueOf(&p).Elem())
	return p, err
}

// refusal is the error alone.
func refusal[P any](t *testing.T, text string) error {
	t.Helper()
	_, err := decodeText[P](t, text)
	return err
}

// refused returns code and param of an error.
func refused(err error) string {
	var e *api.Error
	if errors.As(err, &e) {
		return string(e.Code) + " " + e.Param
	}
	return errorText(err)
}

// name is a text with a type of its own, as a status has.
type name string

// deep is an object in an object.
type deep struct {
	Er int64 `param:"er"`
}

type embedded struct {
	Text name `json:"text,omitempty"`
	Go   int  // no request could fill it
}

// readParams has a field of every type.
type readParams struct {
	embedded
	Empty       *string          `json:"empty"`
	Absent      *string          `json:"absent"`
	Null        *string          `json:"null"`
	Cleared     *string          `json:"cleared" param:",clear"`
	ClearedTime *time.Time       `json:"cleared_time" param:",clear"`
	Kept        *string          `json:"kept" param:",clear"`
	ClearedTo   **int64          `json:"cleared_to" param:",clear"`
	SetTo       **bool           `json:"set_to" param:",clear"`
	KeptTo      **int64          `json:"kept_to" param:",clear"`
	Unix        time.Time        `json:"unix" param:",unix"`
	Yes         bool             `json:"yes"`
	No          *bool            `json:"no"`
	Five        *int64           `json:"five_point"`
	Minus       int64            `json:"minus"`
	Amount      int64            `json:"amount" param:",pesewas,required"`
	GHS         decimal.Decimal  `json:"ghs"`
	NoGHS       *decimal.Decimal `json:"no_ghs"`
	Quantity    decimal.Decimal  `json:"quantity" param:",rate"`
	Percent     *decimal.Decimal `json:"percent" param:",rate"`
	Time        time.Time        `json:"time"`
	Date        *time.Time       `json:"date"`
	Destination struct {
		Phone string `param:"phone_number"`
		Deep  deep   `param:"deep"`
	} `json:"destination"`
	Items     []deep       `json:"items"`
	NoItems   []deep       `json:"no_items"`
	AnyItems  []deep       `json:"any_items"`
	Events    []name       `json:"events"`
	NoEvents  []name       `json:"no_events"`
	AnyEvents []name       `json:"any_events"`
	Metadata  api.Metadata `json:"metadata"`
	Nothing   api.Metadata `json:"nothing"`
	Secret    string       `json:"-" param:"secret,nonempty"`
	Hidden    string       `json:"hidden" param:"-"`
	Unnamed   string       `json:"-"`
}

func TestDecode(t *testing.T) {
	got, err := decodeText[readParams](t, `{
		"text": "ɔ", "empty": "", "null": null, "cleared": null, "cleared_time": null, "cleared_to": null, "set_to": false, "unix": 1769847300.0, "yes": true, "no": false, "five_point": 5.00, "minus": -7,
		"amount": 1000.0, "ghs": 150.5, "quantity": 2.500000, "percent": 0,
		"time": "2026-01-31T08:15:00.123999+01:00", "date": "2026-01-31",
		"destination": {"phone_number": "0241234567", "deep": {"er": 1}},
		"items": [{"er": 1}, {}], "no_items": [], "events": ["a", ""], "no_events": [],
		"metadata": {"a": "b", "n": 1.50, "t": true, "drop": null, "nested": {"x": [1]}}, "nothing": {},
		"secret": "s", "hidden": "x", "unnamed": "x", "-": "x", "Text": "other", "unknown": {}
	}`)
	must.Do(t, err)
	want := readParams{
		embedded: embedded{Text: "ɔ"}, Empty: new(""), Cleared: new(""), ClearedTime: new(time.Time{}), ClearedTo: new((*int64)(nil)), SetTo: new(new(false)), Unix: time.Unix(1769847300, 0).UTC(), Yes: true, No: new(false),
		Five: new(int64(5)), Minus: -7, Amount: 1000, GHS: decimal.RequireFromString("150.5"),
		Quantity: decimal.RequireFromString("2.5"), Percent: new(decimal.RequireFromString("0")),
		Time: time.Date(2026, 1, 31, 7, 15, 0, 123_000_000, time.UTC), Date: new(time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)),
		Items: []deep{{1}, {}}, NoItems: []deep{}, Events: []name{"a", ""}, NoEvents: []name{},
		Metadata: api.Metadata{
			"a": "b", "n": json.Number("1.50"), "t": true, "drop": nil, "nested": map[string]any{"x": []any{json.Number("1")}},
		},
		Nothing: api.Metadata{}, Secret: "s",
	}
	want.Destination.Phone, want.Destination.Deep.Er = "0241234567", 1
	expect.Equal(t, cmp.Diff(want, got, cmp.AllowUnexported(readParams{})), "", "(-want +got)")
}

// A field with the word null tells null from a value and from what is absent.
func TestDecodeNull(t *testing.T) {
	type params struct {
		Metadata api.Metadata `json:"metadata"`
		Cleared  bool         `json:"-" param:"metadata,null"`
	}
	for body, want := range map[string]params{
		`{}`:                        {},
		`{"metadata":null}`:         {Cleared: true},
		`{"metadata":{}}`:           {Metadata: api.Metadata{}},
		`{"metadata":{"a":null}}`:   {Metadata: api.Metadata{"a": nil}},
		`{"clear_metadata":true}`:   {},
		`{"cleared":true,"m":null}`: {},
	} {
		got, err := decodeText[params](t, body)
		must.Do(t, err)
		expect.Same(t, got, want, "%s", body)
	}
	err := refusal[params](t, `{"metadata":"null"}`)
	expect.Equal(t, refused(err), "parameter_invalid metadata", "a text")
}

// A tag that is misspelt, or a field that no request can fill, is found when the routes are made.
func TestParamsOfPanics(t *testing.T) {
	for name, learn := range map[string]func(){
		"unknown word": func() {
			paramsOf(reflect.TypeFor[struct {
				A string `param:"a,requird"`
			}]())
		},
		"float": func() {
			paramsOf(reflect.TypeFor[struct {
				A float64 `param:"a"`
			}]())
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				expect.True(t, recover() != nil, "it was accepted")
			}()
			learn()
		})
	}
}

// refusedParams has the fields of TestDecodeRefuses.
type refusedParams struct {
	Name        string    `param:"name"`
	Active      bool      `param:"active"`
	N           int64     `param:"n"`
	Amount      int64     `param:"amount,pesewas"`
	Key         string    `param:"key,nonempty"`
	Unix        time.Time `param:"unix,unix"`
	At          time.Time `param:"at"`
	Destination struct {
		Phone string `param:"phone_number"`
		Type  string `param:"type"`
	} `param:"destination"`
	Quantity  *decimal.Decimal `param:"quantity,rate"`
	LineItems []struct {
		Quantity decimal.Decimal `param:"quantity,rate"`
		Type     *string         `param:"type,nonempty"`
	} `param:"line_items"`
	Events   []string     `param:"events"`
	Metadata api.Metadata `param:"metadata"`
}

type ghsParams struct {
	Amount decimal.Decimal `param:"amount"`
}

type requiredParams struct {
	A int64 `param:"a"`
	B int64 `param:"b,required"`
	C *struct {
		D int64 `param:"d,required"`
	} `param:"c"`
}

func TestDecodeRefuses(t *testing.T) {
	const invalid = "parameter_invalid "
	huge := strings.Repeat("9", 100_000)
	for _, tt := range []struct {
		name, body string
		read       func(*testing.T, string) error
		want       string
	}{
		{"number for text", `{"name":5}`, refusal[refusedParams], invalid + "name"},
		{"object for text", `{"name":{}}`, refusal[refusedParams], invalid + "name"},
		{"text for boolean", `{"active":"true"}`, refusal[refusedParams], invalid + "active"},
		{"text for integer", `{"n":"5"}`, refusal[refusedParams], invalid + "n"},
		{"fraction by exponent", `{"n":1e-3}`, refusal[refusedParams], invalid + "n"},
		{"huge exponent for integer", `{"n":1e999999999}`, refusal[refusedParams], invalid + "n"},
		{"long exponent for integer", `{"n":1e` + huge + `}`, refusal[refusedParams], invalid + "n"},
		{"boolean for integer", `{"n":true}`, refusal[refusedParams], invalid + "n"},
		{"fraction of a pesewa", `{"amount":1000.01}`, refusal[refusedParams], invalid + "amount"},
		{"text for pesewas", `{"amount":"1000"}`, refusal[refusedParams], invalid + "amount"},
		{"minus zero pesewas", `{"amount":-0}`, refusal[refusedParams], invalid + "amount"},
		{"minus zero pesewas with zeros", `{"amount":-0.0}`, refusal[refusedParams], invalid + "amount"},
		{"16 digits", `{"amount":1000000000000000}`, refusal[refusedParams], invalid + "amount"},
		{"huge pesewas", `{"amount":` + huge + `}`, refusal[refusedParams], invalid + "amount"},
		{"huge zeros", `{"amount":1.` + strings.Repeat("0", 100_000) + `1}`, refusal[refusedParams], invalid + "amount"},
		{"tenth of a pesewa", `{"amount":1e-3}`, refusal[ghsParams], invalid + "amount"},
		{"tiny exponent of GHS", `{"amount":1e-999999999}`, refusal[ghsParams], invalid + "amount"},
		{"minus zero GHS by exponent", `{"amount":-0e5}`, refusal[ghsParams], invalid + "amount"},
		{"minus zero GHS with zeros", `{"amount":-0.00}`, refusal[ghsParams], invalid + "amount"},
		{"minus a little", `{"quantity":-0.0000001}`, refusal[refusedParams], invalid + "quantity"},
		{"huge exponent", `{"quantity":1e999999999}`, refusal[refusedParams], invalid + "quantity"},
		{"large by exponent", `{"quantity":1e15}`, refusal[refusedParams], invalid + "quantity"},
		{"minus zero by exponent", `{"quantity":-0e3}`, refusal[refusedParams], invalid + "quantity"},
		{"minus zero decimal", `{"quantity":-0.0}`, refusal[refusedParams], invalid + "quantity"},
		{"huge decimal", `{"quantity":` + huge + `}`, refusal[refusedParams], invalid + "quantity"},
		{"number for time", `{"at":1767225600}`, refusal[refusedParams], invalid + "at"},
		{"no such day", `{"at":"2026-02-30"}`, refusal[refusedParams], invalid + "at"},
		{"empty time", `{"at":""}`, refusal[refusedParams], invalid + "at"},
		{"hour of one digit", `{"at":"2026-01-31T8:15:00Z"}`, refusal[refusedParams], invalid + "at"},
		{"hour of one digit without an offset", `{"at":"2026-01-31T8:15"}`, refusal[refusedParams], invalid + "at"},
		{"hour alone", `{"at":"2026-01-31T08"}`, refusal[refusedParams], invalid + "at"},
		{"hour without a colon", `{"at":"2026-01-31T0815Z"}`, refusal[refusedParams], invalid + "at"},
		{"two offsets", `{"at":"2026-01-31T08:15:00Z+0000"}`, refusal[refusedParams], invalid + "at"},
		{"offset of one digit", `{"at":"2026-01-31T08:15:00+1"}`, refusal[refusedParams], invalid + "at"},
		{"space for T", `{"at":"2026-01-31 08:15:00"}`, refusal[refusedParams], invalid + "at"},
		{"T without a time", `{"at":"2026-01-31T"}`, refusal[refusedParams], invalid + "at"},
		{"offset without a time", `{"at":"2026-01-31+0000"}`, refusal[refusedParams], invalid + "at"},
		{"year 10000 without a colon", `{"at":"9999-12-31T23:59:59-0100"}`, refusal[refusedParams], invalid + "at"},
		{"comma in seconds", `{"at":"2026-01-31T08:15:00,5Z"}`, refusal[refusedParams], invalid + "at"},
		{"year 1", `{"at":"0001-01-01T00:00:00Z"}`, refusal[refusedParams], invalid + "at"},
		{"year 10000 in UTC", `{"at":"9999-12-31T23:59:59-01:00"}`, refusal[refusedParams], invalid + "at"},
		{"long time", `{"at":"2026-01-31T08:15:00.` + huge + `Z"}`, refusal[refusedParams], invalid + "at"},
		{"text for Unix time", `{"unix":"2026-01-31"}`, refusal[refusedParams], invalid + "unix"},
		{"fraction of a second", `{"unix":1769847300.5}`, refusal[refusedParams], invalid + "unix"},
		{"before 1970", `{"unix":-1}`, refusal[refusedParams], invalid + "unix"},
		{"after 9999", `{"unix":253402300800}`, refusal[refusedParams], invalid + "unix"},
		{"array for object", `{"destination":[]}`, refusal[refusedParams], invalid + "destination"},
		{"path in object", `{"destination":{"phone_number":24}}`, refusal[refusedParams], invalid + "destination.phone_number"},
		{"object for array", `{"line_items":{}}`, refusal[refusedParams], invalid + "line_items"},
		{"text in array of objects", `{"line_items":[{},"x"]}`, refusal[refusedParams], invalid + "line_items[1]"},
		{"null in array of objects", `{"line_items":[null]}`, refusal[refusedParams], invalid + "line_items[0]"},
		{"path in array", `{"line_items":[{},{},{"quantity":"1"}]}`, refusal[refusedParams], invalid + "line_items[2].quantity"},
		{"text for texts", `{"events":"*"}`, refusal[refusedParams], invalid + "events"},
		{"number in texts", `{"events":["*",1]}`, refusal[refusedParams], invalid + "events[1]"},
		{"null in texts", `{"events":[null]}`, refusal[refusedParams], invalid + "events[0]"},
		{"array for metadata", `{"metadata":[]}`, refusal[refusedParams], invalid + "metadata"},
		{"empty in an array", `{"line_items":[{},{"type":""}]}`, refusal[refusedParams], invalid + "line_items[1].type"},
		{"required, absent", `{}`, refusal[requiredParams], "parameter_missing b"},
		{"required, null", `{"a":1,"b":null}`, refusal[requiredParams], "parameter_missing b"},
		{"required in object", `{"b":1,"c":{}}`, refusal[requiredParams], "parameter_missing c.d"},
		{"other case of the name", `{"B":1}`, refusal[requiredParams], "parameter_missing b"},
		{"what is missing comes first", `{"a":"x"}`, refusal[requiredParams], "parameter_missing b"},
		{"first error wins", `{"a":"x","b":"y","c":{}}`, refusal[requiredParams], invalid + "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.read(t, tt.body)
			expect.Equal(t, refused(err), tt.want, "refused(err)")
			if text := errorText(err); len(text) > 300 {
				t.Errorf("the message repeats what was sent: %d characters", len(text))
			}
		})
	}
}

func TestDecodeMessages(t *testing.T) {
	for _, tt := range []struct {
		body string
		read func(*testing.T, string) error
		want string
	}{
		{`{"n":5.5}`, refusal[refusedParams], "n must be a whole number, such as 5; what was sent has a fraction."},
		{`{"amount":1e-3}`, refusal[refusedParams], "amount must be a whole number of pesewas, such as 1000; what was sent has a fraction."},
		{`{"amount":0.001}`, refusal[ghsParams], "amount must be a number of GHS with at most two decimals, such as 150 or 150.50; what was sent has more decimals."},
		{`{"amount":-0}`, refusal[ghsParams], "amount must be a number of GHS with at most two decimals, such as 150 or 150.50; what was sent is a negative zero."},
		{`{"quantity":99999999999999999}`, refusal[refusedParams], "quantity must be a number, such as 2.5; what was sent is out of range."},
		{`{"amount":"1"}`, refusal[ghsParams], "amount must be a number of GHS with at most two decimals, such as 150 or 150.50."},
		{`{"destination":{"type":1}}`, refusal[refusedParams], "destination.type must be a string."},
		{`{"active":1}`, refusal[refusedParams], "active must be true or false."},
		{`{"destination":1}`, refusal[refusedParams], "destination must be an object."},
		{`{"events":1}`, refusal[refusedParams], "events must be an array of strings."},
		{`{"events":[1]}`, refusal[refusedParams], "events[0] must be a string."},
		{`{"line_items":1}`, refusal[refusedParams], "line_items must be an array of objects."},
		{`{"line_items":[1]}`, refusal[refusedParams], "line_items[0] must be an object."},
		{`{"metadata":1}`, refusal[refusedParams], "metadata must be an object of strings, numbers and booleans."},
		{`{"at":"x"}`, refusal[refusedParams], "at must be " + wantTime + "."},
		{`{"key":""}`, refusal[refusedParams], "key is empty. Give it a value or leave it out."},
	} {
		var e *api.Error
		if err := tt.read(t, tt.body); !errors.As(err, &e) || e.Code != api.ParameterInvalid || e.Param != strings.Fields(tt.want)[0] || e.Message != tt.want {
			t.Errorf("%s: got %v, want %s", tt.body, err, tt.want)
		}
	}
}

// One instant may be written in many forms of ISO 8601.
func TestTimesOfBodies(t *testing.T) {
	for _, form := range []string{
		"2026-01-31T08:15:00Z", "2026-01-31T08:15:00", "2026-01-31T08:15Z", "2026-01-31T08:15", "2026-01-31T08:15:00+00:00",
		"2026-01-31T08:15:00+0000", "2026-01-31T08:15:00+00", "2026-01-31T08:15:00-00:00", "2026-01-31T08:15+0000", "2026-01-31T08:15:00.000",
		"2026-01-31T09:45:00+0130", "2026-01-31T07:45-00:30", "2026-01-31T10:15:00.0009+02",
	} {
		got, err := decodeText[refusedParams](t, `{"at":"`+form+`"}`)
		expect.NoError(t, err, "%s", form)
		expect.True(t, got.At.Equal(time.Date(2026, 1, 31, 8, 15, 0, 0, time.UTC)), "%s is read as %v, %v", form, got.At, err)
		expect.True(t, got.At.Location() == time.UTC, "%s is read as %v, %v", form, got.At, err)
	}
}

// What is too long to be an amount stands for one that is above every limit, and keeps
// its sign. A decimal may have an exponent.
func TestNumbersAtTheEdge(t *testing.T) {
	for _, literal := range []string{"9999999999999999", strings.Repeat("9", 100_000), strings.Repeat("9", 30) + ".55", "1e15", "1e999999999", "1e" + strings.Repeat("9", 1000)} {
		for sign, want := range map[string]decimal.Decimal{"": overLimit, "-": overLimit.Neg()} {
			if got, err := decodeText[ghsParams](t, `{"amount":`+sign+literal+`}`); err != nil || !got.Amount.Equal(want) {
				t.Errorf("%s and %d characters: %s, %v", sign, len(literal), got.Amount, err)
			}
		}
	}
	for literal, want := range map[string]string{
		"1e-06": "0.000001", "1E-6": "0.000001", "1.50e-5": "0.000015", "1e1": "10", "2.5e+02": "250", "-1e-3": "-0.001", "0e0": "0", "1e-000006": "0.000001",
		// Rounded half up to six decimals.
		"0.30000000000000004": "0.3", "0.3333333333333333": "0.333333", "0.6666666666666667": "0.666667", "1.0000005": "1.000001", "1.0000004999": "1",
		"0.0000005": "0.000001", "5e-7": "0.000001", "4.9e-7": "0", "1e-7": "0", "1e-999999999": "0", "0.9999995": "1", "99.99999949": "99.999999",
		"123456789012345.1234567": "123456789012345.123457", "-1.0000005": "-1.000001", "1.0000000": "1", "0.0000000": "0",
	} {
		if got, err := decodeText[refusedParams](t, `{"quantity":`+literal+`}`); err != nil || got.Quantity.String() != want {
			t.Errorf("%s is read as %s, %v; want %s", literal, got.Quantity, err, want)
		}
	}
}

// A number with an exponent, or with zeros behind the point, is the number that it is.
func TestAmountsInAnyForm(t *testing.T) {
	for literal, want := range map[string]int64{
		"1e3": 1000, "1.0E7": 10_000_000, "1.5e1": 15, "150e-1": 15, "1000.0": 1000, "0e9": 0, "1E+2": 100, "-2e1": -20, "100e-2": 1, "0.00001e5": 1,
		"999999999999999": 999_999_999_999_999,
	} {
		got, err := decodeText[refusedParams](t, `{"amount":`+literal+`}`)
		expect.NoError(t, err, "%s", literal)
		expect.Equal(t, got.Amount, want, "%s: amount", literal)
	}
	for literal, want := range map[string]string{
		"1e3": "1000", "1.0E7": "10000000", "1.55e1": "15.5", "1e-2": "0.01", "150.500": "150.5", "0e-9": "0", "1.2345e2": "123.45", "0.10000": "0.1",
	} {
		got, err := decodeText[ghsParams](t, `{"amount":`+literal+`}`)
		expect.NoError(t, err, "%s", literal)
		expect.Equal(t, got.Amount.String(), want, "%s: amount", literal)
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
		want, err := decimal.NewFromString(v.text)
		if err != nil || want.Exponent() < -200 || want.Exponent() > 200 {
			return // decimal needs too long for it
		}
		if got, err := parseRate(v.text); err == nil && !want.Round(6).Equal(got) {
			t.Errorf("parseRate(%s) = %s", v.text, got)
		}
		got, err := parseInteger(v.text)
		expect.True(t, err != nil || want.Equal(decimal.NewFromInt(got)), "parseInteger(%s) = %d", v.text, got)
		expect.True(t, err == nil || !want.IsInteger() || want.Abs().GreaterThan(decimal.New(1, 14)) || want.IsZero(), "parseInteger(%s) refused: %v", v.text, err)
		if got, err := parseGHS(v.text); err == nil && (!want.Equal(got) || got.Exponent() < -2) {
			expect.True(t, got.Abs().Equal(overLimit), "parseGHS(%s) = %s", v.text, got)
			expect.True(t, !want.Abs().LessThan(overLimit), "parseGHS(%s) = %s", v.text, got)
			expect.Equal(t, want.Sign(), got.Sign(), "sign")
		}
	})
}
