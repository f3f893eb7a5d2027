package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/railtest"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bank is a fake of the imaginary provider: orders of numbers ending in 1 are paid, in
// 2 rejected, all others stay pending.
type bank struct {
	*httptest.Server
	mu       sync.Mutex
	received map[string]order
	moved    map[string]int
	lose     string // "request" or "answer" of the next call
}

// order is a transfer or a collection, as the bank received it.
type order struct {
	Reference string          `json:"reference"`
	Account   string          `json:"account"` // of a transfer
	Phone     string          `json:"phone"`   // of a collection
	Amount    decimal.Decimal `json:"amount"`
}

func (o *order) number() string { return o.Account + o.Phone }

const token = "secret-token"

func newBank(t *testing.T) *bank {
	p := &bank{received: map[string]order{}, moved: map[string]int{}}
	mux := http.NewServeMux()
	submit := func(w http.ResponseWriter, r *http.Request) {
		var sent order
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if _, again := p.received[sent.Reference]; !again {
			p.received[sent.Reference] = sent
			if strings.HasSuffix(sent.number(), "1") {
				p.moved[sent.Reference]++
			}
		}
		p.answer(w, sent.Reference)
	}
	for _, path := range []string{"/transfers", "/collections"} {
		mux.HandleFunc("POST "+path, submit)
		mux.HandleFunc("GET "+path+"/{reference}", func(w http.ResponseWriter, r *http.Request) {
			p.answer(w, r.PathValue("reference"))
		})
	}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		lose := p.lose
		p.lose = ""
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if lose == "request" {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		if lose == "answer" {
			mux.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *bank) answer(w http.ResponseWriter, reference string) {
	sent, ok := p.received[reference]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	told := report{Reference: reference, Status: "pending", ProviderID: "p-1", Message: "Approve it: dial *170#."}
	switch number := sent.number(); number[len(number)-1] {
	case '1':
		told.Status, told.Message, told.Amount = "paid", "", api.GHS{Decimal: sent.Amount}
	case '2':
		told.Status, told.Code, told.Message = "rejected", "bad_account", "The account is closed."
	}
	_ = json.NewEncoder(w).Encode(told)
}

// with runs fn while no call is being served.
func (p *bank) with(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fn()
}

func TestRail(t *testing.T) {
	railtest.Run(t, func(t *testing.T) railtest.Rig {
		p := newBank(t)
		to := func(last string) railtest.Destination {
			return railtest.Destination{Channel: provider.MobileMoney, Network: "mtn", Number: "+23324123456" + last}
		}
		return railtest.Rig{
			Rail: &rail{newClient(p.URL, token)}, Paid: to("1"), Refused: to("2"), Slow: to("3"),
			Moved: func(id string) (n int) {
				p.with(func() { n = p.moved[id] })
				return n
			},
			Received: func(id string) (amount decimal.Decimal, number string) {
				p.with(func() { amount, number = p.received[id].Amount, p.received[id].Account })
				return amount, number
			},
			LoseRequest: func() { p.with(func() { p.lose = "request" }) },
			LoseAnswer:  func() { p.with(func() { p.lose = "answer" }) },
		}
	})
}

// One transfer from the call to the callback, which comes twice.
func TestStory(t *testing.T) {
	p, secret := newBank(t), []byte("callback-secret")
	var log bytes.Buffer
	svc, err := payments.New(t.Context(), memory.New(), payments.Config{
		Live: live(newClient(p.URL, token)), Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	check(t, err)
	m, err := svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar", Phone: "0301000000"})
	check(t, err)
	caller := api.Caller{Merchant: m.ID, Live: true}
	check(t, svc.Accounts.Deposit(t.Context(), api.Caller{Live: true}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(100), Source: "bank"}))

	made, err := svc.Disbursements.Create(t.Context(), caller, disbursement.CreateParams{
		Amount:      decimal.RequireFromString("19.99"),
		Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241234563"},
	})
	check(t, err)
	check(t, svc.Drain(t.Context()))
	balance := func(available, reserved string, status payout.Status) {
		t.Helper()
		b, err := svc.Accounts.Balance(t.Context(), caller)
		check(t, err)
		is, err := svc.Disbursements.Get(t.Context(), caller, made.ID)
		check(t, err)
		if b.Available.String() != available || b.Reserved.String() != reserved || is.Status != status {
			t.Errorf("available %s, reserved %s, %s; want %s, %s, %s", b.Available, b.Reserved, is.Status, available, reserved, status)
		}
	}
	balance("79.81", "20.19", payout.Processing)

	handler := routes(svc, secret)
	post := func(body string, key []byte) int {
		r := httptest.NewRequest(http.MethodPost, "/callbacks/provider", strings.NewReader(body))
		r.Header.Set("X-Signature", hex.EncodeToString(sign(key, []byte(body))))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	paid := `{"reference":"` + made.ID + `","status":"paid","amount":19.99,"provider_id":"p-1"}`
	for _, c := range []struct {
		what, body string
		key        []byte
		want       int
	}{
		{"a forged one", paid, []byte("guess"), http.StatusUnauthorized},
		{"an unknown reference", `{"reference":"po_0","status":"paid","amount":19.99}`, secret, http.StatusNotFound},
		{"an unknown status", `{"reference":"` + made.ID + `","status":"lost"}`, secret, http.StatusBadRequest},
		{"no JSON", `paid`, secret, http.StatusBadRequest},
		{"paid", paid, secret, http.StatusNoContent},
		{"paid, again", paid, secret, http.StatusNoContent},
		{"the opposite", strings.Replace(paid, `"paid"`, `"rejected"`, 1), secret, http.StatusConflict},
	} {
		if got := post(c.body, c.key); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
	balance("79.81", "0", payout.Completed)
	v, err := svc.Accounts.Verify(t.Context())
	check(t, err)
	if len(v.Problems) > 0 {
		t.Error(v.Problems)
	}
	if strings.Contains(log.String(), "1234563") || strings.Contains(log.String(), token) {
		t.Errorf("the log tells too much: %s", log.String())
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
