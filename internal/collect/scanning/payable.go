package scanning

import (
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
)

// TakesPayment returns why an approved payment from a phone may not use the code; "" if it may. With an active
// hold it may if a use is left. Once its hold has ended, it may if no other payment holds the use. An active
// hold alone is not enough: a process whose clock is ahead may have seen the hold end, and given the use to
// another payer.
func (s *Service) TakesPayment(tx *engine.Tx, p *collect.Incoming) (why string, err error) {
	if !p.HadHold {
		return "", nil
	}
	code, err := engine.OrNil(qrCodes.Get(tx, engine.Scope(tx.Caller), *p.QRCode))
	if err != nil {
		return "", err
	}
	if code == nil {
		if p.HoldActive {
			return "", nil
		}
		return collect.CodeDeleted, nil
	}
	free := false
	if c := &code.Value; p.HoldActive {
		free = c.UsageCount < *c.UsageLimit
	} else if free, err = s.free(tx, tx.Now, code); err != nil {
		return "", err
	}
	if !free {
		return collect.CodeUsedUp, nil
	}
	return "", nil
}

// PaymentEnded counts the use of a code by a payment from a phone that is completed. A deleted code
// counts none.
func (s *Service) PaymentEnded(tx *engine.Tx, p *collect.Ended) error {
	if p.Status != payment.Completed {
		return nil
	}
	code, err := engine.OrNil(qrCodes.Get(tx, engine.Scope(tx.Caller), *p.QRCode))
	if code == nil || err != nil {
		return err
	}
	s.setURL(&code.Value)
	return s.countUse(tx, code)
}

// Redemption is the consumer and the amount of a code that was used.
type Redemption struct {
	// Account is the consumer's id.
	Account string
	// Amount is in pesewas; nil when the code has none.
	Amount *int64
}

// Decode returns the id of the consumer's code that a payload names, for
// [Service.Redeem]. Refusals: invalid_qr, invalid_consumer_qr.
func (s *Service) Decode(live bool, payload string) (id string, err error) {
	return s.decodePayload(live, payload)
}

// Redeem counts a use of a consumer's code, in the transaction of its payment. So no limit is
// exceeded.
//
// Refusals: invalid_consumer_qr, qr_limit_reached, qr_inactive, qr_expired. The last two also
// refuse static codes, because money is about to move.
func (*Service) Redeem(tx *engine.Tx, id string) (*Redemption, error) {
	o, err := consumerCodes.Get(tx, storage.Scope{Live: tx.Caller.Live}, id)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, errNotConsumerCode()
	}
	if err != nil {
		return nil, fmt.Errorf("qrcode: use: %w", err)
	}
	c := &o.Value
	if err := usable(c.UsageLimit, c.UsageCount, c.Active, c.ExpiresAt, tx.Now); err != nil {
		return nil, err
	}
	c.UsageCount++
	if c.UsageLimit != nil && c.UsageCount >= *c.UsageLimit {
		c.Active = false
	}
	if err := consumerCodes.Replace(tx, o); err != nil {
		return nil, fmt.Errorf("qrcode: count use: %w", err)
	}
	return &Redemption{Account: c.Account, Amount: c.Amount}, nil
}

// In returns a copy of the service that works in e, the engine of a host's transaction.
func (s *Service) In(e *engine.Engine) *Service {
	in := *s
	in.engine = e
	return &in
}
