package phone_test

import (
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/internal/test/expect"
)

func TestParseAny(t *testing.T) {
	for given, want := range map[string]string{
		"+447911123456": "+447911123456", " +44 7911 123-456 ": "+447911123456", "+1 202 555 0143": "+12025550143", "+22512345678": "+22512345678",
		"+123456789012345": "+123456789012345", "+12345678": "+12345678",
		"0241234567": "+233241234567", "+233 24 123 4567": "+233241234567",
		"+1234567890123456": "", "+1234567": "", "+0447911123456": "", "447911123456": "", "00447911123456": "", "+44791112345a": "", "+": "", "": "",
		"+233": "", "+23324123456": "", "+2332412345678": "", "+233941234567": "", "++447911123456": "", "+44+7911123456": "", "+" + strings.Repeat(" ", 70) + "447911123456": "",
	} {
		got, err := phone.ParseAny(given)
		expect.Equal(t, got, want, "%q", given)
		expect.True(t, (err == nil) == (want != ""), "%q is %q, %v", given, got, err)
		expect.Equal(t, phone.IsForeign(got), want != "" && !strings.HasPrefix(want, "+233"), "%s", given)
	}
	expect.Equal(t, phone.Mask("+447911123456"), "+44****456", "masked")
	expect.Equal(t, phone.Mask("+12345678"), "+12****678", "a short one, masked")
	expect.Equal(t, phone.Mask("+233241234567"), "024****567", "one of Ghana, masked")
}
