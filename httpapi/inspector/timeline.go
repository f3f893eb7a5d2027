package inspector

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/webhook"
)

// turn is one thing that happened to an object, and who said so.
type turn struct {
	At     turnTime
	Title  string
	Source string
	// Text is a line beneath, and More a link at its end.
	Text string
	More *link
	// Tone colours a turn for the better or the worse; empty for the ordinary.
	Tone string
}

// turnTime is the time of a turn. It is shown with the day if that is not the first turn's.
type turnTime struct {
	time.Time
	otherDay bool
}

// step is how an event is told: verb is the end of its type.
type step struct{ verb, title, source, tone string }

// finals are the verbs of events that end an object, by the status that it has then.
var finals = map[string]string{"succeeded": "completed succeeded", "completed": "completed succeeded", "failed": "failed", "canceled": "cancelled"}

// possible leaves out the ends that an object with that status has not come to, so that nothing
// looks for their events. A transfer that the provider took back has failed after it was completed.
func possible[T ~string](status T, steps []step) []step {
	return slices.DeleteFunc(steps, func(s step) bool {
		ends, final := finals[s.verb]
		return final && !slices.Contains(strings.Fields(ends), string(status)) && !(s.verb == "completed" && status == "failed")
	})
}

// repeated are the verbs of events that an object can have often.
var repeated = []string{"updated", "payment_failed", "payment_succeeded", "paused", "resumed", "sent"}

const (
	// historyPages bounds how many pages of events of a type are looked through.
	historyPages = 5
	// shownDeliveries bounds the deliveries of an event, and shownAttempts those of a delivery.
	shownDeliveries, shownAttempts = 10, 3
)

// timeline tells what happened to an object, the oldest first: its events, with the entries of the
// ledger and the deliveries that they led to. The first step is its creation. also are further turns.
func (v *visit) timeline(object, id string, created time.Time, steps []step, also ...turn) (section, error) {
	s := section{Title: "What happened", Text: "Its events are no longer kept, or too many others lie between."}
	events, err := v.eventsOf(object, id, created, steps)
	if err != nil {
		return s, err
	}
	var turns []turn
	seconds := map[int64]bool{}
	for i := range events {
		e := &events[i]
		verb := strings.TrimPrefix(string(e.Type), object+".")
		at := slices.IndexFunc(steps, func(s step) bool { return s.verb == verb })
		is := steps[max(at, 0)]
		turns = append(turns, turn{At: turnTime{Time: e.CreatedAt.Time}, Title: is.title, Source: is.source, Tone: is.tone, More: &link{string(e.Type), v.url("events", e.ID)}})
		seconds[e.CreatedAt.Unix()] = true
		told, err := v.deliveryTurns(e)
		if err != nil {
			return s, err
		}
		turns = append(turns, told...)
	}
	for second := range seconds {
		booked, err := v.ledgerTurns(id, time.Unix(second, 0))
		if err != nil {
			return s, err
		}
		turns = append(turns, booked...)
	}
	if turns = append(turns, also...); len(turns) == 0 {
		return s, nil
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return a.At.Compare(b.At.Time) })
	day := func(t turnTime) string { return t.UTC().Format(time.DateOnly) }
	for i := range turns {
		turns[i].At.otherDay = day(turns[i].At) != day(turns[0].At)
	}
	s.Text, s.Timeline, s.Aside = "", turns, turns[0].At.UTC().Format("Monday 2 January")+", Accra time"
	return s, nil
}

// eventsOf returns the events of an object, found from that of its creation on.
func (v *visit) eventsOf(object, id string, created time.Time, steps []step) ([]event.Event, error) {
	from := created.Truncate(time.Second)
	p := event.ListParams{Type: event.Type(object + "." + steps[0].verb), Created: api.Times{From: from, Until: from.Add(time.Second)}}
	p.Limit = api.MaxLimit
	var all []event.Event
	for range historyPages {
		list, err := v.svc.Events.List(v.Context(), v.caller, p)
		if err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(list.Data, func(e event.Event) bool { return objectOf(&e) == id }); at >= 0 {
			all = append(all, list.Data[at])
			break
		}
		if !list.HasMore {
			return nil, nil
		}
		p.StartingAfter = list.Data[len(list.Data)-1].ID
	}
	if len(all) == 0 {
		return nil, nil
	}
	first := all[0].ID
	for _, s := range steps[1:] {
		p := event.ListParams{Type: event.Type(object + "." + s.verb), Page: api.Page{Limit: api.MaxLimit, EndingBefore: first}}
		found := false
		for range historyPages {
			list, err := v.svc.Events.List(v.Context(), v.caller, p)
			if err != nil {
				return nil, err
			}
			for _, e := range list.Data {
				if objectOf(&e) == id {
					all = append(all, e)
					found = true
				}
			}
			if !list.HasMore || len(list.Data) == 0 || found && !slices.Contains(repeated, s.verb) {
				break
			}
			p.EndingBefore = list.Data[0].ID
		}
	}
	return all, nil
}

