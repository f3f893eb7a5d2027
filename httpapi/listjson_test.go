package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/subscription"
	"github.com/seed-7082ffec/payments/webhook"
)

// nounReads are the calls of a service that return a noun as Go values.
type nounReads struct {
	list func(context.Context) (any, error)
	get  func(ctx context.Context, id string) (any, error)
}

// readsOf returns the nounReads of two methods of a service.
func readsOf[L, G, P any](caller api.Caller, list func(context.Context, api.Caller, P) (*L, error), get func(context.Context, api.Caller, string) (*G, error)) nounReads {
	return nounReads{
		list: func(ctx context.Context) (any, error) {
			var all P
			return list(ctx, caller, all)
		},
		get: func(ctx context.Context, id string) (any, error) { return get(ctx, caller, id) },
	}
}

// GET answers, byte by byte, with the encoded values that the services return: the first
// time, the second time and after a change.
func TestReadsEqualEncodedValues(t *testing.T) {
	s := paymentstest.New(t)
	matrixWorld(t, s)
	nouns := map[string]nounReads{
		"/v1/payouts":             readsOf[api.List[payout.Transfer], payout.Transfer, payout.ListParams](s.Caller, s.Payouts.List, s.Payouts.Get),
		"/v1/disbursements":       readsOf[api.List[payout.Transfer], payout.Transfer, payout.ListParams](s.Caller, s.Disbursements.List, s.Disbursements.Get),
		"/v1/disbursements/batch": readsOf[api.List[disbursement.Batch], disbursement.Batch, disbursement.ListBatchesParams](s.Caller, s.Disbursements.ListBatches, s.Disbursements.GetBatch),
		"/v1/payments":            readsOf[api.List[payment.Payment], payment.Payment, payment.ListParams](s.Caller, s.Payments.List, s.Payments.Get),
		"/v1/qr_codes":            readsOf[api.List[qrcode.QRCode], qrcode.QRCode, qrcode.ListParams](s.Caller, s.QRCodes.List, s.QRCodes.Get),
		"/v1/invoices":            readsOf[api.List[invoice.Invoice], invoice.Invoice, invoice.ListParams](s.Caller, s.Invoices.List, s.Invoices.Get),
		"/v1/checkout/sessions":   readsOf[api.List[checkout.Session], checkout.Session, checkout.ListParams](s.Caller, s.Checkout.List, s.Checkout.Get),
		"/v1/refunds":             readsOf[api.List[refund.Refund], refund.Refund, refund.ListParams](s.Caller, s.Refunds.List, s.Refunds.Get),
		"/v1/customers":           readsOf[api.List[account.Customer], account.Customer, account.ListCustomersParams](s.Caller, s.Accounts.ListCustomers, s.Accounts.GetCustomer),
		"/v1/products":            readsOf[api.List[catalog.Product], catalog.Product, catalog.ListProductsParams](s.Caller, s.Products.List, s.Products.Get),
		"/v1/coupons":             readsOf[api.List[catalog.Coupon], catalog.Coupon, catalog.ListCouponsParams](s.Caller, s.Coupons.List, s.Coupons.Get),
		"/v1/subscriptions":       readsOf[api.List[subscription.Subscription], subscription.Subscription, subscription.ListParams](s.Caller, s.Subscriptions.List, s.Subscriptions.Get),
		"/v1/plans":               readsOf[api.List[catalog.Plan], catalog.Plan, catalog.ListPlansParams](s.Caller, s.Plans.List, s.Plans.Get),
	}
	nouns["/v1/webhooks"] = nounReads{
		list: func(ctx context.Context) (any, error) { return s.Webhooks.List(ctx, s.Caller, webhook.ListParams{}) },
		get:  func(ctx context.Context, id string) (any, error) { return s.Webhooks.Get(ctx, s.Caller, id) },
	}
	compare := func(t *testing.T, path string, value any, err error) []byte {
		t.Helper()
		must.Do(t, err)
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		must.Do(t, e.Encode(value))
		for range 2 {
			response, got := s.Do("GET", path, nil)
			must.True(t, response.StatusCode == 200 && response.Header.Get("Content-Type") == "application/json" && bytes.Equal(got, want.Bytes()), "GET %s: %d %s, want %s", path, response.StatusCode, got, &want)
		}
		return want.Bytes()
	}
	for path, n := range nouns {
		t.Run(path, func(t *testing.T) {
			value, err := n.list(t.Context())
			id := field(t, compare(t, path, value, err), "data.0.id")
			must.True(t, id != "", "the world has none of these")
			value, err = n.get(t.Context(), id)
			compare(t, path+"/"+id, value, err)
		})
	}
	for path, change := range map[string]string{
		"/v1/qr_codes": `{"name":"changed"}`, "/v1/customers": `{"name":"changed"}`, "/v1/webhooks": `{"is_active":false}`,
	} {
		value, err := nouns[path].list(t.Context())
		before := compare(t, path, value, err)
		id := field(t, before, "data.0.id")
		method := "POST"
		if path == "/v1/webhooks" {
			method = "PATCH"
		}
		if response, data := s.Do(method, path+"/"+id, change); response.StatusCode != 200 {
			t.Fatalf("change %s: %s", id, data)
		}
		value, err = nouns[path].list(t.Context())
		if after := compare(t, path, value, err); bytes.Equal(before, after) {
			t.Errorf("%s has not changed: %s", path, after)
		}
		value, err = nouns[path].get(t.Context(), id)
		compare(t, path+"/"+id, value, err)
	}
}
