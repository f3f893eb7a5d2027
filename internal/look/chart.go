package look

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The measures of a chart, in pixels. Widths are in percent, so that texts keep their size on any
// screen.
const (
	plotTop    = 8
	plotDates  = 20 // below the plot
	plotMargin = 32 // what the style sheet gives a plot above and below its height
	plotHeight = 208.0
	flowHeight = 240
	flowLabel  = 34 // a name with its amount
)

// Key is a part of each day in a chart: its name, and its colour as a class of the style sheet.
type Key struct{ Name, Class string }

// Day is a day of a chart, with a value for each key.
type Day struct {
	Day    time.Time
	Values []int64
	// Href is the page of what happened that day; empty for none.
	Href string
}

// Empty reports whether nothing happened that day.
func (d Day) Empty() bool {
	return !slices.ContainsFunc(d.Values, func(n int64) bool { return n != 0 })
}

// Recent are the days from the first on that is not empty, but at least so many of the last ones.
func Recent(days []Day, least int) []Day {
	for len(days) > least && days[0].Empty() {
		days = days[1:]
	}
	return days
}

// Chart is what a chart shows of a run of days.
type Chart struct {
	// Says describes the chart to readers who do not see it.
	Says string
	Keys []Key
	Days []Day
	// Money says that the values are pesewas, and not counts.
	Money bool
}

// writer collects the markup of a plot. Its texts come from here, but for those that it escapes.
type writer struct{ strings.Builder }

func (w *writer) put(format string, values ...any) { fmt.Fprintf(w, format, values...) }

// text escapes a text.
func text(s string) string { return template.HTMLEscapeString(s) }

// amount writes a value as texts show it.
func (c *Chart) amount(n int64) string {
	if c.Money {
		return Figures(n)
	}
	return strconv.FormatInt(n, 10)
}

// used is the chart without the keys that have nothing on any day, unless none has.
func (c *Chart) used() *Chart {
	kept := &Chart{Says: c.Says, Money: c.Money}
	for _, d := range c.Days {
		kept.Days = append(kept.Days, Day{Day: d.Day, Href: d.Href})
	}
	for k, key := range c.Keys {
		if !slices.ContainsFunc(c.Days, func(d Day) bool { return d.Values[k] != 0 }) {
			continue
		}
		kept.Keys = append(kept.Keys, key)
		for i := range c.Days {
			kept.Days[i].Values = append(kept.Days[i].Values, c.Days[i].Values[k])
		}
	}
	if len(kept.Keys) == 0 {
		return c
	}
	return kept
}

// Bars draws a stack for each day, its keys, and the table of the figures.
func (c *Chart) Bars() template.HTML {
	c = c.used()
	var w writer
	totals := make([]int64, len(c.Keys))
	var all, highest int64
	for _, d := range c.Days {
		var sum int64
		for i, n := range d.Values {
			totals[i] += n
			sum += n
		}
		all += sum
		highest = max(highest, sum)
	}
	if c.Money {
		w.put(`<span class="key">GH₵</span>`)
	}
	for i, k := range c.Keys {
		share := ""
		if all > 0 && c.Money {
			share = fmt.Sprintf(" %d%%", (totals[i]*100+all/2)/all)
		}
		w.put(`<span class="key"><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="%s" width="10" height="10" rx="2" stroke="none"/></svg>%s%s</span>`, k.Class, text(k.Name), share)
	}
	step := tick(highest, c.Money)
	steps := max(1, (highest+step-1)/step)
	height := func(n int64) float64 { return float64(n) / float64(step*steps) * plotHeight }
	var labels []string
	for i := range steps + 1 {
		labels = append(labels, short(i*step, c.Money))
	}
	w.axis(labels)
	w.put(`<svg role="img" aria-label="%s">`, text(c.Says))
	w.grid(len(labels))
	slot := 100 / float64(max(1, len(c.Days)))
	for i, d := range c.Days {
		y := plotTop + plotHeight
		told := d.Day.Format("2 January")
		w.put(`<g>`)
		for k, n := range d.Values {
			if n == 0 {
				continue
			}
			h := height(n)
			y -= h
			w.put(`<rect class="%s" x="%.2f%%" y="%.1f" width="%.2f%%" height="%.1f"/>`, c.Keys[k].Class, (float64(i)+.12)*slot, y, slot*.76, max(h-1, .6)) // 1 px of paper between parts
			told += ", " + c.Keys[k].Name + " " + c.amount(n)
		}
		w.put(`<rect x="%.2f%%" y="%d" width="%.2f%%" height="%g" fill-opacity="0"><title>%s</title></rect></g>`, float64(i)*slot, plotTop, slot, plotHeight, text(told))
	}
	w.dates(c.Days)
	w.put(`</svg></div>`)
	w.table(c)
	return template.HTML(w.String())
}

