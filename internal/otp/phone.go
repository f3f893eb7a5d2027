package otp

import (
	"strconv"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage"
)

// Phone is a phone whose holder is to agree to charges by a code, and what was tried before. It is a part of
// the record that the charges are for.
type Phone struct {
	// Number is the phone, +233…; empty when none waits for its code.
	Number string `json:"number,omitempty"`
	State
	ExpiresAt api.Time `json:"expires_at,omitzero"`
}

// Purpose says what a phone's code is for, so that it is right nowhere else: what its holder agrees to, and
// the object.
type Purpose struct {
	What  string
	Scope storage.Scope
	ID    string
}

// Ask begins a code for a number in place of an earlier one, and counts the send; see [State.Start].
// [Code.Draw] follows.
func (p *Phone) Ask(now time.Time, live bool, id, number string, perDay int) error {
	if err := p.Start(now, live, id, perDay); err != nil {
		return err
	}
	p.Number, p.ExpiresAt = number, api.At(now.Add(Life))
	return nil
}

// About is what the code is bound to.
func (p *Phone) About(of Purpose) []string {
	return []string{of.What, of.Scope.Merchant, strconv.FormatBool(of.Scope.Live), of.ID, p.ID, p.Number}
}

// Confirm checks the digits. p may be nil. counted says that the caller writes the counts, though the digits
// are refused; see [Counts.Guess].
func (p *Phone) Confirm(now time.Time, keys [][]byte, digits string, of Purpose) (counted bool, refusal *api.Error) {
	if p == nil || p.Number == "" {
		return false, api.Errorf(api.OTPInvalid, "code", "No code was sent. Send one first.")
	}
	return p.Check(now, of.Scope.Live, !now.Before(p.ExpiresAt.Time), keys, digits, p.About(of)...)
}

// Waits reports whether the phone waits for its code. p may be nil.
func (p *Phone) Waits(now time.Time) bool {
	return p != nil && p.Number != "" && now.Before(p.ExpiresAt.Time)
}

// Forget forgets the number and its code, and keeps the counts. p may be nil.
func (p *Phone) Forget() {
	if p != nil {
		p.Number, p.Code = "", Code{}
	}
}
