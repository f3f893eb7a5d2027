// Package phone knows Ghana's telephone numbers: the ways of writing them, the stored form, the
// network of a mobile prefix, and the masked form.
package phone

import (
	"errors"
	"strings"
	"unicode"
)

// ErrInvalid: not a telephone number of Ghana.
var ErrInvalid = errors.New("phone: not a valid Ghana phone number")

// The mobile-money providers.
const (
	MTN        = "mtn"
	Telecel    = "telecel"
	AirtelTigo = "airteltigo"
)

// Networks are the mobile-money providers, in the order of choices.
func Networks() []string { return []string{MTN, Telecel, AirtelTigo} }

// noBreak is a space at which no line ends.
const noBreak = "\u00a0"

// maxText bounds a number as it is entered, in bytes.
const maxText = 64

// Parse accepts 0XXXXXXXXX, 233XXXXXXXXX, +233XXXXXXXXX and 00233XXXXXXXXX, with spaces and
// dashes anywhere, and returns +233XXXXXXXXX. A number may be copied from a page, with the spaces of
// Spaced, or from a phone's contacts, with other dashes and the invisible marks of its direction.
func Parse(text string) (string, error) {
	if len(text) > maxText {
		return "", ErrInvalid
	}
	s := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Zs, unicode.Pd, unicode.Cf) {
			return -1
		}
		return r
	}, text)
	switch {
	case strings.HasPrefix(s, "+233"):
		s = s[4:]
	case strings.HasPrefix(s, "233") && len(s) == 12:
		s = s[3:]
	case strings.HasPrefix(s, "00233"):
		s = s[5:]
	case strings.HasPrefix(s, "0"):
		s = s[1:]
	default:
		return "", ErrInvalid
	}
	if len(s) != 9 {
		return "", ErrInvalid
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return "", ErrInvalid
		}
	}
	// National numbers begin with 2 or 5 (mobile) or 3 (fixed lines).
	if s[0] != '2' && s[0] != '3' && s[0] != '5' {
		return "", ErrInvalid
	}
	return "+233" + s, nil
}

// National returns the number as people dial it in Ghana, 0XXXXXXXXX. The argument is a result of
// Parse.
func National(number string) string {
	if !strings.HasPrefix(number, "+233") {
		return number
	}
	return "0" + number[4:]
}

// Spaced writes a number of Ghana as people read it, 024 123 4567. No line breaks within it. Any
// other text stays as it is.
func Spaced(number string) string {
	parsed, err := Parse(number)
	if err != nil {
		return number
	}
	n := National(parsed)
	return n[:3] + noBreak + n[3:6] + noBreak + n[6:]
}

// Provider returns the provider of a mobile prefix, or "". The table is the specification's. A
// number may have been ported since.
func Provider(number string) string {
	n := National(number)
	if len(n) < 3 {
		return ""
	}
	switch n[:3] {
	case "024", "025", "053", "054", "055", "059":
		return MTN
	case "020", "050":
		return Telecel
	case "026", "027", "056", "057":
		return AirtelTigo
	}
	return ""
}

// Mask hides the middle of a number: 024****567, and +44****456 for one of another country.
func Mask(number string) string {
	n := National(number)
	if IsForeign(n) && len(n) > minForeign {
		return n[:3] + "****" + n[len(n)-3:]
	}
	if len(n) != 10 {
		return "****"
	}
	return n[:3] + "****" + n[7:]
}

// maxSender is how long a sender id may be that is not a number.
const maxSender = 11

// IsSender reports whether an SMS can come from a sender id: up to 11 printable characters of ASCII
// with no space at either end.
func IsSender(id string) bool {
	for _, r := range id {
		if r < ' ' || r > '~' {
			return false
		}
	}
	return id != "" && len(id) <= maxSender && strings.TrimSpace(id) == id
}
