package simulation_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"golang.org/x/crypto/argon2"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage"
)

var (
	seeds     = flag.Int("seeds", 0, "how many seeds the simulation plays on each store; 0 for a few")
	firstSeed = flag.Uint64("seed", 0, "the first seed that the simulation plays")
)

// TestSimulation plays random weeks of two merchants, one in test mode and one in
// live mode: a world that loses requests and answers, decides late and calls back
// twice, a store that fails and loses answers, callers who repeat what they do
// not know the outcome of, processes that die, and clocks that run ahead. Money
// comes in, goes out alone and in batches, and back; customers are billed, reminded
// and deleted; endpoints come, change and go; the ledger is sealed. After every step
// all that is known of the truth is compared with what the service says.
//
//	go test ./internal/test/simulation -run TestSimulation -seeds 10000
//	go test ./internal/test/simulation -run TestSimulation -seed 4711 -seeds 1
func TestSimulation(t *testing.T) {
	few := effort.Of(map[string]int{"memory": 16, "sqlite": 2, "postgres": 1}, map[string]int{"memory": 100, "sqlite": 6, "postgres": 3})
	told := newReceivers(t)
	for _, backend := range testkit.Backends {
		t.Run(backend.Name, func(t *testing.T) {
			n := few[backend.Name]
			if *seeds > 0 {
				n = *seeds
			}
			var steps, faults, calls int
			played := map[string]int{}
			for seed := *firstSeed; seed < *firstSeed+uint64(n); seed++ {
				store := backend.Open(t)
				g := play(t, seed, store, told)
				must.Do(t, store.Close())
				for what, n := range g.played {
					played[what] += n
				}
				steps, faults, calls = steps+g.steps, faults+g.faults, calls+g.key
				must.True(t, !t.Failed(), "seed %d; its history:\n%s", seed, strings.Join(g.history, "\n"))
			}
			t.Logf("%d seeds, %d steps, %d calls, %d faults of the store: %v", n, steps, calls, faults, played)
			expect.True(t, faults != 0, "no fault was played")
			expect.True(t, calls != 0, "no call was played")
			for _, what := range []string{
				"pay code", "disburse", "pay out", "cancel", "charge", "pay invoice from a wallet", "refund", "batch",
				"pay from phone", "pay code from phone", "pay invoice from phone", "cancel payment", "leave payment", "release payment", "confirm payment",
				"settle payment", "create session", "pay session from phone", "pay session from a wallet", "expire session", "session: expired",
				"session begins: trial", "session begins: mobile_money", "session begins: service_wallet", "session begins: late", "paid twice", "contradicted", "delete customer", "clean", "rotate", "delete endpoint", "send again", "events told", "reminders", "sealed", "move clock",
				"subscribe", "change subscription", "pause", "resume", "cancel subscription", "put coupon on", "line of credit", "discounted period",
				"refund of a period", "void period", "final invoice", "period cut short", "keep as booked", "book as reported",
				"told: updated", "told: payment_succeeded", "told: payment_failed", "told: trial_will_end", "told: canceled",
				"take back transfer", "take back payment", "take back refunded payment", "owed",
			} {
				expect.True(t, played[what] != 0 || n < 100 || *firstSeed > 0 && n < 1000, "of %s nothing was played", what)
			}
		})
	}
}

// One seed is one game.
func TestASimulationReplays(t *testing.T) {
	told := newReceivers(t)
	for seed := range uint64(3) {
		var first []string
		for range 2 {
			store := testkit.Backends[0].Open(t)
			g := play(t, seed, store, told)
			must.Do(t, store.Close())
			if first == nil {
				first = g.history
			}
			if a, b := strings.Join(first, "\n"), strings.Join(g.history, "\n"); a != b {
				t.Errorf("seed %d was played as\n%s\nand as\n%s", seed, a, b)
			}
		}
	}
}

