package payment

import "errors"

// PromptLimits bound how often one phone is asked to approve a payment, over all merchants. A phone
// that has an open prompt, whose payment has neither ended nor passed its deadline, gets no other.
// The limits hold in live mode. A negative number turns one off.
//
// Scheduled charges are counted apart from those that a payer or a merchant's server starts, so that neither use
// up the numbers of the other. On public pages an address may ask one phone less often: Recent less one, and
// half of Day.
type PromptLimits struct {
	// Recent is the largest number in any 10 minutes, and Day that in any 24 hours.
	Recent, Day int
}

// DefaultPromptLimits are the limits if the host sets none.
var DefaultPromptLimits = PromptLimits{Recent: 3, Day: 20}

// ErrPhoneAsked is the cause of too_many_prompts for a phone that is asked to approve a payment at the moment.
var ErrPhoneAsked = errors.New("payment: the phone is asked at the moment")
