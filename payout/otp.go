package payout

import (
	"github.com/seed-7082ffec/payments/api"
)

// Purpose is the use that a one-time code allows.
type Purpose string

// ForPayout is the only purpose.
const ForPayout Purpose = "PAYOUT"

// OTP describes a one-time code without its digits.
type OTP struct {
	Object  string  `json:"object"` // always "otp"
	Purpose Purpose `json:"purpose"`
	Status  string  `json:"status"` // "sent" or "verified"
	// Phone is the merchant's registered number, masked.
	Phone string `json:"phone"`
	// ExpiresAt is the deadline to verify a sent code, or to use a verified one.
	ExpiresAt api.Time `json:"expires_at"`
}

// OTPParams are a one-time code as a person entered it.
type OTPParams struct {
	// Code has six digits.
	Code    string  `json:"-" param:"code,required"`
	Purpose Purpose `json:"purpose" param:",required"`
}
