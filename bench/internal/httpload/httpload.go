// Package httpload sends requests to /v1 from a child process, so that client and server
// have separate processor times and garbage collectors. It is for benchmarks;
// examples/loadtest is the program for users.
//
// The child is the test binary itself. Its TestMain begins with
//
//	if httpload.IsChild() {
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

// childEnv is set for the child process, which reads its Load from standard input.
const childEnv = "PAYMENTS_TEST_LOAD"

// Load says what the child process sends, and then what it measured.
type Load struct {
	// Address is that of the server, such as "127.0.0.1:8080".
	Address string
	// Addresses are those of several servers. The connections use them in turn. If there are
	// any, Address is not used.
	Addresses []string
	// Requests is how many requests the child sends, over so many Connections.
	Connections, Requests int
	// Limit, if it is not 0, ends the load early: no request begins later. Durations then has
	// fewer elements.
	Limit time.Duration
	// Keys are the API keys, and Wallets the service ids to disburse to, in turn.
	Keys, Wallets []string
	// Phones are numbers to disburse to by mobile money, in turn. If there are any, Wallets
	// is not used.
	Phones []string
	// Ask asks the Phones for money in place of sending them some.
	Ask bool
	// ReadIDs are ids of disbursements. If there are any, of four requests one creates a
	// disbursement, two get one by id, and one lists those after an id.
	ReadIDs []string
	// GetOnly makes every request a get of one of the ReadIDs.
	GetOnly bool

	// Elapsed is the time for all requests, without opening the connections.
	Elapsed time.Duration
	// Durations is the time of each request, ascending.
	Durations []time.Duration
	// CPUTime is the processor time of the child.
	CPUTime time.Duration
}

// Percentile returns the time within which so many percent of the requests were answered.
// The durations must ascend, as in a Load that has run.
func Percentile(durations []time.Duration, percent int) time.Duration {
	return durations[(len(durations)-1)*percent/100]
}

// Median returns the middle one of the measurements, and sorts them.
func Median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// Run starts a child process that sends the requests, and returns its measurements. An
// answer other than 200 is an error.
func Run(ctx context.Context, l Load) (Load, error) {
	in, err := json.Marshal(l)
	if err != nil {
		return l, err
	}
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.Stdin = bytes.NewReader(in)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return l, fmt.Errorf("%w: %s", err, problems.Bytes())
	}
	return l, json.Unmarshal(out, &l)
}

// IsChild reports whether Run started this process.
func IsChild() bool { return os.Getenv(childEnv) != "" }

// Main runs the child process and returns its exit status.
func Main() (status int) {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		return 1
	}
	return 0
}

// run sends the Load in in and writes the measurements to out.
func run(in io.Reader, out io.Writer) error {
	var l Load
	if err := json.NewDecoder(in).Decode(&l); err != nil {
		return err
	}
	if len(l.Addresses) == 0 {
		l.Addresses = []string{l.Address}
	}
	name := fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano())
	took := make([][]time.Duration, l.Connections)
	failed := make([]error, l.Connections)
	conns := make([]net.Conn, l.Connections)
	for i := range conns {
		var err error
		if conns[i], err = net.Dial("tcp", l.Addresses[i%len(l.Addresses)]); err != nil {
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
				if l.Limit > 0 && sent.Sub(begun) > l.Limit {
					break
				}
				request = l.request(request[:0], name, int(n))
				if _, failed[i] = conn.Write(request); failed[i] == nil {
					failed[i] = skipAnswer(from)
				}
				took[i] = append(took[i], time.Since(sent))
			}
		})
	}
	all.Wait()
	l.Elapsed = time.Since(begun)
	if err := errors.Join(failed...); err != nil {
		return err
	}
	l.Durations = slices.Concat(took...)
	slices.Sort(l.Durations)
	l.CPUTime = CPUTime()
	l.Keys, l.Wallets, l.Phones, l.ReadIDs = nil, nil, nil, nil
	return json.NewEncoder(out).Encode(l)
}

// request appends a request to b. It is written by hand, because an HTTP client would take
// processor time from the server on the same machine.
func (l *Load) request(b []byte, run string, n int) []byte {
	method, path, body := "POST", "/v1/disbursements", ""
	switch reading := len(l.ReadIDs) > 0; {
	case l.GetOnly:
		method, path = "GET", "/v1/disbursements/"+l.ReadIDs[n*7919%len(l.ReadIDs)]
	case reading && n%4 == 0:
		method, path = "GET", "/v1/disbursements?limit=20&starting_after="+l.ReadIDs[n*7919%len(l.ReadIDs)]
	case reading && n%2 == 0, reading && n%4 == 1:
		method, path = "GET", "/v1/disbursements/"+l.ReadIDs[n*7919%len(l.ReadIDs)]
	case l.Ask:
		path, body = "/v1/payments", fmt.Sprintf(`{"amount":1,"phone_number":%q,"reference":"order"}`, l.Phones[n*7919%len(l.Phones)])
	case len(l.Phones) > 0:
		body = fmt.Sprintf(`{"amount":0.01,"destination":{"type":"mobile_money","phone_number":%q},"reference":"salary"}`, l.Phones[n*7919%len(l.Phones)])
	default:
		body = fmt.Sprintf(`{"amount":0.01,"destination":{"type":"service_wallet","service_id":%q},"reference":"salary"}`, l.Wallets[n*7919%len(l.Wallets)])
	}
	b = fmt.Appendf(b, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n", method, path, l.Addresses[0], l.Keys[n%len(l.Keys)])
	if body != "" {
		b = fmt.Appendf(b, "Content-Type: application/json\r\nX-Idempotency-Key: salary-%s-%08d\r\nContent-Length: %d\r\n", run, n, len(body))
	}
	b = append(b, "\r\n"...)
	return append(b, body...)
}

// skipAnswer reads past an answer.
func skipAnswer(from *bufio.Reader) error {
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
