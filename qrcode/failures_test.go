package qrcode_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/faultstore"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// When any operation of the store fails, the call returns an error. Repeated under its key, it
// takes effect once.
func TestStoreFailuresReachTheCaller(t *testing.T) {
	store := faultstore.New(memory.New())
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	svc, err := payments.New(t.Context(), store, payments.Config{Logger: slog.New(slog.DiscardHandler), Clock: func() time.Time { return now }})
	fatal(t, err)
	ctx, q := t.Context(), svc.QRCodes
	m, err := svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom", Phone: "0301000000"})
	fatal(t, err)
	caller := api.Caller{Merchant: m.ID}
	named := func(key string) api.Caller { return api.Caller{Merchant: m.ID, IdempotencyKey: key} }
	ama, err := svc.Accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: "0241000001", PIN: "1234"})
	fatal(t, err)
	fatal(t, svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: ama.ID, Amount: decimal.NewFromInt(50), Source: "bank"}))

	var code *qrcode.QRCode
	var shown *qrcode.ConsumerCode
	store.Each(t, "Create", func() (err error) {
		code, err = q.Create(ctx, named("create"), qrcode.CreateParams{Type: qrcode.Dynamic, Amount: pesewas(12_50)})
		return err
	})
	store.Each(t, "Update", func() error {
		name := "Juice"
		_, err := q.Update(ctx, named("update"), code.ID, qrcode.UpdateParams{Name: &name})
		return err
	})
	store.Each(t, "Get", func() error { _, err := q.Get(ctx, caller, code.ID); return err })
	active := true
	store.Each(t, "List", func() error {
		list, err := q.List(ctx, caller, qrcode.ListParams{Type: qrcode.Dynamic, Active: &active})
		if err == nil && (len(list.Data) != 1 || list.Data[0].ID != code.ID || list.Data[0].Name != "Juice" || list.URL != "/v1/qr_codes") {
			t.Errorf("listed %+v", list)
		}
		return err
	})
	store.Each(t, "Open", func() error { _, err := q.Hosted(ctx, code.ID); return err })
	store.Each(t, "Image", func() error {
		_, err := q.Image(ctx, caller, code.ID, qrcode.ImageParams{Format: qrcode.PNG, Size: 256})
		return err
	})
	var paid *payment.Payment
	store.Each(t, "Pay", func() (err error) {
		paid, err = q.Pay(ctx, named("pay"), code.ID, qrcode.PayParams{Wallet: account.WalletRef{AccountID: ama.ID}, PIN: "1234"})
		now = now.Add(time.Hour) // past a lock, since counted attempts stay counted
		return err
	})
	store.Each(t, "Payments", func() error {
		list, err := q.ListPayments(ctx, caller, code.ID, payment.ListParams{})
		if err == nil && (len(list.Data) != 1 || list.Data[0].ID != paid.ID) {
			t.Errorf("paid by %+v", list)
		}
		return err
	})
	store.Each(t, "Issue", func() (err error) {
		shown, err = q.IssueConsumerCode(ctx, caller, qrcode.IssueConsumerCodeParams{Account: ama.ID})
		return err
	})
	store.Each(t, "Resolve", func() error { _, err := q.Resolve(ctx, caller, shown.Payload); return err })
	if now, err := q.Get(ctx, caller, code.ID); err != nil || now.Active || now.UsageCount != 1 {
		t.Errorf("after its payment %+v, %v", now, err)
	}
	active = false
	if list, err := q.List(ctx, caller, qrcode.ListParams{Active: &active}); err != nil || len(list.Data) != 1 {
		t.Errorf("inactive: %+v, %v", list, err)
	}
	store.Each(t, "Delete", func() error { _, err := q.Delete(ctx, named("delete"), code.ID); return err })

	balance, err := svc.Accounts.Balance(ctx, caller)
	if err != nil || balance.Available.StringFixed(2) != "12.50" {
		t.Errorf("the merchant has %+v, %v", balance, err)
	}
	count := map[event.Type]int{}
	for e, err := range api.All(ctx, caller, event.ListParams{}, svc.Events.List) {
		fatal(t, err)
		if strings.HasPrefix(string(e.Type), "qr_code.") || strings.HasPrefix(string(e.Type), "payment.") {
			count[e.Type]++
		}
	}
	want := map[event.Type]int{
		event.QRCodeCreated: 1, event.QRCodeUpdated: 2, event.QRCodeDeleted: 1, event.PaymentCreated: 1, event.PaymentSucceeded: 1,
	}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
}
