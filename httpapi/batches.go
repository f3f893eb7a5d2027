package httpapi

import (
	"fmt"
	"net/http"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
)

// maxBatchBody is the longest body of a batch, 2 MiB: a thousand rows with all that
// a row may say in a few words.
const maxBatchBody = 2 << 20

// batchRoutes send money to many at once.
func batchRoutes(svc *payments.Service) []route {
	h := batchHandlers{svc}
	const path = "/v1/disbursements/batch"
	return []route{
		{method: http.MethodPost, pattern: path, resource: "disbursements", write: true, maxBody: maxBatchBody, heavy: true, handle: h.create},
		{method: http.MethodGet, pattern: path, resource: "disbursements", handle: h.list},
		{method: http.MethodGet, pattern: path + "/{id}", resource: "disbursements", handle: h.get},
		{method: http.MethodGet, pattern: path + "/{id}/rows", resource: "disbursements", handle: h.rows},
	}
}

type batchHandlers struct{ svc *payments.Service }

func (h batchHandlers) create(r *request) (any, error) {
	b := r.body()
	b.require("rows")
	p := disbursement.CreateBatchParams{
		Description: b.text("description"), Reference: b.text("reference"), Metadata: b.metadata("metadata"),
	}
	given := b.objects("rows")
	if len(given) > disbursement.MaxRows {
		return nil, api.Invalid("rows", "rows may have at most %d elements; there are %d. Make several batches of them.", disbursement.MaxRows, len(given))
	}
	for i, row := range given {
		row.require("amount", "destination")
		key := row.text("idempotency_key")
		if key == "" && row.has("idempotency_key") && !row.null("idempotency_key") {
			path := fmt.Sprintf("rows[%d].idempotency_key", i)
			return nil, api.Invalid(path, "%s is empty. Give it a value or leave it out.", path)
		}
		p.Rows = append(p.Rows, disbursement.RowParams{CreateParams: disbursementParams(row), IdempotencyKey: key})
	}
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.svc.Disbursements.CreateBatch(r.Context(), r.caller, p)
}

func (h batchHandlers) get(r *request) (any, error) {
	return answerObject(r, h.svc.Disbursements.GetBatchJSON)
}

func (h batchHandlers) list(r *request) (any, error) {
	q := r.query()
	p := disbursement.ListBatchesParams{
		Page: q.page(), Status: oneOf(q, "status", disbursement.BatchStatuses()...), Created: q.times("created"),
	}
	if err := q.err(); err != nil {
		return nil, err
	}
	return answerList(r, p, h.svc.Disbursements.ListBatchesJSON)
}

func (h batchHandlers) rows(r *request) (any, error) {
	q := r.query()
	p := disbursement.ListRowsParams{Page: q.page(), Status: oneOf(q, "status", disbursement.RowStatuses()...)}
	if err := q.err(); err != nil {
		return nil, err
	}
	return h.svc.Disbursements.ListRows(r.Context(), r.caller, r.id(), p)
}
