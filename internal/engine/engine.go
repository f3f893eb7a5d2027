// Package engine runs the calls of the services. Each call is one transaction, with the caller's
// clock, and writes its idempotency record with its effect.
//
// It owns that transaction, the records of idempotency keys, the offsets of test clocks and the places of
// deleted objects in lists. The packages of the services own the effects.
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

// Engine is shared by all services. It is safe for concurrent use.
type Engine struct {
	Store storage.Store
	// Clock is the real time.
	Clock func() time.Time
	// NewID makes an id with the given prefix. Ids ascend in the order of the calls.
	NewID func(prefix string) string
	Log   *slog.Logger
	// Sandbox lets test clocks run ahead of the real one. Without it the engine does not read
	// their offsets.
	Sandbox bool
	// IdempotencyRetention is the time for which the engine keeps an idempotency key, at least
	// [IdempotencyKeyLife].
	IdempotencyRetention time.Duration
	// BaseURL is where the hosted pages are reached, without a slash at its end.
	BaseURL string
	// ServerKeys are the server's secrets. New hashes and codes depend on the first; those of the others
	// are still accepted.
	ServerKeys [][]byte
	// StuckAfter is the time after which an order without an outcome counts as stuck.
	StuckAfter time.Duration
	// NumberRetention is the time from the creation of an object until the personal numbers in it are
	// removed, once it has ended. Zero keeps them for good.
	NumberRetention time.Duration
	// NoteCall is told of each call of a live provider, with the class of its error or "". It may be nil.
	NoteCall func(provider, class string, at time.Time)
	// Runner runs the due work that the transactions write.
	Runner *work.Runner
	// Host is set while the engine works inside the host's own transaction, which the host
	// commits.
	Host *Host
}

// Kinds are the kinds that the engine and package pii store.
func Kinds() []*storage.Kind {
	return []*storage.Kind{idempotencyKeys.Kind(), clocks.Kind(), tombstones.Kind(), pii.Erasures.Kind(), pii.Departures.Kind()}
}

// ReadTx is a snapshot, read for a caller.
type ReadTx struct {
	storage.ReadTx
	Caller api.Caller
	// Now is the caller's time: the real one, or the test clock's.
	Now time.Time

	engine *Engine
}

// As returns the same snapshot for another caller.
func (tx *ReadTx) As(caller api.Caller) (*ReadTx, error) {
	now, err := tx.engine.now(tx.ReadTx, caller)
	return &ReadTx{ReadTx: tx.ReadTx, Caller: caller, Now: now, engine: tx.engine}, err
}

// Tx is the transaction of one call.
type Tx struct {
	storage.Tx
	Caller api.Caller
	// Now is the caller's time: the real one, or the test clock's. All records of one call carry
	// the same time.
	Now time.Time

	engine *Engine
	hooks  *commitHooks
}

// commitHooks are the functions to run after the transaction.
type commitHooks struct {
	wakes    []wake
	onCommit []func()
	// onRollback runs if the transaction is rolled back.
	onRollback []func()
}

func (a *commitHooks) rollBack() {
	if a != nil {
		for _, fn := range a.onRollback {
			fn()
		}
	}
}

// wake is a wake-up of the worker of a kind, for a scope, this long after the commit.
type wake struct {
	kind  *storage.Kind
	scope storage.Scope
	in    time.Duration
}

// As returns the same transaction for another caller, for workers that do the work of several
// merchants at once.
func (tx *Tx) As(caller api.Caller) (*Tx, error) {
	now, err := tx.engine.nowAwake(tx.Tx, caller)
	return &Tx{Tx: tx.Tx, Caller: caller, Now: now, engine: tx.engine, hooks: tx.hooks}, err
}

// NewID makes an id. Inside transactions, ids ascend in the order of commits, as long as one
// process writes or the clocks of several agree. Package recording guarantees that order for events.
func (tx *Tx) NewID(prefix string) string { return tx.engine.NewID(prefix) }

// WakeAfterCommit wakes the worker of a kind after the commit, because the transaction writes a
// record of the caller's that is due now. The record itself says when it is due.
func (tx *Tx) WakeAfterCommit(k *storage.Kind) { tx.WakeAfter(k, 0) }

// WakeAfter is WakeAfterCommit for a record that is due d from now. Without it, the worker finds
// the record at its next poll.
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

// OnCommit runs fn after the commit. It does not run fn if the transaction is rolled back, for
// example after a refusal or a replay.
func (tx *Tx) OnCommit(fn func()) { tx.hooks.onCommit = append(tx.hooks.onCommit, fn) }

