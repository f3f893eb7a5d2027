package delivering

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/webhook"
)

// rotationOverlap is how long a replaced secret still signs deliveries, along with the current one. An endpoint
// has at most maxOldSecrets replaced secrets.
const (
	rotationOverlap = 24 * time.Hour
	maxOldSecrets   = 8
)

// endpointRecord is an endpoint as the store has it. Its Secret stays empty.
type endpointRecord struct {
	webhook.Endpoint
	Current string `json:"current"`
	oldSecret
	// Older are the secrets before Old, the newest first.
	Older []oldSecret `json:"older,omitempty"`
	// FailingSince is the time of the first failure since the last success; nil without one.
	FailingSince *api.Time `json:"failing_since,omitempty"`
	// ForReader says that the caller who set the address may not write subscriptions, so that deliveries
	// show no manage_url.
	ForReader bool `json:"for_reader,omitempty"`
}

// oldSecret is a secret that a rotation has replaced. It signs deliveries until OldUntil.
type oldSecret struct {
	Old      string    `json:"old,omitempty"`
	OldUntil *api.Time `json:"old_until,omitempty"`
}

var endpoints = storage.NewCollection[endpointRecord]("webhook_endpoints", nil).Passthrough(func(r *endpointRecord) any { return &r.Endpoint })

// activeEndpoint returns an endpoint, or nil when it is off or was deleted.
func activeEndpoint(tx storage.ReadTx, scope storage.Scope, id string) (*endpointRecord, error) {
	o, err := engine.OrNil(endpoints.Get(tx, scope, id))
	if o == nil || err != nil || !o.Value.Active {
		return nil, err
	}
	return &o.Value, nil
}

// secretBytes is the length of a secret, without its prefix.
const secretBytes = 32

// newSecret returns a signing secret: whsec_ and 32 random bytes in base64.
func newSecret() string {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // never fails
	return webhook.SecretPrefix + base64.StdEncoding.EncodeToString(b)
}

// secrets returns the secrets that sign a delivery at a time.
func (r *endpointRecord) secrets(now time.Time) []string {
	all := []string{r.Current}
	for _, o := range r.oldSecrets(now) {
		all = append(all, o.Old)
	}
	return all
}

// oldSecrets returns the old secrets that still sign, the newest first.
func (r *endpointRecord) oldSecrets(now time.Time) (valid []oldSecret) {
	for _, o := range append([]oldSecret{r.oldSecret}, r.Older...) {
		if o.OldUntil != nil && now.Before(o.OldUntil.Time) {
			valid = append(valid, o)
		}
	}
	return valid
}

// updateSubscription writes the subscription of an endpoint, or removes it if the endpoint is
// off.
func (s *Service) updateSubscription(tx *engine.Tx, e *endpointRecord) error {
	if !e.Active {
		return s.events.DeleteSubscription(tx, e.ID)
	}
	return s.events.PutSubscription(tx, recording.Subscription{Endpoint: e.ID, Events: e.Events, URL: e.URL})
}

// checkEvents refuses an empty list and unknown types, and drops duplicates.
func checkEvents(list []event.Type) ([]event.Type, error) {
	if len(list) == 0 {
		return nil, api.Errorf(api.ParameterMissing, "events", "events must name at least one type of event, or *.")
	}
	var checked []event.Type
	for i, t := range list {
		if _, ok := t.Canonical(); !ok && t != event.AllTypes {
			param := fmt.Sprintf("events[%d]", i)
			return nil, api.Errorf(api.EventTypeUnknown, param, "%s is no type of event. The types are listed with the events in the documentation; * stands for all.", param)
		}
		if !slices.Contains(checked, t) {
			checked = append(checked, t)
		}
	}
	return checked, nil
}

// checkReads refuses a caller who may not read the objects of these types. Otherwise a key
// that may only change webhooks could have every object sent to it.
func checkReads(caller api.Caller, list []event.Type) error {
	if caller.Permissions == nil {
		return nil
	}
	if slices.Contains(list, event.AllTypes) {
		list = event.Types()
	}
	for _, t := range list {
		if resource := t.Resource(); !caller.Reads(resource) {
			return api.Errorf(api.PermissionDenied, "events", "This API key may not read %s, and so it cannot create or change an endpoint that is told of them. Use a key that may, or leave these types out.", resource)
		}
	}
	return nil
}

