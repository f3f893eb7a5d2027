package httpapi

import (
	"net/http"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
)

// idempotencyHeaders are the two names of one header. Both may be sent, as
// long as they say the same.
var idempotencyHeaders = [...]string{"X-Idempotency-Key", "Idempotency-Key"}

// idempotencyKey returns the request's idempotency key, or "" when it has none.
// A key is not made fit: one that were cut off could stand for two requests.
func idempotencyKey(h http.Header) (string, error) {
	var key string
	for _, name := range idempotencyHeaders {
		values := h.Values(name)
		if len(values) == 0 {
			continue
		}
		if len(values) > 1 {
			return "", api.Errorf(api.IdempotencyKeyInvalid, "", "The header %s is given more than once.", name)
		}
		if engine.CheckIdempotencyKey(values[0]) != nil {
			return "", api.Errorf(api.IdempotencyKeyInvalid, "", "The header %s must have 1 to 255 printable ASCII characters, such as a UUID.", name)
		}
		if key != "" && key != values[0] {
			return "", api.Errorf(api.IdempotencyKeyInvalid, "", "The headers X-Idempotency-Key and Idempotency-Key differ. Send one of them.")
		}
		key = values[0]
	}
	return key, nil
}
