package phone

import (
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"0241234567": "+233241234567", "233241234567": "+233241234567", "+233241234567": "+233241234567",
		"024 123 4567": "+233241234567", "024-123-4567": "+233241234567", "+233 24 123 4567": "+233241234567",
		" 0551234567 ": "+233551234567", "0302123456": "+233302123456", "00233241234567": "+233241234567", "00233 24-123 4567": "+233241234567", Spaced("0241234567"): "+233241234567",
		// As phones copy a number from their contacts, and word processors write one.
		"\u202a+233\u00a024\u00a0123\u00a04567\u202c": "+233241234567", "\u2068024 123 4567\u2069": "+233241234567",
		"024\u202f123\u202f4567": "+233241234567", "024\u2011123\u20134567": "+233241234567",
	} {
		expect.Equal(t, must.Get(Parse(text))(t), want, "%q", text)
	}
	for _, text := range []string{
		"", "0", "024123456", "02412345678", "241234567", "+234241234567", "0023324123456", "0023402412345", "0941234567", "+2330241234567",
		"024123456a", "０241234567", "++233241234567", "024.123.4567", "23324123456", "0241234567890123456789012345678901234567890",
	} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q passes as %q", text, got)
		}
	}
}

// The table of prefixes is that of the specification.
func TestProvider(t *testing.T) {
	for provider, prefixes := range map[string][]string{
		MTN: {"024", "025", "053", "054", "055", "059"}, Telecel: {"020", "050"}, AirtelTigo: {"026", "027", "056", "057"},
		"": {"023", "028", "030", "051", "052", "058", "021"},
	} {
		for _, prefix := range prefixes {
			number := must.Get(Parse(prefix + "1234567"))(t)
			expect.Equal(t, Provider(number), provider, "%s", prefix)
		}
	}
	expect.Equal(t, Provider("+"), "", "Provider")
}

func TestMask(t *testing.T) {
	for number, want := range map[string]string{"+233241234567": "024****567", "": "****", "12": "****"} {
		expect.Equal(t, Mask(number), want, "%q", number)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"0241234567", "+233 24 123 4567", "233", "-", "+233-0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		number, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(National(number))
		expect.NoError(t, err, "%q", text)
		expect.Equal(t, again, number, "%q: read again", text)
		expect.Equal(t, len(number), 13, "%q: digits", text)
	})
}

func TestIsSender(t *testing.T) {
	for id, want := range map[string]bool{
		"Volta": true, "Volta Pay": true, "M-Pay&Co 12": true, "12345678901": true,
		"": false, "123456789012": false, " Volta": false, "Volta ": false, "Vɔlta": false, "Vol\nta": false,
	} {
		expect.True(t, IsSender(id) == want, "%q: %t", id, !want)
	}
}

func TestSpaced(t *testing.T) {
	for number, want := range map[string]string{
		"+233301000000": "030\u00a0100\u00a00000", "0241234567": "024\u00a0123\u00a04567", "call Ama": "call Ama", "": "",
	} {
		expect.Equal(t, Spaced(number), want, "%q", number)
	}
}
