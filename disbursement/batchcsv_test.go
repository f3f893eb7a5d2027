package disbursement_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/payout"
)

func bytesContain(data []byte, text string) bool { return bytes.Contains(data, []byte(text)) }

func ExampleReadRows() {
	rows, err := disbursement.ReadRows(strings.NewReader(`amount,type,phone_number,account_name,reference
150.50,mobile_money,024 123-4567,Kofi Mensah,salary-1
20,mobile_money,0201234567,"Serwaa, Ama",salary-2
`))
	fmt.Println(len(rows), rows[1].Amount, rows[1].Destination.AccountName, err)
	// Output: 2 20 Serwaa, Ama <nil>
}

func TestReadRows(t *testing.T) {
	got := must.Get(disbursement.ReadRows(strings.NewReader("\ufeff type , amount,phone_number,metadata.team,match_account_name,account_name,idempotency_key\r\n" +
		"mobile_money,0.10, 0241234567 ,\"North, 1\",TRUE,Kofi,k-1\r\n,,,,,,\r\n\r\nservice_wallet,5,,,,,\r\n")))(t)
	want := []disbursement.RowParams{
		{
			CreateParams: disbursement.CreateParams{
				Amount: decimal.RequireFromString("0.1"), Metadata: api.Metadata{"team": "North, 1"},
				Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241234567", AccountName: "Kofi", MatchName: true},
			},
			IdempotencyKey: "k-1",
		},
		{CreateParams: disbursement.CreateParams{Amount: decimal.NewFromInt(5), Destination: payout.DestinationParams{Type: payout.ServiceWallet}}},
	}
	expect.Same(t, got, want, "got")
	got = must.Get(disbursement.ReadRows(strings.NewReader("currency,type,amount,provider,account_number,bank_code,service_id,account_id,description,reference,match_account_name\n" +
		"GHS,bank_transfer,1,mtn,001,GCB,SVC1,acc_1,rent,r-1,False\n")))(t)
	want = []disbursement.RowParams{{CreateParams: disbursement.CreateParams{
		Amount: decimal.NewFromInt(1), Currency: "GHS", Description: "rent", Reference: "r-1",
		Destination: payout.DestinationParams{
			Type: payout.BankTransfer, Provider: "mtn", AccountNumber: "001", BankCode: "GCB", ServiceID: "SVC1", AccountID: "acc_1",
		},
	}}}
	expect.Same(t, got, want, "got")
	got = must.Get(disbursement.ReadRows(strings.NewReader("amount,type\r1,mobile_money\r2,mobile_money\r")))(t)
	expect.Equal(t, len(got), 2, "rows of lines that end with CR")
	full := "amount,type\n" + strings.Repeat("1,mobile_money\n", disbursement.MaxRows)
	expect.Equal(t, len(must.Get(disbursement.ReadRows(strings.NewReader(full+",\n , \n")))(t)), disbursement.MaxRows, "rows of the largest file with empty lines at its end")
	many := "amount,type\n" + strings.Repeat("1,mobile_money\n", 1001)
	for name, c := range map[string]struct {
		text, param, says string
		code              api.Code
	}{
		"nothing":                 {"", "rows", "required", api.ParameterMissing},
		"a head alone":            {"amount,type\n", "rows", "required", api.ParameterMissing},
		"no amount":               {"type\nx\n", "rows", "amount", api.ParameterMissing},
		"an unknown column":       {"amount,type,phone\n1,x,2\n", "rows", "Column 3", api.ParameterInvalid},
		"metadata without a name": {"amount,type,metadata.\n1,x,2\n", "rows", "Column 3", api.ParameterInvalid},
		"a column twice":          {"amount,type, amount\n1,x,2\n", "rows", "Columns 1 and 3", api.ParameterInvalid},
		"semicolons":              {"amount;type\n1;x\n", "rows", "';' between the names", api.ParameterInvalid},
		"a text":                  {"amount,type\n1,x\nten,x\n", "rows[1].amount", "Line 3", api.ParameterInvalid},
		"thousands":               {"amount,type\n\"1,000\",x\n", "rows[0].amount", "Line 2", api.ParameterInvalid},
		"an exponent":             {"amount,type\n1e3,x\n", "rows[0].amount", "Line 2", api.ParameterInvalid},
		"maybe":                   {"amount,type,match_account_name\n1,x,maybe\n", "rows[0].match_account_name", "true or false", api.ParameterInvalid},
		"a column too few":        {"amount,type\n1,x\n\n2\n", "rows", "Line 4", api.ParameterInvalid},
		"an open quotation mark":  {"amount,type\n1,\"x\n", "rows", "well-formed", api.ParameterInvalid},
		"too many":                {many, "rows", "1000", api.ParameterInvalid},
	} {
		_, err := disbursement.ReadRows(strings.NewReader(c.text))
		var refusal *api.Error
		must.True(t, errors.As(err, &refusal), "%s: got %v", name, err)
		expect.Equal(t, refusal.Code, c.code, "%s: code of %v", name, err)
		expect.Equal(t, refusal.Param, c.param, "%s: param of %v", name, err)
		expect.True(t, strings.Contains(refusal.Message, c.says), "%s: got %v, which does not say %q", name, err, c.says)
	}
	expect.ErrorIs(t, testkit.Err(disbursement.ReadRows(iotest.ErrReader(faultstore.ErrDead))), faultstore.ErrDead, "a reader that fails")
}

// FuzzReadRows checks that ReadRows accepts or refuses any file, and that accepted rows fit a
// batch.
func FuzzReadRows(f *testing.F) {
	f.Add("amount,type\n1.5,mobile_money\n")
	f.Add("\ufeffamount,type,metadata.a\n\"1\",\"x\"\"y\",z\n,,\n")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := disbursement.ReadRows(strings.NewReader(text))
		if err != nil {
			expect.True(t, api.CodeOf(err) != "", "no refusal: %v", err)
			return
		}
		expect.True(t, len(rows) != 0, "a file without rows is accepted")
		expect.True(t, len(rows) <= disbursement.MaxRows, "%d rows", len(rows))
		for _, r := range rows {
			expect.True(t, r.Amount.Exponent() >= -2, "amount %s", r.Amount)
		}
	})
}
