package erasure_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// rows returns every row of every table of an SQLite database, as text.
func rows(t *testing.T, path string) string {
	t.Helper()
	db := must.Get(sql.Open("sqlite", path))(t)
	defer db.Close()
	var b strings.Builder
	read := func(query string) (all [][]any) {
		found := must.Get(db.QueryContext(t.Context(), query))(t)
		defer found.Close()
		columns := must.Get(found.Columns())(t)
		for found.Next() {
			row, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range row {
				into[i] = &row[i]
			}
			must.Do(t, found.Scan(into...))
			for i := range row {
				if raw, ok := row[i].([]byte); ok {
					row[i] = string(raw)
				}
			}
			all = append(all, row)
		}
		must.Do(t, found.Err())
		return all
	}
	for _, table := range read(`SELECT name FROM sqlite_master WHERE type = 'table'`) {
		for _, row := range read(fmt.Sprintf(`SELECT * FROM %q`, table[0])) {
			fmt.Fprintln(&b, table[0], row)
		}
	}
	return strings.ToLower(b.String())
}

// Erased consumers, cash agents and payees are in no row of the database, of any merchant. The
// money stays, and so do people with a similar name or number.
func TestErasedPeopleAreInNoRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "payments.db")
	store := must.Get(sqlite.Open(t.Context(), path, sqlite.Config{}))(t)
	fails := faultstore.New(store)
	svc := testkit.New(t, fails, payments.Config{Sandbox: true})
	ctx := t.Context()
	consumer := must.Get(svc.Accounts.CreateConsumer(ctx, api.Caller{IdempotencyKey: "c"}, account.CreateHolderParams{Name: "Zenobia Asante", Phone: "0241112221", PIN: "1234"}))(t)
	agent := must.Get(svc.Accounts.CreateAgent(ctx, api.Caller{IdempotencyKey: "a"}, account.CreateHolderParams{Name: "Kwabena Kiosk", Phone: "0241112222"}))(t)
	stays := must.Get(svc.Accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Adwoa Stays", Phone: "0241112223", PIN: "1234"}))(t)
	must.Do(t, svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: consumer.ID, Amount: decimal.NewFromInt(8), Source: "bank"}))
	var callers []api.Caller
	key := 0
	keyed := func(c api.Caller) api.Caller {
		key++
		c.IdempotencyKey = fmt.Sprint("k", key)
		return c
	}
	external := payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0551234888", AccountName: "Ofori Payee"}
	for _, name := range []string{"First", "Second"} {
		m := must.Get(svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: name, Phone: "0301234567"}))(t)
		caller := api.Caller{Merchant: m.ID}
		callers = append(callers, caller)
		must.Do(t, svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(1000), Source: "bank"}))
		price := int64(250)
		code := must.Get(svc.QRCodes.Create(ctx, caller, qrcode.CreateParams{Amount: &price}))(t)
		must.Get(svc.QRCodes.Pay(ctx, keyed(caller), code.ID, qrcode.PayParams{Wallet: account.WalletRef{AccountID: consumer.ID}, PIN: "1234"}))(t)
		// The payer gets the receipts, also where the invoice has another number.
		customer := must.Get(svc.Accounts.CreateCustomer(ctx, keyed(caller), account.CreateCustomerParams{Name: "Esi Stays"}))(t)
		for _, f := range []invoice.Fields{{}, {Customer: &customer.ID}, {Phone: new("0241112223")}} {
			f.Lines = []invoice.LineParams{{Description: "a", UnitAmount: new(int64(50))}}
			bill := must.Get(svc.Invoices.Create(ctx, keyed(caller), invoice.CreateParams{AutoFinalize: true, Fields: f}))(t)
			must.Get(svc.Invoices.PayFromWallet(ctx, keyed(caller), bill.ID, invoice.PayFromWalletParams{Wallet: account.WalletRef{AccountID: consumer.ID}, PIN: "1234"}))(t)
		}
		for _, id := range []string{consumer.ServiceID, agent.ServiceID} {
			must.Get(svc.Accounts.LookUpServiceID(ctx, keyed(caller), id))(t)
		}
		scanned := must.Get(svc.QRCodes.IssueConsumerCode(ctx, caller, qrcode.IssueConsumerCodeParams{Account: consumer.ID}))(t)
		must.Get(svc.QRCodes.Resolve(ctx, keyed(caller), scanned.Payload))(t)
		must.Get(svc.Payouts.LookUpAccountName(ctx, keyed(caller), payout.DestinationParams{PhoneNumber: external.PhoneNumber}))(t)
		var list []disbursement.RowParams
		for _, d := range []payout.DestinationParams{
			{Type: payout.ServiceWallet, AccountID: agent.ID},
			{Type: payout.ServiceWallet, AccountID: stays.ID},
			external,
			{Type: payout.MobileMoney, PhoneNumber: "0551234777", AccountName: "Serwaa Stays"},
		} {
			p := disbursement.CreateParams{Amount: decimal.NewFromInt(1), Destination: d}
			must.Get(svc.Disbursements.Create(ctx, keyed(caller), p))(t)
			list = append(list, disbursement.RowParams{CreateParams: p})
		}
		must.Get(svc.Disbursements.CreateBatch(ctx, keyed(caller), disbursement.CreateBatchParams{Rows: list}))(t)
		must.Do(t, svc.Drain(ctx))
	}
	testkit.WantCode(t, "an agent with money", svc.EraseAgent(ctx, api.Caller{}, agent.ID), api.ParameterInvalid)
	testkit.WantCode(t, "a merchant erases a consumer", svc.EraseConsumer(ctx, callers[0], consumer.ID), api.PermissionDenied)
	testkit.WantCode(t, "a merchant erases an agent", svc.EraseAgent(ctx, callers[0], agent.ID), api.PermissionDenied)
	before := rows(t, path)
	for _, word := range []string{"zenobia", "241112221", "024****221", "kwabena", "551234888", "ofori", "kojo addo"} {
		expect.True(t, strings.Contains(before, word), "%s was nowhere", word)
	}

	must.Do(t, store.Update(ctx, func(tx storage.Tx) error { // the agent is paid out
		return tx.Post(storage.Posting{ID: "txn_out", Type: "cash_out", At: time.Now(), Moves: []storage.Move{
			ledger.Float(agent.ID, false).Move(-400), ledger.Clearing("cash", false).Move(400),
		}})
	}))
	for n, failed := 1, true; failed; n++ { // at each call of the store
		fails.FailAt(n)
		err := svc.ErasePayee(ctx, callers[0], external)
		if failed = fails.Heal(); !failed {
			must.Do(t, err)
		}
	}
	for range 2 { // twice, as after an error
		must.Do(t, svc.EraseConsumer(ctx, api.Caller{}, consumer.ID))
		must.Do(t, svc.EraseAgent(ctx, api.Caller{}, agent.ID))
		for _, caller := range callers {
			must.Do(t, svc.ErasePayee(ctx, caller, external))
		}
	}
	after := rows(t, path)
	for _, word := range []string{"zenobia", "asante", "241112221", "024****221", "kwabena", "241112222", "551234888", "ofori", "kojo addo"} {
		for line := range strings.Lines(after) {
			expect.True(t, !strings.Contains(line, word), "%s is in %s", word, line)
		}
	}
	for _, word := range []string{"adwoa stays", "serwaa stays", "551234777", consumer.ID, agent.ID} {
		expect.True(t, strings.Contains(after, strings.ToLower(word)), "%s is gone", word)
	}
	got, err := svc.Accounts.GetConsumer(ctx, api.Caller{}, consumer.ID)
	must.Do(t, err)
	expect.Equal(t, got.Status, account.Closed, "the consumer: status")
	expect.Equal(t, got.Phone, "", "the consumer: phone")
	if v, err := svc.Accounts.Verify(ctx); err != nil || len(v.Problems) > 0 {
		t.Errorf("the ledger: %+v, %v", v, err)
	}
	must.Do(t, store.Close())
}

