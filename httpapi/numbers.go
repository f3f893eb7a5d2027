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
	errExponent     = errors.New("has an exponent")
	errFraction     = errors.New("has a fraction")
	errPlaces       = errors.New("has more decimals")
	errNegativeZero = errors.New("is a negative zero")
	errRange        = errors.New("is out of range")
)

// maxIntegerDigits is how many digits a number may have before its decimal point. It exceeds
// every limit of the services and bounds the cost of conversions.
const maxIntegerDigits = 15

// parseInteger reads a JSON number without a fraction; 1000.0 has none.
func parseInteger(literal string) (int64, error) {
	if strings.ContainsAny(literal, "eE") {
		return 0, errExponent
	}
	whole, fraction, _ := strings.Cut(literal, ".")
	if strings.Trim(fraction, "0") != "" {
		return 0, errFraction
	}
	if len(strings.TrimPrefix(whole, "-")) > maxIntegerDigits {
		return 0, errRange
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0, errRange
	}
	if n == 0 && literal[0] == '-' {
		return 0, errNegativeZero
	}
	return n, nil
}

// overLimit is an amount in GHS above every limit. It stands for a number too long to parse,
// so that the service refuses it and names its limit.
var overLimit = decimal.New(1, maxIntegerDigits)

// parseGHS reads an amount of GHS.
func parseGHS(literal string) (decimal.Decimal, error) {
	if strings.ContainsAny(literal, "eE") {
		return decimal.Decimal{}, errExponent
	}
	amount, err := money.ParseGHS(literal)
	switch {
	case err == nil:
		return amount, nil
	case errors.Is(err, money.ErrPrecision):
		return decimal.Decimal{}, errPlaces
	case errors.Is(err, money.ErrRange) && literal[0] == '-':
		return overLimit.Neg(), nil
	case errors.Is(err, money.ErrRange):
		return overLimit, nil
	}
	// The syntax is JSON's and there is no exponent, so only this is left.
	return decimal.Decimal{}, errNegativeZero
}

// parseDecimal reads a JSON number with at most that many decimals. It may have an
// exponent, with which many programs write what is small: 1e-06.
func parseDecimal(literal string, places int) (decimal.Decimal, error) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(literal), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if len(strings.TrimPrefix(whole, "-")) > maxIntegerDigits || len(strings.TrimLeft(exponent, "+-0")) > 2 {
		return decimal.Decimal{}, errRange
	}
	if len(fraction) > maxIntegerDigits {
		return decimal.Decimal{}, errPlaces
	}
	d, err := decimal.NewFromString(literal)
	if err != nil || !money.FewDigits(d) || d.Abs().Cmp(overLimit) >= 0 {
		return decimal.Decimal{}, errRange
	}
	short := d.Truncate(int32(places))
	if exponent == "" && len(fraction) > places || !short.Equal(d) {
		return decimal.Decimal{}, errPlaces
	}
	if d.IsZero() && literal[0] == '-' {
		return decimal.Decimal{}, errNegativeZero
	}
	return short, nil
}

// wantTime says what parseTime reads.
const wantTime = `a time of ISO 8601 with its offset, such as "2026-01-31T08:15:00Z", or a date, such as "2026-01-31", from 1970 on`

var errTime = errors.New("not " + wantTime)

// The times that a request may have. The year of a later one has more than four digits. The
// earlier ones include the zero time.
var (
	minTime = time.Unix(0, 0)
	maxTime = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
)

// parseTime reads a time as RFC 3339 writes it, with an offset, or a date alone,
// which it returns as that day's midnight in UTC. It keeps every digit of the
// seconds.
func parseTime(text string) (t time.Time, dateOnly bool, err error) {
	if len(text) < len(time.DateOnly) || len(text) > 64 {
		return time.Time{}, false, errTime
	}
	if dateOnly = len(text) == len(time.DateOnly); dateOnly {
		t, err = time.Parse(time.DateOnly, text)
	} else {
		t, err = time.Parse(time.RFC3339, text)
		// Parse also accepts an hour of one digit and a comma before fractions.
		if err == nil && (text[13] != ':' || text[10] != 'T' || strings.Contains(text, ",")) {
			err = errTime
		}
	}
	if err != nil || t.Before(minTime) || t.After(maxTime) {
		return time.Time{}, false, errTime
	}
	return t.UTC(), dateOnly, nil
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