// side is one merchant in one mode, and the consumers of that mode.
type side struct {
	caller    api.Caller
	consumers []string
	// funded is what came in from outside, in pesewas: to the merchant, to wallets.
	funded, walletsFunded int64
	// What was acknowledged: ids of payments, transfers, invoices and codes.
	payments, transfers, invoices, codes []string
	gone                                 map[string]bool // codes that were deleted
	refunds, batches                     []string
	rows                                 []disbursement.RowParams // with keys
	people                               []*person
	numbers                              []string // of payers' phones
	phoned                               []string // payments from phones, of no code
	coupons                              []string
	subscribers                          subscribers
	books                                books
	sessions                             []string
	memberships                          int             // sessions of a plan
	left                                 map[string]bool // payments whose payers chose another way
	disputed                             []string        // payments that were taken back after a refund
	decided                              map[string]bool // contradicted orders that staff have decided
	adjusted                             int64           // what staff have booked, in pesewas
}

// game is one simulation.
type game struct {
	t     *testing.T
	dice  *rand.Rand
	now   time.Time
	newID func(string) string
	world *world
	store *faultstore.Store
	svc   *payments.Service
	// whileDraining is a call that is made as soon as the workers run; nil for none.
	whileDraining func()
	receivers     *receivers
	path          string // where the receivers of the game are
	hooks         []*hook
	// undoes says that the store runs each update twice, as it may.
	undoes bool
	// ahead is by how much the clock of the first merchant was moved.
	ahead time.Duration
	// calmSince is when the world became calm.
	calmSince time.Time

	sides   [2]*side
	payouts map[string]bool // the transfers that are payouts
	// sentAgain are the events that were sent again.
	sentAgain map[string]bool
	key       int // calls so far
	named     int // keys and names so far
	steps     int
	faults    int
	history   []string
	// played counts what has had an effect, by what it was.
	played map[string]int
}

func play(t *testing.T, seed uint64, store storage.Store, told *receivers) *game {
	g := &game{
		t: t, dice: rand.New(rand.NewPCG(seed, 2)), now: time.Date(2026, 3, 6, 22, 0, 0, 0, time.UTC),
		world: newWorld(seed), store: faultstore.New(store), undoes: seed%2 == 1, path: fmt.Sprint("/", seed), payouts: map[string]bool{}, receivers: told,
		played: map[string]int{}, sentAgain: map[string]bool{},
	}
	var random [32]byte
	random[0], random[1], random[2] = byte(seed), byte(seed>>8), byte(seed>>16)
	g.newID = ids.New(func() time.Time { return g.now }, rand.NewChaCha8(random)).Make
	defer func() {
		for _, h := range g.hooks {
			told.end(h.path)
		}
	}()
	g.start()
	g.settle()
	for range 20 + g.dice.IntN(30) {
		g.step()
		g.audit()
		if t.Failed() {
			return g
		}
	}
	g.finish()
	return g
}

// start wires the service, as a new process does.
func (g *game) start() {
	g.now = g.now.Add(time.Millisecond)
	var store storage.Store = g.store
	if g.undoes {
		store = faultstore.Undone(store)
	}
	svc := must.Get(payments.New(g.t.Context(), store, payments.Config{
		Serial: true, Key: make([]byte, 32), CollectionFees: collectionFees, Live: payments.Providers{Rail: rail{g.world}, Charger: charger{g.world}, Texter: texter{g.world}, Mailer: mailer{g.world}},
		Test: payments.Providers{Rail: rail{g.world}, Charger: charger{g.world}}, InvoiceReminders: reminders, Sandbox: true, SingleUseOTP: g.dice.IntN(2) == 0,
		WebhookAllow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Clock:        g.clock, NewID: func(p string) string { return g.newID(p) }, Logger: slog.New(slog.DiscardHandler),
		Observer: workers{g},
	}))(g.t)
	g.svc = svc
	g.world.notify = svc.Providers.Notify
}

// clock is the time of the services, and makes the call that waits for the workers to run.
func (g *game) clock() time.Time {
	if meanwhile := g.whileDraining; meanwhile != nil {
		g.whileDraining = nil
		meanwhile()
	}
	return g.now
}

// workers are told of the background work. There is one process, so its work meets
// no other.
type workers struct{ g *game }

