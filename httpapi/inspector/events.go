package inspector

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/webhook"
)

var eventNoun = &noun[event.Event]{
	path: "events", one: "Event", many: "Events", heads: [5]string{"Event", "Amount", "Deliveries", "About", "Time"},
	filters: []field{{Name: "type", Label: "Type", Kind: "select", Options: eventTypes()}},
	dated:   true, empty: "Whatever changes is told here, and to the webhook endpoints.",
	list: func(v *visit, page api.Page) (*api.List[event.Event], error) {
		return v.svc.Events.List(v.Context(), v.caller, event.ListParams{Page: page, Type: event.Type(v.param("type")), Created: v.created()})
	},
	row:  (*visit).eventRow,
	get:  func(v *visit) (*event.Event, error) { return v.svc.Events.Get(v.Context(), v.caller, v.id) },
	page: (*visit).eventPage,
}

func eventTypes() []option {
	types := []option{{Label: "Any"}}
	for _, t := range slices.Sorted(slices.Values(event.Types())) {
		types = append(types, option{Value: string(t), Label: string(t)})
	}
	return types
}

func (v *visit) eventRow(e *event.Event) row {
	about, amount := aboutOf(e)
	r := row{Href: v.url("events", e.ID), Title: string(e.Type), Below: about, Amount: amount, At: e.CreatedAt}
	list, err := v.svc.Webhooks.ListDeliveries(v.Context(), v.caller, webhook.ListDeliveriesParams{Event: e.ID, Page: api.Page{Limit: shownDeliveries}})
	if err != nil {
		v.err = err
		return r
	}
	// The worst delivery is the event's state.
	for _, tone := range []string{"good", "wait", "bad"} {
		for i := range list.Data {
			if b := deliveryBadge(&list.Data[i]); b.Tone == tone {
				r.Badge = b
			}
		}
	}
	if r.Badge.Word == "" && e.PendingWebhooks > 0 {
		r.Badge = badges["pending"]
	}
	return r
}

// aboutOf says in a few words what the object of an event is, and its amount; nil for none.
func aboutOf(e *event.Event) (about string, amount any) {
	var o struct {
		Object, Name, Description, Reference, Phone string
		Number                                      string          `json:"invoice_number"`
		CustomerName                                string          `json:"customer_name"`
		Amount                                      decimal.Decimal `json:"amount"`
		Total                                       int64           `json:"total"`
		URL                                         string          `json:"url"`
		Destination                                 struct{ Name, Number string }
	}
	_ = json.Unmarshal(e.Data.Object, &o) // fields of other types stay empty
	switch {
	case o.Destination.Number+o.Destination.Name != "":
		about = "to " + orDefault(o.Destination.Name, maskedNumber(o.Destination.Number))
	case o.Number != "":
		about = joinNonEmpty(o.Number, o.CustomerName)
	case o.Name != "":
		about = o.Name
	case o.Phone != "":
		about = "from " + maskedNumber(o.Phone)
	default:
		about = orDefault(o.Description, orDefault(o.Reference, hostOf(o.URL)))
	}
	pesewas := o.Amount.IntPart()
	switch o.Object {
	case "payout", "disbursement", "disbursement_batch":
		pesewas = o.Amount.Shift(2).IntPart()
	case "invoice":
		pesewas = o.Total
	}
	if pesewas != 0 {
		amount = cedis(pesewas)
	}
	return about, amount
}

func (v *visit) eventPage(e *event.Event, p *page) error {
	deliveries, err := v.svc.Webhooks.ListDeliveries(v.Context(), v.caller, webhook.ListDeliveriesParams{Event: e.ID, Page: api.Page{Limit: perPage}})
	if err != nil {
		return err
	}
	row := v.eventRow(e)
	object := objectOf(e)
	about := link{object, v.source(string(e.Type), object)}
	if strings.HasSuffix(string(e.Type), ".deleted") { // the object is gone
		about.Href = ""
	}
	p.Title, p.Badge, p.Sentence = string(e.Type), row.Badge, sentence("%s, %s", capital(orDefault(row.Below, "an object")), v.when(e.CreatedAt))
	p.Forms = []*form{{Name: "resend", Button: "Send it again", do: act(v.svc.Webhooks.Resend)}}
	if len(deliveries.Data) == 0 {
		p.Live = []section{{Title: "Deliveries", Text: "No webhook endpoint was told of it."}}
	}
	for i := range deliveries.Data {
		p.Live = append(p.Live, v.delivery(&deliveries.Data[i]))
	}
	p.Live = append(p.Live, section{Title: "Object at that time", Verbatim: indented(e.Data.Object)})
	p.Side = []section{{Title: "Details", Facts: facts("Object", about, "Amount", row.Amount, "Time", e.CreatedAt, "Under way", e.PendingWebhooks, "Event", id(e.ID),
		"Request", id(orEmpty(e.Request.ID)), "Idempotency", id(orEmpty(e.Request.IdempotencyKey)))}}
	return nil
}

// delivery shows a delivery with its attempts and what was answered.
func (v *visit) delivery(d *webhook.Delivery) section {
	s := section{
		Title: "Delivery to " + v.endpointHost(d.Endpoint),
		Facts: facts("Status", deliveryBadge(d), "Endpoint", link{d.Endpoint, v.url("webhooks", d.Endpoint)}, "Told as", d.Type, "Next attempt", d.NextAttemptAt),
		Table: &table{Caption: "Attempts", Head: []string{"Time", "Outcome", "Answer"}},
	}
	for _, a := range d.Attempts {
		said, outcome := a.Response, fmt.Sprintf("%d in %d ms", a.StatusCode, a.Duration)
		if a.StatusCode == 0 {
			said, outcome = a.Error, fmt.Sprintf("No answer in %d ms", a.Duration)
		}
		s.Table.Rows = append(s.Table.Rows, []any{a.At, outcome, said})
	}
	if len(d.Attempts) == 0 {
		s.Table, s.Text = nil, "Not tried yet."
	}
	return s
}
