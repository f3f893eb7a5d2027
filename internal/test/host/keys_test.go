package host_test

import (
	"bytes"
	"fmt"
	"regexp"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// made is what was made under a key of the server: a consumer's payload, a one-time code
// that was sent, a PIN, and a seal.
type made struct {
	caller        api.Caller
	consumer      string
	payload, code string
}

var sixDigits = regexp.MustCompile(`\b\d{6}\b`)

func makeUnder(t *testing.T, svc *payments.Service, n int) made {
	t.Helper()
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M", Phone: fmt.Sprintf("024300000%d", n)}))(t)
	made := made{caller: api.Caller{Merchant: m.ID}}
	c := must.Get(svc.Accounts.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: fmt.Sprintf("024100000%d", n), PIN: "1234"}))(t)
	made.consumer = c.ID
	must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: c.ID, Amount: decimal.NewFromInt(10), Source: "bank"}))
	qr := must.Get(svc.QRCodes.IssueConsumerCode(t.Context(), made.caller, qrcode.IssueConsumerCodeParams{Account: c.ID}))(t)
	made.payload = qr.Payload
	must.Get(svc.Payouts.RequestOTP(t.Context(), made.caller, payout.ForPayout))(t)
	list := must.Get(svc.Messages.List(t.Context(), made.caller, message.ListParams{}))(t)
	made.code = sixDigits.FindString(list.Data[0].Text)
	must.Get(svc.Accounts.Seal(t.Context()))(t)
	return made
}

// accepts uses all that was made, and says what is refused.
func accepts(t *testing.T, svc *payments.Service, m made) (refused []string) {
	t.Helper()
	if _, err := svc.QRCodes.Resolve(t.Context(), m.caller, m.payload); err != nil {
		refused = append(refused, "payload")
	}
	if _, err := svc.Payouts.VerifyOTP(t.Context(), m.caller, payout.OTPParams{Purpose: payout.ForPayout, Code: m.code}); err != nil {
		refused = append(refused, "code")
	}
	code := must.Get(svc.QRCodes.Create(t.Context(), m.caller, qrcode.CreateParams{Amount: new(int64(100))}))(t)
	_, err := svc.QRCodes.Pay(t.Context(), m.caller, code.ID, qrcode.PayParams{Wallet: account.WalletRef{AccountID: m.consumer}, PIN: "1234"})
	if err != nil {
		refused = append(refused, "PIN")
	}
	if _, err := svc.Accounts.Seal(t.Context()); err != nil {
		refused = append(refused, "seal")
	}
	v := must.Get(svc.Accounts.Verify(t.Context()))(t)
	if len(v.Problems) > 0 {
		refused = append(refused, "seals")
	}
	return refused
}

// The key of the server is changed under processes that run beside each other, and what
// was made under any of them is accepted by all.
func TestKeyRotation(t *testing.T) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		old, fresh := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
		with := func(key []byte, fallback ...[]byte) *payments.Service {
			return testkit.New(t, store, payments.Config{Key: key, FallbackKeys: fallback})
		}
		before, prepared, after := with(old), with(old, fresh), with(fresh, old)
		wants := func(what string, got []string, want ...string) {
			t.Helper()
			expect.Equal(t, fmt.Sprint(got), fmt.Sprint(want), "%s: refused are %q, want %q", what, got, want)
		}
		n := 0
		begin := func(svc *payments.Service) made { n++; return makeUnder(t, svc, n) }
		wants("the old key's, prepared", accepts(t, prepared, begin(before)))
		wants("the old key's, afterwards", accepts(t, after, begin(prepared)))
		wants("the new key's, prepared", accepts(t, prepared, begin(after)))
		wants("the new key's, afterwards", accepts(t, after, begin(after)))
		wants("the old key's, without it", accepts(t, with(fresh), begin(before)), "payload", "code", "PIN", "seals")
	})
}

// A one-time code that was verified before a rotation is replayed after it.
func TestVerifiedCodeIsReplayedAfterKeyRotation(t *testing.T) {
	store := memory.New()
	old, fresh := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	first := testkit.New(t, store, payments.Config{Key: old})
	m := makeUnder(t, first, 1)
	m.caller.IdempotencyKey = "k"
	verified := must.Get(first.Payouts.VerifyOTP(t.Context(), m.caller, payout.OTPParams{Purpose: payout.ForPayout, Code: m.code}))(t)
	second := testkit.New(t, store, payments.Config{Key: fresh, FallbackKeys: [][]byte{old}})
	again := must.Get(second.Payouts.VerifyOTP(t.Context(), m.caller, payout.OTPParams{Purpose: payout.ForPayout, Code: m.code}))(t)
	expect.Equal(t, *again, *verified, "the repeated call")
	other := []byte(m.code)
	other[0] = '0' + (other[0]-'0'+1)%10
	testkit.WantCode(t, "another code", testkit.Err(second.Payouts.VerifyOTP(t.Context(), m.caller, payout.OTPParams{Purpose: payout.ForPayout, Code: string(other)})), api.OTPInvalid)
}

// A host may clear its keys in memory once New has them.
func TestClearedKeysStayInUse(t *testing.T) {
	store := memory.New()
	old, fresh := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	m := makeUnder(t, testkit.New(t, store, payments.Config{Key: bytes.Clone(old)}), 1)
	key, fallback := bytes.Clone(fresh), bytes.Clone(old)
	svc := testkit.New(t, store, payments.Config{Key: key, FallbackKeys: [][]byte{fallback}})
	clear(key)
	clear(fallback)
	expect.Same(t, accepts(t, svc, m), []string(nil), "what was made under the old key and is refused")
	late := makeUnder(t, svc, 2)
	expect.Same(t, accepts(t, testkit.New(t, store, payments.Config{Key: fresh, FallbackKeys: [][]byte{old}}), late), []string(nil), "what was made after the keys were cleared and is refused")
}

// A host that began without a key of its own takes the stored one along.
func TestStoredKeyWorksAsFallback(t *testing.T) {
	store := memory.New()
	expect.Equal(t, len(must.Get(payments.StoredKey(t.Context(), store))(t)), 0, "bytes before the first start")
	m := makeUnder(t, testkit.New(t, store, payments.Config{}), 1)
	must.Get(testkit.New(t, store, payments.Config{}).QRCodes.Resolve(t.Context(), m.caller, m.payload))(t) // after a restart
	key := must.Get(payments.StoredKey(t.Context(), store))(t)
	expect.Same(t, accepts(t, testkit.New(t, store, payments.Config{Key: make([]byte, 32), FallbackKeys: [][]byte{key}}), m), []string(nil), "what is refused")
}

func TestFallbackKeysAreLong(t *testing.T) {
	_, err := payments.New(t.Context(), memory.New(), payments.Config{FallbackKeys: [][]byte{make([]byte, 32), make([]byte, 31)}})
	expect.Equal(t, fmt.Sprint(err), "payments: FallbackKeys[1] has 31 bytes, want at least 32", "the error")
}
