package faults_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/webhook"
)

// call is a method of a service, as the tests of failures drive it.
type call struct {
	name string
	// prepare makes, where it is set, what one call works on, and returns its id.
	prepare func() string
	// do makes the call. n is another one for each effect that is wanted, for what
	// must be new.
	do doing
	// once says that the call heeds the caller's idempotency key.
	once bool
	// quiet: a failure may be kept from the caller, who has the answer anyway.
	quiet bool
	// outside says that the call goes outside between two transactions: a failure
	// may leave what was begun, and the key is in use until that has ended.
	outside bool
	// stepwise says that the call is many transactions, of which some may be done
	// when another fails.
	stepwise bool
	// pin says that the call compares the consumer's PIN.
	pin bool
}

// calls are the methods that are driven.
type calls []call

func (all *calls) plain(name string, prepare func() string, do doing) {
	*all = append(*all, call{name: name, prepare: prepare, do: do})
}

func (all *calls) once(name string, prepare func() string, do doing) {
	*all = append(*all, call{name: name, prepare: prepare, do: do, once: true})
}

// doing is what a call does; see call.do.
type doing = func(ctx context.Context, c api.Caller, n int, id string) (any, error)

// with calls a method with these parameters, or with the id of an object that stays.
func with[P, R any](method func(context.Context, api.Caller, P) (R, error), p P) doing {
	return func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) { return method(ctx, c, p) }
}

// byID calls a method with the id of what was prepared, and byIDWith with parameters, too.
func byID[R any](method func(context.Context, api.Caller, string) (R, error)) doing {
	return func(ctx context.Context, c api.Caller, _ int, id string) (any, error) { return method(ctx, c, id) }
}

func byIDWith[P, R any](method func(context.Context, api.Caller, string, P) (R, error), p P) doing {
	return func(ctx context.Context, c api.Caller, _ int, id string) (any, error) { return method(ctx, c, id, p) }
}

// operator makes a call of the operator's, without a key.
func operator(do doing) doing {
	return func(ctx context.Context, _ api.Caller, n int, id string) (any, error) {
		return do(ctx, api.Caller{}, n, id)
	}
}

// subject is a service over a store that fails, and all its methods.
type subject struct {
	whole  storage.Store
	store  *faultstore.Store
	now    time.Time
	caller api.Caller
	calls  []call
	twins  []call // the same calls of another service over the same store
	// methods makes the same calls of any service over the same database.
	methods func(*payments.Service) calls
	svc     *payments.Service
	wallet  string // of the consumer who pays
	races   int    // so far
	every   int    // of the operations of a call are tried
	club    *club  // what the calls of subscriptions are about
	last    contents
	reads   int // of the contents so far
}

