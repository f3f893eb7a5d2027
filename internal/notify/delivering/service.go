// Package delivering posts events to the servers of merchants: it implements [webhook.Service].
//
// It owns endpoints and the life of deliveries: the fan-out of an event, the attempts and the removal. Package
// recording, which this package uses, stores events, deliveries and subscriptions. From these records package
// recording counts the endpoints that an event has not reached yet.
package delivering

import (
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/internal/pace"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/webhook"
)

// Config is the configuration of the service.
type Config struct {
	Events *recording.Service
	// Allow opens address ranges that are not public, such as loopback, to the
	// deliveries of test mode.
	Allow []netip.Prefix
}

// Service implements [webhook.Service].
type Service struct {
	engine *engine.Engine
	events *recording.Service
	// deliveries is the collection that package recording owns.
	deliveries *storage.Collection[webhook.Delivery]
	// The senders are separate, so that neither mode takes the slots of the other.
	live, test *sender
	// avgEndpoints is the average number of endpoints of the events last fanned out.
	avgEndpoints *atomic.Int64
	// readBatch reads the events and endpoints of many deliveries in one snapshot.
	// writeBatch runs many writes, most of them outcomes of attempts, in one transaction.
	readBatch  *engine.Batcher[*outgoing]
	writeBatch *engine.Batcher[*batchedWrite]
}

// sender bounds and posts the deliveries of one mode.
type sender struct {
	limiter   pace.Limiter
	transport *http.Transport
}

// senderFor returns the sender of a mode.
func (s *Service) senderFor(live bool) *sender {
	if live {
		return s.live
	}
	return s.test
}

// AtHand returns how many deliveries this process has at hand. Only the tests of package webhook call it. They
// stand outside this package: a test inside would make each test build recompile all packages above this one.
func (s *Service) AtHand() int { return s.live.limiter.AtHand() + s.test.limiter.AtHand() }

// Transport returns the HTTP transport for the deliveries of a mode. Only the same tests call it, to keep it off
// the network.
func (s *Service) Transport(live bool) *http.Transport { return s.senderFor(live).transport }

// maxWrites is how many transactions write outcomes at a time. They share a commit, and between
// them the store serves others.
const maxWrites = 4

var _ webhook.Service = (*Service)(nil)

// New returns the service.
func New(e *engine.Engine, c Config) *Service {
	s := &Service{engine: e, events: c.Events, deliveries: c.Events.Deliveries(), live: &sender{transport: transport(nil)}, test: &sender{transport: transport(c.Allow)}, avgEndpoints: new(atomic.Int64)}
	s.avgEndpoints.Store(128) // a guess, until the first fan-out
	s.readBatch = engine.NewBatcher(pace.MaxInFlight, 1, s.readOutgoing)
	s.writeBatch = engine.NewBatcher(pace.MaxInFlight, maxWrites, s.runWrites)
	return s
}

// Kinds are the kinds that this package stores.
func Kinds() []*storage.Kind {
	return []*storage.Kind{endpoints.Kind(), latencies.Kind()}
}

// Jobs returns the jobs that fan out events and attempt deliveries.
func (s *Service) Jobs() []work.Job {
	return []work.Job{
		{Kind: s.events.Kind(), Timeout: time.Minute, Batch: 256, BeginInTx: s.fanOut, RunOne: s.fanOutClaimed},
		// The timeout covers the wait for a slot, the attempt and the write of its outcome.
		{Kind: s.deliveries.Kind(), Timeout: 2 * attemptTimeout, Batch: pace.MaxInFlight, MaxPerMerchant: pace.MaxAtHand, RunOne: s.attemptClaimed},
	}
}

// In returns a copy of the service that works in e, the engine of a host's transaction.
func (s *Service) In(e *engine.Engine) *Service {
	in := *s
	in.engine = e
	return &in
}
