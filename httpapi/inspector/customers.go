package inspector

import (
	"strings"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
)

var customerNoun = &noun[account.Customer]{
	path: "customers", one: "Customer", many: "Customers", heads: [5]string{"Customer", "", "", "E-mail", "Since"},
	search: "Name, e-mail or phone number", dated: true, empty: "Whom the merchant writes invoices to stands here.",
	forms: func(*visit) ([]*form, error) {
		return []*form{{
			Name: "create", Title: "Make a customer", Button: "Make the customer", Main: true, Fields: customerFields(&account.Customer{}),
			do: func(v *visit, in *input) (any, error) {
				return create(v, in, v.svc.Accounts.CreateCustomer, account.CreateCustomerParams{Name: in.text("name"), Email: in.text("email"), Phone: in.text("phone_number"), Address: in.lines("address")})
			},
		}}, nil
	},
	list: func(v *visit, page api.Page) (*api.List[account.Customer], error) {
		if q := v.param("q"); q != "" {
			return v.svc.Accounts.SearchCustomers(v.Context(), v.caller, q, page)
		}
		return v.svc.Accounts.ListCustomers(v.Context(), v.caller, account.ListCustomersParams{Page: page, Created: v.created()})
	},
	row: func(v *visit, c *account.Customer) row {
		return row{Href: v.url("customers", c.ID), Title: orDefault(c.Name, "Customer"), Below: maskedNumber(c.Phone), For: c.Email, At: c.CreatedAt}
	},
	get: func(v *visit) (*account.Customer, error) {
		return v.svc.Accounts.GetCustomer(v.Context(), v.caller, v.id)
	},
	page: (*visit).customerPage,
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

func (v *visit) customerPage(c *account.Customer, p *page) error {
	owed, err := v.svc.Invoices.List(v.Context(), v.caller, invoice.ListParams{Page: api.Page{Limit: latest}, Customer: c.ID})
	if err != nil {
		return err
	}
	paid, err := v.svc.Payments.List(v.Context(), v.caller, payment.ListParams{Page: api.Page{Limit: latest}, Customer: c.ID})
	if err != nil {
		return err
	}
	happened, err := v.timeline("customer", c.ID, c.CreatedAt.Time, []step{{"created", "Made", "API", ""}, {"updated", "Changed", "API", ""}}, v.messageTurns(c.ID, "")...)
	p.Title = strings.TrimSpace("Customer " + c.Name)
	p.Live = []section{
		related(v, invoiceNoun, owed, "Invoices", "There is no invoice for this customer.", v.url("invoices")+"?customer="+c.ID),
		related(v, paymentNoun, paid, "Payments", "This customer has no payment from a phone.", v.url("payments")+"?customer="+c.ID),
		happened,
	}
	p.Side = []section{{Title: "Details", Facts: facts("Name", c.Name, "E-mail", c.Email, "Phone", c.Phone, "Address", c.Address, "Customer", id(c.ID), "Created", c.CreatedAt)}}
	p.Forms = []*form{
		{Name: "change", Title: "Change", Button: "Keep the change", Fields: customerFields(c), do: func(v *visit, in *input) (any, error) {
			return update(v, in, v.svc.Accounts.UpdateCustomer, account.UpdateCustomerParams{
				Name: new(in.text("name")), Email: new(in.text("email")), Phone: new(in.text("phone_number")), Address: new(in.lines("address")),
			})
		}},
		{Name: "delete", Title: "Delete", Button: "Delete", Danger: true, Note: "Invoices and payments stay, and no longer name the customer's record.", do: act(v.svc.Accounts.DeleteCustomer)},
	}
	return err
}