// ledgerTurns are the entries that an object made on the balance within a second. An entry has the
// time of the event that is written with it.
func (v *visit) ledgerTurns(id string, second time.Time) ([]turn, error) {
	list, err := v.svc.Accounts.ListEntries(v.Context(), v.caller, account.ListEntriesParams{
		Source: id, Created: api.Times{From: second, Until: second.Add(time.Second)},
	})
	if err != nil {
		return nil, err
	}
	var turns []turn
	for i := range list.Data {
		e := &list.Data[i]
		turns = append(turns, turn{
			At: turnTime{Time: e.CreatedAt.Time}, Source: "Ledger", Title: plainMoney(pesewas(e.Amount)) + " booked",
			Text: words(e.Type) + ". Balance " + plainMoney(pesewas(e.Balance)) + ". Entry " + e.ID + ".",
		})
	}
	slices.Reverse(turns)
	return turns, nil
}

// deliveryTurns are the attempts to tell the endpoints of an event.
func (v *visit) deliveryTurns(e *event.Event) ([]turn, error) {
	list, err := v.svc.Webhooks.ListDeliveries(v.Context(), v.caller, webhook.ListDeliveriesParams{Event: e.ID, Page: api.Page{Limit: shownDeliveries}})
	if err != nil {
		return nil, err
	}
	var turns []turn
	for i := range list.Data {
		d := &list.Data[i]
		host := v.endpointHost(d.Endpoint)
		if len(d.Attempts) == 0 {
			turns = append(turns, turn{At: turnTime{Time: d.CreatedAt.Time}, Source: "Webhook", Title: host + " is told next", Text: string(d.Type)})
		}
		for n := max(0, len(d.Attempts)-shownAttempts); n < len(d.Attempts); n++ {
			a := &d.Attempts[n]
			t := turn{At: turnTime{Time: a.At.Time}, Source: "Webhook", Title: host + " " + answerText(a), Text: fmt.Sprintf("%s, attempt %d, in %d ms.", d.Type, n+1, a.Duration)}
			if !answered(a) {
				t.Tone = "bad"
				if n == len(d.Attempts)-1 && d.NextAttemptAt != nil {
					t.Text += " Next in " + ago(d.NextAttemptAt.Sub(v.now)) + "."
				}
			}
			turns = append(turns, t)
		}
	}
	return turns, nil
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
	host, ok := v.hosts[id]
	if ok {
		return host
	}
	host = "a deleted endpoint"
	if e, err := v.svc.Webhooks.Get(v.Context(), v.caller, id); err == nil {
		if u, err := url.Parse(e.URL); err == nil {
			host = u.Host
		}
	} else if api.CodeOf(err) != api.ResourceMissing {
		v.err = err
	}
	if v.hosts == nil {
		v.hosts = map[string]string{}
	}
	v.hosts[id] = host
	return host
}

// messageTurns are the messages about a person or a payment that name the object.
func (v *visit) messageTurns(about, id string) []turn {
	list, err := v.svc.Messages.List(v.Context(), v.caller, message.ListParams{About: about, Page: api.Page{Limit: perPage}})
	if err != nil {
		v.err = err
		return nil
	}
	var turns []turn
	for i := range list.Data {
		m := &list.Data[i]
		if id != "" && !strings.Contains(m.Text, id) {
			continue
		}
		turns = append(turns, turn{
			At: turnTime{Time: m.CreatedAt.Time}, Source: state(m.Kind).Word, Title: "Sent to " + maskedNumber(m.To),
			More: &link{shortened(m), v.url("messages", m.ID)},
		})
	}
	slices.Reverse(turns)
	return turns
}

// objectOf returns the id of the object that an event is about.
func objectOf(e *event.Event) string {
	var object struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(e.Data.Object, &object) // a host's own may have none
	return object.ID
}
