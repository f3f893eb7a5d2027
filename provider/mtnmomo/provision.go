package mtnmomo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/seed-7082ffec/payments/internal/httpcall"
)

// ProvisionParams are the settings of [Provision].
type ProvisionParams struct {
	// BaseURL is SandboxURL when empty.
	BaseURL string
	// SubscriptionKey is that of the product, Collection or Disbursement, from your profile at
	// momodeveloper.mtn.com.
	SubscriptionKey string `json:"-"`
	// CallbackHost is the host name of Config.CallbackURL.
	CallbackHost string
	HTTPClient   *http.Client `json:"-"`
}

// Format implements fmt.Formatter, so that no print shows the key.
func (p ProvisionParams) Format(w fmt.State, _ rune) {
	_, _ = fmt.Fprintf(w, "mtnmomo.ProvisionParams{BaseURL: %q, CallbackHost: %q}", p.BaseURL, p.CallbackHost)
}

// Provision makes an API user and its key in the sandbox, and returns the Credentials for Config.
// In production the partner portal makes both.
func Provision(ctx context.Context, p ProvisionParams) (Credentials, error) {
	client := httpcall.Client(p.HTTPClient)
	base := strings.TrimRight(p.BaseURL, "/")
	if base == "" {
		base = SandboxURL
	}
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return Credentials{}, err
	}
	made := Credentials{SubscriptionKey: p.SubscriptionKey, APIUser: uuid(random[:])}
	post := func(r request) (*answer, error) {
		r.method = http.MethodPost
		a, err := send(ctx, client, base, r, http.Header{subscription: {p.SubscriptionKey}})
		if err == nil && a.status != http.StatusCreated {
			err = a.err()
		}
		return a, err
	}
	host := map[string]string{"providerCallbackHost": p.CallbackHost}
	if _, err := post(request{what: "make API user", path: "/v1_0/apiuser", reference: made.APIUser, body: host}); err != nil {
		return Credentials{}, err
	}
	a, err := post(request{what: "make API key", path: "/v1_0/apiuser/" + made.APIUser + "/apikey"})
	if err != nil {
		return Credentials{}, err
	}
	var key struct {
		APIKey string `json:"apiKey"`
	}
	if err := a.decode(&key); err != nil {
		return Credentials{}, err
	}
	if key.APIKey == "" {
		return Credentials{}, errors.New("mtnmomo: make API key: the answer has no key")
	}
	made.APIKey = key.APIKey
	return made, nil
}
