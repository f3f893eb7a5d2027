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
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/internal/work"
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
	// KeyRetention is how long an idempotency key stands for its first request; [KeyLife]
	// when less.
	KeyRetention time.Duration
	// Runner runs the due work that the transactions write.
	Runner *work.Runner
	// Host is set while the engine works inside the host's own transaction, whose
	// commit is not its own.
	Host *Host
}

// Kinds are the kinds that the engine itself stores.
func Kinds() []*storage.Kind {
	return []*storage.Kind{keys.Kind(), clocks.Kind(), pii.Erasures.Kind()}
}

// ReadTx is one snapshot seen by a caller.
type ReadTx struct {
	storage.ReadTx
	Caller api.Caller
	// Now is the caller's time: the real one, or the test clock's.
	Now time.Time

	engine *Engine
}

// As returns the same snapshot as another caller sees it.
func (tx *ReadTx) As(caller api.Caller) (*ReadTx, error) {
	now, err := tx.engine.now(tx.ReadTx, caller)
	return &ReadTx{ReadTx: tx.ReadTx, Caller: caller, Now: now, engine: tx.engine}, err
}

// Tx is the transaction of one call.
type Tx struct {
	storage.Tx
	Caller api.Caller
	// Now is the caller's time: the real one, or the test clock's. All that one
	// call writes bears the same time.
	Now time.Time

	engine *Engine
	hooks  *commitHooks
}

// commitHooks is what is to happen once the transaction is committed.
type commitHooks struct {
	wakes    []wake
	onCommit []func()
	// onRollback is what is to happen if it is not.
	onRollback []func()
}

func (a *commitHooks) rollBack() {
	if a != nil {
		for _, fn := range a.onRollback {
			fn()
		}
	}
}

// wake is a wake-up of the worker of a kind, for a scope, so long after the commit.
type wake struct {
	kind  *storage.Kind
	scope storage.Scope
	in    time.Duration
}

// As returns the same transaction as another caller sees it: for workers that do the work
// of several callers at once.
func (tx *Tx) As(caller api.Caller) (*Tx, error) {
	now, err := tx.engine.nowAwake(tx.Tx, caller)
	return &Tx{Tx: tx.Tx, Caller: caller, Now: now, engine: tx.engine, hooks: tx.hooks}, err
}

// NewID makes an id. Made inside the transaction, ids ascend in the order of commits, as
// far as one process writes, or the clocks of several agree. Package event does more.
func (tx *Tx) NewID(prefix string) string { return tx.engine.NewID(prefix) }

// WakeAfterCommit wakes the worker of a kind after the commit, because the transaction
// writes a record of the caller's that is due now. The record itself says when it is due.
func (tx *Tx) WakeAfterCommit(k *storage.Kind) { tx.WakeAfter(k, 0) }

// WakeAfter is WakeAfterCommit for a record that is due a while after the commit. Without
// it, the worker finds the record at its next poll.
func (tx *Tx) WakeAfter(k *storage.Kind, d time.Duration) {
	scope := Scope(tx.Caller)
	for i := range tx.hooks.wakes {
		if known := &tx.hooks.wakes[i]; known.kind == k && known.scope == scope {
			known.in = min(known.in, d)
			return
		}
	}
	tx.hooks.wakes = append(tx.hooks.wakes, wake{k, scope, d})
}

// OnCommit has fn called once the transaction is committed, and not when it is
// undone, be it for a refusal or because the call was a repetition.
func (tx *Tx) OnCommit(fn func()) { tx.hooks.onCommit = append(tx.hooks.onCommit, fn) }

// OnRollback has fn called once the transaction is undone, and not when it is committed.
func (tx *Tx) OnRollback(fn func()) { tx.hooks.onRollback = append(tx.hooks.onRollback, fn) }

// Log is the log of the engine.
func (tx *Tx) Log() *slog.Logger { return tx.engine.Log }

// Observe tells the observer of work that no worker did, if there is an observer.
func (tx *Tx) Observe(ctx context.Context, w work.Work) {
	tx.engine.Runner.Observe(ctx, w)
}

// RunAfterCommit runs do in this process after the commit, without a claim, as the work on
// a record that the transaction writes. It returns false when no slot is free. It returns
// false in a host's transaction, too: the engine does not see its rollback, and would lose
// the slot.
//
// If it returns true, the transaction must call [Tx.KeepLease]: for the record, or for the
// due record from which a worker makes this one again after a crash.
func (tx *Tx) RunAfterCommit(k *storage.Kind, id string, do func(context.Context) error) bool {
	if tx.engine.Host != nil {
		return false
	}
	slot := tx.engine.Runner.AcquireSlot(k, Scope(tx.Caller))
	if slot == nil {
		return false
	}
	tx.hooks.onCommit = append(tx.hooks.onCommit, func() { slot.Run(id, do) })
	tx.hooks.onRollback = append(tx.hooks.onRollback, slot.Free)
	return true
}

// KeepLease leases a record of the caller's that the transaction has written, at this
// version. The write has ended the lease of the claim, if there was one, so the transaction
// needs a new one. This process renews it until stopRenewal is called or the record is
// written again. stopRenewal may be called at any time, and does not wait. What is left of
// the lease runs on.
func (tx *Tx) KeepLease(k *storage.Kind, id string, version int64) (stopRenewal func(), err error) {
	record := storage.Record{Scope: Scope(tx.Caller), ID: id, Version: version}
	if err := tx.Lease(k, record.Scope, id, version, tx.engine.Clock().Add(work.LeaseDuration)); err != nil {
		return nil, err
	}
	renewer := work.NewLeaseRenewer(tx.engine.Store, tx.engine.Clock, k, record)
	tx.OnCommit(renewer.Start)
	return renewer.Stop, nil
}

