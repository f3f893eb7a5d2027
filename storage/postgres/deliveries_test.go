package postgres_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
	"github.com/seed-7082ffec/payments/webhook"
)

// workerHooks makes a worker deliver webhooks. Its value is the start time of the common clock.
const workerHooks = "PAYMENTS_TEST_WORKER_HOOKS"

const (
	faster = 6 // that clock's speed, as a multiple of real time
	// lease is the lease of a delivery by that clock, which ends before its renewal. It begins
	// with the claim. The report comes when the work begins, at most later afterwards.
	lease, later = 15 * time.Second, 10 * time.Second
)

// hookConfig is the configuration of all processes.
func hookConfig(began time.Time) payments.Config {
	return payments.Config{
		Key: make([]byte, 32), Poll: 50 * time.Millisecond, WebhookAllow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Logger: slog.New(slog.DiscardHandler),
		Clock:  func() time.Time { return began.Add(faster * time.Since(began)) },
	}
}

// deliver runs a worker until its input ends. The worker reports its deliveries.
func deliver(url, schema, text string) error {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return err
	}
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	store, err := postgres.Open(ctx, pool, postgres.Config{Schema: schema})
	if err != nil {
		return err
	}
	config := hookConfig(time.UnixMilli(ms))
	config.Observer = &told{now: config.Clock}
	svc, err := payments.New(ctx, store, config)
	if err != nil {
		return err
	}
	svc.Start(ctx)
	_, _ = io.Copy(io.Discard, os.Stdin) // until it ends, however it does
	return svc.Stop(ctx)
}

// told is an observer that prints a line for each begin and end of a delivery: the process, begin
// or end, the delivery, the time, and the outcome.
type told struct {
	now func() time.Time
	mu  sync.Mutex
}

func (o *told) tell(what string, w payments.Work) {
	if w.Queue != "webhook_deliveries" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	fmt.Println(os.Getpid(), what, w.ID, o.now().UnixMilli(), w.Outcome)
}

func (o *told) BeginWork(ctx context.Context, w payments.Work) context.Context {
	o.tell("begin", w)
	return ctx
}

func (o *told) EndWork(_ context.Context, w payments.Work) { o.tell("end", w) }

// hold is the period in which a process had a delivery.
type hold struct {
	process, delivery string
	begin, end        int64 // end is 0 if the process died during the delivery
}

// holds reads the reports of the processes.
func (r *reports) holds(t *testing.T) (all []*hold) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	ends := map[string][]int64{}
	for _, line := range r.lines {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue // the unfinished last line of a killed process
		}
		at, err := strconv.ParseInt(f[3], 10, 64)
		must.True(t, err == nil, "a worker said %q", line)
		if f[1] == "begin" {
			all = append(all, &hold{process: f[0], delivery: f[2], begin: at})
		} else {
			ends[f[0]+f[2]] = append(ends[f[0]+f[2]], at)
		}
	}
	slices.SortFunc(all, func(a, b *hold) int { return int(a.begin - b.begin) })
	for _, at := range ends {
		slices.Sort(at)
	}
	for _, h := range all {
		if at := ends[h.process+h.delivery]; len(at) > 0 {
			h.end, ends[h.process+h.delivery] = at[0], at[1:]
		}
	}
	return all
}

// receivers counts arrivals, and answers while its gate is open.
type receivers struct {
	mu      sync.Mutex
	arrived map[string]int // by endpoint and event
	waiting int
	gate    chan struct{}
}

func (r *receivers) ServeHTTP(_ http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	r.arrived[q.URL.Path+q.Header.Get("webhook-id")]++
	r.waiting++
	gate := r.gate
	r.mu.Unlock()
	<-gate
	r.mu.Lock()
	r.waiting--
	r.mu.Unlock()
}

// Several processes deliver webhooks, and the test kills one that holds deliveries. No
// process takes a delivery that another holds. After the lease, another process makes the
// deliveries of the killed one, and only those arrive twice.
func TestDeliveriesOfKilledProcessAreTakenOver(t *testing.T) {
	for _, processes := range effort.Of([]int{3}, []int{2, 4}) {
		t.Run(fmt.Sprint(processes), func(t *testing.T) { deliveringProcesses(t, processes) })
	}
}

