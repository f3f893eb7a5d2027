package payment

import (
	"context"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/lookup"
	"github.com/seed-7082ffec/payments/storage"
)

// SearchParams selects payments for a person who looks for one; zero values select all.
type SearchParams struct {
	// Text is one of: an id, a reference, an amount in cedis, a phone number or its last four digits, a
	// name or its first word. The name is that of the payer, of a customer or of a wallet's holder.
	// Only names ignore case. An id finds its payment whatever the other fields say.
	Text string
	// Network is mtn, telecel or airteltigo.
	Network string
	ListParams
}

// searchedPeople bounds the customers and consumers of a name, of each the newest, whose payments
// Search finds.
const searchedPeople = 10

// Search returns the payments that have the text as their id, reference, amount, number or name, newest
// first. It reads by indexes alone. For a name it looks at the payments of the 10 newest customers and
// the 10 newest consumers with it. A whole number finds payments whose payer's number has the same
// first three and last four digits, so those of another payer may be among them. Where only the masked
// number is left, in a payment from a wallet or after payments.Config.NumberRetention, its last three
// digits find the payment.
func (s *Service) Search(ctx context.Context, caller api.Caller, p SearchParams) (list *api.List[Payment], err error) {
	q := engine.Query(caller, p.ListParams)
	q.Where = engine.Where(q.Where, "provider", p.Network)
	found := listing("/v1/payments")
	if strings.TrimSpace(p.Text) == "" {
		return found.List(ctx, s.engine, q, p.Page)
	}
	err = s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		v := lookup.Parse(p.Text)
		if o, err := payments.Get(tx, q.Scope, v.Text); err == nil && v.Text != "" {
			list = api.NewList("/v1/payments", []Payment{found.Show(&o.Value)}, false)
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

// searched returns the conditions of the payments that match an entered value, in each of its senses.
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
