package disbursement_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func ghs(text string) decimal.Decimal { return decimal.RequireFromString(text) }

// worth returns the balance of a consumer's wallet.
func worth(t *testing.T, svc *payments.Service, consumer string) string {
	t.Helper()
	balance := must.Get(svc.Accounts.WalletBalance(t.Context(), api.Caller{}, consumer))(t)
	return balance.StringFixed(2)
}

// Each rule of a scanned code: the refusal names it, and no money moves.
func TestCreateQRRules(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	svc, caller := open(t, memory.New(), payments.Config{Clock: func() time.Time { return now }})
	ctx := t.Context()
	ama := must.Get(svc.Accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: "0241000001"}))(t)
	issue := func(p qrcode.IssueConsumerCodeParams) string {
		t.Helper()
		p.Account = ama.ID
		code := must.Get(svc.QRCodes.IssueConsumerCode(ctx, caller, p))(t)
		return code.Payload
	}
	five, one := ghs("5"), int64(1)
	tomorrow := now.Add(24 * time.Hour)
	free, fixed, once, brief := issue(qrcode.IssueConsumerCodeParams{}), issue(qrcode.IssueConsumerCodeParams{Amount: &five}),
		issue(qrcode.IssueConsumerCodeParams{Type: qrcode.Dynamic, Amount: &five, UsageLimit: &one}), issue(qrcode.IssueConsumerCodeParams{Amount: &five, ExpiresAt: tomorrow})
	pay := func(payload, amount string) (*payout.Transfer, error) {
		p := disbursement.CreateQRParams{Payload: payload, Reference: "ref-1"}
		if amount != "" {
			d := ghs(amount)
			p.Amount = &d
		}
		return svc.Disbursements.CreateQR(ctx, caller, p)
	}

	made := must.Get(pay(fixed, ""))(t)
	if made.Status != payout.Completed || !made.Amount.Equal(ghs("5")) || !made.Fee.IsZero() || *made.Reference != "ref-1" || made.Destination.Type != payout.ServiceWallet || made.Destination.AccountID != ama.ID {
		t.Errorf("made %+v", made)
	}
	got, err := svc.Disbursements.Get(ctx, caller, made.ID)
	expect.NoError(t, err, "Get")
	diff := cmp.Diff(made, got, cmpopts.EquateEmpty())
	expect.True(t, diff == "", "as read (-made +got):\n%s", diff)
	if _, err = pay(fixed, "2.50"); err != nil { // overrides the code's amount
		t.Error(err)
	}
	if _, err = pay(free, "0.01"); err != nil {
		t.Error(err)
	}
	if _, err = pay(once, ""); err != nil {
		t.Error(err)
	}
	expect.Equal(t, worth(t, svc, ama.ID), "12.51", "the wallet has")

	testkit.WantParam(t, "no amount", testkit.Err(pay(free, "")), api.AmountRequired, "amount")
	testkit.WantParam(t, "nothing", testkit.Err(pay(free, "0")), api.AmountTooSmall, "amount")
	testkit.WantParam(t, "less than a pesewa", testkit.Err(pay(free, "0.001")), api.ParameterInvalid, "amount")
	testkit.WantParam(t, "more than the balance", testkit.Err(pay(free, "5000.01")), api.InsufficientBalance, "")
	testkit.WantParam(t, "no code", testkit.Err(pay("not base64!", "1")), api.InvalidQR, "qr_payload")
	testkit.WantParam(t, "another's code", testkit.Err(pay("aGVsbG8=", "1")), api.InvalidConsumerQR, "qr_payload")
	testkit.WantParam(t, "a code that was used", testkit.Err(pay(once, "")), api.QRLimitReached, "")
	now = tomorrow
	testkit.WantParam(t, "a code of yesterday", testkit.Err(pay(brief, "")), api.QRExpired, "")
	for status, code := range map[account.Status]api.Code{account.Frozen: api.WalletNotActive, account.Suspended: api.WalletNotActive, account.Closed: api.AccountNotFound} {
		holder := must.Get(svc.Accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Esi", Phone: "0241000002", Status: status}))(t)
		theirs := must.Get(svc.QRCodes.IssueConsumerCode(ctx, caller, qrcode.IssueConsumerCodeParams{Account: holder.ID, Amount: &five}))(t)
		testkit.WantParam(t, string(status), testkit.Err(pay(theirs.Payload, "")), code, "qr_payload")
		must.Get(svc.Accounts.UpdateConsumer(ctx, api.Caller{}, holder.ID, account.UpdateHolderParams{Status: new(account.Closed)}))(t) // frees the number
	}
	expect.Equal(t, worth(t, svc, ama.ID), "12.51", "after refusals the wallet has")
	live := api.Caller{Merchant: caller.Merchant, Live: true}
	testkit.WantParam(t, "the other mode", testkit.Err(svc.Disbursements.CreateQR(ctx, live, disbursement.CreateQRParams{Payload: fixed})), api.InvalidConsumerQR, "qr_payload")
}

