package account_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/notify/messaging"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/storage"
)

// entered checks a PIN as a caller, and confirms a right one.
func entered(t *testing.T, s *party.Service, e *engine.Engine, caller api.Caller, entry party.PINEntry) error {
	t.Helper()
	return s.WithPIN(t.Context(), caller, entry, func(p *party.Proof) error {
		return e.Update(t.Context(), caller, func(tx *engine.Tx) error { return s.Confirm(tx, p) })
	})
}

// storedPINs returns the PIN records of the store, newest first.
func storedPINs(t *testing.T, b *bench) []string {
	t.Helper()
	var found []string
	must.Do(t, b.engine.Store.View(t.Context(), func(tx storage.ReadTx) error {
		found = nil
		i := slices.IndexFunc(party.Kinds(), func(k *storage.Kind) bool { return k.Name == "pins" })
		page, err := tx.List(party.Kinds()[i], storage.Query{Limit: 100})
		for _, r := range page {
			found = append(found, r.ID+" "+string(r.Data))
		}
		return err
	}))
	return found
}

// A PIN that was hashed without a key, or under another key, stays valid. The next entry hashes
// it under the present key.
func TestPINsOutliveTheirKey(t *testing.T) {
	b := newBench(t, nil)
	id := b.consumer(t, "0241000001").ID
	keys := [][]byte{bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)}
	entry := party.PINEntry{Account: id, PIN: "1234"}
	wrong := party.PINEntry{Account: id, PIN: "4321"}

	first, second := b.withKeys(keys[0]), b.withKeys(keys[1], keys[0])
	before := storedPINs(t, b)[0]
	testkit.WantCode(t, "a wrong one", entered(t, first, b.engine, api.Caller{}, wrong), api.PINInvalid)
	if got := storedPINs(t, b)[0]; strings.Contains(got, "keyid") {
		t.Errorf("a wrong entry has changed the hash: %s", got)
	}
	testkit.WantCode(t, "from before the key", entered(t, first, b.engine, api.Caller{}, entry), "")
	under := storedPINs(t, b)[0]
	expect.True(t, strings.Contains(under, ",keyid="), "the hash is not under the key: %s", under)
	expect.True(t, under != before, "the hash is not under the key: %s", under)
	testkit.WantCode(t, "again", entered(t, first, b.engine, api.Caller{}, entry), "")
	expect.Equal(t, storedPINs(t, b)[0], under, "the hash was changed for nothing")
	testkit.WantCode(t, "after a rotation", entered(t, second, b.engine, api.Caller{}, entry), "")
	testkit.WantCode(t, "a wrong one after a rotation", entered(t, second, b.engine, api.Caller{}, wrong), api.PINInvalid)
	testkit.WantCode(t, "without the old key", entered(t, b.withKeys(keys[1]), b.engine, api.Caller{}, entry), "")

	// An unknown key is the operator's mistake. The service counts no entry, and the error names
	// the key.
	for range 7 {
		err := entered(t, first, b.engine, api.Caller{}, entry)
		expect.Equal(t, api.CodeOf(err), "", "under an unknown key: code")
		must.True(t, err != nil, "under an unknown key: no error")
		expect.True(t, strings.Contains(err.Error(), "FallbackKeys"), "under an unknown key: %v", err)
	}
	testkit.WantCode(t, "the right key again", entered(t, second, b.engine, api.Caller{}, entry), "")
}

// Two processes that rehash one PIN at the same time do not refuse each other.
func TestTwoProcessesRehashOnePIN(t *testing.T) {
	b := newBench(t, nil)
	id := b.consumer(t, "0241000001").ID
	here, there := b.withKeys(make([]byte, 32)), b.withKeys(make([]byte, 32))
	entry := party.PINEntry{Account: id, PIN: "1234"}
	err := here.WithPIN(t.Context(), api.Caller{}, entry, func(p *party.Proof) error {
		testkit.WantCode(t, "there", entered(t, there, b.engine, api.Caller{}, entry), "")
		return b.engine.Update(t.Context(), api.Caller{}, func(tx *engine.Tx) error { return here.Confirm(tx, p) })
	})
	testkit.WantCode(t, "here", err, "")
}

