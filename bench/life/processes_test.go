package life

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/bench/internal/httpload"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

const (
	processMerchants = 5000
	warmKeys         = 32 // of processMerchants; the other keys are cold
	processCallers   = 64
	// processLimit ends each measurement of a turn, so that slow ones do not take minutes, and
	// warmUpLimit what comes before, in which each process reads what it needs for the first time.
	processLimit = 2 * time.Second
	warmUpLimit  = 20 * time.Second
)

// BenchmarkProcesses disburses to wallets over HTTP with 64 callers, to one, two and four server
// processes in turn, with round trips to PostgreSQL of several lengths. The round trip is that of
// a proxy of the benchmark's own.
//
// An op is a transfer with a warm key: each process has seen the key before. of-one is the rate as
// a share of that of one process alone, with which the processes take turns. cold-of-warm is the
// rate with keys, and so merchants, that each process sees for the first time. apart-of-one is the rate of
// processes with merchants of their own in the one schema. own-of-one is the rate of processes that share no
// order of commits, because each has a schema of its own, too. The processes start anew for each turn, and the
// median of the turns counts.
func BenchmarkProcesses(b *testing.B) {
	m := newMerchants(b, processMerchants)
	var own []*merchants
	for range 4 {
		own = append(own, newMerchants(b, warmKeys))
	}
	for _, roundTrip := range []time.Duration{0, 2800 * time.Microsecond, 8 * time.Millisecond} {
		b.Run(fmt.Sprint("roundtrip=", roundTrip), func(b *testing.B) {
			m.URL = newDelayProxy(b, postgresURL(b), roundTrip)
			for _, o := range own {
				o.URL = m.URL
			}
			for _, processes := range []int{1, 2, 4} {
				b.Run(fmt.Sprint("processes=", processes), func(b *testing.B) { benchmarkProcesses(b, m, own[:processes]) })
			}
		})
	}
}

func benchmarkProcesses(b *testing.B, m *merchants, own []*merchants) {
	processes := len(own)
	if b.N == 1 {
		return // a trial; each start takes seconds
	}
	const turns = 3
	share := max(b.N/turns, processCallers)
	var each, ofOne, ofWarm, apartOfOne, ownOfOne []float64
	for range turns {
		warm, cold := m.rates(b, processes, share, min(share, processMerchants-warmKeys))
		one := warm
		if processes > 1 {
			one, _ = m.rates(b, 1, share, 0)
			apart := make([]*merchants, processes)
			for i := range apart {
				apart[i] = &merchants{m.processConfig, m.keys[i*warmKeys : (i+1)*warmKeys], m.wallets}
			}
			apartOfOne = append(apartOfOne, ownRate(b, apart, share)/one)
			ownOfOne = append(ownOfOne, ownRate(b, own, share)/one)
		}
		each = append(each, 1e9/warm)
		ofOne = append(ofOne, warm/one)
		ofWarm = append(ofWarm, cold/warm)
	}
	b.ReportMetric(httpload.Median(each), "ns/op")
	b.ReportMetric(httpload.Median(ofOne), "of-one")
	b.ReportMetric(httpload.Median(ofWarm), "cold-of-warm")
	if processes > 1 {
		b.ReportMetric(httpload.Median(apartOfOne), "apart-of-one")
		b.ReportMetric(httpload.Median(ownOfOne), "own-of-one")
	}
}

// ownRate starts a process for each of the merchants, and returns the transfers per second that they answer
// together, with as many callers as one process has.
func ownRate(b *testing.B, own []*merchants, requests int) float64 {
	b.Helper()
	loads := make([]httpload.Load, len(own))
	for i, m := range own {
		p := startProcesses(b, m.processConfig, 1)[0]
		defer p.stop(b)
		loads[i] = httpload.Load{
			Address: p.address, Connections: processCallers / len(own), Wallets: m.wallets, Keys: m.keys,
		}
	}
	measure(b, 16*warmKeys, warmUpLimit, loads...)
	return measure(b, requests/len(own), processLimit, loads...)
}

// rates starts so many processes, and returns the transfers per second that they answer together:
// warmRequests with warm keys, and then coldRequests with a cold key each.
func (m *merchants) rates(b *testing.B, processes, warmRequests, coldRequests int) (warm, cold float64) {
	b.Helper()
	load := httpload.Load{Connections: processCallers, Wallets: m.wallets, Keys: m.keys[:warmKeys]}
	for _, p := range startProcesses(b, m.processConfig, processes) {
		defer p.stop(b)
		load.Addresses = append(load.Addresses, p.address)
	}
	measure(b, 16*warmKeys*processes, warmUpLimit, load)
	warm = measure(b, warmRequests, processLimit, load)
	if coldRequests > 0 {
		load.Keys = m.keys[warmKeys:]
		cold = measure(b, coldRequests, processLimit, load)
	}
	return warm, cold
}