// OnRollback runs fn if the transaction is rolled back, and not after a commit.
func (tx *Tx) OnRollback(fn func()) { tx.hooks.onRollback = append(tx.hooks.onRollback, fn) }

// AttributeEvents makes the events of the transaction name another call than the caller's, by its
// request id and idempotency key, until restore is called.
func (tx *Tx) AttributeEvents(requestID, idempotencyKey string) (restore func()) {
	caller := tx.Caller
	tx.Caller.RequestID, tx.Caller.IdempotencyKey = requestID, idempotencyKey
	return func() { tx.Caller = caller }
}

// Log is the log of the engine.
func (tx *Tx) Log() *slog.Logger { return tx.engine.Log }

// StuckAfter is that of the [Engine].
func (tx *Tx) StuckAfter() time.Duration { return tx.engine.StuckAfter }

// Observe reports work that no worker did to the observer, if there is one.
func (tx *Tx) Observe(ctx context.Context, w work.Work) {
	tx.engine.Runner.Observe(ctx, w)
}

// Slot is room in this process for work on a record that goes on right after the commit; see [Tx.AcquireSlot].
type Slot struct {
	id string
	do func(context.Context) error
}

// AcquireSlot takes a slot for work on a record of a kind. This process does the work after the commit, without
// a claim. AcquireSlot returns nil if no slot is free, or if the runner accepts no work. It also returns nil in
// a host's transaction, because the engine does not see a rollback there and would lose the slot. The engine
// frees a slot that got no work, at the end of the transaction.
func (tx *Tx) AcquireSlot(k *storage.Kind) *Slot {
	if tx.engine.Host != nil {
		return nil
	}
	slot := tx.engine.Runner.AcquireSlot(k, Scope(tx.Caller))
	if slot == nil {
		return nil
	}
	s := &Slot{}
	tx.hooks.onCommit = append(tx.hooks.onCommit, func() {
		if s.do == nil {
			slot.Free()
			return
		}
		slot.Run(s.id, s.do)
	})
	tx.hooks.onRollback = append(tx.hooks.onRollback, slot.Free)
	return s
}

// Run gives the slot its work: do, as the work on the record with that id. The transaction must call
// [Tx.LeaseAndRenew] for that record, or for another due record from which the work is done again after a crash.
func (s *Slot) Run(id string, do func(context.Context) error) { s.id, s.do = id, do }

// Engine returns the engine of the transaction, for work that goes on after it.
func (tx *Tx) Engine() *Engine { return tx.engine }

