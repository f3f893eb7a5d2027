package account_test

import (
	"testing"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

// Strangers and merchants see the first name and the last initial of the holder of a wallet or
// float. They see a merchant's whole name.
func TestNamesAreShortened(t *testing.T) {
	for name, want := range map[string]string{
		"Ama Serwaa Mensah": "Ama M.", "Ama": "Ama", "  Kofi   Boateng ": "Kofi B.", "": "", "Ɛsi Ɔwusu": "Ɛsi Ɔ.",
	} {
		expect.Equal(t, (&account.Holder{Name: name}).DisplayName(), want, "%q", name)
	}
	b := newBench(t, nil)
	agent := must.Get(b.CreateAgent(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Kofi Atta Boateng", Phone: "0241000002"}))(t)
	m := must.Get(b.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar"}))(t)
	for id, want := range map[string]string{
		b.consumer(t, "0241000001").ServiceID: "Ama M.", agent.ServiceID: "Kofi B.", m.ServiceID: "Adom Juice Bar",
	} {
		found, err := b.LookUpServiceID(t.Context(), api.Caller{Merchant: m.ID}, id)
		expect.True(t, err == nil && found.Name == want, "got %+v, %v, want %s", found, err, want)
	}
}
