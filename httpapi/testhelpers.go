package httpapi

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"net/http"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/qrcode"
)

// testHelperRoutes make a sandbox whole over HTTP: what in live mode the
// operator, the consumers and the passing of time do, a tester does here. They
// answer to test keys only.
func testHelperRoutes(svc *payments.Service) []route {
	h := testHelpers{svc}
	row := func(method, path string, handle func(*request) (any, error)) route {
		return route{
			method: method, pattern: "/v1/test_helpers/" + path, resource: "test_helpers",
			write: method != http.MethodGet, handle: testOnly(handle),
		}
	}
	return []route{
		row(http.MethodPost, "balance", h.balance),
		row(http.MethodPost, "consumers", h.createConsumer),
		row(http.MethodGet, "consumers/{id}", h.consumer),
		row(http.MethodPost, "cash_agents", h.createAgent),
		row(http.MethodPost, "consumer_qrs", h.issue),
		row(http.MethodPost, "qr_codes/{id}/pay", h.pay),
		row(http.MethodGet, "messages", h.messages),
		row(http.MethodPost, "payouts/{id}/settle", payoutHandlers(svc).settle),
		row(http.MethodPost, "disbursements/{id}/settle", disbursementHandlers(svc).settle),
		row(http.MethodPost, "refunds/{id}/settle", refundHandlers{svc.Refunds, svc.Providers}.settle),
		row(http.MethodPost, "customers", h.createCustomer),
		row(http.MethodPost, "clock", h.clock),
	}
}

// testOnly refuses live keys.
func testOnly(handle func(*request) (any, error)) func(*request) (any, error) {
	return func(r *request) (any, error) {
		if r.caller.Live {
			return nil, api.Errorf(api.PermissionDenied, "", "Test helpers work with test keys (sk_test_…) only.")
		}
		return handle(r)
	}
}

type testHelpers struct{ svc *payments.Service }

// fund credits an account with money from nowhere, which only test mode has. key
// is "" for none.
func (h testHelpers) fund(ctx context.Context, to string, amount decimal.Decimal, key string) error {
	return h.svc.Accounts.Deposit(ctx, api.Caller{IdempotencyKey: key}, account.DepositParams{To: to, Amount: amount, Source: "test"})
}

// operatorKey makes the caller's key one of the operator's, apart from those of other
// merchants and for other uses; "" is none.
func operatorKey(caller api.Caller, use string) string {
	if caller.IdempotencyKey == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(caller.Merchant + "\x00" + caller.IdempotencyKey))
	return "test_helpers/" + use + "/" + hex.EncodeToString(sum[:])
}

// funds is how a credit is answered.
type funds struct {
	Object    string  `json:"object"`
	Available api.GHS `json:"available"`
	Currency  string  `json:"currency"`
}

func (h testHelpers) balance(r *request) (any, error) {
	b := r.body()
	b.require("amount")
	amount := b.ghs("amount")
	if err := b.err(); err != nil {
		return nil, err
	}
	return payments.Once(r.Context(), h.svc, r.caller, "test_helpers.balance", amount, func() (*funds, error) {
		if err := h.fund(r.Context(), r.caller.Merchant, amount, operatorKey(r.caller, "balance")); err != nil {
			return nil, err
		}
		balance, err := h.svc.Accounts.Balance(r.Context(), r.caller)
		if err != nil {
			return nil, err
		}
		return &funds{balance.Object, balance.Available, balance.Currency}, nil
	})
}

// holder is how consumers and cash agents are answered. The PIN is known only
// right after it was set.
type holder struct {
	Object    string  `json:"object"`
	AccountID string  `json:"account_id"`
	ServiceID string  `json:"service_id"`
	Phone     string  `json:"phone_number"`
	PIN       string  `json:"pin,omitempty"`
	Balance   api.GHS `json:"balance"`
}

func (h testHelpers) createConsumer(r *request) (any, error) {
	return h.open(r, "consumer", func(by api.Caller, p account.CreateHolderParams) (account.Holder, error) {
		c, err := h.svc.Accounts.CreateConsumer(r.Context(), by, p)
		if err != nil {
			return account.Holder{}, err
		}
		return c.Holder, nil
	})
}

func (h testHelpers) createAgent(r *request) (any, error) {
	return h.open(r, "cash_agent", func(by api.Caller, p account.CreateHolderParams) (account.Holder, error) {
		a, err := h.svc.Accounts.CreateAgent(r.Context(), by, p)
		if err != nil {
			return account.Holder{}, err
		}
		return a.Holder, nil
	})
}

// open makes an account of a consumer or a cash agent, and puts money into it. What a
// tester leaves out is made up.
func (h testHelpers) open(r *request, object string, create func(api.Caller, account.CreateHolderParams) (account.Holder, error)) (any, error) {
	b := r.body()
	p := account.CreateHolderParams{
		Name: b.text("name"), Phone: b.text("phone_number"), PIN: b.text("pin"),
		Status: account.Status(b.text("status")), SubAgent: b.boolean("sub_agent"),
	}
	balance := b.ghs("balance")
	if err := b.err(); err != nil {
		return nil, err
	}
	if !balance.IsZero() {
		if _, err := check.Amount("balance", balance); err != nil {
			return nil, err
		}
	}
	// Its JSON has the fields of earlier versions, so that their keys stay valid.
	asked := struct {
		Live bool
		account.CreateHolderParams
		IdempotencyKey string
		Chosen         bool // the PIN
		Balance        decimal.Decimal
	}{CreateHolderParams: p, Chosen: p.PIN != "", Balance: balance}
	asked.PIN = "" // secrets are kept nowhere
	if p.PIN == "" {
		p.PIN = derivedDigits(r.caller, "pin", 4)
	}
	opened, err := payments.Once(r.Context(), h.svc, r.caller, "test_helpers."+object, asked, func() (*holder, error) {
		a, err := openAt(r.caller, object, p, create)
		if err != nil {
			return nil, err
		}
		if !balance.IsZero() {
			if err := h.fund(r.Context(), a.ID, balance, operatorKey(r.caller, object+"/balance")); err != nil {
				return nil, err
			}
		}
		return &holder{object, a.ID, a.ServiceID, a.Phone, "", api.GHS{Decimal: balance}}, nil
	})
	if err != nil {
		return nil, err
	}
	opened.PIN = p.PIN
	return opened, nil
}

