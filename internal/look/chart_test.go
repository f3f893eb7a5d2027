package look_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/internal/must"
)

// days are days of a chart from 1 November on.
func days(values ...[]int64) []look.Day {
	var all []look.Day
	for i, v := range values {
		all = append(all, look.Day{Day: time.Date(2026, 11, 1+i, 0, 0, 0, 0, time.UTC), Values: v, Href: "payments?day=" + strconv.Itoa(i)})
	}
	return all
}

// attributes returns an attribute of each element of a kind with that class.
func attributes(t *testing.T, svg, element, class, name string) []float64 {
	t.Helper()
	var all []float64
	for _, m := range regexp.MustCompile(`<`+element+` class="`+class+`"[^>]* `+name+`="([0-9.]+)`).FindAllStringSubmatch(svg, -1) {
		all = append(all, must.Get(strconv.ParseFloat(m[1], 64))(t))
	}
	return all
}

func TestBarsAreAsHighAsTheirValues(t *testing.T) {
	c := look.Chart{Says: `Payments & "more"`, Keys: []look.Key{{Name: "Completed", Class: "f4"}, {Name: "Failed", Class: "fb"}}, Days: days([]int64{10, 5}, []int64{0, 0}, []int64{20, 0})}
	svg := string(c.Bars())
	completed, failed := attributes(t, svg, "rect", "f4", "height"), attributes(t, svg, "rect", "fb", "height")
	// The key of the chart comes first. A pixel of each part is left to the paper.
	expect.True(t, len(completed) == 3 && len(failed) == 2, "bars %v, %v", completed, failed)
	expect.True(t, completed[2]+1 > 1.99*(completed[1]+1) && completed[2]+1 < 2.01*(completed[1]+1), "20 is twice as high as 10: %v", completed)
	expect.True(t, failed[1]+1 > .49*(completed[1]+1) && failed[1]+1 < .51*(completed[1]+1), "5 is half as high as 10: %v, %v", failed, completed)
	for _, want := range []string{`role="img" aria-label="Payments &amp; &#34;more&#34;"`, "<title>1 November, Completed 10, Failed 5</title>", "Show the figures", `<a href="payments?day=2">3`, ">20</text>", ">0</text>"} {
		expect.True(t, strings.Contains(svg, want), "%q is missing in\n%s", want, svg)
	}
	expect.True(t, !strings.Contains(svg, `payments?day=1"`), "a day without anything is among the figures")
	expect.True(t, !strings.Contains(svg, " style="), "a style is beside the sheet")
}

func TestMoneyInCharts(t *testing.T) {
	c := look.Chart{Money: true, Keys: []look.Key{{Name: "MTN", Class: "f1"}, {Name: "Telecel", Class: "f2"}}, Days: days([]int64{3_000_000, 1_000_000})}
	svg := string(c.Bars())
	for _, want := range []string{"MTN 75%", "Telecel 25%", ">40k</text>", "30,000.00"} {
		expect.True(t, strings.Contains(svg, want), "%q is missing in\n%s", want, svg)
	}
	for name, empty := range map[string]look.Chart{"no days": {Keys: c.Keys}, "no money": {Keys: c.Keys, Days: days([]int64{0, 0})}} {
		for _, drawn := range []string{string(empty.Bars()), string(empty.Rate())} {
			expect.True(t, !strings.Contains(drawn, "NaN") && !strings.Contains(drawn, "Inf"), "%s: %s", name, drawn)
		}
	}
}

func TestRateRemarksOnTheLowestDay(t *testing.T) {
	keys := []look.Key{{Name: "Completed"}, {Name: "Failed"}}
	c := look.Chart{Keys: keys, Days: days([]int64{95, 5}, []int64{96, 4}, []int64{0, 0}, []int64{81, 19}, []int64{97, 3})}
	svg := string(c.Rate())
	expect.True(t, strings.Contains(svg, ">81% on 4 Nov</text>"), "the outlier is not remarked on:\n%s", svg)
	expect.Equal(t, strings.Count(svg, "<polyline"), 2, "a day without anything interrupts the line")
	even := look.Chart{Keys: keys, Days: days([]int64{95, 5}, []int64{96, 4})}
	expect.True(t, !strings.Contains(string(even.Rate()), "<circle class=\"fb\""), "an ordinary day is remarked on")
}

func TestFlowDrawsItsGap(t *testing.T) {
	lies := []look.Heap{{Key: look.Key{Name: "MTN", Class: "f1"}, Amount: 70_000}, {Key: look.Key{Name: "Bank", Class: "f5"}, Amount: 30_000}}
	whole := string(look.Flow("Where the money stands", lies, []look.Heap{{Key: look.Key{Name: "Merchants", Class: "fa"}, Amount: 100_000}}))
	expect.True(t, !strings.Contains(whole, "Gap") && strings.Contains(whole, ">1,000.00<"), "both sides are the same:\n%s", whole)
	short := string(look.Flow("Where the money stands", lies, []look.Heap{{Key: look.Key{Name: "Merchants", Class: "fa"}, Amount: 99_999}}))
	expect.True(t, strings.Contains(short, `<path class="fb"`) && strings.Contains(short, "<td>Gap</td><td></td><td>0.01</td>"), "a pesewa is missing:\n%s", short)
	thick := attributes(t, whole, "rect", "f1", "height")
	thin := attributes(t, whole, "rect", "f5", "height")
	expect.True(t, len(thick) == 1 && len(thin) == 1 && thick[0] > 2.3*thin[0] && thick[0] < 2.4*thin[0], "70 beside 30: %v, %v", thick, thin)
}
