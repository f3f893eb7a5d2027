package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/bench/internal/benchbase"
	"github.com/seed-7082ffec/payments/bench/internal/httpload"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// BenchmarkHTTP disburses to wallets over HTTP, through all of /v1. Each disbursement is durable
// when it is answered. The load comes from another process. It takes turns with pgbench, which
// runs tpcb-like transactions with 32 clients on the same server. of-pgbench is the rate of
// disbursements of a thousand merchants as a multiple of pgbench's. hot-of-spread is the rate of
// a single merchant as a share of a thousand's. All processes share the processors.
//
// cpu-us/op is the processor time of this process for each disbursement,
// server-us/op that of PostgreSQL, load-us/op that of the process which makes the
// load.
func BenchmarkHTTP(b *testing.B) {
	limit := newPgbench(b)
	m := newMarket(b)
	address := m.serve(b)
	keys := m.keys(b)
	for _, connections := range []int{16, 64, 256} {
		b.Run(fmt.Sprint("connections=", connections), func(b *testing.B) {
			drive := func(keys []string, n int) httpload.Load {
				done := must.Get(httpload.Run(b.Context(), httpload.Load{Address: address, Connections: connections, Requests: n, Keys: keys, Wallets: m.serviceIDs()}))(b)
				return done
			}
			turns := benchbase.Turns(b, 4)
			if turns > 1 {
				drive(keys, 2000)
			}
			var spread, hot float64 // seconds
			var transactions float64
			var ours, theirs, makers, slowest time.Duration
			before := m.store.Stats()
			n := max(b.N/turns, connections)
			for turn := range turns {
				if turn%2 == 1 { // so that neither is always the one after pgbench
					hot += drive(keys[:1], n).Elapsed.Seconds()
				}
				own, server := httpload.CPUTime(), m.serverTime(b)
				done := drive(keys, n)
				ours, theirs, makers = ours+httpload.CPUTime()-own, theirs+m.serverTime(b)-server, makers+done.CPUTime
				spread += done.Elapsed.Seconds()
				slowest = max(slowest, httpload.Percentile(done.Durations, 99))
				if turn%2 == 0 {
					hot += drive(keys[:1], n).Elapsed.Seconds()
				}
				transactions += limit.run(b, min(max(done.Elapsed, time.Duration(min(turns, 2))*time.Second), 6*time.Second))
			}
			now := m.store.Stats()
			total := float64(turns * n)
			b.ReportMetric(spread/total*1e9, "ns/op")
			b.ReportMetric(total/spread/(transactions/float64(turns)), "of-pgbench")
			b.ReportMetric(spread/hot, "hot-of-spread")
			b.ReportMetric(float64(now.Updates-before.Updates)/float64(now.Commits-before.Commits), "group")
			b.ReportMetric(float64(slowest.Milliseconds()), "p99-ms")
			b.ReportMetric(float64(ours.Microseconds())/total, "cpu-us/op")
			b.ReportMetric(float64(theirs.Microseconds())/total, "server-us/op")
			b.ReportMetric(float64(makers.Microseconds())/total, "load-us/op")
		})
	}
}

// serve answers /v1 with the market's service.
func (m *market) serve(b *testing.B) (address string) {
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(b)
	server := httpapi.NewServer("", httpapi.New(m.svc, httpapi.Config{
		Logger: slog.New(slog.DiscardHandler), InFlight: httpapi.InFlight{Test: 1024, All: 8192}, // one key has all connections
	}))
	go func() { _ = server.Serve(listener) }() // it ends by Close
	b.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

// keys returns an API key of each merchant.
func (m *market) keys(b *testing.B) []string {
	keys := make([]string, len(m.merchants))
	m.forEach(b, len(keys), func(ctx context.Context, i int) error {
		key, err := m.svc.Accounts.CreateKey(ctx, api.Caller{Merchant: m.merchants[i]}, account.CreateKeyParams{Name: "bench"})
		if err == nil {
			keys[i] = key.Secret
		}
		return err
	})
	return keys
}

func (m *market) serviceIDs() []string {
	ids := make([]string, len(m.wallets))
	for i, w := range m.wallets {
		ids[i] = w.ServiceID
	}
	return ids
}

// serverTime returns the processor time of PostgreSQL's processes, if the system tells. It leaves
// out connections that have ended.
func (m *market) serverTime(b *testing.B) time.Duration {
	var backend int
	must.Do(b, m.pool.QueryRow(b.Context(), "SELECT pg_backend_pid()").Scan(&backend))
	parent := ""
	times := map[string]int64{}
	parents := map[string]string{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 13 {
			continue
		}
		user, _ := strconv.ParseInt(fields[11], 10, 64)
		system, _ := strconv.ParseInt(fields[12], 10, 64)
		pid := filepath.Base(filepath.Dir(path))
		times[pid], parents[pid] = user+system, fields[1]
		if pid == strconv.Itoa(backend) {
			parent = fields[1]
		}
	}
	sum := int64(0)
	for pid, t := range times {
		if parent != "" && parents[pid] == parent {
			sum += t
		}
	}
	return time.Duration(sum) * 10 * time.Millisecond // the system's ticks
}

// pgbench is a database of its own for pgbench.
type pgbench struct{ program, url string }

// newPgbench fills it, or skips the benchmark where there is no pgbench.
func newPgbench(b *testing.B) *pgbench {
	p := &pgbench{}
	url := pgtest.URL(b)
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if len(programs) > 0 {
		p.program = programs[len(programs)-1]
	} else if path, err := exec.LookPath("pgbench"); err == nil {
		p.program = path
	} else {
		b.Skip("pgbench is not installed")
	}
	config := must.Get(pgxpool.ParseConfig(url))(b)
	name := fmt.Sprint("pgbench_", os.Getpid())
	each := func(statement string) {
		conn, err := pgx.ConnectConfig(context.Background(), config.ConnConfig)
		if err != nil {
			b.Error(err)
			return
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(context.Background(), statement); err != nil {
			b.Error(err)
		}
	}
	benchbase.FillLog(b, url)
	each("CREATE DATABASE " + name)
	b.Cleanup(func() { each("DROP DATABASE " + name + " WITH (FORCE)") })
	c := config.ConnConfig
	p.url = fmt.Sprintf("host=%s port=%d user=%s dbname=%s", c.Host, c.Port, c.User, name)
	if c.Password != "" {
		p.url += " password=" + c.Password
	}
	scale := "32" // a row for each client to lock
	if effort.Trial() {
		scale = "1"
	}
	if out, err := exec.CommandContext(b.Context(), p.program, "-i", "-s", scale, "-q", p.url).CombinedOutput(); err != nil {
		b.Fatalf("pgbench: %v: %s", err, out)
	}
	return p
}

var tps = regexp.MustCompile(`(?m)^tps = ([0-9.]+) \(without`)

// run returns the transactions per second. On a busy disk none may end in a short run; then it runs for
// longer.
func (p *pgbench) run(b *testing.B, d time.Duration) float64 {
	for {
		out, err := exec.CommandContext(b.Context(), p.program, "-n", "-c", "32", "-j", "2",
			"-T", strconv.Itoa(int(d.Round(time.Second).Seconds())), p.url).CombinedOutput()
		if err != nil {
			b.Fatalf("pgbench: %v: %s", err, out)
		}
		if found := tps.FindSubmatch(out); found != nil {
			return must.Get(strconv.ParseFloat(string(found[1]), 64))(b)
		}
		if d > time.Minute {
			b.Fatalf("pgbench says no rate: %s", out)
		}
		d *= 5
	}
}
