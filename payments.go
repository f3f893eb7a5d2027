// Package payments lets a merchant in Ghana accept and send money. It is a
// library: a host imports it, gives it a database, and mounts its routes in a
// server it already runs, or calls its services from plain Go.
//
//	store, err := sqlite.Open(ctx, "payments.db", sqlite.Config{})
//	svc, err := payments.New(ctx, store, payments.Config{BaseURL: "https://pay.example.com"})
//	code, err := svc.QRCodes.Create(ctx, caller, qrcode.CreateParams{Name: "Till 1"})
//
// Each noun of the interface has a package and, in [Service], a field. This
// package wires them together and runs their background work; it has no rules of
// its own. Package httpapi puts them on HTTP.
package payments

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/due"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/internal/shown"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/webhook"
)

// Service is the whole library over one store. It is safe for concurrent use,
// and several of them, in one process or many, may share a database.
type Service struct {
	Accounts *account.Service
	QRCodes  *qrcode.Service
	Payments *payment.Service
	Events   *event.Service
	Messages *message.Service

	Payouts       *payout.Service
	Disbursements *disbursement.Service
	Invoices      *invoice.Service
	Refunds       *refund.Service
	Webhooks      *webhook.Service

	engine   *engine.Engine
	runner   *due.Runner
	outgoing *payout.Outgoing
	base     string
	config   Config // as New has completed it

	// catchUps are the drains that MoveClock left running.
	catchUps sync.WaitGroup
}

// New wires the services over a store, in which it makes room for their kinds.
// It starts no goroutine: due work is run by Start, or by Drain. Closing the
// store, after Stop, is the host's business.
func New(ctx context.Context, store storage.Store, c Config) (*Service, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := store.Define(ctx, Kinds()...); err != nil {
		return nil, fmt.Errorf("payments: prepare the store: %w", err)
	}
	newID := c.NewID
	if newID == nil {
		newID = ids.New(c.Clock, rand.Reader).Make
	}
	if len(c.Key) == 0 {
		key, err := serverKey(ctx, store)
		if err != nil {
			return nil, err
		}
		c.Key = key
	}
	if c.ConsumerCodec == nil {
		c.ConsumerCodec = qrcode.NewCodec(c.Key, c.FallbackKeys...)
	}

	s := &Service{base: c.BaseURL, config: c}
	s.engine = &engine.Engine{Store: store, Clock: c.Clock, NewID: newID, Log: c.Logger, Sandbox: c.Sandbox, KeyRetention: c.IdempotencyRetention, Shown: new(shown.Cache)}
	s.runner = &due.Runner{Store: store, Clock: c.Clock, Log: c.Logger, Poll: c.Poll}
	s.engine.Wake, s.engine.Reserve, s.engine.Told = s.runner.Wake, s.runner.Reserve, s.runner.Observe
	if c.Observer != nil {
		s.runner.Observer = observed{c.Observer}
	}
	if c.Sandbox {
		s.runner.Clocks = s.engine.AwakeClocks
	}

	if err := s.wire(c); err != nil {
		return nil, err
	}
	if err := s.Accounts.SealWith(ctx, c.keys()...); err != nil {
		return nil, fmt.Errorf("payments: prepare the seals: %w", err)
	}
	rules := append(payout.Retention(c.NumberRetention),
		event.Retention(c.EventRetention, webhook.Forget), webhook.Retention(c.DeliveryRetention), message.Retention(c.MessageRetention))
	kept, err := retention.New(ctx, s.engine, rules...)
	if err != nil {
		return nil, fmt.Errorf("payments: %w", err)
	}
	s.runner.Add(s.outgoing.Jobs()...)
	s.runner.Add(s.Refunds.Job(), s.Disbursements.BatchJob())
	s.runner.Add(s.Webhooks.Jobs()...)
	s.runner.Add(s.Events.TellSubscribers())
	s.runner.Add(s.Invoices.Job(), s.Invoices.Reminders())
	s.runner.Add(s.Accounts.SealJob(), s.Accounts.EraseJob())
	s.runner.Add(s.Messages.Job(), s.engine.ForgetKeys(), kept.Job())
	if c.Sandbox {
		s.runner.Add(s.engine.RestClocks(s.runner.Kinds()))
	}
	return s, nil
}