// measure runs the loads beside each other, each with so many requests, and returns the transfers per
// second that are answered together.
func measure(b *testing.B, requests int, limit time.Duration, loads ...httpload.Load) (total float64) {
	b.Helper()
	rates := make([]float64, len(loads))
	var all sync.WaitGroup
	for i, load := range loads {
		all.Go(func() {
			load.Requests, load.Limit = requests, limit
			done, err := httpload.Run(b.Context(), load)
			if err != nil {
				b.Error(err)
				return
			}
			rates[i] = float64(len(done.Durations)) / done.Elapsed.Seconds()
		})
	}
	all.Wait()
	if b.Failed() {
		b.FailNow()
	}
	for _, r := range rates {
		total += r
	}
	return total
}

// merchants are many merchants with money and a key, in a schema of PostgreSQL.
type merchants struct {
	processConfig
	keys, wallets []string
}

func newMerchants(b *testing.B, n int) *merchants {
	b.Helper()
	m := &merchants{keys: make([]string, n)}
	m.Schema = pgtest.Schema(b)
	store := must.Get(postgres.Open(b.Context(), pgtest.Pool(b, poolSize), postgres.Config{Schema: m.Schema}))(b)
	defer store.Close()
	svc := must.Get(payments.New(b.Context(), store, payments.Config{Logger: slog.New(slog.DiscardHandler)}))(b)
	for i := range 64 {
		c := must.Get(svc.Accounts.CreateConsumer(b.Context(), api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: fmt.Sprintf("024%07d", 100+i)}))(b)
		m.wallets = append(m.wallets, c.ServiceID)
	}
	var all sync.WaitGroup
	for part := range processCallers {
		all.Go(func() {
			for i := part; i < len(m.keys); i += processCallers {
				var err error
				if m.keys[i], err = openMerchant(b.Context(), svc); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return m
}

// openMerchant makes a merchant with money, and returns a key.
func openMerchant(ctx context.Context, svc *payments.Service) (key string, err error) {
	merchant, err := svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar"})
	if err != nil {
		return "", err
	}
	err = svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: merchant.ID, Amount: decimal.NewFromInt(900_000), Source: "test"})
	if err != nil {
		return "", err
	}
	made, err := svc.Accounts.CreateKey(ctx, api.Caller{Merchant: merchant.ID}, account.CreateKeyParams{Name: "bench"})
	if err != nil {
		return "", err
	}
	return made.Secret, nil
}

// processEnv is set for a child process that is a server. It holds a processConfig.
const processEnv = "PAYMENTS_TEST_SERVER"

// processConfig says where a server process finds its database.
type processConfig struct{ URL, Schema string }

// process is a server in a process of its own.
type process struct {
	address string
	input   io.Closer // the process ends with its input
	cmd     *exec.Cmd
	stopped bool
}

// startProcesses returns so many processes that answer. They end with the test.
func startProcesses(b testing.TB, c processConfig, n int) (all []*process) {
	b.Helper()
	var outputs []io.Reader
	for range n { // a start takes many round trips, so they start together
		cmd := exec.CommandContext(context.WithoutCancel(b.Context()), os.Args[0])
		cmd.Env = append(os.Environ(), processEnv+"="+string(must.Get(json.Marshal(c))(b)))
		cmd.Stderr = os.Stderr
		p := &process{cmd: cmd, input: must.Get(cmd.StdinPipe())(b)}
		outputs = append(outputs, must.Get(cmd.StdoutPipe())(b))
		must.Do(b, cmd.Start())
		b.Cleanup(func() { p.stop(b) }) // if it was not stopped before
		all = append(all, p)
	}
	for i, p := range all {
		address := must.Get(bufio.NewReader(outputs[i]).ReadString('\n'))(b)
		p.address = strings.TrimSpace(address)
	}
	return all
}

func (p *process) stop(b testing.TB) {
	b.Helper()
	if p.stopped {
		return
	}
	p.stopped = true
	if err := errors.Join(p.input.Close(), p.cmd.Wait()); err != nil {
		b.Error(err)
	}
}

// serveProcess runs a server until the input of the process ends.
func serveProcess(config string) error {
	var c processConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	ctx := context.Background()
	poolConfig, err := postgres.PoolConfig(c.URL)
	if err != nil {
		return err
	}
	poolConfig.MaxConns = poolSize
	pool, err := pgxpool.NewWithConfig(ctx, poolConfig)
	if err != nil {
		return err
	}
	defer pool.Close()
	store, err := postgres.Open(ctx, pool, postgres.Config{Schema: c.Schema})
	if err != nil {
		return err
	}
	svc, err := payments.New(ctx, store, payments.Config{Logger: slog.New(slog.DiscardHandler), Test: payments.Providers{Rail: &slowRail{}}})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, store.Close())
	}
	server := httpapi.NewServer("", httpapi.New(svc, inFlight))
	svc.Start(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = server.Close()
	}()
	fmt.Println(listener.Addr())
	if err = server.Serve(listener); errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	stopping, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return errors.Join(err, svc.Stop(stopping), store.Close())
}
