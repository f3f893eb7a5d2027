package inspector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/webhook"
)

func (v *visit) events() (*page, error) {
	list, err := v.svc.Events.List(v.Context(), v.caller, event.ListParams{
		Page: v.page(), Type: event.Type(v.query.Get("type")), Created: v.day(),
	})
	if err != nil {
		return nil, err
	}
	var types []string
	for _, t := range event.Types() {
		types = append(types, string(t))
	}
	slices.Sort(types)
	filter := field{Name: "type", Label: "Type", Kind: "select", Value: v.query.Get("type"), Options: []option{{"", "all"}}}
	for _, t := range types {
		filter.Options = append(filter.Options, option{t, t})
	}
	return &page{
		Title: "Events", NavPath: "events", Filter: []field{filter, v.dayFilter()},
		Live:     []section{{Rows: rowsOf(list, v.eventRow), Empty: "There is no such event."}},
		NextPage: nextPage(v, list, func(e *event.Event) string { return e.ID }),
	}, nil
}

func (v *visit) eventRow(e *event.Event) row {
	r := row{Href: v.url("events", e.ID), Title: string(e.Type), Detail: objectOf(e), At: e.CreatedAt}
	if e.PendingWebhooks > 0 {
		r.State = "pending"
	}
	return r
}

func (v *visit) event() (*page, error) {
	e, err := v.svc.Events.Get(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	deliveries, err := v.svc.Webhooks.ListDeliveries(v.Context(), v.caller, webhook.DeliveryListParams{Event: e.ID, Page: api.Page{Limit: perPage}})
	if err != nil {
		return nil, err
	}
	object := objectOf(e)
	facts := nonEmpty(
		fact{Name: "ID", Value: e.ID, Code: true},
		fact{Name: "Time", Value: formatTime(e.CreatedAt)},
		fact{Name: "Deliveries under way", Value: formatCount(int64(e.PendingWebhooks))},
		fact{Name: "Object", Value: object, Href: v.source(string(e.Type), object)},
		fact{Name: "Request", Value: orEmpty(e.Request.ID), Code: true},
		fact{Name: "Idempotency key", Value: orEmpty(e.Request.IdempotencyKey), Code: true},
	)
	if deleted(e.Type) {
		facts[3].Href = ""
	}
	p := &page{
		Title: string(e.Type), NavPath: "events",
		Live: []section{{
			Facts:   facts,
			Buttons: []*form{{Name: "resend", Button: "Send it again", do: (*visit).resend}},
		}},
	}
	if len(deliveries.Data) == 0 {
		p.Live = append(p.Live, section{Title: "Deliveries", Text: "No webhook endpoint was told of it."})
	}
	for i := range deliveries.Data {
		p.Live = append(p.Live, v.delivery(&deliveries.Data[i]))
	}
	p.Live = append(p.Live, section{Title: "Object at that time", Verbatim: indented(e.Data.Object)}, section{JSON: indentJSON(e)})
	return p, nil
}

// deleted reports an event whose object is gone.
func deleted(t event.Type) bool { return strings.HasSuffix(string(t), ".deleted") }

func (v *visit) resend(*input) (*result, error) {
	_, err := v.svc.Webhooks.Resend(v.Context(), v.caller, v.id)
	return nil, err
}

// delivery shows a delivery with its attempts and what was answered.
func (v *visit) delivery(d *webhook.Delivery) section {
	s := section{
		Title: "Delivery to " + d.Endpoint,
		Facts: nonEmpty(
			fact{Name: "Status", Value: string(d.Status), State: true},
			fact{Name: "Endpoint", Value: d.Endpoint, Href: v.url("webhooks", d.Endpoint)},
			fact{Name: "Told as", Value: string(d.Type)},
			fact{Name: "Next attempt", Value: formatOptionalTime(d.NextAttemptAt)},
		),
		Table: &table{Caption: "Attempts", Head: []string{"Time", "Outcome", "Answer"}},
	}
	for _, a := range d.Attempts {
		said := a.Response
		outcome := fmt.Sprintf("%d in %d ms", a.StatusCode, a.Duration)
		if a.StatusCode == 0 {
			said, outcome = a.Error, fmt.Sprintf("no answer in %d ms", a.Duration)
		}
		s.Table.Rows = append(s.Table.Rows, []string{formatTime(a.At), outcome, said})
	}
	if len(d.Attempts) == 0 {
		s.Table, s.Text = nil, "Not tried yet."
	}
	return s
}

// indented makes JSON readable.
func indented(data []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return string(data)
	}
	return b.String()
}