// Rate draws the share of the first key in the sum of all, in percent by day. A day without anything
// interrupts the line. It remarks on the lowest day, if that is far below the whole.
func (c *Chart) Rate() template.HTML {
	var w writer
	rates := make([]float64, len(c.Days))
	lowest, at := 100.0, -1
	var good, all int64
	for i, d := range c.Days {
		var sum int64
		for _, n := range d.Values {
			sum += n
		}
		if rates[i] = -1; sum == 0 {
			continue
		}
		rates[i] = float64(d.Values[0]) * 100 / float64(sum)
		good, all = good+d.Values[0], all+sum
		if rates[i] < lowest {
			lowest, at = rates[i], i
		}
	}
	const room = 3 // points between the lowest day and the axis
	floor := max(0, min(80, math.Floor((lowest-room)/10)*10))
	y := func(rate float64) float64 { return plotTop + (100-rate)/(100-floor)*plotHeight }
	x := func(i int) float64 { return (float64(i) + .5) * 100 / float64(max(1, len(c.Days))) }
	if all > 0 {
		w.put(`<p class="bar soft small">%s, %d of %d</p>`, percent(float64(good)*100/float64(all)), good, all)
	}
	w.axis([]string{percent(floor), percent((floor + 100) / 2), "100%"})
	w.put(`<svg role="img" aria-label="%s">`, text(c.Says))
	w.grid(3)
	w.put(`<svg viewBox="0 0 100 %g" preserveAspectRatio="none">`, plotHeight+plotMargin)
	for i := 0; i < len(rates); i++ {
		from := i
		for i < len(rates) && rates[i] >= 0 {
			i++
		}
		if i-from < 2 {
			continue
		}
		w.put(`<polyline points="`)
		for ; from < i; from++ {
			w.put("%.2f,%.1f ", x(from), y(rates[from]))
		}
		w.put(`"/>`)
	}
	w.put(`</svg>`)
	for i, rate := range rates {
		if rate < 0 {
			continue
		}
		alone := (i == 0 || rates[i-1] < 0) && (i+1 == len(rates) || rates[i+1] < 0)
		shown := 0.0
		if alone {
			shown = 1
		}
		w.put(`<circle class="fa" cx="%.2f%%" cy="%.1f" r="4" fill-opacity="%g"><title>%s on %s</title></circle>`, x(i), y(rate), shown, percent(rate), c.Days[i].Day.Format("2 January"))
	}
	const remarkable = 5 // points below the whole
	if all > 0 && lowest < float64(good)*100/float64(all)-remarkable {
		anchor, dx := "end", -8
		if at < len(rates)/2 {
			anchor, dx = "start", 8
		}
		w.put(`<circle class="fb" cx="%.2f%%" cy="%.1f" r="4"/><text x="%.2f%%" dx="%d" y="%.1f" text-anchor="%s" class="name">%s on %s</text>`, x(at), y(lowest), x(at), dx, y(lowest)-4, anchor, percent(lowest), c.Days[at].Day.Format("2 Jan"))
	}
	w.dates(c.Days)
	w.put(`</svg></div>`)
	w.table(c)
	return template.HTML(w.String())
}

