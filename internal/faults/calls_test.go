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
	"github.com/seed-7082ffec/payments/internal/faultstore"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
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
	do func(ctx context.Context, c api.Caller, n int, id string) (any, error)
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

// subject is a service over a store that fails, and all its methods.
type subject struct {
	whole  storage.Store
	store  *faultstore.Store
	now    time.Time
	caller api.Caller
	calls  []call
	twins  []call // the same calls of another service over the same store
	svc    *payments.Service
	wallet string // of the consumer who pays
	races  int    // so far
	every  int    // of the operations of a call are tried
	club   *club  // what the calls of subscriptions are about
	last   contents
	reads  int // of the contents so far
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
	methods := func(svc *payments.Service) (all []call) {
		accounts, codes := svc.Accounts, svc.QRCodes
		type do = func(ctx context.Context, c api.Caller, n int, id string) (any, error)
		plain := func(name string, do do) { all = append(all, call{name: name, do: do}) }
		quiet := func(name string, do do) { all = append(all, call{name: name, do: do, quiet: true}) }
		once := func(name string, do do) { all = append(all, call{name: name, do: do, once: true}) }
		onceOn := func(name string, prepare func() string, do do) {
			all = append(all, call{name: name, prepare: prepare, do: do, once: true})
		}

		// The first of all, while there are few events.
		all = append(all, call{name: "resend since", stepwise: true, do: func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Webhooks.ResendSince(ctx, c, hook.ID, api.Times{})
		}})
		plain("create merchant", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "M", Logo: logo})
		})
		plain("update merchant", func(ctx context.Context, _ api.Caller, n int, _ string) (any, error) {
			return accounts.UpdateMerchant(ctx, api.Caller{}, m.ID, account.UpdateMerchantParams{Name: new(fmt.Sprint("M", n)), Phone: new("0301000000"), Logo: logo})
		})
		plain("merchant", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return accounts.GetMerchant(ctx, api.Caller{}, m.ID)
		})
		plain("merchants", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return accounts.ListMerchants(ctx, api.Caller{}, api.Page{StartingAfter: m.ID})
		})
		plain("logo", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return accounts.GetLogo(ctx, api.Caller{}, m.ID)
		})
		once("create consumer", func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			return accounts.CreateConsumer(ctx, api.Caller{IdempotencyKey: c.IdempotencyKey}, account.CreateHolderParams{Name: "C", Phone: fmt.Sprintf("0242%06d", n), PIN: "1234"})
		})
		once("create agent", func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			return accounts.CreateAgent(ctx, api.Caller{IdempotencyKey: c.IdempotencyKey}, account.CreateHolderParams{Name: "A", Phone: fmt.Sprintf("0242%06d", n)})
		})
		plain("consumer", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return accounts.GetConsumer(ctx, api.Caller{}, ama.ID)
		})
		plain("status of a consumer", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return accounts.UpdateConsumer(ctx, api.Caller{}, ama.ID, account.UpdateHolderParams{Status: new(account.Active)})
		})
		plain("status of an agent", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return accounts.UpdateAgent(ctx, api.Caller{}, agent.ID, account.UpdateHolderParams{Status: new(account.Active)})
		})
		plain("set PIN", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return nil, accounts.SetPIN(ctx, api.Caller{}, ama.ID, account.SetPINParams{PIN: "1234"})
		})
		once("create customer", func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			return accounts.CreateCustomer(ctx, c, account.CreateCustomerParams{Name: fmt.Sprint(n)})
		})
		plain("customer", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return accounts.GetCustomer(ctx, c, customer.ID)
		})
		plain("create key", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return accounts.CreateKey(ctx, c, account.CreateKeyParams{})
		})
		plain("keys", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return accounts.ListKeys(ctx, c, api.Page{})
		})
		quiet("authenticate", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return accounts.Authenticate(ctx, key.Secret)
		})
		plain("roll key", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return accounts.RollKey(ctx, c, key.ID, account.RollKeyParams{Overlap: time.Hour})
		})
		plain("revoke key", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return nil, accounts.RevokeKey(ctx, c, key.ID)
		})
		once("deposit", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return nil, accounts.Deposit(ctx, api.Caller{IdempotencyKey: c.IdempotencyKey}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(1), Source: "test"})
		})
		plain("balance", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) { return accounts.Balance(ctx, c) })
		plain("wallet", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return accounts.WalletBalance(ctx, api.Caller{}, ama.ID)
		})
		plain("float", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return accounts.FloatBalance(ctx, api.Caller{}, agent.ID)
		})
		plain("statement", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return accounts.ListEntries(ctx, c, account.ListEntriesParams{})
		})
		plain("newer entries", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return accounts.ListEntries(ctx, c, account.ListEntriesParams{Page: api.Page{EndingBefore: entry, Limit: 1}})
		})
		all = append(all, call{name: "seal", stepwise: true, do: func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return accounts.Seal(ctx)
		}})
		plain("verify", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) { return accounts.Verify(ctx) })
		plain("look up service id of a merchant", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return accounts.LookUpServiceID(ctx, c, m.ServiceID)
		})
		quiet("forget customer", func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			return nil, accounts.ForgetCustomer(ctx, c, fmt.Sprint("cus_host", n))
		})
		plain("look up service id", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return accounts.LookUpServiceID(ctx, c, ama.ServiceID)
		})

		once("create code", func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			return codes.Create(ctx, c, qrcode.CreateParams{Name: fmt.Sprint(n)})
		})
		plain("code", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) { return codes.Get(ctx, c, code) })
		plain("codes", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return codes.List(ctx, c, qrcode.ListParams{Type: qrcode.Static, Active: &off})
		})
		once("update code", func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			name := fmt.Sprint(n)
			return codes.Update(ctx, c, code, qrcode.UpdateParams{Name: &name, Metadata: api.Metadata{"n": name}})
		})
		plain("open code", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) { return codes.Hosted(ctx, code) })
		plain("picture", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return codes.Image(ctx, c, code, qrcode.ImageParams{Format: qrcode.SVG})
		})
		once("pay", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return codes.Pay(ctx, c, code, qrcode.PayParams{Wallet: account.WalletRef{ServiceID: ama.ServiceID}, PIN: "1234", Amount: &amount})
		})
		once("pay by phone", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return codes.Pay(ctx, c, code, qrcode.PayParams{Wallet: account.WalletRef{Phone: "0241000001"}, PIN: "1234", Amount: &amount})
		})
		onceOn("pay a code of one use", func() string {
			made := must.Get(codes.Create(t.Context(), caller, qrcode.CreateParams{Type: qrcode.Dynamic, Amount: &amount}))(t)
			return made.ID
		}, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return codes.Pay(ctx, c, id, qrcode.PayParams{Wallet: account.WalletRef{AccountID: ama.ID}, PIN: "1234"})
		})
		plain("payments of a code", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return codes.ListPayments(ctx, c, code, payment.ListParams{})
		})
		plain("payments", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Payments.List(ctx, c, payment.ListParams{})
		})
		plain("export payments", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return nil, svc.Payments.Export(ctx, c, payment.ExportParams{Writer: io.Discard})
		})
		once("issue", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return codes.IssueConsumerCode(ctx, c, qrcode.IssueConsumerCodeParams{Account: ama.ID, Type: qrcode.Dynamic, UsageLimit: &limit})
		})
		plain("resolve", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return codes.Resolve(ctx, c, shown.Payload)
		})
		onceOn("delete code", newCode, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return codes.Delete(ctx, c, id)
		})

		once("record", func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			return svc.Events.Record(ctx, c, event.RecordParams{Type: "plan.updated", Object: map[string]int{"n": n}})
		})
		plain("event", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Events.Get(ctx, c, happened.ID)
		})
		plain("events", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Events.List(ctx, c, event.ListParams{Page: api.Page{EndingBefore: happened.ID}})
		})
		plain("messages", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Messages.List(ctx, c, message.ListParams{To: "0241000001", Kind: message.KindSMS})
		})

		onceOn("request code", func() string {
			s.now = s.now.Add(11 * time.Minute)
			return ""
		}, func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Payouts.RequestOTP(ctx, c, payout.ForPayout)
		})
		onceOn("verify code", requestOTP, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return svc.Payouts.VerifyOTP(ctx, c, payout.OTPParams{Purpose: payout.ForPayout, Code: id})
		})
		onceOn("payout", verifyOTP, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return svc.Payouts.Create(ctx, c, payout.CreateParams{Amount: decimal.NewFromInt(1), Destination: mobile, OTPCode: id})
		})
		onceOn("payout to a wallet", verifyOTP, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			to := payout.DestinationParams{Type: payout.ServiceWallet, AccountID: agent.ID}
			return svc.Payouts.Create(ctx, c, payout.CreateParams{Amount: decimal.NewFromInt(1), Destination: to, OTPCode: id})
		})
		onceOn("cancel payout", newPayout, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return svc.Payouts.Cancel(ctx, c, id)
		})
		onceOn("settle payout", newPayout, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return nil, svc.Providers.Settle(ctx, c, id, provider.Result{Outcome: provider.Paid, Reference: "x"})
		})
		all = append(all, call{name: "callback", prepare: newPayout, do: func(ctx context.Context, _ api.Caller, _ int, id string) (any, error) {
			return nil, svc.Providers.Notify(ctx, id, provider.Result{Outcome: provider.Refused})
		}})
		plain("payouts", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Payouts.List(ctx, c, payout.ListParams{})
		})
		plain("stuck", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return svc.Providers.List(ctx, api.Caller{}, provider.ListParams{})
		})
		plain("reconcile", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return svc.Providers.Reconcile(ctx, api.Caller{}, provider.ReconcileParams{
				Rows: &noRows{row: provider.Row{Reference: "po_x", Amount: decimal.NewFromInt(1), Status: "paid"}},
			})
		})
		once("disbursement", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Disbursements.Create(ctx, c, disbursement.CreateParams{Amount: decimal.NewFromInt(1), Destination: mobile})
		})
		once("disbursement to a wallet", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			to := payout.DestinationParams{Type: payout.ServiceWallet, ServiceID: ama.ServiceID}
			return svc.Disbursements.Create(ctx, c, disbursement.CreateParams{Amount: decimal.NewFromInt(1), Destination: to})
		})
		once("disbursement by code", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			one := decimal.NewFromInt(1)
			return svc.Disbursements.CreateQR(ctx, c, disbursement.CreateQRParams{Payload: shown.Payload, Amount: &one})
		})
		onceOn("cancel disbursement", newDisbursement, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return svc.Disbursements.Cancel(ctx, c, id)
		})
		onceOn("settle disbursement", newDisbursement, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return nil, svc.Providers.Settle(ctx, c, id, provider.Result{Outcome: provider.Refused})
		})
		plain("disbursements", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Disbursements.List(ctx, c, payout.ListParams{})
		})

		once("create invoice", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Invoices.Create(ctx, c, invoice.CreateParams{Fields: invoice.Fields{Customer: &customer.ID, Lines: lines}, AutoFinalize: true})
		})
		once("update invoice", func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			memo := fmt.Sprint(n)
			return svc.Invoices.Update(ctx, c, draft, invoice.Fields{Memo: &memo, Customer: &customer.ID})
		})
		once("add line", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Invoices.AddLine(ctx, c, draft, lines[0])
		})
		onceOn("delete invoice", newDraft, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return svc.Invoices.Delete(ctx, c, id)
		})
		onceOn("finalize", newDraft, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return svc.Invoices.Finalize(ctx, c, id)
		})
		onceOn("send", newOpen, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return svc.Invoices.Send(ctx, c, id)
		})
		onceOn("void", newOpen, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return svc.Invoices.Void(ctx, c, id)
		})
		onceOn("mark uncollectible", newOpen, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return svc.Invoices.MarkUncollectible(ctx, c, id)
		})
		onceOn("pay from a wallet", newOpen, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return svc.Invoices.PayFromWallet(ctx, c, id, invoice.PayFromWalletParams{Wallet: account.WalletRef{AccountID: ama.ID}, PIN: "1234"})
		})
		all = append(all, call{name: "charge", prepare: newOpen, once: true, outside: true, do: func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return svc.Invoices.Pay(ctx, c, id, invoice.PayParams{})
		}})
		plain("invoice", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Invoices.Get(ctx, c, draft)
		})
		plain("invoices", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Invoices.List(ctx, c, invoice.ListParams{Customer: customer.ID})
		})
		plain("lines", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Invoices.ListLines(ctx, c, draft, api.Page{})
		})
		plain("hosted invoice", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			return svc.Invoices.Hosted(ctx, token)
		})
		all = append(all, call{name: "document", prepare: newOpen, do: func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return svc.Invoices.PDFURL(ctx, c, id)
		}})
		quiet("hosted document", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
			_, name, err := svc.Invoices.HostedPDF(ctx, token)
			return name, err
		})
		plain("export invoices", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return nil, svc.Invoices.Export(ctx, c, invoice.ExportParams{Writer: io.Discard})
		})

		once("create endpoint", func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			return svc.Webhooks.Create(ctx, c, webhook.CreateParams{URL: fmt.Sprint("http://127.0.0.1:9/", n), Events: []event.Type{"plan.deleted"}})
		})
		once("update endpoint", func(ctx context.Context, c api.Caller, n int, _ string) (any, error) {
			address := fmt.Sprint("http://127.0.0.1:9/h", n)
			return svc.Webhooks.Update(ctx, c, hook.ID, webhook.UpdateParams{URL: &address})
		})
		once("rotate secret", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Webhooks.RotateSecret(ctx, c, hook.ID)
		})
		onceOn("delete endpoint", func() string {
			made := must.Get(svc.Webhooks.Create(ctx, caller, webhook.CreateParams{URL: "http://127.0.0.1:9/gone", Events: []event.Type{"plan.deleted"}}))(t)
			return made.ID
		}, func(ctx context.Context, c api.Caller, _ int, id string) (any, error) {
			return svc.Webhooks.Delete(ctx, c, id)
		})
		plain("endpoint", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Webhooks.Get(ctx, c, hook.ID)
		})
		plain("endpoints", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Webhooks.List(ctx, c, webhook.ListParams{})
		})
		plain("deliveries", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Webhooks.ListDeliveries(ctx, c, webhook.ListDeliveriesParams{Endpoint: hook.ID})
		})
		once("resend", func(ctx context.Context, c api.Caller, _ int, _ string) (any, error) {
			return svc.Webhooks.Resend(ctx, c, happened.ID)
		})
		plain("another service", func(ctx context.Context, _ api.Caller, _ int, _ string) (any, error) {
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
	s.calls = methods(svc)
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