func (w workers) BeginWork(ctx context.Context, _ payments.Work) context.Context { return ctx }

func (w workers) EndWork(_ context.Context, done payments.Work) {
	// Time-outs are of the real time, and the machine may have stood still.
	expect.True(w.g.t, done.Outcome != "error" || errors.Is(done.Err, faultstore.Err) || errors.Is(done.Err, context.DeadlineExceeded), "work on %s %s: %v", done.Queue, done.ID, done.Err)
}

// settle makes the merchants and consumers.
func (g *game) settle() {
	ctx := g.t.Context()
	for i := range g.sides {
		live := i == 1
		m := must.Get(g.svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "M", Phone: fmt.Sprint("030100000", i)}))(g.t)
		s := &side{
			caller: api.Caller{Merchant: m.ID, Live: live}, gone: map[string]bool{}, left: map[string]bool{}, decided: map[string]bool{}, numbers: numbersOf(i),
			subscribers: subscribers{begun: map[string]int{}},
		}
		g.sides[i] = s
		for n := range 2 {
			c := must.Get(g.svc.Accounts.CreateConsumer(ctx, api.Caller{Live: live}, account.CreateHolderParams{Name: "C", Phone: fmt.Sprintf("02410000%d%d", i, n)}))(g.t)
			g.cheapPIN(c.ID, live)
			s.consumers = append(s.consumers, c.ID)
			g.deposit(s, c.ID, 500_00)
		}
		g.deposit(s, m.ID, 300_00)
	}
	g.hookUp("*")
}

