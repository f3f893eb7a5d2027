package account

import "github.com/seed-7082ffec/payments/api"

// Merchant accepts and sends money. One merchant has both modes.
type Merchant struct {
	ID     string `json:"id"` // mer_…
	Object string `json:"object"`
	Name   string `json:"name"`
	// Phone is the business phone, which receives one-time codes and receipts.
	Phone     string `json:"phone"`
	Email     string `json:"email"`
	Address   string `json:"address"`
	ServiceID string `json:"service_id"` // see [WalletRef]
	// HasLogo says that [Merchants.GetLogo] returns a picture.
	HasLogo   bool     `json:"has_logo"`
	CreatedAt api.Time `json:"created_at"`
	// OwesLive and OwesTest say that a provider took back payments, and that the merchant's balance of
	// that mode did not cover them; see [Balance].
	OwesLive bool `json:"owes_live,omitempty"`
	OwesTest bool `json:"owes_test,omitempty"`
}

// Logo is a merchant's picture.
type Logo struct {
	Data []byte `json:"data"`
	// Type is the media type, image/png or image/jpeg.
	Type string `json:"type"`
}

// CreateMerchantParams describes a merchant.
type CreateMerchantParams struct {
	Name    string // required, at most 255 characters
	Phone   string // a Ghanaian number in any common form; gets one-time codes and receipts; may be empty
	Email   string
	Address string // at most 500 characters
	// Logo is a PNG or JPEG picture of at most 256 KiB, shown on hosted pages and
	// documents; nil for none.
	Logo []byte
}

// UpdateMerchantParams change a merchant. Nil keeps a field, and empty text clears it; a
// merchant must keep a name.
type UpdateMerchantParams struct {
	Name    *string `json:"name,omitempty"`
	Phone   *string `json:"phone,omitempty"`
	Email   *string `json:"email,omitempty"`
	Address *string `json:"address,omitempty"`
	// Logo is a picture as in [CreateMerchantParams]. Nil keeps the present one. An empty slice
	// that is not nil removes it.
	Logo []byte `json:"logo"`
}
