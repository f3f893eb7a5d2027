package payments

import (
	"context"
	"fmt"

	"github.com/seed-7082ffec/payments/storage"
)

// Tx is the services inside one transaction of the host's own. It is for the life of that
// transaction, and for one goroutine.
type Tx struct {
	Services

	service *Service
}

// InTx binds the services to a store that works inside the host's own open
// transaction, as [postgres.Store.In] and [sqlite.Store.In] make it from the store
// that New was given. What is called on them, the host's own rows, our objects,
// money and events, is then committed by the host, all of it or nothing.
//
//	tx, err := pool.Begin(ctx)
//	defer tx.Rollback(ctx)
//	// … the host's own rows …
//	own, err := svc.InTx(ctx, store.In(tx))
//	payout, err := own.Payouts.Create(ctx, caller, params)
//	err = tx.Commit(ctx)
//	own.Wake()
//
// After an error that is [storage.ErrRetry] the host rolls back and begins again.
// After any other, the call has left nothing, and the host decides about the rest.
//
// From the first call that writes until the host commits, everybody else who
// writes waits: make it the last thing in the transaction. What must count a try
// at once, whatever becomes of the transaction, is refused: nobody can enter a PIN
// or a one-time code. A payout in it needs a code that VerifyOTP of the service
// itself has confirmed before, and is made without OTPCode.
//
// What asks somebody over the network is refused, too, because everybody would
// wait for the answer, and it would stay done when the host rolls back: Pay of an
// invoice, unless it was paid outside, Ping, LookUpAccountName, and a transfer whose
// destination demands that its name is matched. A rail is not asked beforehand
// whether it would take a transfer. All that is sent later is due work, and so
// allowed: transfers, refunds, messages, webhooks, invoices that are charged
// automatically. Customers of the Config, if the host has set it, are asked while
// the transaction is open.
//
// [postgres.Store.In]: https://pkg.go.dev/github.com/seed-7082ffec/payments/storage/postgres#Store.In
// [sqlite.Store.In]: https://pkg.go.dev/github.com/seed-7082ffec/payments/storage/sqlite#Store.In
func (s *Service) InTx(ctx context.Context, store storage.Store) (*Tx, error) {
	if err := store.Define(ctx, Kinds()...); err != nil {
		return nil, fmt.Errorf("payments: %w", err)
	}
	in := &Service{base: s.base, config: s.config, engine: s.engine.In(store)}
	if err := in.wire(in.config, s); err != nil {
		return nil, err
	}
	in.internal.events.ShareSubscribers(s.internal.events)
	return &Tx{Services: in.Services, service: in}, nil
}

// Wake tells the workers what there is to do, after the host has committed. Where
// the host has rolled back, or forgets to call it, nothing is lost: the workers
// look by themselves, a little later.
func (tx *Tx) Wake() { tx.service.engine.HostCommitted() }
