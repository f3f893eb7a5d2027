package event

import (
	"errors"
	"fmt"
	"slices"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// AllTypes stands for every type in a subscription.
const AllTypes Type = "*"

// Subscription is what recording an event must know of an active webhook endpoint.
// Package webhook keeps it up to date.
type Subscription struct {
	Endpoint string `json:"endpoint"`
	Events   []Type `json:"events"`
	// After is the newest event there was when the endpoint began to listen. It is told of
	// later ones alone. Ids follow each other in the order of the commits, whatever the
	// clocks say.
	After string `json:"after,omitempty"`
	// URL is where it is told; empty in what an earlier release wrote.
	URL string `json:"url,omitempty"`
}

// Match returns the type under which the endpoint gets an event; empty when it does not.
func (s *Subscription) Match(e *Event) Type {
	if e.ID <= s.After {
		return ""
	}
	return s.MatchType(e.Type)
}

// MatchType returns the type under which the endpoint wants events of a canonical type;
// empty when it does not want them.
func (s *Subscription) MatchType(canonical Type) Type {
	name := Type("")
	for _, asked := range s.Events {
		if asked == AllTypes || asked == canonical {
			return canonical
		}
		if c, ok := asked.Canonical(); ok && c == canonical {
			name = asked // the other list's name of the same fact
		}
	}
	return name
}

// subscriptions are all active endpoints of a merchant in one mode, in one
// record, so that recording an event costs one read.
type subscriptions struct {
	List []Subscription `json:"list"`
}

var subscribed = storage.NewCollection[subscriptions]("webhook_subscriptions", nil)

// subscriptionsID is the id of the only record of a scope.
const subscriptionsID = "active"

// Subscriptions returns the active endpoints of a scope.
func (*Internal) Subscriptions(tx storage.ReadTx, scope storage.Scope) ([]Subscription, error) {
	return subscriptionsOf(tx, scope)
}

func subscriptionsOf(tx storage.ReadTx, scope storage.Scope) ([]Subscription, error) {
	o, err := subscribed.Get(tx, scope, subscriptionsID)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("event: read subscriptions: %w", err)
	}
	return o.Value.List, nil
}

// PutSubscription adds an endpoint of the caller's, or replaces it.
func (i *Internal) PutSubscription(tx *engine.Tx, s Subscription) error {
	return changeSubscriptions(tx, s.Endpoint, s)
}

// DeleteSubscription takes an endpoint of the caller's out, if it is there.
func (i *Internal) DeleteSubscription(tx *engine.Tx, endpoint string) error {
	return changeSubscriptions(tx, endpoint)
}

// changeSubscriptions puts others in the place of an endpoint.
func changeSubscriptions(tx *engine.Tx, endpoint string, instead ...Subscription) error {
	scope := engine.Scope(tx.Caller)
	o, err := subscribed.GetOrNew(tx, scope, subscriptionsID)
	if err != nil {
		return fmt.Errorf("event: read subscriptions: %w", err)
	}
	o.Value.List = slices.DeleteFunc(o.Value.List, func(s Subscription) bool { return s.Endpoint == endpoint })
	o.Value.List = append(o.Value.List, instead...)
	if err := subscribed.Put(tx, o); err != nil {
		return fmt.Errorf("event: write subscriptions: %w", err)
	}
	return nil
}

// countSubscriptions counts the endpoints that want events of a canonical type.
func countSubscriptions(tx storage.ReadTx, scope storage.Scope, canonical Type) (int, error) {
	list, err := subscriptionsOf(tx, scope)
	n := 0
	for i := range list {
		if list[i].MatchType(canonical) != "" {
			n++
		}
	}
	return n, err
}
