package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// disbursing is a merchant with money on SQLite, and wallets to pay.
func disbursing(b *testing.B, path string) (*paymentstest.Shop, *sqlite.Store, []string) {
	store, err := sqlite.Open(b.Context(), path, sqlite.Config{})
	must.Do(b, err)
	s := paymentstest.NewWithStore(b, store, payments.Config{})
	for range 9 {
		s.Fund(s.Caller.Merchant, 900_000)
	}
	var wallets []string
	for i := range 64 {
		c, err := s.Accounts.CreateConsumer(b.Context(), api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: fmt.Sprintf("024%07d", 100+i)})
		must.Do(b, err)
		wallets = append(wallets, c.ServiceID)
	}
	return s, store, wallets
}

func disburse(b *testing.B, s *paymentstest.Shop, client *http.Client, wallets []string, n int64) {
	body := fmt.Sprintf(`{"amount":0.01,"destination":{"type":"service_wallet","service_id":%q},"reference":"salary"}`, wallets[n%int64(len(wallets))])
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, s.Server.URL+"/v1/disbursements", strings.NewReader(body))
	if err != nil {
		b.Error(err)
		return
	}
	r.Header.Set("Authorization", "Bearer "+s.Key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Idempotency-Key", fmt.Sprintf("salary-%016d", n))
	answer, err := client.Do(r)
	if err != nil {
		b.Error(err)
		return
	}
	defer answer.Body.Close()
	if data, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		b.Errorf("%d %s %v", answer.StatusCode, data, err)
	}
}
