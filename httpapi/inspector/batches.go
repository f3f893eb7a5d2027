package inspector

import (
	"fmt"
	"strings"

	"github.com/seed-7082ffec/payments/disbursement"
)

func (v *visit) batches() (*page, error) {
	list, err := v.svc.Disbursements.ListBatches(v.Context(), v.caller, disbursement.ListBatchesParams{
		Page: v.page(), Status: disbursement.BatchStatus(v.query.Get("status")), Created: v.day(),
	})
	if err != nil {
		return nil, err
	}
	return &page{
		Title: "Batches", NavPath: "batches",
		Filter: []field{v.filter("status", "Status", stringsOf(disbursement.BatchStatuses())...), v.dayFilter()},
		Forms: []*form{{
			Name: "create", Title: "New batch", Button: "Disburse all",
			Fields: []field{
				{
					Name: "rows", Label: "Rows as CSV", Kind: "lines", Required: true,
					Value: "amount,type,phone_number,account_name,reference\n",
					Hint:  "The first line names the columns, and each further one is a disbursement.",
				},
				{Name: "description", Label: "Description"},
			},
			do: (*visit).createBatch,
		}},
		Live:     []section{{Rows: rowsOf(list, v.batchRow), Empty: "There is no such batch."}},
		NextPage: nextPage(v, list, func(b *disbursement.Batch) string { return b.ID }),
	}, nil
}

func (v *visit) batchRow(b *disbursement.Batch) row {
	return row{
		Href: v.url("batches", b.ID), Title: b.ID, Detail: joinNonEmpty(plural(b.Counts.Total), b.Description, b.Reference),
		Amount: formatGHS(b.Amount), State: string(b.Status), At: b.CreatedAt,
	}
}

func plural(rows int) string {
	if rows == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", rows)
}

func (v *visit) createBatch(in *input) (*result, error) {
	rows, err := disbursement.ReadRows(strings.NewReader(in.text("rows")))
	if err != nil {
		return nil, err
	}
	b, err := v.svc.Disbursements.CreateBatch(v.Context(), v.caller, disbursement.CreateBatchParams{Rows: rows, Description: in.text("description")})
	if err != nil {
		return nil, err
	}
	return &result{redirect: v.url("batches", b.ID)}, nil
}

func (v *visit) batch() (*page, error) {
	b, err := v.svc.Disbursements.GetBatch(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	rows, err := v.svc.Disbursements.ListRows(v.Context(), v.caller, b.ID, disbursement.ListRowsParams{
		Page: v.page(), Status: disbursement.RowStatus(v.query.Get("status")),
	})
	if err != nil {
		return nil, err
	}
	history, err := v.history("disbursement_batch", b.ID, b.CreatedAt.Time, "completed")
	if err != nil {
		return nil, err
	}
	return &page{
		Title: "Batch of " + formatGHS(b.Amount), NavPath: "batches",
		Filter: []field{v.filter("status", "Rows that are", stringsOf(disbursement.RowStatuses())...)},
		Live: []section{
			{Facts: nonEmpty(
				fact{Name: "ID", Value: b.ID, Code: true},
				fact{Name: "Status", Value: string(b.Status), State: true},
				fact{Name: "Fee", Value: formatGHS(b.Fee)},
				fact{Name: "Rows", Value: fmt.Sprintf("%d: %d queued, %d made, %d refused", b.Counts.Total, b.Counts.Queued, b.Counts.Made, b.Counts.Refused)},
				fact{Name: "Description", Value: b.Description},
				fact{Name: "Reference", Value: b.Reference},
				fact{Name: "Created", Value: formatTime(b.CreatedAt)},
				fact{Name: "Completed", Value: formatOptionalTime(b.CompletedAt)},
			)},
			{Title: "Rows", Rows: rowsOf(rows, func(r *disbursement.Row) row { return v.batchLine(b, r) }), Empty: "There is no such row."},
			history,
			{JSON: indentJSON(b)},
		},
		NextPage: nextPage(v, rows, func(r *disbursement.Row) string { return r.ID }),
	}, nil
}

// batchLine shows a row of a batch as the disbursement that it became, if it did.
func (v *visit) batchLine(b *disbursement.Batch, r *disbursement.Row) row {
	shown := row{
		Title: fmt.Sprintf("Row %d", r.Number), Detail: joinNonEmpty(r.Destination.Number, r.Destination.Name, r.Reference),
		Amount: formatGHS(r.Amount), State: string(r.Status), At: b.CreatedAt,
	}
	if r.Error != nil {
		shown.Detail = joinNonEmpty(shown.Detail, r.Error.Message)
	}
	if d := r.Disbursement; d != nil {
		shown.Href, shown.State, shown.At = v.url("disbursements", d.ID), string(d.Status), d.CreatedAt
	}
	return shown
}
