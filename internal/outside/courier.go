package outside

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/due"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Trade is what is particular to one kind of order: T is what is kept, O what the
// other side is told, R what it answers.
type Trade[T, O, R any] interface {
	// Course returns the part of the record that the courier keeps, and Created when
	// the record was made.
	Course(r *T) *Course
	Created(r *T) time.Time
	// Ended reports that the outcome is booked.
	Ended(r *T) bool
	// Told enters the status of what the other side knows of, and tells of it. It is
	// called once, in the transaction before the first call or with the first report.
	Told(tx *engine.Tx, r *T) error
	// Order returns what the other side is told.
	Order(r *T, live bool, now time.Time) O
	// Port returns the other side in a mode, or nil.
	Port(live bool) Port[O, R]
	// Read says what an answer is, and Outcome names it for the log.
	Read(answer R) Reading
	Outcome(answer R) string
	// Book books an answer. It writes the record if that ends it, and closes its
	// order; else it reports that nothing is decided, and when the other side wants to
	// be asked again (zero leaves that to the schedule).
	Book(tx *engine.Tx, o *storage.Object[T], answer R) (ended bool, again time.Duration, err error)
	// Contradiction says, for the log, how an answer is the opposite of what was
	// booked; empty when it is not.
	Contradiction(r *T, answer R) string
}

// WorkLimit bounds the work on an order: its two calls, and what is written.
const WorkLimit = 2*callTimeout + 15*time.Second

// Courier sees orders of one kind through.
type Courier[T, O, R any] struct {
	Engine  *engine.Engine
	Trade   Trade[T, O, R]
	Records *storage.Collection[T]
	Orders  *Orders
	// Noun names the object in refusals, and Word in the log.
	Noun, Word string
	StuckAfter time.Duration
}

// Job carries what is due.
func (c *Courier[T, O, R]) Job() due.Job {
	const atATime = 64 // most of it waits for the other side
	return due.Job{Kind: c.Records.Kind(), Limit: WorkLimit, Batch: atATime, Do: c.carry}
}

// carry submits an order or asks what became of it. That the other side is about
// to be asked is written before, so that nobody cancels what may have been
// submitted, and whoever finds the record after a crash asks first. The record is held
// meanwhile: it stays due, and another worker takes it over if this process dies.
func (c *Courier[T, O, R]) carry(ctx context.Context, claimed storage.Record) error {
	kept, err := c.Records.Decode(claimed)
	if err != nil {
		return err
	}
	caller := api.Caller{
		Merchant: claimed.Scope.Merchant, Live: claimed.Scope.Live,
		RequestID: c.Trade.Course(&kept.Value).Request, IdempotencyKey: c.Trade.Course(&kept.Value).Key,
	}
	port := c.Trade.Port(caller.Live)
	var to *O
	var first bool
	var release func()
	said := due.Outcome{RequestID: caller.RequestID}
	defer func() { due.Report(ctx, said) }()
	err = c.Engine.Update(ctx, caller, func(tx *engine.Tx) error {
		to, said.Name = nil, "ended_before"
		found, err := c.Records.Get(tx, caller.Scope(), claimed.ID)
		if err != nil {
			return fmt.Errorf("outside: read %s: %w", c.Noun, err)
		}
		r := &found.Value
		if c.Trade.Ended(r) {
			return nil // a callback was faster
		}
		course := c.Trade.Course(r)
		if port == nil {
			said.Name = "no_rail"
			tx.Committed(func() {
				c.Engine.Log.ErrorContext(ctx, "a "+c.Word+" waits for somebody to carry it, and there is nobody", c.Word, claimed.ID, "live", caller.Live)
			})
			course.Due = api.AtOrNil(tx.Now.Add(patience.After(len(patience))))
			return c.Records.Replace(tx, found)
		}
		if first = course.submitted(tx.Now); first {
			if err := c.Trade.Told(tx, r); err != nil {
				return err
			}
		}
		course.Asked++
		said.Attempt = course.Asked
		order := c.Trade.Order(r, caller.Live, tx.Now)
		to = &order
		if err := c.Records.Replace(tx, found); err != nil {
			return fmt.Errorf("outside: write %s: %w", c.Noun, err)
		}
		release, err = tx.Hold(c.Records.Kind(), found.ID, found.Version)
		return err
	})
	if err != nil || to == nil {
		return err
	}
	answer, failed := Ask(ctx, port, *to, first, c.Trade.Read)
	release()
	if failed != nil {
		// It will be asked again. The error may quote the number; the log must not.
		said.Name, said.Level, said.Err = "no_answer", slog.LevelWarn, failed
		_, err = c.book(ctx, caller, claimed.ID, nil)
		return err
	}
	said.Name = c.Trade.Outcome(answer)
	_, err = c.Report(ctx, caller, claimed.ID, answer)
	if errors.Is(err, ErrContradicted) { // which is on record, and not to be tried again
		said.Name, said.Level, said.Err = Contradicted.Name, Contradicted.Level, Contradicted.Err
		return nil
	}
	return err
}

