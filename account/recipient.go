package account

import "github.com/seed-7082ffec/payments/internal/check"

// RecipientType is the kind of account behind a service id.
type RecipientType string

// The types of recipients. Only the first two can be paid directly.
const (
	RecipientConsumer RecipientType = "consumer"
	RecipientAgent    RecipientType = "cash_agent"
	RecipientSubAgent RecipientType = "sub_agent"
	RecipientMerchant RecipientType = "merchant"
)

// Check refuses a malformed service id or phone number with invalid_service_id or
// invalid_phone_number. It does not look for the wallet.
func (ref WalletRef) Check() error {
	switch {
	case ref.ServiceID != "":
		return check.ServiceID(ref.ServiceID)
	case ref.AccountID != "":
		return nil
	}
	_, err := check.Phone("phone_number", ref.Phone)
	return err
}

// ServiceIDLookup describes the account behind a service id.
type ServiceIDLookup struct {
	Object        string        `json:"object"` // always "service_id_lookup"
	ServiceID     string        `json:"service_id"`
	RecipientType RecipientType `json:"recipient_type"`
	// Name is a merchant's whole name, or the first name and last initial of a consumer or agent.
	Name string `json:"name"`
	// Payable reports whether the account accepts a payout or disbursement.
	Payable bool `json:"payable"`
}
