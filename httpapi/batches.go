package httpapi

import (
	"net/http"
	"reflect"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
)

// maxBatchBody is the longest body of a batch, 2 MiB: a thousand rows with all that
// a row may say in a few words.
const maxBatchBody = 2 << 20

// batchRoutes send money to many at once.
func batchRoutes(svc *payments.Service) []route {
	const disbursements, path = "disbursements", "/v1/disbursements/batch"
	s := svc.Disbursements
	return []route{
		{method: http.MethodPost, pattern: path, resource: disbursements, write: true, maxBody: maxBatchBody, heavy: true, handle: createBatch(s)},
		read(disbursements, "GET "+path, listFrom(batchesOf(s), s.ListBatches, oneOf("status", disbursement.BatchStatuses()...))),
		read(disbursements, "GET "+path+"/{id}", getFrom(batchesOf(s), s.GetBatch)),
		read(disbursements, "GET "+path+"/{id}/rows", withIDQuery(s.ListRows, oneOf("status", disbursement.RowStatuses()...))),
	}
}

// createBatch refuses too many rows before it takes the memory for them.
func createBatch(s disbursement.Service) handler {
	create := withBody(s.CreateBatch)
	params := paramsOf(reflect.TypeFor[disbursement.CreateBatchParams]())
	return func(r *request) (any, error) {
		body, _ := r.body()
		if err := r.takes(params, nil); err != nil {
			return nil, err
		}
		if rows := find(body, "rows"); rows != nil && len(rows.elements) > disbursement.MaxRows {
			return nil, api.Invalid("rows", "rows may have at most %d elements; there are %d. Make several batches of them.", disbursement.MaxRows, len(rows.elements))
		}
		return create(r)
	}
}
