package account_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/storage"
)

// again makes a call twice with one idempotency key. The second call must be a replay.
func again(t *testing.T, caller api.Caller, key string, call func(api.Caller) error) {
	t.Helper()
	caller.IdempotencyKey = key
	for _, replay := range []bool{false, true} {
		var replayed bool
		caller.Replayed = &replayed
		err := call(caller)
		expect.NoError(t, err, "%s", key)
		expect.Equal(t, replayed, replay, "%s: replayed", key)
	}
}

func TestOperatorCallsAreReplayed(t *testing.T) {
	b, operator := newBench(t, nil), api.Caller{}
	merchant, ama := b.merchant(t), b.consumer(t, "0241000001")
	agent := must.Get(b.CreateAgent(t.Context(), operator, account.CreateHolderParams{Name: "Kojo", Phone: "0241000002"}))(t)
	var made []string
	again(t, operator, "merchant", func(c api.Caller) error {
		m, err := b.CreateMerchant(t.Context(), c, account.CreateMerchantParams{Name: "Adom"})
		if err == nil {
			made = append(made, m.ID)
		}
		return err
	})
	must.True(t, len(made) == 2, "one key made the merchants %v", made)
	expect.Equal(t, made[0], made[1], "one key made the merchants: first")
	again(t, operator, "update merchant", func(c api.Caller) error {
		return testkit.Err(b.UpdateMerchant(t.Context(), c, merchant, account.UpdateMerchantParams{Name: new("Adom Juice")}))
	})
	again(t, operator, "update consumer", func(c api.Caller) error {
		return testkit.Err(b.UpdateConsumer(t.Context(), c, ama.ID, account.UpdateHolderParams{Status: new(account.Frozen)}))
	})
	again(t, operator, "update agent", func(c api.Caller) error {
		return testkit.Err(b.UpdateAgent(t.Context(), c, agent.ID, account.UpdateHolderParams{Status: new(account.Frozen)}))
	})
	pins := []string{"4321", "9876"}
	again(t, operator, "set PIN", func(c api.Caller) error {
		pin := pins[0]
		pins = pins[1:]
		return b.SetPIN(t.Context(), c, ama.ID, account.SetPINParams{PIN: pin})
	})
	testkit.WantCode(t, "the PIN of the replay", enter(t.Context(), b, ama.ID, "9876", nil), api.PINInvalid)
	testkit.WantCode(t, "the PIN of the first call", enter(t.Context(), b, ama.ID, "4321", nil), "")
	again(t, operator, "unlock PIN", func(c api.Caller) error { return b.UnlockPIN(t.Context(), c, ama.ID) })
}

// A replay of CreateKey or RollKey returns the same key without its secret. No record holds the
// secret.
func TestReplayedKeyHasNoSecret(t *testing.T) {
	b := newBench(t, nil)
	caller := api.Caller{Merchant: b.merchant(t)}
	var keys []*account.Key
	keep := func(key *account.Key, err error) error {
		keys = append(keys, key)
		return err
	}
	again(t, caller, "create", func(c api.Caller) error {
		return keep(b.CreateKey(t.Context(), c, account.CreateKeyParams{Name: "till"}))
	})
	again(t, caller, "roll", func(c api.Caller) error {
		return keep(b.RollKey(t.Context(), c, keys[0].ID, account.RollKeyParams{Overlap: time.Hour}))
	})
	for i := 0; i < len(keys); i += 2 {
		first, replay := keys[i], keys[i+1]
		expect.Equal(t, first.ID, replay.ID, "first: ID")
		expect.True(t, first.Secret != "", "first %+v, replay %+v", first, replay)
		expect.Equal(t, replay.Secret, "", "replay: secret")
		mustAuthenticate(t, b, first.Secret)
		for _, record := range everyRecord(t, b) {
			expect.True(t, !strings.Contains(record, first.Secret), "the store holds the secret: %s", record)
		}
	}
	list, err := b.ListKeys(t.Context(), caller, api.Page{})
	must.Do(t, err)
	expect.Equal(t, len(list.Data), 2, "keys: number")
	caller.IdempotencyKey = "create"
	testkit.WantCode(t, "the key of another request", testkit.Err(b.CreateKey(t.Context(), caller, account.CreateKeyParams{Name: "other"})), api.IdempotencyKeyReused)
}

// everyRecord returns the JSON of all records of the engine and the accounts.
func everyRecord(t *testing.T, b *bench) (all []string) {
	t.Helper()
	err := b.engine.Store.View(context.Background(), func(tx storage.ReadTx) error {
		for _, k := range append(engine.Kinds(), party.Kinds()...) {
			records, err := tx.Scan(k, storage.Scope{}, "", 1000)
			if err != nil {
				return err
			}
			for _, r := range records {
				all = append(all, string(r.Data))
			}
		}
		return nil
	})
	must.True(t, err == nil && len(all) != 0, "%d records, %v", len(all), err)
	return all
}
