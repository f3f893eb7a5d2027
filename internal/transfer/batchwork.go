package transfer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/retry"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage"
)

// retrySchedule is the wait after each attempt without a decision, for example when the rail
// cannot tell a name. After the last attempt the row is refused.
var retrySchedule = retry.Schedule{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour,
}

// Jobs make the disbursements of batch rows.
func (s *Service) Jobs() []work.Job {
	const atATime = 16 // each may wait for the rail
	// A row calls the rail at most twice, for 30 seconds each.
	return []work.Job{{Kind: rows.Kind(), Timeout: 2 * time.Minute, Batch: atATime, RunOne: s.Disbursements().makeRow}}
}

// makeRow makes the disbursement of a row. One transaction writes disbursement, row and counts,
// and checks that the row is still this worker's. So each row is made once, and counted once.
func (s *Disbursements) makeRow(ctx context.Context, claimed storage.Record) error {
	o, err := rows.Decode(claimed)
	if err != nil {
		return err
	}
	if o.Value.Params == nil {
		return nil // already ended
	}
	var replayed bool
	caller := api.Caller{
		Merchant: o.Scope.Merchant, Live: o.Scope.Live,
		RequestID: o.Value.Request, IdempotencyKey: o.Value.IdempotencyKey, Replayed: &replayed,
	}
	made, err := s.createWith(ctx, caller, *o.Value.Params, func(tx *engine.Tx, t *payout.Transfer) error {
		return s.finishRow(tx, o, t, nil)
	})
	var refusal *api.Error
	wait, more := retrySchedule.After(o.Value.Attempts + 1)
	switch {
	case err == nil && replayed:
		// The key had been used before, so createWith did not commit finishRow.
		err = s.engine.Update(ctx, caller, func(tx *engine.Tx) error { return s.finishRow(tx, o, made, nil) })
	case errors.As(err, &refusal) && isTransient(refusal) && more:
		err = s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
			later := *o
			later.Value.Due = api.AtOrNil(tx.Now.Add(wait))
			later.Value.Attempts++
			return rows.Replace(tx, &later)
		})
	case refusal != nil:
		err = s.engine.Update(ctx, caller, func(tx *engine.Tx) error { return s.finishRow(tx, o, nil, refusal) })
	}
	if errors.Is(err, storage.ErrConflict) {
		return nil // another worker has taken the row over
	}
	return err
}

// isTransient reports a refusal that says nothing about the row itself.
func isTransient(e *api.Error) bool { return e.Type == api.Fault || e.Type == api.RateLimit }

// finishRow writes what became of a row, and counts it: made is its disbursement, nil for a refusal. It
// changes a copy: the transaction may run again, and needs the claimed version then.
func (s *Disbursements) finishRow(tx *engine.Tx, claimed *storage.Object[rowRecord], made *payout.Transfer, refusal *api.Error) error {
	o := *claimed
	r := &o.Value
	r.Params, r.Due = nil, nil
	foreseen := r.Fee
	if refusal == nil {
		// Fees and the holder of a number may have changed since the batch was made.
		r.Status, r.DisbursementID, r.Fee, r.Destination = disbursement.RowMade, made.ID, made.Fee, made.Destination
	} else {
		r.Status = disbursement.RowRefused
		r.Error = &disbursement.RowError{Code: refusal.Code, Message: refusal.Message, Param: refusal.Param}
	}
	if err := rows.Replace(tx, &o); err != nil {
		return fmt.Errorf("disbursement: write row: %w", err)
	}
	b, err := batches.Get(tx, o.Scope, r.Batch)
	if err != nil {
		return fmt.Errorf("disbursement: read batch: %w", err)
	}
	b.Value.Fee = api.GHS{Decimal: b.Value.Fee.Sub(foreseen.Decimal).Add(r.Fee.Decimal)}
	counts := &b.Value.Counts
	counts.Queued--
	if refusal != nil {
		counts.Refused++
	} else {
		counts.Made++
	}
	b.Value.Status = disbursement.BatchProcessing
	if counts.Queued == 0 {
		b.Value.Status, b.Value.CompletedAt = disbursement.BatchCompleted, api.AtOrNil(tx.Now)
	}
	if err := batches.Replace(tx, b); err != nil {
		return fmt.Errorf("disbursement: count batch: %w", err)
	}
	if counts.Queued > 0 {
		return nil
	}
	// The event names the batch's request, not the last row's.
	defer tx.AttributeEvents(b.Value.Request, b.Value.IdempotencyKey)()
	return s.config.Events.Append(tx, &b.Value.Batch, event.DisbursementBatchCompleted)
}
