package inspector

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/look"
)

var batchNoun = &noun[disbursement.Batch]{
	path: "batches", prefix: "bat", one: "Batch", many: "Batches", heads: [5]string{"Batch", "Amount", "Status", "For", "Time"},
	tab: "status", tabs: options(disbursement.BatchCompleted, disbursement.BatchPending), dated: true, loud: true, empty: "Up to 1,000 disbursements from one CSV file make a batch.",
	forms: func(v *visit) []*form {
		return []*form{{
			Name: "create", Title: "Make a batch", Button: "Disburse all", Main: true, Will: v.transferWill(),
			Fields: ask(field{
				Name: "rows", Label: "Rows as CSV", Kind: "lines", Value: "amount,type,phone_number,account_name,reference\n",
				Hint: "The first line names the columns, and each further one is a disbursement.",
			}, "description"),
			do: func(v *visit, in *input) (any, error) {
				rows, err := disbursement.ReadRows(strings.NewReader(in.text("rows")))
				if err != nil {
					return nil, err
				}
				delete(in.values, "rows") // they are read
				return create(v, in, v.svc.Disbursements.CreateBatch, disbursement.CreateBatchParams{Rows: rows})
			},
		}}
	},
	reads: func(v *visit) reader[disbursement.Batch] {
		return reading(v.svc.Disbursements.ListBatches, v.svc.Disbursements.GetBatch)
	},
	row: func(v *visit, b *disbursement.Batch) row {
		r := row{Href: v.url("batches", b.ID), Title: cmp.Or(b.Description, "Batch"), Below: look.Plural(b.Counts.Total, "row"), Amount: b.Amount, Badge: state(b.Status), For: b.Reference, At: b.CreatedAt}
		if b.Counts.Refused > 0 {
			r.ForBelow = fmt.Sprintf("%d refused", b.Counts.Refused)
			if b.Status == disbursement.BatchCompleted {
				r.Badge = badge{"wait", "Partly refused"}
			}
			if b.Counts.Refused == b.Counts.Total {
				r.Badge = badge{"bad", "Refused"}
			}
		}
		return r
	},
	page: (*visit).batchPage,
}

func (v *visit) batchPage(b *disbursement.Batch, p *page) {
	rows, err := v.svc.Disbursements.ListRows(v.Context(), v.caller, b.ID, disbursement.ListRowsParams{Page: v.page(), Status: disbursement.RowStatus(v.param("status"))})
	p.Sentence = sentence("%s to %s, %s", v.merchant.Name, look.Plural(b.Counts.Total, "recipient"), v.when(b.CreatedAt))
	lines := paged(v, "Rows", disbursementNoun.heads, rows, err, func(v *visit, r *disbursement.Row) row { return v.batchLine(b, r) }, "No row is as the tab says.")
	lines.Order = "In the order given"
	for i := range lines.Pager {
		lines.Pager[i].Text = map[string]string{"Newer": "Rows before", "Older": "Rows after"}[lines.Pager[i].Text]
	}
	lines.Tabs = v.tabs("status", options(disbursement.RowStatuses()...))
	p.Live = []section{lines, v.timeline("disbursement_batch", b.ID, b.CreatedAt.Time, "", []step{{"created", "Asked for", "API", "", nil}, {"completed", "The last row was made or refused", "", "good", nil}})}
	n := &b.Counts
	money := facts("Asked for, in all rows", b.Amount, "Fees of all rows", b.Fee)
	if n.Made == n.Total { // what the rows that were made add up to is known only if it is all; some can fail later
		money = append(money, facts("From the balance at first", cedis(-pesewas(b.Amount)-pesewas(b.Fee)))...)
	}
	p.Side = []section{
		{Title: "Money", Money: money},
		{Title: "Details", Facts: facts("Queued", unlessNone(n.Queued), "Made", unlessNone(n.Made), "Refused", unlessNone(n.Refused),
			"For", b.Description, "Reference", b.Reference, "Batch", id(b.ID))},
	}
}

// batchLine shows a row of a batch as the disbursement that it became, if it did.
func (v *visit) batchLine(b *disbursement.Batch, r *disbursement.Row) row {
	number, shown := look.Phone(r.Destination.Number), row{Amount: r.Amount, Badge: state(r.Status), For: r.Reference, At: b.CreatedAt}
	if d := r.Disbursement; d != nil {
		number = v.phone(r.Destination.Number, v.svc.Disbursements.RecipientNumber, d.ID)
		shown.Href, shown.Badge, shown.At = v.url("disbursements", d.ID), state(d.Status), d.CreatedAt
	}
	name, below := recipient(&r.Destination, number)
	shown.Title, shown.Below = name, look.Join(" · ", fmt.Sprintf("Row %d", r.Number), below)
	if r.Error != nil {
		shown.Below = look.Join(" · ", shown.Below, r.Error.Message) // a row that is refused has no page of its own
	}
	return shown
}
