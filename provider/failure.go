package provider

// Failure says for programs why a charge or a refund has failed. Pages and messages choose their words by it.
type Failure string

// The failures.
const (
	FailureDeclined          Failure = "declined"           // the payer, or the payer's account, said no
	FailureInsufficientFunds Failure = "insufficient_funds" // the account that pays has too little
	FailureTimeout           Failure = "timeout"            // the payer did not answer in time
	FailureWrongCode         Failure = "wrong_code"         // the payer's code or PIN was wrong too often
	FailureCancelled         Failure = "cancelled"          // it was cancelled at the provider
	FailureLimit             Failure = "limit"              // the amount is above a limit of the account or the network
	FailureOther             Failure = "other"
)

// OrOther returns the failure, or FailureOther for one that is not listed above.
func (f Failure) OrOther() Failure {
	switch f {
	case FailureDeclined, FailureInsufficientFunds, FailureTimeout, FailureWrongCode, FailureCancelled, FailureLimit:
		return f
	}
	return FailureOther
}
