package webhook

import (
	"net/http"
	"strings"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	stripe "github.com/stripe/stripe-go/v82/webhook"

	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

// Other people's verifiers accept our signatures, with either secret of a
// rotation, and refuse others.
func TestThirdPartyVerifiersAcceptSignature(t *testing.T) {
	old, current, other := newSecret(), newSecret(), newSecret()
	body := []byte(`{"id":"evt_1","note":"₵ <>&"}`)
	h := http.Header{}
	sign(h, "evt_1", body, time.Now(), current, old)
	for _, secret := range []string{current, old} {
		v := must.Get(standard.NewWebhook(secret))(t)
		expect.NoError(t, v.Verify(body, h), "Standard Webhooks")
		expect.NoError(t, stripe.ValidatePayload(body, h.Get(SignatureHeader), secret), "stripe-go")
		expect.NoError(t, Verify(h, body, secret, 0, time.Now()), "ours")
	}
	v := must.Get(standard.NewWebhook(other))(t)
	expect.True(t, v.Verify(body, h) != nil && stripe.ValidatePayload(body, h.Get(SignatureHeader), other) != nil, "another secret verifies")
}

func TestVerifyRefusesForgedOrOldSignature(t *testing.T) {
	secret, body := newSecret(), []byte(`{"id":"evt_1"}`)
	at := time.Unix(1_700_000_000, 0)
	h := http.Header{}
	sign(h, "evt_1", body, at, secret)
	with := func(value string) http.Header { return http.Header{SignatureHeader: {value}} }
	good := h.Get(SignatureHeader)
	for _, c := range []struct {
		what   string
		header http.Header
		body   string
		secret string
		now    time.Time
		want   error
	}{
		{"good", h, string(body), secret, at, nil},
		{"at the edge", h, string(body), secret, at.Add(DefaultTolerance), nil},
		{"too old", h, string(body), secret, at.Add(DefaultTolerance + time.Second), ErrTimestamp},
		{"from the future", h, string(body), secret, at.Add(-DefaultTolerance - time.Second), ErrTimestamp},
		{"another body", h, string(body) + " ", secret, at, ErrSignature},
		{"another secret", h, string(body), newSecret(), at, ErrSignature},
		{"no header", http.Header{}, string(body), secret, at, ErrNoSignature},
		{"no time", with(good[strings.Index(good, ",")+1:]), string(body), secret, at, ErrSignature},
		{"another time", with("t=1700000001" + good[strings.Index(good, ","):]), string(body), secret, at, ErrSignature},
		{"no signature", with("t=1700000000"), string(body), secret, at, ErrSignature},
		{"another scheme", with(strings.Replace(good, "v1", "v0", 1)), string(body), secret, at, ErrSignature},
		{"spaces", with(strings.Replace(good, ",", ", ", 1)), string(body), secret, at, nil},
		{"no secret", signed(at, body, ""), string(body), "", at, ErrNoSecret},
		{"the prefix of a secret", signed(at, body, "whsec_"), string(body), "whsec_", at, ErrNoSecret},
		{"a blank secret", signed(at, body, " "), string(body), " ", at, ErrNoSecret},
		{"a wrong one first", with(strings.Replace(good, ",", ",v1=00,v1=zz,", 1)), string(body), secret, at, nil},
	} {
		expect.ErrorIs(t, Verify(c.header, []byte(c.body), c.secret, 0, c.now), c.want, "%s", c.what)
	}
}

// signed returns the headers of a body that was signed with a secret.
func signed(at time.Time, body []byte, secret string) http.Header {
	h := http.Header{}
	sign(h, "evt_1", body, at, secret)
	return h
}

func FuzzVerify(f *testing.F) {
	secret, body := newSecret(), []byte(`{}`)
	h := http.Header{}
	sign(h, "evt_1", body, time.Unix(1, 0), secret)
	f.Add(h.Get(SignatureHeader))
	f.Add("t=,v1=,")
	f.Fuzz(func(t *testing.T, header string) {
		err := Verify(http.Header{SignatureHeader: {header}}, []byte("other"), secret, 0, time.Unix(1, 0))
		expect.True(t, err != nil, "%q verifies", header)
	})
}
