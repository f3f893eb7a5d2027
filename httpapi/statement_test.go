package httpapi_test

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

func TestStatements(t *testing.T) {
	s := paymentstest.New(t)
	code := newCode(t, s, `{"amount":1250}`)
	paid := s.Pay(code, 0)
	middle := url.QueryEscape(time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	s.Do("POST", "/v1/test_helpers/clock", `{"advance":7200}`)
	must.Get(s.Accounts.Adjust(t.Context(), s.Caller, account.AdjustParams{
		Amount: decimal.RequireFromString("-2.50"), Reason: "Booked twice", Actor: "esi",
	}))(t)
	step := func(name, path string) {
		t.Helper()
		response, data := s.Do("GET", path, nil)
		golden(t, name, response, data)
	}
	step("statement", "/v1/balance/statement")
	step("statement_before", "/v1/balance/statement?created[lt]="+middle+"&format=json")
	step("statement_after", "/v1/balance/statement?created[gte]="+middle)
	step("entries_of_type", "/v1/balance/entries?type=adjustment")
	step("entries_of_source", "/v1/balance/entries?source="+paid.ID)
	step("entries_after", "/v1/balance/entries?created[gte]="+middle)

	response, data := s.Do("GET", "/v1/balance/statement?format=csv", nil)
	expect.True(t, response.Header.Get("Content-Type") == "text/csv; charset=utf-8" && response.Header.Get("Content-Disposition") == `attachment; filename="statement.csv"`, "headers %v", response.Header)
	rows := strings.Split(strings.TrimSpace(string(data)), "\n")
	expect.True(t, len(rows) == 6 && strings.HasSuffix(rows[5], ",closing_balance,,,1010.00,GHS") && strings.HasSuffix(rows[3], "payment,"+paid.ID+",12.50,1012.50,GHS"), "%s", data)
	response, data = s.Do("GET", "/v1/balance/statement?format=pdf", nil)
	expect.True(t, response.Header.Get("Content-Type") == "application/pdf" && bytes.HasPrefix(data, []byte("%PDF-")), "%s: %.40s", response.Header.Get("Content-Type"), data)
}
