package inspector

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
)

// leastDays is how many days a chart shows at least. It shows no others where nothing happened before.
const leastDays = 7

// latencyDays is how many days the chart of deliveries reaches back.
const latencyDays = 14

// rateDays is how many days a line of rates needs.
const rateDays = 3

// period is the number of days up to today that the overview shows, with the choices.
func (v *visit) period() (days int, choices []tab) {
	chosen, choices := v.choice("days", "30", []option{{Value: "7", Label: "7 days"}, {Value: "30", Label: "30 days"}, {Value: "90", Label: "90 days"}})
	days, _ = strconv.Atoi(chosen)
	return days, choices
}

// sum adds up the totals of some days with that outcome; an empty one matches all.
func sum(days []api.DayTotals, o api.Outcome) (count, amount int64) {
	for i := range days {
		n, pesewas := days[i].Sum("", o)
		count, amount = count+n, amount+pesewas
	}
	return count, amount
}

// compared are the figures of the second half of a period beside those of the first. days has its payments.
func (v *visit) compared(days []api.DayTotals, period api.Times) []fact {
	var completed, collected, paidOut, ended, rate [2]int64 // rate in tenths of a percent
	for half := range 2 {
		part := days[half*len(days)/2 : (half+1)*len(days)/2]
		completed[half], collected[half] = sum(part, api.OutcomeCompleted)
		ended[half], _ = sum(part, "")
		rate[half] = (completed[half]*1000 + ended[half]/2) / max(1, ended[half])
	}
	for _, totals := range []func(context.Context, api.Caller, api.Times) ([]api.DayTotals, error){v.svc.Payouts.DailyTotals, v.svc.Disbursements.DailyTotals} {
		sent, err := totals(v.Context(), v.caller, period)
		v.note(err)
		for half := range 2 {
			_, amount := sum(sent[half*len(sent)/2:(half+1)*len(sent)/2], api.OutcomeCompleted)
			paidOut[half] += amount
		}
	}
	share := func(of [2]int64) string { return tenths((apart(of)*1000+of[0]/2)/max(1, of[0])) + "%" }
	succeeded := fact{Name: "Succeeded", Value: tenths(rate[1]) + "%", Below: changed(rate, tenths(apart(rate))+" points", true)}
	if ended[1] == 0 {
		succeeded.Value, succeeded.Below = "–", "none has ended"
	}
	return []fact{
		{Name: "Collected", Value: cedis(collected[1]), Below: changed(collected, share(collected), true)},
		{Name: "Paid out", Value: cedis(paidOut[1]), Below: changed(paidOut, share(paidOut), false)},
		succeeded,
	}
}

// apart is how far two figures are from each other.
func apart(of [2]int64) int64 { return max(of[0], of[1]) - min(of[0], of[1]) }

// changed says by how much a figure differs from that of the days before. One that is judged is better when it is
// larger, and coloured if it differs by half a percent at least.
func changed(of [2]int64, by string, judged bool) template.HTML {
	switch of[0] {
	case 0:
		return "nothing before"
	case of[1]:
		return "as before"
	}
	word, tone := "more", "up"
	if of[1] < of[0] {
		word, tone = "less", "down"
	}
	if !judged || apart(of)*200 < of[0] {
		tone = "soft"
	}
	return template.HTML(`<span class="`+tone+`">`) + value(by+" "+word) + "</span> than before"
}

// tenths writes a number of tenths: 84 is 8.4.
func tenths(n int64) string { return strconv.FormatFloat(float64(n)/10, 'f', -1, 64) }

