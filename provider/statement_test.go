package provider_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
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

// A file of another form is refused in words, and never read in part.
func TestStatementOfAnotherForm(t *testing.T) {
	for text, want := range map[string]string{
		"reference,amount,status,Amount\npo_1,5,paid,6\n":    `columns 2 and 4 of the first line have the same name "amount"`,
		"reference,amount,status,Date,date\npo_1,5,paid,,\n": `columns 4 and 5 of the first line have the same name "date"`,
		"reference;amount;status\npo_1;5,00;paid\n":          `the first line has ';' between the names of its columns; save the file with commas`,
		`"reference";"amount";"status"` + "\n":               `the first line has ';' between the names of its columns; save the file with commas`,
		"reference\tamount\tstatus\n":                        `the first line has '\t' between the names of its columns; save the file with commas`,
		"reference,amount\n":                                 `the first line names no column "status"`,
	} {
		_, err := provider.CSV(strings.NewReader(text)).Read()
		expect.Equal(t, fmt.Sprint(err), want, "the error of %q", text)
	}
	for _, text := range []string{"reference,amount,status\rpo_1,5,paid\rpo_2,6,paid\r", "reference,amount,status,,\npo_1,5,paid,,\npo_2,6,paid,,\n"} {
		rows := provider.CSV(strings.NewReader(text))
		for _, want := range []string{"po_1 5", "po_2 6"} {
			row := must.Get(rows.Read())(t)
			expect.Equal(t, row.Reference+" "+row.Amount.String(), want, "%q", text)
		}
		_, err := rows.Read()
		expect.True(t, errors.Is(err, io.EOF), "after the last row of %q: %v", text, err)
	}
}
