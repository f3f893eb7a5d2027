package payment_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/notify/recording"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/internal/totals"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

var start = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// till is the service on its own store, with a clock that the test sets.
type till struct {
	*collect.Service
	events event.Service
	engine *engine.Engine
	now    time.Time
}

func newTill(t *testing.T) *till {
	t.Helper()
	store := memory.New()
	for _, kinds := range [][]*storage.Kind{engine.Kinds(), recording.Kinds(), collect.Kinds(), totals.Kinds()} {
		must.Do(t, store.Define(t.Context(), kinds...))
	}
	s := &till{now: start}
	clock := func() time.Time { return s.now }
	s.engine = &engine.Engine{
		Store: store, Clock: clock, NewID: ids.New(clock, nil).Make,
		Log: slog.New(slog.DiscardHandler), Runner: new(work.Runner),
	}
	events := recording.New(s.engine)
	s.events = events
	var err error
	s.Service, err = collect.New(s.engine, collect.Config{Events: events})
	must.Do(t, err)
	return s
}

// take stores a payment in a transaction that ends with the given error.
func (s *till) take(t *testing.T, caller api.Caller, p payment.Payment, end error) *payment.Payment {
	t.Helper()
	var kept *payment.Payment
	err := s.engine.Update(t.Context(), caller, func(tx *engine.Tx) error {
		p.ID = s.NewID(tx)
		var err error
		if kept, err = s.RecordCompleted(tx, p, collect.Source{Payer: "acc_payer"}); err != nil {
			return err
		}
		return end
	})
	must.True(t, errors.Is(err, end), "%v", err)
	return kept
}

func TestCompletedPayments(t *testing.T) {
	s := newTill(t)
	caller := api.Caller{Merchant: "mer_1", RequestID: "req_1"}
	masked, code := "024****567", "qr_1"
	kept := s.take(t, caller, payment.Payment{
		Amount: 1250, PaymentMethod: payment.ServiceWallet, Phone: &masked, QRCode: &code,
		Reference: "table 7", Metadata: api.Metadata{"note": "<3"},
	}, nil)
	expect.True(t, strings.HasPrefix(kept.ID, "pay_"), "id %s", kept.ID)
	got := must.Get(s.Get(t.Context(), caller, kept.ID))(t)
	expect.Same(t, got, kept, "read back")

	// The JSON is the API's, and does not name the payer.
	text := must.Get(json.Marshal(got))(t)
	var shown, want any
	must.Do(t, json.Unmarshal(text, &shown))
	wanted := fmt.Sprintf(`{"id":%q,"object":"payment","amount":1250,"amount_refunded":0,"currency":"GHS","status":"completed",
		"payment_method":"service_wallet","provider":null,"phone":"024****567","phone_number":"024****567","qr_code":"qr_1","invoice":null,
		"description":"","reference":"table 7","metadata":{"note":"<3"},"livemode":false,"created_at":"2026-01-31T12:00:00.000Z",
		"completed_at":"2026-01-31T12:00:00.000Z","fee":0,"net":1250,"provider_reference":null,"failure_reason":null,"failure_code":null,"customer":null,
		"checkout_session":null,"subscription":null,"hold_expires_at":null,"next_action":null}`, kept.ID)
	must.Do(t, json.Unmarshal([]byte(wanted), &want))
	expect.Same(t, shown, want, "JSON")

	// Both events carry the payment.
	list := must.Get(s.events.List(t.Context(), caller, event.ListParams{}))(t)
	var types []event.Type
	for _, e := range list.Data {
		types = append(types, e.Type)
		var snapshot any
		must.Do(t, json.Unmarshal(e.Data.Object, &snapshot))
		diff := cmp.Diff(want, snapshot)
		expect.True(t, diff == "", "%s of request %s (-want +got):\n%s", e.Type, *e.Request.ID, diff)
		expect.Same(t, e.Request.ID, new("req_1"), "ID of the request")
	}
	expect.Same(t, types, []event.Type{event.PaymentSucceeded, event.PaymentCreated}, "events, newest first")
}

func TestPaymentRollsBackWithItsTransaction(t *testing.T) {
	s := newTill(t)
	caller := api.Caller{Merchant: "mer_1"}
	undone := s.take(t, caller, payment.Payment{Amount: 1}, errors.New("planned"))
	testkit.WantCode(t, "a payment that was undone", testkit.Err(s.Get(t.Context(), caller, undone.ID)), api.ResourceMissing)
	expect.Equal(t, len(must.Get(s.events.List(t.Context(), caller, event.ListParams{}))(t).Data), 0, "events")
}

