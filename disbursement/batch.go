package disbursement

import (
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/payout"
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

// ListBatchesParams selects batches; zero values select all.
type ListBatchesParams struct {
	api.Page
	Status  BatchStatus `param:"status"`
	Created api.Times   `param:"created"`
}

// ListRowsParams selects rows of a batch; zero values select all.
type ListRowsParams struct {
	api.Page
	Status RowStatus `param:"status"`
}
