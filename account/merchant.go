package account

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

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
	// HasLogo says that [Service.GetLogo] returns a picture.
	HasLogo   bool     `json:"has_logo"`
	CreatedAt api.Time `json:"created_at"`
	// OwesLive and OwesTest say that a provider took back payments, and that the merchant's balance of
	// that mode did not cover them; see [Balance].
	OwesLive bool `json:"owes_live,omitempty"`
	OwesTest bool `json:"owes_test,omitempty"`
}

// The store keeps one record of a merchant for both modes, under the operator's test scope.
var merchants = storage.NewCollection[Merchant]("merchants", nil)

// Logo is a merchant's picture.
type Logo struct {
	Data []byte `json:"data"`
	// Type is the media type, image/png or image/jpeg.
	Type string `json:"type"`
}

// A logo has its own record, because every payment reads the merchant.
var logos = storage.NewCollection[Logo]("merchant_logos", nil)

const maxLogo = 256 << 10

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

func (p *CreateMerchantParams) check() error {
	if err := checkName(p.Name); err != nil {
		return err
	}
	var err error
	if p.Phone, err = check.Phone("phone", p.Phone); err != nil {
		return err
	}
	if err := cmp.Or(check.Email("email", p.Email), check.Text("address", p.Address, api.MaxText)); err != nil {
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

// CreateMerchant makes a merchant, with a service id that is known in both modes. Only the operator may
// call it. With an idempotency key the call may be repeated safely.
//
// Refusals: permission_denied, parameter_missing (name), parameter_invalid, invalid_phone_number.
func (s *Service) CreateMerchant(ctx context.Context, caller api.Caller, p CreateMerchantParams) (*Merchant, error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	m, err := engine.Execute(ctx, s.engine, caller, engine.Operation{Name: "merchant.create", Params: p}, func(tx *engine.Tx) (*Merchant, error) {
		id := tx.NewID("mer_")
		serviceID, err := newServiceID(tx, ownerMerchant, id, false, true)
		if err != nil {
			return nil, err
		}
		m := &Merchant{
			ID: id, Object: "merchant", Name: p.Name, Phone: p.Phone, Email: p.Email, Address: p.Address,
			ServiceID: serviceID, HasLogo: len(p.Logo) > 0, CreatedAt: api.At(tx.Now),
		}
		if _, err = merchants.Insert(tx, operator(false), id, *m); err != nil {
			return nil, err
		}
		return m, setLogo(tx, id, p.Logo)
	})
	if err != nil {
		return nil, fmt.Errorf("account: create merchant: %w", err)
	}
	return m, nil
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

// apply returns the merchant's parameters after the change.
func (p *UpdateMerchantParams) apply(m *Merchant) (*CreateMerchantParams, error) {
	all := &CreateMerchantParams{Name: m.Name, Phone: m.Phone, Email: m.Email, Address: m.Address, Logo: p.Logo}
	for _, field := range []struct{ to, from *string }{
		{&all.Name, p.Name}, {&all.Phone, p.Phone}, {&all.Email, p.Email}, {&all.Address, p.Address},
	} {
		engine.SetGiven(field.to, field.from)
	}
	return all, all.check()
}

// UpdateMerchant changes a merchant. Only the operator may call it. With an idempotency key the call
// may be repeated safely.
//
// Refusals: permission_denied, resource_missing, parameter_missing (name), parameter_invalid,
// invalid_phone_number.
func (s *Service) UpdateMerchant(ctx context.Context, caller api.Caller, id string, p UpdateMerchantParams) (*Merchant, error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	// Parameters that are wrong for any merchant are refused before the read.
	if _, err := p.apply(&Merchant{Name: "any"}); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "merchant.update", Params: struct {
		ID string `json:"id"`
		UpdateMerchantParams
	}{id, p}}
	m, err := engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*Merchant, error) {
		o, err := engine.GetTx(tx, merchants, operator(false), id, "merchant")
		if err != nil {
			return nil, err
		}
		all, err := p.apply(&o.Value)
		if err != nil {
			return nil, err
		}
		m := &o.Value
		m.Name, m.Phone, m.Email, m.Address = all.Name, all.Phone, all.Email, all.Address
		if p.Logo != nil {
			m.HasLogo = len(p.Logo) > 0
			if err := setLogo(tx, id, p.Logo); err != nil {
				return nil, err
			}
		}
		return m, merchants.Replace(tx, o)
	})
	if err != nil {
		return nil, fmt.Errorf("account: update merchant: %w", err)
	}
	return m, nil
}

// setLogo replaces a merchant's picture, or removes it.
func setLogo(tx *engine.Tx, merchant string, data []byte) error {
	o, err := logos.GetOrNew(tx, operator(false), merchant)
	switch {
	case err != nil:
	case len(data) > 0:
		o.Value = Logo{Data: data, Type: logoType(data)}
		err = logos.Put(tx, o)
	case o.Version > 0:
		err = logos.Delete(tx, o)
	}
	if err != nil {
		return fmt.Errorf("account: replace logo: %w", err)
	}
	return nil
}

// GetLogo returns a merchant's picture, to any caller: hosted pages show it. A merchant without one
// is resource_missing.
func (s *Service) GetLogo(ctx context.Context, _ api.Caller, merchant string) (*Logo, error) {
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

// GetMerchant returns one merchant. For a merchant's caller every other merchant is resource_missing.
func (s *Service) GetMerchant(ctx context.Context, caller api.Caller, id string) (*Merchant, error) {
	if caller.Merchant != "" && caller.Merchant != id {
		return nil, api.NoSuch("merchant")
	}
	var m *Merchant
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		var err error
		m, err = getMerchant(tx, id)
		return err
	})
	return m, err
}

func getMerchant(tx storage.ReadTx, id string) (*Merchant, error) {
	o, err := engine.GetTx(tx, merchants, operator(false), id, "merchant")
	if err != nil {
		return nil, err
	}
	return &o.Value, nil
}

// ListMerchants returns all merchants, newest first. Only the operator may call it: any other caller is
// permission_denied.
func (s *Service) ListMerchants(ctx context.Context, caller api.Caller, p api.Page) (*api.List[Merchant], error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	listing := engine.Listing[Merchant, Merchant]{
		Collection: merchants, Noun: "merchant", Show: func(m *Merchant) Merchant { return *m },
	}
	return listing.List(ctx, s.engine, storage.Query{Scope: operator(false)}, p)
}