// charts show what payments brought by network or how they ended, how many succeed, and where the money
// stands, and then the latest events. Before the first payment the numbers to test with stand in their place.
func (v *visit) charts(days []api.DayTotals, events section) []section {
	outcomes := look.Chart{Keys: []look.Key{{Name: "Completed", Class: "f4"}, {Name: "Failed", Class: "fb"}, {Name: "Cancelled", Class: "f5"}}}
	volume := look.Chart{Money: true}
	names := map[string]string{api.WalletNetwork: "Wallet", api.OtherNetwork: "Other"}
	for i, n := range api.Networks() {
		volume.Keys = append(volume.Keys, look.Key{Name: cmp.Or(names[n], look.NetworkName(n)), Class: fmt.Sprintf("f%d", i+1)})
	}
	ended, _ := sum(days, "")
	completed, collected := sum(days, api.OutcomeCompleted)
	for i := range days {
		d := &days[i]
		href := v.url("payments") + "?day=" + d.Day.Format("2006-01-02")
		point, amounts := look.Day{Day: d.Day, Href: href}, look.Day{Day: d.Day, Href: href}
		for _, o := range []api.Outcome{api.OutcomeCompleted, api.OutcomeFailed, api.OutcomeCancelled} {
			n, _ := d.Sum("", o)
			point.Values = append(point.Values, n)
		}
		for _, n := range api.Networks() {
			_, amount := d.Sum(n, api.OutcomeCompleted)
			amounts.Values = append(amounts.Values, amount)
		}
		outcomes.Days, volume.Days = append(outcomes.Days, point), append(volume.Days, amounts)
	}
	if ended == 0 {
		return []section{v.numbers(), events}
	}
	outcomes.Days = look.Recent(outcomes.Days, leastDays)
	volume.Days = volume.Days[len(days)-len(outcomes.Days):]
	rate := outcomes
	outcomes.Says = fmt.Sprintf("Payments by day and outcome, %d days", len(outcomes.Days))
	volume.Says = fmt.Sprintf("Collected by day and network: %s in %d days", plainMoney(cedis(collected)), len(volume.Days))
	rate.Says = fmt.Sprintf("Payments that succeed, by day: %d of %d in %d days", completed, ended, len(rate.Days))
	succeed := section{Title: "Payments that succeed", Panel: true, More: &link{"Failures", v.url("payments") + "?status=failed"}}
	if used := slices.DeleteFunc(slices.Clone(rate.Days), look.Day.Empty); len(used) < rateDays {
		succeed.Text = fmt.Sprintf("%d of %d succeeded. With payments on %d days a line shows the share of each.", completed, ended, rateDays)
	} else {
		succeed.Chart = rate.Rate()
	}
	by, tabs := v.choice("by", "network", []option{{Value: "network", Label: "Network"}, {Value: "outcome", Label: "Outcome"}})
	for i := range tabs {
		tabs[i].Href += "#daily" // the page stays where the reader is
	}
	daily := section{ID: "daily", Title: fmt.Sprintf("Collected in %d days", len(days)), Panel: true, Tabs: tabs, Chart: volume.Bars()}
	if by == "outcome" {
		daily.Title, daily.Chart = fmt.Sprintf("Payments in %d days", len(days)), outcomes.Bars()
	}
	flow := v.moneyStands()
	succeed.Half = len(flow) > 0
	return append(append([]section{daily, succeed}, flow...), events)
}

// latency draws how long deliveries took, by the day on which they were made.
func (v *visit) latency() []section {
	classes := []string{"within 1 second", "within 5 seconds", "within 1 minute", "within 1 hour", "later", "never"}
	chart := look.Chart{}
	for i, class := range []string{"fa", "f4", "f3", "f1", "f5", "fb"} {
		chart.Keys = append(chart.Keys, look.Key{Name: capital(classes[i]), Class: class})
	}
	days, err := v.svc.Webhooks.DailyLatencies(v.Context(), v.caller, v.lastDays(latencyDays))
	v.note(err)
	var all int64
	sums := make([]int64, len(classes))
	for i := range days {
		values := append(slices.Clone(days[i].Delivered[:]), days[i].Failed)
		for class, n := range values {
			sums[class] += n
			all += n
		}
		chart.Days = append(chart.Days, look.Day{Day: days[i].Day, Values: values})
	}
	if all == 0 {
		return nil
	}
	delivered, told := all-sums[len(sums)-1], "None arrived"
	share := func(percent int64) string { // the class by which so many of them are delivered
		left := (delivered*percent + 99) / 100
		return classes[slices.IndexFunc(sums, func(n int64) bool { left -= n; return left <= 0 })]
	}
	if delivered > 0 {
		told = "95% " + share(95)
		if half := share(50); half != share(95) {
			told = "Half " + half + ", " + told
		}
	}
	chart.Days = look.Recent(chart.Days, leastDays)
	chart.Says = fmt.Sprintf("How long deliveries took, by day, the last %d days. %s.", len(chart.Days), told)
	return []section{{Title: "How long deliveries took", Panel: true, Aside: told, Chart: chart.Bars()}}
}