// newSubject prepares a store with something of every noun.
func newSubject(t *testing.T, whole storage.Store) *subject {
	s := &subject{whole: whole, store: faultstore.New(whole), now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
	svc := testkit.New(t, s.store, payments.Config{Sandbox: true, SingleUseOTP: true, Clock: func() time.Time { return s.now }})
	s.svc = svc
	accounts, codes, ctx := svc.Accounts, svc.QRCodes, t.Context()

	logo := []byte("\xff\xd8\xff")
	m := must.Get(accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "M", Phone: "0301000000", Logo: logo}))(t)
	caller := api.Caller{Merchant: m.ID}
	s.caller = caller
	ama := must.Get(accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: "0241000001", PIN: "1234"}))(t)
	s.wallet = ama.ID
	agent := must.Get(accounts.CreateAgent(ctx, api.Caller{}, account.CreateHolderParams{Name: "Kojo", Phone: "0241000001"}))(t)
	for _, to := range []string{ama.ID, agent.ID, m.ID} {
		must.Do(t, accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: to, Amount: decimal.NewFromInt(10_000), Source: "test"}))
	}
	key := must.Get(accounts.CreateKey(ctx, caller, account.CreateKeyParams{}))(t)
	customer := must.Get(accounts.CreateCustomer(ctx, caller, account.CreateCustomerParams{Name: "Akua", Email: "akua@example.com", Phone: "0241000009"}))(t)
	limit, amount, off := int64(1), int64(5), false
	newCode := func() string {
		code := must.Get(codes.Create(ctx, caller, qrcode.CreateParams{}))(t)
		return code.ID
	}
	code := newCode()
	shown := must.Get(codes.IssueConsumerCode(ctx, caller, qrcode.IssueConsumerCodeParams{Account: ama.ID}))(t)
	hook := must.Get(svc.Webhooks.Create(ctx, caller, webhook.CreateParams{URL: "http://127.0.0.1:9/h", Events: []event.Type{"plan.created"}}))(t)
	happened := must.Get(svc.Events.Record(ctx, caller, event.RecordParams{Type: "plan.created", Object: struct{}{}}))(t)
	statement := must.Get(accounts.ListEntries(ctx, caller, account.ListEntriesParams{}))(t)
	entry := statement.Data[0].ID

	// One-time codes are read where the merchant would: in the message.
	var otp string
	readOTP := func() {
		list := must.Get(svc.Messages.List(ctx, caller, message.ListParams{To: "0301000000", Kind: message.KindSMS}))(t)
		otp = list.Data[0].Text[:6]
	}
	requestOTP := func() string {
		s.now = s.now.Add(11 * time.Minute) // past the limit on sends
		must.Get(svc.Payouts.RequestOTP(ctx, caller, payout.ForPayout))(t)
		readOTP()
		return otp
	}
	verifyOTP := func() string {
		requestOTP()
		must.Get(svc.Payouts.VerifyOTP(ctx, caller, payout.OTPParams{Purpose: payout.ForPayout, Code: otp}))(t)
		return otp
	}
	mobile := payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241230903"} // stays processing
	newDisbursement := func() string {
		made := must.Get(svc.Disbursements.Create(ctx, caller, disbursement.CreateParams{Amount: decimal.NewFromInt(1), Destination: mobile}))(t)
		return made.ID
	}
	newPayout := func() string {
		made := must.Get(svc.Payouts.Create(ctx, caller, payout.CreateParams{Amount: decimal.NewFromInt(1), Destination: mobile, OTPCode: verifyOTP()}))(t)
		return made.ID
	}
	price := int64(2500)
	lines := []invoice.LineParams{{Description: "Catering", UnitAmount: &price}}
	newDraft := func() string {
		made := must.Get(svc.Invoices.Create(ctx, caller, invoice.CreateParams{Fields: invoice.Fields{Customer: &customer.ID, Lines: lines}}))(t)
		return made.ID
	}
	newOpen := func() string {
		id := newDraft()
		must.Get(svc.Invoices.Finalize(ctx, caller, id))(t)
		return id
	}
	draft := newDraft()
	opened := must.Get(svc.Invoices.Get(ctx, caller, newOpen()))(t)
	token := opened.HostedURL[strings.LastIndex(opened.HostedURL, "/")+1:]

	// methods are the calls as one service, or one process, makes them.
	methods := func(svc *payments.Service) (all calls) {
		accounts, codes := svc.Accounts, svc.QRCodes
		quiet := func(name string, do doing) { all = append(all, call{name: name, do: do, quiet: true}) }

		// The first of all, while there are few events.
		all = append(all, call{name: "resend since", stepwise: true, do: func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Webhooks.ResendSince(ctx, c, hook.ID, api.Times{})
		}})
		all.plain("create merchant", nil, operator(with(accounts.CreateMerchant, account.CreateMerchantParams{Name: "M", Logo: logo})))
		all.plain("update merchant", nil, func(ctx context.Context, _ api.Caller, n int, _ string) (any, error) {
			return accounts.UpdateMerchant(ctx, api.Caller{}, m.ID, account.UpdateMerchantParams{Name: new(fmt.Sprint("M", n)), Phone: new("0301000000"), Logo: logo})
		})
		all.plain("merchant", nil, operator(with(accounts.GetMerchant, m.ID)))
		all.plain("merchants", nil, operator(with(accounts.ListMerchants, api.Page{StartingAfter: m.ID})))
		all.plain("logo", nil, operator(with(accounts.GetLogo, m.ID)))
		all.once("create consumer", nil, func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			return accounts.CreateConsumer(ctx, api.Caller{IdempotencyKey: c.IdempotencyKey}, account.CreateHolderParams{Name: "C", Phone: fmt.Sprintf("0242%06d", n), PIN: "1234"})
		})
		all.once("create agent", nil, func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			return accounts.CreateAgent(ctx, api.Caller{IdempotencyKey: c.IdempotencyKey}, account.CreateHolderParams{Name: "A", Phone: fmt.Sprintf("0242%06d", n)})
		})
		all.plain("consumer", nil, operator(with(accounts.GetConsumer, ama.ID)))
		all.plain("status of a consumer", nil, func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return accounts.UpdateConsumer(ctx, api.Caller{}, ama.ID, account.UpdateHolderParams{Status: new(account.Active)})
		})
		all.plain("status of an agent", nil, func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return accounts.UpdateAgent(ctx, api.Caller{}, agent.ID, account.UpdateHolderParams{Status: new(account.Active)})
		})
		all.plain("set PIN", nil, func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return nil, accounts.SetPIN(ctx, api.Caller{}, ama.ID, account.SetPINParams{PIN: "1234"})
		})
		all.once("create customer", nil, func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			return accounts.CreateCustomer(ctx, c, account.CreateCustomerParams{Name: fmt.Sprint(n)})
		})
		all.plain("customer", nil, with(accounts.GetCustomer, customer.ID))
		all.plain("create key", nil, with(accounts.CreateKey, account.CreateKeyParams{}))
		all.plain("keys", nil, with(accounts.ListKeys, api.Page{}))
		quiet("authenticate", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return accounts.Authenticate(ctx, key.Secret)
		})
		all.plain("roll key", nil, func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return accounts.RollKey(ctx, c, key.ID, account.RollKeyParams{Overlap: time.Hour})
		})
		all.plain("revoke key", nil, func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return nil, accounts.RevokeKey(ctx, c, key.ID)
		})
		all.once("deposit", nil, func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return nil, accounts.Deposit(ctx, api.Caller{IdempotencyKey: c.IdempotencyKey}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(1), Source: "test"})
		})
		all.plain("balance", nil, func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) { return accounts.Balance(ctx, c) })
		all.plain("wallet", nil, operator(with(accounts.WalletBalance, ama.ID)))
		all.plain("float", nil, operator(with(accounts.FloatBalance, agent.ID)))
		all.plain("statement", nil, with(accounts.ListEntries, account.ListEntriesParams{}))
		all.plain("newer entries", nil, with(accounts.ListEntries, account.ListEntriesParams{Page: api.Page{EndingBefore: entry, Limit: 1}}))
		all = append(all, call{name: "seal", stepwise: true, do: func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return accounts.Seal(ctx)
		}})
		all.plain("verify", nil, func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) { return accounts.Verify(ctx) })
		all.plain("look up service id of a merchant", nil, with(accounts.LookUpServiceID, m.ServiceID))
		quiet("forget customer", func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			return nil, accounts.ForgetCustomer(ctx, c, fmt.Sprint("cus_host", n))
		})
		all.plain("look up service id", nil, with(accounts.LookUpServiceID, ama.ServiceID))

		all.once("create code", nil, func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			return codes.Create(ctx, c, qrcode.CreateParams{Name: fmt.Sprint(n)})
		})
		all.plain("code", nil, with(codes.Get, code))
		all.plain("codes", nil, with(codes.List, qrcode.ListParams{Type: qrcode.Static, Active: &off}))
		all.once("update code", nil, func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			name := fmt.Sprint(n)
			return codes.Update(ctx, c, code, qrcode.UpdateParams{Name: &name, Metadata: api.Metadata{"n": name}})
		})
		all.plain("open code", nil, func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) { return codes.Hosted(ctx, code) })
		all.plain("picture", nil, func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return codes.Image(ctx, c, code, qrcode.ImageParams{Format: qrcode.SVG})
		})
		all.once("pay", nil, func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return codes.Pay(ctx, c, code, qrcode.PayParams{Wallet: account.WalletRef{ServiceID: ama.ServiceID}, PIN: "1234", Amount: &amount})
		})
		all.once("pay by phone", nil, func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return codes.Pay(ctx, c, code, qrcode.PayParams{Wallet: account.WalletRef{Phone: "0241000001"}, PIN: "1234", Amount: &amount})
		})
		all.once("pay a code of one use", func() string {
			made := must.Get(codes.Create(t.Context(), caller, qrcode.CreateParams{Type: qrcode.Dynamic, Amount: &amount}))(t)
			return made.ID
		}, byIDWith(codes.Pay, qrcode.PayParams{Wallet: account.WalletRef{AccountID: ama.ID}, PIN: "1234"}))
		all.plain("payments of a code", nil, func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return codes.ListPayments(ctx, c, code, payment.ListParams{})
		})
		all.plain("payments", nil, with(svc.Payments.List, payment.ListParams{}))
		all.plain("export payments", nil, func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return nil, svc.Payments.Export(ctx, c, payment.ExportParams{Writer: io.Discard})
		})
		all.once("issue", nil, with(codes.IssueConsumerCode, qrcode.IssueConsumerCodeParams{Account: ama.ID, Type: qrcode.Dynamic, UsageLimit: &limit}))
		all.plain("resolve", nil, with(codes.Resolve, shown.Payload))
		all.once("delete code", newCode, byID(codes.Delete))

		all.once("record", nil, func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			return svc.Events.Record(ctx, c, event.RecordParams{Type: "plan.updated", Object: map[string]int{"n": n}})
		})
		all.plain("event", nil, with(svc.Events.Get, happened.ID))
		all.plain("events", nil, with(svc.Events.List, event.ListParams{Page: api.Page{EndingBefore: happened.ID}}))
		all.plain("messages", nil, with(svc.Messages.List, message.ListParams{To: "0241000001", Kind: message.KindSMS}))

		all.once("request code", func() string {
			s.now = s.now.Add(11 * time.Minute)
			return ""
		}, with(svc.Payouts.RequestOTP, payout.ForPayout))
		all.once("verify code", requestOTP, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return svc.Payouts.VerifyOTP(ctx, c, payout.OTPParams{Purpose: payout.ForPayout, Code: id})
		})
		all.once("payout", verifyOTP, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return svc.Payouts.Create(ctx, c, payout.CreateParams{Amount: decimal.NewFromInt(1), Destination: mobile, OTPCode: id})
		})
		all.once("payout to a wallet", verifyOTP, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			to := payout.DestinationParams{Type: payout.ServiceWallet, AccountID: agent.ID}
			return svc.Payouts.Create(ctx, c, payout.CreateParams{Amount: decimal.NewFromInt(1), Destination: to, OTPCode: id})
		})
		all.once("cancel payout", newPayout, byID(svc.Payouts.Cancel))
		all.once("settle payout", newPayout, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return nil, svc.Providers.Settle(ctx, c, id, provider.Result{Outcome: provider.Paid, Reference: "x"})
		})
		all = append(all, call{name: "callback", prepare: newPayout, do: func(ctx context.Context, _ api.Caller, _ int, id string) (any, error) {
			return nil, svc.Providers.Notify(ctx, id, provider.Result{Outcome: provider.Refused})
		}})
		all.plain("payouts", nil, with(svc.Payouts.List, payout.ListParams{}))
		all.plain("stuck", nil, operator(with(svc.Providers.List, provider.ListParams{})))
		all.plain("reconcile", nil, func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return svc.Providers.Reconcile(ctx, api.Caller{}, provider.ReconcileParams{
				Rows: &noRows{row: provider.Row{Reference: "po_x", Amount: decimal.NewFromInt(1), Status: "paid"}},
			})
		})
		all.once("disbursement", nil, with(svc.Disbursements.Create, disbursement.CreateParams{Amount: decimal.NewFromInt(1), Destination: mobile}))
		all.once("disbursement to a wallet", nil, func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			to := payout.DestinationParams{Type: payout.ServiceWallet, ServiceID: ama.ServiceID}
			return svc.Disbursements.Create(ctx, c, disbursement.CreateParams{Amount: decimal.NewFromInt(1), Destination: to})
		})
		all.once("disbursement by code", nil, func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			one := decimal.NewFromInt(1)
			return svc.Disbursements.CreateQR(ctx, c, disbursement.CreateQRParams{Payload: shown.Payload, Amount: &one})
		})
		all.once("cancel disbursement", newDisbursement, byID(svc.Disbursements.Cancel))
		all.once("settle disbursement", newDisbursement, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return nil, svc.Providers.Settle(ctx, c, id, provider.Result{Outcome: provider.Refused})
		})
		all.plain("disbursements", nil, with(svc.Disbursements.List, payout.ListParams{}))

		all.once("create invoice", nil, with(svc.Invoices.Create, invoice.CreateParams{Fields: invoice.Fields{Customer: &customer.ID, Lines: lines}, AutoFinalize: true}))
		all.once("update invoice", nil, func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			memo := fmt.Sprint(n)
			return svc.Invoices.Update(ctx, c, draft, invoice.Fields{Memo: &memo, Customer: &customer.ID})
		})
		all.once("add line", nil, func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Invoices.AddLine(ctx, c, draft, lines[0])
		})
		all.once("delete invoice", newDraft, byID(svc.Invoices.Delete))
		all.once("finalize", newDraft, byID(svc.Invoices.Finalize))
		all.once("send", newOpen, byID(svc.Invoices.Send))
		all.once("void", newOpen, byID(svc.Invoices.Void))
		all.once("mark uncollectible", newOpen, byID(svc.Invoices.MarkUncollectible))
		all.once("pay from a wallet", newOpen, byIDWith(svc.Invoices.PayFromWallet, invoice.PayFromWalletParams{Wallet: account.WalletRef{AccountID: ama.ID}, PIN: "1234"}))
		all = append(all, call{name: "charge", prepare: newOpen, once: true, outside: true, do: byIDWith(svc.Invoices.Pay, invoice.PayParams{})})
		all.plain("invoice", nil, with(svc.Invoices.Get, draft))
		all.plain("invoices", nil, with(svc.Invoices.List, invoice.ListParams{Customer: customer.ID}))
		all.plain("lines", nil, func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Invoices.ListLines(ctx, c, draft, api.Page{})
		})
		all.plain("hosted invoice", nil, func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return svc.Invoices.Hosted(ctx, token)
		})
		all.plain("document", newOpen, byID(svc.Invoices.PDFURL))
		quiet("hosted document", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			_, name, err := svc.Invoices.HostedPDF(ctx, token)
			return name, err
		})
		all.plain("export invoices", nil, func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return nil, svc.Invoices.Export(ctx, c, invoice.ExportParams{Writer: io.Discard})
		})

		all.once("create endpoint", nil, func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			return svc.Webhooks.Create(ctx, c, webhook.CreateParams{URL: fmt.Sprint("http://127.0.0.1:9/", n), Events: []event.Type{"plan.deleted"}})
		})
		all.once("update endpoint", nil, func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			address := fmt.Sprint("http://127.0.0.1:9/h", n)
			return svc.Webhooks.Update(ctx, c, hook.ID, webhook.UpdateParams{URL: &address})
		})
		all.once("rotate secret", nil, with(svc.Webhooks.RotateSecret, hook.ID))
		all.once("delete endpoint", func() string {
			made := must.Get(svc.Webhooks.Create(ctx, caller, webhook.CreateParams{URL: "http://127.0.0.1:9/gone", Events: []event.Type{"plan.deleted"}}))(t)
			return made.ID
		}, byID(svc.Webhooks.Delete))
		all.plain("endpoint", nil, with(svc.Webhooks.Get, hook.ID))
		all.plain("endpoints", nil, with(svc.Webhooks.List, webhook.ListParams{}))
		all.plain("deliveries", nil, with(svc.Webhooks.ListDeliveries, webhook.ListDeliveriesParams{Endpoint: hook.ID}))
		all.once("resend", nil, with(svc.Webhooks.Resend, happened.ID))
		all.plain("another service", nil, func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return payments.New(ctx, s.store, payments.Config{})
		})
		all = append(all, call{name: "clock", quiet: true, stepwise: true, do: func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) { // what became due is done later
			defer func() { must.Do(t, svc.Stop(t.Context())) }() // what it leaves running would act on what later calls prepare
			return svc.MoveClock(ctx, c, payments.ClockParams{By: time.Second})
		}})
		about := agents{consumer: ama.ID, customer: customer.ID, code: code, open: newOpen}
		all = append(append(all, s.everyday(svc, about)...), s.fromPhones(svc, about)...)
		all = append(append(all, s.catalog(svc)...), s.sold(svc, about)...)
		all = append(all, s.subscriptions(svc)...)
		for i := range all {
			all[i].pin = strings.HasPrefix(all[i].name, "pay")
		}
		return all
	}
	s.methods, s.calls = methods, methods(svc)
	s.twins = methods(testkit.New(t, s.store, payments.Config{Sandbox: true, SingleUseOTP: true, Clock: func() time.Time { return s.now }}))
	return s
}

// noRows is a provider's statement of one row.
type noRows struct {
	row  provider.Row
	read bool
}

func (r *noRows) Read() (provider.Row, error) {
	if r.read {
		return provider.Row{}, io.EOF
	}
	r.read = true
	return r.row, nil
}