// wire makes the services over the engine.
func (s *Service) wire(c Config) error {
	s.Events = event.New(s.engine)
	s.Messages = message.New(s.engine, message.Config{Texter: c.Texter, Mailer: c.Mailer, TestMailer: c.TestMailer, Retention: c.MessageRetention})
	s.Accounts = account.New(s.engine, account.Config{Keys: c.keys(), Messages: s.Messages})
	s.Payments = payment.New(s.engine, s.Events)
	s.QRCodes = qrcode.New(s.engine, qrcode.Config{
		Accounts: s.Accounts, Payments: s.Payments, Events: s.Events, Messages: s.Messages,
		Codec: c.ConsumerCodec, BaseURL: c.BaseURL,
	})
	outgoing, err := payout.NewOutgoing(s.engine, payout.OutgoingConfig{
		Events: s.Events, Rail: c.Rail, TestRail: c.TestRail, Banks: c.Banks, Fees: c.Fees,
		PayoutLimits: c.PayoutLimits, DisbursementLimits: c.DisbursementLimits, NameMatch: c.NameMatch, NameQuota: c.NameQuota, StuckAfter: c.StuckAfter,
		NumberRetention: c.NumberRetention,
	})
	if err != nil {
		return fmt.Errorf("payments: %w", err)
	}
	s.outgoing = outgoing
	s.Payouts = payout.New(s.engine, payout.Config{
		Outgoing: outgoing, Messages: s.Messages, Keys: c.keys(), SingleUse: c.SingleUseOTP,
	})
	s.Disbursements = disbursement.New(s.engine, outgoing, s.QRCodes)
	s.Disbursements.Events = s.Events
	s.Invoices = invoice.New(s.engine, invoice.Config{
		Accounts: s.Accounts, Payments: s.Payments, Events: s.Events, Messages: s.Messages,
		Charger: c.Charger, TestCharger: c.TestCharger, Customers: c.Customers, DefaultTax: c.DefaultTax, BaseURL: c.BaseURL,
		Reminders: c.InvoiceReminders, StuckAfter: c.StuckAfter,
	})
	s.Refunds = refund.New(s.engine, refund.Config{
		Payments: s.Payments, Invoices: s.Invoices, Events: s.Events, Messages: s.Messages, StuckAfter: c.StuckAfter,
	})
	s.Messages.Attacher = s.Invoices.Attach
	s.Webhooks = webhook.New(s.engine, webhook.Config{Events: s.Events, Allow: c.WebhookAllow})
	s.Events.Watch, s.Events.Pending = webhook.Watch, webhook.Waiting
	s.Accounts.Events = s.Events
	s.Events.Erased = s.Webhooks.EraseTx
	s.Accounts.Erasers = []account.Eraser{s.Invoices.Erase, s.Events.Erase, s.engine.Erase, s.Messages.Erase}
	return nil
}

// Kinds are all kinds that the library stores, for hosts who prepare a database
// ahead of the first start.
func Kinds() []*storage.Kind {
	var all []*storage.Kind
	for _, kinds := range [][]*storage.Kind{
		engine.Kinds(), account.Kinds(), event.Kinds(), message.Kinds(), payment.Kinds(), qrcode.Kinds(),
		payout.Kinds(), disbursement.Kinds(), invoice.Kinds(), refund.Kinds(), webhook.Kinds(),
		retention.Kinds(),
		{secrets.Kind()},
	} {
		all = append(all, kinds...)
	}
	return all
}

// BaseURL is where the hosted pages are reached.
func (s *Service) BaseURL() string { return s.base }

// Sandbox reports whether test clocks may be moved.
func (s *Service) Sandbox() bool { return s.engine.Sandbox }

// NewID makes an id with the given prefix, such as "req_".
func (s *Service) NewID(prefix string) string { return s.engine.NewID(prefix) }

// Start runs the background work until Stop, or until ctx ends. Several
// processes may run it over one database. Starting twice is fine.
func (s *Service) Start(ctx context.Context) { s.runner.Start(ctx) }

