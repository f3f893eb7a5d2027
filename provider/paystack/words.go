package paystack

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
)

const notApproved api.Code = "not_approved"

// settled is how long after the first submission a lost request may still arrive at Paystack. Until
// then a refusal of a later request does not end the order.
const settled = 10 * time.Minute

// transferWords are the statuses of a transfer. Any other is InProgress.
var transferWords = map[string]provider.Outcome{
	"pending":   provider.InProgress,
	"received":  provider.InProgress, // waits for the approval URL of the dashboard
	"otp":       provider.InProgress, // waits for a code: transfers need OTP switched off
	"success":   provider.Paid,
	"failed":    provider.Refused,
	"abandoned": provider.Refused, // no OTP within 30 minutes
	"blocked":   provider.Refused, // the approval URL did not answer
	"rejected":  provider.Refused, // the approval URL said no
	"reversed":  provider.Reversed,
}

// transferReasons say why, for the words of a transfer that did not happen.
var transferReasons = map[string]provider.Refusal{
	"failed":    {Code: api.RecipientUnavailable, Message: "The transfer failed at the recipient's bank or network."},
	"abandoned": {Code: notApproved, Message: "The operator did not approve the transfer in time."},
	"blocked":   {Code: notApproved, Message: "The operator's approval did not answer."},
	"rejected":  {Code: notApproved, Message: "The operator did not approve the transfer."},
	"reversed":  {Code: api.RecipientUnavailable, Message: "The recipient's bank or network returned the money."},
}

// chargeWords are the statuses of a charge, from the calls that charge and from those that verify.
// Any other is InProgress.
var chargeWords = map[string]provider.Outcome{
	"pending":       provider.InProgress,
	"pay_offline":   provider.InProgress, // the payer approves on the phone
	"send_otp":      provider.InProgress, // the payer enters a code
	"ongoing":       provider.InProgress,
	"processing":    provider.InProgress,
	"queued":        provider.InProgress,
	"timeout":       provider.InProgress, // the verification decides
	"send_pin":      provider.InProgress, // this and the next: of cards
	"send_phone":    provider.InProgress,
	"send_birthday": provider.InProgress,
	"send_address":  provider.InProgress,
	"open_url":      provider.InProgress,
	// The payer has not paid yet. Paystack says so from the beginning, and still reports success if
	// the payer does pay. See (transaction).result for when it ends a charge.
	"abandoned": provider.InProgress,

	"success": provider.Paid,

	"failed":   provider.Refused,
	"reversed": provider.Reversed, // unless it was refunded for us, see (transaction).afterReturn
}

// needsCode is the status of a charge that waits for a code of the payer.
const needsCode = "send_otp"

// refundWords are the statuses of a refund. Any other is InProgress.
var refundWords = map[string]provider.Outcome{
	"pending":         provider.InProgress,
	"processing":      provider.InProgress,
	"needs-attention": provider.InProgress, // the operator gives the payer's account in the dashboard
	"processed":       provider.Paid,
	"failed":          provider.Refused,
}

// resolutions are the ends of a dispute: true for those that take the money back. Any other decides
// nothing, such as none before the end.
var resolutions = map[string]bool{
	"merchant-accepted": true,
	"auto-accepted":     true, // the operator did not answer in time
	"declined":          false,
}

// outcome looks a status up. A word that Paystack may introduce later decides nothing.
func outcome(words map[string]provider.Outcome, word string) provider.Outcome {
	if o, ok := words[word]; ok {
		return o
	}
	return provider.InProgress
}

// meaning says what a rejection tells about the order.
type meaning int

const (
	unclear   meaning = iota // not in the table, so nothing
	duplicate                // Paystack has the reference: ask about it
	notFound                 // Paystack has never seen the reference
	refused                  // Paystack does not carry out the order
	wrongCode                // the payer's code was wrong
	badEmail                 // the payer's address is not accepted
	wentBack                 // the charge of a refund went back in full, perhaps by this refund
	repair                   // the operator has to mend something; the order waits until then
)

