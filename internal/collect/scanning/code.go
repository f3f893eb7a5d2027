package scanning

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage"
)

func checkType(t qrcode.Type) error {
	if t != qrcode.Static && t != qrcode.Dynamic {
		return api.Invalid("type", "type must be static or dynamic.")
	}
	return nil
}

var qrCodes = storage.NewCollection("qr_codes", []storage.Field[qrcode.QRCode]{
	storage.EnumColumn("type", func(c *qrcode.QRCode) qrcode.Type { return c.Type }, qrcode.Static, qrcode.Dynamic).Indexed(),
	storage.BoolColumn("active", func(c *qrcode.QRCode) bool { return c.Active }).Indexed(),
	storage.TimeColumn("created", func(c *qrcode.QRCode) time.Time { return time.Unix(c.Created, 0) }).Indexed(),
	storage.TextColumn("reference", func(c *qrcode.QRCode) string { return c.Reference }).Nullable().Indexed(),
}, storage.UniqueGlobally("public", "id"))

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind { return []*storage.Kind{qrCodes.Kind(), consumerCodes.Kind()} }

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

func codeUsable(c *qrcode.QRCode, now time.Time) error {
	return usable(c.UsageLimit, c.UsageCount, c.Active, c.ExpiresAt, now)
}

// getCode reads a merchant's code and sets the addresses, which depend on the present
// configuration.
func (s *Service) getCode(tx storage.ReadTx, scope storage.Scope, id string) (*storage.Object[qrcode.QRCode], error) {
	o, err := qrCodes.Get(tx, scope, id)
	return s.orMissing(o, err)
}

func (s *Service) orMissing(o *storage.Object[qrcode.QRCode], err error) (*storage.Object[qrcode.QRCode], error) {
	if o, err = engine.OrMissing(o, err, "qr_code"); err != nil {
		return nil, err
	}
	s.setURL(&o.Value)
	return o, nil
}

// setURL sets the code's addresses.
func (s *Service) setURL(c *qrcode.QRCode) {
	c.Data = s.engine.BaseURL + "/pay/" + c.ID
	c.URL = c.Data + ".png"
}