// Each lock lasts longer, and only the operator ends the last one. The holder gets a message
// about each.
func TestLocksGrow(t *testing.T) {
	b := newBench(t, nil)
	must.Do(t, b.engine.Store.Define(t.Context(), messaging.Kinds()...))
	messages := messaging.New(b.engine, messaging.Config{})
	s := party.New(b.engine, party.Config{Messages: messages})
	id := b.consumer(t, "0241000001").ID
	caller := api.Caller{Merchant: b.merchant(t)}
	try := func(pin string) error {
		return entered(t, s, b.engine, caller, party.PINEntry{Account: id, PIN: pin})
	}
	lock := func() {
		t.Helper()
		for range 5 {
			testkit.WantCode(t, "a wrong one", try("0000"), api.PINInvalid)
		}
	}
	told := func() []string {
		t.Helper()
		list := must.Get(messages.List(t.Context(), caller, message.ListParams{To: "0241000001"}))(t)
		var texts []string
		for _, m := range list.Data {
			texts = append(texts, m.Text)
		}
		return texts
	}
	for n, step := range []struct {
		locked time.Duration
		text   string
	}{
		{15 * time.Minute, "for 15 minutes"}, {time.Hour, "for an hour"}, {6 * time.Hour, "for 6 hours"}, {24 * time.Hour, "for 24 hours"},
	} {
		lock()
		if got := told(); len(got) != n+1 || !strings.Contains(got[0], step.text) || !strings.Contains(got[0], "customer care") {
			t.Errorf("after lock %d the holder was told %q", n+1, got)
		}
		b.advance(step.locked - time.Millisecond)
		err := try("1234")
		testkit.WantCode(t, "a moment too early", err, api.PINLocked)
		e := (*api.Error)(nil)
		must.True(t, errors.As(err, &e), "lock %d: %v", n+1, err)
		expect.Equal(t, e.RetryAfter, time.Millisecond, "lock %d: retry after", n+1)
		b.advance(time.Millisecond)
	}
	lock()
	if got := told(); len(got) != 5 || !strings.Contains(got[0], "until customer care unlocks it") {
		t.Errorf("after the last lock the holder was told %q", got)
	}
	b.advance(10 * 365 * 24 * time.Hour)
	testkit.WantCode(t, "ten years later", try("1234"), api.PINLocked)
	must.Do(t, s.UnlockPIN(t.Context(), api.Caller{}, id))
	testkit.WantCode(t, "unlocked", try("1234"), "")
	// A right entry has the locks begin anew.
	lock()
	b.advance(15 * time.Minute)
	testkit.WantCode(t, "after the first lock", try("1234"), "")
	lock()
	b.advance(15 * time.Minute)
	testkit.WantCode(t, "after the first lock again", try("1234"), "")
	expect.NoError(t, s.UnlockPIN(t.Context(), api.Caller{}, "acc_1"), "no such account")
}

// One address cannot lock a PIN, from any number of pages and over many days: the service locks
// out the address first.
func TestOneAddressCannotLockPIN(t *testing.T) {
	b := newBench(t, nil)
	id := b.consumer(t, "0241000001").ID
	try := func(from, pin string) error {
		return entered(t, b.Service, b.engine, api.Caller{}, party.PINEntry{Account: id, PIN: pin, From: from})
	}
	for day := range 10 {
		for range 4 {
			testkit.WantCode(t, fmt.Sprint("guess on day ", day), try("198.51.100.1", "0000"), api.PINInvalid)
		}
		err := try("198.51.100.1", "1234")
		testkit.WantCode(t, "locked out", err, api.PINLocked)
		e := (*api.Error)(nil)
		must.True(t, errors.As(err, &e), "locked out: %v", err)
		expect.Equal(t, e.RetryAfter, 24*time.Hour, "locked out: retry after")
		b.advance(24*time.Hour - time.Millisecond)
		testkit.WantCode(t, "a moment too early", try("198.51.100.1", "1234"), api.PINLocked)
		b.advance(time.Millisecond)
	}
	for range 4 {
		testkit.WantCode(t, "a guess", try("198.51.100.1", "0000"), api.PINInvalid)
	}
	testkit.WantCode(t, "the holder", try("203.0.113.7", "1234"), "")

	// Many addresses together lock the PIN. A locked-out address stays locked out after that
	// lock.
	for range 4 {
		testkit.WantCode(t, "a guess", try("198.51.100.1", "0000"), api.PINInvalid)
	}
	testkit.WantCode(t, "a guess from elsewhere", try("198.51.100.2", "0000"), api.PINInvalid)
	testkit.WantCode(t, "the holder", try("203.0.113.7", "1234"), api.PINLocked)
	b.advance(15 * time.Minute)
	testkit.WantCode(t, "the stranger after the lock", try("198.51.100.1", "0000"), api.PINLocked)
	got := storedPINs(t, b)[0]
	expect.True(t, !strings.Contains(got, "198.51"), "an address is stored: %s", got)
	testkit.WantCode(t, "the holder after the lock", try("203.0.113.7", "1234"), "")
}