func TestListPayments(t *testing.T) {
	s := newTill(t)
	caller := api.Caller{Merchant: "mer_1"}
	qr, invoice, customer, session, subscription := "qr_1", "inv_1", "cus_1", "cs_1", "sub_1"
	var ids []string
	for n, p := range []payment.Payment{
		{QRCode: &qr, PaymentMethod: payment.ServiceWallet},
		{Invoice: &invoice, Customer: &customer, Subscription: &subscription, PaymentMethod: payment.FromPhone},
		{QRCode: &qr, CheckoutSession: &session, PaymentMethod: payment.ServiceWallet},
	} {
		s.now = start.Add(time.Duration(n) * time.Hour)
		p.Amount = int64(n + 1)
		ids = append(ids, s.take(t, caller, p, nil).ID)
	}
	live, other := api.Caller{Merchant: "mer_1", Live: true}, api.Caller{Merchant: "mer_2"}
	strangers := []string{s.take(t, live, payment.Payment{Amount: 1, QRCode: &qr}, nil).ID, s.take(t, other, payment.Payment{Amount: 1, QRCode: &qr}, nil).ID}

	for _, test := range []struct {
		name string
		p    payment.ListParams
		want []string
		more bool
	}{
		{"all", payment.ListParams{}, []string{ids[2], ids[1], ids[0]}, false},
		{"a page", payment.ListParams{Page: api.Page{Limit: 2}}, []string{ids[2], ids[1]}, true},
		{"the next page", payment.ListParams{Page: api.Page{Limit: 2, StartingAfter: ids[1]}}, []string{ids[0]}, false},
		{"a code's", payment.ListParams{QRCode: qr}, []string{ids[2], ids[0]}, false},
		{"an invoice's", payment.ListParams{Invoice: invoice}, []string{ids[1]}, false},
		{"a customer's", payment.ListParams{Customer: customer}, []string{ids[1]}, false},
		{"a session's", payment.ListParams{CheckoutSession: session}, []string{ids[2]}, false},
		{"a subscription's", payment.ListParams{Subscription: subscription}, []string{ids[1]}, false},
		{"from phones", payment.ListParams{PaymentMethod: payment.FromPhone}, []string{ids[1]}, false},
		{"both", payment.ListParams{QRCode: qr, Invoice: invoice}, nil, false},
		{"completed", payment.ListParams{Status: payment.Completed, QRCode: qr}, []string{ids[2], ids[0]}, false},
		{"failed", payment.ListParams{Status: payment.Failed}, nil, false},
		{"of an hour", payment.ListParams{Created: api.Times{From: start.Add(time.Hour), Until: start.Add(2 * time.Hour)}}, []string{ids[1]}, false},
		{"of one code until then", payment.ListParams{QRCode: qr, Created: api.Times{Until: start.Add(time.Hour)}}, []string{ids[0]}, false},
	} {
		list, err := s.List(t.Context(), caller, test.p)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		var got []string
		for _, p := range list.Data {
			got = append(got, p.ID)
		}
		diff := cmp.Diff(test.want, got)
		expect.True(t, diff == "", "%s: more %t, url %s (-want +got):\n%s", test.name, list.HasMore, list.URL, diff)
		expect.Equal(t, list.HasMore, test.more, "%s: more", test.name)
		expect.Equal(t, list.URL, "/v1/payments", "%s: url", test.name)
	}
	for _, id := range strangers {
		testkit.WantCode(t, "a stranger's payment", testkit.Err(s.Get(t.Context(), caller, id)), api.ResourceMissing)
		testkit.WantCode(t, "a stranger's payment as cursor", testkit.Err(s.List(t.Context(), caller, payment.ListParams{Page: api.Page{StartingAfter: id}})), api.ResourceMissing)
	}
}

// An export reads all pages, and reports its progress.
func TestExport(t *testing.T) {
	s := newTill(t)
	caller := api.Caller{Merchant: "mer_1"}
	for n := range 101 {
		s.take(t, caller, payment.Payment{Amount: int64(n + 1), PaymentMethod: "wallet"}, nil)
	}
	var b strings.Builder
	var written []int
	err := s.Export(t.Context(), caller, payment.ExportParams{Writer: &b, Progress: func(n int) { written = append(written, n) }})
	must.Do(t, err)
	expect.True(t, strings.Count(b.String(), "\n") == 102, "%v\n%s", err, b.String())
	expect.True(t, strings.Contains(b.String(), ",1.01,GHS,"), "%v\n%s", err, b.String())
	expect.Same(t, written, []int{100, 101}, "told")

	// The method of an invoice's payment is what the caller of Pay said.
	s.take(t, caller, payment.Payment{Amount: 5, PaymentMethod: `=HYPERLINK("http://evil")`}, nil)
	b.Reset()
	must.Do(t, s.Export(t.Context(), caller, payment.ExportParams{Writer: &b}))
	expect.True(t, strings.Contains(b.String(), `,GHS,"'=HYPERLINK(""http://evil"")",`), "%s", b.String()[:300])
}
