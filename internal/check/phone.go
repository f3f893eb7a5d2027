package check

import (
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/phone"
)

// Phone returns the stored form of a number, or "" for an empty one.
func Phone(param, given string) (string, error) {
	if given == "" {
		return "", nil
	}
	number, err := phone.Parse(given)
	if err != nil {
		return "", api.Errorf(api.InvalidPhoneNumber, param, "%s is not a valid Ghana phone number. Write it as 0241234567 or +233241234567.", param).WithCause(err)
	}
	return number, nil
}

// AnyPhone is Phone that also accepts a number of another country.
func AnyPhone(param, given string) (string, error) {
	if given == "" {
		return "", nil
	}
	number, err := phone.ParseAny(given)
	if err != nil {
		return "", api.Errorf(api.InvalidPhoneNumber, param, "%s is not a valid phone number. Write one of Ghana as 0241234567 or +233241234567, and any other with + and its country code, such as +447911123456.", param).WithCause(err)
	}
	return number, nil
}

// MobileMoney refuses a number or a network that is none. It returns the number in its stored form and
// the network, which is given in any case, or else follows from the number's prefix. The parameters are
// phone_number and provider after the prefix, such as "destination.".
func MobileMoney(prefix, given, network string) (number, of string, err error) {
	if given == "" {
		return "", "", api.Missing(prefix + "phone_number")
	}
	if number, err = Phone(prefix+"phone_number", given); err != nil {
		return "", "", err
	}
	switch network = strings.ToLower(network); {
	case slices.Contains(phone.Networks(), network):
		return number, network, nil
	case network == "":
		if network = phone.Provider(number); network == "" {
			return "", "", api.Errorf(api.InvalidPhoneNumber, prefix+"phone_number",
				"The prefix of %sphone_number is of no mobile-money provider. Check the number, or give %sprovider, one of %s.", prefix, prefix, strings.Join(phone.Networks(), ", "))
		}
		return number, network, nil
	}
	return "", "", api.Invalid(prefix+"provider", "%sprovider must be one of %s.", prefix, strings.Join(phone.Networks(), ", "))
}
