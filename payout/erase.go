package payout

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Payee is who is erased from transfers.
type Payee struct {
	account string // acc_… or cag_…, or
	shown   *Destination
	to      *target
}

// WalletPayee is the holder of a wallet or float.
func WalletPayee(account string) Payee { return Payee{account: account} }

// ExternalPayee is who holds a phone or bank account. The name finds transfers whose
// number is no longer kept. Refusals: those of a destination, and parameter_invalid for a
// service wallet.
func (o *Outgoing) ExternalPayee(d DestinationParams) (Payee, error) {
	shown, to, err := d.check(o.config.Banks)
	if err == nil && to == nil {
		err = api.Invalid("destination.type", "destination.type must be mobile_money or bank_transfer. The holder of a wallet is erased by the operator.")
	}
	return Payee{shown: shown, to: to}, err
}

// Is reports whether a destination is the payee's; to is nil where only the shown form is
// known.
func (p *Payee) is(d *Destination, to *target) bool {
	switch {
	case p.account != "":
		return d.AccountID == p.account
	case to != nil:
		return to.Number == p.to.Number && to.BankCode == p.to.BankCode
	}
	return p.Shown(d)
}

// Shown reports whether a destination, as it is shown, is the payee's.
func (p *Payee) Shown(d *Destination) bool {
	if p.account != "" {
		return d.AccountID == p.account
	}
	return d.Type == p.shown.Type && d.Number == p.shown.Number && d.Name != "" && d.Name == p.shown.Name
}

// FindPayee adds the ids of all transfers to a payee that have ended to ids. It returns
// how many are still under way.
func (o *Outgoing) FindPayee(ctx context.Context, in engine.Within, p Payee, ids map[string]bool) (open int, err error) {
	under := map[string]bool{}
	for _, n := range nouns {
		err := engine.Rewrite(ctx, o.engine, n.transfers, in, func(found *storage.Object[record]) (bool, error) {
			switch r := &found.Value; {
			case !p.is(&r.Destination, r.To):
			case r.Status.final():
				ids[r.ID] = true
			default:
				under[r.ID] = true
			}
			return false, nil
		})
		if err != nil {
			return 0, err
		}
	}
	return len(under), nil
}

// ErasePayee takes name and number of the payee off transfers. Nothing finds them after
// that, so what goes by their ids is erased before.
func (o *Outgoing) ErasePayee(ctx context.Context, in engine.Within, ids map[string]bool) error {
	for _, n := range nouns {
		err := engine.Rewrite(ctx, o.engine, n.transfers, in, func(found *storage.Object[record]) (bool, error) {
			r := &found.Value
			if !ids[r.ID] {
				return false, nil
			}
			changed := r.To != nil || r.Destination.Name != ""
			r.To, r.Destination.Name = nil, ""
			return changed, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
