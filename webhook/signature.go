package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// SignatureHeader is this API's own signature, which [Verify] checks. A delivery also has the
// headers of Standard Webhooks: Webhook-Id, Webhook-Timestamp and Webhook-Signature.
const (
	SignatureHeader         = "Service-Signature"
	idHeader                = "Webhook-Id"
	timestampHeader         = "Webhook-Timestamp"
	standardSignatureHeader = "Webhook-Signature"
	maxSignatures           = 16
)

// SecretPrefix begins the secret of an endpoint.
const SecretPrefix = "whsec_"

// DefaultTolerance is the largest accepted difference between the delivery's time and the
// receiver's clock.
const DefaultTolerance = 300 * time.Second

// The errors of Verify.
var (
	// ErrNoSecret is a mistake of the receiver: with an empty secret anyone could sign.
	ErrNoSecret    = errors.New("webhook: the secret is empty; give that of the endpoint, whsec_…")
	ErrNoSignature = errors.New("webhook: no signature")
	ErrSignature   = errors.New("webhook: the signature does not match")
	ErrTimestamp   = errors.New("webhook: the delivery is too old, or the clocks differ")
)

// Sign sets the headers of a delivery, as the service does. A test of a receiver calls it, too. It signs with each
// secret, so that a receiver may know the old or the new one while a rotation overlaps.
func Sign(h http.Header, id string, body []byte, at time.Time, secrets ...string) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	own, standard := "t="+stamp, ""
	for _, secret := range secrets {
		own += ",v1=" + hex.EncodeToString(mac([]byte(secret), stamp+".", body))
		if key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, SecretPrefix)); err == nil {
			standard += " v1," + base64.StdEncoding.EncodeToString(mac(key, id+"."+stamp+".", body))
		}
	}
	h.Set(SignatureHeader, own)
	h.Set(idHeader, id)
	h.Set(timestampHeader, stamp)
	h.Set(standardSignatureHeader, strings.TrimPrefix(standard, " "))
}

func mac(key []byte, prefix string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(prefix))
	h.Write(body)
	return h.Sum(nil)
}

// Verify checks the Service-Signature header of a delivery: the endpoint's secret signed
// body, at most tolerance before or after now. body is as received, before any decoding. A
// tolerance of 0 stands for [DefaultTolerance]. An empty secret is refused with
// [ErrNoSecret].
func Verify(h http.Header, body []byte, secret string, tolerance time.Duration, now time.Time) error {
	if strings.TrimSpace(strings.TrimPrefix(secret, SecretPrefix)) == "" {
		return ErrNoSecret
	}
	header := h.Get(SignatureHeader)
	if header == "" {
		return ErrNoSignature
	}
	if tolerance <= 0 {
		tolerance = DefaultTolerance
	}
	var stamp string
	var signatures [][]byte
	for part := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "t":
			stamp = value
		case "v1":
			if s, err := hex.DecodeString(value); err == nil && len(signatures) < maxSignatures {
				signatures = append(signatures, s)
			}
		}
	}
	at, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || len(signatures) == 0 {
		return fmt.Errorf("%w: the header is not well formed", ErrSignature)
	}
	want, matches := mac([]byte(secret), stamp+".", body), false
	for _, s := range signatures {
		matches = hmac.Equal(s, want) || matches
	}
	if !matches {
		return ErrSignature
	}
	if age := now.Sub(time.Unix(at, 0)); age > tolerance || age < -tolerance {
		return ErrTimestamp
	}
	return nil
}
