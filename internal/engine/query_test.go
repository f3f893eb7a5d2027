package engine_test

import (
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/storage"
)

func TestFilters(t *testing.T) {
	from := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	var where []storage.Equal
	where = engine.Where(where, "type", "")
	where = engine.Where(where, "status", "open")
	expect.Same(t, where, []storage.Equal{{Column: "status", Value: "open"}}, "the filter")
	var ranges []storage.Range
	ranges = engine.InTimes(ranges, "due", api.Times{})
	ranges = engine.InTimes(ranges, "created", api.Times{From: from})
	ranges = engine.InTimes(ranges, "paid", api.Times{Until: from})
	want := []storage.Range{{Column: "created", From: from}, {Column: "paid", Until: from}}
	expect.Same(t, ranges, want, "the ranges")
	c := api.Caller{Merchant: "mer_1", Live: true}
	if got, want := engine.Scope(c), (storage.Scope{Merchant: "mer_1", Live: true}); got != want {
		t.Errorf("scope %+v", got)
	}
}
