package look_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// The sheets are small enough for a slow network.
func TestStyleSheetsStaySmall(t *testing.T) {
	for name, size := range map[string]struct{ is, most int }{
		"the shared part": {len(look.Shared), 4700}, "the consoles' part": {len(look.Console), 7200}, "a console's page": {len(look.Shared + look.Console), 12000},
	} {
		t.Logf("%s: %d bytes", name, size.is)
		expect.True(t, size.is <= size.most, "%s has %d bytes of styles, and may have %d", name, size.is, size.most)
	}
}

func TestTimes(t *testing.T) {
	now := time.Date(2026, 11, 22, 14, 2, 9, 0, time.UTC)
	for at, want := range map[time.Time]string{
		now: "14:02", now.Add(-14 * time.Hour): "00:02", now.Add(-15 * time.Hour): "21 Nov, 23:02", now.AddDate(1, 0, 0): "22 Nov 2027, 14:02",
		now.In(time.FixedZone("", 3600)): "14:02",
	} {
		expect.Equal(t, look.Clock(at, now), want, "%s", at)
	}
}

func TestNumbersAndAmounts(t *testing.T) {
	for number, want := range map[string]string{"+233241234567": "024\u00a0•••\u00a04567", "024****567": "024\u00a0•••\u00a0567", "****": "", "****1234": "•••\u00a01234", "+447911123456": "+44\u00a0•••\u00a0456", "x": "x"} {
		expect.Equal(t, look.Phone(number), want, "%s", number)
	}
	expect.Equal(t, look.Figures(-352), "−3.52", "a negative amount")
	expect.Equal(t, look.Figures(99_999_999), "999,999.99", "a large amount")
	expect.Equal(t, look.NetworkName("telecel"), "Telecel", "a network")
	expect.Equal(t, look.NetworkName("other"), "other", "a network that is not known")
	for i, code := range api.Networks() { // the inspector's charts have a colour for each
		class := fmt.Sprintf(".f%d{", i+1)
		expect.True(t, strings.Contains(look.Console, class), "no class %s for %s", class, code)
	}
}

var (
	token     = regexp.MustCompile(`--([a-z0-9-]+):(#[0-9a-f]+)`)
	darkStart = regexp.MustCompile(`@media screen and \(prefers-color-scheme:dark\)`)
)

// tokens returns the colours of both schemes by their names.
func tokens(t *testing.T) map[string]map[string]string {
	t.Helper()
	split := darkStart.FindStringIndex(look.Shared)
	must.True(t, split != nil, "the sheet has no dark scheme for screens")
	end := split[0] + strings.IndexByte(look.Shared[split[0]:], '\n')
	schemes := map[string]map[string]string{}
	for name, part := range map[string]string{"light": look.Shared[:split[0]], "dark": look.Shared[split[0]:end]} {
		schemes[name] = map[string]string{}
		for _, m := range token.FindAllStringSubmatch(part, -1) {
			schemes[name][m[1]] = m[2]
		}
	}
	return schemes
}

// luminance is the relative luminance of WCAG 2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	digits := strings.TrimPrefix(hex, "#")
	if len(digits) == 3 {
		digits = fmt.Sprintf("%c%[1]c%c%[2]c%c%[3]c", digits[0], digits[1], digits[2])
	}
	n := must.Get(strconv.ParseUint(digits, 16, 32))(t)
	linear := func(c uint64) float64 {
		v := float64(c&255) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(n>>16) + 0.7152*linear(n>>8) + 0.0722*linear(n)
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Text, the borders of controls, and the colours of charts stand out in both schemes as WCAG 2.2 AA
// asks.
func TestColoursStandOut(t *testing.T) {
	expect.True(t, contrast(t, "#000", "#ffffff") == 21, "black on white")
	grounds := []string{"ground", "paper", "sunk"}
	checks := []struct {
		what        string
		least       float64
		colours, on []string
	}{
		{"text", 4.5, []string{"ink", "soft"}, grounds},
		{"links", 4.5, []string{"accent"}, grounds},
		{"errors", 4.5, []string{"bad"}, []string{"ground", "paper"}},
		{"buttons", 4.5, []string{"on-accent"}, []string{"accent", "pressed"}},
		{"good", 4.5, []string{"good"}, []string{"good-on"}},
		{"wait", 4.5, []string{"wait"}, []string{"wait-on"}},
		{"bad", 4.5, []string{"bad"}, []string{"bad-on"}},
		{"info", 4.5, []string{"info"}, []string{"info-on"}},
		{"borders of controls", 3, []string{"line", "accent", "bad"}, grounds},
		{"charts", 3, []string{"c1", "c2", "c3", "c4", "c5"}, []string{"paper"}},
	}
	for scheme, colours := range tokens(t) {
		for _, c := range checks {
			lowest := 21.0
			for _, front := range c.colours {
				for _, back := range c.on {
					must.True(t, colours[front] != "" && colours[back] != "", "%s: no token %s or %s", scheme, front, back)
					is := contrast(t, colours[front], colours[back])
					lowest = min(lowest, is)
					expect.True(t, is >= c.least, "%s: %s on %s has %.2f, and needs %.1f", scheme, front, back, is, c.least)
				}
			}
			t.Logf("%s, %s: lowest %.2f", scheme, c.what, lowest)
		}
	}
}

func TestWriting(t *testing.T) {
	now := time.Date(2026, 11, 22, 14, 2, 9, 0, time.UTC)
	for want, is := range map[string]string{
		"−GH₵\u00a03.52": look.Money(-352), "GH₵\u00a01,000.00": look.Money(100_000),
		`<span class="money">−<span class="unit">GH₵</span>3.52</span>`:          string(look.MoneyHTML(-352)),
		`<time datetime="2026-11-22T14:02:09Z">14:02:09</time>`:                  string(look.Seconds(now, now.Add(-14*time.Hour))),
		"<time datetime=\"2026-11-22T14:02:09Z\">22\u00a0Nov,\u00a014:02</time>": string(look.Seconds(now, now.Add(-15*time.Hour))),
		"0 seconds": look.Lasting(-time.Hour), "1 second": look.Lasting(1900 * time.Millisecond), "59 minutes": look.Lasting(time.Hour - 1), "47 hours": look.Lasting(48*time.Hour - 1), "2 days": look.Lasting(48 * time.Hour),
		"2 entries": look.Plural(2, "entry"), "0 rows": look.Plural(0, "row"),
		"&lt;b&gt;qr_<wbr>code.<wbr>created": string(look.Breakable("<b>qr_code.created")),
	} {
		expect.Equal(t, is, want, "text")
	}
}

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
	expect.Equal(t, len(completed), 3, "bars: number")
	expect.Equal(t, len(failed), 2, "number")
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
			expect.True(t, !strings.Contains(drawn, "NaN"), "%s: %s", name, drawn)
			expect.True(t, !strings.Contains(drawn, "Inf"), "%s: %s", name, drawn)
		}
	}
}

