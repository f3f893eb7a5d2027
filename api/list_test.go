package api_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

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
