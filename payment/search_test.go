package payment_test

import (
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// searchShop has a payment from a phone of a customer, one from a wallet, and some of strangers.
func searchShop(t *testing.T, store storage.Store, c payments.Config) (s *shop, phoned, scanned *payment.Payment) {
	t.Helper()
	c.Sandbox = true
	svc := testkit.New(t, store, c)
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar", Phone: "0301000000"}))(t)
	s = &shop{svc, api.Caller{Merchant: m.ID}}
	esi := must.Get(svc.Accounts.CreateCustomer(t.Context(), s.caller, account.CreateCustomerParams{Name: "Esi  Owusu-Ansah", Email: "Esi@example.com", Phone: "0261112223"}))(t)
	phoned = must.Get(svc.Payments.Create(t.Context(), s.caller, payment.CreateParams{
		Amount: 23450, MobileMoney: payment.MobileMoney{PhoneNumber: "0241234567"}, Reference: "Order 2041", Customer: esi.ID,
	}))(t)
	ama := must.Get(svc.Accounts.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: "0200009113", PIN: "1234"}))(t)
	must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: ama.ID, Amount: decimal.New(100, 0), Source: "cash"}))
	code := must.Get(svc.QRCodes.Create(t.Context(), s.caller, qrcode.CreateParams{Name: "Till 2"}))(t)
	amount := int64(1250)
	scanned = must.Get(svc.QRCodes.Pay(t.Context(), s.caller, code.ID, qrcode.PayParams{Wallet: account.WalletRef{AccountID: ama.ID}, PIN: "1234", Amount: &amount}))(t)
	for range 3 {
		must.Get(svc.Payments.Create(t.Context(), s.caller, payment.CreateParams{Amount: 4567_00, MobileMoney: payment.MobileMoney{PhoneNumber: "0500000001"}}))(t)
	}
	must.Do(t, svc.Drain(t.Context()))
	return s, phoned, scanned
}

func (s *shop) search(t *testing.T, p payment.SearchParams) []string {
	t.Helper()
	var ids []string
	for _, found := range must.Get(s.Payments.Search(t.Context(), s.caller, p))(t).Data {
		ids = append(ids, found.ID)
	}
	return ids
}

func TestSearchByWholeValues(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		s, phoned, scanned := searchShop(t, store, payments.Config{})
		for text, want := range map[string][]string{
			phoned.ID: {phoned.ID}, "Order 2041": {phoned.ID}, "order 2041": nil, "Order": nil,
			"234.50": {phoned.ID}, "GH₵ 234.5": {phoned.ID}, "12.50": {scanned.ID}, "234": nil,
			"0241234567": {phoned.ID}, "+233241234567": {phoned.ID}, "024 ••• 4567": {phoned.ID}, "024****567": {phoned.ID}, "0251234567": nil,
			"9113": {scanned.ID}, "0200009113": {scanned.ID}, "0207779113": {scanned.ID}, "0240009113": nil, "113": {scanned.ID},
			"esi": {phoned.ID}, "Esi Owusu-Ansah": {phoned.ID}, "Owusu-Ansah": nil, "AMA": {scanned.ID}, "ama mensah": {scanned.ID},
			strings.Repeat("x", 1000): nil, "nothing": nil, "pay_0": nil, "%": nil, "\x00": nil,
		} {
			expect.Same(t, s.search(t, payment.SearchParams{Text: text}), want, "%q", text)
		}
		expect.Equal(t, len(s.search(t, payment.SearchParams{})), 5, "all")
		expect.Equal(t, len(s.search(t, payment.SearchParams{Text: "4567"})), 4, "an end, and an amount")
		expect.Same(t, s.search(t, payment.SearchParams{Text: "4567", Network: "mtn"}), []string{phoned.ID}, "of a network")
		expect.Equal(t, len(s.search(t, payment.SearchParams{Network: "telecel"})), 3, "a network")
		expect.Same(t, s.search(t, payment.SearchParams{Text: "esi", ListParams: payment.ListParams{Status: payment.Failed}}), []string(nil), "of a status")
		other := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Other"}))(t)
		for _, caller := range []api.Caller{{Merchant: other.ID}, {Merchant: s.caller.Merchant, Live: true}} {
			found := must.Get(s.Payments.Search(t.Context(), caller, payment.SearchParams{Text: phoned.ID}))(t)
			expect.Equal(t, len(found.Data), 0, "another's search")
		}
		found := must.Get(s.Accounts.SearchCustomers(t.Context(), s.caller, "ESI@example.com", account.ListCustomersParams{}))(t)
		for _, text := range []string{"esi", "Esi Owusu-Ansah", "0261112223", found.Data[0].ID, ""} {
			again := must.Get(s.Accounts.SearchCustomers(t.Context(), s.caller, text, account.ListCustomersParams{}))(t)
			expect.Same(t, again.Data, found.Data, "customers by %q", text)
		}
		none := must.Get(s.Accounts.SearchCustomers(t.Context(), s.caller, strings.Repeat("x", 1000), account.ListCustomersParams{}))(t)
		expect.Equal(t, len(none.Data), 0, "customers by a long text")
	})
}

// Pages of a search with several senses show each payment once, in both directions.
func TestSearchPages(t *testing.T) {
	s, _, _ := searchShop(t, memory.New(), payments.Config{})
	all := s.search(t, payment.SearchParams{Text: "4567"})
	for size := 1; size <= len(all)+1; size++ {
		var forth []string
		for page := (api.Page{Limit: size}); ; {
			list := must.Get(s.Payments.Search(t.Context(), s.caller, payment.SearchParams{Text: "4567", ListParams: payment.ListParams{Page: page}}))(t)
			for _, p := range list.Data {
				forth = append(forth, p.ID)
			}
			if !list.HasMore {
				break
			}
			page.StartingAfter = list.Data[len(list.Data)-1].ID
		}
		expect.Same(t, forth, all, "in pages of %d", size)
		back := s.search(t, payment.SearchParams{Text: "4567", ListParams: payment.ListParams{Page: api.Page{Limit: size, EndingBefore: all[len(all)-1]}}})
		expect.Same(t, back, all[max(0, len(all)-1-size):len(all)-1], "%d before the last", size)
	}
}

// What an erasure or retention removes is no longer found by it.
func TestSearchFindsNothingErased(t *testing.T) {
	s, phoned, _ := searchShop(t, memory.New(), payments.Config{NumberRetention: 24 * time.Hour})
	s.after(t, 48*time.Hour)
	s.after(t, time.Hour) // the next pass
	expect.Same(t, s.search(t, payment.SearchParams{Text: "0241234567"}), []string{phoned.ID}, "by what the mask shows")
	must.Get(s.Accounts.DeleteCustomer(t.Context(), s.caller, *phoned.Customer))(t)
	must.Do(t, s.Drain(t.Context()))
	for _, text := range []string{"0241234567", "4567", "567", "esi", "Esi Owusu-Ansah"} {
		for _, id := range s.search(t, payment.SearchParams{Text: text}) {
			expect.True(t, id != phoned.ID, "%q still finds it", text)
		}
	}
	expect.Same(t, s.search(t, payment.SearchParams{Text: "Order 2041"}), []string{phoned.ID}, "by its reference")
}
