// Package engine runs the calls of the services: each as one transaction, with
// the caller's clock, and with the idempotency record written beside the effect.
//
// It owns that transaction, the records of idempotency keys and the offsets of
// test clocks. What a call does is the business of the package that makes it.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage"
)

// Engine is what every service shares. It is safe for concurrent use.
type Engine struct {
	Store storage.Store
	// Clock is the real time.
	Clock func() time.Time
	// NewID makes an id with the given prefix; ids ascend in the order made.
	NewID func(prefix string) string
	Log   *slog.Logger
	// Sandbox lets test clocks run ahead of the real one. Without it their
	// offsets are not even looked up.
	Sandbox bool
	// Wake is told, after a commit, of which kind due work was written.
	Wake func(*storage.Kind)
	// Host is set while the engine works inside the host's own transaction, whose
	// commit is not its own.
	Host *Host
}

// Kinds are the kinds that the engine itself stores.
func Kinds() []*storage.Kind { return []*storage.Kind{keys.Kind(), clocks.Kind()} }

// ReadTx is one snapshot seen by a caller.
type ReadTx struct {
	storage.ReadTx
	Caller api.Caller
	// Now is the caller's time: the real one, or the test clock's.
	Now time.Time
}

// Tx is the transaction of one call.
type Tx struct {
	storage.Tx
	Caller api.Caller
	// Now is the caller's time: the real one, or the test clock's. All that one
	// call writes bears the same time.
	Now time.Time

	engine    *Engine
	due       []*storage.Kind
	committed []func()
}

// NewID makes an id. Made inside the transaction, ids ascend in the order of
// commits, so that whoever pages forward misses nothing.
func (tx *Tx) NewID(prefix string) string { return tx.engine.NewID(prefix) }

// Due says that the transaction writes due work of this kind, so that the
// workers are woken after the commit.
func (tx *Tx) Due(k *storage.Kind) { tx.due = append(tx.due, k) }

// Committed has fn called once the transaction is committed, and not when it is
// undone, be it for a refusal or because the call was a repetition.
func (tx *Tx) Committed(fn func()) { tx.committed = append(tx.committed, fn) }

// View runs fn on a snapshot.
func (e *Engine) View(ctx context.Context, caller api.Caller, fn func(*ReadTx) error) error {
	return e.Store.View(ctx, func(tx storage.ReadTx) error {
		now, err := e.now(tx, caller)
		if err != nil {
			return err
		}
		return fn(&ReadTx{ReadTx: tx, Caller: caller, Now: now})
	})
}

// Update runs fn in a transaction, without an idempotency record: for what
// belongs to no single call, such as counting a try or a worker's outcome.
func (e *Engine) Update(ctx context.Context, caller api.Caller, fn func(*Tx) error) error {
	var last *Tx // of the run that was committed
	err := e.Store.Update(ctx, func(stored storage.Tx) error {
		now, err := e.now(stored, caller)
		if err != nil {
			return err
		}
		tx := &Tx{Tx: stored, Caller: caller, Now: now, engine: e}
		if err := fn(tx); err != nil {
			return err
		}
		last = tx
		return nil
	})
	if err != nil {
		return refusal(err)
	}
	if e.Host != nil {
		e.Host.keep(last)
		return nil
	}
	e.committed(last)
	return nil
}

// committed does what follows the commit of a transaction.
func (e *Engine) committed(tx *Tx) {
	for _, fn := range tx.committed {
		fn()
	}
	for _, k := range tx.due {
		e.Wake(k)
	}
}

// Call names a mutating call and holds what makes it the same call again.
type Call struct {
	// Name is the service method, as "qr_code.create".
	Name string
	// Params are the parameters, without secrets such as PIN and one-time code.
	// They must marshal to the same JSON whenever they are the same.
	Params any
}

// Do runs a mutating call: fn's effect and, where the caller gave an idempotency
// key, the record of key, request and answer, in one transaction. A replay
// returns the first answer, marks the caller's Replayed and leaves nothing of
// what fn did. A call that is refused or fails saves nothing.
//
// A key is hardly ever used twice, so the record is not looked for beforehand.
// It shows itself when the answer cannot be kept, or when fn refuses, which it
// may do because the first call has succeeded; then fn's work is undone.
func Do[T any](ctx context.Context, e *Engine, caller api.Caller, call Call, fn func(*Tx) (*T, error)) (*T, error) {
	digest, err := fingerprint(caller, call)
	if err != nil {
		return nil, err
	}
	var answer *T
	err = e.Update(ctx, caller, func(tx *Tx) error {
		var err error
		if answer, err = fn(tx); err == nil {
			if err = remember(tx, digest, answer); err == nil {
				return nil
			}
		}
		kept, lookErr := lookUp[T](tx, caller, tx.Now, digest)
		switch {
		case kept != nil:
			answer = kept
			return errReplayed
		case api.CodeOf(lookErr) != "":
			return lookErr // the key was used with another request
		}
		return err
	})
	if errors.Is(err, errReplayed) {
		caller.MarkReplayed()
		return answer, nil
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// errReplayed undoes a call that has been made before.
var errReplayed = errors.New("engine: replayed")

// Replay returns the answer of an earlier call with the caller's key, or nil.
// It is for calls that must do something before their transaction, such as
// comparing a PIN, which a replay must not do again.
func Replay[T any](ctx context.Context, e *Engine, caller api.Caller, call Call) (*T, error) {
	digest, err := fingerprint(caller, call)
	if err != nil || digest == "" {
		return nil, err
	}
	var answer *T
	err = e.View(ctx, caller, func(tx *ReadTx) error {
		var err error
		answer, err = lookUp[T](tx, caller, tx.Now, digest)
		return err
	})
	if err != nil {
		return nil, err
	}
	if answer != nil {
		caller.MarkReplayed()
	}
	return answer, nil
}

// refusal turns what the store refuses into what the caller can act on.
func refusal(err error) error {
	var e *api.Error
	if errors.As(err, &e) || !errors.Is(err, storage.ErrInsufficient) {
		return err
	}
	return api.Errorf(api.InsufficientBalance, "", "The balance is too low for this amount.").WithCause(err)
}
