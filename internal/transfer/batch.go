package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/storage"
)

type batchRecord struct {
	disbursement.Batch
	// Request and IdempotencyKey belong to the call that created the batch. Later events name them.
	Request        string `json:"request,omitempty"`
	IdempotencyKey string `json:"key,omitempty"`
}

type rowRecord struct {
	disbursement.Row
	// DisbursementID is the id of the disbursement.
	DisbursementID string `json:"disbursement_id,omitempty"`
	// Params is the request, with unmasked numbers; nil once the row has ended.
	Params *disbursement.CreateParams `json:"params,omitempty"`
	// Request belongs to the call that created the batch.
	Request string `json:"request,omitempty"`
	// Attempts counts the attempts that ended without a decision.
	Attempts int `json:"attempts,omitempty"`
	// Due is the time of the worker's next attempt; nil once the row has ended.
	Due *api.Time `json:"due,omitempty"`
}

var batches = storage.NewCollection("disbursement_batches", []storage.Field[batchRecord]{
	storage.EnumColumn("status", func(b *batchRecord) disbursement.BatchStatus { return b.Status }, disbursement.BatchStatuses()...).Indexed(),
	storage.TimeColumn("created", func(b *batchRecord) time.Time { return b.CreatedAt.Time }).Indexed(),
}).Passthrough(func(b *batchRecord) any { return &b.Batch })

var rows = storage.NewCollection("disbursement_batch_rows", []storage.Field[rowRecord]{
	storage.TextColumn("batch", func(r *rowRecord) string { return r.Batch }).Indexed(),
	storage.EnumColumn("status", func(r *rowRecord) disbursement.RowStatus { return r.Status }, disbursement.RowStatuses()...),
	storage.NullTimeColumn("due", func(r *rowRecord) *api.Time { return r.Due }),
}, storage.DueBy("due"))

func (s *Disbursements) CreateBatch(ctx context.Context, caller api.Caller, p disbursement.CreateBatchParams) (*disbursement.Batch, error) {
	for i := range p.Rows {
		if err := s.checkDigits(Disbursement, p.Rows[i].Amount); err != nil {
			return nil, underRow(i, err)
		}
	}
	op := engine.Operation{Name: "disbursement_batch.create", Params: p}
	prepared, err := s.prepareBatch(caller, &p)
	if err != nil {
		// A replay gets its answer even if limits, banks or the rail have changed since.
		if done, replayErr := engine.Replay[disbursement.Batch](ctx, s.engine, caller, op); done != nil || replayErr != nil {
			return done, replayErr
		}
		return nil, err
	}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*disbursement.Batch, error) {
		b := batchRecord{
			Batch: disbursement.Batch{
				ID: tx.NewID("bat_"), Object: "disbursement_batch", Status: disbursement.BatchPending,
				Counts: disbursement.Counts{Total: len(p.Rows), Queued: len(p.Rows)}, Currency: api.Currency,
				Description: p.Description, Reference: p.Reference, Metadata: p.Metadata,
				Livemode: caller.Live, CreatedAt: api.At(tx.Now),
			},
			Request: caller.RequestID, IdempotencyKey: caller.IdempotencyKey,
		}
		var amount, fee int64
		// Lists show the newest first. Inserting the last row first makes them show the rows in
		// the given order.
		for i := len(p.Rows) - 1; i >= 0; i-- {
			recipient, err := prepared[i].recipient(tx)
			if err != nil {
				return nil, underRow(i, err)
			}
			r := newRow(tx, &b, &p, i, prepared[i], recipient)
			rowAmount, rowFee := prepared[i].costs()
			amount, fee = amount+rowAmount, fee+rowFee
			if _, err := rows.Insert(tx, engine.Scope(caller), r.ID, r); err != nil {
				return nil, fmt.Errorf("disbursement: keep row: %w", err)
			}
		}
		b.Amount, b.Fee = api.FromPesewas(amount), api.FromPesewas(fee)
		if _, err := batches.Insert(tx, engine.Scope(caller), b.ID, b); err != nil {
			return nil, fmt.Errorf("disbursement: keep batch: %w", err)
		}
		tx.WakeAfterCommit(rows.Kind())
		return &b.Batch, s.config.Events.Append(tx, &b.Batch, event.DisbursementBatchCreated)
	})
}

func newRow(tx *engine.Tx, b *batchRecord, p *disbursement.CreateBatchParams, i int, prepared *preparedTransfer, to *party.Recipient) rowRecord {
	given := p.Rows[i]
	amount, fee := prepared.costs()
	r := rowRecord{
		Row: disbursement.Row{
			ID: tx.NewID("row_"), Object: "disbursement_batch_row", Batch: b.ID, Number: i + 1, Status: disbursement.RowQueued,
			Amount: api.FromPesewas(amount), Fee: api.FromPesewas(fee), Currency: api.Currency,
			Destination: prepared.shown(to), Reference: given.Reference, IdempotencyKey: given.IdempotencyKey,
		},
		Params: &given.CreateParams, Request: b.Request,
		// The worker takes the row with the earliest due time first, so these times keep the rows
		// in order.
		Due: api.AtOrNil(tx.Now.Add(time.Duration(i-len(p.Rows)) * time.Millisecond)),
	}
	if r.IdempotencyKey == "" {
		r.IdempotencyKey = fmt.Sprintf("%s/%d", b.ID, r.Number)
	}
	return r
}

