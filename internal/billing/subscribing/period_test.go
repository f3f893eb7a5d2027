package subscribing

import (
	"testing"
	"time"
	_ "time/tzdata" // also where the machine has no time zones

	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// plainPeriod is the calendar once more, written by hand: it counts days and months one by one, and
// knows the lengths of months from a table.
func plainPeriod(anchor time.Time, interval catalog.Interval, count, k int64) time.Time {
	if interval == catalog.Day || interval == catalog.Week {
		days := count * k
		if interval == catalog.Week {
			days *= 7
		}
		return time.Unix(anchor.Unix()+days*86_400, 0).UTC()
	}
	months := count * k
	if interval == catalog.Year {
		months *= 12
	}
	y, m, d := anchor.Year(), int64(anchor.Month()), anchor.Day()
	for range months {
		if m++; m > 12 {
			y, m = y+1, 1
		}
	}
	lengths := []int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
		lengths[1] = 29
	}
	if d > lengths[m-1] {
		d = lengths[m-1]
	}
	return time.Date(y, time.Month(m), d, anchor.Hour(), anchor.Minute(), anchor.Second(), 0, time.UTC)
}

func periodStart(interval catalog.Interval, count int64, anchor time.Time, period int64) time.Time {
	return recurrence{interval, count}.start(anchor, period)
}

var intervals = []catalog.Interval{catalog.Day, catalog.Week, catalog.Month, catalog.Year}

func TestPeriodsFollowTheCalendar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		anchor := time.Unix(rapid.Int64Range(0, 6_000_000_000).Draw(t, "anchor"), 0).UTC()
		interval, count := rapid.SampledFrom(intervals).Draw(t, "interval"), rapid.Int64Range(1, 40).Draw(t, "count")
		k := rapid.Int64Range(0, 300).Draw(t, "period")
		start := periodStart(interval, count, anchor, k)
		expect.True(t, start.Equal(plainPeriod(anchor, interval, count, k)), "period %d is %s", k, start)
		expect.True(t, periodStart(interval, count, anchor, k+1).After(start), "period %d is empty", k)
	})
}

func TestShortMonthsMoveTheirOwnPeriodAlone(t *testing.T) {
	for _, test := range []struct {
		anchor   string
		interval catalog.Interval
		want     []string
	}{
		{"2026-01-31", catalog.Month, []string{"2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31"}},
		{"2027-12-30", catalog.Month, []string{"2027-12-30", "2028-01-30", "2028-02-29", "2028-03-30"}},
		{"2028-02-29", catalog.Year, []string{"2028-02-29", "2029-02-28", "2030-02-28", "2031-02-28", "2032-02-29"}},
	} {
		anchor := must.Get(time.Parse(time.DateOnly, test.anchor))(t)
		for k, want := range test.want {
			got := periodStart(test.interval, 1, anchor.Add(13*time.Hour+37*time.Second), int64(k))
			expect.Equal(t, got.Format(time.DateTime), want+" 13:00:37", "period %d of %s", k, test.anchor)
		}
	}
}

// A server's time zone, here with a night of 23 hours, moves no period.
func TestPeriodsIgnoreTimeZone(t *testing.T) {
	zone := must.Get(time.LoadLocation("Europe/Berlin"))(t)
	anchor := time.Date(2026, 3, 25, 9, 0, 0, 0, time.UTC)
	for _, interval := range []catalog.Interval{catalog.Day, catalog.Week, catalog.Month, catalog.Year} {
		expect.Equal(t, periodStart(interval, 1, anchor.In(zone), 8), periodStart(interval, 1, anchor, 8), "the start of period 8 by the %s", interval)
	}
}