// A caller can cancel a disbursement once, with its fee, until the worker has submitted it to the
// rail.
func TestCancelAndSettle(t *testing.T) {
	svc, caller := open(t, memory.New(), payments.Config{})
	ctx := t.Context()
	create := func() *payout.Transfer {
		t.Helper()
		p := row(903).CreateParams // …0903 stays in processing
		p.Amount = ghs("100")
		p.Destination.PhoneNumber = "0241230903"
		return must.Get(svc.Disbursements.Create(ctx, caller, p))(t)
	}
	available := func() string {
		t.Helper()
		b := must.Get(svc.Accounts.Balance(ctx, caller))(t)
		return b.Available.StringFixed(2)
	}
	first := create()
	expect.Equal(t, first.Status, payout.Pending, "created: status of %+v", first)
	expect.Equal(t, available(), "899.00", "created: available")
	for name, stranger := range map[string]api.Caller{"another merchant": {Merchant: "mer_2"}, "the other mode": {Merchant: caller.Merchant, Live: true}} {
		testkit.WantParam(t, name, testkit.Err(svc.Disbursements.Cancel(ctx, stranger, first.ID)), api.ResourceMissing, "")
		testkit.WantParam(t, name, testkit.Err(svc.Disbursements.Get(ctx, stranger, first.ID)), api.ResourceMissing, "")
	}
	testkit.WantParam(t, "as a payout", testkit.Err(svc.Payouts.Cancel(ctx, caller, first.ID)), api.ResourceMissing, "")
	cancelled := must.Get(svc.Disbursements.Cancel(ctx, caller, first.ID))(t)
	expect.Equal(t, cancelled.Status, payout.Cancelled, "cancelled: status of %+v", cancelled)
	expect.Equal(t, available(), "1000.00", "cancelled: available")
	_, err := svc.Disbursements.Cancel(ctx, caller, first.ID)
	expect.True(t, api.CodeOf(err) != "", "cancelled twice: %v", err)
	second := create()
	must.Do(t, svc.Drain(ctx))
	_, err = svc.Disbursements.Cancel(ctx, caller, second.ID)
	expect.True(t, api.CodeOf(err) != "", "cancelled with the rail: %v", err)
	expect.Equal(t, available(), "899.00", "cancelled with the rail: available")
	must.Do(t, svc.Providers.Settle(ctx, caller, second.ID, provider.Result{Outcome: provider.Paid}))
	settled := must.Get(svc.Disbursements.Get(ctx, caller, second.ID))(t)
	expect.Equal(t, settled.Status, payout.Completed, "settled: status of %+v", settled)
	expect.True(t, settled.CompletedAt != nil, "settled: CompletedAt is nil")
	expect.Equal(t, available(), "899.00", "settled: available")
	statuses := disbursement.Statuses()
	expect.True(t, !slices.Contains(statuses, payout.Succeeded), "a filter may be succeeded: %v", statuses)
	expect.True(t, slices.Contains(statuses, payout.Completed), "a filter may not be completed: %v", statuses)
	list := must.Get(svc.Disbursements.List(ctx, caller, payout.ListParams{Status: payout.Cancelled}))(t)
	must.True(t, len(list.Data) == 1, "listed %+v", list)
	expect.Equal(t, list.Data[0].ID, first.ID, "listed: ID")
}

