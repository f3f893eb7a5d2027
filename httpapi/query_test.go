package httpapi

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
)

func TestPage(t *testing.T) {
	const invalid, missing = "parameter_invalid ", "resource_missing "
	long := strings.Repeat("a", 1000)
	for _, tt := range []struct {
		query string
		want  api.Page
		err   string
	}{
		{"", api.Page{}, ""},
		{"?", api.Page{}, "no error"},
		{"limit=1", api.Page{Limit: 1}, ""},
		{"limit=100", api.Page{Limit: 100}, ""},
		{"limit=%31%30", api.Page{Limit: 10}, ""},
		{"starting_after=po_1", api.Page{StartingAfter: "po_1"}, ""},
		{"ending_before=po_1&limit=5", api.Page{Limit: 5, EndingBefore: "po_1"}, ""},
		{"unknown=1&unknown=2&&x", api.Page{}, ""},
		{"Limit=500", api.Page{}, ""},
		{"limit=0", api.Page{}, invalid + "limit"},
		{"limit=101", api.Page{}, invalid + "limit"},
		{"limit=-1", api.Page{}, invalid + "limit"},
		{"limit=+1", api.Page{}, invalid + "limit"},
		{"limit=%2B1", api.Page{}, invalid + "limit"},
		{"limit=01", api.Page{}, invalid + "limit"},
		{"limit=1.0", api.Page{}, invalid + "limit"},
		{"limit=1e1", api.Page{}, invalid + "limit"},
		{"limit=ten", api.Page{}, invalid + "limit"},
		{"limit=", api.Page{}, ""},
		{"limit", api.Page{}, ""},
		{"limit=&limit=5&limit", api.Page{Limit: 5}, ""},
		{"limit=1&limit=1", api.Page{}, invalid + "limit"},
		{"limit=99999999999999999999", api.Page{}, invalid + "limit"},
		{"limit=٥", api.Page{}, invalid + "limit"},
		{"starting_after=", api.Page{}, ""},
		{"starting_after=a&ending_before=", api.Page{StartingAfter: "a"}, ""},
		{"starting_after=a&starting_after=a", api.Page{}, invalid + "starting_after"},
		{"starting_after=a&ending_before=b", api.Page{}, invalid + "ending_before"},
		{"starting_after=%00", api.Page{}, missing + "starting_after"},
		{"ending_before=a%ff", api.Page{}, missing + "ending_before"},
		{"starting_after=" + long, api.Page{}, missing + "starting_after"},
		{"limit=%zz", api.Page{}, invalid},
		{"other=%", api.Page{}, invalid},
		{"limit=1;x=2", api.Page{}, invalid},
	} {
		t.Run(tt.query[:min(40, len(tt.query))], func(t *testing.T) {
			q := newQuery(tt.query)
			got := q.page()
			if tt.err == "" {
				tt.err = "no error"
			}
			if err := refused(q.err()); err != tt.err {
				t.Fatalf("got %s, want %s", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); tt.err == "no error" && diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

type status string

func TestFilters(t *testing.T) {
	const invalid = "parameter_invalid "
	one := func(q *query) any { return status(q.oneOf("status", []string{"pending", "failed"})) }
	boolean := func(q *query) any { return q.boolean("active") }
	id := func(q *query) any { return q.id("customer") }
	size := func(q *query) any { return q.integer("size", 64, 2048) }
	text := func(q *query) any { return q.text("to") }
	for _, tt := range []struct {
		query string
		read  func(*query) any
		want  any
		err   string
	}{
		{"", one, status(""), ""},
		{"status=failed", one, status("failed"), ""},
		{"status=Failed", one, nil, invalid + "status"},
		{"status=paid", one, nil, invalid + "status"},
		{"status=", one, status(""), ""},
		{"status=failed&status=failed", one, nil, invalid + "status"},
		{"status=failed,pending", one, nil, invalid + "status"},
		{"", boolean, (*bool)(nil), ""},
		{"active=true", boolean, new(true), ""},
		{"active=false", boolean, new(false), ""},
		{"active=1", boolean, nil, invalid + "active"},
		{"active=TRUE", boolean, new(true), ""},
		{"active=False", boolean, new(false), ""},
		{"active=yes", boolean, nil, invalid + "active"},
		{"active=", boolean, (*bool)(nil), ""},
		{"active", boolean, (*bool)(nil), ""},
		{"active=true&active=true", boolean, nil, invalid + "active"},
		{"customer=cus_1", id, "cus_1", ""},
		{"customer=%00", id, nil, invalid + "customer"},
		{"customer=", id, "", ""},
		{"size=64", size, new(64), ""},
		{"size=2048", size, new(2048), ""},
		{"", size, (*int)(nil), ""},
		{"size=", size, (*int)(nil), ""},
		{"size=63", size, nil, invalid + "size"},
		{"size=2049", size, nil, invalid + "size"},
		{"to=a%20b", text, "a b", ""},
		{"to=", text, "", ""},
	} {
		q := newQuery(tt.query)
		got := tt.read(q)
		if tt.err == "" {
			tt.err = "no error"
		}
		if err := refused(q.err()); err != tt.err {
			t.Errorf("%s: got %s, want %s", tt.query, err, tt.err)
			continue
		}
		if diff := cmp.Diff(tt.want, got); tt.err == "no error" && diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.query, diff)
		}
	}
}

func TestFirstErrorOfQuery(t *testing.T) {
	q := newQuery(url.Values{"limit": {"0"}, "active": {"x"}, "created": {"y"}}.Encode())
	q.boolean("active")
	q.page()
	q.times("created")
	expect.Equal(t, refused(q.err()), "parameter_invalid active", "got")
}
