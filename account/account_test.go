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
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// bench is the service on a store of its own with a clock that the test moves.
type bench struct {
	*account.Service
	engine *engine.Engine
	now    atomic.Pointer[time.Time]
}

func newBench(t *testing.T, wrap func(storage.Store) storage.Store) *bench {
	t.Helper()
	var store storage.Store = memory.New()
	if err := store.Define(t.Context(), append(engine.Kinds(), account.Kinds()...)...); err != nil {
		t.Fatal(err)
	}
	if wrap != nil {
		store = wrap(store)
	}
	b := &bench{}
	b.set(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
	clock := func() time.Time { return *b.now.Load() }
	b.engine = &engine.Engine{
		Store: store, Clock: clock, NewID: ids.New(clock, nil).Make,
		Log: slog.New(slog.DiscardHandler), Wake: func(*storage.Kind, storage.Scope, time.Time) {},
	}
	b.Service = account.New(b.engine, account.Config{})
	return b
}

func (b *bench) set(now time.Time)        { b.now.Store(&now) }
func (b *bench) advance(by time.Duration) { b.set(b.now.Load().Add(by)) }
func (b *bench) merchant(t *testing.T) string {
	t.Helper()
	m, err := b.CreateMerchant(t.Context(), account.MerchantParams{Name: "M"})
	if err != nil {
		t.Fatal(err)
	}
	return m.ID
}

func (b *bench) consumer(t *testing.T, phone string) *account.Consumer {
	t.Helper()
	c, err := b.CreateConsumer(t.Context(), account.HolderParams{Name: "Ama Mensah", Phone: phone, PIN: "1234"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func wantCode(t *testing.T, what string, err error, code api.Code) {
	t.Helper()
	if api.CodeOf(err) != code || (code == "" && err != nil) {
		t.Errorf("%s: got %v, want %q", what, err, code)
	}
}

func TestMerchants(t *testing.T) {
	b := newBench(t, nil)
	png := []byte("\x89PNG\r\n\x1a\n…")
	m, err := b.CreateMerchant(t.Context(), account.MerchantParams{Name: "Adom", Phone: "0301 000 000", Logo: png})
	if err != nil {
		t.Fatal(err)
	}
	if m.Phone != "+233301000000" || !m.HasLogo || !strings.HasPrefix(m.ServiceID, "SVC") {
		t.Errorf("merchant %+v", m)
	}
	logo, err := b.Logo(t.Context(), m.ID)
	if err != nil || logo.Type != "image/png" || string(logo.Data) != string(png) {
		t.Errorf("logo %v, %v", logo, err)
	}
	if m, err = b.UpdateMerchant(t.Context(), m.ID, account.MerchantParams{Name: "Adom Juice"}); err != nil || m.HasLogo || m.Phone != "" {
		t.Errorf("updated to %+v, %v", m, err)
	}
	_, err = b.Logo(t.Context(), m.ID)
	wantCode(t, "a logo that was removed", err, api.ResourceMissing)
	got, err := b.Merchant(t.Context(), m.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, got); diff != "" {
		t.Error(diff)
	}
	second := b.merchant(t)
	list, err := b.Merchants(t.Context(), api.Page{Limit: 1})
	if err != nil || len(list.Data) != 1 || list.Data[0].ID != second || !list.HasMore {
		t.Errorf("list %+v, %v", list, err)
	}
	for name, p := range map[string]account.MerchantParams{
		"no name": {}, "a long name": {Name: strings.Repeat("n", 256)}, "a phone of elsewhere": {Name: "M", Phone: "+4412345678"},
		"two e-mail addresses": {Name: "M", Email: "a@example.com,b@example.com"}, "a long address": {Name: "M", Address: strings.Repeat("a", 501)},
		"a picture of another kind": {Name: "M", Logo: []byte("GIF89a")}, "a large picture": {Name: "M", Logo: append(png, make([]byte, 256<<10)...)},
	} {
		if _, err := b.CreateMerchant(t.Context(), p); api.CodeOf(err) == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	_, err = b.UpdateMerchant(t.Context(), m.ID, account.MerchantParams{})
	wantCode(t, "update without a name", err, api.ParameterMissing)
	_, err = b.UpdateMerchant(t.Context(), "mer_1", account.MerchantParams{Name: "M"})
	wantCode(t, "update of nobody", err, api.ResourceMissing)
}

func TestHolders(t *testing.T) {
	b := newBench(t, nil)
	ama := b.consumer(t, "0241000001")
	_, err := b.CreateConsumer(t.Context(), account.HolderParams{Name: "B", Phone: "+233 24 100 0001"})
	wantCode(t, "a phone twice", err, api.ParameterInvalid)
	agent, err := b.CreateAgent(t.Context(), account.HolderParams{Name: "Kojo", Phone: "0241000001", SubAgent: true})
	if err != nil || !agent.SubAgent {
		t.Errorf("an agent with a consumer's phone: %+v, %v", agent, err)
	}
	if _, err := b.CreateConsumer(t.Context(), account.HolderParams{Name: "L", Phone: "0241000001", Live: true}); err != nil {
		t.Errorf("the phone in the other mode: %v", err)
	}
	merchant, err := b.Merchant(t.Context(), b.merchant(t))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{ama.ServiceID: true, agent.ServiceID: true, merchant.ServiceID: true}
	if len(seen) != 3 {
		t.Errorf("service ids are not unique: %v", seen)
	}

	// A closed account gives its number free, and stays closed.
	if _, err := b.SetConsumerStatus(t.Context(), false, ama.ID, account.Closed); err != nil {
		t.Fatal(err)
	}
	again := b.consumer(t, "0241000001")
	_, err = b.SetConsumerStatus(t.Context(), false, ama.ID, account.Active)
	wantCode(t, "opening a closed account", err, api.ParameterInvalid)
	_, err = b.SetConsumerStatus(t.Context(), false, "acc_1", account.Frozen)
	wantCode(t, "nobody", err, api.ResourceMissing)
	_, err = b.SetAgentStatus(t.Context(), false, agent.ID, "gone")
	wantCode(t, "an unknown status", err, api.ParameterInvalid)
	if a, err := b.SetAgentStatus(t.Context(), false, agent.ID, account.Frozen); err != nil || a.Status != account.Frozen {
		t.Errorf("agent %+v, %v", a, err)
	}

	view := func(live bool, ref account.WalletRef) (c *account.Consumer, err error) {
		err = b.engine.Store.View(t.Context(), func(tx storage.ReadTx) error {
			c, err = account.PayerTx(tx, live, ref)
			return err
		})
		return c, err
	}
	for name, ref := range map[string]account.WalletRef{
		"phone": {Phone: "024-100-0001"}, "account": {AccountID: again.ID}, "service id": {ServiceID: again.ServiceID},
		"service id before all others": {ServiceID: again.ServiceID, AccountID: "acc_1", Phone: "1"},
	} {
		if c, err := view(false, ref); err != nil || c.ID != again.ID {
			t.Errorf("%s: found %v, %v", name, c, err)
		}
	}
	for name, ref := range map[string]account.WalletRef{
		"closed": {AccountID: ama.ID}, "unknown": {Phone: "0249999999"}, "an agent's service id": {ServiceID: agent.ServiceID}, "no service id": {ServiceID: "SVC1"},
	} {
		_, err := view(false, ref)
		wantCode(t, name, err, api.AccountNotFound)
	}
	_, err = view(false, account.WalletRef{Phone: "12"})
	wantCode(t, "no phone", err, api.InvalidPhoneNumber)
	for name, p := range map[string]account.HolderParams{
		"no name": {Phone: "0241000009"}, "no phone": {Name: "N"}, "a status": {Name: "N", Phone: "0241000009", Status: "odd"},
		"a PIN of letters": {Name: "N", Phone: "0241000009", PIN: "12a4"}, "a short PIN": {Name: "N", Phone: "0241000009", PIN: "123"},
		"a PIN of full-width digits": {Name: "N", Phone: "0241000009", PIN: "１２"},
	} {
		if _, err := b.CreateConsumer(t.Context(), p); api.CodeOf(err) == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestKeysOfMerchants(t *testing.T) {
	b := newBench(t, nil)
	caller := api.Caller{Merchant: b.merchant(t), Live: true}
	key, err := b.CreateKey(t.Context(), caller, account.KeyParams{Name: "server", Resources: []string{"payments"}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(key.Secret, "sk_live_") || !strings.HasPrefix(key.Secret, key.Hint[:12]) {
		t.Errorf("key %+v", key)
	}
	access, err := b.Authenticate(t.Context(), key.Secret)
	if err != nil || access.Merchant != caller.Merchant || !access.Live {
		t.Errorf("access %+v, %v", access, err)
	}
	if access.Allows("qr_codes", false) || !access.Allows("payments", true) {
		t.Error("the key's resources do not hold")
	}
	flipped := []byte(key.Secret)
	flipped[20] ^= 1
	for _, bad := range []string{"", "sk_live_", string(flipped), strings.ToUpper(key.Secret), key.Secret + "a", "pk" + key.Secret[2:]} {
		_, err := b.Authenticate(t.Context(), bad)
		wantCode(t, "key "+bad, err, api.APIKeyInvalid)
	}

	used := func() *api.Time {
		list, err := b.Keys(t.Context(), caller, api.Page{})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range list.Data {
			if k.Secret != "" {
				t.Error("a list shows a secret")
			}
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

	rolled, err := b.RollKey(t.Context(), caller, key.ID, time.Hour)
	if err != nil || rolled.Secret == key.Secret {
		t.Fatalf("rolled to %+v, %v", rolled, err)
	}
	mustAuthenticate(t, b, rolled.Secret)
	mustAuthenticate(t, b, key.Secret)
	b.advance(time.Hour)
	mustAuthenticate(t, b, rolled.Secret)
	_, err = b.Authenticate(t.Context(), key.Secret)
	wantCode(t, "the old one after the overlap", err, api.APIKeyInvalid)

	for range 2 {
		if err := b.RevokeKey(t.Context(), caller, rolled.ID); err != nil {
			t.Errorf("revoke: %v", err)
		}
	}
	_, err = b.Authenticate(t.Context(), rolled.Secret)
	wantCode(t, "a revoked key", err, api.APIKeyInvalid)

	other := api.Caller{Merchant: caller.Merchant} // the other mode
	wantCode(t, "revoke from the other mode", b.RevokeKey(t.Context(), other, key.ID), api.ResourceMissing)
	_, err = b.RollKey(t.Context(), caller, key.ID, -1)
	wantCode(t, "a negative overlap", err, api.ParameterInvalid)
	_, err = b.CreateKey(t.Context(), api.Caller{Merchant: "mer_1"}, account.KeyParams{})
	wantCode(t, "a key for nobody", err, api.ResourceMissing)
}

// A key that is well formed, checksum and all, and that this service has never made.
func TestAKeyOfElsewhere(t *testing.T) {
	here, there := newBench(t, nil), newBench(t, nil)
	for _, live := range []bool{false, true} {
		key, err := there.CreateKey(t.Context(), api.Caller{Merchant: there.merchant(t), Live: live}, account.KeyParams{})
		wantCode(t, "create", err, "")
		mustAuthenticate(t, there, key.Secret)
		_, err = here.Authenticate(t.Context(), key.Secret)
		wantCode(t, "elsewhere", err, api.APIKeyInvalid)
	}
}

func mustAuthenticate(t *testing.T, b *bench, secret string) {
	t.Helper()
	if _, err := b.Authenticate(t.Context(), secret); err != nil {
		t.Error(err)
	}
}

// enter tries a PIN with an effect that confirms it and then returns effect.
func enter(ctx context.Context, b *bench, id, pin string, effect error) error {
	return b.WithPIN(ctx, api.Caller{}, account.PINEntry{Account: id, PIN: pin}, func(p *account.Proof) error {
		return b.engine.Update(ctx, api.Caller{}, func(tx *engine.Tx) error {
			if err := b.ConfirmTx(tx, p); err != nil {
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

	for range 3 { // more right ones in a row than there are tries
		for range 3 {
			if err := try("1234", refused); !errors.Is(err, refused) {
				t.Errorf("a refused effect: %v", err)
			}
		}
		for range 4 {
			wantCode(t, "a wrong one", try("0000", nil), api.PINInvalid)
		}
		wantCode(t, "a right one", try("1234", nil), "")
	}
	for range 5 {
		wantCode(t, "a wrong one", try("0000", nil), api.PINInvalid)
	}
	err := try("1234", nil)
	wantCode(t, "a right one when locked", err, api.PINLocked)
	var e *api.Error
	if errors.As(err, &e); e.RetryAfter != 15*time.Minute {
		t.Errorf("retry after %s", e.RetryAfter)
	}
	b.advance(15*time.Minute - time.Millisecond)
	wantCode(t, "a moment too early", try("1234", nil), api.PINLocked)
	b.advance(time.Millisecond)
	wantCode(t, "a wrong one after the lock", try("0000", nil), api.PINInvalid)
	wantCode(t, "a right one after the lock", try("1234", nil), "")

	// A PIN that changes while the effect is prepared is no longer proof.
	err = b.WithPIN(t.Context(), api.Caller{}, account.PINEntry{Account: id, PIN: "1234"}, func(p *account.Proof) error {
		if err := b.SetPIN(t.Context(), false, id, "654321"); err != nil {
			t.Fatal(err)
		}
		return b.engine.Update(t.Context(), api.Caller{}, func(tx *engine.Tx) error { return b.ConfirmTx(tx, p) })
	})
	wantCode(t, "a changed PIN", err, api.PINInvalid)
	wantCode(t, "the old PIN", try("1234", nil), api.PINInvalid)
	wantCode(t, "the new PIN", try("654321", nil), "")

	none, err := b.CreateConsumer(t.Context(), account.HolderParams{Name: "N", Phone: "0241000002"})
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "an account without PIN", enter(t.Context(), b, none.ID, "1234", nil), api.PINInvalid)
}

// However many guess at once, five are compared.
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
	if compared.Load() != 5 || lockedOut.Load() != 195 {
		t.Errorf("%d were compared, %d locked out", compared.Load(), lockedOut.Load())
	}
}

// Right entries do not lock each other out by being many.
func TestRightPINsAtOnce(t *testing.T) {
	b := newBench(t, nil)
	id := b.consumer(t, "0241000001").ID
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { wantCode(t, "a right one", enter(t.Context(), b, id, "1234", nil), "") })
	}
	all.Wait()
}

func TestDepositsAndStatement(t *testing.T) {
	b := newBench(t, nil)
	merchant := b.merchant(t)
	caller := api.Caller{Merchant: merchant}
	for n := range 7 {
		err := b.Deposit(t.Context(), account.Deposit{To: merchant, Amount: decimal.New(int64(n+1), -2), Source: "bank", Ref: fmt.Sprint("r", n)})
		if err != nil {
			t.Fatal(err)
		}
	}
	balance, err := b.Balance(t.Context(), caller)
	if err != nil || balance.Available.String() != "0.28" || balance.Reserved.String() != "0" {
		t.Errorf("balance %+v, %v", balance, err)
	}
	read := func(p api.Page) (refs []string, first, last string, more bool) {
		list, err := b.Entries(t.Context(), caller, account.EntryListParams{Page: p})
		if err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
		for _, e := range list.Data {
			refs = append(refs, e.Source)
		}
		if n := len(list.Data); n > 0 {
			first, last = list.Data[0].ID, list.Data[n-1].ID
		}
		return refs, first, last, list.HasMore
	}
	all, newest, oldest, more := read(api.Page{})
	if diff := cmp.Diff([]string{"r6", "r5", "r4", "r3", "r2", "r1", "r0"}, all); diff != "" || more {
		t.Errorf("all: %v, more %t", all, more)
	}
	refs, _, last, more := read(api.Page{Limit: 3})
	if fmt.Sprint(refs) != "[r6 r5 r4]" || !more {
		t.Errorf("first page: %v, %t", refs, more)
	}
	refs, _, last, more = read(api.Page{Limit: 3, StartingAfter: last})
	if fmt.Sprint(refs) != "[r3 r2 r1]" || !more {
		t.Errorf("second page: %v, %t", refs, more)
	}
	if refs, _, _, more = read(api.Page{Limit: 3, StartingAfter: last}); fmt.Sprint(refs) != "[r0]" || more {
		t.Errorf("last page: %v, %t", refs, more)
	}
	if refs, _, _, more = read(api.Page{StartingAfter: oldest}); len(refs) != 0 || more {
		t.Errorf("after the oldest: %v, %t", refs, more)
	}
	if refs, _, _, more = read(api.Page{EndingBefore: newest}); len(refs) != 0 || more {
		t.Errorf("before the newest: %v, %t", refs, more)
	}
	if refs, _, _, more = read(api.Page{Limit: 2, EndingBefore: oldest}); fmt.Sprint(refs) != "[r2 r1]" || !more {
		t.Errorf("before the oldest: %v, %t", refs, more)
	}
	_, err = b.Entries(t.Context(), api.Caller{Merchant: "mer_1"}, account.EntryListParams{Page: api.Page{StartingAfter: newest}})
	wantCode(t, "another's cursor", err, api.ResourceMissing)

	for name, d := range map[string]account.Deposit{
		"nothing": {To: merchant, Source: "bank"}, "a half pesewa": {To: merchant, Source: "bank", Amount: decimal.New(5, -3)},
		"no source": {To: merchant, Amount: decimal.New(1, 0)}, "a source with a slash": {To: merchant, Amount: decimal.New(1, 0), Source: "a/b"},
		"nobody": {To: "mer_1", Amount: decimal.New(1, 0), Source: "bank"}, "no account": {To: "x", Amount: decimal.New(1, 0), Source: "bank"},
		"another noun": {To: "qr_123", Amount: decimal.New(1, 0), Source: "bank"}, "too much": {To: merchant, Amount: decimal.New(1, 6), Source: "bank"},
	} {
		if err := b.Deposit(t.Context(), d); api.CodeOf(err) == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Rolling a key that has ended gives nobody a new one: it was revoked for a reason.
func TestARevokedKeyIsNotRolled(t *testing.T) {
	b := newBench(t, nil)
	caller := api.Caller{Merchant: b.merchant(t)}
	key, err := b.CreateKey(t.Context(), caller, account.KeyParams{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.RevokeKey(t.Context(), caller, key.ID); err != nil {
		t.Fatal(err)
	}
	_, err = b.RollKey(t.Context(), caller, key.ID, time.Hour)
	wantCode(t, "a revoked key", err, api.ParameterInvalid)
	list, err := b.Keys(t.Context(), caller, api.Page{})
	if err != nil || len(list.Data) != 1 {
		t.Errorf("%d keys, %v", len(list.Data), err)
	}
}

// The key of an operator's deposit is none of the merchant's, who may have used it
// for anything.
func TestKeysOfDeposits(t *testing.T) {
	b := newBench(t, nil)
	merchant := b.merchant(t)
	caller := api.Caller{Merchant: merchant, IdempotencyKey: "ref-1"}
	if _, err := b.CreateCustomer(t.Context(), caller, account.CustomerParams{Name: "Ama"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err := b.Deposit(t.Context(), account.Deposit{To: merchant, Amount: decimal.NewFromInt(1), Source: "bank", IdempotencyKey: "ref-1"})
		if err != nil {
			t.Fatal(err)
		}
	}
	balance, err := b.Balance(t.Context(), caller)
	if err != nil || balance.Available.String() != "1" {
		t.Errorf("balance %+v, %v", balance, err)
	}
	caller.IdempotencyKey = "ref-2"
	if err := b.Deposit(t.Context(), account.Deposit{To: merchant, Amount: decimal.NewFromInt(1), Source: "bank", IdempotencyKey: "ref-2"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.CreateCustomer(t.Context(), caller, account.CustomerParams{Name: "Kofi"}); err != nil {
		t.Errorf("the merchant's own key: %v", err)
	}
}

// A key is one account, whoever asks at the same time; the PIN is no part of it.
func TestKeysOfHolders(t *testing.T) {
	b := newBench(t, nil)
	ama := account.HolderParams{Name: "Ama", Phone: "0241234567", PIN: "1234", IdempotencyKey: "k"}
	made := make([]*account.Consumer, 6)
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() {
			p := ama
			if i%2 == 1 {
				p.Phone, p.PIN = "+233 24 123 4567", "4321"
			}
			c, err := b.CreateConsumer(t.Context(), p)
			if err != nil {
				t.Error(err)
			}
			made[i] = c
		})
	}
	all.Wait()
	for _, c := range made[1:] {
		if diff := cmp.Diff(made[0], c); diff != "" {
			t.Errorf("two accounts (-first +other):\n%s", diff)
		}
	}
	kofi := ama
	kofi.Name = "Kofi"
	_, err := b.CreateConsumer(t.Context(), kofi)
	wantCode(t, "the key for another", err, api.IdempotencyKeyReused)
	_, err = b.CreateAgent(t.Context(), ama)
	wantCode(t, "the key for an agent", err, api.IdempotencyKeyReused)
	ama.IdempotencyKey = "another"
	_, err = b.CreateConsumer(t.Context(), ama)
	wantCode(t, "the phone under another key", err, api.ParameterInvalid)
}

func TestCustomers(t *testing.T) {
	b := newBench(t, nil)
	caller := api.Caller{Merchant: b.merchant(t), IdempotencyKey: "c-1"}
	c, err := b.CreateCustomer(t.Context(), caller, account.CustomerParams{Name: "Akua", Phone: "0241234567"})
	if err != nil || c.Phone != "+233241234567" {
		t.Fatalf("%+v, %v", c, err)
	}
	again, err := b.CreateCustomer(t.Context(), caller, account.CustomerParams{Name: "Akua", Phone: "024 123 4567"})
	if err != nil || again.ID != c.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	_, err = b.CreateCustomer(t.Context(), caller, account.CustomerParams{Name: "Esi"})
	wantCode(t, "the key for another", err, api.IdempotencyKeyReused)
	got, err := b.Customer(t.Context(), caller, c.ID)
	if diff := cmp.Diff(c, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	_, err = b.Customer(t.Context(), api.Caller{Merchant: caller.Merchant, Live: true}, c.ID)
	wantCode(t, "the other mode", err, api.ResourceMissing)
}
