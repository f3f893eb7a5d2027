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
	"github.com/seed-7082ffec/payments/provider"
)

// rail carries transfers over the REST interface of an imaginary provider:
//
//	POST /transfers                 carries out a transfer, once for one reference
//	GET  /transfers/{reference}     answers its status
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

// transferRequest is the body of a submission. The amount is a text, since many programs
// read a JSON number into a float.
type transferRequest struct {
	Reference string          `json:"reference"`
	Channel   string          `json:"channel"` // "momo" or "bank"
	Network   string          `json:"network"` // mtn, telecel, airteltigo, or the bank's code
	Account   string          `json:"account"`
	Name      string          `json:"name,omitempty"`
	Amount    decimal.Decimal `json:"amount"`
	Currency  string          `json:"currency"`
	Narration string          `json:"narration,omitempty"`
}

// transferStatus is the body of the provider's answers and of its callbacks.
type transferStatus struct {
	Reference  string `json:"reference"`
	Status     string `json:"status"`
	ProviderID string `json:"provider_id"`
	Code       string `json:"code"`
}

// Submit implements provider.Rail.
func (r *rail) Submit(ctx context.Context, t provider.Transfer) (provider.Result, error) {
	channel, network := "momo", t.Network
	if t.Channel == provider.BankTransfer {
		channel, network = "bank", t.Bank
	}
	body, err := json.Marshal(transferRequest{
		Reference: t.ID, Channel: channel, Network: network, Account: t.Number, Name: t.Name,
		Amount: api.FromPesewas(t.Amount).Decimal, Currency: "GHS", Narration: t.Description,
	})
	if err != nil {
		return provider.Result{}, err
	}
	return r.call(ctx, http.MethodPost, "/transfers", body)
}

// Status implements provider.Rail.
func (r *rail) Status(ctx context.Context, t provider.Transfer) (provider.Result, error) {
	return r.call(ctx, http.MethodGet, "/transfers/"+url.PathEscape(t.ID), nil)
}

// maxAnswer is how many bytes of an answer or a callback are read.
const maxAnswer = 64 << 10

func (r *rail) call(ctx context.Context, method, path string, body []byte) (provider.Result, error) {
	request, err := http.NewRequestWithContext(ctx, method, r.base+path, bytes.NewReader(body))
	if err != nil {
		return provider.Result{}, err
	}
	request.Header.Set("Authorization", "Bearer "+r.token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := r.client.Do(request)
	if err != nil {
		return provider.Result{}, err // the outcome is unknown
	}
	defer answer.Body.Close()
	if method == http.MethodGet && answer.StatusCode == http.StatusNotFound {
		return provider.Result{Outcome: provider.NotFound}, nil
	}
	// Only a 200 tells the outcome. A 500 may come after the money has moved. A 400 or 401
	// is a mistake of ours, and the transfer waits until we have mended it. An error here
	// means that the outcome is unknown, and the library asks again.
	if answer.StatusCode != http.StatusOK {
		return provider.Result{}, fmt.Errorf("the provider answers %d", answer.StatusCode)
	}
	var s transferStatus
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(&s); err != nil {
		return provider.Result{}, errors.New("the provider's answer is not readable")
	}
	return s.result()
}

// result translates the provider's status.
func (s transferStatus) result() (provider.Result, error) {
	r := provider.Result{Reference: s.ProviderID}
	switch s.Status {
	case "paid":
		r.Outcome = provider.Paid
	case "pending":
		r.Outcome = provider.InProgress
	case "rejected":
		r.Outcome = provider.Refused
		r.Reason.Code = api.RecipientUnavailable
		if s.Code == "bad_account" {
			r.Reason.Code = api.InvalidDestination
		}
	default:
		return provider.Result{}, errors.New("the provider answers with a status that is not known")
	}
	return r, nil
}
