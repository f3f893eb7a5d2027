// Package qrcode makes the codes that a merchant shows to be paid, and those that a consumer
// shows to receive money.
//
// It owns merchants' QR codes ([QRCode]): their life, their pictures, and their payment from a
// consumer's wallet. It owns consumers' QR codes ([ConsumerCode]): it issues them, and finds the
// consumer of a payload. Package payment stores the payments, and the ledger the balances.
package qrcode

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Type says whether a code is reusable or has a number of uses.
type Type string

// The types of codes.
const (
	// Static codes may be paid any number of times.
	Static Type = "static"
	// Dynamic codes may be paid once, or up to their usage limit.
	Dynamic Type = "dynamic"
)

func (t Type) check() error {
	if t != Static && t != Dynamic {
		return api.Invalid("type", "type must be static or dynamic.")
	}
	return nil
}

// QRCode is a merchant's code, which consumers scan to pay.
type QRCode struct {
	ID     string `json:"id"`
	Object string `json:"object"` // always "qr_code"
	Type   Type   `json:"type"`
	// Amount is fixed, in pesewas; nil lets the customer enter it.
	Amount      *int64 `json:"amount"`
	Currency    string `json:"currency"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Reference   string `json:"reference"`
	// URL is the public address of the picture. Data is the encoded text: the address of the
	// payment page.
	URL  string `json:"qr_code_url"`
	Data string `json:"qr_code_data"`
	// UsageLimit is the largest number of payments; nil for no limit.
	UsageLimit *int64       `json:"usage_limit"`
	UsageCount int64        `json:"usage_count"`
	Active     bool         `json:"active"`
	ExpiresAt  *api.Time    `json:"expires_at"`
	Livemode   bool         `json:"livemode"`
	Metadata   api.Metadata `json:"metadata"`
	Created    int64        `json:"created"` // Unix seconds
}

var codes = storage.NewCollection("qr_codes", []storage.Field[QRCode]{
	storage.EnumColumn("type", func(c *QRCode) Type { return c.Type }, Static, Dynamic).Indexed(),
	storage.BoolColumn("active", func(c *QRCode) bool { return c.Active }).Indexed(),
	storage.TimeColumn("created", func(c *QRCode) time.Time { return time.Unix(c.Created, 0) }).Indexed(),
	storage.TextColumn("reference", func(c *QRCode) string { return c.Reference }).Nullable().Indexed(),
}, storage.UniqueGlobally("public", "id"))

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind { return []*storage.Kind{codes.Kind(), consumerCodes.Kind()} }

// usable refuses a merchant's or consumer's code that cannot be used now. The refusal of a
// used-up code names the limit, although the last use has also deactivated the code.
func usable(limit *int64, count int64, active bool, expires *api.Time, now time.Time) error {
	switch {
	case limit != nil && count >= *limit:
		return api.Errorf(api.QRLimitReached, "", "This QR code has been used as often as it may be. Ask for a new one.")
	case !active:
		return api.Errorf(api.QRInactive, "", "This QR code is not active. Ask for a new one.")
	case expires != nil && !now.Before(expires.Time):
		return api.Errorf(api.QRExpired, "", "This QR code has expired. Ask for a new one.")
	}
	return nil
}

func (c *QRCode) usable(now time.Time) error {
	return usable(c.UsageLimit, c.UsageCount, c.Active, c.ExpiresAt, now)
}

// getCode reads a merchant's code and sets the addresses, which depend on the present
// configuration.
func (s *Service) getCode(tx storage.ReadTx, scope storage.Scope, id string) (*storage.Object[QRCode], error) {
	o, err := codes.Get(tx, scope, id)
	return s.orMissing(o, err)
}

func (s *Service) orMissing(o *storage.Object[QRCode], err error) (*storage.Object[QRCode], error) {
	if o, err = engine.OrMissing(o, err, "qr_code"); err != nil {
		return nil, err
	}
	s.setURL(&o.Value)
	return o, nil
}

// setURL sets the code's addresses.
func (s *Service) setURL(c *QRCode) {
	c.Data = s.engine.BaseURL + "/pay/" + c.ID
	c.URL = c.Data + ".png"
}