// axis begins the plot with the labels of the lines, the lowest first.
func (w *writer) axis(labels []string) {
	w.put(`<div class="plot"><svg aria-hidden="true">`)
	for i, l := range labels {
		w.put(`<text x="100%%" y="%.1f" text-anchor="end">%s</text>`, plotTop+plotHeight-float64(i)*plotHeight/float64(len(labels)-1)+4, text(l))
	}
	w.put(`</svg>`)
}

func (w *writer) grid(lines int) {
	for i := range lines {
		y := plotTop + plotHeight - float64(i)*plotHeight/float64(lines-1)
		w.put(`<line x1="0" x2="100%%" y1="%.1f" y2="%[1]f"/>`, y)
	}
}

// dates labels the first, the middle and the last day.
func (w *writer) dates(days []Day) {
	n, y := len(days), plotTop+plotHeight+plotDates
	if n == 0 {
		return
	}
	w.put(`<text x="0" y="%g">%s</text>`, y, days[0].Day.Format("2 Jan"))
	if n > 2 {
		w.put(`<text x="%.2f%%" y="%g" text-anchor="middle">%s</text>`, (float64(n/2)+.5)*100/float64(n), y, days[n/2].Day.Format("2 Jan"))
	}
	if n > 1 {
		w.put(`<text x="100%%" y="%g" text-anchor="end">%s</text>`, y, days[n-1].Day.Format("2 Jan"))
	}
}

// table shows the figures of the days that have any, the newest first.
func (w *writer) table(c *Chart) {
	w.put(`<details><summary>Show the figures</summary><div class="lines num" tabindex="0" role="region" aria-label="Figures"><table><thead><tr><th scope="col">Day</th>`)
	for _, k := range c.Keys {
		w.put(`<th scope="col">%s</th>`, text(k.Name))
	}
	w.put(`</tr></thead><tbody>`)
	for i := len(c.Days) - 1; i >= 0; i-- {
		d := &c.Days[i]
		if d.Empty() {
			continue
		}
		day := strings.ReplaceAll(d.Day.Format("2 Jan 2006"), " ", NoBreak)
		if d.Href != "" {
			day = `<a href="` + text(d.Href) + `">` + day + `</a>`
		}
		w.put(`<tr><td>%s</td>`, day)
		for _, n := range d.Values {
			w.put(`<td>%s</td>`, c.amount(n))
		}
		w.put(`</tr>`)
	}
	w.put(`</tbody></table></div></details>`)
}

// tick is the distance of the lines of a grid: at most four, on round numbers.
func tick(highest int64, pesewas bool) int64 {
	unit := int64(1)
	if pesewas {
		unit = 100 // a line stands on whole cedis
	}
	for base := unit; ; base *= 10 {
		for _, n := range []int64{1, 2, 5} {
			if base*n*4 >= highest {
				return base * n
			}
		}
	}
}

// short writes a label of an axis: 40k.
func short(n int64, pesewas bool) string {
	if pesewas {
		n /= 100
	}
	switch {
	case n >= 1_000_000:
		return strconv.FormatFloat(float64(n)/1e6, 'g', 3, 64) + "M"
	case n >= 1000:
		return strconv.FormatFloat(float64(n)/1e3, 'g', 3, 64) + "k"
	}
	return strconv.FormatInt(n, 10)
}

func percent(rate float64) string {
	return strconv.FormatFloat(math.Round(rate*10)/10, 'f', -1, 64) + "%"
}

// Heap is money that lies in one place, or belongs to one party.
type Heap struct {
	Key
	Amount int64
}

