package webhook

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/storage"
)

// firstID is the id of the delivery that tells an endpoint of an event for the first
// time. There is one, however often the event is fanned out.
func firstID(eventID, endpoint string) string { return ids.Derived("wd_", eventID, endpoint) }

// Waiting is the [event.Service]'s Pending of endpoints. What has a time at which it
// is due is pending, and so is what is yet to be written down of an event that is held.
func Waiting(tx storage.ReadTx, scope storage.Scope, e *event.Event, isHeld bool) (int, error) {
	// An event that was sent again has more deliveries than there are endpoints.
	const enough = 10 * maxEndpoints
	page, _, err := deliveries.List(tx, storage.Query{
		Scope: scope, Where: []storage.Equal{{Column: "event", Value: e.ID}},
		Range: []storage.Range{{Column: "due", From: time.UnixMilli(1)}}, Limit: enough,
	})
	if err != nil || !isHeld {
		return len(page), err
	}
	n := len(page)
	o, err := subscriptionsOf(tx, scope)
	if err != nil || o == nil {
		return n, err
	}
	for i := range o.Value.List {
		sub := &o.Value.List[i]
		if sub.tells(e) == "" {
			continue
		}
		switch is, err := written(tx, scope, firstID(e.ID, sub.Endpoint)); {
		case err != nil:
			return 0, err
		case !is:
			n++
		}
	}
	return n, nil
}

