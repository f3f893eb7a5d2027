package paymentstest_test

import (
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	_ "github.com/seed-7082ffec/payments/internal/contract"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/qrcode"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A host's own test: it makes a code for an order, the consumer pays it, and the
// host's view of the payments is checked over HTTP.
func TestShop(t *testing.T) {
	shop := paymentstest.New(t)
	amount := int64(1250)
	code := must.Get(shop.QRCodes.Create(t.Context(), shop.Caller, qrcode.CreateParams{
		Type: qrcode.Dynamic, Amount: &amount, Reference: "order-1001",
	}))(t)
	paid := shop.Pay(code.ID, 0)

	response, body := shop.Do("GET", "/v1/payments?qr_code="+code.ID, nil)
	var list struct{ Data []payment.Payment }
	if err := json.Unmarshal(body, &list); err != nil || response.StatusCode != 200 {
		t.Fatalf("status %d, %v", response.StatusCode, err)
	}
	expect.True(t, len(list.Data) == 1 && list.Data[0].ID == paid.ID && list.Data[0].Reference == "order-1001", "got %s", body)
	balance := must.Get(shop.Accounts.Balance(t.Context(), shop.Caller))(t)
	if got := balance.Available.String(); got != "1012.5" {
		t.Errorf("available is %s, want 1012.5", got)
	}
}
