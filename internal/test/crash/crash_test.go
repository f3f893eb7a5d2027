package crash_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/collect"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/race"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

var kills = flag.Int("kills", 0, "how often the crash loop kills the server; 0 for a few")

// crashers are the databases of the crash loop: what -db names, and how it is
// opened beside, while no server runs.
var crashers = []struct {
	name string
	few  int
	db   func(t *testing.T) (db string, open func() storage.Store)
}{
	{"sqlite", effort.Of(3, 8), func(t *testing.T) (string, func() storage.Store) {
		path := filepath.Join(effort.TempDir(t), "payments.db")
		return path, func() storage.Store {
			return must.Get(sqlite.Open(context.Background(), path, sqlite.Config{}))(t)
		}
	}},
	{"postgres", effort.Of(2, 4), func(t *testing.T) (string, func() storage.Store) {
		db := must.Get(url.Parse(pgtest.URL(t)))(t)
		pool, schema := pgtest.Pool(t, 16), pgtest.Schema(t)
		query := db.Query()
		query.Set("search_path", schema)
		db.RawQuery = query.Encode()
		return db.String(), func() storage.Store {
			return must.Get(postgres.Open(context.Background(), pool, postgres.Config{Schema: schema}))(t)
		}
	}},
}

// TestCrashes kills real servers at random, under the load of clients who
// repeat with the same key what was not answered. In half of the lives two servers work
// on one database. After each death the ledger
// verifies, and all that was acknowledged is there; in the end every request has
// had its effect once, what payers approved on their phones is paid, or given back where
// another had paid, and each period of a subscription has one invoice.
//
//	go test ./internal/test/crash -run TestCrashes -kills 300 -timeout 60m
func TestCrashes(t *testing.T) {
	if race.Detector || runtime.GOOS == "windows" {
		t.Skip("it kills processes")
	}
	binary := filepath.Join(effort.TempDir(t), "quickstart")
	if out, err := exec.Command("go", "build", "-o", binary, "github.com/seed-7082ffec/payments/examples/quickstart").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, on := range crashers {
		t.Run(on.name, func(t *testing.T) {
			n := on.few
			if *kills > 0 {
				n = *kills
			}
			db, open := on.db(t)
			l := &crashLoop{t: t, binary: binary, db: db, open: open, dice: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 3))}
			l.run(n)
		})
	}
}

// crashLoop are servers that die again and again, and their clients.
type crashLoop struct {
	t          *testing.T
	binary, db string
	open       func() storage.Store
	dice       *rand.Rand

	servers [2]server
	shop    struct {
		BaseURL    string `json:"base_url"`
		MerchantID string `json:"merchant_id"`
		TestKey    string `json:"test_key"`
	}
	consumer string // acc_…
	code     string
	twice    []string // codes of one use that two payers pay

	// seen are the acknowledged objects by kind, one for each key.
	mu   sync.Mutex
	seen map[string][]string
	made atomic.Int64 // requests that were acknowledged
	gym  *gym
}

// server is a process. Its address stays the same over all starts.
type server struct {
	address string
	cmd     *exec.Cmd
}

func (l *crashLoop) run(n int) {
	t := l.t
	l.seen = map[string][]string{}
	for i := range l.servers {
		listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t) // a port that is free
		l.servers[i].address = listener.Addr().String()
		must.Do(t, listener.Close())
	}
	// Deaths in the first start, while everything is being made.
	for range 3 {
		l.launch(0)
		l.sleep(400)
		l.kill(0)
	}
	l.start(0)
	l.fund()
	l.kill(0)
	l.openGym()
	l.start(0)

	const clients = 8
	done := make(chan struct{})
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
					l.request(c, i)
				}
			}
		})
	}
	all.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				l.gym.request(i)
			}
		}
	})
	two := 0 // lives of two servers
	for range n {
		lives := []int{0}
		if l.dice.IntN(2) == 0 {
			l.start(1)
			lives = l.dice.Perm(2)
			two++
		}
		// So long a life that requests are answered in most, and few in some.
		l.sleep(800)
		for _, i := range lives { // one dies before the other
			l.kill(i)
			if len(lives) > 1 {
				l.sleep(200)
			}
		}
		l.inspect(false)
		l.start(0)
		if t.Failed() {
			break
		}
	}
	close(done)
	all.Wait() // every client has the answer to its last request
	l.kill(0)
	l.inspect(true)
	t.Logf("%d kills, %d of them of one of two servers, %d requests acknowledged, %d periods", n+two+4, 2*two, l.made.Load(), l.gym.periods)
	expect.True(t, l.made.Load() != 0, "nothing was acknowledged")
}

