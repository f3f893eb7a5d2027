package api

import (
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of text, in characters (Unicode code points).
const (
	MaxName      = 255
	MaxText      = 500
	MaxReference = 100
)

// CheckText refuses text that is too long, is not UTF-8 or holds control
// characters other than line breaks.
func CheckText(param, s string, limit int) error {
	if !utf8.ValidString(s) {
		return Invalid(param, "%s is not valid UTF-8.", param)
	}
	if utf8.RuneCountInString(s) > limit {
		return Invalid(param, "%s may have at most %d characters.", param, limit)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' }) {
		return Invalid(param, "%s must not hold control characters other than line breaks.", param)
	}
	return nil
}

// CheckEmail refuses what is not one plain e-mail address. Empty is none, which is
// for the caller to refuse.
func CheckEmail(param, address string) error {
	if address == "" {
		return nil
	}
	if err := CheckText(param, address, MaxName); err != nil {
		return err
	}
	a, err := mail.ParseAddress(address)
	if err != nil || a.Address != address || strings.ContainsAny(address, "\r\n") {
		return Invalid(param, "%s must be an e-mail address, such as ama@example.com.", param)
	}
	return nil
}

// CheckCurrency refuses any currency but GHS; empty stands for GHS.
func CheckCurrency(currency string) error {
	if currency != "" && currency != Currency {
		return Errorf(CurrencyNotSupported, "currency", "The only currency is %s; leave currency out or send %s.", Currency, Currency)
	}
	return nil
}

// CheckAhead refuses a time that is not in the future.
func CheckAhead(param string, t, now time.Time) error {
	if !t.After(now) {
		return Invalid(param, "%s must lie in the future.", param)
	}
	return nil
}
