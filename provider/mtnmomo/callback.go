package mtnmomo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/httpcall"
	"github.com/seed-7082ffec/payments/provider"
)

// maxCallback is the longest callback that is read, in bytes.
const maxCallback = 64 << 10

// callbackTimeout bounds the work on a callback.
const callbackTimeout = 30 * time.Second

// WebhookHandler handles MTN's callbacks. Mount it at Config.CallbackURL, and give it Notify of
// provider.Service:
//
//	mux.Handle("/callbacks/mtn", client.WebhookHandler(svc.Providers.Notify))
//
// MTN signs nothing. So the handler believes nothing but the id, asks MTN for the state of that
// order, and passes on what MTN answers. A forged callback has no effect. MTN sends each callback
// once, with PUT or POST; the library asks about an order whose callback was lost.
func (c *Client) WebhookHandler(notify func(ctx context.Context, id string, r provider.Result) error) http.Handler {
	bodies := httpcall.NewBodies()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut && r.Method != http.MethodPost {
			w.Header().Set("Allow", "PUT, POST")
			http.Error(w, "method", http.StatusMethodNotAllowed)
			return
		}
		var body struct {
			ExternalID text `json:"externalId"`
		}
		data, ok := bodies.Read(w, r, maxCallback)
		if !ok {
			return
		}
		if err := json.NewDecoder(bytes.NewReader(data)).Decode(&body); err != nil {
			http.Error(w, "body", http.StatusBadRequest)
			return
		}
		// The sender may hang up as soon as the body is out.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), callbackTimeout)
		defer cancel()
		status := c.handleCallback(ctx, string(body.ExternalID), notify)
		w.WriteHeader(status)
	})
}

// handleCallback looks into the order with that id. It returns the status of the answer, which MTN
// ignores.
func (c *Client) handleCallback(ctx context.Context, id string, notify func(context.Context, string, provider.Result) error) int {
	f := c.flowOf(id)
	if f == nil {
		return http.StatusNotFound
	}
	// A stranger can send callbacks, so they get only half of the queries.
	if c.callbacks.count(c.cfg.Now()) > max(1, c.cfg.StatusQueries/2) {
		return http.StatusServiceUnavailable
	}
	r, known, err := c.look(ctx, f, provider.Order{ID: id})
	switch {
	case err != nil:
		return http.StatusServiceUnavailable
	case !known:
		return http.StatusNotFound
	case r.Outcome == provider.InProgress:
		return http.StatusNoContent
	}
	r.TestMode = c.cfg.TargetEnvironment == sandbox
	switch err := notify(ctx, id, r); {
	case err == nil:
		return http.StatusNoContent
	case errors.Is(err, provider.ErrContradicted):
		return http.StatusConflict
	case api.CodeOf(err) == api.ResourceMissing:
		return http.StatusNotFound
	}
	return http.StatusServiceUnavailable
}

// limiter counts the events of a second.
type limiter struct {
	mu     sync.Mutex
	second int64
	n      int
}

// count returns how many events there were in the second of now, with this one.
func (l *limiter) count(now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if second := now.Unix(); second != l.second {
		l.second, l.n = second, 0
	}
	l.n++
	return l.n
}
