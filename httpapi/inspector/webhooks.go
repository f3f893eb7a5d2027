package inspector

import (
	"strings"

	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/webhook"
)

func (v *visit) webhooks() (*page, error) {
	list, err := v.svc.Webhooks.List(v.Context(), v.caller, webhook.ListParams{Page: v.page()})
	if err != nil {
		return nil, err
	}
	return &page{
		Title: "Webhook endpoints", NavPath: "webhooks",
		Forms: []*form{{
			Name: "create", Title: "New endpoint", Button: "Register the endpoint",
			Fields: []field{
				{Name: "url", Label: "Address", Kind: "url", Required: true},
				{Name: "events", Label: "Types of events", Value: "*", Required: true, Hint: "With spaces between; * stands for all."},
			},
			do: (*visit).createWebhook,
		}},
		Live:     []section{{Rows: rowsOf(list, v.webhookRow), Empty: "There is no webhook endpoint."}},
		NextPage: nextPage(v, list, func(e *webhook.Endpoint) string { return e.ID }),
	}, nil
}

func (v *visit) webhookRow(e *webhook.Endpoint) row {
	return row{Href: v.url("webhooks", e.ID), Title: e.URL, Detail: types(e), State: activity(e.Active), At: e.CreatedAt}
}

func types(e *webhook.Endpoint) string {
	names := make([]string, len(e.Events))
	for i, t := range e.Events {
		names[i] = string(t)
	}
	return strings.Join(names, " ")
}

func (v *visit) createWebhook(in *input) (*result, error) {
	p := webhook.CreateParams{URL: in.text("url")}
	for t := range strings.FieldsSeq(strings.ReplaceAll(in.text("events"), ",", " ")) {
		p.Events = append(p.Events, event.Type(t))
	}
	e, err := v.svc.Webhooks.Create(v.Context(), v.caller, p)
	if err != nil {
		return nil, err
	}
	return v.secret(e), nil
}

// secret shows what no later page can.
func (v *visit) secret(e *webhook.Endpoint) *result {
	s := &section{Title: "The secret", Text: "It was shown when this form was sent first, and cannot be shown again."}
	if e.Secret != "" {
		s.Text = "Deliveries are signed with it. It is shown this once."
		s.Facts = []fact{{Name: "Secret", Value: e.Secret, Code: true, Wide: true}, {Name: "Endpoint", Value: e.ID, Href: v.url("webhooks", e.ID)}}
	}
	return &result{showOnce: s}
}

func (v *visit) webhook() (*page, error) {
	e, err := v.svc.Webhooks.Get(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	list, err := v.svc.Webhooks.ListDeliveries(v.Context(), v.caller, webhook.DeliveryListParams{Endpoint: e.ID, Page: v.page()})
	if err != nil {
		return nil, err
	}
	turn := &form{Name: "deactivate", Button: "Switch off", do: setEndpoint(false)}
	if !e.Active {
		turn = &form{Name: "activate", Button: "Switch on", do: setEndpoint(true)}
	}
	return &page{
		Title: "Webhook endpoint", NavPath: "webhooks",
		Live: []section{
			{
				Facts: []fact{
					{Name: "ID", Value: e.ID, Code: true},
					{Name: "State", Value: activity(e.Active), State: true},
					{Name: "Address", Value: e.URL, Wide: true},
					{Name: "Types of events", Value: types(e), Wide: true},
					{Name: "Created", Value: formatTime(e.CreatedAt)},
				},
				Buttons: []*form{
					{Name: "ping", Button: "Ping", do: (*visit).ping},
					turn,
					{Name: "rotate", Button: "New secret", do: (*visit).rotate},
					{Name: "delete", Button: "Delete", Danger: true, do: (*visit).deleteWebhook},
				},
			},
			{Title: "Deliveries", Rows: rowsOf(list, v.deliveryRow), Empty: "It was told nothing yet."},
		},
		NextPage: nextPage(v, list, func(d *webhook.Delivery) string { return d.ID }),
	}, nil
}

func (v *visit) deliveryRow(d *webhook.Delivery) row {
	r := row{Href: v.url("events", d.Event), Title: string(d.Type), Detail: d.Event, State: string(d.Status), At: d.CreatedAt}
	if n := len(d.Attempts); n > 0 {
		r.Amount = attempts(n)
	}
	return r
}

func attempts(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return formatCount(int64(n)) + " attempts"
}

func setEndpoint(active bool) func(*visit, *input) (*result, error) {
	return func(v *visit, _ *input) (*result, error) {
		_, err := v.svc.Webhooks.Update(v.Context(), v.caller, v.id, webhook.UpdateParams{Active: &active})
		return nil, err
	}
}

func (v *visit) ping(*input) (*result, error) {
	d, err := v.svc.Webhooks.Ping(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	s := v.delivery(d)
	s.Title = "Ping"
	return &result{showOnce: &s}, nil
}

func (v *visit) rotate(*input) (*result, error) {
	e, err := v.svc.Webhooks.RotateSecret(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	return v.secret(e), nil
}

func (v *visit) deleteWebhook(*input) (*result, error) {
	_, err := v.svc.Webhooks.Delete(v.Context(), v.caller, v.id)
	return &result{redirect: v.url("webhooks")}, err
}
