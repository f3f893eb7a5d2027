package payments_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

var errDisk = errors.New("the disk is gone")

// faulty is a store of which one operation fails: the one that many operations
// after it was armed. Every call of a transaction counts, and every commit.
type faulty struct {
	storage.Store
	left int
	hit  bool
}

// arm lets the n-th operation from now fail; 0 for none.
func (f *faulty) arm(n int) { f.left, f.hit = n, false }

func (f *faulty) fault() error {
	if f.left == 0 {
		return nil
	}
	if f.left--; f.left > 0 {
		return nil
	}
	f.hit = true
	return fmt.Errorf("storage: %w", errDisk)
}

func (f *faulty) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	return f.Store.View(ctx, func(tx storage.ReadTx) error { return fn(&faultyReadTx{tx, f}) })
}

func (f *faulty) Update(ctx context.Context, fn func(storage.Tx) error) error {
	return f.Store.Update(ctx, func(tx storage.Tx) error {
		if err := fn(&faultyTx{faultyReadTx{tx, f}, tx}); err != nil {
			return err
		}
		return f.fault() // of the commit
	})
}

type faultyReadTx struct {
	storage.ReadTx
	by *faulty
}

type faultyTx struct {
	faultyReadTx
	tx storage.Tx
}

func (t *faultyReadTx) Get(k *storage.Kind, s storage.Scope, id string) (storage.Record, error) {
	if err := t.by.fault(); err != nil {
		return storage.Record{}, err
	}
	return t.ReadTx.Get(k, s, id)
}

func (t *faultyReadTx) Find(k *storage.Kind, key string, s storage.Scope, values ...any) (storage.Record, error) {
	if err := t.by.fault(); err != nil {
		return storage.Record{}, err
	}
	return t.ReadTx.Find(k, key, s, values...)
}

func (t *faultyReadTx) List(k *storage.Kind, q storage.Query) ([]storage.Record, error) {
	if err := t.by.fault(); err != nil {
		return nil, err
	}
	return t.ReadTx.List(k, q)
}

func (t *faultyReadTx) Balance(account string) (storage.Balance, error) {
	if err := t.by.fault(); err != nil {
		return storage.Balance{}, err
	}
	return t.ReadTx.Balance(account)
}

func (t *faultyReadTx) Balances(after string, limit int) ([]storage.Balance, error) {
	if err := t.by.fault(); err != nil {
		return nil, err
	}
	return t.ReadTx.Balances(after, limit)
}

func (t *faultyReadTx) Entries(account string, before int64, limit int) ([]storage.Entry, error) {
	if err := t.by.fault(); err != nil {
		return nil, err
	}
	return t.ReadTx.Entries(account, before, limit)
}

func (t *faultyReadTx) Backlog(k *storage.Kind, due time.Time, limit int) (storage.Backlog, error) {
	if err := t.by.fault(); err != nil {
		return storage.Backlog{}, err
	}
	return t.ReadTx.Backlog(k, due, limit)
}

func (t *faultyReadTx) Posting(id string) (storage.Booked, error) {
	if err := t.by.fault(); err != nil {
		return storage.Booked{}, err
	}
	return t.ReadTx.Posting(id)
}

func (t *faultyReadTx) Postings(after string, limit int) ([]storage.Booked, error) {
	if err := t.by.fault(); err != nil {
		return nil, err
	}
	return t.ReadTx.Postings(after, limit)
}

func (t *faultyTx) Insert(k *storage.Kind, r storage.Record) error {
	if err := t.by.fault(); err != nil {
		return err
	}
	return t.tx.Insert(k, r)
}

func (t *faultyTx) Replace(k *storage.Kind, r storage.Record) error {
	if err := t.by.fault(); err != nil {
		return err
	}
	return t.tx.Replace(k, r)
}

func (t *faultyTx) Delete(k *storage.Kind, s storage.Scope, id string, version int64) error {
	if err := t.by.fault(); err != nil {
		return err
	}
	return t.tx.Delete(k, s, id, version)
}

func (t *faultyTx) Post(p storage.Posting) error {
	if err := t.by.fault(); err != nil {
		return err
	}
	return t.tx.Post(p)
}

