package mtnmomo_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/openapitest"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/mtnmomo"
	"github.com/seed-7082ffec/payments/provider/mtnmomo/mtnmomotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a client on a fake. Every request and every answer of the fake is checked against
// testdata/openapi.yaml.
type rig struct {
	*mtnmomotest.Fake
	client *mtnmomo.Client
	log    *bytes.Buffer
	config mtnmomo.Config
	source *ids.Source
}

var secrets = []string{
	mtnmomotest.CollectionKey, mtnmomotest.DisbursementKey, mtnmomotest.APIKey, "collection-token", "disbursement-token", "Bearer", "Basic",
}

func newRig(t testing.TB, seed uint64) *rig {
	t.Helper()
	r := &rig{Fake: mtnmomotest.New(seed), log: new(bytes.Buffer), source: ids.New(time.Now, nil)}
	key := func(subscription string) mtnmomo.Credentials {
		return mtnmomo.Credentials{SubscriptionKey: subscription, APIUser: mtnmomotest.APIUser, APIKey: mtnmomotest.APIKey}
	}
	r.config = mtnmomo.Config{
		BaseURL: "https://mtn.example.com/", HTTPClient: &http.Client{Transport: openapitest.Transport(t, "testdata/openapi.yaml", r.Client().Transport)},
		Collection: key(mtnmomotest.CollectionKey), Disbursement: key(mtnmomotest.DisbursementKey),
		CallbackURL: "https://pay.example.com/callbacks/mtn", StatusQueries: 1 << 30,
		Logger: slog.New(slog.NewTextHandler(&lockedWriter{w: r.log}, nil)),
	}
	r.client = must.Get(mtnmomo.New(r.config))(t)
	return r
}

// newDisbursing returns a rig whose client has no collection product, so that Balance makes one call.
func newDisbursing(t testing.TB) *rig {
	t.Helper()
	r := newRig(t, 1)
	r.config.Collection = mtnmomo.Credentials{}
	r.client = must.Get(mtnmomo.New(r.config))(t)
	return r
}

type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// order returns a new order at its first attempt.
func (r *rig) order(prefix string, amount int64) provider.Order {
	now := time.Now()
	return provider.Order{ID: r.source.Make(prefix), Live: true, Amount: amount, CreatedAt: now, SubmittedAt: now, Now: now, Attempts: 1}
}

func (r *rig) transfer(last string) provider.Transfer {
	return provider.Transfer{Order: r.order("po_", 435), Channel: provider.MobileMoney, Network: "mtn", Number: "+233241234" + last, Description: "Ama's pay"}
}

func (r *rig) charge(last string) provider.Charge {
	return provider.Charge{Order: r.order("pay_", 435), Network: "mtn", Phone: "+233241234" + last, Description: "Invoice No. 7"}
}

// later returns an order after a while, at a later attempt.
func later(o provider.Order, by time.Duration) provider.Order {
	o.Now, o.Attempts = o.Now.Add(by), o.Attempts+1
	return o
}
