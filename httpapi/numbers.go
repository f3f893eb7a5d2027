package httpapi

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/internal/money"
)

// Why a literal is not the number wanted. The texts complete the sentence "what
// was sent …", and never repeat what was sent, which may be long.
var (
	errFraction     = errors.New("has a fraction")
	errPlaces       = errors.New("has more decimals")
	errNegativeZero = errors.New("is a negative zero")
	errRange        = errors.New("is out of range")
)

// maxIntegerDigits is how many digits a number may have before its decimal point. It exceeds
// every limit of the services and bounds the cost of conversions.
const maxIntegerDigits = 15

// number is the exact value of a JSON number: digits × 10^exponent. The digits neither begin nor end with
// a zero; zero has none. So 1000, 1e3 and 1.0E3 are the same.
type number struct {
	negative bool
	digits   string
	exponent int
}

// parseNumber reads a JSON number.
func parseNumber(literal string) number {
	mantissa, exponent := literal, 0
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		mantissa = literal[:i]
		// An exponent that is too long for an int is cut to its limit, far beyond every number in use.
		n, _ := strconv.ParseInt(literal[i+1:], 10, 30)
		exponent = int(n)
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	short := strings.TrimRight(digits, "0")
	return number{negative, short, exponent + len(digits) - len(short)}
}

// isZero reports whether the number is zero.
func (n number) isZero() bool { return n.digits == "" }

// isLong reports whether the number has too many digits before its decimal point.
func (n number) isLong() bool { return !n.isZero() && len(n.digits)+n.exponent > maxIntegerDigits }

// shifted returns the digits of the number × 10^places, which must have no fraction.
func (n number) shifted(places int) string {
	if n.isZero() {
		return "0"
	}
	return n.digits + strings.Repeat("0", n.exponent+places)
}

// parseInteger reads a JSON number without a fraction; 1000.0 and 1e3 have none.
func parseInteger(literal string) (int64, error) {
	n := parseNumber(literal)
	switch {
	case n.isZero() && n.negative:
		return 0, errNegativeZero
	case !n.isZero() && n.exponent < 0:
		return 0, errFraction
	case n.isLong():
		return 0, errRange
	}
	v, err := strconv.ParseInt(n.shifted(0), 10, 64)
	if err != nil {
		return 0, errRange
	}
	if n.negative {
		v = -v
	}
	return v, nil
}

// overLimit is an amount in GHS above every limit. It stands for a number too long to parse,
// so that the service refuses it and names its limit.
var overLimit = decimal.New(1, maxIntegerDigits)

// parseGHS reads an amount of GHS, whose exact value has at most two decimals.
func parseGHS(literal string) (decimal.Decimal, error) {
	n := parseNumber(literal)
	amount := overLimit
	switch {
	case n.isZero() && n.negative:
		return decimal.Decimal{}, errNegativeZero
	case !n.isZero() && n.exponent < -2:
		return decimal.Decimal{}, errPlaces
	case !n.isLong():
		pesewas, err := strconv.ParseInt(n.shifted(2), 10, 64)
		if err != nil {
			return decimal.Decimal{}, errRange
		}
		amount = decimal.New(pesewas, -2)
	}
	if n.negative {
		amount = amount.Neg()
	}
	return amount, nil
}

// parseRate reads a rate or a quantity, and rounds it half up to six decimals, by its absolute value. A
// program may well send a third as 0.3333333333333333.
func parseRate(literal string) (decimal.Decimal, error) {
	n := parseNumber(literal)
	if n.isLong() {
		return decimal.Decimal{}, errRange
	}
	// The millionths that stay, and the first digit of those that do not.
	millionths, next := "0", byte('0')
	switch keep := len(n.digits) + n.exponent + money.RatePlaces; {
	case n.isZero() || keep < 0:
	case keep >= len(n.digits):
		millionths = n.shifted(money.RatePlaces)
	default:
		millionths, next = "0"+n.digits[:keep], n.digits[keep]
	}
	d, err := decimal.NewFromString(millionths)
	if err != nil {
		return decimal.Decimal{}, errRange
	}
	if next >= '5' {
		d = d.Add(decimal.New(1, 0))
	}
	switch {
	case n.negative && d.IsZero():
		return decimal.Decimal{}, errNegativeZero
	case n.negative:
		d = d.Neg()
	}
	return d.Shift(-money.RatePlaces), nil
}

// wantTime says what parseTime reads.
const wantTime = `a time of ISO 8601, such as "2026-01-31T08:15:00Z" (without an offset it is UTC), or a date, such as "2026-01-31", from 1970 on`

var errTime = errors.New("not " + wantTime)

// The times that a request may have. The year of a later one has more than four digits. The
// earlier ones include the zero time.
var (
	minTime = time.Unix(0, 0)
	maxTime = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
)

// parseTime reads a time of ISO 8601 in the extended form. Without an offset it is UTC, and the seconds
// may be absent. A date alone is that day's midnight in UTC. parseTime keeps every digit of the seconds.
func parseTime(text string) (t time.Time, dateOnly bool, err error) {
	if len(text) < len(time.DateOnly) || len(text) > 64 {
		return time.Time{}, false, errTime
	}
	if dateOnly = len(text) == len(time.DateOnly); dateOnly {
		t, err = time.Parse(time.DateOnly, text)
	} else {
		t, err = parseDateTime(text[:len(time.DateOnly)], text[len(time.DateOnly):])
	}
	if err != nil || t.Before(minTime) || t.After(maxTime) {
		return time.Time{}, false, errTime
	}
	return t.UTC(), dateOnly, nil
}

// parseDateTime reads a date and what follows it: T, hour and minute, and then, where they are given, the
// seconds and the offset. It completes the text to the form of RFC 3339.
func parseDateTime(date, rest string) (time.Time, error) {
	clock, offset := rest, "Z"
	if i := strings.LastIndexAny(rest, "Z+-"); i >= 0 {
		clock, offset = rest[:i], rest[i:]
	}
	switch len(offset) {
	case len("+00"):
		offset += ":00"
	case len("+0000"):
		offset = offset[:3] + ":" + offset[3:]
	}
	const minute = "T00:00"
	if len(clock) == len(minute) {
		clock += ":00"
	}
	// Package time also reads an hour of one digit and a comma before the fraction.
	if len(clock) <= len(minute) || clock[3] != ':' || strings.Contains(clock, ",") {
		return time.Time{}, errTime
	}
	return time.Parse(time.RFC3339, date+clock+offset)
}

// parseUnixNumber reads a JSON number of whole seconds since 1970.
func parseUnixNumber(literal string) (time.Time, error) {
	n, err := parseInteger(literal)
	if err != nil {
		return time.Time{}, err
	}
	t := time.Unix(n, 0).UTC()
	if t.Before(minTime) || t.After(maxTime) {
		return time.Time{}, errRange
	}
	return t, nil
}
