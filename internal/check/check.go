// Package check holds the rules for parameters that many nouns share: texts, e-mail addresses,
// the currency, times and metadata. It refuses with an [api.Error] that names the parameter. A
// rule of a single object type is in that type's package.
package check

import (
	"encoding/json"
	"errors"
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/money"
)

// Under is [api.Error.Under] for an error that may be a refusal; any other error stays as it is.
func Under(param string, err error) error {
	if refusal, ok := errors.AsType[*api.Error](err); ok {
		return refusal.Under(param)
	}
	return err
}

// Text refuses text that is too long, is not UTF-8 or holds control
// characters other than line breaks.
func Text(param, s string, limit int) error {
	if !utf8.ValidString(s) {
		return api.Invalid(param, "%s is not valid UTF-8.", param)
	}
	if utf8.RuneCountInString(s) > limit {
		return api.Invalid(param, "%s may have at most %d characters.", param, limit)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' }) {
		return api.Invalid(param, "%s must not hold control characters other than line breaks.", param)
	}
	return nil
}

// Reads refuses a call that names an object of a resource which its caller may not read: the answer would
// show what the object holds, or whether it exists. Call it before the transaction, so that a replay is
// refused, too. An empty id names nothing.
func Reads(caller api.Caller, resource, param, id string) error {
	if id == "" || caller.Reads(resource) {
		return nil
	}
	return api.Errorf(api.PermissionDenied, param, "This API key does not allow to read %[1]s, so that it cannot name one. Use a key with the permission to read %[1]s, or leave %[2]s out where it is optional.", resource, param)
}

// OptionalReads is Reads for an id that may be left out; nil is fine.
func OptionalReads(caller api.Caller, resource, param string, id *string) error {
	if id == nil {
		return nil
	}
	return Reads(caller, resource, param, *id)
}

// OptionalText is Text for a text that may be left out; nil is fine.
func OptionalText(param string, s *string, limit int) error {
	if s == nil {
		return nil
	}
	return Text(param, *s, limit)
}

// Email refuses text that is not one plain e-mail address. It accepts the empty address: the
// caller refuses that where an address is required.
func Email(param, address string) error {
	if address == "" {
		return nil
	}
	if err := Text(param, address, api.MaxName); err != nil {
		return err
	}
	a, err := mail.ParseAddress(address)
	if err != nil || a.Address != address || strings.ContainsAny(address, "\r\n") {
		return api.Invalid(param, "%s must be an e-mail address, such as ama@example.com.", param)
	}
	return nil
}

// Currency refuses any currency but GHS, in any case; empty stands for GHS.
func Currency(currency string) error {
	if currency != "" && !strings.EqualFold(currency, api.Currency) {
		return api.Errorf(api.CurrencyNotSupported, "currency", "The only currency is %s; leave currency out or send %s.", api.Currency, api.Currency)
	}
	return nil
}

// Ahead refuses a time that is not in the future.
func Ahead(param string, t, now time.Time) error {
	if !t.After(now) {
		return api.Invalid(param, "%s must lie in the future.", param)
	}
	return nil
}

// Limits of metadata.
const (
	maxMetadataKeys  = 50
	maxMetadataKey   = 40
	maxMetadataValue = 500
)

// Metadata refuses metadata beyond the limits. Null values are allowed only in an
// update, where they drop a key.
func Metadata(m api.Metadata, update bool) error {
	if len(m) > maxMetadataKeys {
		return api.Invalid("metadata", "metadata may have at most %d keys.", maxMetadataKeys)
	}
	for k, v := range m {
		param := "metadata." + k
		if n := len([]rune(k)); n == 0 || n > maxMetadataKey {
			return api.Invalid("metadata", "A metadata key must have 1 to %d characters.", maxMetadataKey)
		}
		if err := Text("metadata", k, maxMetadataKey); err != nil {
			return err
		}
		switch v := v.(type) {
		case string:
			if err := Text(param, v, maxMetadataValue); err != nil {
				return err
			}
		case json.Number:
			if len(v) > maxMetadataValue {
				return api.Invalid(param, "A number in metadata may have at most %d characters.", maxMetadataValue)
			}
		case bool, int, int64:
		case nil:
			if !update {
				return api.Invalid(param, "A metadata value must be a string, a number or a boolean.")
			}
		default:
			return api.Invalid(param, "A metadata value must be a string, a number or a boolean; nested values are not kept.")
		}
	}
	return nil
}

// UpdateMetadata changes an object's metadata by an update: all drops all keys, and then the update is
// merged. See [api.Metadata.Merge].
func UpdateMetadata(into *api.Metadata, all bool, update api.Metadata) error {
	if all {
		*into = api.Metadata{}
	}
	if len(update) == 0 {
		return nil
	}
	*into = into.Merge(update)
	return Metadata(*into, false)
}

// Amount returns an amount of GHS in pesewas. It refuses one that is not above zero, has
// more than two decimals or exceeds GHS 999,999.99.
func Amount(param string, ghs decimal.Decimal) (int64, error) {
	pesewas, err := money.ToPesewas(ghs)
	if err != nil || pesewas < 1 || pesewas > money.Max {
		return 0, api.Invalid(param, "%s must be an amount in GHS from 0.01 to %s, with at most two decimals.", param, money.Text(money.Max)).WithCause(err)
	}
	return pesewas, nil
}

// Pesewas refuses an amount that is not from 1 to 99,999,999 pesewas.
func Pesewas(param string, n int64) error {
	if n < 1 || n > money.Max {
		return api.Invalid(param, "%s must be a whole number of pesewas from 1 to %d.", param, int64(money.Max))
	}
	return nil
}

var hundred = decimal.NewFromInt(100)

// Percent refuses a percentage that is not from 0 to 100; nil is fine. More than six decimals are rounded
// where it is kept.
func Percent(param string, p *decimal.Decimal) error {
	if p != nil && (!money.FewDigits(*p) || p.IsNegative() || p.Round(money.RatePlaces).GreaterThan(hundred)) {
		return api.Invalid(param, "%s must be from 0 to 100.", param)
	}
	return nil
}

// ServiceID refuses a malformed service id with invalid_service_id.
func ServiceID(id string) error {
	digits, ok := strings.CutPrefix(id, "SVC")
	if !ok || digits == "" || len(digits) > 20 || strings.Trim(digits, "0123456789") != "" {
		return api.Errorf(api.InvalidServiceID, "service_id", "A service ID is SVC followed by digits, such as SVC1000042.")
	}
	return nil
}
