package httpapi

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/checkout"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
)

// testHelperRoutes make a sandbox whole over HTTP: what in live mode the
// operator, the consumers and the passing of time do, a tester does here. They
// answer to test keys only.
func testHelperRoutes(svc *payments.Service) []route {
	h := testHelpers{svc}
	routes := []route{
		write(testHelper, "POST /v1/test_helpers/balance", withBody(h.balance)),
		write(testHelper, "POST /v1/test_helpers/consumers", withBody(h.createConsumer)),
		read(testHelper, "GET /v1/test_helpers/consumers/{id}", withID(h.consumer)),
		write(testHelper, "POST /v1/test_helpers/consumers/{id}/top_up", withIDBody(h.topUp)),
		write(testHelper, "POST /v1/test_helpers/cash_agents", withBody(h.createAgent)),
		write(testHelper, "POST /v1/test_helpers/consumer_qrs", withBody(h.issue)),
		write(testHelper, "POST /v1/test_helpers/qr_codes/{id}/pay", withIDBody(h.pay)),
		write(testHelper, "POST /v1/test_helpers/invoices/{id}/pay", withIDBody(h.payInvoice)),
		write(testHelper, "POST /v1/test_helpers/checkout/sessions/{id}/pay", withIDBody(h.paySession)),
		write(testHelper, "POST /v1/test_helpers/payments/{id}/settle", withIDBody(settle(svc, svc.Payments.Get, false))),
		read(testHelper, "GET /v1/test_helpers/messages", withQuery(svc.Messages.List, oneOf("kind", message.KindSMS, message.KindEmail))),
		write(testHelper, "POST /v1/test_helpers/payouts/{id}/settle", withIDBody(settle(svc, svc.Payouts.Get, true))),
		write(testHelper, "POST /v1/test_helpers/disbursements/{id}/settle", withIDBody(settle(svc, svc.Disbursements.Get, true))),
		write(testHelper, "POST /v1/test_helpers/refunds/{id}/settle", withIDBody(settle(svc, svc.Refunds.Get, false))),
		write(testHelper, "POST /v1/test_helpers/customers", withBody(svc.Accounts.CreateCustomer)),
		write(testHelper, "POST /v1/test_helpers/clock", withBody(h.clock)),
	}
	for i := range routes {
		routes[i].handle = testOnly(routes[i].handle)
	}
	return routes
}

const testHelper = "test_helpers"

