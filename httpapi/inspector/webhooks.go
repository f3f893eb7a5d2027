package inspector

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/webhook"
)

var webhookNoun = &noun[webhook.Endpoint]{
	path: "webhooks", prefix: "we", one: "Webhook endpoint", many: "Webhooks", heads: [5]string{"Endpoint", "", "State", "Events", "Since"},
	empty: "Events are posted to an endpoint, signed, until it answers.",
	forms: func(v *visit) []*form {
		return []*form{{
			Name: "create", Title: "Add an endpoint", Button: "Register the endpoint", Main: true,
			Fields: ask(
				field{Name: "url", Label: "Address", Kind: "url", Hint: "Such as https://shop.example.com/webhooks."},
				field{Name: "events", Label: "Types of events", Value: "*", Hint: "With spaces between; * stands for all."},
			),
			do: secret(makes(v.svc.Webhooks.Create)),
		}}
	},
	reads: func(v *visit) reader[webhook.Endpoint] { return reading(v.svc.Webhooks.List, v.svc.Webhooks.Get) },
	row: func(v *visit, e *webhook.Endpoint) row {
		host := hostOf(e.URL)
		_, path, _ := strings.Cut(e.URL, host)
		is := activity[e.Active]
		if v.switchedOff()[e.ID] != nil {
			is = badge{"bad", "Switched off"}
		}
		return row{Href: v.url("webhooks", e.ID), Title: host, Below: path, Badge: is, For: types(e), At: e.CreatedAt}
	},
	page: (*visit).webhookPage,
	also: func(v *visit, p *page) { p.Live = append(p.Live, v.latency()...) },
}

// readSwitchedOff finds the endpoints that the service has switched off because they failed, by their ids.
// What a person has changed since is not among them.
func (v *visit) readSwitchedOff() map[string]*webhook.Endpoint {
	off := map[string]*webhook.Endpoint{}
	for _, e := range listOf(v, v.svc.Events.List, event.ListParams{Type: event.WebhookEndpointDisabled, Page: api.Page{Limit: perPage}}) {
		if is := get(v, v.svc.Webhooks.Get, objectOf(&e)); !is.Active && is.UpdatedAt.Equal(e.CreatedAt.Time) {
			off[is.ID] = is
		}
	}
	return off
}

func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return address
}

func types(e *webhook.Endpoint) string {
	if slices.Equal(e.Events, []event.Type{event.AllTypes}) {
		return "All events"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(e.Events), "[]"), " ", ", ")
}

// secret is an action that shows what no later page can.
func secret(do action) action {
	return func(v *visit, in *input) (any, error) {
		done, err := do(v, in)
		e, ok := done.(*webhook.Endpoint)
		if err != nil || !ok {
			return nil, err
		}
		s := &section{Panel: true, Title: "The secret", Text: "It was shown when this form was sent first, and cannot be shown again."}
		if e.Secret != "" {
			s.Text = "Deliveries are signed with it. It is shown this once."
			s.Facts = facts("Secret", id(e.Secret), "Endpoint", link{e.URL, v.url("webhooks", e.ID)})
		}
		return s, nil
	}
}

func (v *visit) webhookPage(e *webhook.Endpoint, p *page) {
	list, err := v.svc.Webhooks.ListDeliveries(v.Context(), v.caller, webhook.ListDeliveriesParams{Endpoint: e.ID, Page: v.page()})
	p.Sentence = sentence("%s", e.URL)
	if v.switchedOff()[e.ID] != nil {
		p.Problem = "It did not take its events, so it was switched off. Switch it on once it answers again."
	}
	p.Live = []section{paged(v, "Deliveries", [5]string{"Event", "Amount", "Status", "", "Time"}, list, err, (*visit).deliveryRow, "It was told nothing yet.")}
	p.Side = []section{{Title: "Details", Facts: facts("Events", p.row.For, "Endpoint", id(e.ID), "Created", e.CreatedAt)}}
	p.Forms = append([]*form{
		{Name: "ping", Button: "Ping", do: (*visit).ping},
		{
			Name: "rotate", Title: "Make a new secret", Label: "New secret", Button: "Make a new secret", Danger: true,
			Note: "The old secret signs as well for a while, so that the receiver can change over.", do: secret(act(v.svc.Webhooks.RotateSecret)),
		},
	}, switchForms(e.Active, v.svc.Webhooks.Update, "It is told nothing any more.", v.svc.Webhooks.Delete)...)
}

// deliveryBadge is the state of a delivery: waiting, or retrying once an attempt has failed.
func deliveryBadge(d *webhook.Delivery) badge {
	if d.Status == webhook.Pending && len(d.Attempts) > 0 {
		return badges["retrying"]
	}
	return state(d.Status)
}

func (v *visit) deliveryRow(d *webhook.Delivery) row {
	r := row{Href: v.url("events", d.Event), Title: string(d.Type), Badge: deliveryBadge(d), At: d.CreatedAt}
	r.Below, r.Amount = v.about(get(v, v.svc.Events.Get, d.Event))
	if n := len(d.Attempts); n > 1 || n == 1 && d.Status != webhook.Delivered { // else the badge says all
		last := &d.Attempts[n-1]
		r.Below = look.Join(" · ", r.Below, look.Plural(n, "attempt")+", "+answerText(last))
	}
	return r
}

func (v *visit) ping(*input) (any, error) {
	d, err := v.svc.Webhooks.Ping(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	s := v.delivery(d)
	s.Title, s.Panel = "Ping", true
	return &s, nil
}
