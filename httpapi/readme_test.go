package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/inspector"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/browsertest"
	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// The README's pictures show the payment page and the inspector as they are now. This makes them again:
//
//	PAYMENTS_README_IMAGES="$PWD/docs/images" go test ./httpapi -run ReadmeImages
func TestReadmeImages(t *testing.T) {
	oneGoroutine(t)
	folder := os.Getenv("PAYMENTS_README_IMAGES")
	if folder == "" {
		if !effort.Full() {
			t.Skip("the other tests see these pages; " + effort.Variable + "=full makes the pictures, too")
		}
		folder = t.TempDir()
	}
	s := paymentstest.New(t)
	look := inspector.New(s.Service, inspector.Config{})
	defer look.Close()
	mux := http.NewServeMux()
	mux.Handle("/inspector/", http.StripPrefix("/inspector", look))
	host := httptest.NewServer(mux)
	defer host.Close()

	// What the inspector shows: payers of both kinds, one who declines, one who waits.
	code := newCode(t, s, `{"name":"Table 4","description":"Fresh juice and snacks"}`)
	s.Do("POST", "/v1/webhooks", `{"url":"http://127.0.0.1:9/webhooks","events":["payment.succeeded","refund.succeeded"]}`)
	for i, payer := range []struct{ name, phone string }{
		{"Efua Sackey", "0241230109"}, {"Yaa Asante", "0241230903"}, {"Kofi Boateng", "0201230901"}, {"Esi Owusu", "0261230003"},
	} {
		_, data := s.Do("POST", "/v1/customers", fmt.Sprintf(`{"name":%q,"phone_number":%q}`, payer.name, payer.phone))
		s.Do("POST", "/v1/payments", fmt.Sprintf(`{"amount":%d,"phone_number":%q,"customer":%q,"description":"Order %d"}`,
			[]int{15_75, 340_00, 120_00, 180_00}[i], payer.phone, field(t, data, "id"), 2038+i))
	}
	s.Do("POST", "/v1/disbursements", `{"amount":340,"destination":{"type":"mobile_money","phone_number":"0241230903","account_name":"Abena Ofori"}}`)
	for _, amount := range []int64{36_00, 12_50} {
		s.Pay(code, amount)
	}
	s.Do("POST", "/v1/test_helpers/clock", `{"advance":0}`) // waits for the work that is due

	phone := browsertest.Open(t, browsertest.Phone, false)
	fixed := newCode(t, s, `{"type":"dynamic","amount":23450,"name":"Table 4","description":"Fresh juice and snacks"}`)
	phone.Go(s.Server.URL + "/pay/" + fixed)
	phone.See("Adom Juice Bar", "Table 4", "234.50", "Mobile money")
	write := func(name string, png []byte) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(folder, name), png, 0o644))
	}
	write("payment-page.png", phone.Screen(748, 2))

	desktop := browsertest.Open(t, browsertest.Desktop, false)
	desktop.Go(host.URL + "/inspector/" + s.Caller.Merchant + "/")
	desktop.See("Adom Juice Bar", "Overview", "payment.succeeded")
	write("inspector.png", desktop.Screen(900, 1))
}
