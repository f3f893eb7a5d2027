package account_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/internal/pin"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// bench is the service on its own store, with a clock that the test moves.
type bench struct {
	*party.Service
	engine *engine.Engine
	now    atomic.Pointer[time.Time]
}

func newBench(t *testing.T, wrap func(storage.Store) storage.Store) *bench {
	t.Helper()
	var store storage.Store = memory.New()
	must.Do(t, store.Define(t.Context(), append(engine.Kinds(), party.Kinds()...)...))
	if wrap != nil {
		store = wrap(store)
	}
	pin.Weaken()
	b := &bench{}
	b.set(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
	clock := func() time.Time { return *b.now.Load() }
	b.engine = &engine.Engine{
		Store: store, Clock: clock, NewID: ids.New(clock, nil).Make,
		Log: slog.New(slog.DiscardHandler), Runner: new(work.Runner),
	}
	b.Service = party.New(b.engine, party.Config{})
	return b
}

// withKeys returns the methods of a service with other server keys.
func (b *bench) withKeys(keys ...[]byte) *party.Service {
	e := *b.engine
	e.ServerKeys = keys
	return party.New(&e, party.Config{})
}

func (b *bench) set(now time.Time)        { b.now.Store(&now) }
func (b *bench) advance(by time.Duration) { b.set(b.now.Load().Add(by)) }
func (b *bench) merchant(t *testing.T) string {
	t.Helper()
	m := must.Get(b.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	return m.ID
}

func (b *bench) consumer(t *testing.T, phone string) *account.Consumer {
	t.Helper()
	return must.Get(b.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: phone, PIN: "1234"}))(t)
}

