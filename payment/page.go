package payment

import (
	"context"
	"crypto/subtle"
	"fmt"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/provider"
)

// pageSecretLength is the length of the secret in a page's address, in characters of base 62: 190
// bits.
const pageSecretLength = 32

// Hosted holds what the page that follows a payment from a phone shows.
type Hosted struct {
	Payment  Payment
	Merchant account.Merchant
	// Number is the payer's whole number, +233XXXXXXXXX; empty after an erasure. The page shows more of
	// it than Payment does.
	Number string
	// Late says that the payment was completed when there was nothing left to pay. Contradicted says that
	// the provider has contradicted the outcome that is booked.
	Late, Contradicted bool
	// Left says that the payer has chosen another way to pay meanwhile.
	Left bool
	// Reported is what the provider has reported later than the booked outcome, and against it, and ReportedAt when;
	// also after a person has decided. Doubted says that it has contradicted itself in any way, ever.
	Reported   provider.Outcome
	ReportedAt time.Time
	Doubted    bool
	// BookedAsPaid and BookedAsUnpaid say that staff have booked by hand the opposite of the status, at DecidedAt.
	BookedAsPaid, BookedAsUnpaid bool
	DecidedAt                    time.Time
	// Deadline is the time until which the payer is asked, and Now the merchant's clock.
	Deadline, Now time.Time
	// Caller stands for the merchant, for the calls of the page.
	Caller api.Caller
}

// PageToken returns the last part of the address of the page that follows a payment from a phone.
// It cannot be guessed. A payment of another method is resource_missing.
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

// Hosted finds a payment by the token in its page's address. An unknown token is resource_missing.
func (s *Service) Hosted(ctx context.Context, token string) (*Hosted, error) {
	id, secret, _ := strings.Cut(token, "-")
	entry, caller, err := dispatch.Charges.FindInIndex(ctx, s.engine, id, "payment")
	if err != nil {
		return nil, err
	}
	h := &Hosted{
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

// Undecided returns the newest of the selected payments whose payer was asked on the phone, has not
// answered in time, and has not chosen another way to pay. It may still be approved. It considers only
// payments that held an invoice, a checkout session or a use of a QR code, and only the 100 newest in
// processing. It returns nil for none. It ignores the status and the page of the parameters.
func (s *Service) Undecided(ctx context.Context, caller api.Caller, p ListParams) (found *Payment, err error) {
	p.Status = Processing
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
