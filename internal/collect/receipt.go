package collect

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/pace"
	"github.com/seed-7082ffec/payments/payment"
)

// receipts bounds how often SendReceipt sends the receipt of one payment.
var receipts = pace.Limit{Hour: 5, Day: 20}

func (s *Service) SendReceipt(ctx context.Context, caller api.Caller, id string) (*payment.Payment, error) {
	op := engine.Operation{Name: "payment.send_receipt", Params: id}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*payment.Payment, error) {
		o, err := get(tx, engine.Scope(caller), id)
		if err != nil {
			return nil, err
		}
		r := &o.Value
		r.fillDerived()
		if r.Status != payment.Completed {
			return nil, api.Invalid("id", "This payment is not completed, so there is no receipt.")
		}
		if r.Phoned != nil && r.Phoned.Late { // an SMS told the payer so
			return nil, api.Invalid("id", "This payment came when there was nothing left to pay, so there is no receipt.")
		}
		person, number, err := s.receiptTo(tx, r)
		if err != nil {
			return nil, err
		}
		if number == "" {
			return nil, api.Invalid("id", "No number of the payer is known, so the receipt cannot be texted.")
		}
		if !s.config.Messages.CanText(caller.Live) {
			return nil, api.Errorf(api.Unavailable, "", "The payer cannot be texted in live mode at the moment. Ask the operator.")
		}
		if r.Receipts, err = receipts.Take(r.Receipts, tx.Now, "This receipt was sent"); err != nil {
			return nil, err
		}
		m, err := s.config.Accounts.Merchant(tx, caller.Merchant)
		if err != nil {
			return nil, fmt.Errorf("payment: merchant: %w", err)
		}
		if err := s.Text(tx, person, number, s.receiptText(&r.Payment, m)); err != nil {
			return nil, err
		}
		return &r.Payment, s.write(tx, o)
	})
}

// receiptTo returns the number of the payer, or "", and the person whose erasure removes the message; see
// [messaging.Service.Text].
func (s *Service) receiptTo(tx *engine.Tx, r *record) (person, number string, err error) {
	if r.Phoned != nil {
		return r.ID, r.Phoned.Number, nil
	}
	if r.Payer == "" {
		return "", "", nil
	}
	from, err := s.config.Accounts.Consumer(tx, tx.Caller.Live, r.Payer)
	switch {
	case api.CodeOf(err) == api.ResourceMissing:
		return "", "", nil
	case err != nil:
		return "", "", fmt.Errorf("payment: payer: %w", err)
	}
	return r.Payer, from.Phone, nil
}

func (s *Service) receiptText(p *payment.Payment, m *account.Merchant) string {
	return fmt.Sprintf("You paid GHS %s to %s. Payment %s.", money.Text(p.Amount), s.config.Messages.Name(m.Name), p.ID)
}
