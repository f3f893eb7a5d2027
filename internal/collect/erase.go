package collect

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/storage"
)

// forget removes the payer's number, masked and whole, and e-mail address. changed reports that the payment
// had one of them. Callers leave out a payment that has not ended, because the provider still needs them.
func (r *record) forget() (changed bool) {
	changed = r.Phone != nil || r.PhoneNumber != nil || r.hasNumber()
	r.Phone, r.PhoneNumber = nil, nil
	r.forgetNumber()
	return changed
}

// forgetNumber removes the whole number and the e-mail. The masked number stays.
func (r *record) forgetNumber() {
	if r.Phoned != nil {
		r.Phoned.Number, r.Phoned.Email = "", ""
	}
}

func (r *record) hasNumber() bool {
	return r.Phoned != nil && (r.Phoned.Number != "" || r.Phoned.Email != "")
}

// forgetDeleted forgets the payer of a payment that is about to end, if the customer was deleted in
// the meantime.
func (r *record) forgetDeleted(tx *engine.Tx) error {
	if r.Customer == nil || !r.hasNumber() {
		return nil
	}
	deleted, err := pii.Deleted(tx, engine.Scope(tx.Caller), *r.Customer)
	if err != nil {
		return fmt.Errorf("payment: customer: %w", err)
	}
	if deleted {
		r.forget()
	}
	return nil
}

// EraseCustomer removes number and e-mail of a deleted customer from the payments that have ended, and
// returns the ids of all payments of the customer. Any other payment loses them when it ends.
func (s *Service) EraseCustomer(ctx context.Context, caller api.Caller, customer string) (ids []string, err error) {
	q := storage.Query{Where: engine.Where(nil, "customer", customer), Limit: api.MaxLimit}
	err = engine.UpdateEach(ctx, s.engine, caller, payments, q, func(tx *engine.Tx, o *storage.Object[record]) error {
		tx.OnCommit(func() { ids = append(ids, o.ID) })
		if !ended(o.Value.Status) || !o.Value.forget() {
			return nil
		}
		return s.write(tx, o)
	})
	return ids, err
}

// ErasePayer removes the number of a consumer from the payments and top-ups of a mode, and adds the
// ids of all payments from the wallet to ids. A top-up under way loses the number when it ends.
func (s *Service) ErasePayer(ctx context.Context, live bool, payer string, ids map[string]bool) error {
	in := engine.Within{Scope: storage.Scope{Live: live}, All: true}
	err := engine.Rewrite(ctx, s.engine, payments, in, func(o *storage.Object[record]) (bool, error) {
		if o.Value.Payer != payer {
			return false, nil
		}
		ids[o.ID] = true
		return o.Value.forget(), nil
	})
	if err != nil {
		return err
	}
	err = engine.Rewrite(ctx, s.engine, topUps, in, func(o *storage.Object[topUpRecord]) (bool, error) {
		is := o.Value.Account == payer && ended(o.Value.Status) && o.Value.Number != ""
		if is {
			o.Value.Number = ""
		}
		return is, nil
	})
	if err != nil {
		return err
	}
	return engine.Rewrite(ctx, s.engine, topUpRefunds, in, func(o *storage.Object[topUpRefund]) (bool, error) {
		is := o.Value.Account == payer && ended(o.Value.Status) && o.Value.Number != ""
		if is {
			o.Value.Number = ""
		}
		return is, nil
	})
}

// FindPhone adds to ids the ids of all ended payments from the phone with this number, and removes the
// masked number from them, so that later copies have none. It returns the number of those still under way.
func (s *Service) FindPhone(ctx context.Context, within engine.Within, number string, ids map[string]bool) (open int, err error) {
	under := map[string]bool{}
	err = engine.Rewrite(ctx, s.engine, payments, within, func(o *storage.Object[record]) (bool, error) {
		switch r := &o.Value; {
		case r.Phoned == nil || r.Phoned.Number != number:
		case ended(r.Status):
			ids[o.ID] = true
			shown := r.Phone != nil || r.PhoneNumber != nil
			r.Phone, r.PhoneNumber = nil, nil
			return shown, nil
		default:
			under[o.ID] = true
		}
		return false, nil
	})
	return len(under), err
}

// ErasePhone removes the numbers of the payments with these ids. Afterwards FindPhone finds them no
// more, so the caller erases the copies first.
func (s *Service) ErasePhone(ctx context.Context, within engine.Within, ids map[string]bool) error {
	return engine.Rewrite(ctx, s.engine, payments, within, func(o *storage.Object[record]) (bool, error) {
		return ids[o.ID] && o.Value.forget(), nil
	})
}
