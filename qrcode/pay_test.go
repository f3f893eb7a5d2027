package qrcode_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// phones is a Texter that keeps what it sends.
type phones struct {
	mu   sync.Mutex
	sent []string
}

func (p *phones) SendSMS(_ context.Context, m message.SMS) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, m.To+": "+m.Text)
	return nil
}

// stall is a merchant with the whole library, in one mode.
type stall struct {
	*payments.Service
	caller api.Caller
	ama    *account.Consumer
	now    time.Time
	log    bytes.Buffer
}

// goodPIN is accepted in live mode.
const goodPIN = "4826"

func newStall(t *testing.T, live bool, texter message.Texter) *stall {
	t.Helper()
	return openStall(t, live, payments.Config{Live: payments.Providers{Texter: texter}})
}

func openStall(t *testing.T, live bool, c payments.Config) *stall {
	t.Helper()
	s := &stall{now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
	c.Clock, c.BaseURL = func() time.Time { return s.now }, "https://pay.example.com/"
	c.Logger = slog.New(slog.NewTextHandler(&s.log, nil))
	svc := must.Get(payments.New(t.Context(), memory.New(), c))(t)
	s.Service = svc
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar", Phone: "0301000000"}))(t)
	s.caller = api.Caller{Merchant: m.ID, Live: live, RequestID: "req_1"}
	s.ama = must.Get(svc.Accounts.CreateConsumer(t.Context(), api.Caller{Live: live}, account.CreateHolderParams{Name: "Ama Serwaa Mensah", Phone: "0241000001", PIN: goodPIN}))(t)
	must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{Live: live}, account.DepositParams{To: s.ama.ID, Amount: decimal.NewFromInt(50), Source: "bank"}))
	return s
}

func (s *stall) code(t *testing.T, p qrcode.CreateParams) *qrcode.QRCode {
	t.Helper()
	c := must.Get(s.QRCodes.Create(t.Context(), s.caller, p))(t)
	return c
}

func (s *stall) pay(t *testing.T, caller api.Caller, code, pin string, amount *int64) (*payment.Payment, error) {
	return s.QRCodes.Pay(t.Context(), caller, code, qrcode.PayParams{
		Wallet: account.WalletRef{Phone: "024-100-0001"}, PIN: pin, Amount: amount,
	})
}

// closed returns a consumer whose wallet was closed.
func (s *stall) closed(t *testing.T) *account.Consumer {
	t.Helper()
	return must.Get(s.Accounts.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{
		Name: "Esi", Phone: "0241000077", PIN: goodPIN, Status: account.Closed,
	}))(t)
}

// money returns the balances of the wallet and the merchant.
func (s *stall) money(t *testing.T) string {
	t.Helper()
	wallet := must.Get(s.Accounts.WalletBalance(t.Context(), api.Caller{Live: s.caller.Live}, s.ama.ID))(t)
	balance := must.Get(s.Accounts.Balance(t.Context(), s.caller))(t)
	return fmt.Sprintf("%s %s", wallet, balance.Available)
}

func pesewas(n int64) *int64 { return &n }

// In live mode the Texter sends one message to each party. The log holds no number.
func TestLivePaymentTextsBothParties(t *testing.T) {
	texter := &phones{}
	s := newStall(t, true, texter)
	code := s.code(t, qrcode.CreateParams{Reference: "table 7", Metadata: api.Metadata{"round": "2"}})
	expect.Equal(t, code.Data, "https://pay.example.com/pay/"+code.ID, "code: data")
	expect.Equal(t, code.URL, code.Data+".png", "code: URL")
	expect.Equal(t, code.Livemode, true, "code: Livemode")
	caller := s.caller
	caller.IdempotencyKey = "order-1"
	paid := must.Get(s.pay(t, caller, code.ID, goodPIN, pesewas(123456/100)))(t)
	expect.Equal(t, s.money(t), "37.66 12.34", "the wallet and the merchant have")
	// A replay with another PIN returns the same payment. It moves no money and sends no message.
	again, err := s.pay(t, caller, code.ID, "0000", pesewas(1234))
	diff := cmp.Diff(paid, again)
	must.Do(t, err)
	expect.True(t, diff == "", "again: %v (-first +again):\n%s", err, diff)
	testkit.WantCode(t, "the key with another amount", testkit.Err(s.pay(t, caller, code.ID, goodPIN, pesewas(1235))), api.IdempotencyKeyReused)
	must.Do(t, s.Drain(t.Context()))
	want := []string{
		"+233241000001: You paid GHS 12.34 to Adom Juice Bar. Payment " + paid.ID + ".",
		"+233301000000: Ama M. paid you GHS 12.34. Payment " + paid.ID + ".",
	}
	slices.Sort(texter.sent)
	expect.Same(t, texter.sent, want, "messages")
	log := s.log.String()
	expect.True(t, !strings.Contains(log, "241000001"), "the log says %s", log)
	expect.True(t, !strings.Contains(log, goodPIN), "the log says %s", log)
	if *paid.Phone != "024****001" || *paid.QRCode != code.ID || paid.Reference != "table 7" || paid.Metadata["round"] != "2" || !paid.Livemode {
		t.Errorf("payment %+v", paid)
	}
	expect.Equal(t, s.money(t), "37.66 12.34", "in the end the wallet and the merchant have")
}

