// Package look is the language that all pages share: the style sheet with its colours, and how
// amounts, phone numbers, networks and times are written and read. Pages of payers, the inspector and
// the reference build on it.
package look

import (
	_ "embed" // for the style sheets
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/phone"
)

var (
	// Shared has the tokens and the parts that all pages have in common.
	//go:embed shared.css
	Shared string
	// Console has the parts of the inspector, the reference and the operator's pages. It follows Shared.
	//go:embed console.css
	Console string
)

const (
	// NoBreak is a space at which no line ends.
	NoBreak = "\u00a0"
	// LongDay is the layout of a whole date.
	LongDay = "2 January 2006"
)

// Figures writes pesewas with a true minus sign.
func Figures(pesewas int64) string {
	return strings.Replace(money.Text(pesewas), "-", "−", 1)
}

// Clock writes a time of today, or another day's with the day. Accra's clock is UTC.
func Clock(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	switch {
	case t.YearDay() == now.YearDay() && t.Year() == now.Year():
		return t.Format("15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan, 15:04")
	}
	return t.Format("2 Jan 2006, 15:04")
}

// Network is a mobile-money network, as the API and as people name it.
type Network struct{ Code, Name string }

// Networks are all networks, in the order of choices.
func Networks() []Network {
	var all []Network
	for _, code := range phone.Networks() {
		all = append(all, Network{code, NetworkName(code)})
	}
	return all
}

// NetworkName is how people name a network; an unknown code stays as it is.
func NetworkName(code string) string {
	switch code {
	case phone.MTN:
		return "MTN"
	case phone.Telecel:
		return "Telecel"
	case phone.AirtelTigo:
		return "AirtelTigo"
	}
	return code
}

// Phone writes a number of Ghana as pages show it, masked: 024 ••• 4567. Of one that is masked already,
// as the API shows it, the last three digits are known. A mask that hides all is empty, and any other text
// stays as it is.
func Phone(number string) string {
	if phone.IsForeign(number) && !strings.Contains(number, "*") {
		number = phone.Mask(number)
	}
	if n := phone.National(number); n != number && len(n) == 10 {
		return n[:3] + NoBreak + "•••" + NoBreak + n[6:]
	}
	if number == "****" {
		return ""
	}
	return strings.Trim(strings.Replace(number, "****", NoBreak+"•••"+NoBreak, 1), NoBreak)
}

// Wallet tells a service id from a phone number.
func Wallet(entered string) account.WalletRef {
	if strings.HasPrefix(strings.ToUpper(entered), "SVC") {
		return account.WalletRef{ServiceID: strings.ToUpper(entered)}
	}
	return account.WalletRef{Phone: entered}
}

// Amount reads an amount that a person entered, in pesewas; nil for an empty text.
func Amount(param, text string) (*int64, error) {
	ghs, err := money.ParseInput(text)
	if err == nil && ghs == nil {
		return nil, nil
	}
	if err == nil {
		var n int64
		if n, err = check.Amount(param, *ghs); err == nil {
			return &n, nil
		}
	}
	return nil, api.Invalid(param, "Enter the amount in cedis, such as 12.50, up to %s.", money.Text(money.Max))
}

// Text returns *s, or "" for nil.
func Text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Join joins the parts that are not empty.
func Join(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(parts), func(p string) bool { return p == "" }), separator)
}
