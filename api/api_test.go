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
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
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
	expect.Equal(t, e.Type, api.InvalidRequest, "type")
	expect.Equal(t, e.Error(), "parameter_invalid: limit is 5 (limit)", "error")
	must.Do(t, e.Unwrap())
	caused := e.WithCause(io.EOF)
	expect.True(t, errors.Is(caused, io.EOF), "cause: %v of %v", caused.Unwrap(), caused)
	must.Do(t, e.Unwrap())
	expect.True(t, !strings.Contains(caused.Error(), "EOF"), "cause: %v of %v", caused.Unwrap(), caused)
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
	expect.Equal(t, missing.Code, api.ParameterMissing, "missing: code")
	expect.Equal(t, missing.Param, "amount", "missing: param")
}

func TestTimesInJSON(t *testing.T) {
	at := api.At(time.Date(2026, 1, 31, 9, 15, 0, 123_999_999, time.FixedZone("", 3600)))
	text, err := json.Marshal(at)
	must.Do(t, err)
	expect.Equal(t, string(text), `"2026-01-31T08:15:00.123Z"`, "text")
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
	expect.True(t, api.AtOrNil(time.Time{}) == nil, "AtOrNil is wrong")
	expect.True(t, api.AtOrNil(at.Time) != nil, "AtOrNil is wrong")
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
	expect.True(t, diff == "", "merged to %v, changed %s", merged, diff)
	expect.Equal(t, len(merged), 2, "merged: number")
}

func TestUnder(t *testing.T) {
	for _, test := range []struct {
		given          *api.Error
		param, message string
	}{
		{api.Missing("phone_number"), "to.phone_number", "The parameter to.phone_number is required."},
		{api.Invalid("phone_number", "This number is wrong."), "to.phone_number", "This number is wrong."},
		{api.NoSuch("wallet"), "to", api.NoSuch("wallet").Message},
	} {
		before := *test.given
		under := test.given.Under("to")
		if under.Param != test.param || under.Message != test.message || under.Code != before.Code || under.Type != before.Type {
			t.Errorf("%v under to is %v", before.Param, under)
		}
		expect.True(t, *test.given == before, "%v has changed to %v", before, *test.given)
	}
}

func TestPages(t *testing.T) {
	for _, test := range []struct {
		page      api.Page
		param     string // of the refusal
		size      int
		by, start string // of the cursor
	}{
		{api.Page{}, "", 10, "", ""},
		{api.Page{Limit: 1}, "", 1, "", ""},
		{api.Page{Limit: 100, StartingAfter: "qr_1"}, "", 100, "starting_after", "qr_1"},
		{api.Page{EndingBefore: "qr_2"}, "", 10, "ending_before", "qr_2"},
		{api.Page{Limit: -1}, "limit", -1, "", ""},
		{api.Page{Limit: 101}, "limit", 101, "", ""},
		{api.Page{StartingAfter: "qr_1", EndingBefore: "qr_1"}, "ending_before", 10, "starting_after", "qr_1"},
	} {
		err := test.page.Check()
		var e *api.Error
		if errors.As(err, &e) != (test.param != "") || (e != nil && (e.Param != test.param || e.Code != api.ParameterInvalid)) {
			t.Errorf("%+v: refused with %v", test.page, err)
		}
		expect.Equal(t, test.page.Size(), test.size, "%+v: size", test.page)
		if by, start := test.page.Cursor(); by != test.by || start != test.start {
			t.Errorf("%+v: cursor %s %s", test.page, by, start)
		}
	}
}

func TestEnvelopes(t *testing.T) {
	for want, value := range map[string]any{
		`{"object":"list","data":[],"has_more":false,"url":"/v1/x"}`:   api.NewList[int]("/v1/x", nil, false),
		`{"object":"list","data":[2,1],"has_more":true,"url":"/v1/x"}`: api.NewList("/v1/x", []int{2, 1}, true),
		`{"id":"qr_1","object":"qr_code","deleted":true}`:              api.Deleted{ID: "qr_1", Object: "qr_code", Deleted: true},
	} {
		expect.Equal(t, string(must.Get(json.Marshal(value))(t)), want, "Marshal")
	}
}

func TestCallers(t *testing.T) {
	var replayed bool
	c := api.Caller{Merchant: "mer_1", Live: true, RequestID: "req_1", IdempotencyKey: "k", Replayed: &replayed}
	c.MarkReplayed()
	expect.True(t, replayed, "a replay is not marked")
	api.Caller{}.MarkReplayed() // the caller has no Replayed
}

// What is said of an object that does not exist tells nothing about others'.
func TestRefusalsOfMissingObjects(t *testing.T) {
	if e := api.NoSuch("payment"); e.Code != api.ResourceMissing || e.Type != api.InvalidRequest || e.Param != "" {
		t.Errorf("got %+v", e)
	}
	if e := api.NoSuchCursor("starting_after", "payment"); e.Code != api.ResourceMissing || e.Param != "starting_after" {
		t.Errorf("got %+v", e)
	}
	expect.Equal(t, api.At(time.Date(2026, 1, 31, 8, 15, 0, 999, time.FixedZone("", -3600))).String(), "2026-01-31T09:15:00.000Z", "String")
}
