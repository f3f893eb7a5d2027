package inspector

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/webhook"
)

// turn is one thing that happened to an object, and who said so.
type turn struct {
	At     api.Time
	Title  string
	Source string
	// Text is a sentence beneath; without it the types in Events stand there. Href is the page to which Title leads.
	Text         any
	Events, Href string
	// Request is the call of the API that caused an event.
	Request *string
	// Tone colours a turn for the better or the worse; empty for the ordinary.
	Tone string
	// Told are the events that an endpoint took at the first attempt.
	Told []*event.Event
	// Time is At, with the day if that is not the first turn's.
	Time template.HTML
}

// step is how an event is told: verb is the end of its type, and text a line beneath.
type step struct {
	verb, title, source, tone string
	text                      any
}

// attempts tell of the attempts at the provider of the page's object: said, in a line beneath the step that ends it, has the
// provider's reference, and which attempt was answered if not the first. ended is when that step was taken.
func (v *visit) attempts(with string, reference *string, ended *api.Time) (said template.HTML, unanswered []turn) {
	if reference != nil {
		said = sentence("Reference %s. ", id(*reference))
	}
	o := v.order()
	if o.Attempts > 1 && o.Outcome.Final() {
		said += sentence("Answered at attempt %s.", o.Attempts)
	}
	if !o.UnansweredAt.IsZero() {
		var text template.HTML
		if o.LastError != "" && o.LastError != provider.ClassAmountMismatch { // that is an answer
			text = sentence("Error %s. ", id(string(o.LastError)))
		}
		text += "Asked again under the same id."
		if ended != nil {
			text += sentence(" The answer came %s later.", look.Lasting(ended.Sub(o.UnansweredAt)))
		}
		t := turn{At: api.At(o.UnansweredAt), Title: "No answer", Source: with, Tone: "wait", Text: text}
		unanswered = []turn{t}
	}
	if !o.ReportedAt.IsZero() {
		unanswered = append(unanswered, reportTurn(o, with))
	}
	return said, unanswered
}

// reportTurn tells of the report by which a provider has contradicted itself.
func reportTurn(o *provider.OrderInfo, with string) turn {
	t := turn{At: api.At(o.ReportedAt), Title: "It needs a person", Source: with, Tone: "bad", Text: o.Contradiction}
	switch {
	case o.Reported != "":
		t.Title = providerOf(o) + " says " + outcomeWords[o.Reported]
		t.Text = "The ledger says " + cmp.Or(outcomeWords[o.Outcome], "nothing yet") + "."
	case o.LastError == provider.ClassAmountMismatch:
		t.Title = providerOf(o) + " reports another amount"
	}
	return t
}

// told are the events of an object in the order of a life, as a noun tells them that has no words of
// its own.
var told = []step{
	{"created", "Made", "API", "", nil},
	{"updated", "Changed", "API", "", nil},
	{"pending", "", "", "", nil},
	{"processing", "", "", "", nil},
	{"finalized", "Finalized: number and amount are fixed", "API", "", nil},
	{"sent", "Sent to the customer", "E-mail", "", nil},
	{"trial_will_end", "The trial ends soon", "", "", nil},
	{"paid", "Paid", "Payer", "good", nil},
	{"payment_succeeded", "A period is paid", "Payer", "good", nil},
	{"payment_failed", "A payment failed", "Payer", "bad", nil},
	{"paused", "Paused", "API", "wait", nil},
	{"resumed", "Resumed", "API", "", nil},
	{"voided", "Void: nothing is due any more", "API", "wait", nil},
	{"marked_uncollectible", "Given up", "API", "wait", nil},
	{"completed", "Paid", "Payer", "good", nil},
	{"succeeded", "", "", "good", nil},
	{"failed", "Failed", "", "bad", nil},
	{"canceled", "Cancelled", "API", "wait", nil},
}

// stepsOf are those of an object that has that status, in a noun's own words where it has them. It
// leaves out the ends that the object has not come to, so that nothing looks for their events. A
// transfer that the provider took back has failed after it was completed.
func stepsOf(object, status string, own []step) (steps []step) {
	ends := map[string]string{"succeeded": "completed succeeded", "completed": "completed succeeded failed", "failed": "failed", "canceled": "cancelled"}
	for _, s := range told {
		t := event.Type(object + "." + s.verb)
		recorded, known := t.Canonical()
		at, final := ends[s.verb]
		if !known || recorded != t || final && status != "" && !slices.Contains(strings.Fields(at), status) {
			continue
		}
		for _, o := range own {
			if o.verb == s.verb {
				s = o
			}
		}
		steps = append(steps, s)
	}
	return steps
}

// repeated are the verbs of events that an object can have often.
var repeated = []string{"updated", "payment_failed", "payment_succeeded", "paused", "resumed", "sent"}

// shownDeliveries bounds the deliveries of an event, and shownAttempts those of a delivery.
const shownDeliveries, shownAttempts = 10, 3

