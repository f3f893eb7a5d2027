// Package payments lets a merchant in Ghana accept and send money. A host imports it and gives it a
// database. The host then mounts its routes in a server, or calls its services from Go.
//
//	store, err := sqlite.Open(ctx, "payments.db", sqlite.Config{})
//	svc, err := payments.New(ctx, store, payments.Config{BaseURL: "https://pay.example.com"})
//	code, err := svc.QRCodes.Create(ctx, caller, qrcode.CreateParams{Name: "Till 1"})
//
// Each resource of the API, such as a payout, has a package and a field in [Service]. This package
// connects them and runs their background work. Package httpapi puts them on HTTP.
package payments

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/billing/invoicing"
	"github.com/seed-7082ffec/payments/internal/billing/offering"
	"github.com/seed-7082ffec/payments/internal/billing/subscribing"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/collect/scanning"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/erasure"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/notify/delivering"
	"github.com/seed-7082ffec/payments/internal/notify/messaging"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/internal/orders"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/internal/refunding"
	"github.com/seed-7082ffec/payments/internal/retention"
	"github.com/seed-7082ffec/payments/internal/session"
	"github.com/seed-7082ffec/payments/internal/totals"
	"github.com/seed-7082ffec/payments/internal/transfer"
	"github.com/seed-7082ffec/payments/internal/upgrade"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/subscription"
	"github.com/seed-7082ffec/payments/webhook"
)

// Services holds one service for each resource of the API.
type Services struct {
	Accounts account.Service
	QRCodes  qrcode.Service
	Payments payment.Service
	Events   event.Service
	Messages message.Service

	Products catalog.Products
	Coupons  catalog.Coupons
	Plans    catalog.Plans

	Payouts       payout.Service
	Disbursements disbursement.Service
	Invoices      invoice.Service
	Subscriptions subscription.Service
	Checkout      checkout.Service
	Refunds       refund.Service
	Webhooks      webhook.Service
	Providers     provider.Service
}

// Service is the whole library over one store. It is safe for concurrent use. Several Services, in
// one process or many, may share a database.
type Service struct {
	Services

	engine   *engine.Engine
	runner   *work.Runner
	internal internals
	base     string
	config   Config // as New has completed it

	catchUpsMu sync.Mutex
	catchUps   map[*catchUp]bool // of MoveClock, those that run; true once no caller waits for them any more
}

// internals are the services of the domains.
type internals struct {
	accounts      *party.Service
	events        *recording.Service
	messages      *messaging.Service
	catalog       *offering.Service
	payments      *collect.Service
	qrcodes       *scanning.Service
	transfers     *transfer.Service
	invoices      *invoicing.Service
	subscriptions *subscribing.Service
	sessions      *session.Service
	refunds       *refunding.Service
	webhooks      *delivering.Service
	orders        *orders.Service
	erasure       *erasure.Service
}

