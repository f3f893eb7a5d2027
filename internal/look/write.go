package look

import (
	"html/template"
	"strconv"
	"strings"
	"time"
)

// Money writes pesewas with the sign before the unit, where there is no markup: −GH₵ 3.52.
func Money(pesewas int64) string {
	sign, figures := signed(pesewas)
	return sign + "GH₵" + NoBreak + figures
}

// MoneyHTML is Money with a smaller unit.
func MoneyHTML(pesewas int64) template.HTML {
	sign, figures := signed(pesewas)
	return template.HTML(`<span class="money">` + sign + `<span class="unit">GH₵</span>` + figures + `</span>`)
}

func signed(pesewas int64) (sign, figures string) {
	figures, negative := strings.CutPrefix(Figures(pesewas), "−")
	if negative {
		sign = "−"
	}
	return sign, figures
}

// TimeHTML marks up a text that names a time. The text has no markup of its own.
func TimeHTML(t time.Time, text string) template.HTML {
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `">` + strings.ReplaceAll(text, " ", NoBreak) + `</time>`)
}

// Seconds writes a time of today with its seconds, and another with its day.
func Seconds(t, today time.Time) template.HTML {
	layout := "15:04:05"
	if !SameDay(t, today) {
		layout = "2 Jan, 15:04"
	}
	return TimeHTML(t, t.UTC().Format(layout))
}

// SameDay reports whether two times are on one day in Accra.
func SameDay(a, b time.Time) bool {
	return a.UTC().Truncate(24 * time.Hour).Equal(b.UTC().Truncate(24 * time.Hour))
}

// Lasting says how long something lasts: "26 minutes". What is due already lasts for 0 seconds.
func Lasting(d time.Duration) string {
	d = max(0, d)
	switch {
	case d < time.Minute:
		return Plural(int(d/time.Second), "second")
	case d < time.Hour:
		return Plural(int(d/time.Minute), "minute")
	case d < 48*time.Hour:
		return Plural(int(d/time.Hour), "hour")
	}
	return Plural(int(d/(24*time.Hour)), "day")
}

// Plural writes a count with its noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "ry"); ok {
		noun = stem + "rie"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

var wordEnds = strings.NewReplacer(".", ".<wbr>", "_", "_<wbr>", "@", "@<wbr>")

// Breakable escapes a name whose words are joined, such as that of an event, so that lines end between
// them.
func Breakable(name string) template.HTML {
	return template.HTML(wordEnds.Replace(template.HTMLEscapeString(name)))
}
