package inspector

import (
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
)

// clockPage shows the clock of test mode, and all numbers to test with.
func (v *visit) clockPage() (*page, error) {
	return &page{
		Title: "Test clock", NavPath: "clock", Sentence: sentence("It shows %s", v.now.UTC().Format("Monday 2 January 2006, 15:04:05")),
		Forms: []*form{moveClock()}, Fixed: true,
		Live: []section{
			{ID: "payers", Half: true, Title: "Numbers that pay", Text: "A payment from a phone ends as the last digits of the payer's number say, unless your server brings its own provider into test mode.", Table: caseTable("Numbers that pay", provider.Simulated{}.ChargeCases())},
			{ID: "recipients", Half: true, Title: "Numbers that are paid", Text: "A payout or disbursement ends as the last digits of the recipient's number say, unless your server brings its own provider into test mode.", Table: caseTable("Numbers that are paid", provider.Simulated{}.Cases())},
		},
	}, nil
}

func moveClock() *form {
	return &form{
		Name: "move-clock", Title: "Move the test clock", Label: "Move it", Button: "Move it forward", Main: true,
		Fields: []field{
			{Name: "advance", Label: "By how much", Kind: "number", Value: "1"},
			{Name: "unit", Label: "Unit", Kind: "select", Value: "hours", Options: options("seconds", "minutes", "hours", "days")},
		},
		Note: "What becomes due meanwhile is done: what providers answer, further attempts, reminders, deadlines. The clock never goes back.",
		do:   (*visit).moveClock,
	}
}

// caseTable shows what the simulated provider does.
func caseTable(caption string, cases []provider.SimulatedCase) *table {
	t := &table{Caption: caption, Head: []string{"Last digits", "What happens"}}
	for _, c := range cases {
		t.Rows = append(t.Rows, []any{id(c.Digits), c.Answer})
	}
	return t
}

func (v *visit) moveClock(in *input) (any, error) {
	units := map[string]time.Duration{"seconds": time.Second, "minutes": time.Minute, "hours": time.Hour, "days": 24 * time.Hour}
	unit, n := units[in.text("unit")], in.integer("advance")
	if in.problem != nil {
		return nil, in.problem
	}
	if n == nil || unit == 0 || *n < 0 || *n > int64(payments.MaxClockMove/unit) {
		return nil, api.Invalid("advance", "Enter a whole number, not negative, and at most 1,827 days.")
	}
	_, err := v.svc.MoveClock(v.Context(), v.caller, payments.ClockParams{By: time.Duration(*n) * unit})
	return nil, err
}