// A merchant whose test clock runs ahead locks a PIN for no other merchant.
func TestTestClockLocksPINForOneMerchant(t *testing.T) {
	b := newBench(t, nil)
	b.engine.Sandbox = true
	id := b.consumer(t, "0241000001").ID
	ahead, other := api.Caller{Merchant: b.merchant(t)}, api.Caller{Merchant: b.merchant(t)}
	must.Get(b.engine.MoveClock(t.Context(), ahead, engine.Operation{Name: "clock.move"}, func(now time.Time) (time.Time, error) {
		return now.AddDate(10, 0, 0), nil
	}))(t)
	for range 5 {
		testkit.WantCode(t, "ahead", entered(t, b.Service, b.engine, ahead, party.PINEntry{Account: id, PIN: "0000"}), api.PINInvalid)
	}
	testkit.WantCode(t, "ahead", entered(t, b.Service, b.engine, ahead, party.PINEntry{Account: id, PIN: "1234"}), api.PINLocked)
	testkit.WantCode(t, "the other", entered(t, b.Service, b.engine, other, party.PINEntry{Account: id, PIN: "1234"}), "")
}

// In live mode all merchants count together.
func TestLivePINsAreLockedForAll(t *testing.T) {
	b := newBench(t, nil)
	c := must.Get(b.CreateConsumer(t.Context(), api.Caller{Live: true}, account.CreateHolderParams{Name: "Ama Mensah", Phone: "0241000001", PIN: "4826"}))(t)
	for range 3 { // a right entry resets the count
		caller := api.Caller{Merchant: b.merchant(t), Live: true}
		for range 4 {
			testkit.WantCode(t, "a wrong one", entered(t, b.Service, b.engine, caller, party.PINEntry{Account: c.ID, PIN: "0000"}), api.PINInvalid)
		}
		testkit.WantCode(t, "a right one", entered(t, b.Service, b.engine, caller, party.PINEntry{Account: c.ID, PIN: "4826"}), "")
	}
	for range 5 {
		caller := api.Caller{Merchant: b.merchant(t), Live: true}
		testkit.WantCode(t, "a wrong one", entered(t, b.Service, b.engine, caller, party.PINEntry{Account: c.ID, PIN: "0000"}), api.PINInvalid)
	}
	caller := api.Caller{Merchant: b.merchant(t), Live: true}
	testkit.WantCode(t, "locked", entered(t, b.Service, b.engine, caller, party.PINEntry{Account: c.ID, PIN: "4826"}), api.PINLocked)
}

func TestLiveModeRefusesEasyPINs(t *testing.T) {
	b := newBench(t, nil)
	ama, live := b.consumer(t, "0241000002").ID, must.Get(b.CreateConsumer(t.Context(), api.Caller{Live: true}, account.CreateHolderParams{Name: "Esi", Phone: "0241000003"}))(t).ID
	for pin, easy := range map[string]bool{
		"0000": true, "777777": true, "1234": true, "123456": true, "4321": true, "7890": true, "0987": true, "98765": true,
		"1235": false, "1357": false, "2468": false, "1122": false, "1212": false, "4826": false, "12346": false,
	} {
		want := api.Code("")
		if easy {
			want = api.ParameterInvalid
		}
		testkit.WantCode(t, "live "+pin, b.SetPIN(t.Context(), api.Caller{Live: true}, live, account.SetPINParams{PIN: pin}), want)
		testkit.WantCode(t, "test "+pin, b.SetPIN(t.Context(), api.Caller{}, ama, account.SetPINParams{PIN: pin}), "")
	}
	_, err := b.CreateConsumer(t.Context(), api.Caller{Live: true}, account.CreateHolderParams{Name: "Ama", Phone: "0241000001", PIN: "1234"})
	testkit.WantCode(t, "a new consumer", err, api.ParameterInvalid)
}

