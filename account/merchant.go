package account

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Merchant accepts and sends money. One merchant has both modes.
type Merchant struct {
	ID     string `json:"id"` // mer_…
	Object string `json:"object"`
	Name   string `json:"name"`
	// Phone is the business phone: one-time codes and receipts go there.
	Phone     string `json:"phone"`
	Email     string `json:"email"`
	Address   string `json:"address"`
	ServiceID string `json:"service_id"`
	// HasLogo says that [Service.Logo] has a picture.
	HasLogo   bool     `json:"has_logo"`
	CreatedAt api.Time `json:"created_at"`
}

// Merchants are kept once for both modes, under the operator's test scope.
var merchants = storage.NewCollection[Merchant]("merchants", nil)

// Logo is a merchant's picture.
type Logo struct {
	Data []byte `json:"data"`
	// Type is the media type, image/png or image/jpeg.
	Type string `json:"type"`
}

// Logos are kept apart from merchants, who are read with every payment.
var logos = storage.NewCollection[Logo]("merchant_logos", nil)

const maxLogo = 256 << 10

// MerchantParams describe a merchant.
type MerchantParams struct {
	Name    string // required
	Phone   string // any way of writing a number of Ghana
	Email   string
	Address string
	// Logo is a PNG or JPEG picture of at most 256 KiB, shown on hosted pages and
	// documents; nil for none.
	Logo []byte
}

func (p *MerchantParams) check() error {
	if err := checkName(p.Name); err != nil {
		return err
	}
	var err error
	if p.Phone, err = parsePhone("phone", p.Phone); err != nil {
		return err
	}
	if err := api.CheckEmail("email", p.Email); err != nil {
		return err
	}
	if err := api.CheckText("address", p.Address, api.MaxText); err != nil {
		return err
	}
	if len(p.Logo) > maxLogo {
		return api.Invalid("logo", "A logo may have at most %d KiB.", maxLogo>>10)
	}
	if len(p.Logo) > 0 && logoType(p.Logo) == "" {
		return api.Invalid("logo", "A logo must be a PNG or JPEG picture.")
	}
	return nil
}

// logoType returns the media type of a logo, or "" when it is neither PNG nor
// JPEG.
func logoType(logo []byte) string {
	switch {
	case bytes.HasPrefix(logo, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(logo, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	}
	return ""
}

// CreateMerchant makes a merchant, with a service id that is known in both modes.
func (s *Service) CreateMerchant(ctx context.Context, p MerchantParams) (*Merchant, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	var m Merchant
	err := s.engine.Update(ctx, api.Caller{}, func(tx *engine.Tx) error {
		id := tx.NewID("mer_")
		serviceID, err := newServiceID(tx, ownerMerchant, id, false, true)
		if err != nil {
			return err
		}
		m = Merchant{
			ID: id, Object: "merchant", Name: p.Name, Phone: p.Phone, Email: p.Email, Address: p.Address,
			ServiceID: serviceID, HasLogo: len(p.Logo) > 0, CreatedAt: api.At(tx.Now),
		}
		if _, err = merchants.Insert(tx, operator(false), id, m); err != nil {
			return err
		}
		return setLogo(tx, id, p.Logo)
	})
	if err != nil {
		return nil, fmt.Errorf("account: create merchant: %w", err)
	}
	return &m, nil
}

// UpdateMerchant replaces what MerchantParams describe.
func (s *Service) UpdateMerchant(ctx context.Context, id string, p MerchantParams) (*Merchant, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	var m Merchant
	err := s.engine.Update(ctx, api.Caller{}, func(tx *engine.Tx) error {
		o, err := engine.GetTx(tx, merchants, operator(false), id, "merchant")
		if err != nil {
			return err
		}
		o.Value.Name, o.Value.Phone, o.Value.Email, o.Value.Address = p.Name, p.Phone, p.Email, p.Address
		o.Value.HasLogo = len(p.Logo) > 0
		m = o.Value
		if err := merchants.Replace(tx, o); err != nil {
			return err
		}
		return setLogo(tx, id, p.Logo)
	})
	if err != nil {
		return nil, fmt.Errorf("account: update merchant: %w", err)
	}
	return &m, nil
}

// setLogo replaces a merchant's picture, or removes it.
func setLogo(tx *engine.Tx, merchant string, data []byte) error {
	old, err := logos.Get(tx, operator(false), merchant)
	if err == nil {
		err = logos.Delete(tx, old)
	}
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("account: replace logo: %w", err)
	}
	if len(data) == 0 {
		return nil
	}
	_, err = logos.Insert(tx, operator(false), merchant, Logo{Data: data, Type: logoType(data)})
	return err
}

// Logo returns a merchant's picture.
func (s *Service) Logo(ctx context.Context, merchant string) (*Logo, error) {
	var logo *Logo
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		o, err := engine.GetTx(tx, logos, operator(false), merchant, "logo")
		if err != nil {
			return err
		}
		logo = &o.Value
		return nil
	})
	return logo, err
}

// Merchant returns one merchant.
func (s *Service) Merchant(ctx context.Context, id string) (*Merchant, error) {
	var m *Merchant
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		var err error
		m, err = MerchantTx(tx, id)
		return err
	})
	return m, err
}

// MerchantTx is Merchant in the caller's transaction.
func MerchantTx(tx storage.ReadTx, id string) (*Merchant, error) {
	o, err := engine.GetTx(tx, merchants, operator(false), id, "merchant")
	if err != nil {
		return nil, err
	}
	return &o.Value, nil
}

// Merchants lists all merchants, newest first, for the operator.
func (s *Service) Merchants(ctx context.Context, p api.Page) (*api.List[Merchant], error) {
	listing := engine.Listing[Merchant, Merchant]{
		Collection: merchants, Noun: "merchant", Show: func(m *Merchant) Merchant { return *m },
	}
	return listing.List(ctx, s.engine, storage.Query{Scope: operator(false)}, p)
}