// A payee with a transfer under way stays until the transfer has ended, since the rail still
// needs the number.
func TestPayeeOfOpenTransferIsKept(t *testing.T) {
	store := memory.New()
	svc := testkit.New(t, store, payments.Config{Sandbox: true})
	ctx := t.Context()
	m := must.Get(svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	caller := api.Caller{Merchant: m.ID}
	must.Do(t, svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(10), Source: "bank"}))
	waits := payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241230903", AccountName: "Ofori Payee"}
	made := must.Get(svc.Disbursements.Create(ctx, caller, disbursement.CreateParams{Amount: decimal.NewFromInt(1), Destination: waits}))(t)
	must.Do(t, svc.Drain(ctx))
	kept := func() bool {
		for _, text := range testkit.Contents(t, store, m.ID) {
			if strings.Contains(text, "241230903") {
				return true
			}
		}
		return false
	}
	if err := svc.ErasePayee(ctx, caller, waits); api.CodeOf(err) != api.ParameterInvalid || !kept() {
		t.Errorf("while it is under way: %v, the number is kept: %t", err, kept())
	}
	must.Do(t, svc.Providers.Settle(ctx, caller, made.ID, provider.Result{Outcome: provider.Paid}))
	must.Do(t, svc.Drain(ctx))
	if err := svc.ErasePayee(ctx, caller, waits); err != nil || kept() {
		t.Errorf("once it has ended: %v, the number is kept: %t", err, kept())
	}

	for _, name := range []string{"", "Ofori Payee"} {
		waits.AccountName = name
		row := disbursement.RowParams{CreateParams: disbursement.CreateParams{Amount: decimal.NewFromInt(1), Destination: waits}}
		must.Get(svc.Disbursements.CreateBatch(ctx, caller, disbursement.CreateBatchParams{Rows: []disbursement.RowParams{row}}))(t)
		waits.AccountName = ""
		if err := svc.ErasePayee(ctx, caller, waits); api.CodeOf(err) != api.ParameterInvalid || !kept() {
			t.Errorf("while a row of a batch with the name %q is queued: %v, the number is kept: %t", name, err, kept())
		}
	}
}

