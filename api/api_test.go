package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

func ExampleError() {
	err := fmt.Errorf("pay: %w", api.Errorf(api.InsufficientBalance, "", "The balance is too low for this amount."))
	var e *api.Error
	if errors.As(err, &e) && e.Code == api.InsufficientBalance {
		fmt.Println(e.Type, e.Message)
	}
	// Output: payment_error The balance is too low for this amount.
}

func ExampleFromPesewas() {
	text, _ := json.Marshal([]api.GHS{api.FromPesewas(15050), api.FromPesewas(100), api.FromPesewas(1), api.FromPesewas(-250), api.FromPesewas(999_999_99), api.FromPesewas(115)})
	fmt.Println(string(text))
	// Output: [150.5,1,0.01,-2.5,999999.99,1.15]
}

func ExampleMetadata_Merge() {
	m := api.Metadata{"table": "7", "note": "by the window", "paid": true}
	text, _ := json.Marshal(m.Merge(api.Metadata{"table": "8", "note": nil, "paid": ""}))
	fmt.Println(string(text))
	// Output: {"table":"8"}
}

func TestErrors(t *testing.T) {
	e := api.Invalid("limit", "limit is %d", 5)
	expect.True(t, e.Type == api.InvalidRequest && e.Error() == "parameter_invalid: limit is 5 (limit)" && e.Unwrap() == nil, "got %+v", e)
	caused := e.WithCause(io.EOF)
	expect.True(t, errors.Is(caused, io.EOF) && e.Unwrap() == nil && !strings.Contains(caused.Error(), "EOF"), "cause: %v of %v", caused.Unwrap(), caused)
	expect.Equal(t, api.CodeOf(fmt.Errorf("x: %w", e)), api.ParameterInvalid, "code")
	expect.Equal(t, api.CodeOf(io.EOF), "", "code of another error")
	for code, want := range map[api.Code]api.ErrorType{
		api.APIKeyInvalid: api.Authentication, api.PINLocked: api.Permission, api.QRExpired: api.Payment, api.AmountRequired: api.InvalidRequest,
		api.AccountNotFound: api.InvalidRequest, api.IdempotencyKeyReused: api.Idempotency, api.IdempotencyKeyInvalid: api.InvalidRequest,
		api.RateLimited: api.RateLimit, api.Unavailable: api.Fault, "anything": api.InvalidRequest,
	} {
		expect.Equal(t, code.Type(), want, "%s", code)
	}
	missing := api.Missing("amount")
	expect.True(t, missing.Code == api.ParameterMissing && missing.Param == "amount", "missing: %+v", missing)
}

func TestTimesInJSON(t *testing.T) {
	at := api.At(time.Date(2026, 1, 31, 9, 15, 0, 123_999_999, time.FixedZone("", 3600)))
	text, err := json.Marshal(at)
	expect.True(t, err == nil && string(text) == `"2026-01-31T08:15:00.123Z"`, "got %s, %v", text, err)
	var back api.Time
	if err := json.Unmarshal(text, &back); err != nil || !back.Equal(at.Time) {
		t.Errorf("back %s, %v", back, err)
	}
	for _, wrong := range []string{`1`, `"yesterday"`, `"2026-13-01T00:00:00Z"`} {
		expect.True(t, json.Unmarshal([]byte(wrong), &back) != nil, "%s passes", wrong)
	}
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(-62_135_596_800, 300_000_000_000).Draw(t, "second"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanosecond"))
		zone := time.FixedZone("", rapid.IntRange(-14*3600, 14*3600).Draw(t, "zone"))
		if got, want := (api.Time{Time: at.In(zone)}).String(), at.UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	expect.True(t, api.AtOrNil(time.Time{}) == nil && api.AtOrNil(at.Time) != nil, "AtOrNil is wrong")
}

func TestAmountsInJSON(t *testing.T) {
	for text, want := range map[string]string{"1.15": "1.15", "150.50": "150.5", "0": "0", "-2": "-2"} {
		var a api.GHS
		expect.NoError(t, json.Unmarshal([]byte(text), &a), "%s", text)
		expect.Equal(t, string(must.Get(json.Marshal(a))(t)), want, "%s", text)
	}
	for _, wrong := range []string{`"5"`, `1e3`, `true`, `{}`, strings.Repeat("9", 33)} {
		var a api.GHS
		expect.True(t, json.Unmarshal([]byte(wrong), &a) != nil, "%s passes", wrong)
	}
	if got := api.FromPesewas(math.MaxInt64).Decimal; !got.Equal(decimal.RequireFromString("92233720368547758.07")) {
		t.Errorf("got %s", got)
	}
}

func TestMetadata(t *testing.T) {
	var m api.Metadata
	const text = `{"a":1.10,"b":true,"c":"<x> & ɛ","d":12345678901234567890}`
	must.Do(t, json.Unmarshal([]byte(text), &m))
	expect.Equal(t, string(must.Get(m.MarshalJSON())(t)), text, "MarshalJSON")
	expect.Equal(t, string(must.Get(json.Marshal(api.Metadata(nil)))(t)), "{}", "none")
	expect.True(t, json.Unmarshal([]byte(`[]`), &m) != nil, "a list passes")
	before := api.Metadata{"a": "1"}
	merged := before.Merge(api.Metadata{"b": "2"})
	diff := cmp.Diff(api.Metadata{"a": "1"}, before)
	expect.True(t, diff == "" && len(merged) == 2, "merged to %v, changed %s", merged, diff)
}
