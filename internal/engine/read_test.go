package engine_test

import (
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/testkit"
)

// A list in memory comes in pages, from either end, in its order.
func TestSliceOfPages(t *testing.T) {
	page := func(p api.Page) (*api.List[string], error) {
		return engine.SliceOf("/v1/letters", "letter", strings.Split("abcde", ""), func(s *string) string { return *s }, p)
	}
	for name, test := range map[string]struct {
		p    api.Page
		want string
		more bool
	}{
		"all":                   {api.Page{}, "abcde", false},
		"the first":             {api.Page{Limit: 2}, "ab", true},
		"the next":              {api.Page{Limit: 2, StartingAfter: "b"}, "cd", true},
		"the last":              {api.Page{Limit: 2, StartingAfter: "d"}, "e", false},
		"after the last":        {api.Page{StartingAfter: "e"}, "", false},
		"before the fourth":     {api.Page{Limit: 2, EndingBefore: "d"}, "bc", true},
		"all before the fourth": {api.Page{Limit: 3, EndingBefore: "d"}, "abc", false},
		"before the first":      {api.Page{EndingBefore: "a"}, "", false},
	} {
		got, err := page(test.p)
		expect.True(t, err == nil && strings.Join(got.Data, "") == test.want && got.HasMore == test.more && got.URL == "/v1/letters", "%s: %+v, %v", name, got, err)
	}
	for name, p := range map[string]api.Page{"after": {StartingAfter: "x"}, "before": {EndingBefore: "x"}} {
		testkit.WantCode(t, name+" an unknown one", testkit.Err(page(p)), api.ResourceMissing)
	}
}