// testOnly refuses live keys.
func testOnly(handle handler) handler {
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

type fundsParams struct {
	Amount decimal.Decimal `param:"amount,required"`
}

func (h testHelpers) balance(ctx context.Context, caller api.Caller, p fundsParams) (*funds, error) {
	return payments.Once(ctx, h.svc, caller, "test_helpers.balance", p.Amount, func() (*funds, error) {
		if err := h.fund(ctx, caller.Merchant, p.Amount, operatorKey(caller, "balance")); err != nil {
			return nil, err
		}
		balance, err := h.svc.Accounts.Balance(ctx, caller)
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

// holderParams are those of an account with money in it.
type holderParams struct {
	Name     string          `param:"name"`
	Phone    string          `param:"phone_number"`
	PIN      string          `param:"pin"`
	Status   account.Status  `param:"status"`
	SubAgent bool            `param:"sub_agent"`
	Balance  decimal.Decimal `param:"balance"`
}

func (h testHelpers) createConsumer(ctx context.Context, caller api.Caller, p holderParams) (*holder, error) {
	return h.open(ctx, caller, "consumer", p, func(by api.Caller, p account.CreateHolderParams) (account.Holder, error) {
		c, err := h.svc.Accounts.CreateConsumer(ctx, by, p)
		if err != nil {
			return account.Holder{}, err
		}
		return c.Holder, nil
	})
}

func (h testHelpers) createAgent(ctx context.Context, caller api.Caller, p holderParams) (*holder, error) {
	return h.open(ctx, caller, "cash_agent", p, func(by api.Caller, p account.CreateHolderParams) (account.Holder, error) {
		a, err := h.svc.Accounts.CreateAgent(ctx, by, p)
		if err != nil {
			return account.Holder{}, err
		}
		return a.Holder, nil
	})
}

// open makes an account of a consumer or a cash agent, and puts money into it. What a
// tester leaves out is made up.
func (h testHelpers) open(ctx context.Context, caller api.Caller, object string, given holderParams, create func(api.Caller, account.CreateHolderParams) (account.Holder, error)) (*holder, error) {
	p := account.CreateHolderParams{Name: given.Name, Phone: given.Phone, PIN: given.PIN, Status: given.Status, SubAgent: given.SubAgent}
	balance := given.Balance
	if !balance.IsZero() {
		if _, err := check.Amount("balance", balance); err != nil {
			return nil, err
		}
	}
	asked := struct {
		account.CreateHolderParams
		Chosen  bool // the PIN
		Balance decimal.Decimal
	}{CreateHolderParams: p, Chosen: p.PIN != "", Balance: balance}
	asked.PIN = "" // secrets are kept nowhere
	if p.Status == account.Closed {
		balance = decimal.Zero // a closed account takes no money
	}
	if p.PIN == "" {
		p.PIN = derivedDigits(caller, "pin", 4)
	}
	opened, err := payments.Once(ctx, h.svc, caller, "test_helpers."+object, asked, func() (*holder, error) {
		a, err := openAt(caller, object, p, create)
		if err != nil {
			return nil, err
		}
		if !balance.IsZero() {
			if err := h.fund(ctx, a.ID, balance, operatorKey(caller, object+"/balance")); err != nil {
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

func (h testHelpers) consumer(ctx context.Context, _ api.Caller, id string) (*holder, error) {
	c, err := h.svc.Accounts.GetConsumer(ctx, api.Caller{}, id)
	if err != nil {
		return nil, err
	}
	balance, err := h.svc.Accounts.WalletBalance(ctx, api.Caller{}, c.ID)
	if err != nil {
		return nil, err
	}
	return &holder{"consumer", c.ID, c.ServiceID, c.Phone, "", balance}, nil
}

type topUpParams struct {
	Amount   int64  `param:"amount,required,pesewas"`
	Currency string `param:"currency"`
}

// topUp answers with the consumer. The balance is that of the top-up's answer, which a replay gives
// again.
func (h testHelpers) topUp(ctx context.Context, caller api.Caller, id string, p topUpParams) (*holder, error) {
	made, err := h.svc.Payments.TopUp(ctx, caller, payment.TopUpParams{Account: id, Amount: p.Amount, Currency: p.Currency})
	if err != nil {
		return nil, err
	}
	c, err := h.svc.Accounts.GetConsumer(ctx, api.Caller{}, id)
	if err != nil {
		return nil, err
	}
	return &holder{"consumer", c.ID, c.ServiceID, c.Phone, "", *made.Balance}, nil
}

type consumerQRParams struct {
	Account    string           `param:"account_id,required"`
	Type       qrcode.Type      `param:"type"`
	Amount     *decimal.Decimal `param:"amount"`
	UsageLimit *int64           `param:"usage_limit"`
	ExpiresAt  time.Time        `param:"expires_at"`
	Active     *bool            `param:"active"`
}

// consumerQR is how a consumer's code is answered.
type consumerQR struct {
	Object  string `json:"object"`
	ID      string `json:"id"`
	Payload string `json:"qr_payload"`
}

func (h testHelpers) issue(ctx context.Context, caller api.Caller, p consumerQRParams) (*consumerQR, error) {
	code, err := h.svc.QRCodes.IssueConsumerCode(ctx, caller, qrcode.IssueConsumerCodeParams{
		Account: p.Account, Type: p.Type, Amount: p.Amount, UsageLimit: p.UsageLimit, ExpiresAt: p.ExpiresAt,
		Inactive: p.Active != nil && !*p.Active,
	})
	if err != nil {
		return nil, err
	}
	return &consumerQR{code.Object, code.ID, code.Payload}, nil
}

// payParams name a wallet or a phone.
type payParams struct {
	payment.MobileMoney
	Account string `param:"account_id"`
	PIN     string `param:"pin"`
	Amount  *int64 `param:"amount,pesewas"`
}

func (h testHelpers) pay(ctx context.Context, caller api.Caller, id string, p payParams) (*payment.Payment, error) {
	switch {
	case p.PhoneNumber != "" && p.Account != "":
		return nil, api.Invalid("phone_number", "Give either phone_number or account_id.")
	case p.PhoneNumber == "" && p.Account == "":
		return nil, api.Missing("account_id")
	case p.PhoneNumber == "" && p.PIN == "":
		return nil, api.Missing("pin")
	}
	return h.svc.QRCodes.Pay(ctx, caller, id, qrcode.PayParams{
		MobileMoney: p.MobileMoney, Wallet: account.WalletRef{AccountID: p.Account}, PIN: p.PIN, Amount: p.Amount,
	})
}

// payInvoice answers with the pending payment, or with the invoice if nothing was due.
func (h testHelpers) payInvoice(ctx context.Context, caller api.Caller, id string, p payment.MobileMoney) (any, error) {
	started, err := h.svc.Invoices.StartPayment(ctx, caller, id, p)
	if err != nil || started != nil {
		return started, err
	}
	return h.svc.Invoices.Get(ctx, caller, id)
}

// paySessionParams name a wallet or a phone; neither if nothing is due. A subscription always needs a phone.
type paySessionParams struct {
	payment.MobileMoney
	Account string `param:"account_id"`
	PIN     string `param:"pin"`
}

func (h testHelpers) paySession(ctx context.Context, caller api.Caller, id string, p paySessionParams) (*checkout.Session, error) {
	return h.svc.Checkout.Pay(ctx, caller, id, checkout.PayParams{
		MobileMoney: p.MobileMoney, Wallet: account.WalletRef{AccountID: p.Account}, PIN: p.PIN,
	})
}

type settleParams struct {
	Outcome string `param:"outcome,required"`
	Reason  string `param:"failure_reason"`
}

// settle plays the provider of a transfer or refund. verbatim says that the record shows a
// reason as it was given.
func settle[T any](svc *payments.Service, get func(context.Context, api.Caller, string) (*T, error), verbatim bool) func(context.Context, api.Caller, string, settleParams) (*T, error) {
	return func(ctx context.Context, caller api.Caller, id string, p settleParams) (*T, error) {
		result := provider.Result{Outcome: provider.Paid}
		switch p.Outcome {
		case "succeeded":
		case "failed":
			result = provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Message: p.Reason, Verbatim: verbatim && p.Reason != ""}}
		case "reversed":
			result = provider.Result{Outcome: provider.Reversed, Reason: provider.Refusal{Message: p.Reason}}
		default:
			return nil, api.Invalid("outcome", "outcome must be succeeded, failed or reversed.")
		}
		if err := check.Text("failure_reason", p.Reason, api.MaxText); err != nil {
			return nil, err
		}
		if _, err := get(ctx, caller, id); err != nil {
			return nil, err // it may be of another noun
		}
		asked := struct{ ID, Outcome, Reason string }{id, p.Outcome, p.Reason}
		return payments.Once(ctx, svc, caller, "test_helpers.settle", asked, func() (*T, error) {
			once := caller
			once.IdempotencyKey, once.Replayed = operatorKey(caller, "settle"), nil
			if err := svc.Providers.Settle(ctx, once, id, result); err != nil {
				return nil, err
			}
			return get(ctx, caller, id)
		})
	}
}

type clockParams struct {
	Advance *int64     `param:"advance"`
	Now     *time.Time `param:"now"`
}

type clockAnswer struct {
	Object string   `json:"object"`
	Now    api.Time `json:"now"`
}

func (h testHelpers) clock(ctx context.Context, caller api.Caller, p clockParams) (*clockAnswer, error) {
	const most = int64(payments.MaxClockMove / time.Second)
	switch {
	case (p.Advance == nil) == (p.Now == nil):
		return nil, api.Invalid("advance", "Give either advance, in seconds, or now, as an ISO 8601 time.")
	case p.Advance != nil && (*p.Advance < 0 || *p.Advance > most):
		return nil, api.Invalid("advance", "advance must be a whole number of seconds from 0 to %d, which are 1,827 days; the clock never goes back.", most)
	}
	var move payments.ClockParams
	if p.Now != nil {
		move.To = *p.Now
	} else {
		move.By = time.Duration(*p.Advance) * time.Second
	}
	now, err := h.svc.MoveClock(ctx, caller, move)
	if err != nil {
		return nil, err
	}
	return &clockAnswer{"clock", now}, nil
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
