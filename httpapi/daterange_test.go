package httpapi

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

func TestTimes(t *testing.T) {
	at := func(text string) time.Time {
		if text == "" {
			return time.Time{}
		}
		return must.Get(time.Parse(time.RFC3339, text))(t)
	}
	for _, tt := range []struct{ query, from, until string }{
		{"", "", ""},
		{"due_date=x&created_at=y&createdx[gte]=z", "", ""},
		{"created=&created[gte]=&created[foo]=", "", ""},
		{"created=&created[gte]=2026-01-31", "2026-01-31T00:00:00Z", ""},

		{"created=2026-01-31", "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z"},
		{"created=2024-02-29", "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z"},
		{"created=2026-01-01..2026-01-31", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"},
		{"created=2026-01-01..2026-01-01", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"},
		{"created=2026-01-01..", "2026-01-01T00:00:00Z", ""},
		{"created=..2026-01-31", "", "2026-02-01T00:00:00Z"},

		{"created[gte]=1767225600", "2026-01-01T00:00:00Z", ""},
		{"created[gt]=1767225600", "2026-01-01T00:00:00.001Z", ""},
		{"created[lt]=1767225600", "", "2026-01-01T00:00:00Z"},
		{"created[lte]=1767225600", "", "2026-01-01T00:00:00.001Z"},
		{"created[gte]=0", "1970-01-01T00:00:00Z", ""},
		{"created%5Bgte%5D=1767225600", "2026-01-01T00:00:00Z", ""},
		{"created[gte]=1767225600&created[lt]=1767225600", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"},
		{"created[gte]=1767225600&created[lte]=1767225600", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.001Z"},

		{"created[gte]=2026-01-31T08:15:00Z", "2026-01-31T08:15:00Z", ""},
		{"created[gte]=2026-01-31T08:15:00%2B01:00", "2026-01-31T07:15:00Z", ""},
		{"created[gte]=2026-01-31T08:15:00+01:00", "2026-01-31T07:15:00Z", ""},
		{"created[gte]=2026-01-31T08:15:00-01:00", "2026-01-31T09:15:00Z", ""},
		{"created[gte]=2026-01-31T08:15:00", "2026-01-31T08:15:00Z", ""},
		{"created[gte]=2026-01-31T08:15", "2026-01-31T08:15:00Z", ""},
		{"created[lt]=2026-01-31T08:15:00.5", "", "2026-01-31T08:15:00.5Z"},
		{"created[gte]=2026-01-31T08:15:00%2B0100", "2026-01-31T07:15:00Z", ""},
		{"created[gte]=2026-01-31T08:15:00+0100", "2026-01-31T07:15:00Z", ""},
		{"created[gte]=2026-01-31T08:15+0000", "2026-01-31T08:15:00Z", ""},
		{"created[lte]=2026-01-31T08:15-0130", "", "2026-01-31T09:45:00.001Z"},
		{"created[gte]=2026-01-31T08:15:00.123Z", "2026-01-31T08:15:00.123Z", ""},
		{"created[gt]=2026-01-31T08:15:00.123Z", "2026-01-31T08:15:00.124Z", ""},
		{"created[lte]=2026-01-31T08:15:00.123Z", "", "2026-01-31T08:15:00.124Z"},
		// Between two milliseconds, the next is the first that is later.
		{"created[gte]=2026-01-31T08:15:00.1234Z", "2026-01-31T08:15:00.124Z", ""},
		{"created[gt]=2026-01-31T08:15:00.1234Z", "2026-01-31T08:15:00.124Z", ""},
		{"created[lt]=2026-01-31T08:15:00.1234Z", "", "2026-01-31T08:15:00.124Z"},
		{"created[lte]=2026-01-31T08:15:00.1234Z", "", "2026-01-31T08:15:00.124Z"},

		{"created[gte]=2026-01-31", "2026-01-31T00:00:00Z", ""},
		{"created[gt]=2026-01-31", "2026-02-01T00:00:00Z", ""},
		{"created[lt]=2026-01-31", "", "2026-01-31T00:00:00Z"},
		{"created[lte]=2026-01-31", "", "2026-02-01T00:00:00Z"},
		{"created[gte]=2026-01-31&created[lte]=2026-01-31", "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z"},

		// No year has five digits.
		{"created=9999-12-31", "9999-12-31T00:00:00Z", "9999-12-31T23:59:59.999Z"},
		{"created=..9999-12-30", "", "9999-12-31T00:00:00Z"},
		{"created[gt]=9999-12-31", "9999-12-31T23:59:59.999Z", ""},
		{"created[lte]=9999-12-31", "", "9999-12-31T23:59:59.999Z"},

		// All bounds hold.
		{"created[gte]=2026-01-01&created[gt]=2026-01-05", "2026-01-06T00:00:00Z", ""},
		{"created[lte]=2026-01-01&created[lt]=2026-01-05", "", "2026-01-02T00:00:00Z"},
	} {
		t.Run(tt.query, func(t *testing.T) {
			q := newQuery(tt.query)
			got := q.times("created")
			must.Do(t, q.err())
			expect.Same(t, got, api.Times{From: at(tt.from), Until: at(tt.until)}, "got")
		})
	}
}

func TestTimesRefuse(t *testing.T) {
	for _, tt := range []struct{ query, param string }{
		{"created=..", "created"},
		{"created=...", "created"},
		{"created=2026-01-01...2026-01-31", "created"},
		{"created=2026-01-01..2026-01-31..", "created"},
		{"created=2026-02-01..2026-01-01", "created"},
		{"created=2026-02-30", "created"},
		{"created=2026-1-1", "created"},
		{"created=2026-01", "created"},
		{"created=1767225600", "created"},
		{"created=2026-01-01T00:00:00Z", "created"},
		{"created=2026-01-01T00:00:00Z..2026-01-31", "created"},
		{"created=2026-01-01..1769817600", "created"},
		{"created=0000-01-01", "created"},
		{"created=2026-01-01&created=2026-01-01", "created"},
		{"created=2026-01-01&created[gte]=1", "created[gte]"},
		{"created[gte]=yesterday", "created[gte]"},
		{"created[gte]=-1", "created[gte]"},
		{"created[gte]=1.5", "created[gte]"},
		{"created[gte]=1e9", "created[gte]"},
		{"created[gte]=%2B1", "created[gte]"},
		{"created[gte]=1767225600000", "created[gte]"}, // milliseconds
		{"created[gte]=253402300800", "created[gte]"},  // the year 10000
		{"created[gte]=" + strings.Repeat("9", 100_000), "created[gte]"},
		{"created[gte]=2026-01-31 08:15:00Z", "created[gte]"},
		{"created[gte]=2026-01-31 08:15", "created[gte]"},
		{"created[gte]=2026-01-31T08:15:00,5Z", "created[gte]"},
		{"created[gte]=2026-01-01..2026-01-31", "created[gte]"},
		{"created[gte]=1&created[gte]=1", "created[gte]"},
		{"created[foo]=1", "created[foo]"},
		{"created[]=1", "created[]"},
		{"created[GTE]=1", "created[GTE]"},
		{"created[gte]x=1", "created[gte]x"},
		{"created[gte=1", "created[gte"},
		{"created[" + strings.Repeat("x", 100) + "]=1", "created"},
		{"created[gte]=2&created[lte]=1", "created[gte]"},
		{"created[gt]=1&created[lt]=1", "created[gt]"},
		{"created[gte]=2026-02-01&created[lt]=2026-01-01", "created[gte]"},
	} {
		t.Run(tt.query[:min(60, len(tt.query))], func(t *testing.T) {
			q := newQuery(tt.query)
			q.times("created")
			if got, want := refused(q.err()), "parameter_invalid "+tt.param; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// FuzzDateRange checks what holds for every filter that is accepted: both ends
// are times that a store can keep, in order, and a range of days says the same
// as the two bounds that it stands for.
func FuzzDateRange(f *testing.F) {
	for _, seed := range []struct{ param, value string }{
		{"created", "2026-01-01..2026-01-31"},
		{"created", "2026-01-01.."},
		{"created", "..2026-01-31"},
		{"created", "2024-02-29"},
		{"created", "9999-12-31"},
		{"created[gte]", "1767225600"},
		{"created[gt]", "2026-01-31T08:15:00.1239999Z"},
		{"created[lte]", "2026-01-31"},
		{"created[lt]", "2026-01-31T08:15:00+01:00"},
		{"created[foo]", "1"},
		{"created", "...."},
	} {
		f.Add(seed.param, seed.value)
	}
	f.Fuzz(func(t *testing.T, param, value string) {
		q := newQuery(url.Values{param: {value}}.Encode())
		got := q.times("created")
		if q.err() != nil {
			must.True(t, got == (api.Times{}), "refused, and yet %v", got)
			return
		}
		for _, end := range []time.Time{got.From, got.Until} {
			expect.True(t, end.Equal(end.Truncate(time.Millisecond)), "%s is no time as it is kept", end)
			expect.True(t, end.Location() == time.UTC, "%s is no time as it is kept", end)
			expect.True(t, end.IsZero() || !end.Before(minTime) && end.Year() <= 9999, "%s is out of range", end)
		}
		expect.True(t, got.From.IsZero() || got.Until.IsZero() || got.From.Before(got.Until), "the range is empty: %v", got)
		if param != "created" || got.Empty() {
			return
		}
		bounds := url.Values{}
		first, last, isRange := strings.Cut(value, "..")
		if !isRange {
			last = first
		}
		if first != "" {
			bounds.Set("created[gte]", first)
		}
		if last != "" {
			bounds.Set("created[lte]", last)
		}
		q = newQuery(bounds.Encode())
		same := q.times("created")
		if err := q.err(); err != nil {
			t.Fatal(fmt.Errorf("the bounds of %q: %w", value, err))
		}
		if diff := cmp.Diff(got, same); diff != "" {
			t.Errorf("%q (-range +bounds)\n%s", value, diff)
		}
	})
}
