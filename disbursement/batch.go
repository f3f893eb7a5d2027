package disbursement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/transfer"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage"
)

// MaxRows is the largest number of disbursements in a batch.
const MaxRows = 1000

// BatchStatus is the state of a batch.
type BatchStatus string

// The statuses of batches. In a completed batch every row is made or refused. The money may still
// be on its way: each disbursement has its own status.
const (
	BatchPending    BatchStatus = "pending"
	BatchProcessing BatchStatus = "processing"
	BatchCompleted  BatchStatus = "completed"
)

// BatchStatuses are all statuses, for filters.
func BatchStatuses() []BatchStatus {
	return []BatchStatus{BatchPending, BatchProcessing, BatchCompleted}
}

// Batch is a group of disbursements from one request.
type Batch struct {
	ID     string      `json:"id"`     // bat_…
	Object string      `json:"object"` // always "disbursement_batch"
	Status BatchStatus `json:"status"`
	Counts Counts      `json:"counts"`
	// Amount and Fee are the sums over all rows, refused ones included, in GHS. A row's fee, and with it
	// the sum, changes at the row's turn if the operator's fees have changed since.
	Amount      api.GHS      `json:"amount"`
	Fee         api.GHS      `json:"fee"`
	Currency    string       `json:"currency"`
	Description string       `json:"description"`
	Reference   string       `json:"reference"`
	Metadata    api.Metadata `json:"metadata"`
	Livemode    bool         `json:"livemode"`
	CreatedAt   api.Time     `json:"created_at"`
	// CompletedAt is the time when the last row was made or refused; nil until then.
	CompletedAt *api.Time `json:"completed_at"`
}

// Counts shows the progress of a batch: Total is Queued plus Made plus Refused.
type Counts struct {
	Total   int `json:"total"`
	Queued  int `json:"queued"`  // not yet tried
	Made    int `json:"made"`    // became a disbursement
	Refused int `json:"refused"` // could not be made
}

// RowStatus is the state of a row.
type RowStatus string

// The statuses of rows.
const (
	RowQueued  RowStatus = "queued"
	RowMade    RowStatus = "made"
	RowRefused RowStatus = "refused"
)

// RowStatuses are all statuses, for filters.
func RowStatuses() []RowStatus { return []RowStatus{RowQueued, RowMade, RowRefused} }

// Row is one disbursement of a batch.
type Row struct {
	ID     string `json:"id"`     // row_…
	Object string `json:"object"` // always "disbursement_batch_row"
	Batch  string `json:"batch"`
	// Number counts the rows of a batch, beginning with 1.
	Number         int                `json:"row"`
	Status         RowStatus          `json:"status"`
	Amount         api.GHS            `json:"amount"`
	Fee            api.GHS            `json:"fee"`
	Currency       string             `json:"currency"`
	Destination    payout.Destination `json:"destination"`
	Reference      string             `json:"reference"`
	IdempotencyKey string             `json:"idempotency_key"`
	// Disbursement is the row's disbursement in its present state; nil until it is made.
	Disbursement *payout.Transfer `json:"disbursement"`
	// Error says why the row was refused; nil if it was not.
	Error *RowError `json:"error"`
}

// RowError is the refusal that the disbursement alone would have got.
type RowError struct {
	Code    api.Code `json:"code"`
	Message string   `json:"message"`
	Param   string   `json:"param,omitempty"`
}

// RowParams describe one row.
type RowParams struct {
	CreateParams
	// IdempotencyKey makes it safe to repeat the row, in this batch, in another, or alone. It
	// is the key of [Service.Create], so one key makes one disbursement. If empty, it is the
	// batch's id and the row's number.
	IdempotencyKey string `json:"idempotency_key,omitempty" param:",nonempty"`
}

// CreateBatchParams describes a batch.
type CreateBatchParams struct {
	Rows        []RowParams  `json:"rows" param:",required"` // 1 to 1,000
	Description string       `json:"description,omitempty"`  // at most 500 characters
	Reference   string       `json:"reference,omitempty"`    // at most 100 characters
	Metadata    api.Metadata `json:"metadata,omitempty"`
}

type batchRecord struct {
	Batch
	// Request and IdempotencyKey belong to the call that created the batch. Later events name them.
	Request        string `json:"request,omitempty"`
	IdempotencyKey string `json:"key,omitempty"`
}

