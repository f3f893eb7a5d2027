package provider_test

import (
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/provider"
)

// Spreadsheets write a mark before the first name, which may have quotation marks.
func TestStatementOfASpreadsheet(t *testing.T) {
	for _, mark := range []string{"", "\ufeff"} {
		for _, head := range []string{"Reference,Amount,Status", `"Reference","Amount","Status"`} {
			rows := provider.CSV(strings.NewReader(mark + head + "\r\n" + `"po_1","5.50","success"` + "\r\n"))
			row := must.Get(rows.Read())(t)
			expect.Equal(t, row.Reference+" "+row.Amount.String()+" "+row.Status, "po_1 5.5 success", "the row after %q", mark+head)
		}
	}
}
