package mtnmomo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/classed"
	"github.com/seed-7082ffec/payments/provider"
)

// Failed is the code of a transfer that MTN ended for a reason of its own or of the operator's.
// Merchants see it in a failure_reason.
const Failed api.Code = "provider_failed"

// statuses are MTN's words for the state of an order. Any other word means in progress. MTN
// documents no word for an order that it takes back after SUCCESSFUL: it would say FAILED, which
// the library lists as a contradiction.
var statuses = map[string]provider.Outcome{
	"PENDING":    provider.InProgress,
	"SUCCESSFUL": provider.Paid,
	"FAILED":     provider.Refused,
}

// reason says what one of MTN's reasons means for an order with the status FAILED, which is final.
// The same word with an HTTP status of 500 leaves the order unknown.
type reason struct {
	code     api.Code // of a transfer
	transfer string   // the message of a transfer or a refund
	charge   string   // the message of a charge
	failure  provider.Failure
	// alert tells the operator what to do; empty for nothing. Of a charge it tells repair alone.
	alert string
	// recheck has the library ask about a refused charge once more. That MTN never turns these
	// into a success is unconfirmed.
	recheck bool
}

const (
	noTransfer = "MTN could not make the transfer."
	noCharge   = "MTN could not take the payment."
	repair     = "MTN refuses the settings; compare Config with the partner portal"
)

// reasons are MTN's words for why an order failed. MTN lists all but the last in its schema, and
// the last on its page of common errors.
var reasons = map[string]reason{
	"PAYEE_NOT_FOUND":                {code: api.InvalidDestination, transfer: "The number has no MTN MoMo wallet.", charge: noCharge},
	"PAYER_NOT_FOUND":                {code: Failed, transfer: noTransfer, charge: "The number has no MTN MoMo wallet."},
	"PAYEE_NOT_ALLOWED_TO_RECEIVE":   {code: api.RecipientUnavailable, transfer: "The recipient's wallet may not receive this amount.", charge: noCharge},
	"NOT_ALLOWED":                    {code: Failed, transfer: "MTN does not allow this transfer.", charge: "MTN does not allow this payment."},
	"PAYER_LIMIT_REACHED":            {code: Failed, transfer: "The operator's limit at MTN is reached.", charge: "The payer's limit is reached.", failure: provider.FailureLimit, alert: "the limit of the disbursement account is reached"},
	"NOT_ENOUGH_FUNDS":               {code: api.ProviderBalanceInsufficient, transfer: "The operator has too little money at MTN.", charge: "The payer's balance is too low.", failure: provider.FailureInsufficientFunds},
	"APPROVAL_REJECTED":              {code: Failed, transfer: noTransfer, charge: "The payer declined.", failure: provider.FailureDeclined},
	"EXPIRED":                        {code: Failed, transfer: noTransfer, charge: "The payer did not answer in time.", failure: provider.FailureTimeout},
	"PAYMENT_NOT_APPROVED":           {code: Failed, transfer: noTransfer, charge: "The payer did not approve the payment.", failure: provider.FailureDeclined},
	"TRANSACTION_CANCELED":           {code: Failed, transfer: "The transfer was cancelled at MTN.", charge: "The payment was cancelled at MTN.", failure: provider.FailureCancelled},
	"INVALID_CURRENCY":               {code: Failed, transfer: noTransfer, charge: noCharge, alert: repair},
	"NOT_ALLOWED_TARGET_ENVIRONMENT": {code: Failed, transfer: noTransfer, charge: noCharge, alert: repair},
	"INVALID_CALLBACK_URL_HOST":      {code: Failed, transfer: noTransfer, charge: noCharge, alert: repair},
	// An empty float may show as this, too.
	"INTERNAL_PROCESSING_ERROR":     {code: Failed, transfer: noTransfer, charge: noCharge, alert: "MTN failed a transfer; is there enough money in the disbursement account?", recheck: true},
	"SERVICE_UNAVAILABLE":           {code: Failed, transfer: noTransfer, charge: noCharge, recheck: true},
	"RESOURCE_NOT_FOUND":            {code: Failed, transfer: noTransfer, charge: noCharge},
	"RESOURCE_ALREADY_EXIST":        {code: Failed, transfer: noTransfer, charge: noCharge},
	"COULD_NOT_PERFORM_TRANSACTION": {code: Failed, transfer: noTransfer, charge: "The payer did not answer in time.", failure: provider.FailureTimeout, recheck: true},
}