type rowRecord struct {
	Row
	// DisbursementID is the id of the disbursement.
	DisbursementID string `json:"made,omitempty"`
	// Params is the request, with unmasked numbers; nil once the row has ended.
	Params *CreateParams `json:"params,omitempty"`
	// Request belongs to the call that created the batch.
	Request string `json:"request,omitempty"`
	// Attempts counts the attempts that ended without a decision.
	Attempts int `json:"tries,omitempty"`
	// Due is the time of the worker's next attempt; nil once the row has ended.
	Due *api.Time `json:"due,omitempty"`
}

var batches = storage.NewCollection("disbursement_batches", []storage.Field[batchRecord]{
	storage.EnumColumn("status", func(b *batchRecord) BatchStatus { return b.Status }, BatchStatuses()...).Indexed(),
	storage.TimeColumn("created", func(b *batchRecord) time.Time { return b.CreatedAt.Time }).Indexed(),
}).Passthrough(func(b *batchRecord) any { return &b.Batch })

var rows = storage.NewCollection("disbursement_batch_rows", []storage.Field[rowRecord]{
	storage.TextColumn("batch", func(r *rowRecord) string { return r.Batch }).Indexed(),
	storage.EnumColumn("status", func(r *rowRecord) RowStatus { return r.Status }, RowStatuses()...),
	storage.NullTimeColumn("due", func(r *rowRecord) *api.Time { return r.Due }),
}, storage.DueBy("due"))

// Kinds are the kinds that this package stores. Package payout stores the disbursements
// themselves.
func Kinds() []*storage.Kind { return []*storage.Kind{batches.Kind(), rows.Kind()} }

// CreateBatch accepts many disbursements at once. It checks all rows first. One wrong row refuses
// the whole batch, and the refusal names the parameter, for example rows[2].amount. Otherwise
// CreateBatch stores the batch and returns it. Background work then makes each row's disbursement
// as [Service.Create] would, exactly once, also after a crash. A refusal of a row does not stop
// the others.
//
// CreateBatch reserves no money. If the balance is too low when a row's turn comes, the row is
// refused with insufficient_balance. The turns follow the order of the rows, several at a time.
//
// Refusals: those of [Service.Create] that need neither the rail nor the balance; parameter_missing (rows),
// and parameter_invalid for more than [MaxRows] rows, two with one idempotency key, or one with the batch's.
func (s *Service) CreateBatch(ctx context.Context, caller api.Caller, p CreateBatchParams) (*Batch, error) {
	for i := range p.Rows {
		if err := s.payouts.CheckDigits(transfer.Disbursement, p.Rows[i].Amount); err != nil {
			return nil, underRow(i, err)
		}
	}
	op := engine.Operation{Name: "disbursement_batch.create", Params: p}
	prepared, err := s.prepareBatch(caller, &p)
	if err != nil {
		// A replay gets its answer even if limits, banks or the rail have changed since.
		if done, replayErr := engine.Replay[Batch](ctx, s.engine, caller, op); done != nil || replayErr != nil {
			return done, replayErr
		}
		return nil, err
	}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*Batch, error) {
		b := batchRecord{
			Batch: Batch{
				ID: tx.NewID("bat_"), Object: "disbursement_batch", Status: BatchPending,
				Counts: Counts{Total: len(p.Rows), Queued: len(p.Rows)}, Currency: api.Currency,
				Description: p.Description, Reference: p.Reference, Metadata: p.Metadata,
				Livemode: caller.Live, CreatedAt: api.At(tx.Now),
			},
			Request: caller.RequestID, IdempotencyKey: caller.IdempotencyKey,
		}
		var amount, fee int64
		// Lists show the newest first. Inserting the last row first makes them show the rows in
		// the given order.
		for i := len(p.Rows) - 1; i >= 0; i-- {
			recipient, err := prepared[i].Recipient(tx)
			if err != nil {
				return nil, underRow(i, err)
			}
			r := newRow(tx, &b, &p, i, prepared[i], recipient)
			rowAmount, rowFee := prepared[i].Costs()
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
		return &b.Batch, s.events.Record(tx, &b.Batch, event.DisbursementBatchCreated)
	})
}

// preparedRow is a row that [payout.Internal.Prepare] has checked.
type preparedRow interface {
	Recipient(tx storage.ReadTx) (*account.Recipient, error)
	Destination(to *account.Recipient) payout.Destination
	Costs() (amount, fee int64)
}