// openAt creates an account, with made-up numbers until one is free if none was given.
func openAt(caller api.Caller, object string, p account.CreateHolderParams, create func(api.Caller, account.CreateHolderParams) (account.Holder, error)) (account.Holder, error) {
	if p.Phone != "" {
		return create(api.Caller{IdempotencyKey: operatorKey(caller, object)}, p)
	}
	const tries = 20
	for n := 1; ; n++ {
		use := fmt.Sprintf("%s/%d", object, n)
		p.Phone = "024" + derivedDigits(caller, use, 7)
		a, err := create(api.Caller{IdempotencyKey: operatorKey(caller, use)}, p)
		if err == nil || paramOf(err) != "phone_number" || n == tries {
			return a, err
		}
	}
}

func (h testHelpers) consumer(r *request) (any, error) {
	c, err := h.svc.Accounts.GetConsumer(r.Context(), api.Caller{}, r.id())
	if err != nil {
		return nil, err
	}
	balance, err := h.svc.Accounts.WalletBalance(r.Context(), api.Caller{}, c.ID)
	if err != nil {
		return nil, err
	}
	return holder{"consumer", c.ID, c.ServiceID, c.Phone, "", balance}, nil
}

func (h testHelpers) issue(r *request) (any, error) {
	b := r.body()
	b.require("account_id")
	p := qrcode.IssueConsumerCodeParams{
		Account:    b.text("account_id"),
		Type:       qrcode.Type(b.text("type")),
		Amount:     b.optionalGHS("amount"),
		UsageLimit: b.optionalInteger("usage_limit"),
		ExpiresAt:  b.time("expires_at"),
	}
	if active := b.optionalBoolean("active"); active != nil {
		p.Inactive = !*active
	}
	if err := b.err(); err != nil {
		return nil, err
	}
	code, err := h.svc.QRCodes.IssueConsumerCode(r.Context(), r.caller, p)
	if err != nil {
		return nil, err
	}
	return struct {
		Object  string `json:"object"`
		ID      string `json:"id"`
		Payload string `json:"qr_payload"`
	}{code.Object, code.ID, code.Payload}, nil
}

func (h testHelpers) pay(r *request) (any, error) {
	b := r.body()
	b.require("account_id", "pin")
	p := qrcode.PayParams{
		Wallet: account.WalletRef{AccountID: b.text("account_id")},
		PIN:    b.text("pin"),
		Amount: b.optionalPesewas("amount"),
	}
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.svc.QRCodes.Pay(r.Context(), r.caller, r.id(), p)
}

func (h testHelpers) messages(r *request) (any, error) {
	q := r.query()
	p := message.ListParams{Page: q.page(), To: q.text("to"), Kind: oneOf(q, "kind", message.KindSMS, message.KindEmail)}
	if err := q.err(); err != nil {
		return nil, err
	}
	return h.svc.Messages.List(r.Context(), r.caller, p)
}

func (h testHelpers) createCustomer(r *request) (any, error) {
	b := r.body()
	p := customerParams(b)
	if err := b.err(); err != nil {
		return nil, err
	}
	return h.svc.Accounts.CreateCustomer(r.Context(), r.caller, p)
}

func (h testHelpers) clock(r *request) (any, error) {
	b := r.body()
	advance, to := b.optionalInteger("advance"), b.optionalTime("now")
	if err := b.err(); err != nil {
		return nil, err
	}
	const century int64 = 100 * 365 * 24 * 60 * 60 // seconds; more would overflow a duration
	switch {
	case (advance == nil) == (to == nil):
		return nil, api.Invalid("advance", "Give either advance, in seconds, or now, as an ISO 8601 time.")
	case advance != nil && (*advance < 0 || *advance > century):
		return nil, api.Invalid("advance", "advance must be a whole number of seconds from 0 to %d; the clock never goes back.", century)
	}
	now, err := h.svc.MoveClock(r.Context(), r.caller, payments.ClockParams{By: time.Duration(orZero(advance)) * time.Second, To: orZero(to)})
	if err != nil {
		return nil, err
	}
	return struct {
		Object string   `json:"object"`
		Now    api.Time `json:"now"`
	}{"clock", now}, nil
}

// derivedDigits returns n decimal digits for a use: random ones, or, where the caller gave a
// key, those that follow from it, so that a repetition makes up the same.
func derivedDigits(caller api.Caller, use string, n int) string {
	seed := operatorKey(caller, use)
	if seed == "" {
		seed = rand.Text()
	}
	sum := sha256.Sum256([]byte(seed))
	digits := new(big.Int).SetBytes(sum[:]).String()
	return digits[len(digits)-n:]
}

// paramOf returns the parameter that an error is about, or "".
func paramOf(err error) string {
	if e := asAPIError(err); e != nil {
		return e.Param
	}
	return ""
}
