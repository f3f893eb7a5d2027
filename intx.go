package payments

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Tx holds the services inside one transaction of the host. Use it in one goroutine, and only until
// that transaction ends.
type Tx struct {
	Services

	engine *engine.Engine
}

// InTx binds the services to a store inside the host's own open transaction. [postgres.Store.In]
// and [sqlite.Store.In] make that store from the one that New was given, which InTx itself refuses.
// The host then commits its own rows and the library's objects, money and events together, or none
// of them.
//
//	tx, err := pool.Begin(ctx)
//	defer tx.Rollback(ctx)
//	// … the host's own rows …
//	own, err := svc.InTx(ctx, store.In(tx))
//	payout, err := own.Payouts.Create(ctx, caller, params)
//	err = tx.Commit(ctx)
//	own.Wake()
//
// After [storage.ErrRetry] the host rolls back and begins again. After any other error the failed
// call has written nothing, and the host may go on or roll back.
//
// From the first call that writes until the host commits, all other writers wait. So make such
// calls last in the transaction. A call that checks a PIN or a one-time code fails with
// [api.ErrSecretInTx], because a rollback would undo its count of tries. For a payout, call
// VerifyOTP on the Service first, and leave OTPCode empty.
//
// A call that uses the network fails with [api.ErrNetworkInTx]. All writers would wait for the
// answer, and a rollback could not undo the effect. These calls are Invoices.Pay if it calls the
// charger; Payments.TopUp, Confirm and ConfirmTopUp; Webhooks.Ping; Payouts.LookUpAccountName; and
// a transfer with MatchName. Calls that only queue work are allowed: transfers, payments from
// phones, refunds, messages, webhooks and automatic charges. Inside the transaction, the library
// does not call the rail's Check. It does call Config.Customers, if the host has set it.
//
// [postgres.Store.In]: https://pkg.go.dev/github.com/seed-7082ffec/payments/storage/postgres#Store.In
// [sqlite.Store.In]: https://pkg.go.dev/github.com/seed-7082ffec/payments/storage/sqlite#Store.In
func (s *Service) InTx(ctx context.Context, store storage.Store) (*Tx, error) {
	if reflect.ValueOf(store).Comparable() && store == s.engine.Store {
		return nil, errors.New("payments: InTx wants the store inside your transaction, such as store.In(tx), and got the one that New was given: each call would commit by itself")
	}
	if err := store.Define(ctx, Kinds()...); err != nil {
		return nil, fmt.Errorf("payments: %w", err)
	}
	e, in := s.engine.In(store), s.internal
	own := internals{
		accounts: in.accounts.In(e), events: in.events.In(e), messages: in.messages.In(e), catalog: in.catalog.In(e),
		payments: in.payments.In(e), qrcodes: in.qrcodes.In(e), transfers: in.transfers.In(e), invoices: in.invoices.In(e),
		subscriptions: in.subscriptions.In(e), sessions: in.sessions.In(e), refunds: in.refunds.In(e), webhooks: in.webhooks.In(e),
		orders: in.orders.In(e),
	}
	return &Tx{engine: e, Services: own.services()}, nil
}

// Wake tells the workers about the new work. Call it after the commit. Without Wake nothing is
// lost: the workers find the work themselves, within Config.Poll.
func (tx *Tx) Wake() { tx.engine.HostCommitted() }
