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

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
)

// client calls the REST interface of an imaginary provider:
//
//	POST /transfers                 sends money out, once for one reference
//	GET  /transfers/{reference}     answers its status
//	POST /collections               asks a payer's phone for money, once for one reference
//	GET  /collections/{reference}   answers its status
//
// All answer a report.
type client struct {
	base  string
	token string
	http  *http.Client
}

func newClient(base, token string) *client {
	return &client{base: strings.TrimRight(base, "/"), token: token, http: &http.Client{
		Timeout: 20 * time.Second,
		// A redirect would take the token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// report is the body of the provider's answers and of its callbacks.
type report struct {
	Reference  string `json:"reference"`
	Status     string `json:"status"` // pending, paid or rejected
	ProviderID string `json:"provider_id"`
	// Amount is what an order that is paid has moved. It is read without a float, and refuses exponents.
	Amount api.GHS `json:"amount"`
	// Code and Message say why an order is rejected. The Message of a pending collection is for
	// the payer.
	Code    string `json:"code"`
	Message string `json:"message"`
}

// maxAnswer is how many bytes of an answer or a callback are read.
const maxAnswer = 64 << 10

// submit posts an order.
func (c *client) submit(ctx context.Context, path string, order any) (provider.Result, error) {
	body, err := json.Marshal(order)
	if err != nil {
		return provider.Result{}, err
	}
	return c.call(ctx, http.MethodPost, path, body)
}

// status reads the status of an order.
func (c *client) status(ctx context.Context, path, reference string) (provider.Result, error) {
	return c.call(ctx, http.MethodGet, path+"/"+url.PathEscape(reference), nil)
}

func (c *client) call(ctx context.Context, method, path string, body []byte) (provider.Result, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return provider.Result{}, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := c.http.Do(request)
	if err != nil {
		return provider.Result{}, err // the outcome is unknown
	}
	defer answer.Body.Close()
	if method == http.MethodGet && answer.StatusCode == http.StatusNotFound {
		return provider.Result{Outcome: provider.NotFound}, nil
	}
	// Only a 200 tells the outcome. A 500 may come after the money has moved. A 400 or 401
	// is a mistake of ours, and the order waits until we have mended it. An error here
	// means that the outcome is unknown, and the library asks again.
	if answer.StatusCode != http.StatusOK {
		return provider.Result{}, fmt.Errorf("the provider answers %d", answer.StatusCode)
	}
	var r report
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(&r); err != nil {
		return provider.Result{}, errors.New("the provider's answer is not readable")
	}
	return r.result()
}

// result translates the provider's status.
func (r report) result() (provider.Result, error) {
	result := provider.Result{Reference: r.ProviderID}
	switch r.Status {
	case "paid":
		// The library compares the amount with the order's, and books nothing if they differ.
		pesewas := r.Amount.Shift(2)
		if !pesewas.IsPositive() || !pesewas.IsInteger() || !pesewas.BigInt().IsInt64() {
			return provider.Result{}, errors.New("the provider answers that an order is paid, with an amount that is none")
		}
		result.Outcome, result.Amount = provider.Paid, pesewas.IntPart()
	case "pending":
		result.Outcome, result.Prompt = provider.InProgress, r.Message
	case "rejected":
		result.Outcome = provider.Refused
		result.Reason = provider.Refusal{Code: api.RecipientUnavailable, Message: r.Message}
		if r.Code == "bad_account" {
			result.Reason.Code = api.InvalidDestination
		}
	default:
		return provider.Result{}, errors.New("the provider answers with a status that is not known")
	}
	return result, nil
}
