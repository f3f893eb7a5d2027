package account_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage"
)

// Concurrent calls each get their own service id, without holes.
func TestServiceIDsUnderConcurrency(t *testing.T) {
	b := newBench(t, nil)
	var mu sync.Mutex
	seen := map[string]bool{}
	note := func(id string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil || seen[id] {
			t.Errorf("%s again, or %v", id, err)
		}
		seen[id] = true
	}
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			c, err := b.CreateConsumer(t.Context(), api.Caller{Live: n%2 == 0}, account.CreateHolderParams{Name: "C", Phone: fmt.Sprintf("0240000%03d", n)})
			note(c.ServiceID, err)
			a, err := b.CreateAgent(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "A", Phone: fmt.Sprintf("0240000%03d", n)})
			note(a.ServiceID, err)
			m, err := b.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"})
			note(m.ServiceID, err)
		})
	}
	all.Wait()
	for n := range 60 {
		if id := fmt.Sprintf("SVC%d", 1_000_001+n); !seen[id] {
			t.Errorf("%s is missing", id)
		}
	}
	// A refused account frees its number.
	if _, err := b.CreateAgent(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "A", Phone: "0240000000"}); err == nil {
		t.Error("a phone number was given twice")
	}
	m, err := b.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"})
	if err != nil || m.ServiceID != "SVC1000061" {
		t.Errorf("got %s, %v", m.ServiceID, err)
	}
}

func TestAgents(t *testing.T) {
	b := newBench(t, nil)
	agent, err := b.CreateAgent(t.Context(), api.Caller{Live: true}, account.CreateHolderParams{Name: "Kojo", Phone: "020 111 2222", Status: account.Suspended})
	must.Do(t, err)
	if agent.Status != account.Suspended || agent.Phone != "+233201112222" || !strings.HasPrefix(agent.ID, "cag_") {
		t.Errorf("agent %+v", agent)
	}
	for _, status := range []account.Status{account.Active, account.Frozen, account.Closed, account.Closed} {
		got, err := b.UpdateAgent(t.Context(), api.Caller{Live: true}, agent.ID, account.UpdateHolderParams{Status: new(status)})
		if err != nil || got.Status != status || got.Name != "Kojo" {
			t.Errorf("%s: got %+v, %v", status, got, err)
		}
	}
	_, err = b.UpdateAgent(t.Context(), api.Caller{Live: true}, agent.ID, account.UpdateHolderParams{Status: new(account.Active)})
	wantCode(t, "opening a closed float", err, api.ParameterInvalid)
	_, err = b.UpdateAgent(t.Context(), api.Caller{Live: true}, agent.ID, account.UpdateHolderParams{Status: new(account.Status("odd"))})
	wantCode(t, "no status", err, api.ParameterInvalid)
	_, err = b.UpdateAgent(t.Context(), api.Caller{}, agent.ID, account.UpdateHolderParams{Status: new(account.Active)})
	wantCode(t, "the other mode", err, api.ResourceMissing)
	_, err = b.UpdateConsumer(t.Context(), api.Caller{Live: true}, agent.ID, account.UpdateHolderParams{Status: new(account.Active)})
	wantCode(t, "an agent is no consumer", err, api.ResourceMissing)
	_, err = b.UpdateConsumer(t.Context(), api.Caller{Live: true}, agent.ID, account.UpdateHolderParams{Status: new(account.Status(""))})
	wantCode(t, "no status at all", err, api.ParameterInvalid)
	if _, err := b.CreateAgent(t.Context(), api.Caller{Live: true}, account.CreateHolderParams{Name: "Next", Phone: "0201112222"}); err != nil {
		t.Errorf("the number of a closed float: %v", err)
	}
}

