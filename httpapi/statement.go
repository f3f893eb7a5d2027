package httpapi

import (
	"bytes"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
)

// maxStatement is the most entries that are sent as CSV: some 15 MB. A host that
// needs more at once calls Go, which writes as it reads.
const maxStatement = 100_000

// format is how a statement is sent.
type format string

const (
	formatJSON format = "json"
	formatCSV  format = "csv"
	formatPDF  format = "pdf"
)

// statementParams say which statement is wanted, and how.
type statementParams struct {
	Format  format    `param:"format"`
	Created api.Times `param:"created"`
}

// balanceStatement answers the balances and sums of a period, or, with format=csv or
// format=pdf, the file with all entries.
func balanceStatement(accounts account.Service) handler {
	params := fromQuery[statementParams]([]enum{oneOf("format", formatJSON, formatCSV, formatPDF)})
	return decoded(params, func(r *request, p statementParams) (any, error) {
		st, err := accounts.Statement(r.Context(), r.caller, p.Created)
		if err != nil {
			return nil, err
		}
		switch p.Format {
		case formatCSV:
			if st.Entries > maxStatement {
				return nil, api.Invalid("created", "The period has %d entries, and a file holds %d. Take a shorter period.", st.Entries, maxStatement)
			}
			var b bytes.Buffer
			if err := accounts.StatementCSV(r.Context(), r.caller, st, &b); err != nil {
				return nil, err
			}
			return attachment("text/csv; charset=utf-8", "statement.csv", b.Bytes()), nil
		case formatPDF:
			data, err := accounts.StatementPDF(r.Context(), r.caller, st)
			if err != nil {
				return nil, err
			}
			return attachment("application/pdf", "statement.pdf", data), nil
		}
		return st, nil
	})
}

// attachment is an answer that a browser keeps under a name.
func attachment(contentType, name string, data []byte) *response {
	answer := newResponse(contentType, data)
	answer.setHeader("Content-Disposition", `attachment; filename="`+name+`"`)
	return answer
}