// A batch with any error is refused as a whole, and the refusal names the parameter.
func TestInvalidBatchesAreRefused(t *testing.T) {
	svc, caller := open(t, memory.New(), payments.Config{})
	keyed := caller
	keyed.IdempotencyKey = "batch"
	bad := func(change func(*disbursement.CreateBatchParams)) disbursement.CreateBatchParams {
		p := some(3)
		change(&p)
		return p
	}
	for name, test := range map[string]struct {
		p     disbursement.CreateBatchParams
		code  api.Code
		param string
	}{
		"no rows":            {disbursement.CreateBatchParams{}, api.ParameterMissing, "rows"},
		"too many rows":      {some(disbursement.MaxRows + 1), api.ParameterInvalid, "rows"},
		"a long description": {bad(func(p *disbursement.CreateBatchParams) { p.Description = strings.Repeat("d", 501) }), api.ParameterInvalid, "description"},
		"a long reference":   {bad(func(p *disbursement.CreateBatchParams) { p.Reference = strings.Repeat("r", 101) }), api.ParameterInvalid, "reference"},
		"nested metadata":    {bad(func(p *disbursement.CreateBatchParams) { p.Metadata = api.Metadata{"m": []any{}} }), api.ParameterInvalid, "metadata.m"},
		"nothing to pay":     {bad(func(p *disbursement.CreateBatchParams) { p.Rows[1].Amount = decimal.Zero }), api.AmountTooSmall, "rows[1].amount"},
		"too much to pay":    {bad(func(p *disbursement.CreateBatchParams) { p.Rows[1].Amount = ghs("1e12") }), api.AmountTooLarge, "rows[1].amount"},
		"a huge exponent":    {bad(func(p *disbursement.CreateBatchParams) { p.Rows[0].Amount = decimal.New(1, 1_000_000_000) }), api.AmountTooLarge, "rows[0].amount"},
		"half a pesewa":      {bad(func(p *disbursement.CreateBatchParams) { p.Rows[2].Amount = ghs("1.005") }), api.ParameterInvalid, "rows[2].amount"},
		"another currency":   {bad(func(p *disbursement.CreateBatchParams) { p.Rows[2].Currency = "USD" }), api.CurrencyNotSupported, "rows[2].currency"},
		"no number":          {bad(func(p *disbursement.CreateBatchParams) { p.Rows[2].Destination.PhoneNumber = "" }), api.ParameterMissing, "rows[2].destination.phone_number"},
		"a wallet of nobody": {bad(func(p *disbursement.CreateBatchParams) {
			p.Rows[0].Destination = payout.DestinationParams{Type: payout.ServiceWallet, AccountID: "acc_1"}
		}), api.AccountNotFound, "rows[0].destination.account_id"},
		"a key with a newline":  {bad(func(p *disbursement.CreateBatchParams) { p.Rows[1].IdempotencyKey = "a\nb" }), api.ParameterInvalid, "rows[1].idempotency_key"},
		"the key of the batch":  {bad(func(p *disbursement.CreateBatchParams) { p.Rows[1].IdempotencyKey = keyed.IdempotencyKey }), api.ParameterInvalid, "rows[1].idempotency_key"},
		"two rows with one key": {bad(func(p *disbursement.CreateBatchParams) { p.Rows[2].IdempotencyKey = p.Rows[0].IdempotencyKey }), api.ParameterInvalid, "rows[2].idempotency_key"},
	} {
		_, err := svc.Disbursements.CreateBatch(t.Context(), keyed, test.p)
		var e *api.Error
		if !errors.As(err, &e) || e.Code != test.code || e.Param != test.param {
			t.Errorf("%s: got %+v", name, err)
		} else if strings.HasPrefix(test.param, "rows[") && !strings.Contains(e.Message, "rows[") {
			t.Errorf("%s: the message does not say which row: %s", name, e.Message)
		}
	}
	list := must.Get(svc.Disbursements.List(t.Context(), caller, payout.ListParams{}))(t)
	expect.True(t, len(list.Data) == 0, "made %+v", list)
	for name, stranger := range map[string]api.Caller{"another merchant": {Merchant: "mer_2"}, "the other mode": {Merchant: caller.Merchant, Live: true}} {
		b := must.Get(svc.Disbursements.CreateBatch(t.Context(), caller, some(1)))(t)
		testkit.WantParam(t, name, testkit.Err(svc.Disbursements.GetBatch(t.Context(), stranger, b.ID)), api.ResourceMissing, "")
		testkit.WantParam(t, name, testkit.Err(svc.Disbursements.ListRows(t.Context(), stranger, b.ID, disbursement.ListRowsParams{})), api.ResourceMissing, "")
	}
}

