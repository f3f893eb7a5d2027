package event

import "strings"

// Type is the type of an event, such as "payment.succeeded".
type Type string

// The types of events that the library records. [Types] also returns those that only a host records.
const (
	PaymentCreated    Type = "payment.created"
	PaymentPending    Type = "payment.pending"
	PaymentProcessing Type = "payment.processing"
	PaymentSucceeded  Type = "payment.succeeded"
	PaymentFailed     Type = "payment.failed"
	PaymentCanceled   Type = "payment.canceled"

	InvoiceCreated             Type = "invoice.created"
	InvoiceUpdated             Type = "invoice.updated"
	InvoiceFinalized           Type = "invoice.finalized"
	InvoiceSent                Type = "invoice.sent"
	InvoicePaid                Type = "invoice.paid"
	InvoicePaymentFailed       Type = "invoice.payment_failed"
	InvoiceVoided              Type = "invoice.voided"
	InvoiceMarkedUncollectible Type = "invoice.marked_uncollectible"
	InvoiceDeleted             Type = "invoice.deleted"

	PayoutCreated    Type = "payout.created"
	PayoutPending    Type = "payout.pending"
	PayoutProcessing Type = "payout.processing"
	PayoutCompleted  Type = "payout.completed" // succeeded or completed
	PayoutFailed     Type = "payout.failed"
	PayoutCanceled   Type = "payout.canceled"

	DisbursementCreated    Type = "disbursement.created"
	DisbursementPending    Type = "disbursement.pending"
	DisbursementProcessing Type = "disbursement.processing"
	DisbursementCompleted  Type = "disbursement.completed"
	DisbursementFailed     Type = "disbursement.failed"
	DisbursementCanceled   Type = "disbursement.canceled"

	RefundCreated   Type = "refund.created"
	RefundSucceeded Type = "refund.succeeded"
	RefundFailed    Type = "refund.failed"

	CheckoutSessionCompleted Type = "checkout.session.completed"
	CheckoutSessionExpired   Type = "checkout.session.expired"

	DisbursementBatchCreated   Type = "disbursement_batch.created"
	DisbursementBatchCompleted Type = "disbursement_batch.completed"

	PlanCreated Type = "plan.created"
	PlanUpdated Type = "plan.updated"
	PlanDeleted Type = "plan.deleted"

	SubscriptionCreated          Type = "subscription.created"
	SubscriptionUpdated          Type = "subscription.updated"
	SubscriptionCanceled         Type = "subscription.canceled"
	SubscriptionPaused           Type = "subscription.paused"
	SubscriptionResumed          Type = "subscription.resumed"
	SubscriptionTrialWillEnd     Type = "subscription.trial_will_end"
	SubscriptionPaymentSucceeded Type = "subscription.payment_succeeded"
	SubscriptionPaymentFailed    Type = "subscription.payment_failed"

	WebhookEndpointDisabled Type = "webhook_endpoint.disabled"

	CustomerCreated Type = "customer.created"
	CustomerUpdated Type = "customer.updated"
	CustomerDeleted Type = "customer.deleted"

	QRCodeCreated Type = "qr_code.created"
	QRCodeUpdated Type = "qr_code.updated"
	QRCodeDeleted Type = "qr_code.deleted"
)

// catalogue has every type that calls may record, subscribe to and filter by: the union of
// the specification's two lists, and the library's own.
var catalogue = func() map[Type]bool {
	verbs := map[string]string{
		"payment":          "created pending processing succeeded failed canceled",
		"subscription":     "created updated canceled paused resumed trial_will_end payment_succeeded payment_failed",
		"payout":           "created pending processing completed failed canceled",
		"disbursement":     "created pending processing completed failed canceled",
		"refund":           "created succeeded failed",
		"checkout.session": "completed expired",
		"plan":             "created updated deleted",
		"customer":         "created updated deleted",
		"invoice":          "created updated finalized sent paid payment_failed voided marked_uncollectible deleted",
		"qr_code":          "created updated deleted",
		"webhook_endpoint": "disabled",

		"disbursement_batch": "created completed",
	}
	types := map[Type]bool{}
	for noun, list := range verbs {
		for verb := range strings.FieldsSeq(list) {
			types[Type(noun+"."+verb)] = true
		}
	}
	return types
}()

// synonyms maps the second name of a fact to the name under which it is recorded.
var synonyms = map[Type]Type{
	"payment.completed":         "payment.succeeded",
	"refund.completed":          "refund.succeeded",
	"subscription.trial_ending": "subscription.trial_will_end",
}

// Canonical returns the name under which a type is recorded, and whether the type exists. For
// example, payment.completed and payment.succeeded are one fact.
func (t Type) Canonical() (Type, bool) {
	if c, ok := synonyms[t]; ok {
		return c, true
	}
	return t, catalogue[t]
}

// resources maps the noun of a type to the resource that an API key must be allowed to read
// to see the objects of its events; see [api.Resources].
var resources = map[string]string{
	"payment":            "payments",
	"subscription":       "subscriptions",
	"payout":             "payouts",
	"disbursement":       "disbursements",
	"disbursement_batch": "disbursements",
	"refund":             "refunds",
	"checkout.session":   "checkout_sessions",
	"plan":               "plans",
	"customer":           "customers",
	"invoice":            "invoices",
	"qr_code":            "qr_codes",
	"webhook_endpoint":   "webhooks",
}

// Resource returns the resource that an API key must be allowed to read to see the objects of
// events of the type, such as "payouts"; empty for an unknown type.
func (t Type) Resource() string {
	canonical, ok := t.Canonical()
	if !ok {
		return ""
	}
	return resources[string(canonical[:strings.LastIndexByte(string(canonical), '.')])]
}

// Types returns all types, synonyms included, in no particular order.
func Types() []Type {
	all := make([]Type, 0, len(catalogue)+len(synonyms))
	for t := range catalogue {
		all = append(all, t)
	}
	for t := range synonyms {
		all = append(all, t)
	}
	return all
}

// AllTypes stands for every type in a subscription.
const AllTypes Type = "*"
