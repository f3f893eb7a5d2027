package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
)

// Authenticator finds the merchant of an API key. The handler calls it for every request under
// /v1, from many goroutines at once. For a malformed, unknown or revoked key it returns an [api.Error] of
// type [api.Authentication], and the handler answers 401. Any other error is a fault, and the
// handler answers 500 or 503. The log does not hold its text, which may quote the key.
type Authenticator func(ctx context.Context, key string) (Access, error)

// Access says what an API key may do.
type Access struct {
	// Merchant is the merchant's id (mer_…).
	Merchant string
	// Live is true for live mode, false for test mode.
	Live bool
	// Allow reports whether the key may read, or change, a resource, named as in
	// [api.Resources] (payouts, qr_codes). Nil allows all. It also limits what events show
	// and what webhook endpoints receive. It must be safe for concurrent use.
	Allow func(resource string, write bool) bool
}

// Allows reports whether the key may read a resource or, if write is set, change it.
func (a Access) Allows(resource string, write bool) bool {
	return a.Allow == nil || a.Allow(resource, write)
}

// maxAPIKey exceeds the length of any API key; longer ones are not looked up.
const maxAPIKey = 512

var (
	errAPIKeyMissing = api.Errorf(api.APIKeyMissing, "",
		"This request has no API key. Send it in the header: Authorization: Bearer sk_….")
	// errAPIKeyInvalid is the same for every bad API key, so that it reveals nothing about
	// existing keys.
	errAPIKeyInvalid = api.Errorf(api.APIKeyInvalid, "",
		"The API key is not valid. Check that it is whole, not revoked, and sent as: Authorization: Bearer sk_….")
)

// bearerAPIKey returns the API key in the Authorization header. A key anywhere else,
// as in the query string, which ends up in logs, does not count.
func bearerAPIKey(h http.Header) (string, error) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", errAPIKeyMissing
	}
	scheme, key, _ := strings.Cut(values[0], " ")
	key = strings.Trim(key, " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || len(key) > maxAPIKey || !isName(key) {
		return "", errAPIKeyInvalid
	}
	return key, nil
}

// authenticate sets the request's caller and access.
func (rt *router) authenticate(r *request) error {
	key, err := bearerAPIKey(r.Header)
	if errors.Is(err, errAPIKeyMissing) {
		return err // and no try
	}
	r.client = rt.clientIP(r.Request)
	if slowed := rt.badKeys.check(r.client, key, time.Now()); slowed != nil {
		return slowed
	}
	var access Access
	if err == nil {
		access, err = rt.config.Authenticate(r.Context(), key)
	}
	var refusal *api.Error
	if errors.As(err, &refusal) && refusal.Type == api.Authentication {
		rt.badKeys.failed(r.client, key, time.Now())
		return errAPIKeyInvalid
	}
	if err != nil {
		return err
	}
	rt.badKeys.succeeded(r.client, key)
	if access.Merchant == "" {
		// The empty merchant stands for the operator.
		return errors.New("httpapi: the authenticator named no merchant")
	}
	r.access = access
	r.caller.Merchant, r.caller.Live, r.caller.Permissions = access.Merchant, access.Live, &r.access
	return nil
}

// isName reports whether s can be an id, a key or another name: 1 to 512
// printable ASCII characters without spaces. Nothing else is looked up in the
// store, which need not bear NUL or invalid UTF-8.
func isName(s string) bool {
	if s == "" || len(s) > 512 {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
