package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/payout"
)

// rail carries transfers over the REST interface of an imaginary provider:
//
//	POST /transfers                 carries out a transfer, once for one reference
//	GET  /transfers/{reference}     tells what became of it
//
// Both answer {"status":"pending"|"paid"|"rejected","provider_id":"…","code":"…"}.
type rail struct {
	base   string
	token  string
	client *http.Client
}

func newRail(base, token string) *rail {
	return &rail{base: strings.TrimRight(base, "/"), token: token, client: &http.Client{
		Timeout: 20 * time.Second,
		// A redirect would take the token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// transfer is what the provider is told. Its amounts are texts: a JSON number
// would pass through floats on the way.
type transfer struct {
	Reference string          `json:"reference"`
	Channel   string          `json:"channel"` // "momo" or "bank"
	Network   string          `json:"network"` // mtn, telecel, airteltigo, or the bank's code
	Account   string          `json:"account"`
	Name      string          `json:"name,omitempty"`
	Amount    decimal.Decimal `json:"amount"`
	Currency  string          `json:"currency"`
	Narration string          `json:"narration,omitempty"`
}

// state is what the provider answers, and what its callback reports.
type state struct {
	Reference  string `json:"reference"`
	Status     string `json:"status"`
	ProviderID string `json:"provider_id"`
	Code       string `json:"code"`
}

// Submit implements payout.Rail.
func (r *rail) Submit(ctx context.Context, o payout.Order) (payout.Result, error) {
	channel := "momo"
	if o.Type == payout.BankTransfer {
		channel = "bank"
	}
	body, err := json.Marshal(transfer{
		Reference: o.ID, Channel: channel, Network: o.Provider, Account: o.Number, Name: o.Name,
		Amount: o.Amount, Currency: "GHS", Narration: o.Description,
	})
	if err != nil {
		return payout.Result{}, err
	}
	return r.call(ctx, http.MethodPost, "/transfers", body)
}

// Status implements payout.Rail.
func (r *rail) Status(ctx context.Context, o payout.Order) (payout.Result, error) {
	return r.call(ctx, http.MethodGet, "/transfers/"+url.PathEscape(o.ID), nil)
}

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64 << 10

func (r *rail) call(ctx context.Context, method, path string, body []byte) (payout.Result, error) {
	request, err := http.NewRequestWithContext(ctx, method, r.base+path, bytes.NewReader(body))
	if err != nil {
		return payout.Result{}, err
	}
	request.Header.Set("Authorization", "Bearer "+r.token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := r.client.Do(request)
	if err != nil {
		return payout.Result{}, err // the outcome is unknown
	}
	defer answer.Body.Close()
	if method == http.MethodGet && answer.StatusCode == http.StatusNotFound {
		return payout.Result{Outcome: payout.NotFound}, nil
	}
	// Anything but a 200 says nothing of the transfer: a 500 may come after the
	// money has moved, and a 400 or 401 is a mistake of ours, which is mended while
	// the transfer waits. Only the provider's own word refuses.
	if answer.StatusCode != http.StatusOK {
		return payout.Result{}, fmt.Errorf("the provider answers %d", answer.StatusCode)
	}
	var s state
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(&s); err != nil {
		return payout.Result{}, errors.New("the provider's answer is not readable")
	}
	return s.result()
}

// result translates the provider's words.
func (s state) result() (payout.Result, error) {
	r := payout.Result{Reference: s.ProviderID}
	switch s.Status {
	case "paid":
		r.Outcome = payout.Paid
	case "pending":
		r.Outcome = payout.InProgress
	case "rejected":
		r.Outcome = payout.Refused
		r.Reason.Code = api.RecipientUnavailable
		if s.Code == "bad_account" {
			r.Reason.Code = api.InvalidDestination
		}
	default:
		return payout.Result{}, errors.New("the provider answers with a status that is not known")
	}
	return r, nil
}
