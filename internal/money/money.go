// Package money converts between pesewas, which the library counts in, and the texts and decimals
// of the API and of people. It uses no floats.
package money

import (
	"errors"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// Max is the largest amount of the API, GHS 999,999.99, in pesewas.
const Max = 99_999_999

// The errors of a text or decimal that is not an amount of GHS.
var (
	ErrSyntax    = errors.New("not a plain number with at most two decimals")
	ErrPrecision = errors.New("more than two decimals")
	ErrRange     = errors.New("out of range")
)

// ParseGHS reads an amount of GHS as JSON writes it: digits, and at most two
// decimals after a point; no exponent, no plus sign, no negative zero.
func ParseGHS(text string) (decimal.Decimal, error) {
	whole, fraction, point := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	if !digits(whole) || (point && !digits(fraction)) || (len(whole) > 1 && whole[0] == '0') {
		return decimal.Decimal{}, ErrSyntax
	}
	if len(fraction) > 2 {
		return decimal.Decimal{}, ErrPrecision
	}
	if len(whole) > 15 {
		return decimal.Decimal{}, ErrRange
	}
	n, err := strconv.ParseInt(whole+(fraction + "00")[:2], 10, 64)
	if err != nil {
		return decimal.Decimal{}, ErrRange
	}
	if text[0] == '-' {
		if n == 0 {
			return decimal.Decimal{}, ErrSyntax
		}
		n = -n
	}
	return decimal.New(n, -2), nil
}

// grouped matches an amount with separators between its thousands, and nowhere else: the comma
// of "1,50" would make 150 of one and a half.
var grouped = regexp.MustCompile(`^-?[0-9]{1,3}([, ][0-9]{3})+(\.[0-9]+)?$`)

// ParseInput parses an amount of GHS as people type it, "1,234.50". It returns nil for an empty
// text.
func ParseInput(text string) (*decimal.Decimal, error) {
	if text = strings.TrimSpace(text); grouped.MatchString(text) {
		text = strings.NewReplacer(",", "", " ", "").Replace(text)
	}
	if text == "" {
		return nil, nil
	}
	amount, err := ParseGHS(text)
	if err != nil {
		return nil, err
	}
	return &amount, nil
}

// RatePlaces is how many decimals a rate or a quantity has. More are rounded half up.
const RatePlaces = 6

// FewDigits reports whether a decimal has so few digits that it can be compared and written in
// time proportional to its text. A few characters such as 1e999999999 may expand to more than
// the memory holds. Amounts, quantities and rates must have few digits.
func FewDigits(d decimal.Decimal) bool {
	exponent := d.Exponent()
	return exponent >= -40 && exponent <= 15
}

// ToPesewas converts an amount of GHS. For amounts beyond 10^15 GHS it returns ErrRange without
// computing them, whatever their exponent.
func ToPesewas(ghs decimal.Decimal) (int64, error) {
	exponent := ghs.Exponent()
	if ghs.IsZero() {
		return 0, nil
	}
	if exponent > 0 && !FewDigits(ghs) || ghs.Coefficient().BitLen() > 128 {
		return 0, ErrRange
	}
	if !FewDigits(ghs) {
		return 0, ErrPrecision
	}
	p := ghs.Shift(2)
	if !p.IsInteger() {
		return 0, ErrPrecision
	}
	n := p.BigInt()
	if n.CmpAbs(maxPesewas) > 0 {
		return 0, ErrRange
	}
	return n.Int64(), nil
}

var maxPesewas = big.NewInt(100_000_000_000_000_000)

// Share returns a percentage of an amount, rounded half up to the pesewa by its absolute value.
func Share(pesewas int64, percent decimal.Decimal) int64 {
	return decimal.New(pesewas, -2).Mul(percent).Round(0).IntPart()
}

// Prorate returns what an amount for a whole period costs for the rest of it: amount × left / whole,
// where left and whole are seconds. It rounds half up once, by absolute value.
func Prorate(amount int64, left, whole time.Duration) int64 {
	if left <= 0 || whole <= 0 {
		return 0
	}
	return Part(amount, int64(left/time.Second), int64(whole/time.Second))
}

// Part returns amount × part / whole, for a part that is not negative and a whole above 0. It rounds
// half up once, by absolute value.
func Part(amount, part, whole int64) int64 {
	abs := big.NewInt(amount)
	abs.Abs(abs)
	// floor((2 × amount × part + whole) / (2 × whole))
	n := new(big.Int).Mul(abs, big.NewInt(2*part))
	n.Add(n, big.NewInt(whole)).Quo(n, big.NewInt(2*whole))
	if amount < 0 {
		n.Neg(n)
	}
	return n.Int64()
}

// Text writes pesewas as people read GHS: 1,234.56.
func Text(pesewas int64) string {
	sign := ""
	n := uint64(pesewas)
	if pesewas < 0 {
		sign, n = "-", -n
	}
	whole := strconv.FormatUint(n/100, 10)
	var b strings.Builder
	b.WriteString(sign)
	for i, c := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	b.WriteByte('.')
	b.WriteByte('0' + byte(n%100/10))
	b.WriteByte('0' + byte(n%10))
	return b.String()
}

func digits(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// Minus is the sign of amounts below zero on pages and documents.
const Minus = "−"

// Figures is Text with Minus, as a column of a page or document has it.
func Figures(pesewas int64) string {
	text := Text(pesewas)
	if figures, negative := strings.CutPrefix(text, "-"); negative {
		return Minus + figures
	}
	return text
}

// LargestFirst returns the indices of remainders from the largest to the smallest, of equal ones the
// earlier first. A sum that is split into rounded parts gives the pesewas that are left to the first of them.
func LargestFirst[T any](remainders []T, compare func(a, b T) int) []int {
	order := make([]int, len(remainders))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compare(remainders[b], remainders[a]) })
	return order
}