func TestDepositsToHolders(t *testing.T) {
	b := newBench(t, nil)
	consumer := b.consumer(t, "0241000001")
	agent, err := b.CreateAgent(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Kojo", Phone: "0241000001"})
	must.Do(t, err)
	for to, amount := range map[string]string{consumer.ID: "12.34", agent.ID: "999999.99"} {
		err := b.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: to, Amount: decimal.RequireFromString(amount), Source: "bank"})
		if err != nil {
			t.Errorf("%s: %v", to, err)
		}
	}
	if got, err := b.WalletBalance(t.Context(), api.Caller{}, consumer.ID); err != nil || got.String() != "12.34" {
		t.Errorf("wallet %s, %v", got, err)
	}
	if got, err := b.FloatBalance(t.Context(), api.Caller{}, agent.ID); err != nil || got.String() != "999999.99" {
		t.Errorf("float %s, %v", got, err)
	}
	if got, err := b.WalletBalance(t.Context(), api.Caller{Live: true}, consumer.ID); err != nil || !got.IsZero() {
		t.Errorf("the wallet of the other mode has %s, %v", got, err)
	}
	err = b.Deposit(t.Context(), api.Caller{Live: true}, account.DepositParams{To: agent.ID, Amount: decimal.NewFromInt(1), Source: "bank"})
	wantCode(t, "an agent of the other mode", err, api.ResourceMissing)
	for name, d := range map[string]account.DepositParams{
		"a long source":        {To: agent.ID, Source: strings.Repeat("a", 41)},
		"a source in capitals": {To: agent.ID, Source: "Bank"}, "a long reference": {To: agent.ID, Ref: strings.Repeat("r", 101)},
		"less than nothing": {To: agent.ID, Amount: decimal.NewFromInt(-1)},
	} {
		if d.Source == "" {
			d.Source = "bank"
		}
		if d.Amount.IsZero() {
			d.Amount = decimal.NewFromInt(1)
		}
		if err := b.Deposit(t.Context(), api.Caller{}, d); api.CodeOf(err) == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestOnlyUsableWalletsPay(t *testing.T) {
	b := newBench(t, nil)
	c := b.consumer(t, "0241000001")
	for status, want := range map[account.Status]api.Code{
		account.Active: "", account.Frozen: api.WalletNotActive, account.Suspended: api.WalletNotActive,
	} {
		c, err := b.UpdateConsumer(t.Context(), api.Caller{}, c.ID, account.UpdateHolderParams{Status: new(status)})
		must.Do(t, err)
		wantCode(t, string(status), c.Usable(), want)
		// The lookup finds a frozen wallet too: only its holder learns the status.
		err = b.engine.Store.View(t.Context(), func(tx storage.ReadTx) error {
			found, err := b.inside.Payer(tx, false, account.WalletRef{Phone: "0241000001"})
			if err == nil && found.Status != status {
				t.Errorf("%s: found %+v", status, found)
			}
			return err
		})
		wantCode(t, "the search for a wallet that is "+string(status), err, "")
	}
	err := b.engine.Store.View(t.Context(), func(tx storage.ReadTx) error { return b.inside.ConsumerExists(tx, true, c.ID) })
	wantCode(t, "the consumer in the other mode", err, api.AccountNotFound)
}

func TestInvalidPINsAreRefused(t *testing.T) {
	b := newBench(t, nil)
	id := b.consumer(t, "0241000001").ID
	for _, wrong := range []string{"", "123", "1234567", "12 4", "12a4", "١٢"} {
		wantCode(t, "PIN "+wrong, b.SetPIN(t.Context(), api.Caller{}, id, account.SetPINParams{PIN: wrong}), api.ParameterInvalid)
	}
	wantCode(t, "the PIN stays", enter(t.Context(), b, id, "1234", nil), "")
	// A new PIN unlocks.
	for range 5 {
		wantCode(t, "a wrong one", enter(t.Context(), b, id, "0000", nil), api.PINInvalid)
	}
	wantCode(t, "locked", enter(t.Context(), b, id, "1234", nil), api.PINLocked)
	wantCode(t, "a new PIN", b.SetPIN(t.Context(), api.Caller{}, id, account.SetPINParams{PIN: "4321"}), "")
	wantCode(t, "unlocked", enter(t.Context(), b, id, "4321", nil), "")
}

// A counted attempt stays counted when the process dies. Here the caller cancels while the effect
// runs for others, several times.
func TestAttemptSurvivesCancelledCall(t *testing.T) {
	b := newBench(t, nil)
	id := b.consumer(t, "0241000001").ID
	died := errors.New("died")
	for range 5 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the effect did not die")
				}
			}()
			_ = b.inside.WithPIN(t.Context(), api.Caller{}, account.PINEntry{Account: id, PIN: "1234"}, func(*account.Proof) error { panic(died) })
		}()
	}
	wantCode(t, "after five that died", enter(t.Context(), b, id, "1234", nil), api.PINLocked)
	// Each cancelled call also returned its turn, so later calls do not wait.
	b.advance(15 * time.Minute)
	wantCode(t, "after the lock", enter(t.Context(), b, id, "1234", nil), "")
}

