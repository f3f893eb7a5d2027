package payments_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"golang.org/x/crypto/argon2"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/faulty"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/internal/race"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/webhook"
)

var (
	seeds     = flag.Int("seeds", 0, "how many seeds the simulation plays on each store; 0 for a few")
	firstSeed = flag.Uint64("seed", 0, "the first seed that the simulation plays")
)

// TestSimulation plays random weeks of two merchants, one in test mode and one in
// live mode: a world that loses requests and answers, decides late and calls back
// twice, a store that fails and loses answers, callers who repeat what they do
// not know the outcome of, and processes that die. After every step all that is
// known of the truth is compared with what the service says.
//
//	go test . -run TestSimulation -seeds 10000
//	go test . -run TestSimulation -seed 4711 -seeds 1
func TestSimulation(t *testing.T) {
	few := map[string]int{"memory": 200, "sqlite": 10, "postgres": 4}
	if race.Detector || testing.Short() {
		few = map[string]int{"memory": 20, "sqlite": 2, "postgres": 2}
	}
	told := newReceivers(t)
	for _, backend := range backends {
		t.Run(backend.name, func(t *testing.T) {
			n := few[backend.name]
			if *seeds > 0 {
				n = *seeds
			}
			var steps, faults, calls int
			for seed := *firstSeed; seed < *firstSeed+uint64(n); seed++ {
				store := backend.open(t)
				g := play(t, seed, store, told)
				check(store.Close())
				steps, faults, calls = steps+g.steps, faults+g.faults, calls+g.key
				if t.Failed() {
					t.Fatalf("seed %d; its history:\n%s", seed, strings.Join(g.history, "\n"))
				}
			}
			t.Logf("%d seeds, %d steps, %d calls, %d faults of the store", n, steps, calls, faults)
			if faults == 0 || calls == 0 {
				t.Error("nothing was played")
			}
		})
	}
}