// written reports whether there is a delivery of that id.
func written(tx storage.ReadTx, scope storage.Scope, id string) (bool, error) {
	_, err := tx.Get(deliveries.Kind(), scope, id)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// tells returns the name under which an endpoint is told of an event, or nothing.
func (s *subscription) tells(e *event.Event) event.Type {
	if e.ID <= s.After {
		return ""
	}
	return s.told(e.Type)
}

// telling is what the deliveries of one event that were begun unwritten share.
type telling struct {
	open *event.Open
	left atomic.Int32 // those of which it is not written down what became of them
	lost atomic.Bool  // whether that could not be written of one
}

// teller fans out the events of one transaction.
//
// As far as this process has hands free, it begins with the deliveries of an event as
// soon as the transaction is committed. Those to endpoints that answer well are not
// written before: the event is held meanwhile, and each delivery is written once, with
// the outcome of its first attempt. If this process dies, the event is fanned out again
// when the hold is over, and whoever is not known to have been told is told, as with
// every delivery whose outcome was lost. All others are written at once: those that
// must wait for a turn, so that they are claimed and read; and those to endpoints that
// may be slow to answer, so that they are seen, and hold no event.
type teller struct {
	*Service
	// What was read so far: many events are of the same merchants.
	wanted  map[storage.Scope]*subscriptions
	targets map[string]*endpointRecord // by id
}

func (s *Service) teller() event.Teller {
	return (&teller{s, map[storage.Scope]*subscriptions{}, map[string]*endpointRecord{}}).tell
}

func (s *teller) tell(tx *engine.Tx, open *event.Open) (int, error) {
	wanted, err := s.wantedOnce(tx)
	if err != nil || wanted == nil {
		return 0, err
	}
	e := open.Event()
	told := *e
	told.PendingWebhooks = 0
	for i := range wanted.List {
		if wanted.List[i].tells(e) != "" {
			told.PendingWebhooks++
		}
	}
	all := &telling{open: open}
	var body []byte // as told says it
	for i := range wanted.List {
		sub := &wanted.List[i]
		name := sub.tells(e)
		if name == "" {
			continue
		}
		id := firstID(e.ID, sub.Endpoint)
		if open.Again() {
			if is, err := written(tx, tx.Caller.Scope(), id); err != nil {
				return 0, err
			} else if is {
				continue
			}
		}
		m := &message{held: held{newDelivery(tx, id, sub.Endpoint, e.ID, name), tx.Caller}, now: tx.Now, expected: true}
		begun, putOff, err := s.begin(tx, m, all)
		if err != nil {
			return 0, err
		}
		if !begun {
			if err := queue(tx, m.Object, putOff); err != nil {
				return 0, err
			}
			continue
		}
		if m.target, err = s.targetOnce(tx, sub.Endpoint); err != nil {
			return 0, err
		}
		if told.Type != name || body == nil {
			told.Type = name
			if body, err = plainjson.Marshal(&told); err != nil {
				return 0, fmt.Errorf("webhook: queue delivery: %w", err)
			}
		}
		m.body = body
	}
	if all.left.Load() > 0 {
		open.Hold()
	}
	return told.PendingWebhooks, nil
}

// begin has this process begin with a delivery after the commit, if there is room; if
// not, it returns for how long to put it off.
func (s *teller) begin(tx *engine.Tx, m *message, all *telling) (begun bool, putOff time.Duration, err error) {
	d, lanes := &m.Value, &s.of(tx.Caller.Live).lanes
	putOff, brisk := lanes.expect(d.Endpoint, s.engine.Clock())
	if putOff > 0 {
		return false, putOff, nil
	}
	if !tx.Hand(deliveries.Kind(), d.ID, func(ctx context.Context) error { return s.attempt(ctx, m) }) {
		lanes.leaveOut(d.Endpoint)
		return false, 0, nil
	}
	tx.Undone(func() { lanes.leaveOut(d.Endpoint) })
	if brisk {
		m.telling = all
		all.left.Add(1)
		return true, 0, nil
	}
	if err := insert(tx, m.Object); err != nil {
		return false, 0, err
	}
	m.release, err = tx.Hold(deliveries.Kind(), m.ID, m.Version)
	return true, 0, err
}

// wantedOnce returns the subscriptions of the transaction's merchant, or nil.
func (s *teller) wantedOnce(tx *engine.Tx) (*subscriptions, error) {
	scope := tx.Caller.Scope()
	known, ok := s.wanted[scope]
	if ok {
		return known, nil
	}
	o, err := subscriptionsOf(tx, scope)
	if err != nil {
		return nil, err
	}
	if o != nil {
		known = &o.Value
	}
	s.wanted[scope] = known
	return known, nil
}

// targetOnce is target, read once in a transaction.
func (s *teller) targetOnce(tx *engine.Tx, id string) (*endpointRecord, error) {
	known, ok := s.targets[id]
	if ok {
		return known, nil
	}
	known, err := s.target(tx, tx.Caller.Scope(), id)
	if err == nil {
		s.targets[id] = known
	}
	return known, err
}

// newDelivery returns a delivery that is due now, and not yet written.
func newDelivery(tx *engine.Tx, id, endpoint, eventID string, name event.Type) *storage.Object[deliveryRecord] {
	return &storage.Object[deliveryRecord]{Scope: tx.Caller.Scope(), ID: id, Value: deliveryRecord{Delivery: Delivery{
		ID: id, Object: "webhook_delivery", Endpoint: endpoint, Event: eventID, Type: name,
		Status: Pending, Attempts: []Attempt{}, NextAttemptAt: api.AtOrNil(tx.Now), CreatedAt: api.At(tx.Now),
	}}}
}

// queue writes a new delivery for whoever claims it after so long.
func queue(tx *engine.Tx, o *storage.Object[deliveryRecord], putOff time.Duration) error {
	o.Value.NextAttemptAt = api.AtOrNil(tx.Now.Add(putOff))
	tx.DueIn(deliveries.Kind(), putOff)
	return insert(tx, o)
}

// insert writes a new delivery.
func insert(tx storage.Tx, o *storage.Object[deliveryRecord]) error {
	made, err := deliveries.Insert(tx, o.Scope, o.ID, o.Value)
	if err != nil {
		return fmt.Errorf("webhook: write delivery: %w", err)
	}
	o.Version = made.Version
	return nil
}