// A right PIN is no failed attempt, even when the effect needs no transaction, as in a replay, or
// when the caller cancels during the effect.
func TestRightPINAttemptIsNotCounted(t *testing.T) {
	b := newBench(t, nil)
	id := b.consumer(t, "0241000001").ID
	for range 10 {
		wantCode(t, "no transaction", b.inside.WithPIN(t.Context(), api.Caller{}, account.PINEntry{Account: id, PIN: "1234"}, func(*account.Proof) error { return nil }), "")
	}
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		err := b.inside.WithPIN(ctx, api.Caller{}, account.PINEntry{Account: id, PIN: "1234"}, func(*account.Proof) error {
			cancel()
			return ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := enter(gone, b, id, "1234", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who has gone before: %v", err)
	}
	wantCode(t, "a right one", enter(t.Context(), b, id, "1234", nil), "")
}

// A lock holds when another process sets it during the comparison.
func TestLockByAnotherProcessHolds(t *testing.T) {
	b := newBench(t, nil)
	id := b.consumer(t, "0241000001").ID
	_, elsewhere := account.New(b.engine, account.Config{}) // a second process has turns of its own
	err := b.inside.WithPIN(t.Context(), api.Caller{}, account.PINEntry{Account: id, PIN: "1234"}, func(p *account.Proof) error {
		for range 4 {
			err := elsewhere.WithPIN(t.Context(), api.Caller{}, account.PINEntry{Account: id, PIN: "0000"}, func(*account.Proof) error { return nil })
			wantCode(t, "elsewhere", err, api.PINInvalid)
		}
		return b.engine.Update(t.Context(), api.Caller{}, func(tx *engine.Tx) error { return b.inside.Confirm(tx, p) })
	})
	wantCode(t, "the right one meanwhile", err, api.PINLocked)
	wantCode(t, "the right one afterwards", enter(t.Context(), b, id, "1234", nil), api.PINLocked)
}

func TestRightsOfKeys(t *testing.T) {
	b := newBench(t, nil)
	caller := api.Caller{Merchant: b.merchant(t)}
	for _, test := range []struct {
		name        string
		p           account.CreateKeyParams
		read, write []string // of qr_codes and payments
	}{
		{"everything", account.CreateKeyParams{}, []string{"qr_codes", "payments"}, []string{"qr_codes", "payments"}},
		{"reading", account.CreateKeyParams{ReadOnly: true}, []string{"qr_codes", "payments"}, nil},
		{"codes", account.CreateKeyParams{Resources: []string{"qr_codes"}}, []string{"qr_codes"}, []string{"qr_codes"}},
		{"nothing", account.CreateKeyParams{Resources: []string{}}, nil, nil},
		{"reading codes", account.CreateKeyParams{ReadOnly: true, Resources: []string{"qr_codes"}}, []string{"qr_codes"}, nil},
	} {
		key := must.Get(b.CreateKey(t.Context(), caller, test.p))(t)
		rolled := must.Get(b.RollKey(t.Context(), caller, key.ID, account.RollKeyParams{Overlap: time.Hour}))(t)
		for _, secret := range []string{key.Secret, rolled.Secret} {
			access, err := b.Authenticate(t.Context(), secret)
			if err != nil || access.Merchant != caller.Merchant || access.Live {
				t.Fatalf("%s: %+v, %v", test.name, access, err)
			}
			var read, write []string
			for _, resource := range []string{"qr_codes", "payments"} {
				if access.Allows(resource, false) {
					read = append(read, resource)
				}
				if access.Allows(resource, true) {
					write = append(write, resource)
				}
			}
			if diff := cmp.Diff([][]string{test.read, test.write}, [][]string{read, write}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
		}
	}
	_, err := b.CreateKey(t.Context(), caller, account.CreateKeyParams{Name: "a\x00"})
	wantCode(t, "a name with NUL", err, api.ParameterInvalid)
	for _, unknown := range []string{"", "nothing", "QR_codes", "*", "qr_codes "} {
		_, err = b.CreateKey(t.Context(), caller, account.CreateKeyParams{Resources: []string{"payments", unknown}})
		wantCode(t, "the resource "+unknown, err, api.ParameterInvalid)
	}

	// A second roll never extends the life that the first one set.
	key := must.Get(b.CreateKey(t.Context(), caller, account.CreateKeyParams{}))(t)
	for _, overlap := range []time.Duration{time.Hour, 24 * time.Hour} {
		must.Get(b.RollKey(t.Context(), caller, key.ID, account.RollKeyParams{Overlap: overlap}))(t)
	}
	b.advance(time.Hour)
	_, err = b.Authenticate(t.Context(), key.Secret)
	wantCode(t, "a key that was rolled twice", err, api.APIKeyInvalid)
	_, err = b.RollKey(t.Context(), api.Caller{Merchant: caller.Merchant, Live: true}, key.ID, account.RollKeyParams{Overlap: 0})
	wantCode(t, "rolling a key of the other mode", err, api.ResourceMissing)
}