// prepareBatch makes the checks that need no transaction.
func (s *Disbursements) prepareBatch(caller api.Caller, p *disbursement.CreateBatchParams) ([]*preparedTransfer, error) {
	if len(p.Rows) == 0 {
		return nil, api.Missing("rows")
	}
	if len(p.Rows) > disbursement.MaxRows {
		return nil, api.Invalid("rows", "rows may have at most %d elements; there are %d. Make several batches of them.", disbursement.MaxRows, len(p.Rows))
	}
	if err := cmp.Or(
		check.Text("description", p.Description, api.MaxText),
		check.Text("reference", p.Reference, api.MaxReference),
		check.Metadata(p.Metadata, false),
	); err != nil {
		return nil, err
	}
	prepared := make([]*preparedTransfer, len(p.Rows))
	keys := make(map[string]int, len(p.Rows))
	for i := range p.Rows {
		r := &p.Rows[i]
		var err error
		if prepared[i], err = s.prepare(caller.Live, Disbursement, payoutParams(&r.CreateParams), &r.Reference); err != nil {
			return nil, underRow(i, err)
		}
		if r.IdempotencyKey == "" {
			continue
		}
		if err := engine.CheckIdempotencyKey(r.IdempotencyKey); err != nil {
			return nil, api.Invalid(rowParam(i, "idempotency_key"), "%s must have 1 to 255 printable ASCII characters.", rowParam(i, "idempotency_key"))
		}
		if r.IdempotencyKey == caller.IdempotencyKey { // the row could never be made
			return nil, api.Invalid(rowParam(i, "idempotency_key"), "%s is that of the batch, too. Every row needs a key of its own, or none.", rowParam(i, "idempotency_key"))
		}
		if same, ok := keys[r.IdempotencyKey]; ok {
			return nil, api.Invalid(rowParam(i, "idempotency_key"), "%s is that of rows[%d], too. Every row needs a key of its own, or none.", rowParam(i, "idempotency_key"), same)
		}
		keys[r.IdempotencyKey] = i
	}
	return prepared, nil
}

// rowParam is the path of a row's parameter.
func rowParam(row int, param string) string { return fmt.Sprintf("rows[%d].%s", row, param) }

// underRow adds the row to the parameter of a refusal.
func underRow(row int, err error) error {
	var refusal *api.Error
	if !errors.As(err, &refusal) || refusal.Type == api.Fault {
		return err
	}
	at := fmt.Sprintf("rows[%d]", row)
	nested := refusal.Under(at)
	if refusal.Param != "" && !strings.Contains(nested.Message, nested.Param) {
		nested.Message = at + ": " + nested.Message
	}
	return nested
}

func (s *Disbursements) GetBatch(ctx context.Context, caller api.Caller, id string) (*disbursement.Batch, error) {
	return batchListing.Get(ctx, s.engine, caller, id)
}

// GetBatchJSON writes the JSON of what GetBatch returns; see package httpapi.
func (s *Disbursements) GetBatchJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error {
	return batchListing.GetJSON(ctx, s.engine, caller, id, w)
}

// batchListing reads batches.
var batchListing = engine.Listing[batchRecord, disbursement.Batch]{
	Collection: batches, Noun: "batch", URL: "/v1/disbursements/batch",
	Show: func(b *batchRecord) disbursement.Batch { return b.Batch },
}

func (s *Disbursements) ListBatches(ctx context.Context, caller api.Caller, p disbursement.ListBatchesParams) (*api.List[disbursement.Batch], error) {
	return batchListing.List(ctx, s.engine, engine.Query(caller, p), p.Page)
}

// ListBatchesJSON writes the JSON of what ListBatches returns; see package httpapi.
func (s *Disbursements) ListBatchesJSON(ctx context.Context, caller api.Caller, p disbursement.ListBatchesParams, w io.Writer) error {
	return batchListing.ListJSON(ctx, s.engine, engine.Query(caller, p), p.Page, w)
}

func (s *Disbursements) ListRows(ctx context.Context, caller api.Caller, batch string, p disbursement.ListRowsParams) (*api.List[disbursement.Row], error) {
	var list *api.List[disbursement.Row]
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		if _, err := engine.GetTx(tx, batches, engine.Scope(caller), batch, "batch"); err != nil {
			return err
		}
		q := storage.Query{Scope: engine.Scope(caller), Where: engine.Where(nil, "batch", batch)}
		q.Where = engine.Where(q.Where, "status", string(p.Status))
		made := map[string]string{}
		listing := engine.Listing[rowRecord, disbursement.Row]{
			Collection: rows, Noun: "row", URL: "/v1/disbursements/batch/" + batch + "/rows",
			Show: func(r *rowRecord) disbursement.Row {
				made[r.ID] = r.DisbursementID
				return r.Row
			},
		}
		var err error
		if list, err = listing.ListTx(tx, q, p.Page); err != nil {
			return err
		}
		for i := range list.Data {
			id := made[list.Data[i].ID]
			if id == "" {
				continue
			}
			if list.Data[i].Disbursement, err = s.getTx(tx, engine.Scope(caller), Disbursement, id); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}
