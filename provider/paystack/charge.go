package paystack

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/provider"
)

const (
	// abandonedAfter is how long after its deadline, or else after its submission, a charge that
	// Paystack calls abandoned ends. A payer has about 3 minutes to approve (unconfirmed).
	abandonedAfter = 15 * time.Minute
	// recheckAfter is when the library asks once more about a charge that failed or was abandoned.
	// Unconfirmed: that a payer can no longer approve it.
	recheckAfter = time.Hour
)

type chargeRequest struct {
	Email       string       `json:"email"`
	Amount      int64        `json:"amount"` // pesewas
	Currency    string       `json:"currency"`
	Reference   string       `json:"reference"`
	MobileMoney mobileMoney  `json:"mobile_money"`
	Metadata    chargeLabels `json:"metadata"`
}

type mobileMoney struct {
	Phone    string `json:"phone"`
	Provider string `json:"provider"`
}

// chargeLabels let the operator find an order in Paystack's dashboard.
type chargeLabels struct {
	ID string `json:"order_id"`
}

// transaction is a charge at Paystack.
type transaction struct {
	ID              number   `json:"id"`
	Status          string   `json:"status"`
	Reference       string   `json:"reference"`
	Amount          *number  `json:"amount"`
	Currency        string   `json:"currency"`
	Fees            optional `json:"fees"`
	GatewayResponse text     `json:"gateway_response"`
	DisplayText     text     `json:"display_text"`
	CreatedAt       text     `json:"created_at"`
}

// Charge implements [provider.Charger].
func (c *Client) Charge(ctx context.Context, o provider.Charge) (provider.Result, error) {
	reference, err := c.reference(o.Live, o.ID)
	if err != nil {
		return provider.Result{}, err
	}
	network, known := networks[o.Network]
	email := cmp.Or(o.Email, c.config.Email)
	switch {
	case o.Phone == "" || !known:
		// Such a charge has never been submitted.
		return provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Message: "Only mobile money of MTN, Telecel and AT can be charged."}}, nil
	case email == "":
		return provider.Result{}, errors.New("paystack: the payer's e-mail address is unknown, and Config.Email is empty")
	}
	request := chargeRequest{
		Email: email, Amount: o.Amount, Currency: currency, Reference: reference,
		MobileMoney: mobileMoney{Phone: phone.National(o.Phone), Provider: network.charge}, Metadata: chargeLabels{o.ID},
	}
	var x transaction
	err = c.call(ctx, http.MethodPost, "/charge", nil, request, &x)
	if m, _, _ := rejected(err); m == badEmail && c.config.Email != "" && c.config.Email != email {
		request.Email = c.config.Email
		err = c.call(ctx, http.MethodPost, "/charge", nil, request, &x)
	}
	if err == nil {
		return x.result(o)
	}
	return afterRejection(o.Order, err, func() (provider.Result, error) { return c.ChargeStatus(ctx, o) })
}

// ChargeStatus implements [provider.Charger]. The outcome is that of Paystack's verify call. For a
// charge in progress a second call says what the payer has to do. For a charge that Paystack does not
// know it answers NotFound. In the ten minutes after the deadline it answers InProgress, because a lost
// request may still arrive.
func (c *Client) ChargeStatus(ctx context.Context, o provider.Charge) (provider.Result, error) {
	x, found, err := c.verify(ctx, o.Order)
	if err != nil {
		return provider.Result{}, err
	}
	if !found {
		if late := o.Now.Sub(o.Deadline); late >= 0 && late < settled {
			return provider.Result{Outcome: provider.InProgress, PollAfter: settled - late}, nil
		}
		return provider.Result{Outcome: provider.NotFound}, nil
	}
	if x.Status == "reversed" {
		_, back, err := c.returnedOf(ctx, x, false)
		if err != nil {
			return provider.Result{}, err
		}
		return x.afterReturn(back, o)
	}
	r, err := x.result(o)
	if err != nil || r.Outcome != provider.InProgress {
		return r, err
	}
	// Unconfirmed: that Paystack repeats the words of the first answer, as send_otp.
	var step transaction
	told, err := c.read(ctx, "/charge/", o.Order, &step)
	if _, _, refused := rejected(err); err != nil && !refused {
		return provider.Result{}, err
	}
	if told {
		r.Prompt, r.NeedsCode = step.prompt()
	}
	return r, nil
}