// lastDays is a period of days up to the merchant's today.
func (v *visit) lastDays(n int) api.Times {
	return api.Times{From: v.today().AddDate(0, 0, 1-n), Until: v.today().AddDate(0, 0, 1)}
}

// stockNames are the places and the parties of the flow, as people name them.
var stockNames = map[string]string{
	"clearing": "Sandbox", "mtnmomo": "MTN MoMo", "paystack": "Paystack", "bank": "Bank", "owed": "Owed to us", "merchants": "Merchants", "reserved": "Reserved", "wallets": "Wallets", "agents": "Agents", "fees": "Our fees", "excess": "Top-ups left",
}

// routeClasses colour the routes of one network.
var routeClasses = map[string]string{"mtnmomo": "f1", "mtn": "f1", "telecel": "f2", "airteltigo": "f3"}

// flowLife is how long a flow is shown before it is read again: open pages are built each second, and
// a flow is read from many accounts.
const flowLife = 10 * time.Second

// flowCache keeps the flow that was read last.
type flowCache struct {
	mu   sync.Mutex
	flow *api.MoneyFlow
	at   time.Time
}

func (c *flowCache) read(fresh func() (*api.MoneyFlow, error)) (*api.MoneyFlow, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flow != nil && time.Since(c.at) < flowLife {
		return c.flow, nil
	}
	flow, err := fresh()
	if err == nil {
		c.flow, c.at = flow, time.Now()
	}
	return flow, err
}

// moneyStands draws where the money of test mode lies, and whose it is. It is about all merchants, so
// that only a request that may see all gets it.
func (v *visit) moneyStands() []section {
	if v.in.config.Allow != nil {
		return nil
	}
	flow, err := v.in.flow.read(func() (*api.MoneyFlow, error) { return v.svc.Accounts.MoneyFlow(v.Context(), testCaller) })
	if v.note(err); err != nil || len(flow.Held)+len(flow.OwedTo) == 0 {
		return nil
	}
	var sides [2][]look.Heap
	for side, stocks := range [][]api.FlowItem{flow.Held, flow.OwedTo} {
		for _, s := range stocks {
			h := look.Heap{Key: look.Key{Name: cmp.Or(stockNames[s.Name], look.NetworkName(s.Name)), Class: "fa"}, Amount: s.Amount}
			if side == 0 {
				h.Class = cmp.Or(routeClasses[s.Name], "f5")
			}
			at := side
			if s.Amount < 0 { // more went out than came in: it belongs on the other side
				h.Amount, at = -s.Amount, 1-side
			}
			sides[at] = append(sides[at], h)
		}
	}
	for _, heaps := range sides {
		slices.SortStableFunc(heaps, func(a, b look.Heap) int { return cmp.Compare(b.Amount, a.Amount) })
	}
	return []section{{Title: "Where the money stands", Half: true, Panel: true, Aside: "all merchants", Chart: look.Flow("Where the money of test mode lies, and whose it is", sides[0], sides[1])}}
}

// numbers are the numbers to test with that are needed most, of those that provider.Simulated has.
func (v *visit) numbers() section {
	return section{Title: "Numbers to test with", Panel: true, More: &link{"All numbers", v.url("clock") + "#payers"}, Facts: facts(
		id("…0901"), "declined", id("…0902"), "not enough money", id("…0903"), "stays in processing until you settle it", id("…0904"), "succeeds after 25 seconds",
		id("…0905"), "times out first, then succeeds", id("…0907"), "asks for a code, 123456", "Any other", "succeeds at once",
	)}
}