// cheapPIN gives a consumer the PIN 1234, whose hash costs next to nothing. It is under
// the server's key already, so that it is not replaced by one at full cost.
func (g *game) cheapPIN(id string, live bool) {
	mac := func(text string) []byte {
		h := hmac.New(sha256.New, make([]byte, 32))
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	salt := []byte("simulation")
	sum := argon2.IDKey(mac("pin\x001234"), salt, 1, 8, 1, 32)
	encode := base64.RawStdEncoding.EncodeToString
	data := must.Get(json.Marshal(map[string]any{"hash": fmt.Sprintf("$argon2id$v=%d$m=8,t=1,p=1,keyid=%s$%s$%s",
		argon2.Version, encode(mac("key id")[:6]), encode(salt), encode(sum))}))(g.t)
	for _, k := range payments.Kinds() {
		if k.Name == "pins" {
			must.Do(g.t, g.store.Update(g.t.Context(), func(tx storage.Tx) error {
				return tx.Insert(k, storage.Record{Scope: storage.Scope{Live: live}, ID: id, Columns: []any{}, Data: data})
			}))
		}
	}
}

func (g *game) deposit(s *side, to string, pesewas int64) {
	_, err := g.call("deposit", s, func(c api.Caller) (string, error) {
		return to, g.svc.Accounts.Deposit(g.t.Context(), api.Caller{Live: c.Live, IdempotencyKey: c.IdempotencyKey}, account.DepositParams{
			To: to, Amount: decimal.New(pesewas, -2), Source: "bank",
		})
	})
	expect.NoError(g.t, err, "deposit")
	if strings.HasPrefix(to, "mer_") {
		s.funded += pesewas
	} else {
		s.walletsFunded += pesewas
	}
}

// call makes a call as a careful client does: what it does not know the outcome
// of it repeats with the same key, and now and then it repeats what it knows.
func (g *game) call(name string, s *side, do func(api.Caller) (string, error)) (id string, err error) {
	g.t.Helper()
	g.key++
	caller := s.caller
	caller.RequestID, caller.IdempotencyKey = fmt.Sprint("req_", g.key), fmt.Sprint("key-", g.key)
	g.fault()
	if name != "create endpoint" && g.dice.IntN(3) == 0 { // deliveries need the new secret
		// The workers run and may take over what the call makes. Drain reads the clock before
		// it does anything else.
		g.whileDraining = func() { id, err = do(caller) }
		if err := g.svc.Drain(g.t.Context()); err != nil && !errors.Is(err, faultstore.Err) {
			g.t.Errorf("drain: %v", err)
		}
	} else {
		id, err = do(caller)
	}
	if g.store.Heal() {
		g.faults++
	}
	for err != nil && api.CodeOf(err) == "" {
		if !errors.Is(err, faultstore.Err) {
			g.t.Errorf("%s: %v", name, err)
			return "", err
		}
		if g.dice.IntN(3) == 0 {
			g.start() // the process died of it
		}
		id, err = do(caller)
	}
	if err == nil && g.dice.IntN(4) == 0 {
		if again, repeated := do(caller); repeated != nil || again != id {
			g.t.Errorf("%s: it was %s, and repeated %s, %v", name, id, again, repeated)
		}
	}
	if err == nil {
		g.played[name]++
	}
	g.history = append(g.history, fmt.Sprintf("%s live=%t %s %s", name, s.caller.Live, id, api.CodeOf(err)))
	switch code := api.CodeOf(err); code {
	case api.InternalError, api.ParameterInvalid, api.ParameterMissing, api.ResourceMissing, api.IdempotencyKeyReused:
		g.t.Errorf("%s: %v", name, err)
	}
	return id, err
}

// fault lets the store fail within the next call or work, perhaps.
func (g *game) fault() {
	switch g.dice.IntN(6) {
	case 0:
		g.store.FailAt(1 + g.dice.IntN(30))
	case 1:
		g.store.LoseAt(1 + g.dice.IntN(4))
	}
}

func (g *game) drain() {
	g.fault()
	err := g.svc.Drain(g.t.Context())
	if g.store.Heal() {
		g.faults++
	}
	expect.True(g.t, err == nil || errors.Is(err, faultstore.Err), "drain: %v", err)
}

func pick(g *game, from []string) string {
	if len(from) == 0 {
		return ""
	}
	return from[g.dice.IntN(len(from))]
}

func (g *game) step() {
	g.steps++
	ctx, s := g.t.Context(), g.sides[g.dice.IntN(2)]
	switch g.dice.IntN(60) {
	case 0, 1:
		g.newCode(s)
	case 2, 3, 4:
		g.payCode(s)
	case 5, 6:
		g.disburse(s)
	case 7:
		g.payOut(s)
	case 8, 24:
		id := pick(g, s.transfers)
		if g.dice.IntN(2) == 0 { // one that no worker has seen
			g.disburse(s)
			if n := len(s.transfers); n > 0 {
				id = s.transfers[n-1]
			}
		}
		if id != "" {
			_, _ = g.call("cancel", s, func(c api.Caller) (string, error) {
				cancel := g.svc.Disbursements.Cancel
				if g.payouts[id] {
					cancel = g.svc.Payouts.Cancel
				}
				return idOf(cancel(ctx, c, id))
			})
		}
	case 9, 10:
		g.bill(s)
	case 11, 25, 26:
		g.collect(s)
	case 12:
		if id := pick(g, s.codes); id != "" && !s.gone[id] {
			if g.dice.IntN(3) == 0 {
				_, err := g.call("delete code", s, func(c api.Caller) (string, error) { return id, second(g.svc.QRCodes.Delete(ctx, c, id)) })
				s.gone[id] = err == nil
			} else {
				active := g.dice.IntN(2) == 0
				_, _ = g.call("switch code", s, func(c api.Caller) (string, error) {
					return id, second(g.svc.QRCodes.Update(ctx, c, id, qrcode.UpdateParams{Active: &active}))
				})
			}
		}
	case 13:
		status := []account.Status{account.Active, account.Active, account.Frozen}[g.dice.IntN(3)]
		_, _ = g.call("status", s, func(c api.Caller) (string, error) {
			id := s.consumers[0]
			return id, second(g.svc.Accounts.UpdateConsumer(ctx, api.Caller{Live: c.Live}, id, account.UpdateHolderParams{Status: new(status)}))
		})
	case 14:
		g.callBack()
	case 15, 16, 17:
		g.refund(s)
	case 18:
		g.batch(s)
	case 19, 20:
		g.know(s)
	case 21, 40, 41:
		g.configure()
	case 22:
		g.seal()
	case 23:
		g.moveClock()
	case 44, 45:
		g.takeBack(s)
	case 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39:
		g.stepOfPhones(s)
	case 57:
		g.decide(s)
	case 52, 53, 54, 55, 56, 58, 59:
		for range 2 {
			g.subscribe(s)
		}
	case 46, 47, 48, 49, 50, 51:
		g.stepOfSessions(s)
	default:
		g.pass()
	}
	if g.dice.IntN(3) == 0 {
		g.drain()
	}
	g.revive()
}

// pass lets time go by: a moment, or weeks.
func (g *game) pass() {
	days := 0
	switch g.dice.IntN(4) {
	case 0:
		g.now = g.now.Add(time.Duration(g.dice.Int64N(int64(time.Minute))))
	case 1:
		g.now = g.now.Add(time.Duration(g.dice.Int64N(int64(time.Hour))))
	case 2:
		g.now = g.now.Add(time.Duration(g.dice.Int64N(int64(48 * time.Hour))))
	default:
		days = 7 + g.dice.IntN(15)
	}
	g.history = append(g.history, fmt.Sprintf("now %s, and %d days", g.now, days))
	if g.dice.IntN(3) == 0 {
		g.start()
	}
	g.drain()
	for range days {
		g.now = g.now.Add(24 * time.Hour)
		g.drain()
	}
	to := g.sides[g.dice.IntN(2)]
	g.deposit(to, to.caller.Merchant, 100_00)
}

// moveClock moves the clock of the merchant in test mode ahead of all others.
func (g *game) moveClock() {
	by := time.Duration(g.dice.Int64N(int64([]time.Duration{time.Hour, 10 * 24 * time.Hour}[g.dice.IntN(2)]))).Truncate(time.Millisecond)
	to := g.now.Add(g.ahead + by).Truncate(time.Millisecond)
	// Only what fails is repeated: of a move whose answer is lost, no caller can know
	// without looking at the clock.
	g.store.FailAt(g.dice.IntN(40)) // 0 for never
	_, err := g.svc.MoveClock(g.t.Context(), g.sides[0].caller, payments.ClockParams{To: to})
	must.Do(g.t, g.svc.Stop(g.t.Context()))
	if g.store.Heal() {
		g.faults++
	}
	if errors.Is(err, faultstore.Err) {
		_, err = g.svc.MoveClock(g.t.Context(), g.sides[0].caller, payments.ClockParams{To: to})
		must.Do(g.t, g.svc.Stop(g.t.Context()))
	}
	expect.NoError(g.t, err, "move clock")
	g.played["move clock"]++
	g.history = append(g.history, fmt.Sprintf("clock %s", to))
	g.ahead += by
}

// seal seals the ledger, and finds it sealed.
func (g *game) seal() {
	g.fault()
	_, err := g.svc.Accounts.Seal(g.t.Context())
	if g.store.Heal() {
		g.faults++
	}
	if errors.Is(err, faultstore.Err) {
		_, err = g.svc.Accounts.Seal(g.t.Context())
	}
	must.Do(g.t, err)
	v := must.Get(g.svc.Accounts.Verify(g.t.Context()))(g.t)
	expect.Equal(g.t, v.Sealed, v.Entries, "of %d entries, %d are sealed", v.Entries, v.Sealed)
	g.played["sealed"]++
	g.history = append(g.history, fmt.Sprintf("sealed %d", v.Sealed))
}

func second[T any](_ T, err error) error { return err }

// keep is call, and adds the id to ids if the call succeeds.
func (g *game) keep(ids *[]string, name string, s *side, do func(api.Caller) (string, error)) string {
	g.t.Helper()
	id, err := g.call(name, s, do)
	if err == nil {
		*ids = append(*ids, id)
	}
	return id
}

// idOf returns the id of what a call has made, if it has made something.
func idOf[T any](made *T, err error) (string, error) {
	if err != nil || made == nil {
		return "", err
	}
	return reflect.ValueOf(made).Elem().FieldByName("ID").String(), nil
}