// Flow draws where money lies on the left, all of it in the middle, and whose it is on the right. Both
// sides must sum to the same: a gap is drawn in the colour of what is bad.
func Flow(says string, lies, belongs []Heap) template.HTML {
	left, right := sum(lies), sum(belongs)
	gap := Heap{Key{"Gap", "fb"}, max(left, right) - min(left, right)}
	if left < right {
		lies = append(lies, gap)
	} else if right < left {
		belongs = append(belongs, gap)
	}
	all := max(left, right)
	scale := min(fitting(lies), fitting(belongs))
	var ribbons writer
	labels := [2]writer{}
	for side, heaps := range [][]Heap{lies, belongs} {
		edge, inner, bar, anchor, x := 1.5, 49.0, 0.0, "end", "100%"
		if side == 1 {
			edge, inner, bar, anchor, x = 98.5, 51, 98.5, "start", "0"
		}
		tall := 0.0
		for _, h := range heaps {
			tall += max(scale*float64(h.Amount), flowLabel)
		}
		space := (flowHeight - tall) / float64(max(1, len(heaps)))
		y, m := space/2, (flowHeight-scale*float64(all))/2
		for _, h := range heaps {
			thick := scale * float64(h.Amount)
			slot := max(thick, flowLabel)
			top := y + (slot-thick)/2
			labels[side].put(`<text class="name" x="%s" y="%.1f" text-anchor="%s">%s</text><text x="%[1]s" y="%[5]f" text-anchor="%[3]s">%[6]s</text>`, x, y+slot/2-3, anchor, text(h.Name), y+slot/2+13, Figures(h.Amount))
			ribbons.put(`<path class="%s" d="M%g %.2fC%g %[3]f %[4]g %[5]f %[6]g %[5]fV%[7]fC%[4]g %[7]f %[4]g %[8]f %[2]g %[8]fZ"><title>%[9]s %[10]s</title></path>`,
				h.Class, edge, top, (edge+inner)/2, m, inner, m+thick, top+thick, text(h.Name), Figures(h.Amount))
			ribbons.put(`<rect class="%s" x="%g" y="%.2f" width="1.5" height="%.2f"/>`, h.Class, bar, top, max(thick, 1))
			y += slot + space
			m += thick
		}
	}
	var w writer
	w.put(`<div class="bar small soft"><span>Where it lies</span><span>GH₵ %s</span><span>Whose it is</span></div><div class="plot flow"><svg aria-hidden="true">%s</svg>`, Figures(all), labels[0].String())
	w.put(`<svg role="img" aria-label="%s" viewBox="0 0 100 %d" preserveAspectRatio="none">%s<rect class="fi" x="49" y="%.2f" width="2" height="%.2f"/></svg>`,
		text(says), flowHeight, ribbons.String(), (flowHeight-scale*float64(all))/2, scale*float64(all))
	w.put(`<svg aria-hidden="true">%s</svg></div><details><summary>Show the figures</summary><div class="lines num" tabindex="0" role="region" aria-label="Figures"><table><thead><tr><th scope="col">GH₵</th><th scope="col">Where it lies</th><th scope="col">Whose it is</th></tr></thead><tbody>`, labels[1].String())
	for side, heaps := range [][]Heap{lies, belongs} {
		for _, h := range heaps {
			var cells [2]string
			cells[side] = Figures(h.Amount)
			w.put(`<tr><td>%s</td><td>%s</td><td>%s</td></tr>`, text(h.Name), cells[0], cells[1])
		}
	}
	w.put(`</tbody></table></div></details>`)
	return template.HTML(w.String())
}

func sum(heaps []Heap) (n int64) {
	for _, h := range heaps {
		n += h.Amount
	}
	return n
}

// fitting is the scale, in pixels for each pesewa, at which heaps and their labels fill the height.
func fitting(heaps []Heap) float64 {
	low, high := 0.0, flowHeight/float64(max(1, sum(heaps)))
	for range 40 {
		scale, tall := (low+high)/2, 0.0
		for _, h := range heaps {
			tall += max(scale*float64(h.Amount), flowLabel) + 4
		}
		if tall > flowHeight {
			high = scale
		} else {
			low = scale
		}
	}
	return low
}