// The holder of an account at a bank that can no longer be paid is erased all the same.
func TestPayeeOfGoneBankIsErased(t *testing.T) {
	for name, left := range map[string][]provider.Bank{"not active": {{Code: "30", Name: "Gone"}}, "removed": nil} {
		store := memory.New()
		ctx := t.Context()
		open := func(banks []provider.Bank) *payments.Service {
			return testkit.New(t, store, payments.Config{Banks: provider.NewBankDirectory(banks)})
		}
		svc := open([]provider.Bank{{Code: "30", Name: "Gone", Active: true}})
		m := must.Get(svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		caller := api.Caller{Merchant: m.ID}
		must.Do(t, svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(100), Source: "bank"}))
		to := payout.DestinationParams{Type: payout.BankTransfer, AccountNumber: "1234567890123", BankCode: "30", AccountName: "Ofori Payee"}
		must.Get(svc.Disbursements.Create(ctx, caller, disbursement.CreateParams{Amount: decimal.NewFromInt(1), Destination: to}))(t)
		must.Do(t, svc.Drain(ctx))

		svc = open(left)
		to.AccountName = ""
		must.Do(t, svc.ErasePayee(ctx, caller, to))
		for where, text := range testkit.Contents(t, store, m.ID) {
			expect.True(t, !strings.Contains(text, to.AccountNumber), "%s: the payee is left in %s: %s", name, where, text)
			expect.True(t, !strings.Contains(text, "Ofori"), "%s: the payee is left in %s: %s", name, where, text)
		}
	}
}

// A lookup under an idempotency key that runs beside the erasure stores no name.
func TestErasureReachesLookupsUnderWay(t *testing.T) {
	for name, lookUp := range map[string]func(svc *payments.Service, caller api.Caller, serviceID, payload string) error{
		"service id": func(svc *payments.Service, caller api.Caller, serviceID, _ string) error {
			return testkit.Err(svc.Accounts.LookUpServiceID(t.Context(), caller, serviceID))
		},
		"QR code": func(svc *payments.Service, caller api.Caller, _, payload string) error {
			return testkit.Err(svc.QRCodes.Resolve(t.Context(), caller, payload))
		},
	} {
		for n, more := 1, true; more; n++ { // before each transaction of the lookup
			store := faultstore.New(memory.New())
			svc := testkit.New(t, store, payments.Config{})
			m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
			c := must.Get(svc.Accounts.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Zenobia", Phone: "0241112221"}))(t)
			code := must.Get(svc.QRCodes.IssueConsumerCode(t.Context(), api.Caller{Merchant: m.ID}, qrcode.IssueConsumerCodeParams{Account: c.ID}))(t)
			store.BetweenAt(n, func() { must.Do(t, svc.EraseConsumer(t.Context(), api.Caller{}, c.ID)) })
			if err := lookUp(svc, api.Caller{Merchant: m.ID, IdempotencyKey: "k"}, c.ServiceID, code.Payload); err != nil {
				testkit.WantCode(t, name, err, api.AccountNotFound)
			}
			more = store.Heal()
			for where, text := range testkit.Contents(t, store, m.ID) {
				expect.True(t, !more || !strings.Contains(text, "Zenobia"), "%s, before transaction %d: the name is in %s: %s", name, n, where, text)
			}
		}
	}
}

// between runs then once, after a View in which a scan has passed the last record of a kind.
type between struct {
	storage.Store
	kind string
	then func()
}

type scanning struct {
	storage.ReadTx
	ends func(kind string)
}

func (tx scanning) Scan(k *storage.Kind, after storage.Scope, id string, limit int) ([]storage.Record, error) {
	page, err := tx.ReadTx.Scan(k, after, id, limit)
	if len(page) == 0 {
		tx.ends(k.Name)
	}
	return page, err
}

func (b *between) View(ctx context.Context, fn func(storage.ReadTx) error) error {
	ended := false
	err := b.Store.View(ctx, func(tx storage.ReadTx) error {
		return fn(scanning{tx, func(kind string) { ended = ended || kind == b.kind }})
	})
	if then := b.then; ended && then != nil {
		b.then = nil
		then()
	}
	return err
}

// A row of a batch that becomes a disbursement during the erasure is not missed.
func TestPayeeOfRowMadeMeanwhileIsKept(t *testing.T) {
	store := &between{Store: memory.New(), kind: "disbursements"}
	svc := testkit.New(t, store, payments.Config{Sandbox: true})
	ctx := t.Context()
	m := must.Get(svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	caller := api.Caller{Merchant: m.ID}
	must.Do(t, svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(10), Source: "bank"}))
	to := payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241230903", AccountName: "Ofori Payee"}
	row := disbursement.RowParams{CreateParams: disbursement.CreateParams{Amount: decimal.NewFromInt(1), Destination: to}}
	must.Get(svc.Disbursements.CreateBatch(ctx, caller, disbursement.CreateBatchParams{Rows: []disbursement.RowParams{row}}))(t)
	store.then = func() { must.Do(t, svc.Drain(ctx)) }
	to.AccountName = ""
	testkit.WantCode(t, "erasure", svc.ErasePayee(ctx, caller, to), api.ParameterInvalid)
}
