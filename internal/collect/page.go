package collect

import (
	"context"
	"crypto/subtle"
	"fmt"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/payment"
)

// pageSecretLength is the length of the secret in a page's address, in characters of base 62: 190
// bits.
const pageSecretLength = 32

func (s *Service) PageToken(ctx context.Context, caller api.Caller, id string) (string, error) {
	p, err := s.Payer(ctx, caller, id)
	if err != nil {
		return "", err
	}
	if p.PageToken == "" {
		return "", api.NoSuch("payment")
	}
	return p.PageToken, nil
}

func (s *Service) Hosted(ctx context.Context, token string) (*payment.Hosted, error) {
	id, secret, _ := strings.Cut(token, "-")
	entry, caller, err := orders.Charges.FindInIndex(ctx, s.engine, id, "payment")
	if err != nil {
		return nil, err
	}
	h := &payment.Hosted{
		Caller: caller, Contradicted: entry.Contradiction != "", Reported: entry.Reported, Doubted: entry.Contradiction != "" || entry.Resolved != "",
	}
	if entry.ReportedAt != nil {
		h.ReportedAt = entry.ReportedAt.Time
	}
	if entry.ResolvedAt != nil {
		h.DecidedAt = entry.ResolvedAt.Time
	}
	err = s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		o, err := get(tx, engine.Scope(caller), id)
		if err != nil {
			return err
		}
		r := &o.Value
		if r.Phoned == nil || subtle.ConstantTimeCompare([]byte(secret), []byte(r.Phoned.PageSecret)) == 0 {
			return api.NoSuch("payment")
		}
		m, err := s.config.Accounts.Merchant(tx, caller.Merchant)
		if err != nil {
			return fmt.Errorf("payment: merchant: %w", err)
		}
		h.Number, h.Late, h.Left = r.Phoned.Number, r.Phoned.Late, r.Phoned.Left
		if h.BookedAsPaid, h.BookedAsUnpaid = r.bookedAsPaid(), r.bookedAsUnpaid(); h.BookedAsPaid || h.BookedAsUnpaid {
			h.DecidedAt = r.Decision.At.Time
		}
		h.Payment, h.Merchant, h.Deadline, h.Now = r.Payment, *m, r.Deadline.Time, tx.Now
		return nil
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

func (s *Service) Undecided(ctx context.Context, caller api.Caller, p payment.ListParams) (found *payment.Payment, err error) {
	p.Status = payment.Processing
	q := engine.Query(caller, p)
	q.Limit = api.MaxLimit
	err = s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		page, _, err := payments.List(tx, q)
		if err != nil {
			return fmt.Errorf("payment: list undecided: %w", err)
		}
		for _, o := range page {
			r := &o.Value
			if r.Phoned != nil && r.Phoned.Held != "" && !r.Phoned.Left && !r.holdsAt(tx.Now) {
				found = &r.Payment
				return nil
			}
		}
		return nil
	})
	return found, err
}
