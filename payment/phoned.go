package payment

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
)

// MobileMoney names the phone that pays.
type MobileMoney struct {
	// PhoneNumber is a Ghanaian number in any common form.
	PhoneNumber string `json:"phone_number,omitempty"`
	// Provider is mtn, telecel or airteltigo. If empty, it follows from the number's prefix. The
	// number may have been ported to another provider since.
	Provider string `json:"provider,omitempty"`
}

// Check refuses an invalid number or an unknown provider, and fills in the stored form of the
// number and the provider. Refusals: parameter_missing, invalid_phone_number, parameter_invalid.
func (m *MobileMoney) Check() error {
	number, network, err := check.MobileMoney("", m.PhoneNumber, m.Provider)
	if err == nil {
		m.PhoneNumber, m.Provider = number, network
	}
	return err
}

// CreateParams describe a payment from a phone.
type CreateParams struct {
	// Amount is in pesewas, from 1 to 99,999,999.
	Amount   int64  `json:"amount" param:",required,pesewas"`
	Currency string `json:"currency,omitempty"` // GHS when empty
	MobileMoney
	Description string `json:"description,omitempty"` // at most 500 characters
	Reference   string `json:"reference,omitempty"`   // at most 100 characters
	// Customer is the id of the customer who pays. The provider is told the customer's e-mail.
	Customer string       `json:"customer,omitempty"`
	Metadata api.Metadata `json:"metadata,omitempty"`
}

// ConfirmParams carry the code that a payer got by phone.
type ConfirmParams struct {
	Code string `json:"-" param:"code,required"` // at most 100 characters
}