func (t *faultyTx) Next(sequence string) (int64, error) {
	if err := t.by.fault(); err != nil {
		return 0, err
	}
	return t.tx.Next(sequence)
}

func (t *faultyTx) Claim(k *storage.Kind, c storage.Claim) ([]storage.Record, error) {
	if err := t.by.fault(); err != nil {
		return nil, err
	}
	return t.tx.Claim(k, c)
}

// contents returns all that a store holds, but for the versions: a try of a PIN
// that was counted and given back leaves nothing else behind.
func contents(t *testing.T, store storage.Store, merchant string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := store.View(t.Context(), func(tx storage.ReadTx) error {
		for _, k := range payments.Kinds() {
			for _, scope := range []storage.Scope{{}, {Live: true}, {Merchant: merchant}, {Merchant: merchant, Live: true}} {
				page, err := tx.List(k, storage.Query{Scope: scope, Limit: 10_000})
				if err != nil {
					return err
				}
				for _, r := range page {
					all[fmt.Sprint(k.Name, " ", scope, " ", r.ID)] = fmt.Sprintf("%v %s", r.Columns, r.Data)
				}
			}
		}
		postings, err := tx.Postings("", 10_000)
		if err != nil {
			return err
		}
		for _, p := range postings {
			all[p.ID] = fmt.Sprint(p)
		}
		balances, err := tx.Balances("", 10_000)
		for _, b := range balances {
			all[b.Account] = fmt.Sprint(b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Whichever operation of the store fails, in whichever call: the call says so, as
// a fault and not as a refusal of the caller's, nothing of it is written, and it
// can be repeated.
func TestNoFailureOfTheStoreIsLost(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	whole := memory.New()
	store := &faulty{Store: whole}
	svc := open(t, store, payments.Config{Sandbox: true, Clock: func() time.Time { return now }})
	accounts, codes, ctx := svc.Accounts, svc.QRCodes, t.Context()

	m, err := accounts.CreateMerchant(ctx, account.MerchantParams{Name: "M", Phone: "0301000000", Logo: []byte("\xff\xd8\xff")})
	check(err)
	caller := api.Caller{Merchant: m.ID}
	ama, err := accounts.CreateConsumer(ctx, account.HolderParams{Name: "Ama Mensah", Phone: "0241000001", PIN: "1234"})
	check(err)
	agent, err := accounts.CreateAgent(ctx, account.HolderParams{Name: "Kojo", Phone: "0241000001"})
	check(err)
	for _, to := range []string{ama.ID, agent.ID, m.ID} {
		check(accounts.Deposit(ctx, account.Deposit{To: to, Amount: decimal.NewFromInt(100), Source: "test"}))
	}
	key, err := accounts.CreateKey(ctx, caller, account.KeyParams{})
	check(err)
	customer, err := accounts.CreateCustomer(ctx, caller, account.CustomerParams{Name: "Akua"})
	check(err)
	limit, amount, off := int64(1), int64(5), false
	code, err := codes.Create(ctx, caller, qrcode.CreateParams{})
	check(err)
	shown, err := codes.Issue(ctx, caller, qrcode.IssueParams{Account: ama.ID})
	check(err)
	happened, err := svc.Events.Record(ctx, caller, "plan.created", struct{}{})
	check(err)
	statement, err := accounts.Statement(ctx, caller, api.Page{})
	check(err)
	entry := statement.Data[0].ID

	charged := func(method string) *invoice.Invoice {
		v, err := svc.Invoices.Create(ctx, caller, invoice.CreateParams{AutoFinalize: true, Fields: invoice.Fields{
			Phone: new("0241000001"), Email: new("ama@example.com"), DueDate: new(now.AddDate(0, 1, 0)),
			Lines: []invoice.LineParams{{Description: "x", UnitAmount: new(int64(10_00))}},
		}})
		check(err)
		if method != "" {
			v, err = svc.Invoices.Pay(ctx, caller, v.ID, invoice.PayParams{PaymentMethod: method})
			check(err)
		}
		return v
	}
	unpaid, given, slow := charged(""), charged("pm_1"), charged("pm_refund_slow_1")
	bought, err := codes.Pay(ctx, caller, qrcode.PayParams{Code: code.ID, Wallet: account.WalletRef{AccountID: ama.ID}, PIN: "1234", Amount: new(int64(10_00))})
	check(err)
	pending, err := svc.Refunds.Create(ctx, caller, refund.CreateParams{Invoice: slow.ID, Amount: new(int64(1_00))})
	check(err)
	declined, err := svc.Refunds.Create(ctx, caller, refund.CreateParams{Invoice: slow.ID, Amount: new(int64(1_00))})
	check(err)
	check(svc.Drain(ctx))

	const most = 100 // operations of one call
	var doomed []string
	for range most {
		c, err := codes.Create(ctx, caller, qrcode.CreateParams{})
		check(err)
		doomed = append(doomed, c.ID)
	}

	// Each call may use n, which is another one each time, for what must be new.
	type call struct {
		name string
		do   func(c api.Caller, n int) error
		// quiet: a failure may be kept from the caller, who has the answer anyway.
		quiet bool
	}
	calls := []call{
		{name: "create merchant", do: func(_ api.Caller, _ int) error {
			_, err := accounts.CreateMerchant(ctx, account.MerchantParams{Name: "M", Logo: []byte("\xff\xd8\xff")})
			return err
		}},
		{name: "update merchant", do: func(_ api.Caller, n int) error {
			_, err := accounts.UpdateMerchant(ctx, m.ID, account.MerchantParams{Name: fmt.Sprint("M", n), Phone: "0301000000", Logo: []byte("\xff\xd8\xff")})
			return err
		}},
		{name: "merchant", do: func(_ api.Caller, _ int) error { _, err := accounts.Merchant(ctx, m.ID); return err }},
		{name: "merchants", do: func(_ api.Caller, _ int) error {
			_, err := accounts.Merchants(ctx, api.Page{StartingAfter: m.ID})
			return err
		}},
		{name: "logo", do: func(_ api.Caller, _ int) error { _, err := accounts.Logo(ctx, m.ID); return err }},
		{name: "create consumer", do: func(_ api.Caller, n int) error {
			_, err := accounts.CreateConsumer(ctx, account.HolderParams{Name: "C", Phone: fmt.Sprintf("0242%06d", n), PIN: "1234"})
			return err
		}},
		{name: "create agent", do: func(_ api.Caller, n int) error {
			_, err := accounts.CreateAgent(ctx, account.HolderParams{Name: "A", Phone: fmt.Sprintf("0242%06d", n)})
			return err
		}},
		{name: "consumer", do: func(_ api.Caller, _ int) error { _, err := accounts.Consumer(ctx, false, ama.ID); return err }},
		{name: "status of a consumer", do: func(_ api.Caller, _ int) error {
			_, err := accounts.SetConsumerStatus(ctx, false, ama.ID, account.Active)
			return err
		}},
		{name: "status of an agent", do: func(_ api.Caller, _ int) error {
			_, err := accounts.SetAgentStatus(ctx, false, agent.ID, account.Frozen)
			return err
		}},
		{name: "set PIN", do: func(_ api.Caller, _ int) error { return accounts.SetPIN(ctx, false, ama.ID, "1234") }},
		{name: "create customer", do: func(c api.Caller, n int) error {
			_, err := accounts.CreateCustomer(ctx, c, account.CustomerParams{Name: fmt.Sprint(n)})
			return err
		}},
		{name: "customer", do: func(c api.Caller, _ int) error { _, err := accounts.Customer(ctx, c, customer.ID); return err }},
		{name: "create key", do: func(c api.Caller, _ int) error {
			_, err := accounts.CreateKey(ctx, c, account.KeyParams{})
			return err
		}},
		{name: "keys", do: func(c api.Caller, _ int) error { _, err := accounts.Keys(ctx, c, api.Page{}); return err }},
		{name: "authenticate", quiet: true, do: func(_ api.Caller, _ int) error {
			_, err := accounts.Authenticate(ctx, key.Secret)
			return err
		}},
		{name: "roll key", do: func(c api.Caller, _ int) error { _, err := accounts.RollKey(ctx, c, key.ID, time.Hour); return err }},
		{name: "revoke key", do: func(c api.Caller, _ int) error { return accounts.RevokeKey(ctx, c, key.ID) }},
		{name: "deposit", do: func(_ api.Caller, _ int) error {
			return accounts.Deposit(ctx, account.Deposit{To: m.ID, Amount: decimal.NewFromInt(1), Source: "test"})
		}},
		{name: "balance", do: func(c api.Caller, _ int) error { _, err := accounts.Balance(ctx, c); return err }},
		{name: "wallet", do: func(_ api.Caller, _ int) error { _, err := accounts.WalletBalance(ctx, false, ama.ID); return err }},
		{name: "float", do: func(_ api.Caller, _ int) error { _, err := accounts.FloatBalance(ctx, false, agent.ID); return err }},
		{name: "statement", do: func(c api.Caller, _ int) error { _, err := accounts.Statement(ctx, c, api.Page{}); return err }},
		{name: "newer entries", do: func(c api.Caller, _ int) error {
			_, err := accounts.Statement(ctx, c, api.Page{EndingBefore: entry, Limit: 1})
			return err
		}},
		{name: "verify", do: func(_ api.Caller, _ int) error { _, err := accounts.Verify(ctx); return err }},

		{name: "create code", do: func(c api.Caller, n int) error {
			_, err := codes.Create(ctx, c, qrcode.CreateParams{Name: fmt.Sprint(n)})
			return err
		}},
		{name: "code", do: func(c api.Caller, _ int) error { _, err := codes.Get(ctx, c, code.ID); return err }},
		{name: "codes", do: func(c api.Caller, _ int) error {
			_, err := codes.List(ctx, c, qrcode.ListParams{Type: qrcode.Static, Active: &off})
			return err
		}},
		{name: "update code", do: func(c api.Caller, n int) error {
			name := fmt.Sprint(n)
			_, err := codes.Update(ctx, c, code.ID, qrcode.UpdateParams{Name: &name, Metadata: api.Metadata{"n": name}})
			return err
		}},
		{name: "open code", do: func(_ api.Caller, _ int) error { _, err := codes.Open(ctx, code.ID); return err }},
		{name: "picture", do: func(c api.Caller, _ int) error { _, err := codes.Image(ctx, c, code.ID, qrcode.SVG, 0); return err }},
		{name: "pay", do: func(c api.Caller, _ int) error {
			_, err := codes.Pay(ctx, c, qrcode.PayParams{Code: code.ID, Wallet: account.WalletRef{ServiceID: ama.ServiceID}, PIN: "1234", Amount: &amount})
			return err
		}},
		{name: "pay by phone", do: func(c api.Caller, _ int) error {
			_, err := codes.Pay(ctx, c, qrcode.PayParams{Code: code.ID, Wallet: account.WalletRef{Phone: "0241000001"}, PIN: "1234", Amount: &amount})
			return err
		}},
		{name: "payments of a code", do: func(c api.Caller, _ int) error {
			_, err := codes.Payments(ctx, c, code.ID, payment.ListParams{})
			return err
		}},
		{name: "payments", do: func(c api.Caller, _ int) error {
			_, err := svc.Payments.List(ctx, c, payment.ListParams{})
			return err
		}},
		{name: "issue", do: func(c api.Caller, _ int) error {
			_, err := codes.Issue(ctx, c, qrcode.IssueParams{Account: ama.ID, Type: qrcode.Dynamic, UsageLimit: &limit})
			return err
		}},
		{name: "resolve", do: func(c api.Caller, _ int) error { _, err := codes.Resolve(ctx, c, shown.Payload); return err }},
		{name: "resolve without key", do: func(_ api.Caller, _ int) error {
			_, err := codes.Resolve(ctx, caller, shown.Payload)
			return err
		}},
		{name: "record", do: func(c api.Caller, n int) error {
			_, err := svc.Events.Record(ctx, c, "plan.updated", map[string]int{"n": n})
			return err
		}},
		{name: "event", do: func(c api.Caller, _ int) error { _, err := svc.Events.Get(ctx, c, happened.ID); return err }},
		{name: "events", do: func(c api.Caller, _ int) error {
			_, err := svc.Events.List(ctx, c, event.ListParams{Page: api.Page{EndingBefore: happened.ID}})
			return err
		}},
		{name: "messages", do: func(c api.Caller, _ int) error {
			_, err := svc.Messages.List(ctx, c, message.ListParams{To: "0241000001", Kind: message.SMS})
			return err
		}},
		{name: "refund to a wallet", do: func(c api.Caller, _ int) error {
			_, err := svc.Refunds.Create(ctx, c, refund.CreateParams{Payment: bought.ID, Amount: &amount})
			return err
		}},
		{name: "refund through the charger", do: func(c api.Caller, _ int) error {
			_, err := svc.Refunds.Create(ctx, c, refund.CreateParams{Invoice: given.ID, Amount: &amount})
			return err
		}},
		{name: "callback of a refund", do: func(api.Caller, int) error {
			return svc.Refunds.Notify(ctx, pending.ID, invoice.RefundResult{Outcome: invoice.Refunded})
		}},
		{name: "callback of a refund that is declined", do: func(api.Caller, int) error {
			return svc.Refunds.Notify(ctx, declined.ID, invoice.RefundResult{Outcome: invoice.RefundDeclined})
		}},
		{name: "refunds", do: func(c api.Caller, _ int) error {
			_, err := svc.Refunds.List(ctx, c, refund.ListParams{Page: api.Page{StartingAfter: pending.ID}})
			return err
		}},
		{name: "stuck refunds", do: func(api.Caller, int) error { _, err := svc.Refunds.Stuck(ctx); return err }},
		{name: "credit note", do: func(c api.Caller, _ int) error { _, err := svc.Refunds.CreditNote(ctx, c, pending.ID); return err }},
		{name: "document of a credit note", do: func(c api.Caller, _ int) error {
			_, _, err := svc.Invoices.CreditNotePDF(ctx, c, pending.ID)
			return err
		}},
		{name: "duplicate", do: func(c api.Caller, _ int) error { _, err := svc.Invoices.Duplicate(ctx, c, given.ID); return err }},
		{name: "paid outside", do: func(c api.Caller, _ int) error {
			_, err := svc.Invoices.Pay(ctx, c, unpaid.ID, invoice.PayParams{PaidOutside: true, PaymentMethod: "cash"})
			return err
		}},
		{name: "clock", do: func(c api.Caller, _ int) error {
			_, err := svc.MoveClock(ctx, c, time.Second, time.Time{})
			return err
		}, quiet: true}, // what became due is done later
		{name: "another service", do: func(_ api.Caller, _ int) error {
			_, err := payments.New(ctx, store, payments.Config{})
			return err
		}},
		{name: "delete code", do: func(c api.Caller, n int) error { _, err := codes.Delete(ctx, c, doomed[n%most]); return err }},
	}
	for i, c := range calls {
		done := 0
		for n := 1; n <= most; n++ {
			named := caller
			named.IdempotencyKey = fmt.Sprint("key-", i, "-", n)
			before := contents(t, whole, m.ID)
			store.arm(n)
			err := c.do(named, i*most+n)
			hit := store.hit
			store.arm(0)
			if !hit {
				if err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
				done = n
				break
			}
			if err == nil && c.quiet {
				continue
			}
			if !errors.Is(err, errDisk) || api.CodeOf(err) != "" {
				t.Errorf("%s: operation %d failed, and the call said %v", c.name, n, err)
			}
			if diff := cmp.Diff(before, contents(t, whole, m.ID)); diff != "" {
				t.Errorf("%s: operation %d failed, and left\n%s", c.name, n, diff)
			}
		}
		if done < 2 {
			t.Errorf("%s: %d operations; the test wants at least one that can fail", c.name, done-1)
		}
	}
	if v, err := accounts.Verify(ctx); err != nil || len(v.Problems) > 0 {
		t.Errorf("Verify: %+v, %v", v, err)
	}
}