// A replay of a batch gets its answer, even if limits would refuse it now.
func TestQRReplayIgnoresChangedLimits(t *testing.T) {
	store := memory.New()
	svc, caller := open(t, store, payments.Config{})
	ama := must.Get(svc.Accounts.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Ama", Phone: "0241000001"}))(t)
	code := must.Get(svc.QRCodes.IssueConsumerCode(t.Context(), caller, qrcode.IssueConsumerCodeParams{Account: ama.ID}))(t)
	p := disbursement.CreateQRParams{Payload: code.Payload, Amount: new(ghs("5"))}
	keyed := caller
	keyed.IdempotencyKey = "qr-1"
	first := must.Get(svc.Disbursements.CreateQR(t.Context(), keyed, p))(t)
	strict, _ := open(t, store, payments.Config{DisbursementLimits: payout.Limits{Max: ghs("0.50")}, ConsumerCodec: qrcode.NewCodec(make([]byte, 32))})
	again := must.Get(strict.Disbursements.CreateQR(t.Context(), keyed, p))(t)
	expect.Equal(t, again.ID, first.ID, "again: ID")
	testkit.WantCode(t, "a new one", testkit.Err(strict.Disbursements.CreateQR(t.Context(), caller, p)), api.InvalidConsumerQR)
	p.Amount = new(decimal.New(1, 999_999_999))
	testkit.WantCode(t, "too many digits", testkit.Err(svc.Disbursements.CreateQR(t.Context(), keyed, p)), api.AmountTooLarge)
}

func TestBatchReplayIgnoresChangedLimits(t *testing.T) {
	store := memory.New()
	svc, caller := open(t, store, payments.Config{})
	caller.IdempotencyKey = "batch-1"
	first := must.Get(svc.Disbursements.CreateBatch(t.Context(), caller, some(2)))(t)
	strict, _ := open(t, store, payments.Config{DisbursementLimits: payout.Limits{Max: ghs("0.50")}})
	again := must.Get(strict.Disbursements.CreateBatch(t.Context(), caller, some(2)))(t)
	expect.Equal(t, again.ID, first.ID, "again: ID")
	testkit.WantParam(t, "a new one", testkit.Err(strict.Disbursements.CreateBatch(t.Context(), api.Caller{Merchant: caller.Merchant}, some(2))), api.AmountTooLarge, "rows[0].amount")
}

// Fees and the holder of a number may change before a row has its turn. Then row and batch show what was
// paid, and to whom.
func TestRowShowsWhatWasPaid(t *testing.T) {
	store := memory.New()
	svc, caller := open(t, store, payments.Config{})
	holder := func(name string) *account.Consumer {
		t.Helper()
		return must.Get(svc.Accounts.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: name, Phone: "0241000001"}))(t)
	}
	ama := holder("Ama Mensah")
	p := some(2)
	p.Rows[1].Destination = payout.DestinationParams{Type: payout.ServiceWallet, PhoneNumber: ama.Phone}
	batch := must.Get(svc.Disbursements.CreateBatch(t.Context(), caller, p))(t)
	expect.Equal(t, batch.Fee.String(), "0.1", "the fee at first")
	must.Get(svc.Accounts.UpdateConsumer(t.Context(), api.Caller{}, ama.ID, account.UpdateHolderParams{Status: new(account.Closed)}))(t)
	kofi := holder("Kofi Owusu")

	dearer, _ := open(t, store, payments.Config{Fees: &payout.Fees{MobileMoney: payout.Fee{Flat: ghs("0.25")}}})
	must.Do(t, dearer.Drain(t.Context()))
	rows := all(t, svc, caller, batch.ID)
	for _, r := range rows {
		must.True(t, r.Disbursement != nil, "row %d: %+v", r.Number, r)
		expect.True(t, r.Fee.Equal(r.Disbursement.Fee.Decimal), "row %d: fee %s, paid %s", r.Number, r.Fee, r.Disbursement.Fee)
		expect.Equal(t, r.Destination.AccountID, r.Disbursement.Destination.AccountID, "the holder of row %d", r.Number)
	}
	expect.Equal(t, rows[1].Destination.AccountID, kofi.ID, "the holder of row 2: %+v", rows[1])
	expect.Equal(t, worth(t, svc, kofi.ID), "1.00", "what the holder of row 2 has")
	is := must.Get(svc.Disbursements.GetBatch(t.Context(), caller, batch.ID))(t)
	expect.Equal(t, is.Fee.String(), "0.25", "the batch: fee")
	expect.Equal(t, is.Amount.String(), "2", "the batch: amount")
}
