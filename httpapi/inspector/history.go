package inspector

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
)

// historyPages bounds how many pages of events of a type are looked through.
const historyPages = 5

// history is what happened to an object, the oldest first: its events, found from
// the one of its creation on. noun and verbs name the types.
func (v *visit) history(noun, id string, created time.Time, verbs ...string) (section, error) {
	s := section{Title: "Timeline", Empty: "Its events are no longer kept, or too many others lie between."}
	from := created.Truncate(time.Second)
	p := event.ListParams{Type: event.Type(noun + ".created"), Created: api.Times{From: from, Until: from.Add(time.Second)}}
	var all []event.Event
	var first string
	p.Limit = api.MaxLimit
	for range historyPages {
		list, err := v.svc.Events.List(v.Context(), v.caller, p)
		if err != nil {
			return s, err
		}
		if at := slices.IndexFunc(list.Data, func(e event.Event) bool { return objectOf(&e) == id }); at >= 0 {
			first = list.Data[at].ID
			all = append(all, list.Data[at])
			break
		}
		if !list.HasMore {
			return s, nil
		}
		p.StartingAfter = list.Data[len(list.Data)-1].ID
	}
	if first == "" {
		return s, nil
	}
	for _, verb := range verbs {
		p := event.ListParams{Type: event.Type(noun + "." + verb), Page: api.Page{Limit: api.MaxLimit, EndingBefore: first}}
		for range historyPages {
			list, err := v.svc.Events.List(v.Context(), v.caller, p)
			if err != nil {
				return s, err
			}
			for _, e := range list.Data {
				if objectOf(&e) == id {
					all = append(all, e)
				}
			}
			if !list.HasMore || len(list.Data) == 0 {
				break
			}
			p.EndingBefore = list.Data[0].ID
		}
	}
	slices.SortFunc(all, func(a, b event.Event) int { return strings.Compare(a.ID, b.ID) })
	for i := range all {
		r := v.eventRow(&all[i])
		r.Detail = "" // the object's id, which the page has
		s.Rows = append(s.Rows, r)
	}
	return s, nil
}

// objectOf returns the id of the object that an event is about.
func objectOf(e *event.Event) string {
	var object struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(e.Data.Object, &object) // a host's own may have none
	return object.ID
}
