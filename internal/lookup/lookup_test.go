package lookup_test

import (
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/lookup"
	"github.com/seed-7082ffec/payments/internal/test/expect"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]lookup.Value{
		"":                 {},
		"  ":               {},
		" pay_1 ":          {Text: "pay_1", Name: "pay_1"},
		"Order 2041":       {Text: "Order 2041", Name: "order 2041"},
		"36":               {Text: "36", Pesewas: 3600},
		"36.5":             {Text: "36.5", Pesewas: 3650},
		"0.01":             {Text: "0.01", Pesewas: 1},
		"GH₵ 1,250.50":     {Text: "GH₵ 1,250.50", Pesewas: 125050, Name: "gh₵ 1,250.50"},
		"GHS 7":            {Text: "GHS 7", Pesewas: 700, Name: "ghs 7"},
		"1,50":             {Text: "1,50"}, // no 150 cedis
		"1,2,3":            {Text: "1,2,3"},
		"999999.99":        {Text: "999999.99", Pesewas: 99_999_999},
		"1000000":          {Text: "1000000"},
		"1.005":            {Text: "1.005"},
		"0":                {Text: "0"},
		"-5":               {Text: "-5"},
		"1e3":              {Text: "1e3", Name: "1e3"},
		"4567":             {Text: "4567", Pesewas: 456700, PhoneEnds: []string{"4567", "567"}},
		"0241234567":       {Text: "0241234567", Number: "+233241234567", PhoneStart: "024", PhoneEnds: []string{"4567", "567"}},
		"+233 24 123-4567": {Text: "+233 24 123-4567", Number: "+233241234567", PhoneStart: "024", PhoneEnds: []string{"4567", "567"}},
		"024 ••• 4567":     {Text: "024 ••• 4567", PhoneStart: "024", PhoneEnds: []string{"4567", "567"}},
		"024****567":       {Text: "024****567", PhoneStart: "024", PhoneEnds: []string{"567", "0567", "1567", "2567", "3567", "4567", "5567", "6567", "7567", "8567", "9567"}},
		"Ama":              {Text: "Ama", Name: "ama"},
		"  AMA   Mensah ":  {Text: "AMA   Mensah", Name: "ama mensah"},
		"Ɛfua":             {Text: "Ɛfua", Name: "ɛfua"},
	} {
		expect.Same(t, lookup.Parse(text), want, "%q", text)
	}
	expect.Same(t, lookup.Parse(strings.Repeat("a", 600)), lookup.Value{}, "a long text")
}

func TestKeysOfNamesAndNumbers(t *testing.T) {
	expect.Equal(t, lookup.FirstName(" Ama  Serwaa Mensah"), "ama", "first name")
	expect.Equal(t, lookup.FirstName(""), "", "no name")
	for masked, want := range map[string]string{"024****567": "024", "": "", "acc_01": "", "****": "", "123": ""} {
		expect.Equal(t, lookup.PhoneStart(masked), want, "%q", masked)
	}
	for _, n := range [][3]string{{"+233241234567", "024****567", "4567"}, {"", "024****567", "567"}, {"", "", ""}, {"", "****", ""}} {
		expect.Equal(t, lookup.PhoneEnd(n[0], n[1]), n[2], "%q", n)
	}
}