// The words that MTN answers with an HTTP status.
const (
	notFound      = "RESOURCE_NOT_FOUND"     // 404
	alreadyExists = "RESOURCE_ALREADY_EXIST" // 409
)

// recheckAfter is when a refused charge is asked about once more.
const recheckAfter = 15 * time.Minute

// prompt tells a payer what to do. That approvals are found under this code is unconfirmed.
const prompt = "Approve the payment on your phone. If no request appears, dial *170# and look for your approvals."

// state is the body of MTN's answer about an order.
type state struct {
	Status                 string
	Amount                 text
	Currency               string
	ExternalID             text
	FinancialTransactionID text
	Reason                 word
}

// word is a reason. MTN's schema says {"code", "message"}, and in practice it is a string.
type word string

// UnmarshalJSON implements json.Unmarshaler.
func (w *word) UnmarshalJSON(b []byte) error {
	var object struct{ Code text }
	var s text
	if json.Unmarshal(b, &object) == nil && object.Code != "" {
		*w = word(object.Code)
	} else if json.Unmarshal(b, &s) == nil {
		*w = word(s)
	}
	return nil
}

// pending is the result for an order that MTN has taken.
func (f *flow) pending() provider.Result {
	if f.charge {
		return provider.Result{Outcome: provider.InProgress, Network: network, Prompt: prompt}
	}
	return provider.Result{Outcome: provider.InProgress}
}

// result translates the state of an order, of which a callback knows the id alone. It returns an
// error if MTN reports the end of another order, or success of another amount.
func (c *Client) result(ctx context.Context, f *flow, o provider.Order, s state) (provider.Result, error) {
	outcome, known := statuses[s.Status]
	if !known {
		outcome = provider.InProgress
	}
	if outcome == provider.InProgress {
		r := f.pending()
		r.Reference = string(s.FinancialTransactionID)
		return r, nil
	}
	if s.ExternalID != "" && string(s.ExternalID) != o.ID {
		return provider.Result{}, failed(provider.ClassUnreadable, "mtnmomo: asked about %s, MTN reports another order", o.ID)
	}
	r := provider.Result{Outcome: outcome, Reference: string(s.FinancialTransactionID)}
	if f.charge {
		r.Network = network
	}
	if outcome == provider.Paid {
		amount, err := c.paid(o, s)
		if err != nil {
			return provider.Result{}, err
		}
		r.Amount = amount
		return r, nil
	}
	why, known := reasons[string(s.Reason)]
	if !known {
		why = reason{code: Failed, transfer: noTransfer, charge: noCharge, recheck: true}
	}
	r.Reason = provider.Refusal{Code: why.code, Message: why.transfer, Failure: why.failure}
	if f.charge {
		r.Reason = provider.Refusal{Message: why.charge, Failure: why.failure}
		if why.recheck {
			r.PollAfter = recheckAfter
		}
	}
	if why.alert == repair || why.alert != "" && !f.charge {
		c.alert(ctx, o.ID, why.alert)
	}
	return r, nil
}

// paid returns the amount of a success in pesewas, or 0 if MTN does not tell it.
func (c *Client) paid(o provider.Order, s state) (int64, error) {
	amount, exact, readable := pesewas(s.Amount)
	other := &provider.Error{Route: Route, Class: provider.ClassAmountMismatch}
	switch {
	case s.Currency != "" && s.Currency != c.cfg.Currency:
		return 0, classed.Amount(other, fmt.Errorf("mtnmomo: %s is in %s, and MTN reports success in another currency", o.ID, c.cfg.Currency))
	case s.Amount == "":
		return 0, nil
	case !readable || !exact:
		return 0, failed(provider.ClassUnreadable, "mtnmomo: the answer for %s has no readable amount", o.ID)
	case o.Amount != 0 && amount != o.Amount:
		other.Amount = amount
		return 0, classed.Amount(other, fmt.Errorf("mtnmomo: %s is of %d pesewas, and MTN reports success of %d", o.ID, o.Amount, amount))
	case amount == 0: // to the library 0 means that MTN did not tell it
		return 0, failed(provider.ClassUnreadable, "mtnmomo: the answer for %s has no amount", o.ID)
	}
	return amount, nil
}