func deliveringProcesses(t *testing.T, processes int) {
	const endpoints, kills, atOnce = 3, 3, 8
	ctx, url, schema, began := t.Context(), pgtest.URL(t), pgtest.Schema(t), time.Now()
	t.Setenv(workerHooks, fmt.Sprint(began.UnixMilli()))
	store := must.Get(postgres.Open(ctx, pgtest.Pool(t, 4), postgres.Config{Schema: schema}))(t)
	svc := must.Get(payments.New(ctx, store, hookConfig(time.UnixMilli(began.UnixMilli()))))(t)
	m := must.Get(svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
	caller := api.Caller{Merchant: m.ID}
	at := &receivers{arrived: map[string]int{}, gate: make(chan struct{})}
	server := httptest.NewServer(at)
	defer server.Close()
	path := map[string]string{}
	for i := range endpoints {
		p := fmt.Sprintf("/%d/", i)
		e := must.Get(svc.Webhooks.Create(ctx, caller, webhook.CreateParams{URL: server.URL + p, Events: []event.Type{"*"}}))(t)
		path[e.ID] = p
	}

	said := &reports{ids: map[string]bool{}}
	var workers []*worker
	for range processes {
		workers = append(workers, newWorker(t, url, schema, said))
	}
	await := func(what string, done func() bool) {
		t.Helper()
		for until := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
			must.True(t, !time.Now().After(until), "%s: it does not come about", what)
		}
	}
	died := map[string]bool{}
	for range kills {
		for range atOnce {
			must.Get(svc.Events.Record(ctx, caller, event.RecordParams{Type: "customer.created", Object: map[string]string{"object": "customer"}}))(t)
		}
		// While the receivers are silent, the test kills a process with running deliveries. An
		// endpoint that has not answered yet gets one delivery at a time.
		await("deliveries under way", func() bool { at.mu.Lock(); defer at.mu.Unlock(); return at.waiting >= endpoints })
		victim := -1
		await("somebody who holds one", func() bool {
			for _, h := range said.holds(t) {
				victim = slices.IndexFunc(workers, func(w *worker) bool { return fmt.Sprint(w.cmd.Process.Pid) == h.process })
				if h.end == 0 && victim >= 0 {
					return true
				}
			}
			return false
		})
		died[fmt.Sprint(workers[victim].cmd.Process.Pid)] = true
		workers[victim].kill(t)
		workers[victim] = newWorker(t, url, schema, said)
		at.mu.Lock()
		close(at.gate)
		at.gate = make(chan struct{})
		if len(died) == kills {
			close(at.gate) // it stays open
		}
		at.mu.Unlock()
	}

	of := map[string]string{} // by delivery, as it arrives
	await("all is delivered", func() bool {
		done := 0
		for id, path := range path {
			list := must.Get(svc.Webhooks.ListDeliveries(ctx, caller, webhook.ListDeliveriesParams{Endpoint: id, Page: api.Page{Limit: api.MaxLimit}}))(t)
			for _, d := range list.Data {
				of[d.ID] = path + d.Event
				if d.Status == webhook.Delivered {
					done++
				}
			}
		}
		return done == endpoints*kills*atOnce
	})
	for _, w := range workers {
		w.end(t)
	}

	last, holds, lost := map[string]*hold{}, map[string]int{}, 0
	for _, h := range said.holds(t) {
		if h.end == 0 {
			expect.True(t, died[h.process], "%s has not ended %s, and lives", h.process, h.delivery)
			lost++
		}
		before := last[h.delivery]
		last[h.delivery] = h
		holds[of[h.delivery]]++
		if before == nil {
			continue
		}
		// Every attempt succeeds, so there is no other reason for a second one.
		if after := time.Duration(h.begin-before.begin) * time.Millisecond; after < lease-later {
			t.Errorf("%s was taken by %s, and %s later by %s", h.delivery, before.process, after, h.process)
		}
		if took := time.Duration(before.end-before.begin) * time.Millisecond; before.end != 0 && took < lease-later {
			t.Errorf("%s was done by %s in %s, and taken again by %s", h.delivery, before.process, took, h.process)
		}
	}
	expect.True(t, lost >= kills, "%d deliveries were in the hands of the dead; the test wants one for each", lost)
	for _, arrives := range of {
		if n := at.arrived[arrives]; n < 1 || n > holds[arrives] {
			t.Errorf("%s arrived %d times, and was begun %d times", arrives, n, holds[arrives])
		}
	}
	t.Logf("%d deliveries, %d of them in the hands of the dead", len(of), lost)
}
