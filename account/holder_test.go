package account_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
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
		must.Do(t, err)
		expect.True(t, !seen[id], "%s again, or %v", id, err)
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
	expect.True(t, testkit.Err(b.CreateAgent(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "A", Phone: "0240000000"})) != nil, "a phone number was given twice")
	m, err := b.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"})
	must.Do(t, err)
	expect.Equal(t, m.ServiceID, "SVC1000061", "service ID")
}

func TestAgents(t *testing.T) {
	b := newBench(t, nil)
	agent := must.Get(b.CreateAgent(t.Context(), api.Caller{Live: true}, account.CreateHolderParams{Name: "Kojo", Phone: "020 111 2222", Status: account.Suspended}))(t)
	expect.Equal(t, agent.Status, account.Suspended, "agent: status")
	expect.Equal(t, agent.Phone, "+233201112222", "agent: phone")
	expect.True(t, strings.HasPrefix(agent.ID, "cag_"), "agent %+v", agent)
	for _, status := range []account.Status{account.Active, account.Frozen, account.Closed, account.Closed} {
		got, err := b.UpdateAgent(t.Context(), api.Caller{Live: true}, agent.ID, account.UpdateHolderParams{Status: new(status)})
		must.True(t, err == nil, "%s: got %+v, %v", status, got, err)
		expect.Equal(t, got.Status, status, "%s: status", status)
		expect.Equal(t, got.Name, "Kojo", "%s: name", status)
	}
	testkit.WantCode(t, "opening a closed float", testkit.Err(b.UpdateAgent(t.Context(), api.Caller{Live: true}, agent.ID, account.UpdateHolderParams{Status: new(account.Active)})), api.ParameterInvalid)
	testkit.WantCode(t, "no status", testkit.Err(b.UpdateAgent(t.Context(), api.Caller{Live: true}, agent.ID, account.UpdateHolderParams{Status: new(account.Status("odd"))})), api.ParameterInvalid)
	testkit.WantCode(t, "the other mode", testkit.Err(b.UpdateAgent(t.Context(), api.Caller{}, agent.ID, account.UpdateHolderParams{Status: new(account.Active)})), api.ResourceMissing)
	_, err := b.UpdateConsumer(t.Context(), api.Caller{Live: true}, agent.ID, account.UpdateHolderParams{Status: new(account.Active)})
	testkit.WantCode(t, "an agent is no consumer", err, api.ResourceMissing)
	testkit.WantCode(t, "no status at all", testkit.Err(b.UpdateConsumer(t.Context(), api.Caller{Live: true}, agent.ID, account.UpdateHolderParams{Status: new(account.Status(""))})), api.ParameterInvalid)
	if _, err := b.CreateAgent(t.Context(), api.Caller{Live: true}, account.CreateHolderParams{Name: "Next", Phone: "0201112222"}); err != nil {
		t.Errorf("the number of a closed float: %v", err)
	}
}