func TestChartsBeginWhereSomethingHappened(t *testing.T) {
	for _, c := range []struct {
		values []int64
		least  int
		want   int
	}{{[]int64{0, 0, 0, 5, 0}, 1, 2}, {[]int64{0, 0, 0, 5, 0}, 4, 4}, {[]int64{1, 0, 0}, 1, 3}, {[]int64{0, 0, 0}, 2, 2}, {[]int64{0}, 7, 1}} {
		var all []look.Day
		for _, n := range c.values {
			all = append(all, look.Day{Values: []int64{n}})
		}
		got := look.Recent(all, c.least)
		expect.True(t, len(got) == c.want, "%v from at least %d: %d days, want %d", c.values, c.least, len(got), c.want)
	}
}

func TestRateRemarksOnTheLowestDay(t *testing.T) {
	keys := []look.Key{{Name: "Completed"}, {Name: "Failed"}}
	c := look.Chart{Keys: keys, Days: days([]int64{95, 5}, []int64{96, 4}, []int64{0, 0}, []int64{81, 19}, []int64{97, 3})}
	svg := string(c.Rate())
	expect.True(t, strings.Contains(svg, ">81% on 4 Nov</text>"), "the outlier is not remarked on:\n%s", svg)
	expect.True(t, strings.Contains(svg, ">70%</text>"), "81%% lies above the axis:\n%s", svg)
	expect.True(t, strings.Contains(svg, "92.3%, 369 of 400"), "81%% lies above the axis:\n%s", svg)
	expect.Equal(t, strings.Count(svg, "<polyline"), 2, "a day without anything interrupts the line")
	even := look.Chart{Keys: keys, Days: days([]int64{95, 5}, []int64{96, 4})}
	expect.True(t, !strings.Contains(string(even.Rate()), "<circle class=\"fb\""), "an ordinary day is remarked on")
}

func TestFlowDrawsItsGap(t *testing.T) {
	lies := []look.Heap{{Key: look.Key{Name: "MTN", Class: "f1"}, Amount: 70_000}, {Key: look.Key{Name: "Bank", Class: "f5"}, Amount: 30_000}}
	whole := string(look.Flow("Where the money stands", lies, []look.Heap{{Key: look.Key{Name: "Merchants", Class: "fa"}, Amount: 100_000}}))
	expect.True(t, !strings.Contains(whole, "Gap"), "both sides are the same:\n%s", whole)
	expect.True(t, strings.Contains(whole, ">1,000.00<"), "both sides are the same:\n%s", whole)
	short := string(look.Flow("Where the money stands", lies, []look.Heap{{Key: look.Key{Name: "Merchants", Class: "fa"}, Amount: 99_999}}))
	expect.True(t, strings.Contains(short, `<path class="fb"`), "a pesewa is missing:\n%s", short)
	expect.True(t, strings.Contains(short, "<td>Gap</td><td></td><td>0.01</td>"), "a pesewa is missing:\n%s", short)
	thick := attributes(t, whole, "rect", "f1", "height")
	thin := attributes(t, whole, "rect", "f5", "height")
	must.True(t, len(thick) == 1, "70 beside 30: %v, %v", thick, thin)
	must.True(t, len(thin) == 1, "70 beside 30: %v, %v", thick, thin)
	expect.True(t, thick[0] > 2.3*thin[0] && thick[0] < 2.4*thin[0], "70 beside 30: %v, %v", thick, thin)
}
