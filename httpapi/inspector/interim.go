package inspector

import (
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/payment"
)

// dailyTotals adds up the newest payments of a period by day.
func (v *visit) dailyTotals(period api.Times) ([]api.DayTotals, error) {
	list, err := v.svc.Payments.List(v.Context(), v.caller, payment.ListParams{Page: api.Page{Limit: api.MaxLimit}, Created: period})
	if err != nil {
		return nil, err
	}
	var days []api.DayTotals
	at := map[time.Time]int{}
	for day := period.From; day.Before(period.Until); day = day.AddDate(0, 0, 1) {
		at[day] = len(days)
		days = append(days, api.DayTotals{Day: day})
	}
	for i := range list.Data {
		p := &list.Data[i]
		if p.Status == payment.Pending || p.Status == payment.Processing {
			continue
		}
		network := api.OtherNetwork
		if p.Provider != nil {
			network = *p.Provider
		} else if p.PaymentMethod == payment.ServiceWallet {
			network = api.WalletNetwork
		}
		d := &days[at[p.CreatedAt.UTC().Truncate(24*time.Hour)]]
		d.Totals = append(d.Totals, api.Total{Network: network, Outcome: api.Outcome(p.Status), Count: 1, Amount: p.Amount})
	}
	return days, nil
}
