package life

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/bench/internal/httpload"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// server is the library as a host runs it, with its workers, over a database in which a
// merchant has money.
type server struct {
	*database
	svc     *payments.Service
	gate    *gate
	rail    *slowRail
	address string
	// merchant pays with key.
	merchant, key string
	phones        []string
	// consumers have no money. wallets are their service ids.
	consumers, wallets []string
	// stop ends the server and its workers. It may be called again.
	stop func()
}

// openServer returns a running server over an empty database.
func openServer(b testing.TB, db *database) *server {
	b.Helper()
	s := &server{database: db, rail: &slowRail{}, gate: &gate{queue: "disbursements", outcome: "paid"}}
	s.gate.reset(1<<30, 0)
	s.svc = must.Get(payments.New(b.Context(), db.store, payments.Config{
		Logger: slog.New(slog.DiscardHandler), Test: payments.Providers{Rail: s.rail}, Observer: s.gate, WebhookAllow: paymentstest.Loopback(),
	}))(b)
	ctx := b.Context()
	s.merchant = must.Get(s.svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Adom Juice Bar", Phone: "0301000000"}))(b).ID
	s.key = must.Get(s.svc.Accounts.CreateKey(ctx, api.Caller{Merchant: s.merchant}, account.CreateKeyParams{Name: "bench"}))(b).Secret
	for range 9 {
		must.Do(b, s.svc.Accounts.Deposit(ctx, api.Caller{}, account.DepositParams{To: s.merchant, Amount: decimal.NewFromInt(900_000), Source: "test"}))
	}
	for i := range 64 {
		phone := fmt.Sprintf("024%07d", 100+i)
		c := must.Get(s.svc.Accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Ama Mensah", Phone: phone}))(b)
		s.phones = append(s.phones, phone)
		s.consumers, s.wallets = append(s.consumers, c.ID), append(s.wallets, c.ServiceID)
	}
	s.gate.handler = httpapi.New(s.svc, inFlight)
	var closeHTTP func()
	s.address, closeHTTP = listen(b, s.gate)
	s.svc.Start(context.WithoutCancel(ctx))
	s.stop = sync.OnceFunc(func() {
		closeHTTP()
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		must.Do(b, s.svc.Stop(stopping))
	})
	b.Cleanup(s.stop)
	return s
}

// inFlight lets one key have all connections.
var inFlight = httpapi.Config{Logger: slog.New(slog.DiscardHandler), InFlight: httpapi.InFlight{Test: 1024, All: 8192}}

// listen serves a handler on an address of this machine.
func listen(b testing.TB, handler http.Handler) (address string, stop func()) {
	b.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(b)
	s := httpapi.NewServer("", handler)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(listener) }()
	stop = sync.OnceFunc(func() {
		must.Do(b, s.Close())
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			b.Error(err)
		}
	})
	b.Cleanup(stop)
	return listener.Addr().String(), stop
}

// load returns the load that pays the phones, over so many connections.
func (s *server) load(connections, n int) httpload.Load {
	return httpload.Load{Address: s.address, Connections: connections, Requests: n, Keys: []string{s.key}, Phones: s.phones}
}

// run sends a load from a child process.
func run(b testing.TB, l httpload.Load) httpload.Load {
	b.Helper()
	return must.Get(httpload.Run(b.Context(), l))(b)
}

// lives is what the lives of one turn took.
type lives struct {
	turn
	load httpload.Load
	cpu  time.Duration // of this process
}

// each returns the nanoseconds for each life, from the first request to the last outcome.
func (l *lives) each() float64 { return float64(l.last.Sub(l.first)) / float64(l.want) }

// live sends a load, and waits until all of its lives have ended.
func (s *server) live(b testing.TB, l httpload.Load, limit int) *lives {
	b.Helper()
	var load httpload.Load
	result := s.await(b, l.Requests, limit, func() { load = run(b, l) })
	result.load = load
	return result
}

// await calls begin, which begins n lives, and waits until all have ended.
func (s *server) await(b testing.TB, n, limit int, begin func()) *lives {
	b.Helper()
	done := s.gate.reset(limit, n)
	cpu := httpload.CPUTime()
	begin()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		b.Fatalf("%d of %d lives have ended", s.gate.result().ended, n)
	}
	return &lives{cpu: httpload.CPUTime() - cpu, turn: s.gate.result()}
}