// ConfirmCharge implements [provider.ChargeConfirmer].
func (c *Client) ConfirmCharge(ctx context.Context, o provider.Charge, code string) (provider.Result, error) {
	reference, err := c.reference(o.Live, o.ID)
	if err != nil {
		return provider.Result{}, err
	}
	var x transaction
	err = c.call(ctx, http.MethodPost, "/charge/submit_otp", nil, struct {
		OTP       string `json:"otp"`
		Reference string `json:"reference"`
	}{code, reference}, &x)
	if err == nil {
		return x.result(o)
	}
	m, reason, ok := rejected(err)
	if !ok {
		return provider.Result{}, err
	}
	// The code may be wrong, or an earlier one may have been right.
	r, statusErr := c.ChargeStatus(ctx, o)
	switch {
	case statusErr != nil:
		return provider.Result{}, statusErr
	case r.Outcome == provider.NotFound:
		return provider.Result{}, err
	case r.Outcome == provider.InProgress && m == wrongCode && (r.NeedsCode || r.Prompt == ""):
		r.NeedsCode, r.Prompt = true, reason.Message
	}
	return r, nil
}

// verify returns a charge as Paystack has booked it, and false if Paystack has never seen it.
func (c *Client) verify(ctx context.Context, o provider.Order) (x transaction, found bool, err error) {
	found, err = c.read(ctx, "/transaction/verify/", o, &x)
	return x, found, err
}

// result translates a charge.
func (x transaction) result(o provider.Charge) (provider.Result, error) {
	r := provider.Result{Outcome: outcome(chargeWords, x.Status)}
	if x.ID != 0 {
		r.Reference = strconv.FormatInt(int64(x.ID), 10)
	}
	switch {
	case x.Status == "":
		return provider.Result{}, failed(provider.ClassUnreadable, "paystack: the answer for %s has no status", o.ID)
	case x.Status == "abandoned" && !o.Now.IsZero() && o.Now.After(o.SubmittedAt.Add(abandonedAfter)) && o.Now.After(o.Deadline.Add(abandonedAfter)):
		r.Outcome, r.PollAfter = provider.Refused, recheckAfter
		r.Reason = provider.Refusal{Message: "The payer did not answer in time.", Failure: provider.FailureTimeout}
	case r.Outcome == provider.InProgress:
		r.Prompt, r.NeedsCode = x.prompt()
		return r, nil
	case x.Status == "reversed":
		r.Reason.Message = "The payment was returned to the payer."
	case r.Outcome == provider.Refused:
		r.PollAfter = recheckAfter
		r.Reason.Message = "The payment failed."
		if said := mask(string(x.GatewayResponse)); said != "" {
			r.Reason = provider.Refusal{Message: "The payment failed: " + said, Failure: failureOf(said)}
		}
	default:
		r.ProviderFee = int64(x.Fees)
	}
	if err := sameMoney(o.Order, x.Amount, x.Currency, x.Reference); err != nil {
		return provider.Result{}, err
	}
	if r.Outcome == provider.Paid {
		if x.Amount == nil || *x.Amount == 0 { // to the library 0 means that Paystack did not tell it
			return provider.Result{}, failed(provider.ClassUnreadable, "paystack: the answer for %s has no amount", o.ID)
		}
		r.Amount = int64(*x.Amount)
	}
	return r, nil
}

// prompt returns what a charge in progress asks of the payer.
func (x transaction) prompt() (text string, code bool) {
	switch text = mask(string(x.DisplayText)); {
	case x.Status == needsCode:
		return cmp.Or(text, "Enter the code that you got on your phone."), true
	case x.Status == "pay_offline":
		return cmp.Or(text, "Approve the payment on your phone."), false
	}
	return text, false
}
