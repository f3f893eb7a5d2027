package inspector

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/webhook"
)

var eventNoun = &noun[event.Event]{
	path: "events", prefix: "evt", one: "Event", many: "Events", heads: [5]string{"Event", "Amount", "Deliveries", "", "Time"},
	filters: []field{choice("type", "Type", eventTypes())},
	dated:   true, folds: 4, empty: "Whatever changes is told here, and to the webhook endpoints.",
	reads: func(v *visit) reader[event.Event] { return reading(v.svc.Events.List, v.svc.Events.Get) },
	row:   (*visit).eventRow,
	page:  (*visit).eventPage,
}

func eventTypes() (types []option) {
	for _, t := range slices.Sorted(slices.Values(event.Types())) {
		types = append(types, option{Value: string(t), Label: string(t)})
	}
	return types
}

func (v *visit) eventRow(e *event.Event) row {
	about, amount := v.about(e)
	is := badge{"neutral", "Not sent"}
	for _, off := range v.switchedOff() {
		if (slices.Contains(off.Events, e.Type) || slices.Contains(off.Events, event.AllTypes)) && !e.CreatedAt.Before(off.UpdatedAt.Time) {
			is.Tone = "bad"
		}
	}
	if e.PendingWebhooks > 0 {
		is = badges["pending"]
	}
	order := []string{"good", "wait", "bad"} // the worst delivery is the event's state
	for i, d := range v.deliveriesOf(e.ID, shownDeliveries) {
		if b := deliveryBadge(&d); i == 0 || slices.Index(order, b.Tone) > slices.Index(order, is.Tone) {
			is = b
		}
	}
	return row{Href: v.url("events", e.ID), Title: string(e.Type), Below: about, Amount: amount, Badge: is, At: e.CreatedAt}
}

// about says in a few words what the object of an event is, and its amount; nil for none.
func (v *visit) about(e *event.Event) (about string, amount any) {
	var o struct {
		Object, Name, Description, Reference string
		Number                               string          `json:"invoice_number"`
		CustomerName                         string          `json:"customer_name"`
		Amount                               decimal.Decimal `json:"amount"`
		Total                                int64           `json:"total"`
		Quantity                             int64           `json:"quantity"`
		URL                                  string          `json:"url"`
	}
	_ = json.Unmarshal(e.Data.Object, &o) // fields of other types stay empty
	about = look.Join(" · ", o.Number, o.CustomerName)
	if o.Number == "" {
		about = cmp.Or(v.party(string(e.Type), objectOf(e)), o.Name, o.Description, o.Reference, hostOf(o.URL), v.named(string(e.Type), objectOf(e)))
	}
	pesewas := o.Amount.IntPart()
	switch o.Object {
	case "payout", "disbursement", "disbursement_batch":
		pesewas = o.Amount.Shift(2).IntPart()
	case "invoice", "checkout_session":
		pesewas = o.Total
	case "subscription": // of which a period has several
		pesewas *= o.Quantity
	}
	if pesewas != 0 {
		amount = cedis(pesewas)
	}
	return about, amount
}

func (v *visit) eventPage(e *event.Event, p *page) {
	object := objectOf(e)
	about := link{cmp.Or(v.named(string(e.Type), object), object), v.rowOf(string(e.Type), object).Href}
	p.Sentence = sentence("%s, %s", capital(cmp.Or(p.row.Below, "an object")), v.when(e.CreatedAt))
	p.Forms = []*form{{Name: "resend", Button: "Send it again", do: (*visit).resend}}
	for _, d := range v.deliveriesOf(e.ID, perPage) {
		p.Live = append(p.Live, v.delivery(&d))
	}
	if len(p.Live) == 0 {
		p.Live = []section{{Title: "Deliveries", Text: "No webhook endpoint was told of it."}}
	}
	p.Live = append(p.Live, section{Title: "Object at that time", Verbatim: indented(e.Data.Object)})
	p.Side = []section{{Title: "Details", Facts: facts("Object", about, "Amount", p.row.Amount, "Time", e.CreatedAt, "Event", id(e.ID),
		"Request", id(look.Text(e.Request.ID)), "Idempotency", id(look.Text(e.Request.IdempotencyKey)))}}
}

func (v *visit) resend(*input) (any, error) {
	e, err := v.svc.Webhooks.Resend(v.Context(), v.caller, v.id)
	if err == nil && e.PendingWebhooks == 0 {
		return nil, api.Invalid("id", "No active endpoint takes events of this type, so nothing was sent.")
	}
	return e, err
}

// delivery shows a delivery with its attempts and what was answered.
func (v *visit) delivery(d *webhook.Delivery) section {
	s := section{
		Title: "Delivery to " + v.endpointHost(d.Endpoint),
		Facts: facts("Status", deliveryBadge(d), "Endpoint", v.linked("webhooks", &d.Endpoint), "Next attempt", d.NextAttemptAt),
		Table: &table{Caption: "Attempts", Head: []string{"Time", "Outcome", "Answer"}},
	}
	for _, a := range d.Attempts {
		said, outcome := a.Response, fmt.Sprintf("%d in %d ms", a.StatusCode, a.Duration)
		if a.StatusCode == 0 {
			said, outcome = a.Error, fmt.Sprintf("No answer in %d ms", a.Duration)
		}
		s.Table.Rows = append(s.Table.Rows, []any{look.Seconds(a.At.Time, v.now), outcome, said})
	}
	if len(d.Attempts) == 0 {
		s.Table, s.Text = nil, "Not tried yet."
	}
	return s
}
