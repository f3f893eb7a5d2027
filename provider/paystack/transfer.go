package paystack

import (
	"cmp"
	"context"
	"net/http"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/provider"
)

// networks are Paystack's bank codes of the mobile-money networks. Charges take them in lower
// case. Telecel is Vodafone's code, AirtelTigo is AT's. Unconfirmed: that no newer codes exist.
var networks = map[string]struct{ bank, charge string }{
	phone.MTN:        {"MTN", "mtn"},
	phone.Telecel:    {"VOD", "vod"},
	phone.AirtelTigo: {"ATL", "atl"},
}

type recipientRequest struct {
	Type     string `json:"type"`
	Name     string `json:"name"`
	Number   string `json:"account_number"`
	BankCode string `json:"bank_code"`
	Currency string `json:"currency"`
}

type transferRequest struct {
	Source    string `json:"source"`
	Amount    int64  `json:"amount"` // pesewas
	Currency  string `json:"currency"`
	Recipient string `json:"recipient"`
	Reference string `json:"reference"`
	Reason    string `json:"reason,omitempty"`
}

type transfer struct {
	Status    string   `json:"status"`
	Amount    *number  `json:"amount"`
	Currency  string   `json:"currency"`
	Reference string   `json:"reference"`
	Code      string   `json:"transfer_code"`
	Fee       optional `json:"fee_charged"` // unconfirmed: that the verification tells it
}

// Submit implements [provider.Rail]. It makes the recipient and then the transfer. Paystack returns
// the existing recipient for an account that it knows, so nothing is kept here.
func (c *Client) Submit(ctx context.Context, t provider.Transfer) (provider.Result, error) {
	reference, err := c.reference(t.Live, t.ID)
	if err != nil {
		return provider.Result{}, err
	}
	recipient, ok := recipientOf(t.Channel, t.Network, t.Bank, t.Number)
	if !ok {
		// Such an order has never been submitted.
		return provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Code: api.InvalidDestination}}, nil
	}
	recipient.Name = cmp.Or(t.Name, "Recipient")
	var known struct {
		Code string `json:"recipient_code"`
	}
	var sent transfer
	err = c.call(ctx, http.MethodPost, "/transferrecipient", nil, recipient, &known)
	if err == nil && known.Code == "" {
		return provider.Result{}, failed(provider.ClassUnreadable, "paystack: the answer for the recipient of %s has no code", t.ID)
	}
	if err == nil {
		err = c.call(ctx, http.MethodPost, "/transfer", nil, transferRequest{
			Source: "balance", Amount: t.Amount, Currency: currency, Recipient: known.Code, Reference: reference, Reason: t.Description,
		}, &sent)
	}
	if err == nil {
		return sent.result(t.Order)
	}
	return afterRejection(t.Order, err, func() (provider.Result, error) { return c.Status(ctx, t) })
}

// Status implements [provider.Rail].
func (c *Client) Status(ctx context.Context, t provider.Transfer) (provider.Result, error) {
	var is transfer
	found, err := c.read(ctx, "/transfer/verify/", t.Order, &is)
	switch {
	case err != nil:
		return provider.Result{}, err
	case !found:
		return provider.Result{Outcome: provider.NotFound}, nil
	}
	return is.result(t.Order)
}

// result translates a transfer.
func (is transfer) result(o provider.Order) (provider.Result, error) {
	if is.Status == "" {
		return provider.Result{}, failed(provider.ClassUnreadable, "paystack: the answer for %s has no status", o.ID)
	}
	r := provider.Result{Outcome: outcome(transferWords, is.Status), Reference: is.Code}
	if r.Outcome == provider.InProgress {
		return r, nil
	}
	r.Reason = transferReasons[is.Status]
	if err := sameMoney(o, is.Amount, is.Currency, is.Reference); err != nil {
		return provider.Result{}, err
	}
	if r.Outcome == provider.Paid {
		r.ProviderFee = int64(is.Fee)
		if is.Amount != nil {
			if *is.Amount == 0 { // to the library 0 means that Paystack did not tell it
				return provider.Result{}, failed(provider.ClassUnreadable, "paystack: the answer for %s has no amount", o.ID)
			}
			r.Amount = int64(*is.Amount)
		}
	}
	return r, nil
}

// recipientOf returns an account as Paystack names it, and false for a network or a bank account
// that Paystack cannot have.
func recipientOf(channel provider.Channel, network, bank, number string) (recipientRequest, bool) {
	r := recipientRequest{Type: "mobile_money", Number: phone.National(number), BankCode: networks[network].bank, Currency: currency}
	if channel == provider.BankTransfer {
		r.Type, r.Number, r.BankCode = "ghipss", number, bank
	}
	return r, r.BankCode != "" && r.Number != ""
}

// AccountName implements [provider.NameEnquirer]. Unconfirmed: that Paystack resolves mobile-money
// numbers, with the network's code as that of the bank.
func (c *Client) AccountName(ctx context.Context, e provider.Enquiry) (string, error) {
	if err := c.checkMode(e.Live); err != nil {
		return "", err
	}
	account, ok := recipientOf(e.Channel, e.Network, e.Bank, e.Number)
	if !ok {
		return "", &provider.Refusal{Code: api.InvalidDestination}
	}
	var found struct {
		Name string `json:"account_name"`
	}
	query := map[string][]string{"account_number": {account.Number}, "bank_code": {account.BankCode}}
	err := c.call(ctx, http.MethodGet, "/bank/resolve", query, nil, &found)
	switch m, reason, _ := rejected(err); {
	case m == refused:
		return "", &reason
	case err != nil:
		return "", err
	case found.Name == "":
		return "", failed(provider.ClassUnreadable, "paystack: GET /bank/resolve answers no name")
	}
	return found.Name, nil
}