// sleep sleeps for less than so many milliseconds.
func (l *crashLoop) sleep(ms int) { time.Sleep(time.Duration(l.dice.IntN(ms)) * time.Millisecond) }

// launch starts a server without waiting for it.
func (l *crashLoop) launch(i int) (out io.Reader, says *bytes.Buffer) {
	s := &l.servers[i]
	says = &bytes.Buffer{}
	s.cmd = exec.Command(l.binary, "-db", l.db, "-addr", s.address, "-base-url", "http://pay.example.com", "-json")
	s.cmd.Stderr = says
	out = must.Get(s.cmd.StdoutPipe())(l.t)
	must.Do(l.t, s.cmd.Start())
	return out, says
}

// start starts a server and waits until it serves.
func (l *crashLoop) start(i int) {
	out, says := l.launch(i)
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		_ = l.servers[i].cmd.Wait()
		l.t.Fatalf("it does not start again: %v\n%s", err, says.String())
	}
	// Keys of earlier starts go on working: the first one is used throughout.
	if l.shop.TestKey == "" {
		must.Do(l.t, json.Unmarshal(line, &l.shop))
	}
}

func (l *crashLoop) kill(i int) {
	must.Do(l.t, l.servers[i].cmd.Process.Signal(os.Kill))
	_ = l.servers[i].cmd.Wait()
}

// fund gives the merchant money, and finds a consumer and a code.
func (l *crashLoop) fund() {
	l.must("POST", "/v1/test_helpers/balance", "fund", `{"amount":900000}`)
	data := l.must("POST", "/v1/test_helpers/consumers", "", `{"name":"C","phone_number":"0249999999","pin":"1234","balance":900000}`)
	var consumer struct {
		ID string `json:"account_id"`
	}
	must.Do(l.t, json.Unmarshal(data, &consumer))
	l.consumer = consumer.ID
	var code struct{ ID string }
	must.Do(l.t, json.Unmarshal(l.must("POST", "/v1/qr_codes", "code", `{"amount":100,"reference":"all"}`), &code))
	l.code = code.ID
}

// must sends a request of the shop until it is answered, always with the same key.
func (l *crashLoop) must(method, path, key, body string) []byte {
	return l.mustAs(l.shop.TestKey, method, path, key, body)
}

// mustAs sends a request of the merchant who has a secret key. Each attempt goes to another server.
func (l *crashLoop) mustAs(secret, method, path, key, body string) []byte {
	for attempt := 0; ; attempt++ {
		status, data, err := l.send(l.t.Context(), attempt%2, secret, method, path, key, body)
		if err != nil {
			time.Sleep(5 * time.Millisecond) // it is dead
			continue
		}
		if status == http.StatusServiceUnavailable {
			continue
		}
		if status != http.StatusOK {
			l.t.Errorf("%s: %d %s", path, status, data)
			time.Sleep(50 * time.Millisecond)
		}
		return data
	}
}

// send sends a request once, to one of the servers.
func (l *crashLoop) send(ctx context.Context, to int, secret, method, path, key, body string) (status int, data []byte, err error) {
	r := must.Get(http.NewRequestWithContext(ctx, method, "http://"+l.servers[to].address+path, strings.NewReader(body)))(l.t)
	r.Header.Set("Authorization", "Bearer "+secret)
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	r.Close = true
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	data, err = io.ReadAll(response.Body)
	return response.StatusCode, data, err
}

