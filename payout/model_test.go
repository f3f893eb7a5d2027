package payout_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/railtest"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

var seeds = flag.Int("seeds", 0, "how many seeds the model test plays on each store; 0 for a few")

// TestRandomLivesMatchTheModel plays random lives of transfers and refunds against a rail and a charger
// that lose requests and answers, decide late and call back twice, on a store that
// fails between any two transactions and with restarts in between. What is known of
// the truth is kept in a model, and compared after every step and at the end.
func TestRandomLivesMatchTheModel(t *testing.T) {
	stores := map[string]struct {
		few  int
		open func(t *testing.T) storage.Store
	}{
		"memory": {effort.Of(30, 150), func(*testing.T) storage.Store { return memory.New() }},
		"sqlite": {effort.Of(2, 10), func(t *testing.T) storage.Store {
			return must.Get(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "model.db"), sqlite.Config{}))(t)
		}},
		"postgres": {effort.Of(1, 5), func(t *testing.T) storage.Store { return pgtest.Store(t) }},
	}
	for name, on := range stores {
		t.Run(name, func(t *testing.T) {
			n := on.few
			if *seeds > 0 {
				n = *seeds
			}
			for seed := range n {
				store := on.open(t)
				play(t, uint64(seed), store)
				must.Do(t, store.Close())
				must.True(t, !t.Failed(), "seed %d", seed)
			}
		})
	}
}

// world is one run of the model.
type world struct {
	t     *testing.T
	dice  *rand.Rand
	now   time.Time
	store *faultstore.Mortal
	rail  *railtest.Chaos
	svc   *payments.Service

	caller    api.Caller
	consumer  string
	transfers []*payout.Transfer // as they were created
	reversed  map[string]bool    // transfers that the rail took back

	money
	key int
}

const begin = 1_000_00 // the merchant's first balance, in pesewas