// rejections are what Paystack's list of errors says of the calls made here. A part of the message or
// of the code matches, in lower case; the first row counts. Paystack documents the messages and few
// codes (unconfirmed: which codes come with them).
var rejections = []struct {
	meaning meaning
	reason  provider.Refusal
	parts   []string
	on      string // the call that the row is about; empty for all
}{
	{duplicate, provider.Refusal{}, []string{
		"reference already exists on a transfer", "provide a unique reference", "duplicate transaction reference",
		"duplicate charge request", "duplicate_reference",
	}, ""},
	{notFound, provider.Refusal{}, []string{
		"transfer not found", "transfer_not_found", "transaction reference not found", "transaction not found", "transaction_not_found", "entity not found",
	}, ""},

	// Recipients, transfers and names.
	{refused, provider.Refusal{Code: api.InvalidDestination}, []string{
		"account number is invalid", "account number should be numeric", "account number must be at least", "cannot resolve account",
		"could not resolve account", "bank is invalid", "bank code is invalid", "unknown bank code", "recipient specified is invalid", "account closed",
	}, ""},
	{refused, provider.Refusal{Code: api.RecipientUnavailable}, []string{"make the transfer to this recipient"}, ""},
	{refused, provider.Refusal{Code: api.ProviderBalanceInsufficient, Message: "The operator has too little money at Paystack."}, []string{
		"balance is not enough", "insufficient balance",
	}, ""},

	// Charges.
	{wrongCode, provider.Refusal{Message: "The code was wrong. Enter it again, or get a new one."}, []string{"provided registration token is invalid"}, ""},
	{wrongCode, provider.Refusal{Message: "Too many wrong codes. Wait some minutes before you enter another."}, []string{"too many attempts"}, ""},
	{badEmail, provider.Refusal{}, []string{"invalid email address", "email address is required", "email is not allowed to be empty"}, ""},
	{refused, provider.Refusal{Message: "The payer's balance is too low.", Failure: provider.FailureInsufficientFunds}, []string{"insufficient funds"}, "POST /charge"},
	{refused, provider.Refusal{Message: "The payment was declined.", Failure: provider.FailureDeclined}, []string{"declined", "charge attempt cannot be fulfilled"}, ""},
	{refused, provider.Refusal{Message: "Paystack's fraud check refused the payment."}, []string{"denied by fraud system", "unable to process transaction"}, ""},
	{refused, provider.Refusal{Message: "The amount is above what Paystack charges at once.", Failure: provider.FailureLimit}, []string{"transaction amount limit exceeded", "watch your spending"}, ""},
	{refused, provider.Refusal{Message: "The payer did not answer in time.", Failure: provider.FailureTimeout}, []string{"exceeded the time to pay", "session timeout exceeded"}, ""},

	// Refunds.
	{wentBack, provider.Refusal{Message: "The payment has been refunded in full."}, []string{"has been fully reversed"}, "POST /refund"},
	{refused, provider.Refusal{Message: "The amount is too small for a refund."}, []string{"cannot refund less than"}, ""},

	// The operator's account, key and settings. A merchant's order waits for the repair.
	{repair, provider.Refusal{}, []string{
		"starter business", "integration has been deactivated", "invalid merchant selected", "currency not supported", "access denied",
		"do not have privileges", "authorization bearer", "no authorization header", "invalid key", "authentication token expired",
		"illegal special characters", "invalid entries found", "invalid character in transaction reference", "invalid amount", "amount must be an integer",
		"specify a valid amount", "account number is required", "account_number is required", "bank_code is required",
		"transaction reference is invalid", "transaction id should be numeric", "invalid 'from' date", "account_number must be passed",
		"object should be passed", "wait a few minutes", "system malfunction",
	}, ""},
}

// rejected looks an error up in the table. ok reports whether it is a rejection at all.
func rejected(err error) (m meaning, reason provider.Refusal, ok bool) {
	var r *rejection
	if !errors.As(err, &r) {
		return unclear, provider.Refusal{}, false
	}
	said := strings.ToLower(r.message + "\n" + r.code)
	for _, row := range rejections {
		if strings.Contains(r.op, row.on) && slices.ContainsFunc(row.parts, func(part string) bool { return strings.Contains(said, part) }) {
			return row.meaning, row.reason, true
		}
	}
	return unclear, provider.Refusal{}, true
}

// failureOf returns why a charge has failed, by what the network has said to Paystack.
func failureOf(said string) provider.Failure {
	said = strings.ToLower(said)
	for _, row := range rejections {
		if row.reason.Failure != "" && slices.ContainsFunc(row.parts, func(part string) bool { return strings.Contains(said, part) }) {
			return row.reason.Failure
		}
	}
	return provider.FailureOther
}

// afterRejection answers for an order whose request failed. A rejection proves nothing about an
// earlier request with the same reference, so Paystack's own record decides, which ask reads.
func afterRejection(o provider.Order, err error, ask func() (provider.Result, error)) (provider.Result, error) {
	if _, _, ok := rejected(err); !ok {
		return provider.Result{}, err
	}
	r, askErr := ask()
	if askErr != nil || r.Outcome != provider.NotFound {
		return r, askErr
	}
	return refuse(o, err)
}

// refuse answers for a request that Paystack rejected and whose reference Paystack does not know.
func refuse(o provider.Order, err error) (provider.Result, error) {
	switch m, reason, _ := rejected(err); {
	case m == wentBack && o.Attempts > 1:
		return provider.Result{}, fmt.Errorf("an earlier request for %s may have been carried out: %w", o.ID, err)
	case m != refused && m != wentBack:
		return provider.Result{}, err
	case o.Attempts > 1 && o.Now.Sub(o.SubmittedAt) < settled:
		return provider.Result{}, fmt.Errorf("an earlier request may still arrive: %w", err)
	default:
		return provider.Result{Outcome: provider.Refused, Reason: reason}, nil
	}
}
