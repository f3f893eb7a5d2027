package check_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
)

func TestTexts(t *testing.T) {
	for _, fine := range []string{"", "ɛɔŋ ₵", "two\nlines\r\n", strings.Repeat("ɛ", 10)} {
		if err := check.Text("name", fine, 10); err != nil && len([]rune(fine)) <= 10 {
			t.Errorf("%q: %v", fine, err)
		}
	}
	for _, wrong := range []string{strings.Repeat("a", 11), "a\x00", "a\tb", "a\x1b[0m", "\xff", "a\u0085"} {
		if err := check.Text("name", wrong, 10); api.CodeOf(err) != api.ParameterInvalid {
			t.Errorf("%q: got %v", wrong, err)
		}
	}
	for currency, want := range map[string]api.Code{"": "", "GHS": "", "ghs": "", "Ghs": "", "GH": api.CurrencyNotSupported, "USD": api.CurrencyNotSupported} {
		expect.Equal(t, api.CodeOf(check.Currency(currency)), want, "%q", currency)
	}
	now := time.Now()
	testkit.WantCode(t, "now", check.Ahead("expires_at", now, now), api.ParameterInvalid)
	expect.NoError(t, check.Ahead("expires_at", now.Add(1), now), "later")
}

func TestEmail(t *testing.T) {
	for address, good := range map[string]bool{
		"": true, "ama@example.com": true, "a.b+c@sub.example.com": true,
		"ama": false, "ama@": false, "Ama <ama@example.com>": false, "a@example.com,b@example.com": false,
		"a@example.com\r\nBcc: b@example.com": false, "a b@example.com": false, strings.Repeat("x", 260) + "@example.com": false,
	} {
		err := check.Email("email", address)
		expect.True(t, (err == nil) == good, "%q: %v", address, err)
	}
}

func TestUpdateMetadata(t *testing.T) {
	for name, c := range map[string]struct {
		clear  bool
		update api.Metadata
		want   api.Metadata
	}{
		"nothing":      {want: api.Metadata{"a": "b", "n": true}},
		"empty":        {update: api.Metadata{}, want: api.Metadata{"a": "b", "n": true}},
		"merged":       {update: api.Metadata{"a": nil, "c": "d"}, want: api.Metadata{"n": true, "c": "d"}},
		"cleared":      {clear: true, want: api.Metadata{}},
		"put in place": {clear: true, update: api.Metadata{"c": "d"}, want: api.Metadata{"c": "d"}},
	} {
		was := api.Metadata{"a": "b", "n": true}
		got := was
		expect.NoError(t, check.UpdateMetadata(&got, c.clear, c.update), "%s", name)
		expect.Same(t, got, c.want, "%s", name)
		expect.Same(t, was, api.Metadata{"a": "b", "n": true}, "%s, as it was", name)
	}
	full := api.Metadata{}
	for i := range 50 {
		full[fmt.Sprint(i)] = "x"
	}
	testkit.WantCode(t, "one key too many", check.UpdateMetadata(&full, false, api.Metadata{"a": "b"}), api.ParameterInvalid)
}

func TestMetadata(t *testing.T) {
	fine := api.Metadata{"a": json.Number("1.10"), "b": true, "c": "<x> & ɛ", "d": json.Number("12345678901234567890")}
	expect.NoError(t, check.Metadata(fine, false), "Metadata")
	many := api.Metadata{}
	for i := range 51 {
		many[fmt.Sprint(i)] = "x"
	}
	for name, wrong := range map[string]api.Metadata{
		"many": many, "a long key": {strings.Repeat("k", 41): ""}, "no key": {"": "x"}, "a long value": {"k": strings.Repeat("ɛ", 501)},
		"a list": {"k": []any{}}, "an object": {"k": map[string]any{}}, "null": {"k": nil}, "a bell": {"k": "\a"}, "a bell in a key": {"\a": "x"},
		"a float": {"k": 1.5}, "a long number": {"k": json.Number(strings.Repeat("9", 501))},
	} {
		testkit.WantCode(t, name, check.Metadata(wrong, false), api.ParameterInvalid)
	}
	expect.NoError(t, check.Metadata(api.Metadata{"k": nil, strings.Repeat("ɛ", 40): strings.Repeat("ɛ", 500)}, true), "an update")
}