// One seed is one game.
func TestASimulationReplays(t *testing.T) {
	told := newReceivers(t)
	for seed := range uint64(5) {
		var first []string
		for range 2 {
			store := backends[0].open(t)
			g := play(t, seed, store, told)
			check(store.Close())
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
}

// game is one simulation.
type game struct {
	t     *testing.T
	dice  *rand.Rand
	now   time.Time
	newID func(string) string
	world *world
	store *faulty.Store
	svc   *payments.Service
	hook  string // where the receiver is
	path  string

	sides   [2]*side
	payouts map[string]bool // the transfers that are payouts
	key     int             // calls so far
	steps   int
	faults  int
	history []string
}

func play(t *testing.T, seed uint64, store storage.Store, told *receivers) *game {
	g := &game{
		t: t, dice: rand.New(rand.NewPCG(seed, 2)), now: time.Date(2026, 3, 6, 22, 0, 0, 0, time.UTC),
		world: newWorld(seed), store: faulty.New(store), path: fmt.Sprint("/", seed), payouts: map[string]bool{},
	}
	var random [32]byte
	random[0], random[1], random[2] = byte(seed), byte(seed>>8), byte(seed>>16)
	g.newID = ids.New(func() time.Time { return g.now }, rand.NewChaCha8(random)).Make
	told.begin(g.path, g.world)
	defer told.end(g.path)
	g.hook = told.URL + g.path
	g.start()
	g.settle()
	for range 15 + g.dice.IntN(30) {
		g.step()
		g.audit()
		if t.Failed() {
			return g
		}
	}
	g.finish(told)
	return g
}

// start wires the service, as a new process does.
func (g *game) start() {
	g.now = g.now.Add(time.Millisecond)
	svc, err := payments.New(g.t.Context(), g.store, payments.Config{
		Key: make([]byte, 32), Rail: rail{g.world}, TestRail: rail{g.world}, Charger: charger{g.world}, TestCharger: charger{g.world},
		Texter: texter{g.world}, SingleUseOTP: g.dice.IntN(2) == 0,
		WebhookAllow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Clock:        func() time.Time { return g.now }, NewID: func(p string) string { return g.newID(p) }, Logger: slog.New(slog.DiscardHandler),
	})
	check(err)
	svc.Serialize()
	g.svc = svc
}

// settle makes the merchants and consumers.
func (g *game) settle() {
	ctx := g.t.Context()
	for i := range g.sides {
		live := i == 1
		m, err := g.svc.Accounts.CreateMerchant(ctx, account.MerchantParams{Name: "M", Phone: fmt.Sprint("030100000", i)})
		check(err)
		s := &side{caller: api.Caller{Merchant: m.ID, Live: live}, gone: map[string]bool{}}
		g.sides[i] = s
		for n := range 2 {
			c, err := g.svc.Accounts.CreateConsumer(ctx, account.HolderParams{Name: "C", Phone: fmt.Sprintf("02410000%d%d", i, n), Live: live})
			check(err)
			g.cheapPIN(c.ID, live)
			s.consumers = append(s.consumers, c.ID)
			g.deposit(s, c.ID, 500_00)
		}
		g.deposit(s, m.ID, 300_00)
	}
	_, err := g.svc.Webhooks.Create(ctx, g.sides[0].caller, webhook.CreateParams{URL: g.hook, Events: []event.Type{"*"}})
	check(err)
}

// cheapPIN gives a consumer the PIN 1234, whose hash costs next to nothing.
func (g *game) cheapPIN(id string, live bool) {
	salt := []byte("simulation")
	sum := argon2.IDKey([]byte("1234"), salt, 1, 8, 1, 32)
	encode := base64.RawStdEncoding.EncodeToString
	data, err := json.Marshal(map[string]any{"hash": fmt.Sprintf("$argon2id$v=%d$m=8,t=1,p=1$%s$%s", argon2.Version, encode(salt), encode(sum)), "tries": 0})
	check(err)
	for _, k := range payments.Kinds() {
		if k.Name == "pins" {
			check(g.store.Update(g.t.Context(), func(tx storage.Tx) error {
				return tx.Insert(k, storage.Record{Scope: storage.Scope{Live: live}, ID: id, Columns: []any{}, Data: data})
			}))
		}
	}
}

func (g *game) deposit(s *side, to string, pesewas int64) {
	_, err := g.call("deposit", s, func(c api.Caller) (string, error) {
		return to, g.svc.Accounts.Deposit(g.t.Context(), account.Deposit{
			To: to, Live: c.Live, Amount: decimal.New(pesewas, -2), Source: "bank", IdempotencyKey: c.IdempotencyKey,
		})
	})
	if err != nil {
		g.t.Errorf("deposit: %v", err)
	}
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
	id, err = do(caller)
	if g.store.Heal() {
		g.faults++
	}
	for err != nil && api.CodeOf(err) == "" {
		if !errors.Is(err, faulty.Err) {
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
	if err != nil && !errors.Is(err, faulty.Err) {
		g.t.Errorf("drain: %v", err)
	}
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
	switch g.dice.IntN(16) {
	case 0, 1:
		g.newCode(s)
	case 2, 3, 4:
		g.payCode(s)
	case 5, 6:
		g.disburse(s)
	case 7:
		g.payOut(s)
	case 8:
		if id := pick(g, s.transfers); id != "" {
			_, _ = g.call("cancel", s, func(c api.Caller) (string, error) {
				cancel := g.svc.Disbursements.Cancel
				if g.payouts[id] {
					cancel = g.svc.Payouts.Cancel
				}
				made, err := cancel(ctx, c, id)
				if err != nil {
					return "", err
				}
				return made.ID, nil
			})
		}
	case 9, 10:
		g.bill(s)
	case 11:
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
			return id, second(g.svc.Accounts.SetConsumerStatus(ctx, c.Live, id, status))
		})
	case 14:
		g.callBack()
	default:
		g.now = g.now.Add(time.Duration(g.dice.Int64N(int64([]time.Duration{time.Minute, time.Hour, 48 * time.Hour}[g.dice.IntN(3)]))))
		g.history = append(g.history, "now "+g.now.String())
		if g.dice.IntN(3) == 0 {
			g.start()
		}
		g.drain()
	}
	if g.dice.IntN(3) == 0 {
		g.drain()
	}
}

func second[T any](_ T, err error) error { return err }

func (g *game) callBack() {
	pending := g.world.callbacks
	g.world.callbacks = nil
	for _, id := range pending {
		if strings.HasPrefix(id, "po_") {
			err := g.svc.Payouts.Notify(g.t.Context(), id, g.world.orders[id].result(id))
			g.history = append(g.history, fmt.Sprint("callback ", id, err))
			if err != nil {
				g.t.Errorf("callback of %s: %v", id, err)
			}
		}
	}
}

func (g *game) newCode(s *side) {
	p := qrcode.CreateParams{}
	if g.dice.IntN(2) == 0 {
		p.Type = qrcode.Dynamic
		limit := 1 + g.dice.Int64N(3)
		p.UsageLimit = &limit
	}
	if g.dice.IntN(2) == 0 {
		amount := 1 + g.dice.Int64N(90_00)
		p.Amount = &amount
	}
	id, err := g.call("create code", s, func(c api.Caller) (string, error) {
		made, err := g.svc.QRCodes.Create(g.t.Context(), c, p)
		if err != nil {
			return "", err
		}
		return made.ID, nil
	})
	if err == nil {
		s.codes = append(s.codes, id)
	}
}

func (g *game) pin() string {
	if g.dice.IntN(8) == 0 {
		return "9999"
	}
	return "1234"
}

func (g *game) payCode(s *side) {
	code := pick(g, s.codes)
	if code == "" || s.gone[code] {
		return
	}
	p := qrcode.PayParams{Code: code, Wallet: account.WalletRef{AccountID: pick(g, s.consumers)}, PIN: g.pin()}
	if has, err := g.svc.QRCodes.Get(g.t.Context(), s.caller, code); err == nil && has.Amount == nil {
		amount := 1 + g.dice.Int64N(90_00)
		p.Amount = &amount
	}
	id, err := g.call("pay code", s, func(c api.Caller) (string, error) {
		paid, err := g.svc.QRCodes.Pay(g.t.Context(), c, p)
		if err != nil {
			return "", err
		}
		return paid.ID, nil
	})
	if err == nil {
		s.payments = append(s.payments, id)
	}
}

func (g *game) destination(s *side) payout.DestinationParams {
	switch g.dice.IntN(4) {
	case 0:
		return payout.DestinationParams{Type: payout.ServiceWallet, AccountID: pick(g, s.consumers)}
	case 1:
		return payout.DestinationParams{Type: payout.BankTransfer, AccountNumber: "1234567890", BankCode: "300304"}
	}
	return payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241234567"}
}

func (g *game) disburse(s *side) {
	p := disbursement.CreateParams{Amount: decimal.New(1+g.dice.Int64N(90_00), -2), Destination: g.destination(s)}
	id, err := g.call("disburse", s, func(c api.Caller) (string, error) {
		made, err := g.svc.Disbursements.Create(g.t.Context(), c, p)
		if err != nil {
			return "", err
		}
		return made.ID, nil
	})
	if err == nil {
		s.transfers = append(s.transfers, id)
	}
}

// payOut asks for a code, verifies it and uses it. The code is read in test mode.
func (g *game) payOut(*side) {
	ctx, s := g.t.Context(), g.sides[0]
	_, err := g.call("request code", s, func(c api.Caller) (string, error) {
		return "", second(g.svc.Payouts.RequestOTP(ctx, c, payout.ForPayout))
	})
	if err != nil {
		return
	}
	list, err := g.svc.Messages.List(ctx, s.caller, message.ListParams{To: "0301000000", Kind: message.SMS})
	check(err)
	code := ""
	for _, m := range list.Data {
		if strings.Contains(m.Text, "code to confirm") {
			code = m.Text[:6]
			break
		}
	}
	if g.dice.IntN(8) == 0 {
		code = "000000"
	}
	_, err = g.call("verify code", s, func(c api.Caller) (string, error) {
		return "", second(g.svc.Payouts.VerifyOTP(ctx, c, payout.ForPayout, code))
	})
	if err != nil {
		return
	}
	p := payout.CreateParams{Amount: decimal.New(100+g.dice.Int64N(90_00), -2), Destination: g.destination(s), OTPCode: code}
	id, err := g.call("pay out", s, func(c api.Caller) (string, error) {
		made, err := g.svc.Payouts.Create(ctx, c, p)
		if err != nil {
			return "", err
		}
		return made.ID, nil
	})
	if err == nil {
		s.transfers = append(s.transfers, id)
		g.payouts[id] = true
	}
}

func (g *game) bill(s *side) {
	price := g.dice.Int64N(80_00)
	p := invoice.CreateParams{Fields: invoice.Fields{Lines: []invoice.LineParams{{Description: "x", UnitAmount: &price}}}, AutoFinalize: true}
	if g.dice.IntN(3) == 0 {
		automatic := invoice.ChargeAutomatically
		p.CollectionMethod = &automatic
	}
	id, err := g.call("bill", s, func(c api.Caller) (string, error) {
		made, err := g.svc.Invoices.Create(g.t.Context(), c, p)
		if err != nil {
			return "", err
		}
		return made.ID, nil
	})
	if err == nil {
		s.invoices = append(s.invoices, id)
	}
}

// collect does something to an invoice.
func (g *game) collect(s *side) {
	ctx, id := g.t.Context(), pick(g, s.invoices)
	if id == "" {
		return
	}
	name, do := "void", g.svc.Invoices.Void
	switch g.dice.IntN(5) {
	case 0:
	case 1:
		name, do = "mark uncollectible", g.svc.Invoices.MarkUncollectible
	case 2, 3:
		wallet, pin := account.WalletRef{AccountID: pick(g, s.consumers)}, g.pin()
		_, _ = g.call("pay invoice from a wallet", s, func(c api.Caller) (string, error) {
			return id, second(g.svc.Invoices.PayWallet(ctx, c, id, invoice.WalletParams{Wallet: wallet, PIN: pin}))
		})
		return
	default:
		_, _ = g.call("charge", s, func(c api.Caller) (string, error) {
			return id, second(g.svc.Invoices.Pay(ctx, c, id, invoice.PayParams{}))
		})
		return
	}
	_, _ = g.call(name, s, func(c api.Caller) (string, error) { return id, second(do(ctx, c, id)) })
}