// Report books what the other side has said of an order, be it as an answer or in
// a callback. It may be told the same again, late, and in any order. With
// ErrContradicted comes the record as it is.
func (c *Courier[T, O, R]) Report(ctx context.Context, caller api.Caller, id string, answer R) (*T, error) {
	return c.book(ctx, caller, id, &answer)
}

// book books an answer; nil stands for none.
func (c *Courier[T, O, R]) book(ctx context.Context, caller api.Caller, id string, answer *R) (*T, error) {
	var shown *T
	var contradiction string
	err := c.Engine.Update(ctx, caller, func(tx *engine.Tx) error {
		var err error
		shown, contradiction, err = c.bookTx(ctx, tx, id, answer)
		if err != nil || contradiction == "" {
			return err
		}
		return c.Orders.ContradictTx(ctx, tx, Contradicting{
			Order: Order{Noun: c.Noun, Contradiction: contradiction}, ID: id, Kind: c.Records.Kind(), Word: c.Word,
		})
	})
	if err != nil {
		return nil, err
	}
	if contradiction != "" {
		return shown, ErrContradicted
	}
	return shown, nil
}

// ReportTx is Report of what somebody plays the other side with, in a transaction of
// theirs. A contradiction is refused, and noted nowhere.
func (c *Courier[T, O, R]) ReportTx(ctx context.Context, tx *engine.Tx, id string, answer R) (*T, error) {
	shown, contradiction, err := c.bookTx(ctx, tx, id, &answer)
	if err == nil && contradiction != "" {
		err = ErrContradicted
	}
	return shown, err
}

// bookTx books an answer, or says how it contradicts what is booked.
func (c *Courier[T, O, R]) bookTx(ctx context.Context, tx *engine.Tx, id string, answer *R) (r *T, contradiction string, err error) {
	found, err := engine.GetTx(tx, c.Records, tx.Caller.Scope(), id, c.Noun)
	if err != nil {
		return nil, "", err
	}
	r = &found.Value
	if c.Trade.Ended(r) {
		if answer != nil {
			contradiction = c.Trade.Contradiction(r, *answer)
		}
		return r, contradiction, nil
	}
	course := c.Trade.Course(r)
	defer func(caller api.Caller) { tx.Caller = caller }(tx.Caller)
	tx.Caller.RequestID, tx.Caller.IdempotencyKey = course.Request, course.Key
	if course.submitted(tx.Now) { // a test helper is faster than the worker
		if err := c.Trade.Told(tx, r); err != nil {
			return nil, "", err
		}
	}
	var again time.Duration
	if answer != nil {
		var ended bool
		if ended, again, err = c.Trade.Book(tx, found, *answer); ended || err != nil {
			return r, "", err
		}
	}
	if again <= 0 {
		again = patience.After(course.Asked)
	}
	course.Due = api.AtOrNil(tx.Now.Add(again))
	c.watch(ctx, tx, found)
	return r, "", c.Records.Replace(tx, found)
}

// watch tells the log, once, of an order that takes too long.
func (c *Courier[T, O, R]) watch(ctx context.Context, tx *engine.Tx, o *storage.Object[T]) {
	course := c.Trade.Course(&o.Value)
	age := tx.Now.Sub(c.Trade.Created(&o.Value))
	if course.Stuck || age < c.StuckAfter {
		return
	}
	course.Stuck = true
	asked := course.Asked
	tx.Committed(func() {
		c.Engine.Log.ErrorContext(ctx, "a "+c.Word+" is stuck: the provider has not decided", c.Word, o.ID, "age", age.String(), "asked", asked)
	})
}
