package inspector

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/internal/plainjson"
)

// The values that pages show in a form of their own.
type (
	// cedis is an amount in pesewas.
	cedis int64
	// id is an identifier, to copy as a whole.
	id string
	// badge is the state of an object: a colour with its shape, and a word.
	badge struct{ Tone, Word string }
)

var badges = map[string]badge{
	"completed": {"good", "Completed"}, "succeeded": {"good", "Completed"}, "paid": {"good", "Paid"}, "delivered": {"good", "Delivered"},
	"active": {"good", "Active"}, "made": {"good", "Made"},
	"pending": {"wait", "Waiting"}, "queued": {"wait", "Queued"}, "retrying": {"wait", "Retrying"}, "open": {"info", "Open"}, "processing": {"info", "Processing"},
	"failed": {"bad", "Failed"}, "refused": {"bad", "Refused"}, "overdue": {"bad", "Overdue"}, "contradiction": {"bad", "Contradiction"}, "past_due": {"bad", "Past due"}, "complete": {"good", "Complete"}, "trialing": {"info", "On trial"}, "frozen": {"bad", "Frozen"},
	"inactive": {"neutral", "Off"}, "cancelled": {"neutral", "Cancelled"}, "uncollectible": {"neutral", "Given up"},
}

// activity is the badge of what can be switched on and off.
var activity = map[bool]badge{true: badges["active"], false: badges["inactive"]}

// state is the badge of a state, as the API names it.
func state[T ~string](s T) badge {
	if b, ok := badges[string(s)]; ok {
		return b
	}
	return badge{"neutral", words(s)}
}

var lineBreaks = strings.NewReplacer("\r\n", "<br>", "\n", "<br>", "\r", "<br>")

// value renders a value: an amount, an id, a badge or a text. It escapes texts.
func value(v any) template.HTML {
	switch v := v.(type) {
	case nil:
		return ""
	case template.HTML:
		return v
	case cedis:
		return look.MoneyHTML(int64(v))
	case *int64:
		if v == nil {
			return ""
		}
		return look.MoneyHTML(*v)
	case api.GHS:
		return look.MoneyHTML(pesewas(v))
	case id:
		if v == "" {
			return ""
		}
		return template.HTML(`<span class="id">` + template.HTMLEscapeString(string(v)) + `</span>`)
	case badge:
		if v.Word == "" {
			return ""
		}
		return template.HTML(`<span class="badge ` + v.Tone + `">` + template.HTMLEscapeString(v.Word) + `</span>`)
	case api.Time:
		return look.TimeHTML(v.Time, v.UTC().Format("2 Jan 2006, 15:04"))
	case *api.Time:
		if v == nil {
			return ""
		}
		return value(*v)
	case *string:
		return value(look.Text(v))
	case link:
		if pathOf("", v.Text) != "" { // it has no name
			return value(id(v.Text))
		}
		return value(v.Text)
	}
	return template.HTML(lineBreaks.Replace(template.HTMLEscapeString(fmt.Sprint(v))))
}

// plainMoney writes an amount, [cedis] or api.GHS, where there is no markup.
func plainMoney(amount any) string {
	if ghs, is := amount.(api.GHS); is {
		return look.Money(pesewas(ghs))
	}
	n, _ := amount.(cedis)
	return look.Money(int64(n))
}

func pesewas(a api.GHS) int64 { return a.Shift(2).IntPart() }

// sentence renders a text with values in the places of %s.
func sentence(format string, values ...any) template.HTML {
	shown := make([]any, len(values))
	for i := range values {
		shown[i] = value(values[i])
	}
	return template.HTML(fmt.Sprintf(template.HTMLEscapeString(format), shown...))
}

// clock renders the time of a row by the merchant's clock: "14:02" today. There is no room for the hour of
// a day of another year.
func (v *visit) clock(t api.Time) template.HTML {
	text := look.Clock(t.Time, v.now)
	if t.UTC().Year() != v.now.UTC().Year() {
		text = t.UTC().Format("2 Jan 2006")
	}
	return look.TimeHTML(t.Time, text)
}

// when says in a sentence when something was: "today at 14:02".
func (v *visit) when(t api.Time) string {
	if look.SameDay(t.Time, v.now) {
		return "today at " + t.UTC().Format("15:04")
	}
	return "on " + t.UTC().Format("2 January 2006 at 15:04")
}

// unlessNone is a count or an amount, or nil for none.
func unlessNone[N int | int64 | cedis](n N) any {
	if n == 0 {
		return nil
	}
	return n
}

// typeWords are the words of the API for ways of payment and types, as people say them.
var typeWords = strings.NewReplacer(
	"service_wallet", "Wallet", "mobile_money", "Mobile money", "bank_transfer", "Bank transfer", "default", "Saved method", "sms", "SMS", "email", "E-mail", "top_up", "Top-up", "_", " ",
)

// words writes a word of the API as people say it.
func words[T ~string](s T) string { return capital(typeWords.Replace(string(s))) }

func capital(s string) string {
	_, first := utf8.DecodeRuneInString(s) // names can begin with Ɛ or Ɔ
	return strings.ToUpper(s[:first]) + s[first:]
}

// network is how people name the network or bank of an order; "" for none.
func network(code *string) string { return look.NetworkName(look.Text(code)) }

// indentJSON returns an object's JSON as the API returns it, indented.
func indentJSON(v any) string {
	data, _ := plainjson.Marshal(v)
	return indented(data)
}

// indented makes JSON readable.
func indented(data []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return string(data)
	}
	return b.String()
}

// facts are names with values in turn, without those that have no value.
func facts(pairs ...any) []fact {
	var kept []fact
	for i := 0; i < len(pairs); i += 2 {
		f := fact{Name: pairs[i], Value: value(pairs[i+1])}
		if l, is := pairs[i+1].(link); is {
			f.Href = l.Href
		}
		if f.Value != template.HTML("") {
			kept = append(kept, f)
		}
	}
	return kept
}

// linked is the name of another object with its page, for facts. One that was deleted has none.
func (v *visit) linked(path string, object *string) link {
	if object == nil {
		return link{}
	}
	return link{cmp.Or(v.named(path, *object), *object), v.rowOf(path, *object).Href}
}

// party says from or to whom the money of an object goes; "" where that is not known. kind is as for
// [visit.source].
func (v *visit) party(kind, id string) string {
	who, way := v.rowOf(kind, id).Title, ways[pathOf(kind, id)]
	if who == "" || way == "" {
		return ""
	}
	return way + who
}

// named is what a link to an object says; "" if there is none.
func (v *visit) named(kind, id string) string {
	r, path := v.rowOf(kind, id), pathOf(kind, id)
	if path == "invoices" || path == "subscriptions" {
		return r.For
	}
	if party := v.party(kind, id); party != "" {
		return plainMoney(r.Amount) + " " + party
	}
	return r.Title
}

// address is the link to a page of the service's, for facts.
func address(url string) link {
	return map[bool]link{true: {"Open the page", url}}[url != ""]
}

// unix is the time of a count of seconds.
func unix(seconds int64) api.Time { return api.At(time.Unix(seconds, 0)) }
