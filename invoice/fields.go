package invoice

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// Fields holds the fields of a draft, for Create and Update. In an update, nil keeps a field, and
// an empty text or a zero time clears it.
type Fields struct {
	// Customer is the id of a customer. The customer's e-mail, name, phone and address fill the
	// fields that are not set here. An API key without permission to read customers is refused with
	// permission_denied. If an update clears Customer, the draft keeps the four fields. If the
	// customer is deleted later, they are cleared too, unless a single update has replaced or cleared
	// all four.
	Customer         *string           `json:"customer,omitempty" param:",clear"`
	Email            *string           `json:"customer_email,omitempty" param:",clear"`   // an address alone, without a name
	Name             *string           `json:"customer_name,omitempty" param:",clear"`    // at most 255 characters
	Phone            *string           `json:"customer_phone,omitempty" param:",clear"`   // a number as for account.CreateCustomerParams; one of another country gets no SMS
	Address          *string           `json:"customer_address,omitempty" param:",clear"` // this and the next three: at most 500 characters
	Description      *string           `json:"description,omitempty" param:",clear"`
	Footer           *string           `json:"footer,omitempty" param:",clear"` // stands below the lines
	Memo             *string           `json:"memo,omitempty" param:",clear"`   // never shown to the customer
	DueDate          *time.Time        `json:"due_date,omitempty" param:",clear"`
	CollectionMethod *CollectionMethod `json:"collection_method,omitempty"`
	Currency         string            `json:"currency,omitempty"` // GHS when empty
	// Metadata is merged in an update: a key set to nil or "" is dropped. ClearMetadata drops all keys
	// first.
	Metadata      api.Metadata `json:"metadata,omitempty"`
	ClearMetadata bool         `json:"clear_metadata,omitempty" param:"metadata,null"`
	// Lines, when not nil, replace all lines; at most 250.
	Lines []LineParams `json:"line_items,omitzero"`
	// Discount, in pesewas, is taken off beside what the coupon takes off. Both are shared over the
	// lines and reduce their taxes. Only Go callers can set it.
	Discount *int64 `json:"discount,omitempty" param:"-"`
	// Coupon is the id of a coupon, which takes a percentage of the subtotal or an amount off. The
	// finalization redeems it. A draft may take one that is used up or past its time.
	Coupon *string `json:"coupon,omitempty" param:",clear"`
}

// CreateParams describe a new invoice.
type CreateParams struct {
	Fields
	// AutoFinalize finalizes at once.
	AutoFinalize bool `json:"auto_finalize,omitempty"`
}

// UpdateParams change a draft.
type UpdateParams = Fields
