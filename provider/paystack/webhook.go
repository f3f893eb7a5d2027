package paystack

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/httpcall"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/provider"
)

// SignatureHeader holds the hex HMAC-SHA512 of a webhook's body under the secret key.
const SignatureHeader = "X-Paystack-Signature"

// maxEvent is the longest webhook that is read, in bytes.
const maxEvent = 512 << 10

// eventTimeout bounds the work on a webhook, whose client may have no time-out of its own.
const eventTimeout = time.Minute

type event struct {
	Event string `json:"event"`
	Data  struct {
		Domain      string `json:"domain"`
		Reference   text   `json:"reference"`
		Transaction text   `json:"transaction_reference"` // of a refund
		// Disputed is the transaction of a dispute. Other events have other things in its place.
		Disputed json.RawMessage `json:"transaction"`
	} `json:"data"`
}

// order returns the kind of the event, and the reference of the transfer or the charge that it is about.
func (e *event) order() (kind, reference string) {
	kind, what, _ := strings.Cut(e.Event, ".")
	switch {
	case kind == "refund":
		return kind, string(e.Data.Transaction)
	case strings.HasPrefix(what, "dispute."):
		var disputed struct {
			Reference text `json:"reference"`
		}
		_ = json.Unmarshal(e.Data.Disputed, &disputed) // without one the event is about no order
		return "dispute", cmp.Or(string(disputed.Reference), string(e.Data.Transaction))
	}
	return kind, string(e.Data.Reference)
}

// WebhookHandler returns the handler of Paystack's webhooks. notify is Notify of
// [provider.Service]:
//
//	mux.Handle("POST /webhooks/paystack", client.WebhookHandler(svc.Providers.Notify))
//
// The handler verifies the signature with Config.SecretKey, and answers 401 if it does not match; it reads no
// body without a signature. It reads 16 bodies at a time, and answers 503 to what waits for 5 seconds. An
// event is a hint: the handler asks Paystack about the order and passes on what Paystack answers.
// Paystack repeats an event until it gets a 200, for up to 72 hours. So the handler answers 200 for
// events of other orders and other kinds, and 503 when Paystack or notify fails.
func (c *Client) WebhookHandler(notify func(ctx context.Context, id string, r provider.Result) error) http.Handler {
	bodies := httpcall.NewBodies()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), eventTimeout)
		defer cancel()
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "post a webhook", http.StatusMethodNotAllowed)
			return
		}
		signature, err := hex.DecodeString(r.Header.Get(SignatureHeader))
		if err != nil || len(signature) != sha512.Size {
			http.Error(w, "the signature is malformed", http.StatusUnauthorized) // whatever the body is
			return
		}
		body, ok := bodies.Read(w, r, maxEvent)
		if !ok {
			return
		}
		if !c.signed(signature, body) {
			http.Error(w, "the signature does not match", http.StatusUnauthorized)
			return
		}
		var e event
		switch {
		case json.Unmarshal(body, &e) != nil:
			http.Error(w, "the body is no event", http.StatusBadRequest)
		case e.Data.Domain != "" && e.Data.Domain != c.domain():
			http.Error(w, "the event is of another mode than the key", http.StatusForbidden)
		case c.report(ctx, e, notify) != nil:
			http.Error(w, "later", http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusOK)
		}
	})
}

// signed checks a signature in constant time. With an empty key it passes none.
func (c *Client) signed(signature, body []byte) bool {
	h := hmac.New(sha512.New, []byte(c.key()))
	h.Write(body)
	return c.key() != "" && hmac.Equal(signature, h.Sum(nil))
}

// domain returns what Paystack calls the mode of the key.
func (c *Client) domain() string {
	if c.live() {
		return "live"
	}
	return "test"
}

// report asks about the order of an event and notifies. It returns an error if the event should
// come again.
func (c *Client) report(ctx context.Context, e event, notify func(context.Context, string, provider.Result) error) error {
	kind, reference := e.order()
	id, ours := ids.FromBase36(reference)
	if !ours || !kindFits(kind, id) {
		return nil
	}
	// Here there is only the id. Who knows it may open a charge with its reference and another amount,
	// by the public key, so the result tells the amount, and the library compares it.
	order := provider.Order{ID: id, Live: c.live()}
	results := map[string]provider.Result{}
	var err error
	switch kind {
	case "transfer":
		results[id], err = c.Status(ctx, provider.Transfer{Order: order})
	case "charge":
		results[id], err = c.ChargeStatus(ctx, provider.Charge{Order: order})
	default:
		results, err = c.refundsOf(ctx, id, kind == "dispute")
	}
	for id, r := range results {
		if !r.Outcome.Final() {
			continue // the library polls
		}
		r.TestMode = !c.live()
		notified := notify(ctx, id, r)
		if errors.Is(notified, provider.ErrContradicted) || api.CodeOf(notified) == api.ResourceMissing {
			notified = nil // noted, or of another installation: a repetition changes nothing
		}
		err = errors.Join(err, notified)
	}
	return err
}

// kindFits reports whether a kind of event tells about an order with that id: a transfer's about a
// payout, the others about a charge. A transaction at Paystack may have any reference.
// So one with the reference of a payout must not end the payout.
func kindFits(kind, id string) bool {
	prefix, _, _ := strings.Cut(id, "_")
	switch prefix {
	case "po":
		return kind == "transfer"
	case "pay", "tu", "att":
		return kind == "charge" || kind == "refund" || kind == "dispute"
	}
	return false
}

// refundsOf returns the results of a charge's refunds that the library made: an event names the charge
// alone. If money went back otherwise, because the operator gave it back in Paystack's dashboard or
// lost a dispute, it returns the result of the charge, too. disputed says that there is a dispute.
func (c *Client) refundsOf(ctx context.Context, charge string, disputed bool) (map[string]provider.Result, error) {
	order := provider.Order{ID: charge, Live: c.live()}
	x, found, err := c.verify(ctx, order)
	if err != nil || !found {
		return nil, err
	}
	rows, back, failed := c.returnedOf(ctx, x, disputed)
	results := map[string]provider.Result{}
	for _, row := range rows {
		id := row.note()
		if _, done := results[id]; done || !isRefundID(id) {
			continue
		}
		row, _, err := find(rows, id)
		if err == nil {
			results[id], err = row.result(provider.Order{ID: id})
		} else {
			results[id] = provider.Result{}
		}
		failed = errors.Join(failed, err)
	}
	if word := outcome(chargeWords, x.Status); failed != nil || word != provider.Paid && word != provider.Reversed {
		return results, failed
	}
	r, err := x.afterReturn(back, provider.Charge{Order: order})
	if err == nil && back.taken() > 0 {
		results[charge] = r
	}
	return results, err
}
