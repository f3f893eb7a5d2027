package account_test

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/faultstore"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// When any operation of the store fails, the call returns an error and may be repeated. A test of
// package payments covers every call over every store. This one covers the branches that need
// special arguments.
func TestStoreFailuresReachTheCaller(t *testing.T) {
	store := faultstore.New(memory.New())
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	svc, err := payments.New(t.Context(), store, payments.Config{
		Logger: slog.New(slog.DiscardHandler), Clock: func() time.Time { return now },
	})
	must.Do(t, err)
	b, ctx := svc.Accounts, t.Context()
	_, inside := account.New(&engine.Engine{Store: store, Clock: func() time.Time { return now }}, account.Config{})
	must := func(err error) {
		t.Helper()
		must.Do(t, err)
	}
	m, err := b.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "M"})
	must(err)
	caller := api.Caller{Merchant: m.ID}
	ama, err := b.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: "0241000001", PIN: "1234"})
	must(err)
	agent, err := b.CreateAgent(ctx, api.Caller{}, account.CreateHolderParams{Name: "Kojo", Phone: "0241000001"})
	must(err)
	for range 4 {
		now = now.Add(time.Hour)
		for _, to := range []string{ama.ID, agent.ID, m.ID} {
			must(b.Deposit(ctx, api.Caller{}, account.DepositParams{To: to, Amount: decimal.NewFromInt(100), Source: "test"}))
		}
	}
	key, err := b.CreateKey(ctx, caller, account.CreateKeyParams{})
	must(err)
	entries, err := b.ListEntries(ctx, caller, account.ListEntriesParams{})
	must(err)
	named := func(key string) api.Caller {
		return api.Caller{Merchant: m.ID, IdempotencyKey: key}
	}
	lastHours := api.Times{From: now.Add(-2 * time.Hour), Until: now}

	png := []byte("\x89PNG\r\n\x1a\n…")
	var customer *account.Customer
	for _, call := range []struct {
		name string
		do   func() error
	}{
		{"CreateMerchant", func() error {
			_, err := b.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom", Logo: png})
			return err
		}},
		{"UpdateMerchant", func() error {
			_, err := b.UpdateMerchant(ctx, api.Caller{}, m.ID, account.UpdateMerchantParams{Name: new("M"), Logo: png})
			return err
		}},
		{"UpdateMerchant, another logo", func() error {
			_, err := b.UpdateMerchant(ctx, api.Caller{}, m.ID, account.UpdateMerchantParams{Name: new("M"), Logo: png})
			return err
		}},
		{"UpdateMerchant, no logo", func() error {
			_, err := b.UpdateMerchant(ctx, api.Caller{}, m.ID, account.UpdateMerchantParams{Name: new("M"), Logo: []byte{}})
			return err
		}},
		{"Merchants", func() error { _, err := b.ListMerchants(ctx, api.Caller{}, api.Page{}); return err }},
		{"CreateConsumer", func() error {
			_, err := b.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Esi", Phone: "0241000002"})
			return err
		}},
		{"Consumer", func() error { _, err := b.GetConsumer(ctx, api.Caller{}, ama.ID); return err }},
		{"SetConsumerStatus", func() error {
			_, err := b.UpdateConsumer(ctx, api.Caller{}, ama.ID, account.UpdateHolderParams{Status: new(account.Active)})
			return err
		}},
		{"SetPIN", func() error { return b.SetPIN(ctx, api.Caller{}, ama.ID, account.SetPINParams{PIN: "4321"}) }},
		{"LookUpServiceID, of a merchant", func() error { _, err := b.LookUpServiceID(ctx, caller, m.ServiceID); return err }},
		{"LookUpServiceID, of a consumer", func() error { _, err := b.LookUpServiceID(ctx, caller, ama.ServiceID); return err }},
		{"LookUpServiceID, of an agent", func() error { _, err := b.LookUpServiceID(ctx, caller, agent.ServiceID); return err }},
		{"LookUpServiceID, with a key", func() error {
			_, err := b.LookUpServiceID(ctx, named("look up"), agent.ServiceID)
			return err
		}},
		{"CreateKey", func() error { _, err := b.CreateKey(ctx, caller, account.CreateKeyParams{}); return err }},
		{"RollKey", func() error { _, err := b.RollKey(ctx, caller, key.ID, account.RollKeyParams{Overlap: 0}); return err }},
		{"Keys", func() error { _, err := b.ListKeys(ctx, caller, api.Page{}); return err }},
		{"CreateCustomer", func() (err error) {
			customer, err = b.CreateCustomer(ctx, named("create"), account.CreateCustomerParams{Name: "Akua", Email: "akua@example.com"})
			return err
		}},
		{"UpdateCustomer", func() error {
			_, err := b.UpdateCustomer(ctx, named("update"), customer.ID, account.UpdateCustomerParams{Metadata: api.Metadata{"note": "regular"}})
			return err
		}},
		{"ListCustomers", func() error { _, err := b.ListCustomers(ctx, caller, account.ListCustomersParams{}); return err }},
		{"DeleteCustomer", func() error { _, err := b.DeleteCustomer(ctx, named("delete"), customer.ID); return err }},
		{"ForgetCustomer", func() error { return b.ForgetCustomer(ctx, caller, "cus_host") }},
		{"ForgetCustomer, again", func() error { return b.ForgetCustomer(ctx, caller, "cus_host") }},
		{"Deposit", func() error {
			return b.Deposit(ctx, api.Caller{IdempotencyKey: "d"}, account.DepositParams{To: ama.ID, Amount: decimal.NewFromInt(1), Source: "test"})
		}},
		{"Adjust", func() error {
			_, err := b.Adjust(ctx, named("adjust"), account.AdjustParams{Amount: decimal.NewFromInt(1), Reason: "counted", Actor: "Efua"})
			return err
		}},
		{"Adjustments", func() error { _, err := b.ListAdjustments(ctx, caller, api.Page{}); return err }},
		{"Balance", func() error { _, err := b.Balance(ctx, caller); return err }},
		{"WalletBalance", func() error { _, err := b.WalletBalance(ctx, api.Caller{}, ama.ID); return err }},
		{"FloatBalance", func() error { _, err := b.FloatBalance(ctx, api.Caller{}, agent.ID); return err }},
		{"Entries", func() error { _, err := b.ListEntries(ctx, caller, account.ListEntriesParams{}); return err }},
		{"Entries, of a period", func() error {
			_, err := b.ListEntries(ctx, caller, account.ListEntriesParams{Created: lastHours})
			return err
		}},
		{"Entries, after one", func() error {
			p := account.ListEntriesParams{Page: api.Page{StartingAfter: entries.Data[0].ID}}
			_, err := b.ListEntries(ctx, caller, p)
			return err
		}},
		{"Entries, before one", func() error {
			p := account.ListEntriesParams{Page: api.Page{EndingBefore: entries.Data[2].ID}}
			_, err := b.ListEntries(ctx, caller, p)
			return err
		}},
		{"a statement", func() error {
			st, err := b.Statement(ctx, caller, lastHours)
			if err != nil {
				return err
			}
			return st.CSV(ctx, io.Discard)
		}},
		{"a statement's PDF", func() error {
			st, err := b.Statement(ctx, caller, lastHours)
			if err != nil {
				return err
			}
			_, err = st.PDF(ctx)
			return err
		}},
		{"Prepare", func() error { return inside.Prepare(ctx) }},
		{"Seal", func() error { _, err := b.Seal(ctx); return err }},
		{"Verify", func() error {
			v, err := b.Verify(ctx)
			if err == nil && (len(v.Problems) > 0 || v.Sealed == 0) {
				t.Errorf("verified %+v", v)
			}
			return err
		}},
	} {
		store.Each(t, call.name, call.do)
	}

	// With a key, each call took effect once. Without a key, a failed call left nothing.
	events, err := svc.Events.List(ctx, caller, event.ListParams{})
	must(err)
	var types []event.Type
	for _, e := range events.Data {
		types = append(types, e.Type)
	}
	if diff := cmp.Diff([]event.Type{event.CustomerDeleted, event.CustomerUpdated, event.CustomerCreated}, types); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
	list, err := b.ListMerchants(ctx, api.Caller{}, api.Page{})
	must(err)
	if len(list.Data) != 2 || list.Data[1].HasLogo {
		t.Errorf("merchants %+v", list.Data)
	}
}
