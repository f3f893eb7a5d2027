package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
)

// callback returns the handler of the provider's callbacks. The header X-Signature is the
// hex HMAC-SHA256 of the body under a shared secret; without it any client could settle
// transfers and charges.
func callback(providers provider.Service, secret []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAnswer))
		if err != nil {
			http.Error(w, "body", http.StatusBadRequest)
			return
		}
		signature, err := hex.DecodeString(r.Header.Get("X-Signature"))
		if err != nil || !hmac.Equal(signature, sign(secret, body)) {
			http.Error(w, "signature", http.StatusUnauthorized)
			return
		}
		var told report
		if err := json.Unmarshal(body, &told); err != nil {
			http.Error(w, "body", http.StatusBadRequest)
			return
		}
		result, err := told.result()
		if err != nil {
			http.Error(w, "status", http.StatusBadRequest)
			return
		}
		switch err := providers.Notify(r.Context(), told.Reference, result); {
		case err == nil:
			w.WriteHeader(http.StatusNoContent)
		case errors.Is(err, provider.ErrContradicted):
			http.Error(w, "the opposite was reported before", http.StatusConflict)
		case api.CodeOf(err) == api.ResourceMissing:
			http.Error(w, "reference", http.StatusNotFound)
		default:
			// The provider tries again; until then the worker asks.
			http.Error(w, "later", http.StatusServiceUnavailable)
		}
	}
}

func sign(secret, body []byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write(body)
	return h.Sum(nil)
}
