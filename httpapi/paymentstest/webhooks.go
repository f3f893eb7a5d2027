package paymentstest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/webhook"
)

// Loopback returns the address ranges of this machine. Set payments.Config.WebhookAllow to it to
// receive webhooks in a test.
func Loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// Receive starts a server that answers with a host's webhook handler, made by build
// with the secret of its endpoint, and subscribes it to the types; none stands for
// all. Work delivers what happens from now on.
func (s *Shop) Receive(build func(secret string) http.Handler, types ...event.Type) *webhook.Endpoint {
	s.tb.Helper()
	here := netip.MustParseAddr("127.0.0.1")
	if !slices.ContainsFunc(s.webhookAllow, func(p netip.Prefix) bool { return p.Contains(here) }) {
		s.tb.Fatal("paymentstest: webhooks may not be delivered to this machine; set WebhookAllow to paymentstest.Loopback() in the configuration")
	}
	if len(types) == 0 {
		types = []event.Type{"*"}
	}
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	s.tb.Cleanup(server.Close)
	endpoint, err := s.Webhooks.Create(s.tb.Context(), s.Caller, webhook.CreateParams{URL: server.URL, Events: types})
	s.check(err)
	handler = build(endpoint.Secret)
	return endpoint
}

// Inbox is a webhook endpoint that records the events it receives.
type Inbox struct {
	// Endpoint is the registration of the endpoint.
	Endpoint *webhook.Endpoint

	shop   *Shop
	mu     sync.Mutex
	events []event.Event
	// wrong is why the last delivery that did not verify did not.
	wrong error
}

// Inbox subscribes an inbox to the types; none stands for all.
func (s *Shop) Inbox(types ...event.Type) *Inbox {
	s.tb.Helper()
	in := &Inbox{shop: s}
	in.Endpoint = s.Receive(func(secret string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var e event.Event
			body, err := io.ReadAll(r.Body)
			if err == nil {
				err = webhook.Verify(r.Header, body, secret, 0, time.Now())
			}
			if err == nil {
				err = json.Unmarshal(body, &e)
			}
			in.mu.Lock()
			defer in.mu.Unlock()
			switch known := func(k event.Event) bool { return k.ID == e.ID }; {
			case err != nil: // webhook.Handler would tell the sender alone
				in.wrong = fmt.Errorf("paymentstest: a delivery to the inbox: %w", err)
				w.WriteHeader(http.StatusBadRequest)
			case !slices.ContainsFunc(in.events, known):
				in.events = append(in.events, e)
			}
		})
	}, types...)
	return in
}

// Events does the due work and returns all events delivered so far, each once, in the order of
// their commits. It fails the test if a signature is wrong.
func (in *Inbox) Events() []event.Event {
	in.shop.tb.Helper()
	in.shop.Work()
	in.mu.Lock()
	defer in.mu.Unlock()
	in.shop.check(in.wrong)
	events := slices.Clone(in.events)
	slices.SortFunc(events, func(a, b event.Event) int {
		if a.ID < b.ID { // ids ascend in the order made
			return -1
		}
		return 1
	})
	return events
}

// Object returns the object of the newest event of a type, and fails
// the test if there is none: Object[payment.Payment](in, "payment.succeeded").
func Object[T any](in *Inbox, is event.Type) *T {
	in.shop.tb.Helper()
	for _, e := range slices.Backward(in.Events()) {
		if e.Type == is {
			object := new(T)
			in.shop.check(json.Unmarshal(e.Data.Object, object))
			return object
		}
	}
	in.shop.tb.Fatalf("paymentstest: no event %s was delivered", is)
	return nil
}