// A refused payment leaves money, use count and messages as they were. It is no failed attempt of
// the PIN.
func TestRefusedPayments(t *testing.T) {
	s := newStall(t, false, nil)
	open := s.code(t, qrcode.CreateParams{})
	fixed := s.code(t, qrcode.CreateParams{Amount: pesewas(500)})
	inactive := s.code(t, qrcode.CreateParams{Amount: pesewas(500)})
	off := false
	must.Get(s.QRCodes.Update(t.Context(), s.caller, inactive.ID, qrcode.UpdateParams{Active: &off}))(t)
	expired := s.code(t, qrcode.CreateParams{Amount: pesewas(500), ExpiresAt: s.now.Add(time.Hour)})
	deleted := s.code(t, qrcode.CreateParams{})
	must.Get(s.QRCodes.Delete(t.Context(), s.caller, deleted.ID))(t)
	s.now = s.now.Add(time.Hour)

	for range 3 { // often enough to lock the PIN, if a refusal counted as a failed attempt
		for _, test := range []struct {
			name, code string
			amount     *int64
			want       api.Code
		}{
			{"more than the wallet has", open.ID, pesewas(5001), api.InsufficientBalance},
			{"no amount", open.ID, nil, api.AmountRequired},
			{"nothing", open.ID, pesewas(0), api.ParameterInvalid},
			{"too much", open.ID, pesewas(100_000_000), api.ParameterInvalid},
			{"another amount", fixed.ID, pesewas(499), api.ParameterInvalid},
			{"inactive", inactive.ID, nil, api.QRInactive},
			{"expired", expired.ID, nil, api.QRExpired},
			{"deleted", deleted.ID, pesewas(1), api.ResourceMissing},
		} {
			testkit.WantCode(t, test.name, testkit.Err(s.pay(t, s.caller, test.code, goodPIN, test.amount)), test.want)
		}
	}
	testkit.WantCode(t, "the other mode", testkit.Err(s.pay(t, api.Caller{Merchant: s.caller.Merchant, Live: true}, open.ID, goodPIN, pesewas(1))), api.ResourceMissing)
	for status, want := range map[account.Status]api.Code{account.Frozen: api.WalletNotActive, account.Suspended: api.WalletNotActive} {
		must.Get(s.Accounts.UpdateConsumer(t.Context(), api.Caller{}, s.ama.ID, account.UpdateHolderParams{Status: new(status)}))(t)
		testkit.WantCode(t, string(status), testkit.Err(s.pay(t, s.caller, open.ID, goodPIN, pesewas(1))), want)
		// Only the holder, who knows the PIN, is told of it.
		testkit.WantCode(t, string(status)+", with a wrong PIN", testkit.Err(s.pay(t, s.caller, open.ID, "9999", pesewas(1))), api.PINInvalid)
	}
	expect.Equal(t, s.money(t), "50 0", "the wallet and the merchant have")
	for _, id := range []string{open.ID, fixed.ID, inactive.ID, expired.ID} {
		c, err := s.QRCodes.Get(t.Context(), s.caller, id)
		must.True(t, err == nil, "%s was used %d times, %v", id, c.UsageCount, err)
		expect.Equal(t, c.UsageCount, 0, "%s: usage count", id)
	}
	expect.Equal(t, len(must.Get(s.Messages.List(t.Context(), s.caller, message.ListParams{}))(t).Data), 0, "messages")

	must.Get(s.Accounts.UpdateConsumer(t.Context(), api.Caller{}, s.ama.ID, account.UpdateHolderParams{Status: new(account.Active)}))(t)
	must.Get(s.pay(t, s.caller, fixed.ID, goodPIN, pesewas(500)))(t)
	// A number tells a stranger nothing about who has a wallet, an id is known to few.
	closed := s.closed(t)
	for want, ref := range map[api.Code]account.WalletRef{api.PINInvalid: {Phone: closed.Phone}, api.AccountNotFound: {AccountID: closed.ID}} {
		testkit.WantCode(t, "closed", testkit.Err(s.QRCodes.Pay(t.Context(), s.caller, open.ID, qrcode.PayParams{Wallet: ref, PIN: goodPIN, Amount: pesewas(1)})), want)
	}
}