func TestMerchants(t *testing.T) {
	b := newBench(t, nil)
	png := []byte("\x89PNG\r\n\x1a\n…")
	m := must.Get(b.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Adom", Phone: "0301 000 000", Logo: png}))(t)
	expect.Equal(t, m.Phone, "+233301000000", "merchant: phone")
	expect.Equal(t, m.HasLogo, true, "merchant: HasLogo")
	expect.True(t, strings.HasPrefix(m.ServiceID, "SVC"), "merchant %+v", m)
	logo, err := b.GetLogo(t.Context(), api.Caller{}, m.ID)
	must.Do(t, err)
	expect.Equal(t, logo.Type, "image/png", "logo: type")
	expect.Equal(t, string(logo.Data), string(png), "logo: data")
	m, err = b.UpdateMerchant(t.Context(), api.Caller{}, m.ID, account.UpdateMerchantParams{Name: new("Adom Juice")})
	must.Do(t, err)
	expect.Equal(t, m.HasLogo, true, "a new name: HasLogo")
	expect.Equal(t, m.Name, "Adom Juice", "a new name: name")
	expect.Equal(t, m.Phone, "+233301000000", "a new name: phone")
	m, err = b.UpdateMerchant(t.Context(), api.Caller{}, m.ID, account.UpdateMerchantParams{Phone: new(""), Logo: []byte{}})
	must.Do(t, err)
	expect.Equal(t, m.HasLogo, false, "cleared: HasLogo")
	expect.Equal(t, m.Phone, "", "cleared: phone")
	expect.Equal(t, m.Name, "Adom Juice", "cleared: name")
	testkit.WantCode(t, "a logo that was removed", testkit.Err(b.GetLogo(t.Context(), api.Caller{}, m.ID)), api.ResourceMissing)
	got := must.Get(b.GetMerchant(t.Context(), api.Caller{}, m.ID))(t)
	must.Get(b.GetMerchant(t.Context(), api.Caller{Merchant: m.ID}, m.ID))(t)
	testkit.WantCode(t, "another merchant reads it", testkit.Err(b.GetMerchant(t.Context(), api.Caller{Merchant: "mer_other"}, m.ID)), api.ResourceMissing)
	expect.Same(t, got, m, "got")
	second := b.merchant(t)
	list, err := b.ListMerchants(t.Context(), api.Caller{}, api.Page{Limit: 1})
	must.Do(t, err)
	must.True(t, len(list.Data) == 1, "list %+v, %v", list, err)
	expect.Equal(t, list.Data[0].ID, second, "list: ID of the first")
	expect.Equal(t, list.HasMore, true, "list: HasMore")
	for name, p := range map[string]account.CreateMerchantParams{
		"no name": {}, "a long name": {Name: strings.Repeat("n", 256)}, "a phone of elsewhere": {Name: "M", Phone: "+4412345678"},
		"two e-mail addresses": {Name: "M", Email: "a@example.com,b@example.com"}, "a long address": {Name: "M", Address: strings.Repeat("a", 501)},
		"a picture of another kind": {Name: "M", Logo: []byte("GIF89a")}, "a large picture": {Name: "M", Logo: append(png, make([]byte, 256<<10)...)},
	} {
		if _, err := b.CreateMerchant(t.Context(), api.Caller{}, p); api.CodeOf(err) == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	testkit.WantCode(t, "update without a name", testkit.Err(b.UpdateMerchant(t.Context(), api.Caller{}, m.ID, account.UpdateMerchantParams{Name: new("")})), api.ParameterMissing)
	testkit.WantCode(t, "update of nobody", testkit.Err(b.UpdateMerchant(t.Context(), api.Caller{}, "mer_1", account.UpdateMerchantParams{Name: new("M")})), api.ResourceMissing)
}

func TestHolders(t *testing.T) {
	b := newBench(t, nil)
	ama := b.consumer(t, "0241000001")
	testkit.WantCode(t, "a phone twice", testkit.Err(b.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "B", Phone: "+233 24 100 0001"})), api.ParameterInvalid)
	agent, err := b.CreateAgent(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Kojo", Phone: "0241000001", SubAgent: true})
	must.Do(t, err)
	expect.Equal(t, agent.SubAgent, true, "an agent with a consumer's phone: SubAgent")
	if _, err := b.CreateConsumer(t.Context(), api.Caller{Live: true}, account.CreateHolderParams{Name: "L", Phone: "0241000001"}); err != nil {
		t.Errorf("the phone in the other mode: %v", err)
	}
	merchant := must.Get(b.GetMerchant(t.Context(), api.Caller{}, b.merchant(t)))(t)
	seen := map[string]bool{ama.ServiceID: true, agent.ServiceID: true, merchant.ServiceID: true}
	expect.Equal(t, len(seen), 3, "service ids are not unique: %v", seen)

	must.Do(t, b.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: agent.ID, Amount: decimal.NewFromInt(1), Source: "test"}))
	testkit.WantParam(t, "closing with money in it", testkit.Err(b.UpdateAgent(t.Context(), api.Caller{}, agent.ID, account.UpdateHolderParams{Status: new(account.Closed)})), api.ParameterInvalid, "status")
	// Closing an account frees its number for good.
	must.Get(b.UpdateConsumer(t.Context(), api.Caller{}, ama.ID, account.UpdateHolderParams{Status: new(account.Closed)}))(t)
	again := b.consumer(t, "0241000001")
	testkit.WantCode(t, "opening a closed account", testkit.Err(b.UpdateConsumer(t.Context(), api.Caller{}, ama.ID, account.UpdateHolderParams{Status: new(account.Active)})), api.ParameterInvalid)
	testkit.WantCode(t, "nobody", testkit.Err(b.UpdateConsumer(t.Context(), api.Caller{}, "acc_1", account.UpdateHolderParams{Status: new(account.Frozen)})), api.ResourceMissing)
	_, err = b.UpdateAgent(t.Context(), api.Caller{}, agent.ID, account.UpdateHolderParams{Status: new(account.Status("gone"))})
	testkit.WantCode(t, "an unknown status", err, api.ParameterInvalid)
	expect.Equal(t, must.Get(b.UpdateAgent(t.Context(), api.Caller{}, agent.ID, account.UpdateHolderParams{Status: new(account.Frozen)}))(t).Status,
		account.Frozen, "agent")

	view := func(live bool, ref account.WalletRef) (c *account.Consumer, err error) {
		err = b.engine.Store.View(t.Context(), func(tx storage.ReadTx) error {
			c, err = b.Payer(tx, live, ref)
			return err
		})
		return c, err
	}
	for name, ref := range map[string]account.WalletRef{
		"phone": {Phone: "024-100-0001"}, "account": {AccountID: again.ID}, "service id": {ServiceID: again.ServiceID},
		"service id before all others": {ServiceID: again.ServiceID, AccountID: "acc_1", Phone: "1"},
	} {
		expect.Equal(t, must.Get(view(false, ref))(t).ID, again.ID, "%s: found", name)
	}
	for name, ref := range map[string]account.WalletRef{
		"closed": {AccountID: ama.ID}, "unknown": {Phone: "0249999999"}, "an agent's service id": {ServiceID: agent.ServiceID}, "no service id": {ServiceID: "SVC1"},
	} {
		testkit.WantCode(t, name, testkit.Err(view(false, ref)), api.AccountNotFound)
	}
	testkit.WantCode(t, "no phone", testkit.Err(view(false, account.WalletRef{Phone: "12"})), api.InvalidPhoneNumber)
	for name, p := range map[string]account.CreateHolderParams{
		"no name": {Phone: "0241000009"}, "no phone": {Name: "N"}, "a status": {Name: "N", Phone: "0241000009", Status: "odd"},
		"a PIN of letters": {Name: "N", Phone: "0241000009", PIN: "12a4"}, "a short PIN": {Name: "N", Phone: "0241000009", PIN: "123"},
		"a PIN of full-width digits": {Name: "N", Phone: "0241000009", PIN: "１２"},
	} {
		if _, err := b.CreateConsumer(t.Context(), api.Caller{}, p); api.CodeOf(err) == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestKeysOfMerchants(t *testing.T) {
	b := newBench(t, nil)
	caller := api.Caller{Merchant: b.merchant(t), Live: true}
	key := must.Get(b.CreateKey(t.Context(), caller, account.CreateKeyParams{Name: "server", Resources: []string{"payments"}}))(t)
	must.True(t, strings.HasPrefix(key.Secret, "sk_live_"), "the key is not one of live mode: %+v", key)
	expect.True(t, strings.HasPrefix(key.Secret, key.Hint[:12]), "the hint does not begin as the key does: %+v", key)
	access, err := b.Authenticate(t.Context(), key.Secret)
	must.Do(t, err)
	expect.Equal(t, access.Merchant, caller.Merchant, "access: merchant")
	expect.Equal(t, access.Live, true, "access: Live")
	expect.True(t, !access.Allows("qr_codes", false), "the key's resources do not hold")
	expect.True(t, access.Allows("payments", true), "the key's resources do not hold")
	flipped := []byte(key.Secret)
	flipped[20] ^= 1
	for _, bad := range []string{"", "sk_live_", string(flipped), strings.ToUpper(key.Secret), key.Secret + "a", "pk" + key.Secret[2:]} {
		testkit.WantCode(t, "key "+bad, testkit.Err(b.Authenticate(t.Context(), bad)), api.APIKeyInvalid)
	}

	used := func() *api.Time {
		list := must.Get(b.ListKeys(t.Context(), caller, api.Page{}))(t)
		for _, k := range list.Data {
			expect.Equal(t, k.Secret, "", "a list shows a secret")
			if k.ID == key.ID {
				return k.LastUsed
			}
		}
		return nil
	}
	first := *used()
	b.advance(59 * time.Minute)
	mustAuthenticate(t, b, key.Secret)
	if got := *used(); !got.Equal(first.Time) {
		t.Errorf("noted at %s, within the hour of %s", got, first)
	}
	b.advance(time.Minute)
	mustAuthenticate(t, b, key.Secret)
	if got := *used(); !got.After(first.Time) {
		t.Errorf("not noted after an hour")
	}

	rolled, err := b.RollKey(t.Context(), caller, key.ID, account.RollKeyParams{Overlap: time.Hour})
	must.True(t, err == nil && rolled.Secret != key.Secret, "rolled to %+v, %v", rolled, err)
	mustAuthenticate(t, b, rolled.Secret)
	mustAuthenticate(t, b, key.Secret)
	b.advance(time.Hour)
	mustAuthenticate(t, b, rolled.Secret)
	testkit.WantCode(t, "the old one after the overlap", testkit.Err(b.Authenticate(t.Context(), key.Secret)), api.APIKeyInvalid)

	for range 2 {
		expect.NoError(t, b.RevokeKey(t.Context(), caller, rolled.ID), "revoke")
	}
	testkit.WantCode(t, "a revoked key", testkit.Err(b.Authenticate(t.Context(), rolled.Secret)), api.APIKeyInvalid)
	roll := func(overlap time.Duration) error {
		return testkit.Err(b.RollKey(t.Context(), caller, rolled.ID, account.RollKeyParams{Overlap: overlap}))
	}
	testkit.WantCode(t, "a revoked key, rolled", roll(time.Hour), api.ParameterInvalid)
	expect.Equal(t, len(must.Get(b.ListKeys(t.Context(), caller, api.Page{}))(t).Data), 2, "keys")

	other := api.Caller{Merchant: caller.Merchant} // the other mode
	testkit.WantCode(t, "revoke from the other mode", b.RevokeKey(t.Context(), other, key.ID), api.ResourceMissing)
	testkit.WantCode(t, "a negative overlap", roll(-1), api.ParameterInvalid)
	testkit.WantCode(t, "a key for nobody", testkit.Err(b.CreateKey(t.Context(), api.Caller{Merchant: "mer_1"}, account.CreateKeyParams{})), api.ResourceMissing)
}

// The key is well formed and has a right checksum, but this service never made it.
func TestUnknownKeyIsRefused(t *testing.T) {
	here, there := newBench(t, nil), newBench(t, nil)
	for _, live := range []bool{false, true} {
		key := must.Get(there.CreateKey(t.Context(), api.Caller{Merchant: there.merchant(t), Live: live}, account.CreateKeyParams{}))(t)
		mustAuthenticate(t, there, key.Secret)
		testkit.WantCode(t, "elsewhere", testkit.Err(here.Authenticate(t.Context(), key.Secret)), api.APIKeyInvalid)
	}
}

func mustAuthenticate(t *testing.T, b *bench, secret string) {
	t.Helper()
	expect.NoError(t, testkit.Err(b.Authenticate(t.Context(), secret)), "Authenticate")
}

// enter checks a PIN. Its effect confirms the PIN and then returns effect.
func enter(ctx context.Context, b *bench, id, pin string, effect error) error {
	return b.WithPIN(ctx, api.Caller{}, party.PINEntry{Account: id, PIN: pin}, func(p *party.Proof) error {
		return b.engine.Update(ctx, api.Caller{}, func(tx *engine.Tx) error {
			if err := b.Confirm(tx, p); err != nil {
				return err
			}
			return effect
		})
	})
}

func TestPINs(t *testing.T) {
	b := newBench(t, nil)
	id := b.consumer(t, "0241000001").ID
	refused := errors.New("refused")
	try := func(pin string, effect error) error { return enter(t.Context(), b, id, pin, effect) }

	for range 3 { // more right entries in a row than attempts are allowed
		for range 3 {
			expect.ErrorIs(t, try("1234", refused), refused, "a refused effect")
		}
		for range 4 {
			testkit.WantCode(t, "a wrong one", try("0000", nil), api.PINInvalid)
		}
		testkit.WantCode(t, "a right one", try("1234", nil), "")
	}
	for range 5 {
		testkit.WantCode(t, "a wrong one", try("0000", nil), api.PINInvalid)
	}
	err := try("1234", nil)
	testkit.WantCode(t, "a right one when locked", err, api.PINLocked)
	var e *api.Error
	if errors.As(err, &e); e.RetryAfter != 15*time.Minute {
		t.Errorf("retry after %s", e.RetryAfter)
	}
	b.advance(15*time.Minute - time.Millisecond)
	testkit.WantCode(t, "a moment too early", try("1234", nil), api.PINLocked)
	b.advance(time.Millisecond)
	testkit.WantCode(t, "a wrong one after the lock", try("0000", nil), api.PINInvalid)
	testkit.WantCode(t, "a right one after the lock", try("1234", nil), "")

	// A PIN that changes while the effect is prepared no longer proves anything.
	err = b.WithPIN(t.Context(), api.Caller{}, party.PINEntry{Account: id, PIN: "1234"}, func(p *party.Proof) error {
		must.Do(t, b.SetPIN(t.Context(), api.Caller{}, id, account.SetPINParams{PIN: "654321"}))
		return b.engine.Update(t.Context(), api.Caller{}, func(tx *engine.Tx) error { return b.Confirm(tx, p) })
	})
	testkit.WantCode(t, "a changed PIN", err, api.PINInvalid)
	testkit.WantCode(t, "the old PIN", try("1234", nil), api.PINInvalid)
	testkit.WantCode(t, "the new PIN", try("654321", nil), "")

	none := must.Get(b.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "N", Phone: "0241000002"}))(t)
	testkit.WantCode(t, "an account without PIN", enter(t.Context(), b, none.ID, "1234", nil), api.PINInvalid)
}