func TestDepositsToHolders(t *testing.T) {
	b := newBench(t, nil)
	consumer := b.consumer(t, "0241000001")
	agent := must.Get(b.CreateAgent(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Kojo", Phone: "0241000001"}))(t)
	for to, amount := range map[string]string{consumer.ID: "12.34", agent.ID: "999999.99"} {
		err := b.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: to, Amount: decimal.RequireFromString(amount), Source: "bank"})
		expect.NoError(t, err, "%s", to)
	}
	expect.Equal(t, must.Get(b.WalletBalance(t.Context(), api.Caller{}, consumer.ID))(t).String(), "12.34", "wallet")
	expect.Equal(t, must.Get(b.FloatBalance(t.Context(), api.Caller{}, agent.ID))(t).String(), "999999.99", "float")
	testkit.WantCode(t, "the wallet of the other mode", testkit.Err(b.WalletBalance(t.Context(), api.Caller{Live: true}, consumer.ID)), api.ResourceMissing)
	testkit.WantCode(t, "the float of a consumer", testkit.Err(b.FloatBalance(t.Context(), api.Caller{}, consumer.ID)), api.ResourceMissing)
	err := b.Deposit(t.Context(), api.Caller{Live: true}, account.DepositParams{To: agent.ID, Amount: decimal.NewFromInt(1), Source: "bank"})
	testkit.WantCode(t, "an agent of the other mode", err, api.ResourceMissing)
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

// Money in a closed account would be stuck there for good: the account can neither pay nor be opened again.
func TestClosedAccountsTakeNoDeposit(t *testing.T) {
	b := newBench(t, nil)
	consumer := b.consumer(t, "0241000001")
	agent := must.Get(b.CreateAgent(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Kojo", Phone: "0241000001"}))(t)
	must.Get(b.UpdateConsumer(t.Context(), api.Caller{}, consumer.ID, account.UpdateHolderParams{Status: new(account.Closed)}))(t)
	must.Get(b.UpdateAgent(t.Context(), api.Caller{}, agent.ID, account.UpdateHolderParams{Status: new(account.Closed)}))(t)
	for _, to := range []string{consumer.ID, agent.ID} {
		err := b.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: to, Amount: decimal.NewFromInt(1), Source: "bank"})
		testkit.WantCode(t, to, err, api.AccountNotFound)
	}
	expect.True(t, must.Get(b.WalletBalance(t.Context(), api.Caller{}, consumer.ID))(t).IsZero(), "there is money in a closed wallet")
}

func TestOnlyUsableWalletsPay(t *testing.T) {
	b := newBench(t, nil)
	c := b.consumer(t, "0241000001")
	for status, want := range map[account.Status]api.Code{
		account.Active: "", account.Frozen: api.WalletNotActive, account.Suspended: api.WalletNotActive,
	} {
		c := must.Get(b.UpdateConsumer(t.Context(), api.Caller{}, c.ID, account.UpdateHolderParams{Status: new(status)}))(t)
		testkit.WantCode(t, string(status), c.Usable(), want)
		// A frozen wallet is found all the same: only its holder is told.
		err := b.engine.Store.View(t.Context(), func(tx storage.ReadTx) error {
			found, err := b.Payer(tx, false, account.WalletRef{Phone: "0241000001"})
			expect.True(t, err != nil || found.Status == status, "%s: found %+v", status, found)
			return err
		})
		testkit.WantCode(t, "the search for a wallet that is "+string(status), err, "")
	}
	err := b.engine.Store.View(t.Context(), func(tx storage.ReadTx) error { return b.ConsumerExists(tx, true, c.ID) })
	testkit.WantCode(t, "the consumer in the other mode", err, api.AccountNotFound)
}

func TestInvalidPINsAreRefused(t *testing.T) {
	b := newBench(t, nil)
	id := b.consumer(t, "0241000001").ID
	for _, wrong := range []string{"", "123", "1234567", "12 4", "12a4", "١٢"} {
		testkit.WantCode(t, "PIN "+wrong, b.SetPIN(t.Context(), api.Caller{}, id, account.SetPINParams{PIN: wrong}), api.ParameterInvalid)
	}
	testkit.WantCode(t, "the PIN stays", enter(t.Context(), b, id, "1234", nil), "")
	testkit.WantCode(t, "an unknown account", b.SetPIN(t.Context(), api.Caller{}, "acc_1", account.SetPINParams{PIN: "4826"}), api.ResourceMissing)
	testkit.WantCode(t, "the other mode", b.SetPIN(t.Context(), api.Caller{Live: true}, id, account.SetPINParams{PIN: "4826"}), api.ResourceMissing)
	erased := b.consumer(t, "0241000002").ID
	must.Get(b.CloseConsumer(t.Context(), api.Caller{}, erased))(t)
	testkit.WantCode(t, "an erased account", b.SetPIN(t.Context(), api.Caller{}, erased, account.SetPINParams{PIN: "4826"}), api.AccountNotFound)
	expect.True(t, !strings.Contains(strings.Join(storedPINs(t, b), " "), erased), "a PIN of an erased person is stored")
	// A new PIN unlocks.
	for range 5 {
		testkit.WantCode(t, "a wrong one", enter(t.Context(), b, id, "0000", nil), api.PINInvalid)
	}
	testkit.WantCode(t, "locked", enter(t.Context(), b, id, "1234", nil), api.PINLocked)
	testkit.WantCode(t, "a new PIN", b.SetPIN(t.Context(), api.Caller{}, id, account.SetPINParams{PIN: "4321"}), "")
	testkit.WantCode(t, "unlocked", enter(t.Context(), b, id, "4321", nil), "")
}

// A counted attempt stays counted when the process dies. Here the caller cancels while the effect
// runs for others, several times.
func TestAttemptSurvivesCancelledCall(t *testing.T) {
	b := newBench(t, nil)
	id := b.consumer(t, "0241000001").ID
	died := errors.New("died")
	for range 5 {
		func() {
			defer func() { expect.True(t, recover() != nil, "the effect did not die") }()
			_ = b.WithPIN(t.Context(), api.Caller{}, party.PINEntry{Account: id, PIN: "1234"}, func(*party.Proof) error { panic(died) })
		}()
	}
	testkit.WantCode(t, "after five that died", enter(t.Context(), b, id, "1234", nil), api.PINLocked)
	// And the turn was given back each time, so no call waits for one that is dead.
	b.advance(15 * time.Minute)
	testkit.WantCode(t, "after the lock", enter(t.Context(), b, id, "1234", nil), "")
}

// A right PIN is no failed attempt, even when the effect needs no transaction, as in a replay, or
// when the caller cancels during the effect.
func TestRightPINAttemptIsNotCounted(t *testing.T) {
	b := newBench(t, nil)
	id := b.consumer(t, "0241000001").ID
	for range 10 {
		testkit.WantCode(t, "no transaction", b.WithPIN(t.Context(), api.Caller{}, party.PINEntry{Account: id, PIN: "1234"}, func(*party.Proof) error { return nil }), "")
	}
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		err := b.WithPIN(ctx, api.Caller{}, party.PINEntry{Account: id, PIN: "1234"}, func(*party.Proof) error {
			cancel()
			return ctx.Err()
		})
		expect.True(t, errors.Is(err, context.Canceled), "got %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	expect.ErrorIs(t, enter(gone, b, id, "1234", nil), context.Canceled, "a caller who has gone before")
	testkit.WantCode(t, "a right one", enter(t.Context(), b, id, "1234", nil), "")
}

// A lock holds when another process sets it during the comparison.
func TestLockByAnotherProcessHolds(t *testing.T) {
	b := newBench(t, nil)
	id := b.consumer(t, "0241000001").ID
	elsewhere := party.New(b.engine, party.Config{}) // a second process has turns of its own
	err := b.WithPIN(t.Context(), api.Caller{}, party.PINEntry{Account: id, PIN: "1234"}, func(p *party.Proof) error {
		for range 4 {
			err := elsewhere.WithPIN(t.Context(), api.Caller{}, party.PINEntry{Account: id, PIN: "0000"}, func(*party.Proof) error { return nil })
			testkit.WantCode(t, "elsewhere", err, api.PINInvalid)
		}
		return b.engine.Update(t.Context(), api.Caller{}, func(tx *engine.Tx) error { return b.Confirm(tx, p) })
	})
	testkit.WantCode(t, "the right one meanwhile", err, api.PINLocked)
	testkit.WantCode(t, "the right one afterwards", enter(t.Context(), b, id, "1234", nil), api.PINLocked)
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
			must.True(t, err == nil && access.Merchant == caller.Merchant && !access.Live, "%s: %+v, %v", test.name, access, err)
			var read, write []string
			for _, resource := range []string{"qr_codes", "payments"} {
				if access.Allows(resource, false) {
					read = append(read, resource)
				}
				if access.Allows(resource, true) {
					write = append(write, resource)
				}
			}
			expect.Same(t, [][]string{read, write}, [][]string{test.read, test.write}, "%s", test.name)
		}
	}
	testkit.WantCode(t, "a name with NUL", testkit.Err(b.CreateKey(t.Context(), caller, account.CreateKeyParams{Name: "a\x00"})), api.ParameterInvalid)
	for _, unknown := range []string{"", "nothing", "QR_codes", "*", "qr_codes "} {
		testkit.WantCode(t, "the resource "+unknown, testkit.Err(b.CreateKey(t.Context(), caller, account.CreateKeyParams{Resources: []string{"payments", unknown}})), api.ParameterInvalid)
	}

	// A second roll never extends the life that the first one set.
	key := must.Get(b.CreateKey(t.Context(), caller, account.CreateKeyParams{}))(t)
	for _, overlap := range []time.Duration{time.Hour, 24 * time.Hour} {
		must.Get(b.RollKey(t.Context(), caller, key.ID, account.RollKeyParams{Overlap: overlap}))(t)
	}
	b.advance(time.Hour)
	testkit.WantCode(t, "a key that was rolled twice", testkit.Err(b.Authenticate(t.Context(), key.Secret)), api.APIKeyInvalid)
	_, err := b.RollKey(t.Context(), api.Caller{Merchant: caller.Merchant, Live: true}, key.ID, account.RollKeyParams{Overlap: 0})
	testkit.WantCode(t, "rolling a key of the other mode", err, api.ResourceMissing)
}

