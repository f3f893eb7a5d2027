package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/bench/internal/benchbase"
	"github.com/seed-7082ffec/payments/bench/internal/httpload"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// rowsVariable says with how many disbursements BenchmarkMemory begins.
const rowsVariable = "PAYMENTS_TEST_ROWS"

// BenchmarkMemory has a server of its own process answer a mix of disbursements, gets and
// lists all over the history, where 10,000 disbursements have been made before, and then
// where so many have, with the six rows that each has left. heap-MB is what the second
// has in use after a collection, peak-MB the most that the system has given it, SQLite's
// memory included; heap-times and peak-times are those beside the first's.
//
//	PAYMENTS_TEST_ROWS=1000000 go test -C bench ./httpapi -run '^$' -bench Memory -benchtime 40000x -timeout 60m
func BenchmarkMemory(b *testing.B) {
	rows := 30_000
	if text := os.Getenv(rowsVariable); text != "" {
		var err error
		if rows, err = strconv.Atoi(text); err != nil || rows < 1000 {
			b.Fatalf("%s is %q; it is a number from 1000 on", rowsVariable, text)
		}
	}
	small, large := history(b, 10_000), history(b, rows)
	b.Run(fmt.Sprint("rows=", rows), func(b *testing.B) {
		few, many := small.serveMix(b, b.N), large.serveMix(b, b.N)
		const mb = 1 << 20
		b.ReportMetric(0, "ns/op") // of both, which says nothing
		b.ReportMetric(float64(many.Heap)/mb, "heap-MB")
		b.ReportMetric(float64(many.Peak)/mb, "peak-MB")
		b.ReportMetric(float64(many.Heap)/float64(few.Heap), "heap-times")
		if few.Peak > 0 {
			b.ReportMetric(float64(many.Peak)/float64(few.Peak), "peak-times")
		}
	})
}

// past is a desk that is closed, and ids of disbursements all over its history.
type past struct {
	*desk
	ids []string
}

func history(b *testing.B, rows int) past {
	d := openDesk(b, sqlite.Config{})
	made := must.Get(d.svc.Disbursements.List(b.Context(), d.caller, payout.ListParams{Page: api.Page{Limit: 1}}))(b)
	must.Do(b, d.close())
	benchbase.Call{Path: d.path, Insert: left, Moves: true}.Fill(b, rows)
	p := past{desk: d}
	for i := range 20_000 {
		p.ids = append(p.ids, fmt.Sprintf("%s0%018d", made.Data[0].ID[:4], 100+i*7919%(rows-100)))
	}
	return p
}

// memoryUse is what a server has taken, in bytes.
type memoryUse struct{ Heap, Peak uint64 }

// serveMix has a process serve so many requests, and returns what it took.
func (p past) serveMix(b *testing.B, n int) (m memoryUse) {
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), serveVariable+"="+p.path)
	cmd.Stderr = os.Stderr
	in := must.Get(cmd.StdinPipe())(b)
	out := must.Get(cmd.StdoutPipe())(b)
	must.Do(b, cmd.Start())
	said := json.NewDecoder(out)
	var address string
	must.Do(b, said.Decode(&address))
	must.Get(httpload.Run(b.Context(), httpload.Load{
		Address: address, Connections: 16, Requests: n, Keys: []string{p.key}, Wallets: p.wallets, ReadIDs: p.ids,
	}))(b)
	must.Do(b, in.Close())
	must.Do(b, said.Decode(&m))
	must.Do(b, cmd.Wait())
	return m
}

// serveVariable names the database file that the test binary serves, started as another
// process: it says its address, serves until its input ends, and says what it took.
const serveVariable = "PAYMENTS_TEST_SERVE"

func serveAndTell(path string, in io.Reader, out io.Writer) error {
	s, err := serveFile(context.Background(), path, sqlite.Config{})
	if err != nil {
		return err
	}
	said := json.NewEncoder(out)
	if err := said.Encode(s.address); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return err
	}
	runtime.GC()
	runtime.GC() // what pools held is free after the second
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	if err := said.Encode(memoryUse{Heap: stats.HeapAlloc, Peak: peak()}); err != nil {
		return err
	}
	return s.close()
}

// peak is the most memory that this process has had of the system, or 0 where that does
// not tell.
func peak() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	lines := bufio.NewScanner(bytes.NewReader(status))
	for lines.Scan() {
		var kb uint64
		if n, _ := fmt.Sscanf(lines.Text(), "VmHWM: %d kB", &kb); n == 1 {
			return kb << 10
		}
	}
	return 0
}
