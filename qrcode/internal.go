package qrcode

import (
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
)

// Internal holds the methods that sibling packages call in their own transactions. Only package
// payments has one, so a host cannot call it.
type Internal struct{ svc *Service }

// TakesPayment reports whether an approved payment from a phone may use the code. It may if its hold is
// active, or if a use is free that no other payment holds. A process whose clock is ahead may have seen the
// hold end, and have given the use to another payer.
func (i *Internal) TakesPayment(tx *engine.Tx, p *payment.Incoming) (bool, error) {
	if !p.HadHold {
		return true, nil
	}
	code, err := engine.OrNil(codes.Get(tx, engine.Scope(tx.Caller), *p.QRCode))
	if err != nil {
		return false, err
	}
	if code == nil {
		return p.HoldActive, nil
	}
	if c := &code.Value; p.HoldActive {
		return c.UsageCount < *c.UsageLimit, nil
	}
	return i.svc.free(tx, tx.Now, code)
}

// CountUse counts the use of a code by a payment from a phone that is completed. A deleted code
// counts none.
func (i *Internal) CountUse(tx *engine.Tx, id string) error {
	code, err := engine.OrNil(codes.Get(tx, engine.Scope(tx.Caller), id))
	if code == nil || err != nil {
		return err
	}
	i.svc.setURL(&code.Value)
	return i.svc.countUse(tx, code)
}

// Redemption is the consumer and the amount of a code that was used.
type Redemption struct {
	// Account is the consumer's id.
	Account string
	// Amount is in pesewas; nil when the code has none.
	Amount *int64
}

// Decode returns the id of the consumer's code that a payload names, for
// [Internal.Redeem]. Refusals: invalid_qr, invalid_consumer_qr.
func (i *Internal) Decode(live bool, payload string) (id string, err error) {
	return i.svc.decodePayload(live, payload)
}

// Redeem counts a use of a consumer's code, in the transaction of its payment. So no limit is
// exceeded.
//
// Refusals: invalid_consumer_qr, qr_limit_reached, qr_inactive, qr_expired. The last two also
// refuse static codes, because money is about to move.
func (*Internal) Redeem(tx *engine.Tx, id string) (*Redemption, error) {
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

// PayWithoutPIN pays a code from the wallet of a consumer, whatever the PIN. It is for the benchmark of this
// package: a PIN takes long to compare, by design. The tests are all external, because with one inside, each
// build of the tests compiles all packages above this one anew.
func (i *Internal) PayWithoutPIN(tx *engine.Tx, code string, p PayParams, consumer string) (*payment.Payment, error) {
	from, err := i.svc.accounts.Payer(tx, tx.Caller.Live, account.WalletRef{AccountID: consumer})
	if err == nil {
		err = from.Usable()
	}
	if err != nil {
		return nil, err
	}
	return i.svc.payTx(tx, code, p, from)
}