// LeaseAndRenew leases a record of the caller that the transaction has written, at this version.
// This process renews the lease until the caller calls stopRenewal, or until the record changes.
// stopRenewal may be called at any time, and does not wait. What is left of the lease runs on.
func (tx *Tx) LeaseAndRenew(k *storage.Kind, id string, version int64) (stopRenewal func(), err error) {
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

// Update runs fn in a transaction without an idempotency record. It is for work outside of a
// single call, such as counting an attempt or applying a worker's result.
func (e *Engine) Update(ctx context.Context, caller api.Caller, fn func(*Tx) error) error {
	var last *commitHooks // those of the last run
	committed := false
	defer func() {
		if !committed { // an error or a panic ended the transaction
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

// UpdateWhile runs fn in one transaction after another, as long as fn returns true for more.
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

// runCommitHooks runs the hooks of a committed transaction.
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

// Operation names a mutating call and holds the data by which a replay is recognized.
type Operation struct {
	// Name is the service method, such as "qr_code.create".
	Name string
	// Params are the parameters, without secrets such as PIN and one-time code. Equal parameters
	// must marshal to the same JSON.
	Params any
}

// WithID is the Params of an operation on the object with that id.
type WithID[P any] struct {
	ID     string `json:"id"`
	Params P      `json:"params"`
}

// Execute runs a mutating call in one transaction: fn's effect and, with an idempotency key, the
// record of key, request and answer. A later call with the same key and request is a replay: it
// returns the stored answer, sets the caller's Replayed, and rolls fn's effect back. A refused
// or failed call stores nothing.
//
// Most keys are used once, so Execute does not look for the record first. It finds the record
// when it stores the answer. It also looks when fn refuses, because fn may refuse for the very
// reason that the first call succeeded.
func Execute[T any](ctx context.Context, e *Engine, caller api.Caller, op Operation, fn func(*Tx) (*T, error)) (*T, error) {
	digest, err := fingerprint(caller.IdempotencyKey, op)
	if err != nil {
		return nil, err
	}
	var answer *T
	err = e.Update(ctx, caller, func(tx *Tx) error {
		var err error
		if answer, err = fn(tx); err == nil {
			if err = storeAnswer(tx, caller.IdempotencyKey, digest, answer); err == nil {
				return nil
			}
		}
		stored, lookErr := storedAnswer[T](tx, caller, tx.Now, digest)
		switch {
		case stored != nil:
			answer = stored
			return errReplayed
		case api.IsRefusal(lookErr):
			return lookErr // another request used the key
		case errors.Is(err, errReplayed):
			return lookErr // the answer was there a moment ago
		case lookErr != nil:
			return errors.Join(err, lookErr) // it is unknown whether an earlier call did it
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

// errReplayed rolls back a call that was made before.
var errReplayed = errors.New("engine: replayed")

// Replay returns the stored answer of an earlier call with the caller's key, or nil. It is for calls
// with a step before their transaction that a replay must skip, such as the check of a PIN.
func Replay[T any](ctx context.Context, e *Engine, caller api.Caller, op Operation) (*T, error) {
	digest, err := fingerprint(caller.IdempotencyKey, op)
	if err != nil || digest == "" {
		return nil, err
	}
	var answer *T
	err = e.View(ctx, caller, func(tx *ReadTx) error {
		var err error
		answer, err = storedAnswer[T](tx, caller, tx.Now, digest)
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

// ReplayByOlderKeys is Replay for an operation that depends on the server's key, which may have changed
// since the first call. It is for a call that was refused with idempotency_key_reused by the newest key.
func ReplayByOlderKeys[T any](ctx context.Context, e *Engine, caller api.Caller, op func(key []byte) Operation) *T {
	for _, key := range e.ServerKeys[1:] {
		if done, _ := Replay[T](ctx, e, caller, op(key)); done != nil {
			return done
		}
	}
	return nil
}

// ReplayTx is Replay in a transaction, for a call that writes before its answer is known. It does
// not set the caller's Replayed.
func ReplayTx[T any](tx *Tx, op Operation) (*T, error) {
	digest, err := fingerprint(tx.Caller.IdempotencyKey, op)
	if err != nil {
		return nil, err
	}
	return storedAnswer[T](tx, tx.Caller, tx.Now, digest)
}

// ExecuteWithReplay runs a call with steps before its transaction, in fn. It answers a replay
// without fn. It also looks for an answer when fn refuses: the first call may have succeeded
// concurrently, so that a code is used up or an invoice paid. It stores no answer itself: fn does,
// by Execute or StoreAnswer, and a refusal is never stored.
func ExecuteWithReplay[T any](ctx context.Context, e *Engine, caller api.Caller, op Operation, fn func() (*T, error)) (*T, error) {
	if done, err := Replay[T](ctx, e, caller, op); done != nil || err != nil {
		return done, err
	}
	answer, err := fn()
	if !api.IsRefusal(err) {
		return answer, err
	}
	done, again := Replay[T](ctx, e, caller, op)
	switch {
	case done != nil:
		return done, nil
	case api.IsRefusal(again):
		return nil, again // another request used the key
	}
	return nil, err
}

// RunAndStoreAnswer runs a call whose effects are in transactions of their own, in fn, and then
// stores its answer under the caller's idempotency key. Repeating fn must do no harm: a process
// that dies before the answer is stored leaves none, and concurrent calls may both run fn.
func RunAndStoreAnswer[T any](ctx context.Context, e *Engine, caller api.Caller, op Operation, fn func() (*T, error)) (*T, error) {
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

// ReadAndStoreAnswer runs a call that only reads, in fn. With an idempotency key, the transaction that reads
// also stores the answer, so that no erasure comes between.
func ReadAndStoreAnswer[T any](ctx context.Context, e *Engine, caller api.Caller, op Operation, fn func(*ReadTx) (*T, error)) (answer *T, err error) {
	if caller.IdempotencyKey == "" {
		err = e.View(ctx, caller, func(tx *ReadTx) error {
			answer, err = fn(tx)
			return err
		})
		return answer, err
	}
	return Execute(ctx, e, caller, op, func(tx *Tx) (*T, error) {
		return fn(&ReadTx{ReadTx: tx.Tx, Caller: tx.Caller, Now: tx.Now, engine: e})
	})
}

// refusal turns an error of the store into a refusal for the caller.
func refusal(err error) error {
	var e *api.Error
	if errors.As(err, &e) || !errors.Is(err, storage.ErrInsufficient) {
		return err
	}
	return api.Errorf(api.InsufficientBalance, "", "The balance is too low for this amount.").WithCause(err)
}