// New makes the tables in the store, or brings them and their records up to date, and returns the services.
// It fails if a field of Config breaks its rule, and with the errors of the store, such as
// [storage.ErrNewer]. It starts no goroutine: Start or Drain runs the background work. The host closes the
// store after Stop.
func New(ctx context.Context, store storage.Store, c Config) (*Service, error) {
	if store == nil {
		return nil, errors.New("payments: New needs a store, such as that of sqlite.Open or memory.New")
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := store.Define(ctx, Kinds()...); err != nil {
		return nil, fmt.Errorf("payments: prepare the store: %w", err)
	}
	if err := upgrade.Run(ctx, store, Kinds()); err != nil {
		return nil, fmt.Errorf("payments: %w", err)
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
	s.runner = &work.Runner{Store: store, Clock: c.Clock, Log: c.Logger, Poll: c.Poll, Serial: c.Serial}
	if c.Observer != nil {
		s.runner.Observer = observed{c.Observer}
	}
	if c.Sandbox {
		s.runner.Clocks = func(ctx context.Context) ([]storage.Clock, error) { return engine.AwakeClocks(ctx, store, c.Clock) }
	}
	s.engine = &engine.Engine{
		Store: store, Clock: c.Clock, NewID: newID, Log: c.Logger, Runner: s.runner,
		Sandbox: c.Sandbox, IdempotencyRetention: c.IdempotencyRetention,
		BaseURL: c.BaseURL, ServerKeys: c.keys(), StuckAfter: c.StuckAfter, NumberRetention: c.NumberRetention,
	}

	if err := s.wire(c); err != nil {
		return nil, err
	}
	if err := s.internal.accounts.Prepare(ctx); err != nil {
		return nil, fmt.Errorf("payments: prepare the seals: %w", err)
	}
	rules := slices.Concat(
		s.internal.transfers.Retention(), s.internal.webhooks.Retention(c.EventRetention, c.DeliveryRetention), s.internal.payments.Retention(),
		s.internal.refunds.Retention(), s.internal.sessions.Retention(c.CheckoutRetention), []retention.Rule{s.internal.messages.Retention(c.MessageRetention)},
	)
	kept, err := retention.New(ctx, s.engine, rules...)
	if err != nil {
		return nil, fmt.Errorf("payments: %w", err)
	}
	s.runner.Add(s.internal.subscriptions.Jobs()...)
	s.runner.Add(s.internal.orders.Jobs()...)
	s.runner.Add(s.internal.payments.Jobs()...)
	s.runner.Add(s.internal.transfers.Jobs()...)
	s.runner.Add(s.internal.webhooks.Jobs()...)
	s.runner.Add(s.internal.events.CallSubscribers())
	s.runner.Add(s.internal.invoices.Jobs()...)
	s.runner.Add(s.internal.sessions.Jobs()...)
	s.runner.Add(s.internal.accounts.Jobs()...)
	s.runner.Add(s.internal.erasure.Job())
	s.runner.Add(s.internal.messages.Jobs()...)
	s.runner.Add(s.engine.ForgetIdempotencyKeys(), s.engine.ForgetTombstones(), kept.Job())
	if c.Sandbox {
		s.runner.Add(s.engine.RestClocks(s.runner.Kinds()))
	}
	return s, nil
}

// wire makes the services of all domains over the engine.
func (s *Service) wire(c Config) error {
	in := &s.internal
	in.events = recording.New(s.engine)
	in.messages = messaging.New(s.engine, messaging.Config{Texter: c.Live.Texter, Mailer: c.Live.Mailer, TestMailer: c.Test.Mailer, Retention: c.MessageRetention})
	in.accounts = party.New(s.engine, party.Config{Messages: in.messages, Events: in.events, Customers: c.Customers})
	in.catalog = offering.New(s.engine, in.events)
	var err error
	in.payments, err = collect.New(s.engine, collect.Config{
		Accounts: in.accounts, Events: in.events, Messages: in.messages,
		Charger: c.Live.Charger, TestCharger: c.Test.Charger,
		Fees: c.CollectionFees, Deadline: c.PaymentDeadline, Prompts: c.PromptLimits, Tiers: c.WalletTiers,
	})
	if err != nil {
		return fmt.Errorf("payments: %w", err)
	}
	in.qrcodes = scanning.New(s.engine, scanning.Config{
		Accounts: in.accounts, Payments: in.payments, Events: in.events, Codec: c.ConsumerCodec,
	})
	in.transfers, err = transfer.New(s.engine, transfer.Config{
		Accounts: in.accounts, Events: in.events, Messages: in.messages, QRCodes: in.qrcodes, SingleUse: c.SingleUseOTP,
		Rail: c.Live.Rail, TestRail: c.Test.Rail, Banks: c.Banks, Fees: c.Fees,
		PayoutLimits: c.PayoutLimits, DisbursementLimits: c.DisbursementLimits, NameMatch: c.NameMatch, NameQuota: c.NameQuota,
	})
	if err != nil {
		return fmt.Errorf("payments: %w", err)
	}
	in.invoices = invoicing.New(s.engine, invoicing.Config{
		Accounts: in.accounts, Payments: in.payments, Events: in.events, Messages: in.messages, Catalog: in.catalog,
		DefaultTax: c.DefaultTax, ChargeHours: c.ChargeHours, Reminders: c.InvoiceReminders,
	})
	in.subscriptions = subscribing.New(s.engine, subscribing.Config{
		Accounts: in.accounts, Catalog: in.catalog, Invoices: in.invoices, Payments: in.payments, Events: in.events, Messages: in.messages,
		DefaultTax: c.DefaultTax, KeepPastDue: c.KeepPastDue, NoChargeNotice: c.NoChargeNotice,
	})
	in.sessions = session.New(s.engine, session.Config{
		Accounts: in.accounts, Payments: in.payments, Events: in.events, Messages: in.messages, Catalog: in.catalog, Invoices: in.invoices,
		Subscriptions: in.subscriptions,
	})
	in.refunds = refunding.New(s.engine, refunding.Config{
		Accounts: in.accounts, Payments: in.payments, Invoices: in.invoices, Events: in.events, Messages: in.messages,
	})
	err = in.payments.SetPayables(collect.Payables{QRCodes: in.qrcodes, Invoices: in.invoices, Sessions: in.sessions, Refunds: in.refunds})
	if err != nil {
		return fmt.Errorf("payments: %w", err)
	}
	if err := in.messages.SetAttachments(in.invoices); err != nil {
		return fmt.Errorf("payments: %w", err)
	}
	in.orders = orders.New(s.engine, orders.Config{Accounts: in.accounts, Rail: c.Live.Rail, Charger: c.Live.Charger})
	err = in.orders.Register(
		orders.Registration{Flow: orders.Transfers, Object: "payout", Maker: in.transfers.Orders(transfer.Payout)},
		orders.Registration{Flow: orders.Transfers, Object: "disbursement", Maker: in.transfers.Orders(transfer.Disbursement)},
		orders.Registration{Flow: orders.Refunds, Object: "refund", Prefix: "re_", Maker: in.refunds.Orders()},
		orders.Registration{Flow: orders.Refunds, Object: "top_up_refund", Prefix: "re_", Maker: in.payments.TopUpRefunds()},
		orders.Registration{Flow: orders.Charges, Object: "payment", Prefix: "pay_", Maker: in.payments},
		orders.Registration{Flow: orders.Charges, Object: "top_up", Prefix: "tu_", Maker: in.payments.TopUps()},
		orders.Registration{Flow: orders.Charges, Object: "invoice", Prefix: "att_", Maker: in.invoices},
	)
	if err != nil {
		return fmt.Errorf("payments: %w", err)
	}
	in.webhooks = delivering.New(s.engine, delivering.Config{Events: in.events, Allow: c.WebhookAllow})
	in.erasure = erasure.New(s.engine, erasure.Config{
		Accounts: in.accounts, Payments: in.payments, Refunds: in.refunds, Transfers: in.transfers,
		Invoices: in.invoices, Subscriptions: in.subscriptions, Sessions: in.sessions, Messages: in.messages, Webhooks: in.webhooks,
	})
	s.Services = in.services()
	return nil
}

// services are what hosts see.
func (in *internals) services() Services {
	return Services{
		Accounts: in.accounts, QRCodes: in.qrcodes, Payments: in.payments, Events: in.events, Messages: in.messages,
		Products: in.catalog.Products(), Coupons: in.catalog.Coupons(), Plans: in.catalog.Plans(),
		Payouts: in.transfers.Payouts(), Disbursements: in.transfers.Disbursements(), Invoices: in.invoices, Subscriptions: in.subscriptions,
		Checkout: in.sessions, Refunds: in.refunds, Webhooks: in.webhooks, Providers: in.orders,
	}
}

// Kinds returns all kinds of records that the library stores. New makes their tables. A host whose
// servers may not change tables passes the kinds to postgres.Migrate before it starts a new version;
// see postgres.Config.ReadOnlySchema.
func Kinds() []*storage.Kind {
	var all []*storage.Kind
	for _, kinds := range [][]*storage.Kind{
		engine.Kinds(), party.Kinds(), recording.Kinds(), messaging.Kinds(), offering.Kinds(), collect.Kinds(), scanning.Kinds(),
		transfer.Kinds(), invoicing.Kinds(), subscribing.Kinds(), session.Kinds(), refunding.Kinds(), orders.Kinds(), delivering.Kinds(),
		retention.Kinds(), totals.Kinds(),
		upgrade.Kinds(),
		{secrets.Kind()},
	} {
		all = append(all, kinds...)
	}
	return all
}

// BaseURL returns the public base URL of the hosted pages, without a slash at its end.
func (s *Service) BaseURL() string { return s.base }

// Sandbox reports whether test clocks may be moved.
func (s *Service) Sandbox() bool { return s.engine.Sandbox }

// NewID makes an id with the given prefix, such as "req_".
func (s *Service) NewID(prefix string) string { return s.engine.NewID(prefix) }

// Start begins the background work in goroutines, and returns at once. The work goes on until Stop, or
// until ctx ends. Several processes may run it over one database. Starting twice is fine.
func (s *Service) Start(ctx context.Context) { s.runner.Start(ctx) }

// Stop ends the background work, and waits for running work until ctx ends. If ctx ends first, it
// returns an error. The next Start, in any process, does the work that is left. Stopping twice is
// fine.
func (s *Service) Stop(ctx context.Context) error {
	if err := s.runner.Stop(ctx); err != nil {
		return err
	}
	s.catchUpsMu.Lock()
	running := slices.Collect(maps.Keys(s.catchUps))
	s.catchUpsMu.Unlock()
	for _, c := range running {
		select {
		case <-c.ended:
		case <-ctx.Done():
			return fmt.Errorf("payments: stop: %w", ctx.Err())
		}
	}
	return nil
}

// Drain does all work that is due now, and returns when no more is due. Tests call it instead of
// Start.
func (s *Service) Drain(ctx context.Context) error { return s.runner.Drain(ctx) }

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