func TestConsumersAreListed(t *testing.T) {
	b := newBench(t, nil)
	first, second := b.consumer(t, "0241000001"), b.consumer(t, "0241000002")
	must.Get(b.CreateConsumer(t.Context(), api.Caller{Live: true}, account.CreateHolderParams{Name: "Live", Phone: "0241000001"}))(t)
	list, err := b.ListConsumers(t.Context(), api.Caller{}, api.Page{Limit: 1})
	must.True(t, err == nil && len(list.Data) == 1 && list.Data[0] == *second && list.HasMore, "%+v, %v", list, err)
	list, err = b.ListConsumers(t.Context(), api.Caller{}, api.Page{StartingAfter: second.ID})
	must.Do(t, err)
	must.True(t, len(list.Data) == 1, "%+v, %v", list, err)
	expect.Equal(t, list.Data[0], *first, "first")
	expect.Equal(t, list.HasMore, false, "HasMore")
}

func TestAgentsAreRead(t *testing.T) {
	b := newBench(t, nil)
	made := must.Get(b.CreateAgent(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Kofi Boateng", Phone: "0241000001"}))(t)
	b.consumer(t, "0241000002")
	expect.Same(t, must.Get(b.GetAgent(t.Context(), api.Caller{}, made.ID))(t), made, "by id")
	list := must.Get(b.ListAgents(t.Context(), api.Caller{}, api.Page{}))(t)
	expect.Same(t, list.Data, []account.Agent{*made}, "the list")
	testkit.WantCode(t, "the other mode", testkit.Err(b.GetAgent(t.Context(), api.Caller{Live: true}, made.ID)), api.ResourceMissing)
	merchant := api.Caller{Merchant: "mer_1"}
	testkit.WantCode(t, "a merchant", testkit.Err(b.GetAgent(t.Context(), merchant, made.ID)), api.PermissionDenied)
	testkit.WantCode(t, "a merchant's list", testkit.Err(b.ListAgents(t.Context(), merchant, api.Page{})), api.PermissionDenied)
}

// Whatever concerns money that has arrived, other merchants and the holders of wallets and floats, merchants
// may not do, even with right parameters and for themselves.
func TestOnlyOperatorMay(t *testing.T) {
	b := newBench(t, nil)
	operator := api.Caller{}
	m := must.Get(b.CreateMerchant(t.Context(), operator, account.CreateMerchantParams{Name: "Adom Juice Bar"}))(t)
	agent := must.Get(b.CreateAgent(t.Context(), operator, account.CreateHolderParams{Name: "Kofi Boateng", Phone: "0241000001"}))(t)
	consumer := b.consumer(t, "0241000002")
	frozen, another := account.Frozen, account.CreateHolderParams{Name: "Yaw Darko", Phone: "0241000003"}
	for what, call := range map[string]func(api.Caller) error{
		"a deposit": func(c api.Caller) error {
			return b.Deposit(t.Context(), c, account.DepositParams{To: m.ID, Amount: decimal.New(1, 0), Source: "cash"})
		},
		"a new merchant": func(c api.Caller) error {
			return testkit.Err(b.CreateMerchant(t.Context(), c, account.CreateMerchantParams{Name: "N"}))
		},
		"a merchant": func(c api.Caller) error {
			return testkit.Err(b.UpdateMerchant(t.Context(), c, m.ID, account.UpdateMerchantParams{Name: new("N")}))
		},
		"all merchants":  func(c api.Caller) error { return testkit.Err(b.ListMerchants(t.Context(), c, api.Page{})) },
		"a new consumer": func(c api.Caller) error { return testkit.Err(b.CreateConsumer(t.Context(), c, another)) },
		"a new agent":    func(c api.Caller) error { return testkit.Err(b.CreateAgent(t.Context(), c, another)) },
		"a consumer":     func(c api.Caller) error { return testkit.Err(b.GetConsumer(t.Context(), c, consumer.ID)) },
		"all consumers":  func(c api.Caller) error { return testkit.Err(b.ListConsumers(t.Context(), c, api.Page{})) },
		"an agent":       func(c api.Caller) error { return testkit.Err(b.GetAgent(t.Context(), c, agent.ID)) },
		"all agents":     func(c api.Caller) error { return testkit.Err(b.ListAgents(t.Context(), c, api.Page{})) },
		"a wallet": func(c api.Caller) error {
			return testkit.Err(b.UpdateConsumer(t.Context(), c, consumer.ID, account.UpdateHolderParams{Status: &frozen}))
		},
		"a float": func(c api.Caller) error {
			return testkit.Err(b.UpdateAgent(t.Context(), c, agent.ID, account.UpdateHolderParams{Status: &frozen}))
		},
		"a closed wallet": func(c api.Caller) error { return testkit.Err(b.CloseConsumer(t.Context(), c, consumer.ID)) },
		"a closed float":  func(c api.Caller) error { return testkit.Err(b.CloseAgent(t.Context(), c, agent.ID)) },
		"a balance":       func(c api.Caller) error { return testkit.Err(b.WalletBalance(t.Context(), c, consumer.ID)) },
		"a float's money": func(c api.Caller) error { return testkit.Err(b.FloatBalance(t.Context(), c, agent.ID)) },
		"a PIN": func(c api.Caller) error {
			return b.SetPIN(t.Context(), c, consumer.ID, account.SetPINParams{PIN: "4821"})
		},
		"an unlocked PIN": func(c api.Caller) error { return b.UnlockPIN(t.Context(), c, consumer.ID) },
		"all money":       func(c api.Caller) error { return testkit.Err(b.MoneyFlow(t.Context(), c)) },
	} {
		testkit.WantCode(t, what, call(api.Caller{Merchant: m.ID}), api.PermissionDenied)
	}
	balance := must.Get(b.Balance(t.Context(), api.Caller{Merchant: m.ID}))(t)
	expect.True(t, balance.Available.IsZero(), "the merchant has %v", balance.Available)
	expect.Same(t, must.Get(b.GetConsumer(t.Context(), operator, consumer.ID))(t), consumer, "the consumer")
}

// Strangers and merchants see the first name and the last initial of the holder of a wallet or
// float. They see a merchant's whole name.
func TestNamesAreShortened(t *testing.T) {
	for name, want := range map[string]string{
		"Ama Serwaa Mensah": "Ama M.", "Ama": "Ama", "  Kofi   Boateng ": "Kofi B.", "": "", "Ɛsi Ɔwusu": "Ɛsi Ɔ.",
	} {
		expect.Equal(t, (&account.Holder{Name: name}).DisplayName(), want, "%q", name)
	}
	b := newBench(t, nil)
	agent := must.Get(b.CreateAgent(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Kofi Atta Boateng", Phone: "0241000002"}))(t)
	m := must.Get(b.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar"}))(t)
	for id, want := range map[string]string{
		b.consumer(t, "0241000001").ServiceID: "Ama M.", agent.ServiceID: "Kofi B.", m.ServiceID: "Adom Juice Bar",
	} {
		found, err := b.LookUpServiceID(t.Context(), api.Caller{Merchant: m.ID}, id)
		must.Do(t, err)
		expect.Equal(t, found.Name, want, "name")
	}
}