const whatHappened = "What happened"

// timeline tells what happened to an object, the oldest first. own are steps in the noun's words, and
// also further turns.
func (v *visit) timeline(object, id string, created time.Time, status string, own []step, also ...turn) section {
	turns := append(v.turns(object, id, created, status, own), also...)
	if len(turns) == 0 {
		return section{Title: whatHappened, Text: "Its events are no longer kept, or too many others lie between."}
	}
	return inOrder(whatHappened, turns)
}

// turns are the events of an object, with the entries of the ledger and the deliveries that they led to.
func (v *visit) turns(object, id string, created time.Time, status string, own []step) []turn {
	steps := stepsOf(object, status, own)
	events := v.eventsOf(object, id, created, steps)
	var turns, booked []turn
	var seconds []int64
	for i := range events {
		e := &events[i]
		verb := strings.TrimPrefix(string(e.Type), object+".")
		is := steps[slices.IndexFunc(steps, func(s step) bool { return s.verb == verb })]
		if verb == "pending" && e.CreatedAt.Sub(created) < time.Second { // nothing came between
			turns[0].Events += ", " + string(e.Type)
		} else {
			turns = append(turns, turn{At: e.CreatedAt, Title: is.title, Source: is.source, Tone: is.tone, Text: is.text, Events: string(e.Type), Href: v.url("events", e.ID), Request: e.Request.ID})
		}
		turns = append(turns, v.deliveryTurns(e)...)
		if second := e.CreatedAt.Unix(); !slices.Contains(seconds, second) {
			seconds = append(seconds, second)
			booked = append(booked, v.ledgerTurns(id, time.Unix(second, 0))...)
		}
	}
	return append(turns, booked...)
}

// inOrder is a timeline of some turns, the oldest first. What an endpoint took alike in a row is one.
func inOrder(title string, turns []turn) section {
	slices.SortStableFunc(turns, func(a, b turn) int { return a.At.Compare(b.At.Time) })
	kept := turns[:1]
	for _, t := range turns[1:] {
		if last := &kept[len(kept)-1]; len(last.Told)*len(t.Told) > 0 && last.Source == t.Source {
			last.Told = append(last.Told, t.Told...)
			last.Text, last.Href = typesOf(last.Told)+".", ""
			continue
		}
		kept = append(kept, t)
	}
	turns = kept
	for i := range turns {
		turns[i].Time = look.Seconds(turns[i].At.Time, turns[0].At.Time)
	}
	return section{Title: title, Timeline: turns, Aside: turns[0].At.UTC().Format("Mon 2 January") + ", Accra time"}
}

// typesOf names the types of events in the order in which they happened, whichever was taken first, such
// as "payment.created, succeeded".
func typesOf(events []*event.Event) string {
	slices.SortFunc(events, func(a, b *event.Event) int { return strings.Compare(a.ID, b.ID) })
	object, _, _ := strings.Cut(string(events[0].Type), ".")
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = string(e.Type)
		if i > 0 {
			names[i] = strings.TrimPrefix(names[i], object+".")
		}
	}
	return strings.Join(names, ", ")
}

// eventsOf returns the events of an object, found from that of its creation on.
func (v *visit) eventsOf(object, id string, created time.Time, steps []step) (all []event.Event) {
	from := created.Truncate(time.Second)
	p := event.ListParams{Created: api.Times{From: from, Until: from.Add(time.Second)}}
	for i, s := range steps {
		p.Type = event.Type(object + "." + s.verb)
		found := v.eventsAmong(p, id, slices.Contains(repeated, s.verb))
		if i == 0 {
			if len(found) == 0 {
				return nil
			}
			p = event.ListParams{Page: api.Page{EndingBefore: found[0].ID}}
		}
		all = append(all, found...)
	}
	return all
}

// eventsAmong looks for the events of an object among those of a type, a few of them first: most lie
// close. often says that there may be several.
func (v *visit) eventsAmong(p event.ListParams, id string, often bool) (found []event.Event) {
	pages := []int{10, 100, 100, 100, 100, 100}
	if often {
		pages = pages[:3]
	}
	for _, p.Limit = range pages {
		list := listOf(v, v.svc.Events.List, p)
		for _, e := range list {
			if objectOf(&e) == id {
				found = append(found, e)
			}
		}
		if len(list) < p.Limit || len(found) > 0 && !often {
			break
		}
		if p.EndingBefore != "" {
			p.EndingBefore = list[0].ID
		} else {
			p.StartingAfter = list[len(list)-1].ID
		}
	}
	return found
}

