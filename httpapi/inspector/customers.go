package inspector

import (
	"strings"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
)

func (v *visit) customers() (*page, error) {
	p := &page{
		Title: "Customers", NavPath: "customers",
		Filter: []field{
			{Name: "email", Label: "E-mail", Value: v.query.Get("email")},
			{Name: "phone", Label: "Phone number", Value: v.query.Get("phone")},
			v.dayFilter(),
		},
		Forms: []*form{{
			Name: "create", Title: "New customer", Button: "Make the customer",
			Fields: customerFields(&account.Customer{}), do: (*visit).createCustomer,
		}},
	}
	list, err := v.svc.Accounts.ListCustomers(v.Context(), v.caller, account.ListCustomersParams{
		Page: v.page(), Email: strings.TrimSpace(v.query.Get("email")), Phone: strings.TrimSpace(v.query.Get("phone")), Created: v.day(),
	})
	if refusal := asAPIError(err); refusal != nil && refusal.Param != "" {
		p.Problem = refusal.Message // a filter that is no address or number
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	p.Live = []section{{Rows: rowsOf(list, v.customerRow), Empty: "There is no such customer."}}
	p.NextPage = nextPage(v, list, func(c *account.Customer) string { return c.ID })
	return p, nil
}

func (v *visit) customerRow(c *account.Customer) row {
	title := c.Name
	if title == "" {
		title = c.ID
	}
	return row{Href: v.url("customers", c.ID), Title: title, Detail: joinNonEmpty(c.Email, c.Phone), At: c.CreatedAt}
}

// customerFields are a form's, with what a customer has.
func customerFields(c *account.Customer) []field {
	return []field{
		{Name: "name", Label: "Name", Value: c.Name},
		{Name: "email", Label: "E-mail", Kind: "email", Value: c.Email},
		{Name: "phone_number", Label: "Phone", Value: c.Phone},
		{Name: "address", Label: "Address", Kind: "lines", Value: c.Address},
	}
}

func (v *visit) createCustomer(in *input) (*result, error) {
	c, err := v.svc.Accounts.CreateCustomer(v.Context(), v.caller, account.CreateCustomerParams{
		Name: in.text("name"), Email: in.text("email"), Phone: in.text("phone_number"), Address: in.lines("address"),
	})
	if err != nil {
		return nil, err
	}
	return &result{redirect: v.url("customers", c.ID)}, nil
}

func (v *visit) customer() (*page, error) {
	c, err := v.svc.Accounts.GetCustomer(v.Context(), v.caller, v.id)
	if err != nil {
		return nil, err
	}
	invoices, err := v.svc.Invoices.List(v.Context(), v.caller, invoice.ListParams{Page: api.Page{Limit: latest}, Customer: c.ID})
	if err != nil {
		return nil, err
	}
	payments, err := v.svc.Payments.List(v.Context(), v.caller, payment.ListParams{Page: api.Page{Limit: latest}, Customer: c.ID})
	if err != nil {
		return nil, err
	}
	history, err := v.history("customer", c.ID, c.CreatedAt.Time, "updated")
	if err != nil {
		return nil, err
	}
	title := "Customer"
	if c.Name != "" {
		title += " " + c.Name
	}
	return &page{
		Title: title, NavPath: "customers",
		Forms: []*form{{Name: "change", Title: "Change", Button: "Keep the change", Fields: customerFields(c), do: (*visit).changeCustomer}},
		Live: []section{
			{
				Facts: nonEmpty(
					fact{Name: "ID", Value: c.ID, Code: true},
					fact{Name: "E-mail", Value: c.Email},
					fact{Name: "Phone", Value: c.Phone},
					fact{Name: "Address", Value: c.Address, Wide: true},
					fact{Name: "Created", Value: formatTime(c.CreatedAt)},
				),
				Buttons: []*form{{Name: "delete", Button: "Delete", Danger: true, do: (*visit).deleteCustomer}},
			},
			{Title: "Invoices", Rows: rowsOf(invoices, v.invoiceRow), Empty: "There is no invoice for this customer.", More: v.url("invoices") + "?customer=" + c.ID},
			{Title: "Payments", Rows: rowsOf(payments, v.paymentRow), Empty: "This customer has no payment from a phone.", More: v.url("payments") + "?customer=" + c.ID},
			history,
			{JSON: indentJSON(c)},
		},
	}, nil
}

func (v *visit) changeCustomer(in *input) (*result, error) {
	u := account.UpdateCustomerParams{
		Name: new(in.text("name")), Email: new(in.text("email")), Phone: new(in.text("phone_number")), Address: new(in.lines("address")),
	}
	_, err := v.svc.Accounts.UpdateCustomer(v.Context(), v.caller, v.id, u)
	return nil, err
}

func (v *visit) deleteCustomer(*input) (*result, error) {
	_, err := v.svc.Accounts.DeleteCustomer(v.Context(), v.caller, v.id)
	return &result{redirect: v.url("customers")}, err
}
