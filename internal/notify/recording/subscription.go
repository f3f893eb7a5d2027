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
	// Activation is the number of this activation of an endpoint among those of the scope. The endpoint gets
	// the events that were recorded after it, whatever the clocks say.
	Activation int64 `json:"activation,omitempty"`
	// URL is that of the endpoint.
	URL string `json:"url,omitempty"`
}

// match returns the type name under which the endpoint receives the event; empty if it does not
// receive it.
func (s *Subscription) match(r *record) event.Type {
	if r.Activations < s.Activation {
		return ""
	}
	return s.MatchType(r.Type)
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

// subscriptions are all active endpoints of a merchant in one mode. They are one record, so that the recording
// of an event needs one read for them.
type subscriptions struct {
	List []Subscription `json:"list"`
	// Activations counts the activations of endpoints so far.
	Activations int64 `json:"activations,omitempty"`
}

var subscribed = storage.NewCollection[subscriptions]("webhook_subscriptions", nil)

// subscriptionsID is the id of the only record of a scope.
const subscriptionsID = "active"

// Subscriptions returns the active endpoints of a scope.
func (*Service) Subscriptions(tx storage.ReadTx, scope storage.Scope) ([]Subscription, error) {
	active, err := readSubscriptions(tx, scope)
	return active.List, err
}

func readSubscriptions(tx storage.ReadTx, scope storage.Scope) (subscriptions, error) {
	o, err := subscribed.GetOrNew(tx, scope, subscriptionsID)
	if err != nil {
		return subscriptions{}, fmt.Errorf("event: read subscriptions: %w", err)
	}
	return o.Value, nil
}

// PutSubscription activates an endpoint of the caller, or changes one that is active.
func (*Service) PutSubscription(tx *engine.Tx, sub Subscription) error {
	return changeSubscriptions(tx, func(s *subscriptions) {
		if i := s.index(sub.Endpoint); i >= 0 {
			sub.Activation = s.List[i].Activation
			s.List[i] = sub
			return
		}
		s.Activations++
		sub.Activation = s.Activations
		s.List = append(s.List, sub)
	})
}

// DeleteSubscription removes the subscription of an endpoint of the caller, if there is one.
func (*Service) DeleteSubscription(tx *engine.Tx, endpoint string) error {
	return changeSubscriptions(tx, func(s *subscriptions) {
		if i := s.index(endpoint); i >= 0 {
			s.List = slices.Delete(s.List, i, i+1)
		}
	})
}

func changeSubscriptions(tx *engine.Tx, change func(*subscriptions)) error {
	o, err := subscribed.GetOrNew(tx, engine.Scope(tx.Caller), subscriptionsID)
	if err != nil {
		return fmt.Errorf("event: read subscriptions: %w", err)
	}
	change(&o.Value)
	return subscribed.Put(tx, o)
}

func (s *subscriptions) index(endpoint string) int {
	return slices.IndexFunc(s.List, func(sub Subscription) bool { return sub.Endpoint == endpoint })
}

// count counts the endpoints that want events of a canonical type.
func (s *subscriptions) count(canonical event.Type) (n int) {
	for i := range s.List {
		if s.List[i].MatchType(canonical) != "" {
			n++
		}
	}
	return n
}