// A number without a wallet gets the same answer as a wrong PIN, after the same work: one write
// and one hash.
func TestUnknownWalletAnswersAsWrongPIN(t *testing.T) {
	var writes int
	b := newBench(t, func(s storage.Store) storage.Store { return &writeCounter{s, &writes} })
	id := b.consumer(t, "0241000001").ID
	none := must.Get(b.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "N", Phone: "0241000002"}))(t)
	answer := func(ref account.WalletRef) string {
		t.Helper()
		var payer string
		err := b.engine.Store.View(t.Context(), func(tx storage.ReadTx) error {
			var err error
			payer, err = b.PayingAccount(tx, false, ref)
			return err
		})
		if err != nil {
			return err.Error()
		}
		writes = 0
		err = entered(t, b.Service, b.engine, api.Caller{}, party.PINEntry{Account: payer, PIN: "0000", From: "198.51.100.1"})
		return fmt.Sprint(err, writes)
	}
	want := answer(account.WalletRef{Phone: "0241000001"})
	must.True(t, strings.HasPrefix(want, "pin_invalid") && strings.HasSuffix(want, "1"), "a wrong PIN: %s", want)
	for name, ref := range map[string]account.WalletRef{
		"no such number":     {Phone: "0249999999"},
		"no such service id": {ServiceID: "SVC999"},
		"no service id":      {ServiceID: "999"},
		"no PIN":             {Phone: "0241000002"},
		"no PIN, by id":      {AccountID: none.ID},
		"by id":              {AccountID: id},
	} {
		for range 2 { // the first call may create a record
			expect.Equal(t, answer(ref), want, "%s", name)
		}
	}
	if got := answer(account.WalletRef{AccountID: "acc_1"}); !strings.HasPrefix(got, "account_not_found") {
		t.Errorf("no such account: %s", got)
	}
	if got := answer(account.WalletRef{Phone: "12"}); !strings.HasPrefix(got, "invalid_phone_number") {
		t.Errorf("no number: %s", got)
	}
}

// Wrong entries lock a wallet that does not exist, and one without PIN, as they lock another,
// in either mode and after each lock's end. So no entry tells which wallets exist.
func TestUnknownWalletIsLockedLikeAnother(t *testing.T) {
	for _, caller := range []api.Caller{{}, {Live: true}, {Merchant: "mer_1"}} {
		b := newBench(t, nil)
		operator := api.Caller{Live: caller.Live}
		for _, phone := range []string{"0241000001", "0241000002"} {
			must.Get(b.CreateConsumer(t.Context(), operator, account.CreateHolderParams{Name: "Ama", Phone: phone}))(t)
		}
		payers := map[string]string{}
		must.Do(t, b.engine.Store.View(t.Context(), func(tx storage.ReadTx) error {
			for name, phone := range map[string]string{"a PIN": "0241000001", "no PIN": "0241000002", "no wallet": "0249999999"} {
				payer, err := b.PayingAccount(tx, caller.Live, account.WalletRef{Phone: phone})
				if err != nil {
					return err
				}
				payers[name] = payer
			}
			return nil
		}))
		must.Do(t, b.SetPIN(t.Context(), operator, payers["a PIN"], account.SetPINParams{PIN: "4711"}))
		locks := 0
		for entry := range 24 {
			from := fmt.Sprintf("198.51.100.%d", entry%3)
			answers := map[string]string{}
			for name, payer := range payers {
				err := entered(t, b.Service, b.engine, caller, party.PINEntry{Account: payer, PIN: "0000", From: from})
				var refusal *api.Error
				must.True(t, errors.As(err, &refusal), "%s: %v", name, err)
				answers[name] = fmt.Sprint(refusal, refusal.RetryAfter)
			}
			for name, got := range answers {
				want := answers["a PIN"]
				expect.True(t, got == want, "%+v, entry %d, %s: got %s, want %s", caller, entry, name, got, want)
			}
			if strings.HasPrefix(answers["no wallet"], "pin_locked") {
				locks++
				b.advance(20 * time.Minute)
			}
		}
		expect.True(t, locks >= 4, "%+v: the test saw %d refusals of a locked PIN", caller, locks)
	}
}

// The tries at wallets that do not exist take bounded space.
func TestTriesAtUnknownWalletsAreBounded(t *testing.T) {
	b := newBench(t, nil)
	largest := 0
	for n := range 400 {
		payer := fmt.Sprintf("decoy_07_%d", n)
		if err := entered(t, b.Service, b.engine, api.Caller{Live: true}, party.PINEntry{Account: payer, PIN: "0000"}); api.CodeOf(err) != api.PINInvalid {
			t.Fatal(err)
		}
		must.Do(t, b.engine.Store.View(t.Context(), func(tx storage.ReadTx) error {
			for _, k := range party.Kinds() {
				if k.Name == "pins" {
					r, err := tx.Get(k, storage.Scope{Live: true}, "decoy_07")
					largest = max(largest, len(r.Data))
					return err
				}
			}
			return errors.New("there is no kind pins")
		}))
	}
	expect.True(t, largest != 0, "the record of 400 wallets is empty")
	expect.True(t, largest <= 8<<10, "the record of 400 wallets has up to %d bytes", largest)
}

