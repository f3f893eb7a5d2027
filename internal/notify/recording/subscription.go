package recording

import (
	"fmt"
	"slices"

	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Subscription is an active webhook endpoint, as far as this package must know it. Package
// delivering keeps it up to date.
type Subscription struct {
	Endpoint string       `json:"endpoint"`
	Events   []event.Type `json:"events"`
	// After is the newest event at the time when the endpoint became active. The endpoint gets
	// later events only. Ids ascend in the order of the commits, whatever the clocks say.
	After string `json:"after,omitempty"`
	// URL is that of the endpoint.
	URL string `json:"url,omitempty"`
}

// Match returns the type name under which the endpoint receives the event; empty if it does not
// receive it.
func (s *Subscription) Match(e *event.Event) event.Type {
	if e.ID <= s.After {
		return ""
	}
	return s.MatchType(e.Type)
}

// MatchType returns the type under which the endpoint wants events of a canonical type;
// empty when it does not want them.
func (s *Subscription) MatchType(canonical event.Type) event.Type {
	name := event.Type("")
	for _, asked := range s.Events {
		if asked == event.AllTypes || asked == canonical {
			return canonical
		}
		if c, ok := asked.Canonical(); ok && c == canonical {
			name = asked // a synonym
		}
	}
	return name
}

// subscriptions are all active endpoints of a merchant in one mode. They are one record, so
// that Record needs one read for them.
type subscriptions struct {
	List []Subscription `json:"list"`
}

var subscribed = storage.NewCollection[subscriptions]("webhook_subscriptions", nil)

// subscriptionsID is the id of the only record of a scope.
const subscriptionsID = "active"

// Subscriptions returns the active endpoints of a scope.
func (*Service) Subscriptions(tx storage.ReadTx, scope storage.Scope) ([]Subscription, error) {
	return subscriptionsOf(tx, scope)
}

func subscriptionsOf(tx storage.ReadTx, scope storage.Scope) ([]Subscription, error) {
	o, err := engine.OrNil(subscribed.Get(tx, scope, subscriptionsID))
	if o == nil || err != nil {
		return nil, err
	}
	return o.Value.List, nil
}

// PutSubscription adds or replaces the subscription of an endpoint of the caller.
func (*Service) PutSubscription(tx *engine.Tx, sub Subscription) error {
	return changeSubscriptions(tx, sub.Endpoint, sub)
}

// DeleteSubscription removes the subscription of an endpoint of the caller, if there is one.
func (*Service) DeleteSubscription(tx *engine.Tx, endpoint string) error {
	return changeSubscriptions(tx, endpoint)
}

// changeSubscriptions replaces the subscription of an endpoint.
func changeSubscriptions(tx *engine.Tx, endpoint string, replacement ...Subscription) error {
	scope := engine.Scope(tx.Caller)
	o, err := subscribed.GetOrNew(tx, scope, subscriptionsID)
	if err != nil {
		return fmt.Errorf("event: read subscriptions: %w", err)
	}
	o.Value.List = slices.DeleteFunc(o.Value.List, func(s Subscription) bool { return s.Endpoint == endpoint })
	o.Value.List = append(o.Value.List, replacement...)
	return subscribed.Put(tx, o)
}

// countSubscriptions counts the endpoints that want events of a canonical type.
func countSubscriptions(tx storage.ReadTx, scope storage.Scope, canonical event.Type) (int, error) {
	list, err := subscriptionsOf(tx, scope)
	n := 0
	for i := range list {
		if list[i].MatchType(canonical) != "" {
			n++
		}
	}
	return n, err
}
