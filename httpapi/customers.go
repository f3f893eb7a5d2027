package httpapi

import (
	"net/http"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
)

// customerRoutes are a merchant's records of who buys there.
func customerRoutes(svc *payments.Service) []route {
	h := customerHandlers{svc}
	return []route{
		{method: http.MethodPost, pattern: "/v1/customers", resource: "customers", write: true, handle: h.create},
		{method: http.MethodGet, pattern: "/v1/customers", resource: "customers", handle: h.list},
		{method: http.MethodGet, pattern: "/v1/customers/{id}", resource: "customers", handle: h.get},
		{method: http.MethodPost, pattern: "/v1/customers/{id}", resource: "customers", write: true, handle: h.update},
		{method: http.MethodDelete, pattern: "/v1/customers/{id}", resource: "customers", write: true, handle: h.delete},
	}
}

type customerHandlers struct{ svc *payments.Service }

func (h customerHandlers) create(r *request) (any, error) {
	b := r.body()
	p := customerParams(b)
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.svc.Accounts.CreateCustomer(r.Context(), r.caller, p)
}

func customerParams(b *fields) account.CreateCustomerParams {
	return account.CreateCustomerParams{
		Name: b.text("name"), Email: b.text("email"), Phone: b.text("phone_number"),
		Address: b.text("address"), Metadata: b.metadata("metadata"),
	}
}

func (h customerHandlers) update(r *request) (any, error) {
	b := r.body()
	// A field that is sent as null is cleared.
	text := func(name string) *string {
		if b.null(name) {
			return new("")
		}
		return b.optionalText(name)
	}
	u := account.UpdateCustomerParams{
		Name: text("name"), Email: text("email"), Phone: text("phone_number"),
		Address: text("address"), Metadata: b.metadata("metadata"),
	}
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.svc.Accounts.UpdateCustomer(r.Context(), r.caller, r.id(), u)
}

func (h customerHandlers) get(r *request) (any, error) {
	return answerObject(r, h.svc.Accounts.GetCustomerJSON)
}

func (h customerHandlers) delete(r *request) (any, error) {
	return h.svc.Accounts.DeleteCustomer(r.Context(), r.caller, r.id())
}

func (h customerHandlers) list(r *request) (any, error) {
	q := r.query()
	p := account.ListCustomersParams{
		Page: q.page(), Email: q.text("email"), Phone: q.text("phone"), Created: q.times("created"),
	}
	if err := q.err(); err != nil {
		return nil, err
	}
	return answerList(r, p, h.svc.Accounts.ListCustomersJSON)
}
