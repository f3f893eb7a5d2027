package collect

import (
	"context"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/lookup"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
)

// searchedPeople bounds the customers of a name, and its consumers, whose payments Search finds. It takes the
// newest of each.
const searchedPeople = 10

func (s *Service) Search(ctx context.Context, caller api.Caller, p payment.SearchParams) (list *api.List[payment.Payment], err error) {
	q := engine.Query(caller, p.ListParams)
	q.Where = engine.Where(q.Where, "provider", p.Network)
	found := listing("/v1/payments")
	if strings.TrimSpace(p.Text) == "" {
		return found.List(ctx, s.engine, q, p.Page)
	}
	err = s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		v := lookup.Parse(p.Text)
		if o, err := payments.Get(tx, q.Scope, v.Text); err == nil && v.Text != "" {
			list = api.NewList("/v1/payments", []payment.Payment{found.Show(&o.Value)}, false)
			return nil
		}
		either, err := s.searched(tx, v)
		if err == nil {
			list, err = found.AnyTx(tx, q, either, p.Page)
		}
		return err
	})
	return list, err
}

// searched returns the conditions that select the payments for an entered value, one list for each way to read it.
func (s *Service) searched(tx *engine.ReadTx, v lookup.Value) (either [][]storage.Equal, err error) {
	add := func(column string, value any) {
		either = append(either, []storage.Equal{{Column: column, Value: value}})
	}
	if v.Text != "" {
		add("reference", v.Text)
	}
	if v.Pesewas > 0 {
		add("amount", v.Pesewas)
	}
	for _, end := range v.PhoneEnds {
		condition := []storage.Equal{{Column: "phone_end", Value: end}}
		either = append(either, engine.Where(condition, "phone_start", v.PhoneStart))
	}
	if v.Name == "" {
		return either, nil
	}
	customers, consumers, err := s.config.Accounts.Named(tx, v.Name, searchedPeople)
	for _, id := range customers {
		add("customer", id)
	}
	for _, id := range consumers {
		add("payer", id)
	}
	return either, err
}

// phoneEnd returns the key by which a payment is found by the end of the payer's number.
func (r *record) phoneEnd() string {
	whole := ""
	if r.Phoned != nil {
		whole = r.Phoned.Number
	}
	return lookup.PhoneEnd(whole, r.masked())
}

// masked returns the payer's masked number; empty if there is none.
func (r *record) masked() string {
	if r.Phone == nil {
		return ""
	}
	return *r.Phone
}
