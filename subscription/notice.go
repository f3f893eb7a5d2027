package subscription

import (
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/invoice"
)

// notices reports whether an SMS is to announce the next automatic charge.
func (s *Service) notices(r *record) bool {
	return r.Livemode && !s.config.NoChargeNotice && r.CollectionMethod == invoice.ChargeAutomatically &&
		!r.Noticed && !r.CancelAtPeriodEnd && r.Status != Paused
}

// chargeTime returns when the next period is charged.
func (s *Service) chargeTime(r *record) time.Time {
	return s.config.Invoices.ChargeTime(r.Livemode, r.periodEnd())
}

// notice queues the SMS that announces the next automatic charge. One that comes too late, or of which
// nothing is due, is not announced.
func (s *Service) notice(t *turn, r *record) ([]event.Type, error) {
	r.Noticed = true
	at := s.chargeTime(r)
	if !t.tx.Now.Before(at) {
		return nil, nil
	}
	priced, err := s.config.Invoices.PriceSubscription(r.nextPeriod().price())
	if err != nil || priced.Total == 0 {
		return nil, err
	}
	m, err := s.config.Accounts.Merchant(t.tx, t.tx.Caller.Merchant)
	if err != nil {
		return nil, fmt.Errorf("subscription: merchant: %w", err)
	}
	text := fmt.Sprintf("On %s %s will ask this phone to pay GHS %s for %s. See or cancel it: %s",
		at.Format("2 January"), s.config.Messages.Name(m.Name), money.Text(priced.Total), s.config.Messages.Name(r.Terms.Name), r.ManageURL)
	return nil, s.config.Messages.Text(t.tx, r.Customer, r.Phone, text)
}
