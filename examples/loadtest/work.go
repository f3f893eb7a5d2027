package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

// kinds are the kinds of work, by the name that -work gives.
var kinds = map[string]func(ctx context.Context, s *shop, n int64) error{
	"disburse": disburse,
	"pay":      pay,
	"phone":    askPhone,
	"get":      get,
	"list":     list,
	"mixed": func(ctx context.Context, s *shop, n int64) error {
		return []func(context.Context, *shop, int64) error{disburse, pay, get, get, list}[n%5](ctx, s, n)
	},
}

func works() []string { return slices.Sorted(maps.Keys(kinds)) }

const (
	wallets = 8
	pin     = "1234"
)

// shop is a merchant with money, consumers with money, and a QR code.
type shop struct {
	baseURL, key string
	client       *http.Client
	run          string // makes the idempotency keys of this run its own
	serviceIDs   []string
	accountIDs   []string
	code         string
	disbursement string // one that can be read
}

// prepare makes them by the test helpers.
func prepare(ctx context.Context, baseURL, key string, connections int) (*shop, error) {
	s := &shop{
		baseURL: baseURL, key: key, run: fmt.Sprintf("%x", rand.Uint64()),
		client: &http.Client{
			Timeout:   30 * time.Second,
			Transport: &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections},
		},
	}
	if err := s.call(ctx, http.MethodPost, "/v1/test_helpers/balance", "", map[string]any{"amount": 900_000}, nil); err != nil {
		return nil, err
	}
	for i := range wallets {
		var made struct {
			ServiceID string `json:"service_id"`
			AccountID string `json:"account_id"`
		}
		who := map[string]any{"name": fmt.Sprintf("Load %d", i), "pin": pin, "balance": 900_000}
		if err := s.call(ctx, http.MethodPost, "/v1/test_helpers/consumers", "", who, &made); err != nil {
			return nil, err
		}
		s.serviceIDs, s.accountIDs = append(s.serviceIDs, made.ServiceID), append(s.accountIDs, made.AccountID)
	}
	var code, first struct {
		ID string `json:"id"`
	}
	if err := s.call(ctx, http.MethodPost, "/v1/qr_codes", "", map[string]any{"type": "static", "amount": 1, "name": "Load"}, &code); err != nil {
		return nil, err
	}
	if err := s.call(ctx, http.MethodPost, "/v1/disbursements", s.run+"-first", s.payee(0), &first); err != nil {
		return nil, err
	}
	s.code, s.disbursement = code.ID, first.ID
	return s, nil
}

func (s *shop) payee(n int64) map[string]any {
	return map[string]any{
		"amount":      json.Number("0.01"),
		"destination": map[string]any{"type": "service_wallet", "service_id": s.serviceIDs[n%wallets]},
	}
}

func disburse(ctx context.Context, s *shop, n int64) error {
	return s.call(ctx, http.MethodPost, "/v1/disbursements", fmt.Sprint(s.run, "-", n), s.payee(n), nil)
}

func pay(ctx context.Context, s *shop, n int64) error {
	who := map[string]any{"account_id": s.accountIDs[n%wallets], "pin": pin}
	return s.call(ctx, http.MethodPost, "/v1/test_helpers/qr_codes/"+s.code+"/pay", "", who, nil)
}

// askPhone asks a phone for money. The server's workers then carry each payment to its outcome.
func askPhone(ctx context.Context, s *shop, n int64) error {
	from := map[string]any{"amount": 1, "phone_number": fmt.Sprintf("024%07d", n%wallets)}
	return s.call(ctx, http.MethodPost, "/v1/payments", fmt.Sprint(s.run, "-phone-", n), from, nil)
}

func get(ctx context.Context, s *shop, _ int64) error {
	return s.call(ctx, http.MethodGet, "/v1/disbursements/"+s.disbursement, "", nil, nil)
}

func list(ctx context.Context, s *shop, _ int64) error {
	return s.call(ctx, http.MethodGet, "/v1/disbursements?limit=20", "", nil, nil)
}

// call makes one request, and reads the answer into out unless that is nil. An answer
// other than 200 is an error.
func (s *shop) call(ctx context.Context, method, path, idempotency string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	if in == nil {
		body = nil
	}
	r, err := http.NewRequestWithContext(ctx, method, s.baseURL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if idempotency != "" {
		r.Header.Set("X-Idempotency-Key", idempotency)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return err
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("%s %s answered %d: %s", method, path, answer.StatusCode, data)
	case out == nil:
		return nil
	}
	return json.Unmarshal(data, out)
}
