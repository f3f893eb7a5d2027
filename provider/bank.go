package provider

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/api"
)

// Bank is a bank that can receive money.
type Bank struct {
	Object   string `json:"object"` // always "bank"
	Code     string `json:"code"`
	Name     string `json:"name"`
	Currency string `json:"currency"`
	Active   bool   `json:"active"`
}

// BankDirectory lists the banks that the host's banking partner can pay, with the partner's codes.
// It must be safe for concurrent use and must not use the network, because the library calls it
// while it checks a transfer.
type BankDirectory interface {
	// Banks lists all, by name.
	Banks() []Bank
	// Bank returns the bank with that code, and whether there is one.
	Bank(code string) (Bank, bool)
}

// NewBankDirectory returns a directory of the given banks. Object and Currency
// are filled in.
func NewBankDirectory(banks []Bank) BankDirectory {
	d := directory{byCode: make(map[string]Bank, len(banks))}
	for _, b := range banks {
		b.Object, b.Currency = "bank", api.Currency
		d.byCode[b.Code] = b
	}
	for _, b := range d.byCode {
		d.all = append(d.all, b)
	}
	slices.SortFunc(d.all, func(a, b Bank) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Code, b.Code))
	})
	return d
}

type directory struct {
	all    []Bank
	byCode map[string]Bank
}

func (d directory) Banks() []Bank { return slices.Clone(d.all) }

func (d directory) Bank(code string) (Bank, bool) {
	b, ok := d.byCode[code]
	return b, ok
}

// SampleBanks is a directory of institutions that take part in Ghana's interbank payments (GhIPSS),
// with codes in the six-digit form of its instant pay service. It is sample data. In production use
// your banking partner's own list and codes.
func SampleBanks() BankDirectory {
	names := []struct{ code, name string }{
		{"300302", "Standard Chartered Bank"},
		{"300303", "Absa Bank Ghana"},
		{"300304", "GCB Bank"},
		{"300305", "National Investment Bank"},
		{"300306", "ARB Apex Bank"},
		{"300307", "Agricultural Development Bank"},
		{"300309", "Universal Merchant Bank"},
		{"300310", "Republic Bank"},
		{"300311", "Zenith Bank"},
		{"300312", "Ecobank Ghana"},
		{"300313", "CAL Bank"},
		{"300316", "First Atlantic Bank"},
		{"300317", "Prudential Bank"},
		{"300318", "Stanbic Bank"},
		{"300319", "First National Bank"},
		{"300320", "Bank of Africa"},
		{"300322", "Guaranty Trust Bank"},
		{"300323", "Fidelity Bank"},
		{"300324", "OmniBSIC Bank"},
		{"300325", "United Bank for Africa"},
		{"300329", "Access Bank"},
		{"300331", "Consolidated Bank Ghana"},
		{"300334", "First Bank Nigeria"},
		{"300349", "Services Integrity Savings and Loans"},
	}
	banks := make([]Bank, len(names))
	for i, b := range names {
		banks[i] = Bank{Code: b.code, Name: b.name, Active: true}
	}
	return NewBankDirectory(banks)
}
