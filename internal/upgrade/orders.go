package upgrade

import (
	"regexp"
	"strconv"
	"strings"
)

// cause is why an order is contradicted, as the index of orders stores it.
type cause struct {
	Recorded string `json:"recorded,omitempty"`
	Reported string `json:"reported,omitempty"`
	Amount   int64  `json:"amount,omitempty"`
	Problem  string `json:"problem,omitempty"`
}

// causeTexts are the texts that once told contradictions apart, and what else the cause has. A group has the name of
// the member that it is.
var causeTexts = []struct {
	text *regexp.Regexp
	cause
}{
	{regexp.MustCompile(`^(?P<recorded>\w+), and now (?P<amount>\d+) pesewas of \d+$`), cause{Reported: "paid"}},
	{regexp.MustCompile(`^(?P<recorded>\w+), and now (?P<reported>\w+)(: (?P<amount>\d+) pesewas of \d+)?$`), cause{}},
	{regexp.MustCompile(`^the provider reports (?P<amount>\d+) pesewas`), cause{Problem: "other_amount"}},
	{regexp.MustCompile(`^the provider reports another amount`), cause{Problem: "other_amount"}},
	{regexp.MustCompile(`^reversed, and GHS (?P<amount>[\d,.]+) refunded before$`), cause{Problem: "reversed_after_refund"}},
	{regexp.MustCompile(`, and the provider gives no refunds$`), cause{Problem: "not_refundable"}},
	{regexp.MustCompile(`, and its refund failed$`), cause{Problem: "refund_failed"}},
}

// causes adds the causes of the contradictions of an order, which were once recognized by their texts.
func causes(_ *record, d *document) error {
	for _, m := range []struct{ text, cause string }{{"contradiction", "cause"}, {"resolved", "resolved_cause"}} {
		var text string
		if err := d.read(m.text, &text); err != nil {
			return err
		}
		c, known := causeOf(text)
		if !known || d.has(m.cause) {
			continue
		}
		if err := d.set(m.cause, c); err != nil {
			return err
		}
	}
	return nil
}

// causeOf returns the cause that a text describes.
func causeOf(text string) (c cause, known bool) {
	for _, t := range causeTexts {
		match := t.text.FindStringSubmatch(text)
		if match == nil {
			continue
		}
		c = t.cause
		for i, name := range t.text.SubexpNames() {
			switch name {
			case "recorded":
				c.Recorded = match[i]
			case "reported":
				c.Reported = match[i]
			case "amount": // in pesewas, or in GHS with two decimals
				c.Amount, _ = strconv.ParseInt(strings.NewReplacer(",", "", ".", "").Replace(match[i]), 10, 64)
			}
		}
		return c, true
	}
	return cause{}, false
}