// Entries for two missing wallets block each other no more than entries for two real ones.
// The number of records stays bounded, and strangers cannot compute their ids.
func TestUnknownWalletsDoNotBlockEachOther(t *testing.T) {
	b := newBench(t, nil)
	other := b.withKeys(bytes.Repeat([]byte{2}, 32))
	payer := func(s *party.Service, live bool, ref account.WalletRef) (name string) {
		t.Helper()
		must.Do(t, b.engine.Store.View(t.Context(), func(tx storage.ReadTx) error {
			var err error
			name, err = s.PayingAccount(tx, live, ref)
			return err
		}))
		return name
	}
	const many = 1000
	payers, records, same := map[string]bool{}, map[string]bool{}, 0
	for n := range many {
		ref := account.WalletRef{Phone: fmt.Sprintf("02499%05d", n)}
		name := payer(b.Service, false, ref)
		payers[name], records[b.PINRecord(name)] = true, true
		if b.PINRecord(name) == b.PINRecord(payer(other, false, ref)) {
			same++
		}
	}
	expect.True(t, len(payers) == many, "%d numbers wait as %d", many, len(payers))
	expect.True(t, len(records) <= 64 && len(records) >= 32, "%d records would be kept of wallets that do not exist", len(records))
	expect.True(t, same <= many/10, "%d of %d numbers have the same record under another key", same, many)
	first := payer(b.Service, false, account.WalletRef{Phone: "0249900000"})
	expect.Equal(t, payer(b.Service, false, account.WalletRef{Phone: "+233 24 990 0000"}), first, "a number in another form")
	if live := payer(b.Service, true, account.WalletRef{Phone: "0249900000"}); live == first {
		t.Error("live and test mode wait for each other")
	}
	id := b.consumer(t, "0241000001").ID
	expect.True(t, b.PINRecord(id) == id, "the PIN of a wallet is kept as %s", b.PINRecord(id))
}

// A payer may go away between the count of a try and its comparison, as one whose connection breaks while
// the server is busy. A right PIN costs no try then either, and a wrong one does.
func TestTryOfPayerWhoGoesAway(t *testing.T) {
	var leave func()
	b := newBench(t, func(s storage.Store) storage.Store { return &leaving{s, &leave} })
	id := b.consumer(t, "0241000001").ID
	before := storedPINs(t, b)[0]
	try := func(pin string) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		leave = cancel
		defer func() { leave = nil }()
		return b.WithPIN(ctx, api.Caller{}, party.PINEntry{Account: id, PIN: pin}, func(p *party.Proof) error {
			return b.engine.Update(ctx, api.Caller{}, func(tx *engine.Tx) error { return b.Confirm(tx, p) })
		})
	}
	for range 30 { // with a free processor, chance decides which is seen first
		expect.ErrorIs(t, try("1234"), context.Canceled, "a right one")
		must.True(t, storedPINs(t, b)[0] == before, "a right PIN leaves %s", storedPINs(t, b)[0])
	}
	for range 5 {
		testkit.WantCode(t, "a wrong one", try("0000"), api.PINInvalid)
	}
	testkit.WantCode(t, "after five wrong ones", entered(t, b.Service, b.engine, api.Caller{}, party.PINEntry{Account: id, PIN: "1234"}), api.PINLocked)
}

// leaving calls then, if it is set, after each commit.
type leaving struct {
	storage.Store
	then *func()
}

func (l *leaving) Update(ctx context.Context, fn func(storage.Tx) error) error {
	err := l.Store.Update(ctx, fn)
	if err == nil && *l.then != nil {
		(*l.then)()
	}
	return err
}

// writeCounter counts writes.
type writeCounter struct {
	storage.Store
	n *int
}

func (c *writeCounter) Update(ctx context.Context, fn func(storage.Tx) error) error {
	return c.Store.Update(ctx, func(tx storage.Tx) error { return fn(&countingTx{tx, c.n}) })
}

type countingTx struct {
	storage.Tx
	n *int
}

func (tx *countingTx) Replace(k *storage.Kind, r storage.Record) error {
	*tx.n++
	return tx.Tx.Replace(k, r)
}
