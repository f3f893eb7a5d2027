package inspector

import (
	"cmp"
	"context"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/look"
	"github.com/seed-7082ffec/payments/internal/phone"
)

var customerNoun = &noun[account.Customer]{
	path: "customers", prefix: "cus", one: "Customer", many: "Customers", heads: [5]string{"Customer", "", "", "E-mail", "Since"},
	search: "Name, e-mail or phone number", dated: true, empty: "Whom the merchant writes invoices to stands here.",
	forms: func(v *visit) []*form {
		return []*form{making("customer", makes(v.svc.Accounts.CreateCustomer), customerFields(&account.Customer{}))}
	},
	reads: func(v *visit) reader[account.Customer] {
		return reading(func(ctx context.Context, caller api.Caller, p customerParams) (*api.List[account.Customer], error) {
			return v.svc.Accounts.SearchCustomers(ctx, caller, p.Text, p.ListCustomersParams)
		}, v.svc.Accounts.GetCustomer)
	},
	row: func(v *visit, c *account.Customer) row {
		return row{Href: v.url("customers", c.ID), Title: cmp.Or(c.Name, c.Email, look.Phone(c.Phone), "Customer"), Below: look.Phone(c.Phone), For: c.Email, At: c.CreatedAt}
	},
	page: (*visit).customerPage,
}

// customerParams choose customers, also by what is searched for.
type customerParams struct {
	Text string
	account.ListCustomersParams
}

// customerFields are a form's, with what a customer has.
func customerFields(c *account.Customer) []field {
	return []field{
		{Name: "name", Label: "Name", Value: c.Name},
		{Name: "email", Label: "E-mail", Kind: "email", Value: c.Email},
		{Name: "phone_number", Label: "Phone", Value: c.Phone, Hint: "Such as 024 123 4567."},
		{Name: "address", Label: "Address", Kind: "lines", Value: c.Address},
	}
}

func (v *visit) customerPage(c *account.Customer, p *page) {
	p.Sentence = sentence("A customer of %s since %s", v.merchant.Name, c.CreatedAt.UTC().Format("2 January 2006"))
	p.Live = []section{invoiceNoun.related(v, "customer", c.ID), paymentNoun.related(v, "customer", c.ID), v.timeline("customer", c.ID, c.CreatedAt.Time, "", nil, v.messageTurns(c.ID, "")...)}
	p.Side = []section{{Title: "Details", Facts: facts("Name", c.Name, "E-mail", c.Email, "Phone", phone.Spaced(c.Phone), "Address", c.Address, "Customer", id(c.ID), "Created", c.CreatedAt)}}
	p.Forms = []*form{
		{Name: "change", Title: "Change", Button: "Keep the change", Fields: customerFields(c), do: changes(v.svc.Accounts.UpdateCustomer)},
		{Name: "delete", Title: "Delete", Button: "Delete", Danger: true, Note: "Invoices and payments stay, and no longer name the customer's record.", do: act(v.svc.Accounts.DeleteCustomer)},
	}
}