func newRow(tx *engine.Tx, b *batchRecord, p *CreateBatchParams, i int, prepared preparedRow, to *account.Recipient) rowRecord {
	given := p.Rows[i]
	amount, fee := prepared.Costs()
	r := rowRecord{
		Row: Row{
			ID: tx.NewID("row_"), Object: "disbursement_batch_row", Batch: b.ID, Number: i + 1, Status: RowQueued,
			Amount: api.FromPesewas(amount), Fee: api.FromPesewas(fee), Currency: api.Currency,
			Destination: prepared.Destination(to), Reference: given.Reference, IdempotencyKey: given.IdempotencyKey,
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
func (s *Service) prepareBatch(caller api.Caller, p *CreateBatchParams) ([]preparedRow, error) {
	if len(p.Rows) == 0 {
		return nil, api.Missing("rows")
	}
	if len(p.Rows) > MaxRows {
		return nil, api.Invalid("rows", "rows may have at most %d elements; there are %d. Make several batches of them.", MaxRows, len(p.Rows))
	}
	if err := cmp.Or(
		check.Text("description", p.Description, api.MaxText),
		check.Text("reference", p.Reference, api.MaxReference),
		check.Metadata(p.Metadata, false),
	); err != nil {
		return nil, err
	}
	prepared := make([]preparedRow, len(p.Rows))
	keys := make(map[string]int, len(p.Rows))
	for i := range p.Rows {
		r := &p.Rows[i]
		var err error
		if prepared[i], err = s.payouts.Prepare(caller.Live, transfer.Disbursement, r.payoutParams(), &r.Reference); err != nil {
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

// GetBatch returns one batch.
func (s *Service) GetBatch(ctx context.Context, caller api.Caller, id string) (*Batch, error) {
	return batchListing.Get(ctx, s.engine, caller, id)
}

// GetBatchJSON writes the JSON of what GetBatch returns, at less cost; see package payments.
func (s *Service) GetBatchJSON(ctx context.Context, caller api.Caller, id string, w io.Writer) error {
	return batchListing.GetJSON(ctx, s.engine, caller, id, w)
}

// batchListing reads batches.
var batchListing = engine.Listing[batchRecord, Batch]{
	Collection: batches, Noun: "batch", URL: "/v1/disbursements/batch",
	Show: func(b *batchRecord) Batch { return b.Batch },
}

// ListBatchesParams selects batches; zero values select all.
type ListBatchesParams struct {
	api.Page
	Status  BatchStatus `param:"status"`
	Created api.Times   `param:"created"`
}

// ListBatches lists batches, newest first.
func (s *Service) ListBatches(ctx context.Context, caller api.Caller, p ListBatchesParams) (*api.List[Batch], error) {
	return batchListing.List(ctx, s.engine, engine.Query(caller, p), p.Page)
}

// ListBatchesJSON writes the JSON of what ListBatches returns, at less cost; see package payments.
func (s *Service) ListBatchesJSON(ctx context.Context, caller api.Caller, p ListBatchesParams, w io.Writer) error {
	return batchListing.ListJSON(ctx, s.engine, engine.Query(caller, p), p.Page, w)
}

// ListRowsParams selects rows of a batch; zero values select all.
type ListRowsParams struct {
	api.Page
	Status RowStatus `param:"status"`
}

// ListRows lists the rows of a batch in the given order, each with its disbursement's present
// state.
func (s *Service) ListRows(ctx context.Context, caller api.Caller, batch string, p ListRowsParams) (*api.List[Row], error) {
	var list *api.List[Row]
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		if _, err := engine.GetTx(tx, batches, engine.Scope(caller), batch, "batch"); err != nil {
			return err
		}
		q := storage.Query{Scope: engine.Scope(caller), Where: engine.Where(nil, "batch", batch)}
		q.Where = engine.Where(q.Where, "status", string(p.Status))
		made := map[string]string{}
		listing := engine.Listing[rowRecord, Row]{
			Collection: rows, Noun: "row", URL: "/v1/disbursements/batch/" + batch + "/rows",
			Show: func(r *rowRecord) Row {
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
			if list.Data[i].Disbursement, err = s.payouts.GetTx(tx, engine.Scope(caller), transfer.Disbursement, id); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}