// maxEndpoints bounds the active endpoints of a merchant in one mode. maxPerURL bounds those whose URLs differ
// in the query only, because the service posts each event to all of them.
const (
	maxEndpoints = 100
	maxPerURL    = 10
)

func (s *Service) Create(ctx context.Context, caller api.Caller, p webhook.CreateParams) (*webhook.Endpoint, error) {
	if p.URL == "" {
		return nil, api.Missing("url")
	}
	if err := checkURL(p.URL, caller.Live); err != nil {
		return nil, err
	}
	events, err := checkEvents(p.Events)
	if err != nil {
		return nil, err
	}
	if err := checkReads(caller, events); err != nil {
		return nil, err
	}
	var secret string
	caller = withReplayed(caller)
	op := engine.Operation{Name: "webhook_endpoint.create", Params: p}
	made, err := engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*webhook.Endpoint, error) {
		secret = newSecret()
		r := endpointRecord{Endpoint: webhook.Endpoint{
			ID: tx.NewID("we_"), Object: "webhook_endpoint", URL: p.URL, Active: true, Events: events,
			CreatedAt: api.At(tx.Now), UpdatedAt: api.At(tx.Now),
		}, Current: secret, ForReader: !caller.Writes("subscriptions")}
		if err := s.checkCount(tx, &r.Endpoint, "url"); err != nil {
			return nil, err
		}
		r.activate()
		if _, err := endpoints.Insert(tx, engine.Scope(caller), r.ID, r); err != nil {
			return nil, fmt.Errorf("webhook: create endpoint: %w", err)
		}
		return &r.Endpoint, s.updateSubscription(tx, &r)
	})
	return s.reveal(caller, made, secret, err)
}

// activate switches an endpoint on.
func (r *endpointRecord) activate() { r.Active, r.FailingSince = true, nil }

// checkCount refuses an endpoint beyond maxEndpoints or maxPerURL. The number is limited because one
// transaction makes the deliveries of an event to all endpoints.
func (s *Service) checkCount(tx *engine.Tx, e *webhook.Endpoint, param string) error {
	list, err := s.events.Subscriptions(tx, engine.Scope(tx.Caller))
	if err != nil {
		return err
	}
	others, sameURL := 0, 0
	for _, other := range list {
		if other.Endpoint == e.ID {
			continue
		}
		others++
		if canonicalURL(other.URL) == canonicalURL(e.URL) {
			sameURL++
		}
	}
	switch {
	case others >= maxEndpoints:
		return api.Invalid(param, "There are %d active endpoints already; delete one first, or switch it off.", maxEndpoints)
	case sameURL >= maxPerURL:
		return api.Invalid(param, "There are %d active endpoints with this url already; delete one first, or switch it off.", maxPerURL)
	}
	return nil
}

// canonicalURL returns an address without its query, in the spelling by which addresses are
// compared.
func canonicalURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	if u.RawQuery, u.ForceQuery = "", false; u.Path == "" {
		u.Path = "/"
	}
	u.Host = strings.TrimSuffix(strings.ToLower(u.Host), ".")
	return u.String()
}

// reveal puts a secret into the answer of the call that made it. A replay, which gets the
// stored answer, shows none.
func (s *Service) reveal(caller api.Caller, e *webhook.Endpoint, secret string, err error) (*webhook.Endpoint, error) {
	if err != nil {
		return nil, err
	}
	if caller.Replayed == nil || !*caller.Replayed {
		e.Secret = secret
	}
	return e, nil
}

// withReplayed returns a caller who learns whether the call is a replay, which reveal must
// know: a replay may have made a secret that was rolled back.
func withReplayed(caller api.Caller) api.Caller {
	if caller.Replayed == nil {
		caller.Replayed = new(bool)
	}
	return caller
}

func (s *Service) Get(ctx context.Context, caller api.Caller, id string) (*webhook.Endpoint, error) {
	return listing.Get(ctx, s.engine, caller, id)
}

// GetJSON writes the JSON of what Get returns; see package httpapi.
func (s *Service) GetJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error {
	return listing.GetJSON(ctx, s.engine, caller, id, w)
}

const noun = "webhook endpoint"

// listing is how endpoints are read.
var listing = engine.Listing[endpointRecord, webhook.Endpoint]{
	Collection: endpoints, Noun: noun, URL: "/v1/webhooks",
	Show: func(r *endpointRecord) webhook.Endpoint { return r.Endpoint },
}