// View runs fn on a snapshot.
func (e *Engine) View(ctx context.Context, caller api.Caller, fn func(*ReadTx) error) error {
	return e.Store.View(ctx, func(tx storage.ReadTx) error {
		now, err := e.now(tx, caller)
		if err != nil {
			return err
		}
		return fn(&ReadTx{ReadTx: tx, Caller: caller, Now: now, engine: e})
	})
}

// Update runs fn in a transaction, without an idempotency record: for what
// belongs to no single call, such as counting a try or a worker's outcome.
func (e *Engine) Update(ctx context.Context, caller api.Caller, fn func(*Tx) error) error {
	var last *commitHooks // of the last run
	committed := false
	defer func() {
		if !committed { // an error, or a panic that goes on from here
			last.rollBack()
		}
	}()
	err := e.Store.Update(ctx, func(stored storage.Tx) error {
		last.rollBack()
		last = &commitHooks{}
		now, err := e.nowAwake(stored, caller)
		if err != nil {
			return err
		}
		tx := &Tx{Tx: stored, Caller: caller, Now: now, engine: e, hooks: last}
		return fn(tx)
	})
	if err != nil {
		return refusal(err)
	}
	committed = true
	if e.Host != nil {
		e.Host.add(last)
		return nil
	}
	e.runCommitHooks(last)
	return nil
}

// UpdateWhile runs fn in one transaction after another, as long as it reports that there is
// more.
func (e *Engine) UpdateWhile(ctx context.Context, caller api.Caller, fn func(*Tx) (more bool, err error)) error {
	for more := true; more; {
		err := e.Update(ctx, caller, func(tx *Tx) (err error) {
			more, err = fn(tx)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// runCommitHooks does what follows the commit of a transaction.
func (e *Engine) runCommitHooks(a *commitHooks) {
	for _, fn := range a.onCommit {
		fn()
	}
	for _, w := range a.wakes {
		at := time.Time{}
		if w.in > 0 {
			at = e.Clock().Add(w.in)
		}
		e.Runner.Wake(w.kind, w.scope, at)
	}
}

// Operation names a mutating call and its parameters. A request with the same key must name
// the same operation.
type Operation struct {
	// Name is the service method, as "qr_code.create".
	Name string
	// Params are the parameters, without secrets such as PIN and one-time code.
	// They must marshal to the same JSON whenever they are the same.
	Params any
}

// Execute runs a mutating call: fn's effect and, where the caller gave an idempotency
// key, the record of key, request and answer, in one transaction. A replay
// returns the first answer, marks the caller's Replayed and leaves nothing of
// what fn did. A call that is refused or fails saves nothing.
//
// fn runs first, because a key is hardly ever used twice. If the key exists, inserting its
// record fails, the store undoes what fn wrote, and Execute returns the stored answer. So
// it does when fn refuses the call: the first call with this key may be the reason.
func Execute[T any](ctx context.Context, e *Engine, caller api.Caller, op Operation, fn func(*Tx) (*T, error)) (*T, error) {
	digest, err := fingerprint(caller, op)
	if err != nil {
		return nil, err
	}
	var answer *T
	err = e.Update(ctx, caller, func(tx *Tx) error {
		var err error
		if answer, err = fn(tx); err == nil {
			if err = remember(tx, caller, digest, answer); err == nil {
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
func Replay[T any](ctx context.Context, e *Engine, caller api.Caller, op Operation) (*T, error) {
	digest, err := fingerprint(caller, op)
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

// ExecuteWithReplay runs a call that does something before its transaction, in fn. A replay
// is answered without fn; and so is one that fn has refused because the first
// call succeeded beside it, in another goroutine or process: a code is used up
// then, an invoice paid.
func ExecuteWithReplay[T any](ctx context.Context, e *Engine, caller api.Caller, op Operation, fn func() (*T, error)) (*T, error) {
	if done, err := Replay[T](ctx, e, caller, op); done != nil || err != nil {
		return done, err
	}
	answer, err := fn()
	if api.CodeOf(err) == "" {
		return answer, err
	}
	done, again := Replay[T](ctx, e, caller, op)
	switch {
	case done != nil:
		return done, nil
	case api.CodeOf(again) != "":
		return nil, again // the key was used with another request
	}
	return nil, err
}

// Memoize runs a call whose effects are made in transactions of their own, in fn, and then
// keeps its answer under the caller's key. What fn does must do no harm when it is done
// again: a process that dies in between leaves no answer, and two calls at the same time
// may both run it.
func Memoize[T any](ctx context.Context, e *Engine, caller api.Caller, op Operation, fn func() (*T, error)) (*T, error) {
	if caller.IdempotencyKey == "" {
		return fn()
	}
	return ExecuteWithReplay(ctx, e, caller, op, func() (*T, error) {
		answer, err := fn()
		if err != nil {
			return nil, err
		}
		return Execute(ctx, e, caller, op, func(*Tx) (*T, error) { return answer, nil })
	})
}

// refusal turns what the store refuses into what the caller can act on.
func refusal(err error) error {
	var e *api.Error
	if errors.As(err, &e) || !errors.Is(err, storage.ErrInsufficient) {
		return err
	}
	return api.Errorf(api.InsufficientBalance, "", "The balance is too low for this amount.").WithCause(err)
}
