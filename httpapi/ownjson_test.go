package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/subscription"
	"github.com/seed-7082ffec/payments/webhook"
)

// A signature that changed would slow each of these answers, and no other test would notice.
func TestServicesWriteTheirJSON(t *testing.T) {
	svc := must.Get(payments.New(t.Context(), memory.New(), payments.Config{}))(t)
	writes[payment.ListParams](t, "payments", svc.Payments)
	writes[qrcode.ListParams](t, "QR codes", svc.QRCodes)
	writes[payout.ListParams](t, "payouts", svc.Payouts)
	writes[payout.ListParams](t, "disbursements", svc.Disbursements)
	writes[disbursement.ListBatchesParams](t, "batches", batchesOf(svc.Disbursements))
	writes[invoice.ListParams](t, "invoices", svc.Invoices)
	writes[subscription.ListParams](t, "subscriptions", svc.Subscriptions)
	writes[checkout.ListParams](t, "sessions", svc.Checkout)
	writes[refund.ListParams](t, "refunds", svc.Refunds)
	writes[webhook.ListParams](t, "webhooks", svc.Webhooks)
	writes[account.ListCustomersParams](t, "customers", customersOf(svc.Accounts))
}

func writes[P any](t *testing.T, what string, service any) {
	_, one := service.(ownJSON)
	_, list := service.(ownListJSON[P])
	expect.True(t, one, "the JSON of one of %s is encoded", what)
	expect.True(t, list, "the JSON of a list of %s is encoded", what)
}

// A host's fake need only return its objects.
func TestFakesAreEncoded(t *testing.T) {
	type object struct {
		ID string `json:"id"`
	}
	get := func(_ context.Context, _ api.Caller, id string) (*object, error) { return &object{id}, nil }
	list := func(context.Context, api.Caller, api.Page) (*api.List[object], error) {
		return api.NewList("/v1/things", []object{{"x_1"}}, false), nil
	}
	asked := func(path string) *request {
		return &request{Request: httptest.NewRequest(http.MethodGet, path, nil), names: []string{"id"}, values: [maxWildcards]string{"x_2"}}
	}
	one := must.Get(getFrom(nil, get)(asked("/v1/things/x_2")))(t)
	expect.Equal(t, one.(*object).ID, "x_2", "the object")
	all := must.Get(listFrom(nil, list)(asked("/v1/things?limit=5")))(t)
	expect.Equal(t, all.(*api.List[object]).Data[0].ID, "x_1", "the first of the list")
}