// ledgerTurns are the entries that an object made on the balance within a second. An entry has the
// time of the event that is written with it.
func (v *visit) ledgerTurns(source string, second time.Time) (turns []turn) {
	list := listOf(v, v.svc.Accounts.ListEntries, account.ListEntriesParams{Source: source, Created: api.Times{From: second, Until: second.Add(time.Second)}})
	for _, e := range slices.Backward(list) {
		t := turn{At: e.CreatedAt, Source: "Ledger", Title: plainMoney(e.Amount) + " booked", Text: sentence("%s. Entry %s.", words(e.Type), id(e.ID))}
		if e.Type == "payment" {
			if p := get(v, v.svc.Payments.Get, source); p.Fee != nil && *p.Fee > 0 {
				t.Title, t.Text = plainMoney(cedis(p.Amount))+" booked", sentence("%s to the merchant, %s fee. Entry %s.", look.Figures(*p.Net), look.Figures(*p.Fee), id(e.ID))
			}
		}
		turns = append(turns, t)
	}
	return turns
}

// deliveryTurns are the attempts to tell the endpoints of an event. One that failed before another succeeded is
// over, and shown as such.
func (v *visit) deliveryTurns(e *event.Event) (turns []turn) {
	for _, d := range v.deliveriesOf(e.ID, shownDeliveries) {
		host := v.endpointHost(d.Endpoint)
		if len(d.Attempts) == 0 {
			turns = append(turns, turn{At: d.CreatedAt, Source: host, Title: "Webhook not sent yet", Events: string(d.Type), Href: v.url("events", e.ID)})
		}
		for n := max(0, len(d.Attempts)-shownAttempts); n < len(d.Attempts); n++ {
			a := &d.Attempts[n]
			t := turn{At: a.At, Source: host, Title: "Webhook " + answerText(a), Href: v.url("events", e.ID)}
			text := fmt.Sprintf("%s, attempt %d, in %d ms.", d.Type, n+1, max(1, a.Duration))
			switch {
			case answered(a) && n == 0:
				t.Told = []*event.Event{e}
			case answered(a):
				t.Tone = "good"
			case d.Status == webhook.Delivered:
				t.Tone = "wait"
			default:
				t.Tone = "bad"
			}
			if n+1 < len(d.Attempts) {
				text += " Again after " + look.Lasting(d.Attempts[n+1].At.Sub(a.At.Time)) + "."
			} else if d.NextAttemptAt != nil {
				text += " Next in " + look.Lasting(d.NextAttemptAt.Sub(v.now)) + "."
			}
			t.Text = text
			turns = append(turns, t)
		}
	}
	return turns
}

// deliveriesOf are the newest deliveries of an event.
func (v *visit) deliveriesOf(event string, most int) []webhook.Delivery {
	return listOf(v, v.svc.Webhooks.ListDeliveries, webhook.ListDeliveriesParams{Event: event, Page: api.Page{Limit: most}})
}

// get reads what a part of a page shows; it is empty after an error.
func get[P, T any](v *visit, method func(context.Context, api.Caller, P) (*T, error), p P) *T {
	is, err := method(v.Context(), v.caller, p)
	if err != nil {
		v.note(err)
		return new(T)
	}
	return is
}

// listOf reads a list for a part of a page.
func listOf[P, T any](v *visit, list func(context.Context, api.Caller, P) (*api.List[T], error), p P) []T {
	return get(v, list, p).Data
}

// answered reports whether an attempt was a success.
func answered(a *webhook.Attempt) bool { return a.StatusCode >= 200 && a.StatusCode < 300 }

func answerText(a *webhook.Attempt) string {
	if a.StatusCode == 0 {
		return "did not answer"
	}
	return fmt.Sprintf("answered %d", a.StatusCode)
}

// endpointHost is the host of an endpoint; "a deleted endpoint" without one.
func (v *visit) endpointHost(id string) string {
	return cmp.Or(v.rowOf("", id).Title, "a deleted endpoint")
}

// messageTurns are the messages about a person or a payment that name the object.
func (v *visit) messageTurns(about, id string) (turns []turn) {
	for _, m := range slices.Backward(listOf(v, v.svc.Messages.List, message.ListParams{About: about, Page: api.Page{Limit: perPage}})) {
		if strings.Contains(m.Text, id) {
			turns = append(turns, turn{At: m.CreatedAt, Source: words(m.Kind), Title: v.messageTitle(&m), Text: "To " + cmp.Or(look.Phone(m.To), m.To) + ".", Href: v.url("messages", m.ID)})
		}
	}
	return turns
}

// messageTitle says what a message is about, as far as its text tells.
func (v *visit) messageTitle(m *message.Message) string {
	switch {
	case m.Subject != "":
		return m.Subject
	case m.To == v.merchant.Phone:
		return "Merchant informed"
	case strings.Contains(m.Text, " refunded you "):
		return "Refund told to the payer"
	case strings.HasPrefix(m.Text, "You paid "):
		return "Receipt sent to the payer"
	}
	return "Sent to " + look.Phone(m.To)
}

// objectOf returns the id of the object that an event is about.
func objectOf(e *event.Event) string {
	var object struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(e.Data.Object, &object) // a host's own may have none
	return object.ID
}
