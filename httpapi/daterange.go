package httpapi

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// times reads a filter on a time, in one of two forms.
//
// The short form names days in UTC: created=2026-01-31 is that day,
// created=2026-01-01..2026-01-31 all days from the first to the last, both
// included; either end may be left out.
//
// The other form has bounds: created[gte], created[gt], created[lte] and
// created[lt], all of which must hold. A bound is a time of ISO 8601 or Unix
// seconds, and means that instant: created[lte]=1767225600 includes what
// happened in the very millisecond in which that second began, and nothing
// later, so that paging by gt misses nothing. A bound that is a date alone
// means the whole day: [lte] includes it and [gt] leaves it out, as the
// short form does.
func (q *query) times(name string) api.Times {
	if q.firstErr != nil {
		return api.Times{}
	}
	bounds := q.bounds(name)
	if text := q.text(name); text != "" {
		if len(bounds) > 0 {
			q.fail(api.Invalid(bounds[0], "Give either %s or %s, not both.", name, bounds[0]))
			return api.Times{}
		}
		t, ok := parseDays(text)
		if !ok {
			q.fail(api.Invalid(name, "%s must be a day, such as 2026-01-31, or a range of days, such as 2026-01-01..2026-01-31; for other bounds use %s[gte], %s[gt], %s[lte] and %s[lt].", name, name, name, name, name))
			return api.Times{}
		}
		return t
	}
	var t api.Times
	lower := name
	for _, param := range bounds {
		operator := strings.TrimSuffix(strings.TrimPrefix(param, name+"["), "]")
		from, until, ok := parseBound(operator, q.text(param))
		if !ok {
			q.fail(api.Invalid(param, "%s must be Unix seconds, such as 1767225600, or %s.", param, wantTime))
			return api.Times{}
		}
		if !from.IsZero() && (t.From.IsZero() || from.After(t.From)) {
			t.From, lower = from, param
		}
		if !until.IsZero() && (t.Until.IsZero() || until.Before(t.Until)) {
			t.Until = until
		}
	}
	if !t.From.IsZero() && !t.Until.IsZero() && t.From.After(t.Until) {
		q.fail(api.Invalid(lower, "%s begins after the end of the range.", lower))
		return api.Times{}
	}
	return t
}

// bounds returns the parameters of the form name[operator], sorted, after
// refusing those with an operator that there is not.
func (q *query) bounds(name string) []string {
	var params []string
	for param := range q.values {
		if strings.HasPrefix(param, name+"[") {
			params = append(params, param)
		}
	}
	slices.Sort(params)
	for _, param := range params {
		switch strings.TrimPrefix(param, name) {
		case "[gte]", "[gt]", "[lte]", "[lt]":
			continue
		}
		if len(param) > 64 {
			param = name
		}
		q.fail(api.Invalid(param, "There is no such operator for %s. Use %s[gte], %s[gt], %s[lte] or %s[lt].", name, name, name, name, name))
		return nil
	}
	return params
}

// parseBound returns the end of a half-open range that a bound stands for; the
// other end is zero.
func parseBound(operator, text string) (from, until time.Time, ok bool) {
	first, next, ok := parseSpan(text)
	if !ok {
		return time.Time{}, time.Time{}, false
	}
	switch operator {
	case "gte":
		return first, time.Time{}, true
	case "gt":
		return next, time.Time{}, true
	case "lt":
		return time.Time{}, first, true
	case "lte":
		return time.Time{}, next, true
	}
	return time.Time{}, time.Time{}, false
}

// parseSpan returns the times that are kept (whole milliseconds) at or after the
// beginning, and after the end, of what text names: a day or an instant. Both
// are the same when the instant lies between two milliseconds.
func parseSpan(text string) (first, next time.Time, ok bool) {
	if seconds, ok := parseUnix(text); ok {
		return seconds, seconds.Add(time.Millisecond), true
	}
	// A plus sign that was not escaped arrives as a space, and nothing else in
	// such a time can.
	t, day, err := parseTime(strings.Replace(text, " ", "+", 1))
	if err != nil {
		return time.Time{}, time.Time{}, false
	}
	if day {
		return t, dayAfter(t), true
	}
	floor := t.Truncate(time.Millisecond)
	next = floor.Add(time.Millisecond)
	if floor.Equal(t) {
		return floor, next, true
	}
	return next, next, true
}

// endOfTime is the last time that is kept. A day later, a year would have five digits,
// which no answer may show.
var endOfTime = maxTime.AddDate(0, 0, 1).Add(-time.Millisecond)

// dayAfter returns the beginning of the day after another, or the end of time.
func dayAfter(day time.Time) time.Time {
	if next := day.AddDate(0, 0, 1); next.Before(endOfTime) {
		return next
	}
	return endOfTime
}

// parseUnix reads Unix seconds, digits alone.
func parseUnix(text string) (time.Time, bool) {
	if text == "" || len(text) > 12 {
		return time.Time{}, false
	}
	for i := range len(text) {
		if !isDigit(text[i]) {
			return time.Time{}, false
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if t := time.Unix(n, 0).UTC(); err == nil && !t.After(maxTime) {
		return t, true
	}
	return time.Time{}, false
}

// parseDays reads the short form: one day, or two with .. between them, of which
// one may be missing.
func parseDays(text string) (api.Times, bool) {
	first, last, isRange := strings.Cut(text, "..")
	if !isRange {
		last = first
	}
	if first == "" && last == "" {
		return api.Times{}, false
	}
	var t api.Times
	if first != "" {
		from, day, err := parseTime(first)
		if err != nil || !day {
			return api.Times{}, false
		}
		t.From = from
	}
	if last != "" {
		day, isDay, err := parseTime(last)
		if err != nil || !isDay {
			return api.Times{}, false
		}
		t.Until = dayAfter(day)
	}
	return t, t.From.IsZero() || t.Until.IsZero() || t.From.Before(t.Until)
}
