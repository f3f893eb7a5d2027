package api

import "slices"

// resources are the nouns that the permissions of an API key name. A test of package
// httpapi holds the routes against them, one of package event the events.
var resources = []string{
	"balance", "checkout_sessions", "coupons", "customers", "disbursements", "events", "invoices", "lookup",
	"payments", "payouts", "plans", "products", "qr_codes", "refunds", "subscriptions", "test_helpers", "webhooks",
}

// Resources returns the resources that an API key's permissions can name, in alphabetical order.
func Resources() []string { return slices.Clone(resources) }

// IsResource reports whether name is a resource that an API key's permissions can name.
func IsResource(name string) bool { return slices.Contains(resources, name) }

// Reads reports whether the caller may read a resource.
func (c Caller) Reads(resource string) bool {
	return c.Permissions == nil || c.Permissions.Allows(resource, false)
}

// Writes reports whether the caller may change a resource.
func (c Caller) Writes(resource string) bool {
	return c.Permissions == nil || c.Permissions.Allows(resource, true)
}
