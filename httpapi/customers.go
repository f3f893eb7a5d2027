package httpapi

import "github.com/seed-7082ffec/payments"

// customerRoutes are a merchant's records of who buys there.
func customerRoutes(svc *payments.Service) []route {
	const customers = "customers"
	s := svc.Accounts
	return []route{
		write(customers, "POST /v1/customers", withBody(s.CreateCustomer)),
		read(customers, "GET /v1/customers", listFrom(customersOf(s), s.ListCustomers)),
		read(customers, "GET /v1/customers/{id}", getFrom(customersOf(s), s.GetCustomer)),
		write(customers, "POST /v1/customers/{id}", withIDBody(s.UpdateCustomer)),
		write(customers, "DELETE /v1/customers/{id}", withID(s.DeleteCustomer)),
	}
}
