package phone

import (
	"strings"
	"unicode"
)

// The digits of a number with its country code. E.164 allows at most 15, and no number has fewer than 8.
const (
	minForeign = 8
	maxForeign = 15
)

// ParseAny is Parse that also accepts a number of another country, with + and its country code, and returns
// it as +XXXXXXXX. Such a number gets no SMS and cannot be charged.
func ParseAny(text string) (string, error) {
	number, err := Parse(text)
	if err == nil {
		return number, nil
	}
	if len(text) > maxText {
		return "", ErrInvalid
	}
	number = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Zs, unicode.Pd, unicode.Cf) {
			return -1
		}
		return r
	}, text)
	digits, ok := strings.CutPrefix(number, "+")
	if !ok || len(digits) < minForeign || len(digits) > maxForeign || strings.Trim(digits, "0123456789") != "" {
		return "", ErrInvalid
	}
	if digits[0] == '0' || strings.HasPrefix(digits, "233") {
		return "", ErrInvalid
	}
	return number, nil
}

// IsForeign reports whether a result of ParseAny is a number of another country.
func IsForeign(number string) bool {
	return strings.HasPrefix(number, "+") && !strings.HasPrefix(number, "+233")
}
