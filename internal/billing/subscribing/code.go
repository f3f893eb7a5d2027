package subscribing

import (
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/otp"
)

// codesPerDay bounds the codes of a subscription, or of a checkout session, in a day.
const codesPerDay = 20

// CodeParams describe a code with which a phone's holder agrees to be charged for a plan.
type CodeParams struct {
	// Number gets the code, and From is the network address of a payer on a public page; empty for any
	// other call.
	Number, From string
	// Customer is the customer's id, for the erasure of the SMS. Plan is the plan's name.
	Customer, Plan string
	// Digits are the code's; empty to draw them.
	Digits string
}

// SendCode sends a code by SMS, and keeps in c what checks the code. c is a part of the object that the charges
// are for, and of names that object. The caller writes the object.
//
// Refusals: rate_limited, otp_attempts_exceeded; service_unavailable in live mode without a Texter.
func (s *Service) SendCode(tx *engine.Tx, c *otp.Phone, of otp.Purpose, p CodeParams) error {
	return s.sendCode(tx, c, of, p)
}

func (s *Service) sendCode(tx *engine.Tx, c *otp.Phone, of otp.Purpose, p CodeParams) error {
	if err := s.canSendCodes(tx.Caller.Live); err != nil {
		return err
	}
	if err := c.Ask(tx.Now, tx.Caller.Live, tx.NewID("otp_"), p.Number, codesPerDay); err != nil {
		return err
	}
	if err := s.config.Payments.CountCode(tx, p.Number, p.From); err != nil {
		return err
	}
	digits, key, about := p.Digits, s.engine.ServerKeys[0], c.About(of)
	if digits == "" {
		digits = c.Draw(key, about...)
	} else {
		c.Set(key, digits, about...)
	}
	m, err := s.config.Accounts.Merchant(tx, tx.Caller.Merchant)
	if err != nil {
		return fmt.Errorf("subscription: merchant: %w", err)
	}
	text := fmt.Sprintf("%s is your code to let %s charge this phone for %s. It is valid for 10 minutes. Do not tell it to anybody.",
		digits, s.config.Messages.CodeName(m.Name, "a merchant"), s.config.Messages.CodeName(p.Plan, "a subscription"))
	return s.config.Messages.Text(tx, p.Customer, p.Number, text)
}

// canSendCodes refuses codes that no Texter would send.
func (s *Service) canSendCodes(live bool) error {
	if !s.config.Messages.CanText(live) {
		return api.Errorf(api.Unavailable, "", "Codes cannot be sent in live mode at the moment. Try again later.")
	}
	return nil
}
