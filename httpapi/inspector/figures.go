package inspector

import (
	"fmt"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/provider"
)

// chartDays is how many days the charts of the overview reach back, and outcomeDays those of the
// outcomes.
const chartDays, outcomeDays = 30, 14

// paymentsToday counts the payments of the last day that have ended.
func paymentsToday(days []api.DayTotals) fact {
	f := fact{Name: "Payments today", Value: 0, Below: "none has ended yet"}
	if len(days) == 0 {
		return f
	}
	today := &days[len(days)-1]
	if all, _ := today.Sum("", ""); all > 0 {
		completed, _ := today.Sum("", api.OutcomeCompleted)
		f.Value, f.Below = all, sentence("%s completed, %s not", completed, all-completed)
	}
	return f
}

// charts show how payments ended, what they brought by network, and where the money stands, beside
// the numbers to test with.
func (v *visit) charts(days []api.DayTotals) ([]section, error) {
	outcomes := look.Chart{Keys: []look.Key{{Name: "Completed", Class: "f4"}, {Name: "Failed", Class: "fb"}, {Name: "Cancelled", Class: "f5"}}}
	volume := look.Chart{Money: true}
	names := map[string]string{api.WalletNetwork: "Wallet", api.OtherNetwork: "Other"}
	for i, n := range api.Networks() {
		volume.Keys = append(volume.Keys, look.Key{Name: orDefault(names[n], look.NetworkName(n)), Class: fmt.Sprintf("f%d", i+1)})
	}
	var ended, completed, collected int64
	for i := range days {
		d := &days[i]
		href := v.url("payments") + "?day=" + d.Day.Format("2006-01-02")
		point, amounts := look.Day{Day: d.Day, Href: href}, look.Day{Day: d.Day, Href: href}
		for _, o := range []api.Outcome{api.OutcomeCompleted, api.OutcomeFailed, api.OutcomeCancelled} {
			n, _ := d.Sum("", o)
			point.Values = append(point.Values, n)
			ended += n
		}
		for _, n := range api.Networks() {
			_, amount := d.Sum(n, api.OutcomeCompleted)
			amounts.Values = append(amounts.Values, amount)
			collected += amount
		}
		completed += point.Values[0]
		outcomes.Days, volume.Days = append(outcomes.Days, point), append(volume.Days, amounts)
	}
	numbers := v.numbers()
	if ended == 0 {
		numbers.Half = false
		return []section{numbers}, nil
	}
	rate := outcomes
	outcomes.Days = outcomes.Days[max(0, len(days)-outcomeDays):]
	outcomes.Says = fmt.Sprintf("Payments by day and outcome, the last %d days", outcomeDays)
	volume.Says = fmt.Sprintf("Collected by day and network: %s in %d days", plainMoney(collected), chartDays)
	rate.Says = fmt.Sprintf("Payments that succeed, by day: %d of %d in %d days", completed, ended, chartDays)
	all := &link{"All payments", v.url("payments")}
	sections := []section{
		{Title: fmt.Sprintf("Payments, last %d days", outcomeDays), Half: true, Panel: true, Chart: outcomes.Bars()},
		numbers,
		{Title: fmt.Sprintf("Collected in %d days, by network", chartDays), Panel: true, More: all, Chart: volume.Bars()},
		{Title: "Payments that succeed", Half: true, Panel: true, More: &link{"Failures", v.url("payments") + "?status=failed"}, Chart: rate.Rate()},
	}
	return sections, nil
}

// numbers are the numbers to test with that are needed most.
func (v *visit) numbers() section {
	s := section{Title: "Numbers to test with", Half: true, Panel: true, More: &link{"All numbers", v.url("clock") + "#payers"}}
	cases := provider.Simulated{}.ChargeCases()
	for i, c := range cases {
		if i < 5 || c.Digits == "0907" {
			s.Facts = append(s.Facts, fact{Name: "…" + c.Digits, Value: c.Answer})
		}
	}
	s.Facts = append(s.Facts, fact{Name: "Any other", Value: cases[len(cases)-1].Answer})
	return s
}
