package payout

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/transfer"
	"github.com/seed-7082ffec/payments/storage"
)

// Payee identifies the recipient to erase from transfers.
type Payee struct {
	account     string // acc_… or cag_…, or
	destination *Destination
	target      *target
}

// WalletPayee is the holder of a wallet or float.
func WalletPayee(account string) Payee { return Payee{account: account} }

// ExternalPayee identifies the holder of a phone or bank account. With the name it also finds
// transfers whose number the retention rule has removed. Refusals: those of a destination, and
// parameter_invalid for a service wallet.
func (*Internal) ExternalPayee(d DestinationParams) (Payee, error) {
	shown, to, err := d.check(nil)
	if err == nil && to == nil {
		err = api.Invalid("destination.type", "destination.type must be mobile_money or bank_transfer. The holder of a wallet is erased by the operator.")
	}
	return Payee{destination: shown, target: to}, err
}

// Phone is the number of a payee with a mobile-money account, +233…; empty for any other.
func (p *Payee) Phone() string {
	if p.target == nil || p.target.BankCode != "" {
		return ""
	}
	return p.target.Number
}

// ShownNumber is the masked number of a phone or bank account; empty for a wallet.
func (p *Payee) ShownNumber() string {
	if p.destination == nil {
		return ""
	}
	return p.destination.Number
}

// matches reports whether a destination is the payee's. to is nil if only the masked form is
// known.
func (p *Payee) matches(d *Destination, to *target) bool {
	switch {
	case p.account != "":
		return d.AccountID == p.account
	case to != nil:
		return to.Number == p.target.Number && to.BankCode == p.target.BankCode
	}
	return p.MatchesShown(d)
}

// MatchesRequest reports whether the destination of a transfer that is yet to be made is the payee's.
// shown is its masked form.
func (p *Payee) MatchesRequest(shown *Destination, d DestinationParams) bool {
	_, to, _ := d.check(nil) // an error leaves the masked form
	return p.matches(shown, to)
}

// MatchesShown reports whether a masked destination is the payee's.
func (p *Payee) MatchesShown(d *Destination) bool {
	if p.account != "" {
		return d.AccountID == p.account
	}
	return d.Type == p.destination.Type && d.Number == p.destination.Number && d.Name != "" && d.Name == p.destination.Name
}

// FindPayee adds to ids the ids of all ended transfers to a payee. It returns the number of
// transfers still under way.
func (in *Internal) FindPayee(ctx context.Context, within engine.Within, p Payee, ids map[string]bool) (open int, err error) {
	under := map[string]bool{}
	for _, v := range transfer.Variants {
		err := engine.Rewrite(ctx, in.engine, collection(v), within, func(found *storage.Object[record]) (bool, error) {
			switch r := &found.Value; {
			case !p.matches(&r.Destination, r.To):
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

// ErasePayee removes the name and number of the payee from transfers. Afterwards a search for the
// payee finds nothing, so the caller must first erase the copies in other records, which it finds
// by these ids.
func (in *Internal) ErasePayee(ctx context.Context, within engine.Within, ids map[string]bool) error {
	for _, v := range transfer.Variants {
		err := engine.Rewrite(ctx, in.engine, collection(v), within, func(found *storage.Object[record]) (bool, error) {
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