// request makes one request, whatever dies meanwhile.
func (l *crashLoop) request(client, i int) {
	key := fmt.Sprintf("client-%d-%d", client, i)
	kind, path, body := "", "", ""
	switch i % 6 {
	case 0:
		kind, path = "disbursements", "/v1/disbursements"
		body = fmt.Sprintf(`{"amount":1,"reference":%q,"destination":{"type":"service_wallet","account_id":%q}}`, key, l.consumer)
	case 1:
		kind, path = "disbursements", "/v1/disbursements"
		body = fmt.Sprintf(`{"amount":2,"reference":%q,"destination":{"type":"mobile_money","phone_number":"0241234567"}}`, key)
	case 2:
		kind, path, body = "qr_codes", "/v1/qr_codes", fmt.Sprintf(`{"reference":%q}`, key)
	case 3:
		kind, path = "payments", "/v1/payments"
		body = fmt.Sprintf(`{"amount":300,"phone_number":%q,"reference":%q}`, approves, key)
	case 4:
		kind, path = "payments", "/v1/test_helpers/qr_codes/"+l.code+"/pay"
		body = fmt.Sprintf(`{"phone_number":%q}`, approves)
	default:
		kind, path = "payments", "/v1/test_helpers/qr_codes/"+l.code+"/pay"
		body = fmt.Sprintf(`{"account_id":%q,"pin":"1234"}`, l.consumer)
	}
	var object struct{ ID string }
	if err := json.Unmarshal(l.must("POST", path, key, body), &object); err != nil || object.ID == "" {
		l.t.Errorf("%s: %v", path, err)
		return
	}
	l.made.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[kind] = append(l.seen[kind], object.ID)
}

// Phones of payers: one approves at once, the other after 25 seconds.
const approves, approvesLate = "0241234567", "0241230904"

// payTwice lets a payer leave the page of a code of one use and approve later, and another payer pay.
func (l *crashLoop) payTwice(svc *payments.Service, caller api.Caller) {
	ctx, amount := l.t.Context(), int64(100)
	code := must.Get(svc.QRCodes.Create(ctx, caller, qrcode.CreateParams{Type: qrcode.Dynamic, Amount: &amount}))(l.t)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.twice = append(l.twice, code.ID)
	l.seen["qr_codes"] = append(l.seen["qr_codes"], code.ID)
	for _, number := range []string{approvesLate, approves} {
		p := must.Get(svc.QRCodes.Pay(ctx, caller, code.ID, qrcode.PayParams{MobileMoney: payment.MobileMoney{PhoneNumber: number}}))(l.t)
		l.seen["payments"] = append(l.seen["payments"], p.ID)
		if number == approvesLate {
			must.Do(l.t, svc.Providers.Notify(ctx, p.ID, provider.Result{Outcome: provider.InProgress}))
			must.Do(l.t, svc.Payments.Leave(ctx, caller, p.ID))
		}
	}
}

// givenBack is what was refunded of each payment, in pesewas. No client refunds anything.
func (l *crashLoop) givenBack(svc *payments.Service, caller api.Caller) map[string]int64 {
	back := map[string]int64{}
	for r, err := range api.All(l.t.Context(), caller, refund.ListParams{}, svc.Refunds.List) {
		must.Do(l.t, err)
		expect.Equal(l.t, back[r.Payment], 0, "refunded of %s before %s", r.Payment, r.ID)
		must.True(l.t, r.Reason != nil, "%s of %s has no reason", r.ID, r.Payment)
		expect.Equal(l.t, *r.Reason, collect.CodeUsedUp, "the reason of %s of %s", r.ID, r.Payment)
		back[r.Payment] = r.Amount
	}
	return back
}

