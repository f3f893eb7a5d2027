package upgrade

import (
	"errors"

	"github.com/seed-7082ffec/payments/storage"
)

// fannedOut ends the due time of an event that was fanned out before. It was made due again in order to
// remove it.
func fannedOut(_ *record, d *document) error {
	if d.has("fanned_out") {
		d.remove("due")
	}
	return nil
}

// formerSubscription is an active endpoint. After was the newest event when it became active.
type formerSubscription struct {
	After string `json:"after"`
}

// activations counts the endpoints that were active when an event was recorded that is not fanned out. Those
// endpoints get it. An endpoint that became active later has a greater id of an event than that event's.
func activations(of *record, d *document) error {
	if d.has("fanned_out") {
		return nil
	}
	k, err := kindOf(of.kinds, "webhook_subscriptions")
	if err != nil {
		return err
	}
	active, err := of.tx.Get(k, of.Scope, "active")
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	subscriptions, err := parse(active.Data)
	if err != nil {
		return err
	}
	var list []formerSubscription
	if err := subscriptions.read("list", &list); err != nil {
		return err
	}
	before := 0
	for _, s := range list {
		if s.After < of.ID {
			before++
		}
	}
	if before == 0 {
		return nil
	}
	return d.set("activations", before)
}

// activation numbers the activations of the endpoints, in the order of the events after which they became active.
func activation(_ *record, d *document) error {
	var list []formerSubscription
	if err := d.read("list", &list); err != nil || len(list) == 0 {
		return err
	}
	if err := d.set("activations", len(list)); err != nil {
		return err
	}
	at := 0
	return d.in("list", func(s *document) error {
		number := 1
		for i, other := range list {
			if other.After < list[at].After || other.After == list[at].After && i < at {
				number++
			}
		}
		at++
		s.remove("after")
		return s.set("activation", number)
	})
}
