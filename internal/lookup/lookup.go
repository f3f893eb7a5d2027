// Package lookup reads what a person enters to find an object by a whole value, and makes the keys
// under which stores index names and numbers.
//
// Names and the ends of numbers are indexed as plain text. A keyed hash would hide nothing: there are
// 10,000 ends of a number, and the documents beside the index have the number and the name themselves.
// The keys follow from the document, so they go with what an erasure or retention takes out of it.
package lookup

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/phone"
)

// Value is what was entered, in each sense that it may have.
type Value struct {
	// Text is the whole of it without the spaces around it, for ids, references and numbers.
	Text string
	// Pesewas is it as an amount; 0 if it is none.
	Pesewas int64
	// PhoneStart is the beginning of a number that a masked one shows; empty for an end alone.
	PhoneStart string
	// PhoneEnds are the keys of the numbers that have the entered end; see [PhoneEnd].
	PhoneEnds []string
	// Number is a whole telephone number, +233…; empty if it is none.
	Number string
	// Name is the key of a name; empty if it cannot be one.
	Name string
}

// maxText bounds what may be entered, in bytes.
const maxText = 512

// Parse reads what was entered. A text that is too long has no sense.
func Parse(text string) Value {
	v := Value{Text: strings.TrimSpace(text)}
	if v.Text == "" || len(v.Text) > maxText {
		return Value{}
	}
	v.Pesewas = amount(v.Text)
	number, err := phone.ParseAny(v.Text)
	bare := strings.NewReplacer(" ", "", "\u00a0", "", "•", "", "*", "").Replace(v.Text)
	switch {
	case err == nil:
		v.Number, v.PhoneStart, v.PhoneEnds = number, PhoneStart(phone.Mask(number)), endsOf(number)
	case len(bare) == len(v.Text) && len(bare) <= 4:
		v.PhoneEnds = endsOf(bare)
	case strings.ContainsAny(v.Text, "•*") && isDigits(bare) && len(bare) >= 6: // as pages and JSON show it
		v.PhoneStart, v.PhoneEnds = bare[:3], endsOf(bare[3:])
	}
	if strings.ContainsFunc(v.Text, unicode.IsLetter) { // and digits: Stall 24
		v.Name = Name(v.Text)
	}
	return v
}

// amount reads an amount in cedis, such as 36, GH₵ 36.00 or GHS 1,250.5; 0 for any other text.
func amount(text string) int64 {
	for _, unit := range []string{"GHS", "GH₵", "GHC", "₵"} {
		if rest, ok := strings.CutPrefix(text, unit); ok {
			text = strings.TrimLeft(rest, " \u00a0")
			break
		}
	}
	d, err := money.ParseInput(text)
	if err != nil || d == nil {
		return 0
	}
	pesewas, err := money.ToPesewas(*d)
	if err != nil || pesewas < 1 || pesewas > money.Max {
		return 0
	}
	return pesewas
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// PhoneEnd returns the key of a telephone number by its end: the last four digits of a whole one, or
// the three that a masked one shows.
func PhoneEnd(whole, masked string) string {
	for _, end := range []string{whole[max(0, len(whole)-4):], masked[max(0, len(masked)-3):]} {
		if isDigits(end) {
			return end
		}
	}
	return ""
}

// endsOf returns the keys of the numbers that end with these digits, as far as their keys tell.
func endsOf(digits string) []string {
	if len(digits) < 3 || !isDigits(strings.TrimPrefix(digits, "+")) {
		return nil
	}
	shown := digits[len(digits)-3:]
	if len(digits) > 3 {
		return []string{digits[len(digits)-4:], shown}
	}
	ends := []string{shown}
	for d := range 10 {
		ends = append(ends, strconv.Itoa(d)+shown)
	}
	return ends
}

// PhoneStart returns the first three digits of a masked number; empty if it shows none.
func PhoneStart(masked string) string {
	if len(masked) > 3 && isDigits(masked[:3]) {
		return masked[:3]
	}
	return ""
}

// Name returns the key of a name: in lower case, with single spaces.
func Name(name string) string { return strings.Join(strings.Fields(strings.ToLower(name)), " ") }

// FirstName returns the key of a name's first word.
func FirstName(name string) string {
	first, _, _ := strings.Cut(Name(name), " ")
	return first
}