// Concurrent payments never exceed a limit, and the last use deactivates the code.
func TestUsageLimitsUnderConcurrency(t *testing.T) {
	s := newStall(t, false, nil)
	const limit, payers = 3, 12
	code := s.code(t, qrcode.CreateParams{Type: qrcode.Dynamic, Amount: pesewas(100), UsageLimit: pesewas(limit)})
	var paid, full atomic.Int64
	var all sync.WaitGroup
	for range payers {
		all.Go(func() {
			switch _, err := s.pay(t, s.caller, code.ID, goodPIN, nil); {
			case err == nil:
				paid.Add(1)
			case api.CodeOf(err) == api.QRLimitReached:
				full.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	expect.Equal(t, paid.Load(), limit, "paid")
	expect.Equal(t, full.Load(), payers-limit, "full")
	expect.Equal(t, s.money(t), "47 3", "the wallet and the merchant have")
	got, err := s.QRCodes.Get(t.Context(), s.caller, code.ID)
	must.Do(t, err)
	expect.Equal(t, got.UsageCount, limit, "code: usage count")
	expect.Equal(t, got.Active, false, "code: Active")
	// An activated code is still used up.
	on := true
	must.Get(s.QRCodes.Update(t.Context(), s.caller, code.ID, qrcode.UpdateParams{Active: &on}))(t)
	testkit.WantCode(t, "a used-up code", testkit.Err(s.pay(t, s.caller, code.ID, goodPIN, nil)), api.QRLimitReached)
	list, err := s.QRCodes.ListPayments(t.Context(), s.caller, code.ID, payment.ListParams{Page: api.Page{Limit: 2}})
	must.Do(t, err)
	expect.Equal(t, len(list.Data), 2, "payments: number")
	expect.Equal(t, list.HasMore, true, "payments: HasMore")
	expect.Equal(t, list.URL, "/v1/qr_codes/"+code.ID+"/payments", "payments: URL")
	updated, err := s.Events.List(t.Context(), s.caller, event.ListParams{Type: event.QRCodeUpdated})
	if err != nil || len(updated.Data) != 2 { // the last use deactivated it, and the merchant activated it
		t.Errorf("%d updates are recorded, %v", len(updated.Data), err)
	}
}

// What a payment page shows of a code.
func TestHostedShowsCodeAndRefusal(t *testing.T) {
	s := newStall(t, true, nil)
	code := s.code(t, qrcode.CreateParams{Amount: pesewas(500), ExpiresAt: s.now.Add(time.Hour)})
	offer, err := s.QRCodes.Hosted(t.Context(), code.ID)
	must.Do(t, err)
	expect.True(t, offer.Refusal == nil, "Refusal is set")
	expect.Equal(t, offer.Merchant.Name, "Adom Juice Bar", "name of the merchant")
	expect.Equal(t, offer.Caller.Live, true, "Caller.Live")
	expect.Equal(t, offer.Code.Data, code.Data, "data of the code")
	s.now = s.now.Add(time.Hour)
	offer, err = s.QRCodes.Hosted(t.Context(), code.ID)
	must.Do(t, err)
	must.True(t, offer.Refusal != nil, "expired, but not refused: %+v", offer)
	expect.Equal(t, offer.Refusal.Code, api.QRExpired, "expired: code of the refusal")
	testkit.WantCode(t, "no code", testkit.Err(s.QRCodes.Hosted(t.Context(), "qr_1")), api.ResourceMissing)
}

func TestUpdateCode(t *testing.T) {
	s := newStall(t, false, nil)
	code := s.code(t, qrcode.CreateParams{Name: "Till", ExpiresAt: s.now.Add(time.Hour), Metadata: api.Metadata{"a": "1", "b": "2"}})
	name, description := "Bar", "By the window"
	got := must.Get(s.QRCodes.Update(t.Context(), s.caller, code.ID, qrcode.UpdateParams{
		Name: &name, Description: &description, ExpiresAt: new(time.Time), Metadata: api.Metadata{"a": nil, "c": true},
	}))(t)
	want := *code
	want.Name, want.Description, want.ExpiresAt, want.Metadata = name, description, nil, api.Metadata{"b": "2", "c": true}
	expect.Same(t, got, &want, "got")
	expect.Equal(t, must.Get(s.QRCodes.Update(t.Context(), s.caller, code.ID, qrcode.UpdateParams{}))(t).Name, name, "no change")

	full := api.Metadata{}
	for n := range 49 {
		full[fmt.Sprint("k", n)] = "v"
	}
	long, past := strings.Repeat("ɛ", 501), s.now
	for what, p := range map[string]qrcode.UpdateParams{
		"a long name": {Name: &long}, "a long description": {Description: &long}, "an expiry now": {ExpiresAt: &past},
		"a nested value": {Metadata: api.Metadata{"a": []any{}}}, "more keys than fit with those there": {Metadata: full},
	} {
		testkit.WantCode(t, what, testkit.Err(s.QRCodes.Update(t.Context(), s.caller, code.ID, p)), api.ParameterInvalid)
	}
	for what, p := range map[string]qrcode.CreateParams{
		"a type": {Type: "odd"}, "no amount": {Amount: pesewas(0)}, "too much": {Amount: pesewas(100_000_000)}, "a limit on a static code": {UsageLimit: pesewas(1)},
		"no use at all": {Type: qrcode.Dynamic, UsageLimit: pesewas(0)}, "an expiry now": {ExpiresAt: s.now}, "a long name": {Name: strings.Repeat("n", 256)},
		"a long description": {Description: long}, "a long reference": {Reference: strings.Repeat("r", 101)}, "null": {Metadata: api.Metadata{"a": nil}},
	} {
		testkit.WantCode(t, what, testkit.Err(s.QRCodes.Create(t.Context(), s.caller, p)), api.ParameterInvalid)
	}
	testkit.WantCode(t, "dollars", testkit.Err(s.QRCodes.Create(t.Context(), s.caller, qrcode.CreateParams{Currency: "USD"})), api.CurrencyNotSupported)
	testkit.WantCode(t, "a list of an odd type", testkit.Err(s.QRCodes.List(t.Context(), s.caller, qrcode.ListParams{Type: "odd"})), api.ParameterInvalid)
	missing := func(what string, err error) {
		t.Helper()
		expect.Equal(t, api.CodeOf(err), api.ResourceMissing, "%s: got %v", what, err)
	}
	_, err := s.QRCodes.Update(t.Context(), s.caller, "qr_1", qrcode.UpdateParams{})
	missing("update", err)
	_, err = s.QRCodes.Delete(t.Context(), s.caller, "qr_1")
	missing("delete", err)
	_, err = s.QRCodes.ListPayments(t.Context(), s.caller, "qr_1", payment.ListParams{})
	missing("payments", err)
	_, err = s.QRCodes.Image(t.Context(), s.caller, "qr_1", qrcode.ImageParams{Format: qrcode.PNG})
	missing("picture", err)
}

// An unusable consumer's code: a dynamic one is refused, and a static one resolves as inactive.
func TestResolveConsumerCode(t *testing.T) {
	s := newStall(t, false, nil)
	ghs := decimal.RequireFromString("12.50")
	for _, test := range []struct {
		name string
		p    qrcode.IssueConsumerCodeParams
		want api.Code
		on   bool
	}{
		{"static", qrcode.IssueConsumerCodeParams{}, "", true},
		{"static and off", qrcode.IssueConsumerCodeParams{Inactive: true}, "", false},
		{"static and expired", qrcode.IssueConsumerCodeParams{ExpiresAt: s.now}, "", false},
		{"dynamic", qrcode.IssueConsumerCodeParams{Type: qrcode.Dynamic, ExpiresAt: s.now.Add(time.Second)}, "", true},
		{"dynamic and off", qrcode.IssueConsumerCodeParams{Type: qrcode.Dynamic, Inactive: true}, api.QRInactive, false},
		{"dynamic and expired", qrcode.IssueConsumerCodeParams{Type: qrcode.Dynamic, ExpiresAt: s.now}, api.QRExpired, false},
	} {
		test.p.Account, test.p.Amount = s.ama.ID, &ghs
		code := must.Get(s.QRCodes.IssueConsumerCode(t.Context(), s.caller, test.p))(t)
		r, err := s.QRCodes.Resolve(t.Context(), s.caller, code.Payload)
		if api.CodeOf(err) != test.want || (test.want == "" && err != nil) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
			continue
		}
		if err == nil && (r.Active != test.on || r.Amount.String() != "12.5" || r.DisplayName != "Ama M." || r.AccountID != "acc_****"+s.ama.ID[len(s.ama.ID)-4:]) {
			t.Errorf("%s: %+v", test.name, r)
		}
		other := s.caller
		other.Live = true
		testkit.WantCode(t, test.name+", in the other mode", testkit.Err(s.QRCodes.Resolve(t.Context(), other, code.Payload)), api.InvalidConsumerQR)
	}
	bad := decimal.RequireFromString("0.001")
	for what, p := range map[string]qrcode.IssueConsumerCodeParams{
		"a type": {Type: "odd"}, "a fraction of a pesewa": {Amount: &bad}, "no use at all": {Type: qrcode.Dynamic, UsageLimit: pesewas(0)},
	} {
		p.Account = s.ama.ID
		testkit.WantCode(t, what, testkit.Err(s.QRCodes.IssueConsumerCode(t.Context(), s.caller, p)), api.ParameterInvalid)
	}

	// With a key the first answer comes again, though the code is off by then.
	code := must.Get(s.QRCodes.IssueConsumerCode(t.Context(), s.caller, qrcode.IssueConsumerCodeParams{Account: s.ama.ID, Type: qrcode.Dynamic, ExpiresAt: s.now.Add(time.Hour)}))(t)
	keyed := s.caller
	keyed.IdempotencyKey = "resolve-1"
	first := must.Get(s.QRCodes.Resolve(t.Context(), keyed, code.Payload))(t)
	s.now = s.now.Add(time.Hour)
	again, err := s.QRCodes.Resolve(t.Context(), keyed, code.Payload)
	diff := cmp.Diff(first, again)
	must.Do(t, err)
	expect.True(t, diff == "", "again: %v\n%s", err, diff)
	testkit.WantCode(t, "without key", testkit.Err(s.QRCodes.Resolve(t.Context(), s.caller, code.Payload)), api.QRExpired)
	static := must.Get(s.QRCodes.IssueConsumerCode(t.Context(), s.caller, qrcode.IssueConsumerCodeParams{Account: s.closed(t).ID}))(t)
	testkit.WantCode(t, "a closed wallet", testkit.Err(s.QRCodes.Resolve(t.Context(), s.caller, static.Payload)), api.AccountNotFound)
}

// mute is a host's codec that cannot encode.
type mute struct{ qrcode.ConsumerCodec }

var errMute = errors.New("no key to sign with")

func (mute) Encode(bool, string) (string, error) { return "", errMute }

func TestCodecFailureIsReturned(t *testing.T) {
	svc := must.Get(payments.New(t.Context(), memory.New(), payments.Config{ConsumerCodec: mute{}}))(t)
	c := must.Get(svc.Accounts.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Ama", Phone: "0241000001"}))(t)
	if _, err := svc.QRCodes.IssueConsumerCode(t.Context(), api.Caller{Merchant: "mer_1"}, qrcode.IssueConsumerCodeParams{Account: c.ID}); !errors.Is(err, errMute) {
		t.Errorf("got %v", err)
	}
}