func play(t *testing.T, seed uint64, store storage.Store) {
	w := &world{
		t: t, dice: rand.New(rand.NewPCG(seed, 1)), store: &faultstore.Mortal{Store: store}, reversed: map[string]bool{},
		now: time.Date(2026, 3, 6, 23, 50, 0, 0, time.UTC), // close to midnight
	}
	w.rail, w.charger = railtest.NewChaos(seed), &charger{rail: railtest.NewChaos(seed + 1)}
	w.start()
	m := must.Get(w.svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M", Phone: "0301000000"}))(t)
	w.caller = api.Caller{Merchant: m.ID, Live: true}
	c := must.Get(w.svc.Accounts.CreateConsumer(t.Context(), api.Caller{Live: true}, account.CreateHolderParams{Name: "C", Phone: "0241000001"}))(t)
	w.consumer = c.ID
	must.Do(t, w.svc.Accounts.Deposit(t.Context(), api.Caller{Live: true}, account.DepositParams{To: m.ID, Amount: decimal.New(begin, -2), Source: "bank"}))
	if seed%10 == 0 { // rarely, because a PIN takes time to hash
		w.payByWallet()
	}

	for range 12 + w.dice.IntN(25) {
		w.step()
		w.compare()
		if t.Failed() {
			return
		}
	}
	w.finish()
}

// start makes the services anew, as after a crash.
func (w *world) start() {
	w.now = w.now.Add(time.Millisecond) // ids ascend with the clock, also over restarts
	svc := must.Get(payments.New(w.t.Context(), w.store, payments.Config{
		Live: payments.Providers{Rail: w.rail, Charger: w.charger}, Clock: func() time.Time { return w.now }, Logger: slog.New(slog.DiscardHandler),
	}))(w.t)
	w.svc = svc
}

func (w *world) step() {
	ctx := w.t.Context()
	switch w.dice.IntN(15) {
	case 0, 1, 2:
		w.create()
	case 10:
		w.payByCharge()
	case 11, 12, 13:
		w.refund()
	case 3:
		if id := w.pick(); id != "" {
			_, err := w.svc.Disbursements.Cancel(ctx, w.caller, id)
			expect.True(w.t, err == nil || api.CodeOf(err) == api.DisbursementNotCancellable, "cancel: %v", err)
		}
	case 14:
		w.reverse()
	case 4:
		for _, c := range w.rail.Callbacks() {
			if !w.reversed[c.ID] { // a late report of the success would be a contradiction
				w.notify(c.ID, c.Result)
			}
		}
		w.refundCallbacks()
	case 5: // a transaction fails, before or after its commit, and the process dies
		w.store.DieAt(1+w.dice.IntN(6), w.dice.IntN(2) == 0)
		w.drain()
		w.store.DieAt(0, false)
		w.start()
	case 6:
		w.now = w.now.Add(time.Duration(w.dice.IntN(200)) * time.Second)
	default:
		w.now = w.now.Add(time.Duration(w.dice.IntN(20)) * time.Second)
		w.drain()
	}
}

func (w *world) create() {
	ctx := w.t.Context()
	p := disbursement.CreateParams{Amount: decimal.New(1+w.dice.Int64N(200_00), -2)}
	switch w.dice.IntN(4) {
	case 0:
		p.Destination = payout.DestinationParams{Type: payout.ServiceWallet, AccountID: w.consumer}
	case 1:
		p.Destination = payout.DestinationParams{Type: payout.BankTransfer, AccountNumber: "1234567890", BankCode: "300304"}
	default:
		p.Destination = payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241234567"}
	}
	caller := w.caller
	if w.dice.IntN(2) == 0 {
		w.key++
		caller.IdempotencyKey = fmt.Sprint("key-", w.key)
	}
	before := w.balance(ledger.Available(w.caller.Merchant, true))
	made, err := w.svc.Disbursements.Create(ctx, caller, p)
	switch {
	case api.CodeOf(err) == api.InsufficientBalance:
		whole := p.Amount.Shift(2).IntPart()
		expect.True(w.t, whole+10_00 > before, "%d of %d pesewas are refused", whole, before)
		return
	case err != nil:
		w.t.Errorf("create: %v", err)
		return
	}
	w.transfers = append(w.transfers, made)
	if caller.IdempotencyKey == "" || w.dice.IntN(2) == 0 {
		return
	}
	again := must.Get(w.svc.Disbursements.Create(ctx, caller, p))(w.t)
	expect.Equal(w.t, again.ID, made.ID, "repeated: ID")
}

// reverse has the rail take back a transfer that is booked as paid. It may do so twice.
func (w *world) reverse() {
	id := w.pick()
	if id == "" || !w.reversed[id] && must.Get(w.svc.Disbursements.Get(w.t.Context(), w.caller, id))(w.t).Status != payout.Completed {
		return
	}
	w.reversed[id] = true
	w.notify(id, provider.Result{Outcome: provider.Reversed})
}

// pick returns the id of an external transfer, or "".
func (w *world) pick() string {
	if len(w.transfers) == 0 {
		return ""
	}
	t := w.transfers[w.dice.IntN(len(w.transfers))]
	if t.Destination.Type == payout.ServiceWallet {
		return ""
	}
	return t.ID
}

func (w *world) notify(id string, r provider.Result) {
	err := w.svc.Providers.Notify(w.t.Context(), id, r)
	expect.True(w.t, err == nil || errors.Is(err, faultstore.ErrDead), "callback of %s: %v", id, err)
}

func (w *world) drain() {
	err := w.svc.Drain(w.t.Context())
	expect.True(w.t, err == nil || errors.Is(err, faultstore.ErrDead), "drain: %v", err)
}

func (w *world) balance(a ledger.Account) int64 {
	var b storage.Balance
	must.Do(w.t, w.store.View(w.t.Context(), func(tx storage.ReadTx) error {
		var err error
		b, err = tx.Balance(a.Name)
		return err
	}))
	return b.Amount
}

// compare checks the invariants.
func (w *world) compare() {
	w.t.Helper()
	v := must.Get(w.svc.Accounts.Verify(w.t.Context()))(w.t)
	for _, p := range v.Problems {
		w.t.Error(p)
	}
	var reserved, spent, wallet, cleared, fees int64
	for _, made := range w.transfers {
		is := must.Get(w.svc.Disbursements.Get(w.t.Context(), w.caller, made.ID))(w.t)
		amount, fee := is.Amount.Shift(2).IntPart(), is.Fee.Shift(2).IntPart()
		if is.Destination.Type == payout.ServiceWallet {
			wallet += amount
			spent += amount
			continue
		}
		moved := w.rail.Moved(made.ID)
		expect.True(w.t, moved <= 1, "%s moved %d times", made.ID, moved)
		switch is.Status {
		case payout.Pending, payout.Processing:
			reserved += amount + fee
			expect.True(w.t, is.Status != payout.Pending || moved <= 0, "%s is pending, but has moved", made.ID)
		case payout.Completed:
			spent += amount + fee
			cleared += amount
			fees += fee
			expect.Equal(w.t, moved, 1, "%s is completed, but has moved %d times", made.ID, moved)
		case payout.Failed:
			expect.Equal(w.t, moved == 1, w.reversed[made.ID], "%s has failed, and has moved", made.ID)
		case payout.Cancelled:
			expect.Equal(w.t, moved, 0, "%s is %s, but has moved", made.ID, is.Status)
		default:
			w.t.Errorf("%s is %s", made.ID, is.Status)
		}
	}
	back := w.compareRefunds()
	for _, a := range []struct {
		account ledger.Account
		want    int64
	}{
		{ledger.Available(w.caller.Merchant, true), begin + w.charged + w.fromWallet - spent - reserved - back.reserved - back.cleared - back.wallet},
		{ledger.Reserved(w.caller.Merchant, true), reserved + back.reserved},
		{ledger.Wallet(w.consumer, true), w.deposited - w.fromWallet + wallet + back.wallet},
		{ledger.Clearing("rail", true), cleared},
		{ledger.Clearing("charges", true), back.cleared - w.charged},
		{ledger.Fees(true), fees},
	} {
		expect.Equal(w.t, w.balance(a.account), a.want, "%s", a.account.Name)
	}
}

// finish lets the rail decide every order and runs the workers.
func (w *world) finish() {
	w.rail.Settle()
	w.charger.rail.Settle()
	for range 4 {
		w.now = w.now.Add(20 * time.Minute)
		w.drain()
	}
	w.compare()
	expect.Equal(w.t, w.balance(ledger.Reserved(w.caller.Merchant, true)), 0, "pesewas stay reserved")
	stuck := must.Get(w.svc.Providers.List(w.t.Context(), api.Caller{Live: true}, provider.ListParams{}))(w.t)
	expect.Equal(w.t, len(stuck.Data), 0, "orders are stuck: %+v", stuck.Data)
	w.events()
}

// events checks that each status made one event, in order.
func (w *world) events() {
	w.t.Helper()
	told := map[string][]string{}
	for _, e := range transferEvents(w.t, w.svc, w.caller) {
		told[e.id] = append(told[e.id], e.kind)
	}
	for _, made := range w.transfers {
		is := must.Get(w.svc.Disbursements.Get(w.t.Context(), w.caller, made.ID))(w.t)
		want := map[payout.Status]string{
			payout.Completed: "[created pending processing completed]",
			payout.Failed:    "[created pending processing failed]",
			payout.Cancelled: "[created pending canceled]",
		}[is.Status]
		switch {
		case is.Destination.Type == payout.ServiceWallet:
			want = "[created completed]"
		case w.reversed[made.ID]:
			want = "[created pending processing completed failed]"
		}
		expect.Equal(w.t, fmt.Sprint(told[made.ID]), want, "%s is %s and told", made.ID, is.Status)
	}
	w.refundEvents(told)
}

type told struct{ id, kind string }

// transferEvents reads the events of transfers and refunds, oldest first.
func transferEvents(t *testing.T, svc *payments.Service, caller api.Caller) []told {
	t.Helper()
	var newestFirst []told
	page := api.Page{Limit: api.MaxLimit}
	for {
		list := must.Get(svc.Events.List(t.Context(), caller, event.ListParams{Page: page}))(t)
		for _, e := range list.Data {
			noun, kind, _ := strings.Cut(string(e.Type), ".")
			if noun != "payout" && noun != "disbursement" && noun != "refund" {
				continue
			}
			var object struct{ ID string }
			must.Do(t, json.Unmarshal(e.Data.Object, &object))
			newestFirst = append(newestFirst, told{object.ID, kind})
		}
		if !list.HasMore {
			break
		}
		page.StartingAfter = list.Data[len(list.Data)-1].ID
	}
	all := make([]told, 0, len(newestFirst))
	for i := len(newestFirst) - 1; i >= 0; i-- {
		all = append(all, newestFirst[i])
	}
	return all
}