// Stop ends the background work and waits for what is under way, at most until
// ctx ends. What was not done is done after the next Start, here or elsewhere.
// Stopping twice is fine.
func (s *Service) Stop(ctx context.Context) error {
	if err := s.runner.Stop(ctx); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		s.catchUps.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("payments: stop: %w", ctx.Err())
	}
}

// Drain does all work that is due now, and returns when there is no more. Tests
// call it instead of Start.
func (s *Service) Drain(ctx context.Context) error { return s.runner.Drain(ctx) }

// clockWait is how long MoveClock waits for what became due.
const clockWait = 2 * time.Second

// MoveClock sets the test clock of the caller's merchant forward, by a duration
// or, when that is zero, to a time, and does what became due by that, for at
// most two seconds; the rest runs on. It returns the time the clock then shows.
//
// The clock governs the times of objects, expiries, limits and due times of that
// merchant's test mode; it never goes back. It exists only in a sandbox. With an
// idempotency key a repetition moves nothing, and returns what the first call did.
func (s *Service) MoveClock(ctx context.Context, caller api.Caller, by time.Duration, to time.Time) (api.Time, error) {
	call := engine.Call{Name: "clock.move", Params: struct {
		By time.Duration `json:"by"`
		To time.Time     `json:"to"`
	}{by, to}}
	now, err := s.engine.MoveClock(ctx, caller, call, func(now time.Time) (time.Time, error) {
		if by < 0 {
			return now, api.Invalid("advance", "advance must not be negative; the clock never goes back.")
		}
		if by > 0 || to.IsZero() {
			return now.Add(by), nil
		}
		return to, nil
	})
	if err != nil {
		return api.Time{}, err
	}
	caughtUp := make(chan struct{})
	s.catchUps.Go(func() {
		defer close(caughtUp)
		work := context.WithoutCancel(ctx)
		if err := s.runner.Drain(work); err != nil && !errors.Is(err, storage.ErrClosed) {
			s.engine.Log.ErrorContext(work, "work that became due could not be done", "error", err)
		}
	})
	wait := time.NewTimer(clockWait)
	defer wait.Stop()
	select {
	case <-caughtUp:
	case <-wait.C:
	case <-ctx.Done():
	}
	return *now, nil
}

// secret is what the server keeps for itself.
type secret struct {
	Key []byte `json:"key"`
}

var secrets = storage.NewCollection[secret]("server_secrets", nil)

const storedKeyID = "key_1"

// StoredKey returns the key that New made in this store while Config.Key was empty, or
// nil when there is none. A host that sets Config.Key later copies this key into its
// FallbackKeys once: without it every PIN that was set before is lost. Do not read it at
// each start, since an attacker with write access to the database can change it.
func StoredKey(ctx context.Context, store storage.Store) ([]byte, error) {
	if err := store.Define(ctx, secrets.Kind()); err != nil {
		return nil, fmt.Errorf("payments: prepare the store: %w", err)
	}
	var key []byte
	err := store.View(ctx, func(tx storage.ReadTx) error {
		o, err := secrets.Get(tx, storage.Scope{}, storedKeyID)
		if err == nil {
			key = o.Value.Key
		}
		return err
	})
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return nil, fmt.Errorf("payments: read the server key: %w", err)
	}
	return key, nil
}

// serverKey returns the key kept in the store, making it at the first start.
func serverKey(ctx context.Context, store storage.Store) ([]byte, error) {
	fresh := make([]byte, minKey)
	if _, err := rand.Read(fresh); err != nil {
		return nil, fmt.Errorf("payments: make a server key: %w", err)
	}
	var key []byte
	err := store.Update(ctx, func(tx storage.Tx) error {
		key = fresh
		_, err := secrets.Insert(tx, storage.Scope{}, storedKeyID, secret{Key: fresh})
		if errors.Is(err, storage.ErrExists) {
			var o *storage.Object[secret]
			if o, err = secrets.Get(tx, storage.Scope{}, storedKeyID); err == nil {
				key = o.Value.Key
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("payments: read the server key: %w", err)
	}
	return key, nil
}