// inspect opens the database while no server runs.
func (l *crashLoop) inspect(end bool) {
	t, ctx := l.t, l.t.Context()
	l.mu.Lock()
	seen := map[string][]string{}
	for kind, ids := range l.seen {
		seen[kind] = append([]string(nil), ids...)
	}
	l.mu.Unlock()

	store := l.open()
	defer func() { must.Do(l.t, store.Close()) }()
	config := payments.Config{Sandbox: true}
	if end { // the leases of the dead have run out
		config.Clock = func() time.Time { return time.Now().Add(time.Hour) }
	}
	svc := testkit.New(t, store, config)
	if end {
		must.Do(l.t, svc.Drain(ctx)) // what the last server left
	}
	v := must.Get(svc.Accounts.Verify(ctx))(t)
	for _, problem := range v.Problems {
		// On a slow machine no server may live long enough to seal.
		expect.True(l.t, !end, "in the end: %s", problem)
		expect.True(l.t, strings.Contains(problem, "entries have no seal"), "after a death: %s", problem)
	}
	// Each death may leave a try of the PIN counted, and five deaths without a payment
	// between them would lock it.
	must.Do(l.t, svc.Accounts.SetPIN(ctx, api.Caller{}, l.consumer, account.SetPINParams{PIN: "1234"}))
	caller := api.Caller{Merchant: l.shop.MerchantID}
	found := map[string]map[string]bool{"disbursements": {}, "qr_codes": {}, "payments": {}}
	references := map[string]bool{}
	note := func(kind, id, reference string) {
		found[kind][id] = true
		expect.True(t, reference == "" || !references[kind+reference], "%s %s was made twice", kind, reference)
		references[kind+reference] = true
	}
	sent := decimal.Zero
	for _, d := range testkit.All(api.All(ctx, caller, payout.ListParams{}, svc.Disbursements.List)) {
		note("disbursements", d.ID, *d.Reference)
		if sent = sent.Add(d.Amount.Decimal).Add(d.Fee.Decimal); end && d.Status != payout.Completed {
			t.Errorf("%s is %s", d.ID, d.Status)
		}
	}
	for _, q := range testkit.All(api.All(ctx, caller, qrcode.ListParams{}, svc.QRCodes.List)) {
		note("qr_codes", q.ID, q.Reference)
	}
	if !end {
		l.payTwice(svc, caller)
	}
	got, back := decimal.Zero, l.givenBack(svc, caller)
	kept := map[string]int{} // payments of a code
	for _, p := range testkit.All(api.All(ctx, caller, payment.ListParams{}, svc.Payments.List)) {
		direct := ""
		if p.QRCode == nil {
			direct = p.Reference
		}
		note("payments", p.ID, direct)
		if p.Status == payment.Completed {
			got = got.Add(decimal.New(p.Amount-back[p.ID], -2))
			if p.QRCode != nil && back[p.ID] == 0 {
				kept[*p.QRCode]++
			}
		}
		// Every payer approves, so only what was never sent may fail.
		unsent := p.Status == payment.Failed && strings.Contains(*p.FailureReason, "could not be sent")
		expect.True(t, !end || p.Status == payment.Completed || unsent, "%s is %s", p.ID, p.Status)
	}
	for _, code := range l.twice {
		expect.True(t, !end || kept[code] == 1, "%s was paid %d times", code, kept[code])
	}
	expect.True(t, !end || len(back) > 0 || len(l.twice) == 0, "nothing was given back")
	for kind, ids := range seen {
		for _, id := range ids {
			expect.True(t, found[kind][id], "%s was acknowledged, and is lost", id)
		}
		if end && kind != "qr_codes" && len(found[kind]) != len(ids) {
			t.Errorf("%d %s were acknowledged, and there are %d", len(ids), kind, len(found[kind]))
		}
	}
	if end {
		l.gym.inspect(svc)
	}
	testkit.CheckTotals(l.t, svc, caller)
	b := must.Get(svc.Accounts.Balance(ctx, caller))(l.t)
	if want := decimal.NewFromInt(900_000).Add(got).Sub(sent); !b.Available.Equal(want) {
		t.Errorf("the merchant has %s, want %s", b.Available, want)
	}
	must.Do(l.t, store.View(ctx, func(tx storage.ReadTx) error {
		reserved, err := tx.Balance(ledger.Reserved(l.shop.MerchantID, false).Name)
		expect.True(t, !end || reserved.Amount == 0, "%d pesewas stay reserved", reserved.Amount)
		return err
	}))
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
