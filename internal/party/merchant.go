package party

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// The store keeps one record of a merchant for both modes, under the operator's test scope.
var merchants = storage.NewCollection[account.Merchant]("merchants", nil)

// A logo has its own record, because every payment reads the merchant.
var logos = storage.NewCollection[account.Logo]("merchant_logos", nil)

const maxLogo = 256 << 10

func checkMerchant(p *account.CreateMerchantParams) error {
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

func (s *Service) CreateMerchant(ctx context.Context, caller api.Caller, p account.CreateMerchantParams) (*account.Merchant, error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	if err := checkMerchant(&p); err != nil {
		return nil, err
	}
	m, err := engine.Execute(ctx, s.engine, caller, engine.Operation{Name: "merchant.create", Params: p}, func(tx *engine.Tx) (*account.Merchant, error) {
		id := tx.NewID("mer_")
		serviceID, err := newServiceID(tx, ownerMerchant, id, false, true)
		if err != nil {
			return nil, err
		}
		m := &account.Merchant{
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

// applyMerchant returns the merchant's parameters after the change.
func applyMerchant(p *account.UpdateMerchantParams, m *account.Merchant) (*account.CreateMerchantParams, error) {
	all := &account.CreateMerchantParams{Name: m.Name, Phone: m.Phone, Email: m.Email, Address: m.Address, Logo: p.Logo}
	for _, field := range []struct{ to, from *string }{
		{&all.Name, p.Name}, {&all.Phone, p.Phone}, {&all.Email, p.Email}, {&all.Address, p.Address},
	} {
		engine.SetGiven(field.to, field.from)
	}
	return all, checkMerchant(all)
}

func (s *Service) UpdateMerchant(ctx context.Context, caller api.Caller, id string, p account.UpdateMerchantParams) (*account.Merchant, error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	// Parameters that are wrong for any merchant are refused before the read.
	if _, err := applyMerchant(&p, &account.Merchant{Name: "any"}); err != nil {
		return nil, err
	}
	op := engine.Operation{Name: "merchant.update", Params: struct {
		ID string `json:"id"`
		account.UpdateMerchantParams
	}{id, p}}
	m, err := engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*account.Merchant, error) {
		o, err := engine.GetTx(tx, merchants, operator(false), id, "merchant")
		if err != nil {
			return nil, err
		}
		all, err := applyMerchant(&p, &o.Value)
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
		o.Value = account.Logo{Data: data, Type: logoType(data)}
		err = logos.Put(tx, o)
	case o.Version > 0:
		err = logos.Delete(tx, o)
	}
	if err != nil {
		return fmt.Errorf("account: replace logo: %w", err)
	}
	return nil
}

func (s *Service) GetLogo(ctx context.Context, _ api.Caller, merchant string) (*account.Logo, error) {
	var logo *account.Logo
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

func (s *Service) GetMerchant(ctx context.Context, caller api.Caller, id string) (*account.Merchant, error) {
	if caller.Merchant != "" && caller.Merchant != id {
		return nil, api.NoSuch("merchant")
	}
	var m *account.Merchant
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		var err error
		m, err = getMerchant(tx, id)
		return err
	})
	return m, err
}

func getMerchant(tx storage.ReadTx, id string) (*account.Merchant, error) {
	o, err := engine.GetTx(tx, merchants, operator(false), id, "merchant")
	if err != nil {
		return nil, err
	}
	return &o.Value, nil
}

func (s *Service) ListMerchants(ctx context.Context, caller api.Caller, p api.Page) (*api.List[account.Merchant], error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	listing := engine.Listing[account.Merchant, account.Merchant]{
		Collection: merchants, Noun: "merchant", Show: func(m *account.Merchant) account.Merchant { return *m },
	}
	return listing.List(ctx, s.engine, storage.Query{Scope: operator(false)}, p)
}