// The service compares five guesses, however many arrive at once.
func TestGuessesAreBounded(t *testing.T) {
	b := newBench(t, nil)
	id := b.consumer(t, "0241000001").ID
	var compared, lockedOut atomic.Int64
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			switch err := enter(t.Context(), b, id, fmt.Sprintf("%04d", 5000+i), nil); api.CodeOf(err) {
			case api.PINInvalid:
				compared.Add(1)
			case api.PINLocked:
				lockedOut.Add(1)
			default:
				t.Errorf("got %v", err)
			}
		})
	}
	all.Wait()
	expect.Equal(t, compared.Load(), 5, "compared")
	expect.Equal(t, lockedOut.Load(), 195, "locked out")
}

// Many right entries at once do not lock each other out.
func TestConcurrentRightPINs(t *testing.T) {
	b := newBench(t, nil)
	id := b.consumer(t, "0241000001").ID
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { testkit.WantCode(t, "a right one", enter(t.Context(), b, id, "1234", nil), "") })
	}
	all.Wait()
}

func TestDepositsAndStatement(t *testing.T) {
	b := newBench(t, nil)
	merchant := b.merchant(t)
	caller := api.Caller{Merchant: merchant}
	for n := range 7 {
		must.Do(t, b.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: merchant, Amount: decimal.New(int64(n+1), -2), Source: "bank", Ref: fmt.Sprint("r", n)}))
	}
	balance, err := b.Balance(t.Context(), caller)
	must.Do(t, err)
	expect.Equal(t, balance.Available.String(), "0.28", "balance: available")
	expect.Equal(t, balance.Reserved.String(), "0", "balance: reserved")
	read := func(p api.Page) (refs []string, first, last string, more bool) {
		list, err := b.ListEntries(t.Context(), caller, account.ListEntriesParams{Page: p})
		must.True(t, err == nil, "%+v: %v", p, err)
		for _, e := range list.Data {
			refs = append(refs, e.Source)
		}
		if n := len(list.Data); n > 0 {
			first, last = list.Data[0].ID, list.Data[n-1].ID
		}
		return refs, first, last, list.HasMore
	}
	all, newest, oldest, more := read(api.Page{})
	diff := cmp.Diff([]string{"r6", "r5", "r4", "r3", "r2", "r1", "r0"}, all)
	expect.True(t, diff == "", "all: %v, more %t", all, more)
	expect.True(t, !more, "all: %v, more %t", all, more)
	refs, _, last, more := read(api.Page{Limit: 3})
	expect.Equal(t, fmt.Sprint(refs), "[r6 r5 r4]", "first page: refs")
	expect.True(t, more, "first page: %v, %t", refs, more)
	refs, _, last, more = read(api.Page{Limit: 3, StartingAfter: last})
	expect.Equal(t, fmt.Sprint(refs), "[r3 r2 r1]", "second page: refs")
	expect.True(t, more, "second page: %v, %t", refs, more)
	refs, _, _, more = read(api.Page{Limit: 3, StartingAfter: last})
	expect.Equal(t, fmt.Sprint(refs), "[r0]", "last page: refs")
	expect.True(t, !more, "last page: %v, %t", refs, more)
	refs, _, _, more = read(api.Page{StartingAfter: oldest})
	expect.Equal(t, len(refs), 0, "after the oldest: number of refs")
	expect.True(t, !more, "after the oldest: %v, %t", refs, more)
	refs, _, _, more = read(api.Page{EndingBefore: newest})
	expect.Equal(t, len(refs), 0, "before the newest: number of refs")
	expect.True(t, !more, "before the newest: %v, %t", refs, more)
	refs, _, _, more = read(api.Page{Limit: 2, EndingBefore: oldest})
	expect.Equal(t, fmt.Sprint(refs), "[r2 r1]", "before the oldest: refs")
	expect.True(t, more, "before the oldest: %v, %t", refs, more)
	testkit.WantCode(t, "another's cursor", testkit.Err(b.ListEntries(t.Context(), api.Caller{Merchant: "mer_1"}, account.ListEntriesParams{Page: api.Page{StartingAfter: newest}})), api.ResourceMissing)

	for name, d := range map[string]account.DepositParams{
		"nothing": {To: merchant, Source: "bank"}, "a half pesewa": {To: merchant, Source: "bank", Amount: decimal.New(5, -3)},
		"no source": {To: merchant, Amount: decimal.New(1, 0)}, "a source with a slash": {To: merchant, Amount: decimal.New(1, 0), Source: "a/b"},
		"nobody": {To: "mer_1", Amount: decimal.New(1, 0), Source: "bank"}, "no account": {To: "x", Amount: decimal.New(1, 0), Source: "bank"},
		"another noun": {To: "qr_123", Amount: decimal.New(1, 0), Source: "bank"}, "too much": {To: merchant, Amount: decimal.New(1, 6), Source: "bank"},
	} {
		if err := b.Deposit(t.Context(), api.Caller{}, d); api.CodeOf(err) == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// The operator's deposits and the merchant's calls use separate idempotency keys. The merchant
// may use the same key for another call.
func TestDepositKeysBelongToOperator(t *testing.T) {
	b := newBench(t, nil)
	merchant := b.merchant(t)
	caller := api.Caller{Merchant: merchant, IdempotencyKey: "ref-1"}
	must.Get(b.CreateCustomer(t.Context(), caller, account.CreateCustomerParams{Name: "Ama"}))(t)
	for range 2 {
		must.Do(t, b.Deposit(t.Context(), api.Caller{IdempotencyKey: "ref-1"}, account.DepositParams{To: merchant, Amount: decimal.NewFromInt(1), Source: "bank"}))
	}
	balance, err := b.Balance(t.Context(), caller)
	must.Do(t, err)
	expect.Equal(t, balance.Available.String(), "1", "balance: available")
	caller.IdempotencyKey = "ref-2"
	must.Do(t, b.Deposit(t.Context(), api.Caller{IdempotencyKey: "ref-2"}, account.DepositParams{To: merchant, Amount: decimal.NewFromInt(1), Source: "bank"}))
	expect.NoError(t, testkit.Err(b.CreateCustomer(t.Context(), caller, account.CreateCustomerParams{Name: "Kofi"})), "the merchant's own key")
}

// One idempotency key creates one account, even under concurrent calls. The PIN is not part of
// the comparison.
func TestOneKeyCreatesOneHolder(t *testing.T) {
	b := newBench(t, nil)
	ama := account.CreateHolderParams{Name: "Ama", Phone: "0241234567", PIN: "1234"}
	keyed := api.Caller{IdempotencyKey: "k"}
	made := make([]*account.Consumer, 6)
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() {
			p := ama
			if i%2 == 1 {
				p.Phone, p.PIN = "+233 24 123 4567", "4321"
			}
			c, err := b.CreateConsumer(t.Context(), keyed, p)
			if err != nil {
				t.Error(err)
			}
			made[i] = c
		})
	}
	all.Wait()
	for _, c := range made[1:] {
		expect.Same(t, c, made[0], "two accounts")
	}
	kofi := ama
	kofi.Name = "Kofi"
	testkit.WantCode(t, "the key for another", testkit.Err(b.CreateConsumer(t.Context(), keyed, kofi)), api.IdempotencyKeyReused)
	testkit.WantCode(t, "the key for an agent", testkit.Err(b.CreateAgent(t.Context(), keyed, ama)), api.IdempotencyKeyReused)
	keyed.IdempotencyKey = "another"
	testkit.WantCode(t, "the phone under another key", testkit.Err(b.CreateConsumer(t.Context(), keyed, ama)), api.ParameterInvalid)
}

func TestCustomers(t *testing.T) {
	b := newBench(t, nil)
	caller := api.Caller{Merchant: b.merchant(t), IdempotencyKey: "c-1"}
	c, err := b.CreateCustomer(t.Context(), caller, account.CreateCustomerParams{Name: "Akua", Phone: "0241234567"})
	must.True(t, err == nil && c.Phone == "+233241234567", "%+v, %v", c, err)
	again, err := b.CreateCustomer(t.Context(), caller, account.CreateCustomerParams{Name: "Akua", Phone: "024 123 4567"})
	must.Do(t, err)
	expect.Equal(t, again.ID, c.ID, "again: ID")
	testkit.WantCode(t, "the key for another", testkit.Err(b.CreateCustomer(t.Context(), caller, account.CreateCustomerParams{Name: "Esi"})),
		api.IdempotencyKeyReused)
	got, err := b.GetCustomer(t.Context(), caller, c.ID)
	diff := cmp.Diff(c, got)
	expect.True(t, diff == "", "%v %s", err, diff)
	must.Do(t, err)
	testkit.WantCode(t, "the other mode", testkit.Err(b.GetCustomer(t.Context(), api.Caller{Merchant: caller.Merchant, Live: true}, c.ID)), api.ResourceMissing)
}
