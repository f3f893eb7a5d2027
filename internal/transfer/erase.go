package transfer

import (
	"context"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage"
)

// Payee identifies the recipient to erase from transfers.
type Payee struct {
	account     string // acc_… or cag_…, or
	destination *payout.Destination
	target      *target
}

// WalletPayee is the holder of a wallet or float.
func WalletPayee(account string) Payee { return Payee{account: account} }

// ExternalPayee identifies the holder of a phone or bank account. With the name it also finds
// transfers whose number the retention rule has removed. Refusals: those of a destination, and
// parameter_invalid for a service wallet.
func (*Service) ExternalPayee(d payout.DestinationParams) (Payee, error) {
	shown, to, err := parseDestination(&d, nil)
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
func (p *Payee) matches(d *payout.Destination, to *target) bool {
	switch {
	case p.account != "":
		return d.AccountID == p.account
	case to != nil:
		return to.Number == p.target.Number && to.BankCode == p.target.BankCode
	}
	return p.matchesShown(d)
}

// matchesRequest reports whether the destination of a transfer that is yet to be made is the payee's.
// shown is its masked form.
func (p *Payee) matchesRequest(shown *payout.Destination, d payout.DestinationParams) bool {
	_, to, _ := parseDestination(&d, nil) // an error leaves the masked form
	return p.matches(shown, to)
}

// matchesShown reports whether a masked destination is the payee's.
func (p *Payee) matchesShown(d *payout.Destination) bool {
	if p.account != "" {
		return d.AccountID == p.account
	}
	return d.Type == p.destination.Type && d.Number == p.destination.Number && d.Name != "" && d.Name == p.destination.Name
}

// FindPayee adds to ids the ids of all ended transfers to a payee. It returns the number of transfers
// still under way, and of rows of batches that wait to become one.
func (s *Service) FindPayee(ctx context.Context, within engine.Within, p Payee, ids map[string]bool) (open int, err error) {
	queued, err := s.countQueued(ctx, within, p) // first: a row that is made meanwhile counts as a transfer
	if err != nil {
		return 0, err
	}
	under := map[string]bool{}
	for _, v := range variants {
		err := engine.Rewrite(ctx, s.engine, collection(v), within, func(found *storage.Object[record]) (bool, error) {
			switch r := &found.Value; {
			case !p.matches(&r.Destination, r.To):
			case final(r.Status):
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
	return queued + len(under), nil
}

// ErasePayee removes the name and number of the payee from transfers. Afterwards a search for the
// payee finds nothing, so the caller must first erase the copies in other records, which it finds
// by these ids.
func (s *Service) ErasePayee(ctx context.Context, within engine.Within, ids map[string]bool) error {
	for _, v := range variants {
		err := engine.Rewrite(ctx, s.engine, collection(v), within, func(found *storage.Object[record]) (bool, error) {
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

// countQueued returns the number of a payee's queued rows, which keep the name and the number.
func (s *Service) countQueued(ctx context.Context, within engine.Within, p Payee) (int, error) {
	queued := map[string]bool{}
	err := engine.Rewrite(ctx, s.engine, rows, within, func(o *storage.Object[rowRecord]) (bool, error) {
		if r := &o.Value; r.Status == disbursement.RowQueued && p.matchesRequest(&r.Destination, r.Params.Destination) {
			queued[r.ID] = true
		}
		return false, nil
	})
	return len(queued), err
}

// ErasePayeeRows removes the name of a payee from batch rows: from rows with a disbursement in ids,
// and from the payee's refused rows.
func (s *Service) ErasePayeeRows(ctx context.Context, within engine.Within, p Payee, ids map[string]bool) error {
	return engine.Rewrite(ctx, s.engine, rows, within, func(o *storage.Object[rowRecord]) (bool, error) {
		r := &o.Value
		if r.Status == disbursement.RowQueued || !ids[r.DisbursementID] && !p.matchesShown(&r.Destination) {
			return false, nil
		}
		changed := r.Destination.Name != ""
		r.Destination.Name = ""
		return changed, nil
	})
}
