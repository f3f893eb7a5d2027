package account_test

import (
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func TestRecipients(t *testing.T) {
	store := memory.New()
	s := paymentstest.NewWithStore(t, store, payments.Config{})
	agent := func(p account.CreateHolderParams) *account.Agent {
		t.Helper()
		return must.Get(s.Accounts.CreateAgent(t.Context(), api.Caller{}, p))(t)
	}
	main := agent(account.CreateHolderParams{Name: "Kofi Agent", Phone: "0242000001"})
	sub := agent(account.CreateHolderParams{Name: "Sub Agent", Phone: "0242000002", SubAgent: true})
	frozen := agent(account.CreateHolderParams{Name: "Frozen Agent", Phone: "0242000003", Status: account.Frozen})
	closed := agent(account.CreateHolderParams{Name: "Closed Agent", Phone: "0242000004", Status: account.Closed})
	both := agent(account.CreateHolderParams{Name: "Ama's Float", Phone: "0241000001"}) // the consumer's number
	merchant := must.Get(s.Accounts.GetMerchant(t.Context(), api.Caller{}, s.Caller.Merchant))(t)

	type ref = account.WalletRef
	for _, c := range []struct {
		what  string
		ref   ref
		id    string
		code  api.Code
		param string
	}{
		{"a consumer", ref{AccountID: s.Consumer.ID}, s.Consumer.ID, "", ""},
		{"a consumer's service id", ref{ServiceID: s.Consumer.ServiceID}, s.Consumer.ID, "", ""},
		{"a number of both goes to the consumer", ref{Phone: "024 100 0001"}, s.Consumer.ID, "", ""},
		{"an agent", ref{AccountID: main.ID}, main.ID, "", ""},
		{"an agent's number", ref{Phone: "+233242000001"}, main.ID, "", ""},
		{"the service id wins", ref{ServiceID: main.ServiceID, AccountID: s.Consumer.ID, Phone: "nonsense"}, main.ID, "", ""},
		{"then the account id", ref{AccountID: both.ID, Phone: "0242000001"}, both.ID, "", ""},
		{"nothing", ref{}, "", api.ParameterMissing, "service_id"},
		{"no service id", ref{ServiceID: "SVC"}, "", api.InvalidServiceID, "service_id"},
		{"lower case", ref{ServiceID: "svc1000001"}, "", api.InvalidServiceID, "service_id"},
		{"a letter in it", ref{ServiceID: "SVC10000x1"}, "", api.InvalidServiceID, "service_id"},
		{"nobody's", ref{ServiceID: "SVC9999999"}, "", api.ServiceIDNotFound, "service_id"},
		{"a merchant's", ref{ServiceID: merchant.ServiceID}, "", api.ServiceIDNotPayable, "service_id"},
		{"a sub-agent's", ref{ServiceID: sub.ServiceID}, "", api.SubagentNotPayable, "service_id"},
		{"a sub-agent by id", ref{AccountID: sub.ID}, "", api.SubagentNotPayable, "account_id"},
		{"a sub-agent by number", ref{Phone: "0242000002"}, "", api.SubagentNotPayable, "phone_number"},
		{"frozen", ref{AccountID: frozen.ID}, "", api.WalletNotActive, "account_id"},
		{"closed", ref{ServiceID: closed.ServiceID}, "", api.AccountNotFound, "service_id"},
		{"closed by number", ref{Phone: "0242000004"}, "", api.AccountNotFound, "phone_number"},
		{"no such consumer", ref{AccountID: "acc_0"}, "", api.AccountNotFound, "account_id"},
		{"a merchant's id", ref{AccountID: merchant.ID}, "", api.AccountNotFound, "account_id"},
		{"no number", ref{Phone: "12345"}, "", api.InvalidPhoneNumber, "phone_number"},
	} {
		err := store.View(t.Context(), func(tx storage.ReadTx) error {
			r, err := new(party.Service).Recipient(tx, false, c.ref)
			expect.True(t, err != nil || r.AccountID == c.id, "%s: got %+v", c.what, r)
			if _, live := new(party.Service).Recipient(tx, true, c.ref); err == nil && live == nil {
				t.Errorf("%s: found in live mode, too", c.what)
			}
			return err
		})
		refusal, _ := err.(*api.Error)
		if (err == nil) != (c.code == "") || (refusal != nil && (refusal.Code != c.code || refusal.Param != c.param)) {
			t.Errorf("%s: got %v, want %q (%s)", c.what, err, c.code, c.param)
		}
	}

	for _, c := range []struct {
		id      string
		is      account.RecipientType
		payable bool
		code    api.Code
	}{
		{s.Consumer.ServiceID, account.RecipientConsumer, true, ""},
		{main.ServiceID, account.RecipientAgent, true, ""},
		{sub.ServiceID, account.RecipientSubAgent, false, ""},
		{frozen.ServiceID, account.RecipientAgent, false, ""},
		{merchant.ServiceID, account.RecipientMerchant, false, ""},
		{closed.ServiceID, "", false, api.AccountNotFound},
		{"SVC1", "", false, api.ServiceIDNotFound},
		{"SVC1x", "", false, api.InvalidServiceID},
		{"", "", false, api.ParameterMissing},
	} {
		found, err := s.Accounts.LookUpServiceID(t.Context(), s.Caller, c.id)
		if api.CodeOf(err) != c.code || (err == nil && (found.RecipientType != c.is || found.Payable != c.payable || found.Name == "")) {
			t.Errorf("%s: got %+v, %v", c.id, found, err)
		}
	}
}
