// Package httpload sends requests to /v1 from a process of its own, so that what the
// load costs is not the server's, and the collector of one is not the other's. It is
// for benchmarks alone; examples/loadtest is the program for people.
//
// The process is the test binary, started once more: its TestMain begins with
//
//	if httpload.Wanted() {
//		os.Exit(httpload.Main())
//	}
package httpload

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// variable makes the test binary such a process, which does what its input says.
const variable = "PAYMENTS_TEST_LOAD"

// Load is what a process is to send, and then what it saw.
type Load struct {
	// Address is that of the server, as "127.0.0.1:8080".
	Address string
	// Requests are sent over so many Connections, each by the first that is free.
	Connections, Requests int
	// Keys are the API keys, and Wallets the service ids to disburse to, in turn.
	Keys, Wallets []string
	// Read are ids of disbursements. When there are any, of four requests one is a
	// disbursement, two get one of them, and one lists those that follow one.
	Read []string

	// Took is how long it took, with the connections open already.
	Took time.Duration
	// Each is how long each request took, ascending.
	Each []time.Duration
	// Processor is what the process has used of the processors.
	Processor time.Duration
}

// Within is the time within which so many percent of the requests were answered. each
// must ascend, as in a Load that has run.
func Within(each []time.Duration, percent int) time.Duration {
	return each[(len(each)-1)*percent/100]
}

// Run has another process send the requests, and returns what it saw. A request that is
// not answered 200 is an error.
func Run(ctx context.Context, l Load) (Load, error) {
	in, err := json.Marshal(l)
	if err != nil {
		return l, err
	}
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), variable+"=1")
	cmd.Stdin = bytes.NewReader(in)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return l, fmt.Errorf("%w: %s", err, problems.Bytes())
	}
	return l, json.Unmarshal(out, &l)
}

// Wanted reports whether this process was started by Run.
func Wanted() bool { return os.Getenv(variable) != "" }

// Main is such a process; it returns what it ends with.
func Main() (status int) {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		return 1
	}
	return 0
}

// run sends what in says and writes to out what it saw.
func run(in io.Reader, out io.Writer) error {
	var l Load
	if err := json.NewDecoder(in).Decode(&l); err != nil {
		return err
	}
	name := fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano())
	took := make([][]time.Duration, l.Connections)
	failed := make([]error, l.Connections)
	conns := make([]net.Conn, l.Connections)
	for i := range conns {
		var err error
		if conns[i], err = net.Dial("tcp", l.Address); err != nil {
			return err
		}
		defer conns[i].Close()
	}
	var next atomic.Int64
	var all sync.WaitGroup
	begun := time.Now()
	for i, conn := range conns {
		all.Go(func() {
			from := bufio.NewReaderSize(conn, 32<<10)
			var request []byte
			for n := next.Add(1); n <= int64(l.Requests) && failed[i] == nil; n = next.Add(1) {
				sent := time.Now()
				request = l.request(request[:0], name, int(n))
				if _, failed[i] = conn.Write(request); failed[i] == nil {
					failed[i] = answered(from)
				}
				took[i] = append(took[i], time.Since(sent))
			}
		})
	}
	all.Wait()
	l.Took = time.Since(begun)
	if err := errors.Join(failed...); err != nil {
		return err
	}
	l.Each = slices.Concat(took...)
	slices.Sort(l.Each)
	l.Processor = ProcessorTime()
	l.Keys, l.Wallets, l.Read = nil, nil, nil
	return json.NewEncoder(out).Encode(l)
}

// request adds a request to b. It is written by hand, as its answer is read: what a
// whole client costs would be taken from the server, with which it shares the processors.
func (l *Load) request(b []byte, run string, n int) []byte {
	method, path, body := "POST", "/v1/disbursements", ""
	switch reading := len(l.Read) > 0; {
	case reading && n%4 == 0:
		method, path = "GET", "/v1/disbursements?limit=20&starting_after="+l.Read[n*7919%len(l.Read)]
	case reading && n%2 == 0, reading && n%4 == 1:
		method, path = "GET", "/v1/disbursements/"+l.Read[n*7919%len(l.Read)]
	default:
		body = fmt.Sprintf(`{"amount":0.01,"destination":{"type":"service_wallet","service_id":%q},"reference":"salary"}`, l.Wallets[n*7919%len(l.Wallets)])
	}
	b = fmt.Appendf(b, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n", method, path, l.Address, l.Keys[n%len(l.Keys)])
	if body != "" {
		b = fmt.Appendf(b, "Content-Type: application/json\r\nX-Idempotency-Key: salary-%s-%08d\r\nContent-Length: %d\r\n", run, n, len(body))
	}
	b = append(b, "\r\n"...)
	return append(b, body...)
}

// answered reads past an answer.
func answered(from *bufio.Reader) error {
	length, good := 0, false
	for first := true; ; first = false {
		line, err := from.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if first {
			good = bytes.HasPrefix(line, []byte("HTTP/1.1 200 "))
		} else if text, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(text)); err != nil {
				return err
			}
		}
	}
	if !good {
		data, _ := io.ReadAll(io.LimitReader(from, int64(length)))
		return fmt.Errorf("not answered 200: %s", data)
	}
	_, err := from.Discard(length)
	return err
}