func (s *Service) List(ctx context.Context, caller api.Caller, p webhook.ListParams) (*api.List[webhook.Endpoint], error) {
	return listing.List(ctx, s.engine, storage.Query{Scope: engine.Scope(caller)}, p.Page)
}

// ListJSON writes the JSON of what List returns; see package httpapi.
func (s *Service) ListJSON(ctx context.Context, caller api.Caller, p webhook.ListParams, w io.Writer) error {
	return listing.ListJSON(ctx, s.engine, storage.Query{Scope: engine.Scope(caller)}, p.Page, w)
}

func (s *Service) Update(ctx context.Context, caller api.Caller, id string, p webhook.UpdateParams) (*webhook.Endpoint, error) {
	if p.URL != nil {
		if err := checkURL(*p.URL, caller.Live); err != nil {
			return nil, err
		}
	}
	if p.Events != nil {
		var err error
		if p.Events, err = checkEvents(p.Events); err != nil {
			return nil, err
		}
		if err := checkReads(caller, p.Events); err != nil {
			return nil, err
		}
	}
	return s.change(ctx, caller, "webhook_endpoint.update", id, p, func(tx *engine.Tx, r *endpointRecord) error {
		param, counted := "is_active", r.Active
		if p.URL != nil {
			if counted && canonicalURL(r.URL) != canonicalURL(*p.URL) {
				param, counted = "url", false
			}
			if r.URL != *p.URL {
				r.FailingSince = nil // the failures of the old address say nothing of the new one
			}
			r.URL, r.ForReader = *p.URL, !caller.Writes("subscriptions")
		}
		if p.Events != nil {
			r.Events = p.Events
		}
		switch {
		case p.Active == nil:
		case !*p.Active:
			r.Active = false
		case r.Active:
			r.FailingSince = nil
		default:
			r.activate()
		}
		if r.Active && !counted {
			return s.checkCount(tx, &r.Endpoint, param)
		}
		return nil
	})
}

// change runs a call that changes one endpoint.
func (s *Service) change(ctx context.Context, caller api.Caller, name, id string, params any, do func(*engine.Tx, *endpointRecord) error) (*webhook.Endpoint, error) {
	op := engine.Operation{Name: name, Params: struct {
		ID     string `json:"id"`
		Params any    `json:"params,omitempty"`
	}{id, params}}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*webhook.Endpoint, error) {
		o, err := engine.GetTx(tx, endpoints, engine.Scope(caller), id, noun)
		if err != nil {
			return nil, err
		}
		if err := checkReads(caller, o.Value.Events); err != nil {
			return nil, err
		}
		if err := do(tx, &o.Value); err != nil {
			return nil, err
		}
		o.Value.UpdatedAt = api.At(tx.Now)
		if err := endpoints.Replace(tx, o); err != nil {
			return nil, fmt.Errorf("webhook: write endpoint: %w", err)
		}
		return &o.Value.Endpoint, s.updateSubscription(tx, &o.Value)
	})
}

func (s *Service) RotateSecret(ctx context.Context, caller api.Caller, id string) (*webhook.Endpoint, error) {
	var secret string
	caller = withReplayed(caller)
	e, err := s.change(ctx, caller, "webhook_endpoint.rotate", id, nil, func(tx *engine.Tx, r *endpointRecord) error {
		secret = newSecret()
		older := r.oldSecrets(tx.Now)
		r.Older = older[:min(len(older), maxOldSecrets-1)]
		r.oldSecret = oldSecret{r.Current, api.AtOrNil(tx.Now.Add(rotationOverlap))}
		r.Current = secret
		return nil
	})
	return s.reveal(caller, e, secret, err)
}

func (s *Service) Delete(ctx context.Context, caller api.Caller, id string) (*api.Deleted, error) {
	op := engine.Operation{Name: "webhook_endpoint.delete", Params: id}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*api.Deleted, error) {
		o, err := engine.GetTx(tx, endpoints, engine.Scope(caller), id, noun)
		if err != nil {
			return nil, err
		}
		if err := engine.Delete(tx, endpoints, o); err != nil {
			return nil, fmt.Errorf("webhook: delete endpoint: %w", err)
		}
		return &api.Deleted{ID: id, Object: "webhook_endpoint", Deleted: true}, s.events.DeleteSubscription(tx, id)
	})
}
